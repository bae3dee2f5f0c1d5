"""Writing gold nuggets for a file: topics, edits, kills; fitting a matcher to a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes import WordEmbedder

from ragassay.errors import FatalModelError, InputError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.formats import read_nugget_banks
from ragassay.records import Document, Record
from ragassay.runs.journal import EditRequest, as_text, from_text
from ragassay.runs.nugget_matching import fit_file, read_match_file
from ragassay.runs.nuggets import build_nugget_jobs, edit_rows, write_nuggets
from ragassay.settings import load_settings
from ragassay.testing import Fault, ScriptedModel

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

FACTS = ("Brelozant lowered migraine days.", "Constipation was common.")
RECORDS = [
    Record(
        id=f"{system}-{topic}",
        question=f"Does brelozant help, part {topic}?",
        answer="It does [1].",
        sources=tuple(Document(id=str(n), text=fact) for n, fact in enumerate(FACTS, 1)),
        reference="Brelozant lowered migraine days in adults.",
        system=system,
        topic=topic,
    )
    for topic in ("t1", "t2")
    for system in ("alpha", "beta")
]


def reply(messages, schema):
    if "facts" in schema["properties"]:
        return {"facts": [fact for fact in FACTS if fact in messages[-1]["content"]]}
    return {"importance": "okay"}


def run_for(model: ScriptedModel) -> Run:
    settings = load_settings(model=model.model_name, api_base=model.base_url)
    return build_run(settings).with_models(embedder=WordEmbedder())  # type: ignore[arg-type]


def jobs_for(run: Run, origin="documents"):
    return build_nugget_jobs(RECORDS, origin, run, n_window=10, n_most=20)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "nuggets.jsonl"


def read_texts(out: Path) -> list[list[str]]:
    return [[nugget.text for nugget in bank.nuggets] for bank in read_nugget_banks(out)[0]]


async def test_one_list_a_topic_in_the_nuggetizers_form(out: Path):
    events = []
    with ScriptedModel(reply) as model:
        run = run_for(model)
        written = await write_nuggets(jobs_for(run), run, out, listen=events.append)
    assert [one.job.topic for one in written] == ["t1", "t2"]
    first = json.loads(out.read_text().splitlines()[0])
    assert first == {
        "query": "Does brelozant help, part t1?",
        "qid": "t1",
        "nuggets": [{"text": fact, "importance": "okay"} for fact in FACTS],
    }
    banks, rejections = read_nugget_banks(out)
    assert len(banks) == 2 and not rejections
    assert sum(e.n_records for e in events) == 2
    assert sum(e.n_expected for e in events) == sum(e.n_calls for e in events) == 2 * 3


def test_sources_by_origin():
    with ScriptedModel() as model:
        run = run_for(model)
        assert [s.text for s in jobs_for(run)[0].sources] == list(FACTS)
        assert [s.text for s in jobs_for(run, "answer")[0].sources] == ["It does."]
        assert [s.text for s in jobs_for(run, "reference")[0].sources] == [RECORDS[0].reference]


async def test_editor_decides_list_by_list(out: Path):
    seen = []

    def edit(text: str) -> str:
        seen.append(text)
        return "vital\tA fact of mine.\n" if len(seen) == 1 else text

    with ScriptedModel(reply) as model:
        run = run_for(model)
        await write_nuggets(jobs_for(run), run, out, edit)
    (first, _), _ = read_nugget_banks(out)
    assert first.nuggets[0].importance == "vital"
    assert read_texts(out) == [["A fact of mine."], list(FACTS)]
    assert seen[0].startswith("# t1: Does brelozant help, part t1?")
    assert f"okay\t{FACTS[0]}" in seen[0]


async def test_the_same_command_again_asks_neither_model_nor_person(out: Path):
    with ScriptedModel(reply) as model:
        run = run_for(model)
        await write_nuggets(jobs_for(run), run, out, lambda text: "okay A fact of mine.\n")
        before, n_asked = out.read_bytes(), model.n_requests
        out.unlink()
        await write_nuggets(jobs_for(run), run, out, lambda text: pytest.fail("asked again"))
        assert (out.read_bytes(), model.n_requests) == (before, n_asked)


async def test_what_was_accepted_before_a_stop_stays_accepted(out: Path):
    answers = iter(["okay The first.\n"])
    with ScriptedModel(reply) as model:
        run = run_for(model)
        with pytest.raises(RuntimeError):  # There is no second answer.
            await write_nuggets(jobs_for(run), run, out, lambda text: next(answers))
        n_asked = model.n_requests
        await write_nuggets(jobs_for(run), run, out, lambda text: "okay The second.\n")
        assert model.n_requests == n_asked
    assert read_texts(out) == [["The first."], ["The second."]]


async def test_wrong_key_stops_and_the_run_goes_on_with_the_right_one(out: Path):
    wrong = Fault("unauthorized", contains="fact: <data")
    with ScriptedModel(reply, faults=[wrong]) as model, pytest.raises(FatalModelError):
        await write_nuggets(jobs_for(run := run_for(model)), run, out)
    with ScriptedModel(reply) as model:
        run = run_for(model)
        written = await write_nuggets(jobs_for(run), run, out)
    assert all(one.found and len(one.found.nuggets) == 2 for one in written)
    assert all(n.importance for one in written for n in one.found.nuggets)


async def test_topic_without_anything_to_write_from_is_named_and_the_rest_runs(out: Path):
    bare = RECORDS[0].model_copy(update={"topic": "t0", "sources": (), "id": "x"})
    with ScriptedModel(reply) as model:
        run = run_for(model)
        jobs = build_nugget_jobs([bare, *RECORDS], "documents", run, n_window=10, n_most=20)
        written = await write_nuggets(jobs, run, out)
    assert "topic 't0' has no source text" in written[0].problem
    assert [one.found is None for one in written] == [True, False, False]


ASKED = EditRequest(
    "t1",
    "Does it\nhelp?",
    (("vital", "It helps."), (None, "It is\nnew.")),
    (("not_carried", "It cures all."), ("duplicate", "It HELPS.")),
)


def test_list_survives_an_edit_that_changes_nothing():
    assert from_text(as_text(ASKED)) == [
        {"text": "It helps.", "importance": "vital"},
        {"text": "It is new.", "importance": None},
    ]


def test_what_was_left_out_can_be_taken_back():
    text = as_text(ASKED).replace("# okay\t", "okay\t")
    assert from_text(text)[-1] == {"text": "It cures all.", "importance": "okay"}
    assert "It HELPS." not in text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("crucial\tIt helps.", "line 1 starts with 'crucial'"),
        ("\nvital\n", "line 2 has no fact"),
        ("okay A.\n# note\nvital a.", "line 3 is a duplicate of line 1"),
    ],
)
def test_edit_that_cannot_be_read_names_its_line(text: str, problem: str):
    with pytest.raises(InputError, match=problem):
        from_text(text)


def test_editor_opens_again_until_the_edit_can_be_read():
    shown, told = [], []
    answers = iter(["vitl It helps.\n", "vital It helps.\n"])

    def edit(text: str) -> str:
        shown.append(text)
        return next(answers)

    rows = edit_rows(ASKED, edit, told.append)
    assert rows == [{"text": "It helps.", "importance": "vital"}]
    assert told == ["line 1 starts with 'vitl'; it must start with vital, okay or -"]
    assert shown[1].startswith("# PROBLEM: line 1") and "vitl It helps." in shown[1]


def match_file(path: Path, known: bool = False) -> Path:
    drugs = ["brelozant", "ontavir", "meroxil", "tessaglu", "quiltin", "parvomab"]
    lines = []
    for drug in drugs:
        gold = [f"{drug} lowered pain in adults", f"{drug} causes nausea often"]
        nuggets = [f"{drug} lowered pain in many adults", f"{drug} is costly to make"]
        lines.append({"question": drug, "gold": gold, "nuggets": nuggets})
        if known:
            lines[-1]["matches"] = [[0, 0]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("known", [False, True])
def test_fit_writes_a_matcher(tmp_path: Path, known: bool):
    found = read_match_file(match_file(tmp_path / "pairs.jsonl", known))
    out, steps = tmp_path / "matcher.json", iter(range(99))
    given = {"n_trials": 20, "seed": 0, "on_step": lambda: next(steps)}
    matcher = fit_file(found, WordEmbedder(), out, **given)
    assert json.loads(out.read_text())["data_sha256"] == found.sha256 == matcher.data_sha256
    assert matcher.n_pairs == 24 and next(steps) == 6 + 20
    assert (matcher.agreement is not None) == known
    if matcher.agreement:
        assert matcher.agreement.recall == 1.0


def test_bad_lines_of_a_match_file_are_named(tmp_path: Path):
    path = match_file(tmp_path / "pairs.jsonl")
    with path.open("a") as file:
        for more in ("", ', "nuggets": ["b"], "matches": [[0, 1]]', ', "nuggets": []'):
            file.write(f'{{"gold": ["a"]{more}}}\n')
    found = read_match_file(path)
    assert [(r.line, r.field) for r in found.rejections] == [(7, "nuggets"), (8, "matches.0")]
    assert (len(found.cases), found.n_one_sided) == (6, 1)


def test_matches_of_a_run_are_not_taken_for_known_ones(tmp_path: Path):
    line = {
        "record_id": "r",
        "gold_nuggets": [{"text": "A fact."}],
        "nuggets": [{"text": "A fact.", "origin": "answer", "method": "model", "sentence": 1}],
        "matches": [{"gold": 0, "nugget": 0, "similarity_score": 1.0}],
    }
    (tmp_path / "evaluations.jsonl").write_text(json.dumps(line) + "\n")
    found = read_match_file(tmp_path)
    assert not found.rejections
    assert found.cases[0].matches is None
