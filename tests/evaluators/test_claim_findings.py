"""Which contradictions lead a report."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from fakes import WordEmbedder

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.evaluators.findings import weigh_contradiction, weigh_irrelevance
from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.model_names import MINILM_VERIFIER
from ragassay.models.adapters import load_mean_bounds
from ragassay.records import (
    Bound,
    Citation,
    CitationVerdict,
    Escalation,
    EvidenceVerdict,
    Failure,
    NuggetVerdict,
    Usage,
)
from ragassay.settings import load_settings

DOUBT = Failure(reason="undecided")
MEASURED = {"risk": 0.2, "delta": 0.1, "precision": 0.86, "n": 120, "data": "made up"}
FINDING = Bound(label="contradicts", level="finding", threshold=0.95, **MEASURED)
VERDICT = FINDING.model_copy(update={"level": "verdict", "threshold": 0.7, "data": ""})


@dataclass
class Bounded:
    bounds: tuple[Bound, ...] = (VERDICT, FINDING)
    name: str = "bounded"
    digest: str = ""

    def predict_probabilities(self, pairs):
        raise AssertionError("nobody is asked")


def run_with(*bounds: Bound, encoder: bool = True) -> Run:
    run = build_run(load_settings(model="openai/a", signals=False, correctness="judge"))
    verifier = EncoderVerifier(Bounded(bounds), WordEmbedder()) if encoder else None
    return run.with_models(encoder=verifier)


def against(confidence: float | None, **given: object) -> EvidenceVerdict:
    fields = {"sentence": 1, "verdict": "contradicts", "confidence": confidence}
    return EvidenceVerdict.model_validate(fields | given)


@pytest.mark.parametrize(
    ("confidence", "level", "precision"),
    [(0.95, "primary", 0.86), (0.94, "secondary", None), (None, "secondary", None)],
)
def test_a_contradiction_leads_from_the_bound_of_findings_up(confidence, level, precision):
    verdict = against(confidence)
    found = weigh_contradiction(verdict, run_with(VERDICT, FINDING))
    assert (found.level, found.is_asserted) == (level, True)
    finding = found.build_finding("contradicted_sentence", "Said.", verdict)
    assert (finding.level, finding.precision) == (level, precision)
    assert finding.data == ("made up" if precision else "")
    assert (finding.sentence, finding.evaluator, finding.item) == (1, "evidence", verdict.item)


NUMBER = FINDING.model_copy(
    update={"kind": "number", "threshold": 0.8, "n_measured": 3, "low": 0.21, "high": 0.94}
)
NEVER = FINDING.model_copy(update={"kind": "words", "threshold": None, "precision": 0.3})


def test_the_precision_of_a_finding_is_that_of_its_kind():
    run = run_with(VERDICT, NUMBER, NEVER)
    number = against(0.85, difference="the source says 2 mg, the answer 5 mg")
    found = weigh_contradiction(number, run)
    assert found.level == "primary" and found.beside_others.level == "secondary"
    finding = found.build_finding("contradicted_sentence", "Said.", number)
    assert (finding.precision, finding.n_measured) == (0.86, 3)
    assert (finding.precision_low, finding.precision_high) == (0.21, 0.94)
    words = against(0.99, difference="'more', where the source has 'less'")
    found = weigh_contradiction(words, run)
    assert found.level == "secondary"
    finding = found.build_finding("contradicted_sentence", "Said.", words)
    assert (finding.precision, finding.data, finding.n_measured) == (0.3, "made up", 0)


def test_of_the_packaged_bounds_none_lets_a_verdict_lead_and_each_says_what_was_measured():
    run = run_with(*load_mean_bounds()[MINILM_VERIFIER])
    number = {"difference": "the source says 2 mg, the answer 5 mg"}
    words = {"difference": "'more', where the source has 'less'"}
    found = {}
    for kind, given in {"number": number, "words": words, "tentative": {}}.items():
        open_ = {"verdict": None, "tentative_label": "contradicts", "failure": DOUBT}
        for state in ({}, open_):
            weight = weigh_contradiction(against(1.0, **given, **state), run)
            assert (weight.level, weight.is_asserted) == ("secondary", not state)
            assert weight.measured.kind == kind
            found[kind] = weight.measured
    cited = Citation(marker="1", document="d")
    other = CitationVerdict(sentence=1, citation=cited, verdict="not_relevant", confidence=1.0)
    weight = weigh_irrelevance(other, run)
    assert weight.level == "secondary" and weight.measured and weight.measured.n_measured > 200
    assert not found["number"].is_tested and found["number"].n_measured < 10
    # The likeliest of the contradictions comes first of what is worth a look.
    assert found["number"].precision > max(found["words"].precision, found["tentative"].precision)


def test_a_leaning_is_worth_a_look_and_support_is_nothing():
    run = run_with(VERDICT, FINDING)
    open_ = against(0.6, verdict=None, tentative_label="contradicts", failure=DOUBT)
    found = weigh_contradiction(open_, run)
    assert (found.level, found.is_asserted, found.word) == ("secondary", False, "may contradict")
    for nothing in (
        against(0.6, verdict=None, tentative_label="supports", failure=DOUBT),
        against(0.6, verdict="supports"),
        against(None, verdict=None, failure=Failure(reason="timeout")),
    ):
        assert weigh_contradiction(nothing, run) is None


def test_without_a_bound_for_findings_a_bounded_verifier_never_leads():
    found = weigh_contradiction(against(1.0), run_with(VERDICT))
    assert found.level == "secondary"
    never = FINDING.model_copy(update={"threshold": None})
    found = weigh_contradiction(against(1.0), run_with(VERDICT, never))
    assert found.level == "secondary"


def test_a_judge_and_a_verifier_without_bounds_lead_and_nobody_measured_them():
    for run in (run_with(encoder=False), run_with()):
        found = weigh_contradiction(against(0.4), run)
        assert (found.level, found.measured) == ("primary", None)


def test_what_the_second_judge_decided_leads_unless_it_failed():
    run = run_with(VERDICT, FINDING)
    found = weigh_contradiction(against(0.4, escalation=Escalation(judge="b")), run)
    assert (found.level, found.measured) == ("primary", None)
    lost = Escalation(judge="b", failure=Failure(reason="timeout"))
    found = weigh_contradiction(against(0.9, escalation=lost), run)
    assert found.level == "secondary"


def test_of_a_citations_nuggets_the_heaviest_counts():
    def nugget(confidence: float) -> NuggetVerdict:
        given = {"sentence": 1, "document": "d", "nugget": str(confidence)}
        return NuggetVerdict(**given, verdict="contradicts", confidence=confidence)

    def citation(*nuggets: NuggetVerdict) -> CitationVerdict:
        cited = Citation(marker="1", document="d")
        return CitationVerdict(
            sentence=1, citation=cited, verdict="contradicts", nuggets=nuggets, usage=Usage()
        )

    run = run_with(VERDICT, FINDING)
    found = weigh_contradiction(citation(nugget(0.8), nugget(0.97)), run)
    assert found.level == "primary"
    found = weigh_contradiction(citation(nugget(0.8), nugget(0.9)), run)
    assert found.level == "secondary"
