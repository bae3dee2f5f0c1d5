"""Verdicts put in order and added up."""

from __future__ import annotations

import random

import pytest

from ragassay.errors import RagassayError
from ragassay.metrics.evaluation import Judges, evaluation_of
from ragassay.metrics.verdicts import Verdicts, ordered
from ragassay.records import (
    AnswerSentence,
    Case,
    Citation,
    CitationVerdict,
    Document,
    Evaluation,
    EvidenceVerdict,
    Failure,
    Judgment,
    Nugget,
    NuggetAssignment,
    NuggetMatch,
    Record,
    SentenceLabel,
    SentenceNuggets,
    Usage,
)

GOOD, BAD = Citation(marker="1", document="d"), Citation(marker="9")
CALL = Usage(n_calls=1, n_prompt_tokens=10, n_completion_tokens=2)
RECORD = Record(id="r", question="Q?", answer="A. B.", system="s", topic="t")
CASE = Case(
    record_id="r",
    question="Q?",
    answer="A. B.",
    sentences=(
        AnswerSentence(index=1, text="A.", start=0, end=2, citations=(GOOD, BAD)),
        AnswerSentence(index=2, text="B.", start=3, end=5, citations=(GOOD,)),
    ),
    sources=(Document(id="d", text="T"),),
)


def written(index: int, origin: str = "answer", failure: Failure | None = None) -> SentenceNuggets:
    nuggets = () if failure else (Nugget(text=f"N{index}", origin=origin, sentence=index),)  # type: ignore[arg-type]
    return SentenceNuggets(
        origin=origin,
        sentence=index,
        nuggets=nuggets,
        usage=CALL,
        failure=failure,  # type: ignore[arg-type]
    )


NUGGETS = [written(1), written(2), written(1, "reference")]
JUDGMENTS = [Judgment(rubric=r, rating=3, score=3, usage=CALL) for r in ("one", "two")]
LABELS = [SentenceLabel(sentence=i, label="required", usage=CALL) for i in (1, 2)]
EVIDENCE = [EvidenceVerdict(sentence=1, verdict="contradicts", usage=CALL)]
CITATIONS = [
    CitationVerdict(sentence=i, citation=GOOD, verdict="supports", usage=CALL) for i in (1, 2)
]


def in_order(case: Case = CASE, seed: int = 0) -> Verdicts:
    def mixed(items: list) -> list:  # type: ignore[type-arg]
        # What a killed run repeats comes twice.
        return random.Random(seed).sample([*items, *items], 2 * len(items))

    return ordered(
        case,
        ("one", "two"),
        Verdicts(
            nuggets=mixed(NUGGETS),
            judgments=mixed(JUDGMENTS),
            labels=mixed(LABELS),
            evidence=mixed(EVIDENCE),
            citations=mixed(CITATIONS),
            assignments=mixed(
                [NuggetAssignment(gold=n, assignment="support") for n in range(len(case.gold))]
            ),
        ),
    )


JUDGES = Judges("judge", "verifier", "checker")


def evaluated(case: Case, verdicts: Verdicts, n_matches: int = 0) -> Evaluation:
    pairs = [NuggetMatch(gold=i, nugget=i, similarity_score=0.8) for i in range(n_matches)]
    return evaluation_of(RECORD, case, verdicts, pairs, (), (), JUDGES, "print")


@pytest.mark.parametrize("seed", range(5))
def test_order_of_arrival_does_not_show(seed: int) -> None:
    found = in_order(seed=seed)
    assert [(n.origin, n.sentence) for n in found.nuggets] == [
        ("answer", 1),
        ("answer", 2),
        ("reference", 1),
    ]
    assert [j.rubric for j in found.judgments] == ["one", "two"]
    assert [label.sentence for label in found.labels] == [1, 2]
    assert [(v.sentence, v.citation.marker) for v in found.citations] == [
        (1, "1"),
        (1, "9"),
        (2, "1"),
    ]


def test_what_no_model_was_asked_for_is_filled_in() -> None:
    found = in_order()
    assert found.citations[1].verdict == "invalid"
    assert found.citations[1].failure is None
    assert found.evidence[1].failure is not None
    assert found.evidence[1].failure.reason == "no_evidence"


def test_cited_document_without_a_passage_is_unscored() -> None:
    found = ordered(CASE, (), Verdicts())
    assert [v.verdict for v in found.citations] == [None, "invalid", None]
    assert [v.failure.reason for v in found.citations if v.failure] == ["no_evidence"] * 2


def test_empty_answer_is_unscored_by_name() -> None:
    case = CASE.model_copy(update={"sentences": (), "answer": ""})
    evaluation = evaluated(case, ordered(case, ("one",), Verdicts()))
    assert evaluation.judgments[0].failure is not None
    assert evaluation.judgments[0].failure.reason == "empty_answer"
    assert evaluation.scores["rubric.one"].n_unscored == 1
    assert [f.kind for f in evaluation.findings] == ["empty_answer"]


