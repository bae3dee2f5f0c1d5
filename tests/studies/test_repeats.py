"""A judge measured against itself, sampled, and named as its provider names it."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from calls import judged_by, run
from case_tables import each_case
from rows import read_csv, write_rows

import ragassay
from ragassay.errors import RunMismatchError
from ragassay.reports.run_sheets import NOTHING_REPEATED
from ragassay.runs.folder import RunFolder
from ragassay.testing import ScriptedModel, default_reply
from ragassay.testing.manners import manner

pytestmark = pytest.mark.integration

ANSWERS = [
    {"id": "a", "question": "q?", "answer": "It is [1]. It was.", "sources": ["It is so."]},
    {"id": "b", "question": "q2?", "answer": "It is so [1].", "sources": ["It is so."]},
]


def rates(*ratings: int) -> Any:
    """Replies with one rating after the other, again and again."""
    turn = itertools.cycle(ratings)

    def reply(messages, schema):
        made = json.loads(default_reply(messages, schema))
        return made | {"rating": next(turn)} if "rating" in made else made

    return reply


@pytest.fixture
def no_logprobs(monkeypatch) -> None:
    """A server that passes over the wish for log-probabilities."""
    monkeypatch.setattr(manner, "build_logprobs", lambda text, n_top, seed: None)


def named(monkeypatch, *names: tuple[str, str | None]) -> None:
    """The server answers under one name and fingerprint after the other."""
    made, turn = manner.Manner.build_reply_body, itertools.cycle(names)

    def renamed(*args, **kwargs):
        model, fingerprint = next(turn)
        return {**made(*args, **kwargs), "model": model, "system_fingerprint": fingerprint}

    monkeypatch.setattr(manner.Manner, "build_reply_body", renamed)


def evaluated(model: ScriptedModel, **options: Any) -> ragassay.Results:
    given = {"only": ["rubrics"], "rubrics": ["cohesion", "readability"], "concurrency": 1}
    return ragassay.evaluate(
        ANSWERS, model=model.model_name, api_base=model.base_url, **(given | options)
    )


def test_the_same_answers_are_judged_again_with_nothing_shared(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with ScriptedModel(rates(4, 4, 4, 4, 4, 2, 4, 4)) as model:
        found = evaluated(model, repeat=3, out=folder.path)
        assert model.n_requests == 3 * 4
        again = evaluated(model, repeat=3, out=folder.path)
        assert model.n_requests == 3 * 4, "all three are finished"
    assert found.repeats is not None
    (figure,) = found.repeats.figures
    # The second repetition gives one of the four a 2; the run and the third give it a 4.
    assert (figure.kind, figure.changed.value, figure.changed.n) == ("rubric", 0.25, 4)
    assert found.repeats.usage.n_calls == 8
    assert again.repeats == found.repeats == folder.read_repeats()
    assert [one.path.name for one in folder.repeat_folders()] == ["2", "3"]
    assert all(len(one.read_evaluations()) == 2 for one in folder.repeat_folders())
    assert not (folder.repeat_folder(2).path / "report.html").exists()
    (row,) = read_csv(folder.path / "repeats.csv")
    assert (row["changed"], row["changed_n"], row["n_times"]) == ("0.25", "4", "3")
    for report in ("report.md", "report.html"):
        text = (folder.path / report).read_text()
        assert "judged 3 times. Verdicts changed in 25" in text and "Rubric ratings" in text


def test_repetitions_that_were_stopped_go_on(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with ScriptedModel(rates(4)) as model:
        evaluated(model, repeat=2, out=folder.path)
        (folder.repeat_folder(2).path / "evaluations.jsonl").unlink()
        (folder.repeat_folder(2).path / "verdicts.sqlite").unlink()
        evaluated(model, repeat=3, out=folder.path)
        assert model.n_requests == 4 + 4 + 4 + 4
        with pytest.raises(RunMismatchError):
            evaluated(model, repeat=3, out=folder.path, samples=5)


def test_without_a_folder_it_is_measured_too():
    with ScriptedModel(rates(4, 3)) as model:
        found = evaluated(model, repeat=2)
    assert found.repeats is not None and found.repeats.figures[0].changed.n == 4


def test_instruments_are_not_asked_twice(tmp_path):
    out = tmp_path / "run"
    found = ragassay.evaluate(ANSWERS, only=["citations"], repeat=3, out=out)
    assert found.repeats is not None and found.repeats.figures == ()
    assert not (out / "repeats").exists()
    assert NOTHING_REPEATED in (out / "report.md").read_text()
    # Beside a judge they are left out of the figures.
    with ScriptedModel(rates(4)) as model:
        found = evaluated(model, only=["rubrics", "citations"], verifier="embedded", repeat=2)
    assert found.repeats is not None
    assert [figure.kind for figure in found.repeats.figures] == ["rubric"]


def test_the_command_prints_what_changed_and_plans_the_calls(tmp_path):
    answers = write_rows(tmp_path / "answers.jsonl", ANSWERS)
    with ScriptedModel(rates(5, 5, 1, 5)) as model:
        command = ["evaluate", answers, *judged_by(model), "--only", "rubrics"]
        command += ["--rubric", "cohesion", "--repeat", 2, "--out", tmp_path / "run"]
        assert "4 calls" in run(*command, "--dry-run")[0]
        shown, _ = run(*command)
    assert "Repeated verdicts of the judge" in shown
    assert "judged 2 times. Verdicts changed in" in " ".join(shown.split())
    run(*command, "--repeat", 1, code=2)  # Once is no repetition.


def test_a_judge_without_log_probabilities_is_sampled(tmp_path, no_logprobs):
    with ScriptedModel(rates(4)) as model:
        found = evaluated(model, samples=3, out=tmp_path / "run")
        # The first call finds that there are none; then three samples for each of four ratings.
        assert model.n_requests == 1 + 3 * 4
        seeds = [request.body["seed"] for request in model.requests]
        # Without samples the written rating stands alone.
        alone = evaluated(model)
        assert model.n_requests == 13 + 4
    assert alone.summary.confidence_from == {"the written rating alone": 4}
    assert Counter(seeds[1:]) == {1: 4, 2: 4, 3: 4}
    assert found.summary.confidence_from == {"3 samples": 4}
    assert all(j.distribution == (0, 0, 0, 1, 0) for e in found for j in e.judgments)
    assert found.summary.notes == ()
    report = (tmp_path / "run" / "report.md").read_text()
    assert "Probabilities of ratings and labels come from 3 samples (4 verdicts)." in report


def test_a_judge_with_log_probabilities_is_not_sampled_and_the_run_says_so_once(tmp_path):
    with ScriptedModel(rates(4)) as model:
        found = evaluated(model, samples=3, out=tmp_path / "run")
        assert model.n_requests == 4
    (note,) = found.summary.notes
    assert note.startswith("The judge returns log-probabilities (4 verdicts)")
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count("which are more informative than") == 1


def test_every_verdict_and_the_manifest_say_who_answered(tmp_path, monkeypatch):
    named(monkeypatch, ("judge-2026-01-31", "fp_1"))
    with ScriptedModel(rates(4)) as model:
        found = evaluated(model, out=tmp_path / "run", only=["rubrics", "citations", "sentences"])
    who = ("openai/scripted: judge-2026-01-31 fp_1",)
    asked = [v for e in found for v in e.verdicts if v.value is not None]
    assert len(asked) > 4 and all(verdict.usage.answered_by == who for verdict in asked)
    assert found.manifest.answered_by == who
    assert RunFolder(tmp_path / "run").read_manifest().answered_by == who
    assert found.summary.notes == ()


@each_case(
    ("names", "n_systems"),
    [
        ([("judge-2026-01-31", "fp_1"), ("judge-2026-03-01", "fp_1")], 2),
        ([("judge", "fp_1"), ("judge", "fp_2")], 2),
        ([("judge", "fp_1"), ("judge", None), ("judge-2026-03-01", None)], 3),
        ([("judge", None)], 1),
    ],
)
def test_a_run_that_mixes_two_systems_says_so(tmp_path, monkeypatch, names, n_systems):
    named(monkeypatch, *names)
    with ScriptedModel(rates(4)) as model:
        found = evaluated(model, out=tmp_path / "run")
    assert len(found.manifest.answered_by) == n_systems
    said = [note for note in found.summary.notes if f"answered as {n_systems} systems" in note]
    assert len(said) == (n_systems > 1)
    for report in ("report.md", "report.html"):
        text = Path(tmp_path / "run" / report).read_text()
        assert ("Verdicts may differ between them." in text) == (n_systems > 1)


def test_a_panel_of_two_models_is_no_mixture():
    with ScriptedModel(rates(4, 5, 3)) as model:
        judges = [f"openai/a@{model.base_url}", f"openai/b@{model.base_url}"]
        found = ragassay.evaluate(
            ANSWERS, model=judges, only=["rubrics"], rubrics=["cohesion"], repeat=2
        )
    assert found.summary.notes == ()
    assert found.repeats is not None
    assert {figure.judge for figure in found.repeats.figures} == {"openai/a", "openai/b"}
