"""What people said of a run, read as labels, answers, claims, nuggets and matches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from answers import written_run
from reviewing import evaluations

from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.formats import read_labels
from ragassay.formats.reviews import ReviewedRun, read_answers, read_claim_items, read_nugget_items
from ragassay.graphs.case import convert_to_case
from ragassay.optimizers.compiling.answer_tasks import AssignmentTask, RubricJudgeTask
from ragassay.optimizers.compiling.tasks import ClaimTask
from ragassay.optimizers.finetuning.claims import read_claims
from ragassay.records import (
    MATCH,
    Evaluation,
    HumanLabel,
    Nugget,
    Review,
    SentenceNuggets,
    VerdictBase,
)
from ragassay.retrievers.literature import Corpus
from ragassay.runs.journal import open_journal
from ragassay.runs.nugget_matching import read_match_file
from ragassay.settings import load_settings
from ragassay.studies.meta_evaluation import meta_evaluate


def reviewed(path: Path, *said: Review, more: Sequence[VerdictBase] = ()) -> Path:
    """A run with reviews of its first answer, which may have more verdicts."""
    first, second = evaluations()
    facts = (Nugget(text="A fact."), Nugget(text="Another."))
    first = first.model_copy(update={"verdicts": (*first.verdicts, *more), "nuggets": facts})
    run = written_run(path / "run", [first, second])
    open_journal(run).add(*said)
    return run


def say(evaluator: str, item: str, value: object, field: str = "label", **more: object) -> Review:
    """A review of q1."""
    fields = {"who": "ann", "record": "q1", **more}
    return Review.model_validate(
        {"evaluator": evaluator, "item": item, "value": value, "field": field, **fields}
    )


LABELS = (
    say("rubric", "cohesion", 2, "rating"),
    say("sentence_label", "2", "borderline"),
    say("citation", "2/1", "neutral"),
    say("assignment", "0", "support"),
)


@pytest.mark.parametrize("name", ["", "reviews.jsonl"])
def test_what_people_said_is_labels(tmp_path, name):
    run = reviewed(tmp_path, *LABELS, say(MATCH, "0", 1, "match"))
    found = read_labels(run / name)
    assert found.format == "ragassay-reviews" and found.rejections == () and found.n_other == 1
    same = {"record_id": "q1", "annotator": "ann"}
    assert found.labels == (
        HumanLabel(task="rubric", label="2", item="cohesion", **same),
        HumanLabel(task="relevance", label="borderline", sentence=2, **same),
        HumanLabel(task="citation", label="neutral", sentence=2, item="1", **same),
        HumanLabel(task="nugget", label="support", item="A gold nugget.", **same),
    )


def test_the_judge_is_measured_against_them(tmp_path):
    run = reviewed(tmp_path, *LABELS)
    found = meta_evaluate(run, run)
    assert found.n_labels == 4 and found.alignment.unaligned == ()
    assert {item.task: item.predicted for item in found.alignment.items} == {
        "rubric": "4",
        "relevance": None,
        "citation": "contradicts",
        "nugget": "partial_support",
    }


def test_the_last_word_of_each_person_counts(tmp_path):
    run = reviewed(
        tmp_path,
        say("rubric", "cohesion", 1, "rating"),
        say("rubric", "cohesion", 5, "rating", id="ann-second"),
        say("rubric", "cohesion", 3, "rating", who="bob"),
    )
    assert [(one.annotator, one.label) for one in read_labels(run).labels] == [
        ("ann", "5"),
        ("bob", "3"),
    ]
    open_journal(run).add(say("rubric", "cohesion", None, "rating", undoes="ann-second"))
    assert [one.label for one in read_labels(run).labels] == ["1", "3"]


def test_what_its_person_rejected_or_has_no_opinion_on_is_no_label(tmp_path):
    run = reviewed(
        tmp_path,
        say("rubric", "cohesion", 1, "rating"),
        say("rubric", "cohesion", True, "removed"),
        say("rubric", "coherence", None, "rating"),
        say("sentence_label", "1", "text", "note"),
        say("sentence_label", "1", "required"),
    )
    assert [one.item or one.sentence for one in read_labels(run).labels] == [1]


def test_a_run_that_nobody_reviewed_is_named(tmp_path):
    run = written_run(tmp_path / "run", evaluations())
    with pytest.raises(InputError, match=r"reviews\.jsonl; create it with `ragassay review"):
        read_labels(run)


def test_reviews_without_their_run_still_are_labels_where_no_text_is_needed(tmp_path):
    file = reviewed(tmp_path, *LABELS[:3]) / "reviews.jsonl"
    (file.parent / "evaluations.jsonl").unlink()
    assert len(read_labels(file).labels) == 3
    open_journal(file.parent).add(LABELS[3])
    with pytest.raises(InputError, match=r"requires evaluations\.jsonl in the same folder"):
        read_labels(file)


def test_a_damaged_line_is_named(tmp_path):
    run = reviewed(tmp_path, *LABELS)
    file = run / "reviews.jsonl"
    file.write_text(file.read_text() + '{"who": 3}\n')
    with pytest.raises(InputError, match=r"reviews\.jsonl:5: not a review"):
        read_labels(run)


def test_the_answers_are_those_that_were_judged(tmp_path):
    run = reviewed(tmp_path, *LABELS)
    found = read_answers(run)
    assert [record.id for record in found.records] == ["q1", "q2"]
    case = convert_to_case(found.records[0], load_settings(), Corpus())
    assert [one.text for one in case.sentences] == ["First sentence.", "Second sentence."]


@pytest.fixture
def run() -> Run:
    return build_run(load_settings(model="openai/none"))


def test_a_prompt_is_compiled_on_them(tmp_path, run):
    folder = reviewed(tmp_path, *LABELS)
    ratings = RubricJudgeTask(run).read(folder)
    assert [(one.key, one.right) for one in ratings.items] == [("q1/cohesion", 2.0)]
    nuggets = AssignmentTask(run).read(folder)
    assert [one.right for one in nuggets.items] == ["support"]
    assert nuggets.items[0].arguments[2].text == "A gold nugget."


def test_verdicts_on_passages_are_claims(tmp_path, run):
    folder = reviewed(
        tmp_path,
        say("evidence", "1/for/1", "neutral"),
        say("citation", "2/1", "supports"),
        say("citation", "2/1", "contradicts", who="bob"),
        say("rubric", "cohesion", 2, "rating"),
    )
    rows = [item.fields for item in read_claim_items(folder)]
    assert [(row["claim"], row["evidence"], row["label"]) for row in rows] == [
        ("First sentence.", "A passage.", "neutral"),
        ("Second sentence.", "A passage.", "contradicts"),  # the last word
    ]
    claims, rejected = read_claims(folder)
    assert [one.claim for one in claims] == ["First sentence.", "Second sentence."]
    assert rejected == []
    read = ClaimTask(run).read(folder)
    assert [one.right for one in read.items] == ["neutral", "contradicts"]
    assert len({one.key for one in read.items}) == 2


def test_lists_that_people_found_right_or_rewrote_are_nuggets(tmp_path):
    written = tuple(
        SentenceNuggets(origin="answer", sentence=n, nuggets=(Nugget(text=f"Fact {n}."),))
        for n in (1, 2)
    )
    run = reviewed(
        tmp_path,
        say("nuggets", "answer/1", True, "right"),
        say("nuggets", "answer/2", ["One.", "Two."], "texts"),
        more=written,
    )
    assert [(i.fields["sentence"], i.fields["nuggets"]) for i in read_nugget_items(run)] == [
        ("First sentence.", ["Fact 1."]),
        ("Second sentence.", ["One.", "Two."]),
    ]
    open_journal(run).add(say("nuggets", "answer/1", False, "right"))
    assert len(list(read_nugget_items(run))) == 1


def test_matches_count_where_people_gave_them_for_every_gold_nugget(tmp_path):
    run = reviewed(tmp_path, say(MATCH, "0", 1, "match"))
    (case,) = read_match_file(run).cases
    assert case.matches == {(0, 1)}
    open_journal(run).add(say(MATCH, "0", -1, "match"))
    assert read_match_file(run).cases[0].matches == frozenset()


def test_matches_of_an_answer_that_is_half_reviewed_are_unknown(tmp_path):
    run = reviewed(tmp_path, say(MATCH, "0", 1, "match"))
    lines = (run / "evaluations.jsonl").read_text().splitlines()
    first = Evaluation.model_validate_json(lines[0])
    gold = (*first.gold_nuggets, Nugget(text="A second gold nugget."))
    lines[0] = first.model_copy(update={"gold_nuggets": gold}).model_dump_json()
    (run / "evaluations.jsonl").write_text("\n".join(lines) + "\n")
    assert ReviewedRun(run / "reviews.jsonl").list_matches() == {}
    assert read_match_file(run).cases[0].matches is None