def test_scores_findings_and_usage_add_up() -> None:
    evaluation = evaluated(CASE, in_order(), n_matches=1)
    assert (evaluation.system, evaluation.topic, evaluation.judge) == ("s", "t", "judge")
    assert evaluation.scores["nuggets.recall"].value == 1.0
    assert evaluation.scores["nuggets.precision"].value == 0.5
    assert evaluation.scores["citations.support"].value == 0.6667
    # 3 nugget lists, 2 judgments, 2 labels, 1 evidence verdict and 2 citations, each one call.
    assert evaluation.usage == Usage(
        n_calls=10, n_prompt_tokens=100, n_completion_tokens=20, cost_usd=0.0
    )
    assert [(f.kind, f.sentence) for f in evaluation.findings] == [
        ("invalid_citation", 1),
        ("contradicted_sentence", 1),
        ("no_evidence", None),
    ]


def test_gold_nuggets_come_before_those_of_the_reference() -> None:
    gold = (Nugget(text="Gold"),)
    case = CASE.model_copy(update={"gold": gold})
    assert evaluated(case, in_order(case)).gold_nuggets == gold
    assert [n.text for n in evaluated(CASE, in_order()).gold_nuggets] == ["N1"]


def test_failures_of_answer_and_reference_are_named() -> None:
    refused, timeout = Failure(reason="refused"), Failure(reason="timeout")
    lists = [written(1), written(2, failure=refused), written(1, "reference", timeout)]
    evaluation = evaluated(
        CASE,
        ordered(
            CASE,
            (),
            Verdicts(nuggets=lists, labels=LABELS, evidence=EVIDENCE, citations=CITATIONS),
        ),
    )
    assert evaluation.scores["nuggets.recall"].value is None
    assert evaluation.scores["nuggets.recall"].n_unscored == 2
    (remark,) = [f for f in evaluation.findings if f.kind == "unscored"]
    assert remark.message == "2 verdicts are unscored: refused, timeout."


def test_harm_contradiction_cuts_and_extracts_are_found() -> None:
    nugget = Nugget(text="A.", origin="answer", method="extractive", sentence=1)
    case = CASE.model_copy(update={"n_source_chars_cut": 12})
    verdicts = ordered(
        case,
        (),
        Verdicts(
            nuggets=[SentenceNuggets(origin="answer", sentence=1, nuggets=(nugget,))],
            labels=[SentenceLabel(sentence=1, label="inappropriate")],
            citations=[CitationVerdict(sentence=1, citation=GOOD, verdict="contradicts")],
        ),
    )
    kinds = {f.kind for f in evaluated(case, verdicts).findings}
    assert {
        "inappropriate_sentence",
        "contradicted_citation",
        "sources_cut",
        "extractive_nugget",
    } <= kinds


def test_assignments_are_in_the_order_of_the_gold_nuggets_and_scored() -> None:
    gold = (Nugget(text="One", importance="vital"), Nugget(text="Two", importance="okay"))
    case = CASE.model_copy(update={"gold": gold})
    assigned = [
        NuggetAssignment(gold=1, assignment="support", usage=CALL),
        NuggetAssignment(gold=0, failure=Failure(reason="timeout")),
    ]
    found = evaluated(case, ordered(case, (), Verdicts(assignments=assigned)))
    assert [a.gold for a in found.assignments] == [0, 1]
    assert found.scores["nuggets.strict_all"].value == 1.0
    assert (found.scores["nuggets.all"].worst, found.scores["nuggets.all"].best) == (0.5, 1.0)
    assert found.scores["nuggets.vital"].value is None
    assert found.scores["nuggets.vital"].n_unscored == 1
    assert found.usage.n_calls == 1
    assert "unscored" in {f.kind for f in found.findings}


def test_empty_answer_supports_no_gold_nugget() -> None:
    gold = (Nugget(text="One", importance="vital"),)
    case = CASE.model_copy(update={"sentences": (), "answer": "", "gold": gold})
    found = evaluated(case, ordered(case, (), Verdicts()))
    assert [a.assignment for a in found.assignments] == ["not_support"]
    assert found.scores["nuggets.strict_vital"].value == 0.0


@pytest.mark.parametrize("gold", [(), (Nugget(text="One"),)])
def test_evaluation_that_was_broken_off_is_not_added_up(gold: tuple[Nugget, ...]) -> None:
    case = CASE.model_copy(update={"gold": gold})
    rubrics = () if gold else ("one",)
    with pytest.raises(RagassayError, match="broken off"):
        ordered(case, rubrics, Verdicts())
