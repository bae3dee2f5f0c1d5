"""What stayed, what went on, what it cost and what all would have cost."""

from __future__ import annotations

import pytest
from answers import answer, changed

from ragassay.evaluators.registry import group_asked_verdicts
from ragassay.metrics.stats.joint_judgments import (
    estimate_full_cost,
    join_judge_names,
    summarize_cascade,
)
from ragassay.records import (
    AnswerSentence,
    Citation,
    CitationVerdict,
    Escalation,
    Evaluation,
    EvidenceSpan,
    EvidenceVerdict,
    Failure,
    Judgment,
    NuggetAssignment,
    NuggetVerdict,
    SentenceLabel,
    Usage,
)

LOST = Failure(reason="timeout")
ONE = AnswerSentence(index=1, text="x", start=0, end=1)
SPAN = EvidenceSpan(document="d", start=0, end=4, text="text")
CITED = Citation(marker="1", document="d")


def sent(cost: float | None = 0.002, tokens: int = 100, failure: Failure | None = None):
    """What a verdict keeps that went on."""
    usage = Usage() if failure else Usage(n_calls=1, n_prompt_tokens=tokens, cost_usd=cost)
    return Escalation(judge="b", usage=usage, failure=failure)


def rated(escalation: Escalation | None = None, failure: Failure | None = None) -> Judgment:
    rating = None if failure else 3
    return Judgment(rubric="r", rating=rating, escalation=escalation, failure=failure)


def of(*judgments: Judgment, **fields: object) -> Evaluation:
    return changed(answer(**fields), sentences=(ONE,), judgments=judgments)


def cascade(*evaluations: Evaluation):
    return summarize_cascade(group_asked_verdicts(evaluations), "a", "b", "entropy>1")


def test_counts_and_costs_by_hand():
    # Five ratings: two stayed; two were decided for .002 and .004 USD; one came back.
    found = cascade(
        of(rated(), rated(sent(0.002, 100)), rated(sent(failure=LOST))),
        of(rated(sent(0.004, 300)), rated()),
    )
    (part,) = found.parts
    assert (part.kind, part.n) == ("rubric", 5)
    assert (part.n_kept, part.n_escalated, part.n_failed) == (2, 2, 1)
    assert (part.usage.n_calls, part.usage.n_prompt_tokens) == (2, 400)
    assert part.usage.cost_usd == pytest.approx(0.006)
    # .006 for 2 calls is .003 a call; five of them.
    assert part.full_cost_usd == pytest.approx(0.015)
    assert found.full_cost_usd == pytest.approx(0.015)


def test_each_kind_is_estimated_by_its_own_calls_and_one_without_any_is_left_out():
    # Ratings: .002 a call, two of them. Labels: .0005 a call, three. Nothing is known of nuggets.
    labels = tuple(SentenceLabel(sentence=n, label="required") for n in (1, 2))
    cheap = SentenceLabel(sentence=3, label="required", escalation=sent(0.0005))
    found = cascade(
        changed(
            of(rated(sent(0.002)), rated()),
            labels=(*labels, cheap),
            assignments=(NuggetAssignment(gold=0, assignment="support"),),
        )
    )
    assert [(p.kind, p.n, p.full_cost_usd) for p in found.parts] == [
        ("rubric", 2, pytest.approx(0.004)),
        ("gold_nugget", 1, None),
        ("sentence", 3, pytest.approx(0.0015)),
    ]
    assert found.full_cost_usd == pytest.approx(0.0055)
    assert found.usage.cost_usd == pytest.approx(0.0025)


def test_an_unknown_price_stays_unknown():
    found = cascade(of(rated(sent(None)), rated()))
    assert (found.usage.cost_usd, found.full_cost_usd) == (None, None)
    assert found.usage.n_prompt_tokens == 100
    assert estimate_full_cost(Usage(n_calls=2, cost_usd=None), 10) is None


def test_where_nothing_went_on_nothing_was_spent_and_nothing_can_be_estimated():
    found = cascade(of(rated(), rated()))
    assert (found.usage, found.full_cost_usd) == (Usage(), None)
    assert found.parts[0].n_kept == 2
    assert cascade().parts == ()


def test_a_local_second_judge_costs_nothing_and_that_is_known():
    assert cascade(of(rated(sent(0.0)), rated())).full_cost_usd == 0.0


def test_a_passage_for_a_sentence_and_its_citation_is_one_question():
    given = {"sentence": 1, "verdict": "supports"}
    evidence = EvidenceVerdict(**given, evidence=SPAN, escalation=sent(0.002))
    later = SPAN.model_copy(update={"start": 2})
    citations = tuple(
        CitationVerdict(**given, citation=CITED, evidence=span, escalation=escalation)
        for span, escalation in ((SPAN, Escalation(judge="b")), (later, sent(0.004)))
    )
    found = changed(of(), evidence=(evidence,), citations=citations)
    (part,) = cascade(found).parts
    assert (part.kind, part.n, part.n_escalated) == ("claim", 2, 2)
    assert part.usage.cost_usd == pytest.approx(0.006)


def test_nuggets_of_a_citation_are_questions_and_the_citation_is_none():
    nuggets = tuple(
        NuggetVerdict(sentence=1, document="d", nugget=text, verdict="supports", escalation=e)
        for text, e in (("a", None), ("b", sent()))
    )
    given = {"sentence": 1, "verdict": "supports", "evidence": SPAN, "nuggets": nuggets}
    markers = [CITED.model_copy(update={"marker": marker}) for marker in "12"]
    twice = tuple(CitationVerdict(**given, citation=citation) for citation in markers)
    asked = group_asked_verdicts([changed(of(), citations=twice)])
    assert {kind: len(verdicts) for kind, verdicts in asked.items()} == {"cited_nugget": 2}


def test_what_nobody_was_asked_is_no_question():
    pointing_nowhere = CitationVerdict(sentence=1, citation=Citation(marker="9"), verdict="invalid")
    without = EvidenceVerdict(sentence=1, failure=Failure(reason="no_evidence"))
    found = changed(
        of(rated(failure=Failure(reason="no_evidence")), rated(failure=LOST)),
        evidence=(without,),
        citations=(pointing_nowhere,),
    )
    assert [v.failure for asked in group_asked_verdicts([found]).values() for v in asked] == [LOST]
    unstated = NuggetAssignment(gold=0, assignment="not_support")
    assert group_asked_verdicts([changed(answer(), assignments=(unstated,))]) == {}


def test_two_judges_have_one_name():
    assert join_judge_names("a", "b") == "a, where unsure b"
    assert join_judge_names("a", None) == join_judge_names("a", "") == "a"
