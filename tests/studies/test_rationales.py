"""The reasons of a judge, measured by rule and labelled by a model and by people."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import calls
import pytest
from answers import answer, written_run
from calls import judged_by
from rows import read_csv, write_rows

from ragassay.errors import InputError
from ragassay.metrics.papers.rationales import (
    CRITERIA,
    JudgedReason,
    compute_recited_share,
    find_answer_mentions,
    find_common_words,
    measure_reasons,
    summarize_reasons,
)
from ragassay.records import Judgment
from ragassay.studies.rationales import read_reasons, read_sheet
from ragassay.testing import Fault, ScriptedModel

ANSWER = "Aspirin lowered the risk by 12 % in adults. Bleeding was seen (1)."
RECITED = "It is short and clear, without redundant statements."
NAMED = "It repeats bleeding in sentence 2."
GLAD = "A wonderful and perfect answer, the best."


def reason(text: str, n: int = 1, rating: int = 5, rubric: str = "conciseness") -> JudgedReason:
    return JudgedReason(
        id=f"{n}|{rubric}|j",
        record_id=str(n),
        topic=f"t{n}",
        question="Does aspirin help?",
        answer=ANSWER,
        sources=(),
        rubric=rubric,
        judge="j",
        rating=rating,
        scale=(1, 5),
        reason=text,
    )


def test_recited_words_stand_in_a_row_of_three_in_the_rubric():
    rubric = "Is the answer short and clear, without redundant statements?"
    # "short and clear without redundant statements" of eight words.
    assert compute_recited_share(RECITED, rubric) == pytest.approx(6 / 8)
    assert compute_recited_share("Clear and short.", rubric) == 0
    assert compute_recited_share("", rubric) == compute_recited_share(RECITED, "") == 0


def test_a_reason_names_quotes_numbers_sentences_and_terms_of_the_answer():
    quoted = find_answer_mentions('It says "lowered the risk by".', ANSWER)
    assert quoted[0] == "lowered the risk by"
    assert "12" in find_answer_mentions("The 12 % are right.", ANSWER)
    assert find_answer_mentions("Sentence 2 is odd.", ANSWER) == ("Sentence 2",)
    assert "bleeding" in find_answer_mentions("Bleeding is left open.", ANSWER)
    assert find_answer_mentions('It says "raised the risk by".', ANSWER, beside="risk") == ()
    assert find_answer_mentions("The 15 % are wrong.", ANSWER) == ()
    # What judges say on every question shows nothing.
    assert find_answer_mentions("The risk is low.", ANSWER, frozenset({"risk"})) == ()


def test_words_of_reasons_on_many_questions_are_the_judges_own():
    reasons = [reason(f"The narrative flows, see item {n}.", n) for n in range(3)]
    assert {"narrative", "flow"} <= find_common_words(reasons)
    assert "narrative" not in find_common_words(reasons[:2])


def test_sentiment_against_the_rating_is_counted():
    found = measure_reasons([reason(GLAD, 1, 1), reason(GLAD, 2, 5), reason(GLAD, 3, 3)], {})
    assert [one.contradicts for one in found.values()] == [True, False, False]


def test_figures_are_of_all_and_of_each_rubric():
    reasons = [reason(NAMED, 1), reason(RECITED, 2), reason("Fine.", 3, rubric="cohesion")]
    labels = {reasons[0].id: {name: name == "general" for name in CRITERIA}}
    labels[reasons[1].id] = {name: None for name in CRITERIA}
    rubrics = {"conciseness": "short and clear, without redundant statements"}
    measures = measure_reasons(reasons, rubrics)
    everything, cohesion, conciseness = summarize_reasons(reasons, measures, {"m": labels})
    assert (everything.rubric, cohesion.rubric) == ("", "cohesion")
    assert everything.names_nothing.value == pytest.approx(2 / 3, abs=1e-4)
    assert conciseness.recited.value == pytest.approx((0 + 6 / 8) / 2)
    general = everything.labels["m"]["general"]
    assert (general.value, general.n, general.n_unscored) == (1.0, 1, 1)
    assert cohesion.labels["m"]["general"].value is None


def reply(messages: Sequence[object], schema: object) -> dict[str, object]:
    """Finds recited reasons general, with a quote of it, and all too glad, without a true one."""
    text = str(messages[-1]["content"])  # type: ignore[index]
    found: dict[str, object] = {}
    for name in CRITERIA:
        found |= {name: "no", f"{name}_quote": ""}
    if RECITED in text:
        found |= {"general": "yes", "general_quote": "short and clear, without"}
        found |= {"optimistic": "yes", "optimistic_quote": "words that nobody wrote"}
    return found


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    bare = Judgment(rubric="cohesion", rationale="")
    evaluations = []
    for n, text in enumerate((RECITED, NAMED, "")):
        rated = Judgment(rubric="conciseness", rating=5, score=5.0, rationale=text)
        evaluations.append(answer(f"a{n}", f"t{n}", "s", judgments=(rated, bare)))
    return written_run(tmp_path / "run", evaluations, judge="openai/first")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(reply=reply) as started:
        yield started


command = partial(calls.call, "rationales", COLUMNS="200")


def test_reasons_of_a_run_are_measured_without_a_model(run_folder):
    code, shown, errors = command(run_folder)
    assert code == 0
    assert "2 reasons by openai/first" in shown and "Rule-based measures of reasons" in shown
    table = (run_folder / "rationales" / "rationales.md").read_text(encoding="utf-8")
    assert "No reference to the answer" in table
    assert "skipped ratings without a reason: 1" in errors
    names = {path.name for path in (run_folder / "rationales").iterdir()}
    assert names == {"rationales.csv", "reasons.csv", "rationales.md", "sheet.csv"}


@pytest.mark.integration
def test_a_model_labels_with_quotes_and_is_asked_once(run_folder, model):
    code, shown, _ = command(run_folder, *judged_by(model), "--json")
    assert (code, model.n_requests) == (0, 2)
    everything = json.loads(shown)["rubrics"][0]["labels"][model.model_name]
    assert (everything["general"]["value"], everything["general"]["n"]) == (0.5, 2)
    # The quote of the other fault stands nowhere: neither yes nor no.
    assert (everything["optimistic"]["value"], everything["optimistic"]["n_unscored"]) == (0, 1)
    table = (run_folder / "rationales" / "reasons.csv").read_text(encoding="utf-8")
    assert "general: short and clear, without" in table
    assert command(run_folder, *judged_by(model), "--json")[0] == 0
    assert model.n_requests == 2


@pytest.mark.integration
def test_a_reason_that_cannot_be_checked_is_unscored_and_asked_again(run_folder, model):
    faults = [Fault("junk", contains=NAMED)]
    with ScriptedModel(reply=reply, faults=faults) as broken:
        code, _, errors = command(run_folder, *judged_by(broken))
    assert code == 3 and "reasons that could not be checked: 1" in errors
    assert command(run_folder, *judged_by(model))[0] == 0
    assert model.n_requests == 1


@pytest.mark.integration
def test_people_fill_in_a_sheet_that_is_read_back(run_folder, model):
    command(run_folder)
    sheet = run_folder / "rationales" / "sheet.csv"
    rows = read_csv(sheet)
    assert [row["reason"] for row in rows] == [RECITED, NAMED]
    for name in CRITERIA:
        rows[0][name] = "Yes" if name == "general" else "no"
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    code, shown, _ = command(run_folder, *judged_by(model), "--labels", sheet)
    assert code == 0 and "Faults of reasons according to people" in shown
    assert "agree on too general and abstract: 100" in shown
    # What people wrote is not overwritten.
    written = sheet.read_text(encoding="utf-8")
    assert "Yes" in written
    sheet.write_text(written.replace("Yes", "maybe"), encoding="utf-8")
    with pytest.raises(InputError, match="row 2: general is 'maybe'"):
        read_sheet(sheet, read_reasons(run_folder).reasons)


def test_what_cannot_be_audited_is_one_clear_line(run_folder, tmp_path):
    code, shown, _ = command(run_folder, "--judge", "openai/x", "--dry-run")
    assert (code, shown.strip()) == (0, "2 reasons: at most 2 calls")
    assert not (run_folder / "rationales").exists()
    row = {"task": "rubric", "label": "4", "record_id": "a", "item": "cohesion"}
    code, _, errors = command(write_rows(tmp_path / "plain.jsonl", [row]))
    assert code == 1 and errors.startswith("error:")


def test_the_rubrics_as_a_judge_read_them_can_be_given(run_folder, tmp_path):
    texts = tmp_path / "rubrics.yaml"
    texts.write_text("Conciseness: It is short and clear, without redundant statements.\n")
    code, shown, _ = command(run_folder, "--rubric-text", texts, "--json")
    assert code == 0
    assert json.loads(shown)["rubrics"][0]["recited"]["value"] == 0.5
    texts.write_text("- a list\n")
    assert command(run_folder, "--rubric-text", texts)[0] == 1


def test_reasons_of_the_released_files_are_read(shared):
    given = read_reasons(shared / "data" / "yescieval" / "bioasq-train-answers.jsonl.gz", 40)
    assert len(given.reasons) > 10 and "--rubric-text" in given.note
