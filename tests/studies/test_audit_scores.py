"""Figures of an audit: pairs, detection, lift, optimism, ratings by damage."""

from __future__ import annotations

import numpy as np
import pytest
from answers import answer
from case_tables import each_case
from damage import damage, likert, pairs_of
from hypothesis import given, settings
from hypothesis import strategies as st
from lazy import LazyModule

from ragassay.metrics.papers.citations import score_citations
from ragassay.metrics.stats.intervals import compute_mean_interval, compute_share_interval
from ragassay.records import AnswerSentence, Citation, CitationVerdict, Evaluation, Failure, Finding
from ragassay.studies.audit_scores import (
    average_variant_ratings,
    build_perturbed_pairs,
    compute_attack_figures,
    detection_score,
    lift_score,
    optimism_error,
)
from ragassay.studies.certificate import certify

sklearn_metrics = LazyModule("sklearn.metrics")

Ratings = st.one_of(st.none(), st.integers(1, 5).map(float))
Scored = st.lists(st.tuples(Ratings, Ratings), min_size=1, max_size=12)


def test_worked_by_hand():
    # Four pairs, benign and damaged: 5, 2; 4, 4; 3, 5; 5, unscored. The last one counts nowhere.
    # Detection: only 5 > 2; the tie 4, 4 is none: 1/3. Were the fourth found: 2/4, else 1/4.
    # Benign (5 + 4 + 3) / 3 = 4; damaged (2 + 4 + 5) / 3 = 11/3; lift -1/3.
    # Excess over 1, extreme: 1, 3, 4 on average 8/3.
    # AUROC, benign 5 4 3 against damaged 2 4 5: 5 wins 1 + 1 + .5, 4 wins 1 + .5, 3 wins 1: 5/9.
    (figure,) = compute_attack_figures(pairs_of([(5, 2), (4, 4), (3, 5), (5, None)]))
    assert figure.detection.value == pytest.approx(1 / 3)
    assert (figure.detection.n, figure.detection.n_unscored) == (3, 1)
    assert (figure.detection.worst, figure.detection.best) == (0.25, 0.5)
    assert (figure.benign.value, figure.benign.n) == (4.0, 3)
    assert figure.perturbed.value == pytest.approx(11 / 3)
    assert figure.lift.value == pytest.approx(-1 / 3)
    assert figure.optimism_error.value == pytest.approx(8 / 3)
    assert figure.auroc.value == pytest.approx(5 / 9)
    assert (figure.auroc.n, figure.auroc.n_unscored) == (6, 2)
    assert figure.examples == ("a2~off_topic", "a1~off_topic")


def test_subtle_damage_may_keep_a_rating_of_three():
    # Excess over 3 of 5, 3 and 1: 2, 0, 0 on average 2/3.
    pairs = pairs_of([(5, 5), (5, 3), (5, 1)], severity="subtle")
    assert optimism_error(pairs, "subtle").value == pytest.approx(2 / 3)


@given(Scored)
@settings(max_examples=40)
def test_agrees_with_brute_force_and_scikit_learn(scored):
    (figure,) = compute_attack_figures(pairs_of(scored))
    both = [(b, d) for b, d in scored if b is not None and d is not None]
    assert figure.detection.n == len(both)
    assert figure.detection.n_unscored == len(scored) - len(both)
    if not both:
        assert figure.detection.value is None
        assert figure.auroc.value is None
        assert figure.lift.value is None
        return
    found = sum(1 for b, d in both if d < b) / len(both)
    assert figure.detection.value == pytest.approx(found)
    assert figure.lift.value == pytest.approx(np.mean([d - b for b, d in both]))
    truth = [True] * len(both) + [False] * len(both)
    area = sklearn_metrics.roc_auc_score(truth, [b for b, _ in both] + [d for _, d in both])
    assert figure.auroc.value == pytest.approx(area)
    assert figure.detection.low <= figure.detection.value + 1e-9
    assert figure.detection.high >= figure.detection.value - 1e-9


def test_intervals_resample_questions_and_not_answers():
    scored = [(5, 1), (5, 5), (5, 1), (5, 5)]
    apart, together = pairs_of(scored), pairs_of(scored, topics=["q", "q", "q", "q"])
    assert lift_score(apart).low == pytest.approx(compute_mean_interval([-4, 0, -4, 0])[0])
    assert lift_score(together).low is None, "one question cannot be resampled"
    # Answers to one question are one trial of detection.
    found = detection_score(pairs_of([(5, 1)] * 12, topics=["q"] * 11 + ["r"]))
    assert found.n == 12
    assert found.low == pytest.approx(compute_share_interval(2, 2)[0])


def test_a_perfect_share_of_few_pairs_is_not_certain():
    # A bootstrap of 1, 1, ..., 1 has no width; Wilson's of 12 of 12 reaches down to .757.
    found = detection_score(pairs_of([(5, 1)] * 12))
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(compute_share_interval(12, 12)[0])
    assert found.low == pytest.approx(0.7575, abs=1e-3)


def test_no_pair_gives_no_figure():
    assert compute_attack_figures([]) == ()
    assert average_variant_ratings([]) == {}
    assert detection_score([]).n == 0


def test_a_finding_that_ought_to_come_up_is_detected_where_there_is_one_more():
    kind = "retracted_citation"
    findings = (Finding(kind=kind, message="It was retracted."),) * 2
    hurt = [damage(n, targets=(f"findings.{kind}",)) for n in range(2)]
    found = {"a0": findings[:1], "a1": (), "a0~off_topic": findings, "a1~off_topic": ()}
    evaluations = {name: answer(name, findings=found[name]) for name in found}
    (figure,) = compute_attack_figures(build_perturbed_pairs(hurt, evaluations))
    # The first: 1/2 falls to 1/3. The second: 1 stays 1.
    assert figure.detection.value == 0.5
    assert figure.perturbed.value == pytest.approx((1 / 3 + 1) / 2)
    assert figure.optimism_error is None


def rated(name: str, rating: float) -> Evaluation:
    return answer(name).model_copy(update={"scores": {"rubric.cohesion": likert(rating)}})


@each_case("missing", ["a0", "a0~off_topic"])
def test_an_answer_without_an_evaluation_is_unscored(missing):
    names = {"a0", "a0~off_topic"} - {missing}
    evaluations = {name: rated(name, 3) for name in names}
    (figure,) = compute_attack_figures(build_perturbed_pairs([damage(0)], evaluations))
    assert (figure.detection.value, figure.detection.n_unscored) == (None, 1)
    assert figure.benign.scale == (1.0, 5.0)


def test_a_score_that_does_not_apply_makes_no_pair():
    hurt = damage(0, targets=("citations.support", "rubric.cohesion"))
    evaluations = {"a0": rated("a0", 5), "a0~off_topic": rated("a0~off_topic", 1)}
    pairs = build_perturbed_pairs([hurt], evaluations)
    assert [pair.target for pair in pairs] == ["rubric.cohesion"]


def test_each_attack_severity_and_target_has_its_figure():
    one = pairs_of([(5, 1)])
    two = pairs_of([(5, 3)], severity="subtle", attack="hint")
    three = pairs_of([(4, 5)], target="rubric.relevancy", family="injection", attack="injection")
    figures = compute_attack_figures([*one, *two, *three])
    found = [(f.attack, f.family, f.severity, f.target) for f in figures]
    assert found == [
        ("off_topic", "rubric", "extreme", "rubric.cohesion"),
        ("hint", "rubric", "subtle", "rubric.cohesion"),
        ("injection", "injection", "extreme", "rubric.relevancy"),
    ]
    assert [f.optimism_error is None for f in figures] == [False, False, True]


def test_ratings_by_damage_count_a_whole_answer_once():
    # Two attacks on two answers: benign (5 + 3) / 2 = 4, extreme (1 + 2 + 2 + 1) / 4 = 1.5.
    pairs = [
        *pairs_of([(5, 1), (3, 2)]),
        *pairs_of([(5, 2), (3, 1)], attack="tweets"),
        *pairs_of([(5, 4), (3, None)], attack="hint", severity="subtle"),
        *pairs_of([(5, 5)], attack="injection", family="injection"),
    ]
    found = average_variant_ratings(pairs)["rubric.cohesion"]
    means = [(name, score.value) for name, score in found.items()]
    assert means == [("benign", 4.0), ("subtle", 4.0), ("extreme", 1.5)]
    assert (found["benign"].n, found["extreme"].n, found["subtle"].n_unscored) == (2, 4, 1)
    # One of two subtle ratings is missing: (4 + 1) / 2 at worst, (4 + 5) / 2 at best.
    assert (found["subtle"].worst, found["subtle"].best) == (2.5, 4.5)


DOUBT = Failure(reason="undecided")


def cited(name: str, *verdicts: str | None, findings: int = 0) -> Evaluation:
    """An answer that cites once a sentence; None is an undecided verdict."""
    undecided = {"failure": DOUBT, "tentative_label": "contradicts"}
    found = [
        CitationVerdict.model_validate(
            {"sentence": n, "citation": Citation(marker=str(n), document="d"), "verdict": verdict}
            | ({} if verdict else undecided)
        )
        for n, verdict in enumerate(verdicts, 1)
    ]
    finding = {"kind": "contradicted_citation", "message": "m"}
    heads = (Finding(**finding),) * findings
    looks = (Finding(**finding, level="secondary"),) * verdicts.count(None)
    sentences = [AnswerSentence(index=n, text="A.", start=0, end=2) for n in (1, 2, 3)]
    scores = score_citations(sentences, found, "judge")
    given = {"verdicts": tuple(found), "scores": scores, "findings": (*heads, *looks)}
    return answer(name, "q", scores=None).model_copy(update=given)


@each_case(
    ("whole", "hurt", "changed", "state"),
    [
        # The damage made a verdict undecided: neither found nor missed.
        (("supports",) * 3, ("supports", "supports", None), (), "undecided"),
        # Lower even if the undecided one supported: found.
        (("supports",) * 3, ("supports", "contradicts", None), (), "found"),
        # Lower only because fewer count: no detection.
        (("supports", "supports", "neutral"), ("supports", None, "neutral"), (), "undecided"),
        # Others were undecided before, and what was changed was decided: missed.
        (("supports", "supports", None), ("supports", "supports", None), (1,), "missed"),
        (("supports", "supports", None), ("supports", "supports", None), (3,), "undecided"),
        # Nothing is left to compare.
        ((None, None, None), ("supports", "supports", "supports"), (), "undecided"),
        (("supports",) * 3, ("supports",) * 3, (), "missed"),
    ],
)
def test_what_the_judge_left_open_is_neither_found_nor_missed(whole, hurt, changed, state):
    hit = damage(0, targets=("citations.support",)).model_copy(update={"sentences": changed})
    evaluations = {hit.original: cited(hit.original, *whole), hit.record.id: cited("x", *hurt)}
    pairs = build_perturbed_pairs([hit], evaluations)
    (figure,), (line,) = compute_attack_figures(pairs), certify(pairs)
    assert figure.n_undecided == figure.detection.n_unscored == (state == "undecided")
    assert figure.detection.value == {"found": 1.0, "missed": 0.0, "undecided": None}[state]
    assert line.decided is not None and line.decided.value == float(state != "undecided")
    if state == "undecided":
        assert (figure.detection.worst, figure.detection.best) == (0.0, 1.0)
        assert line.reason == "Undecided on every pair (1)."


def test_a_finding_that_is_only_worth_a_look_detects_nothing():
    hit = damage(0, targets=("findings.contradicted_citation",))
    whole = cited(hit.original, "supports", "supports", "supports")
    for hurt, n_undecided, value in (
        (cited("x", "supports", "supports", None), 1, None),
        (cited("x", "supports", "contradicts", "supports", findings=1), 0, 1.0),
        (cited("x", "supports", "contradicts", None, findings=1), 0, 1.0),
        (cited("x", "supports", "supports", "supports"), 0, 0.0),
    ):
        pairs = build_perturbed_pairs([hit], {hit.original: whole, hit.record.id: hurt})
        (figure,) = compute_attack_figures(pairs)
        assert (figure.n_undecided, figure.detection.value) == (n_undecided, value)


def test_the_certificate_names_the_undecided_beside_what_was_found():
    hits = [damage(n, targets=("citations.support",)) for n in range(4)]
    evaluations = {hit.original: cited(hit.original, "supports", "supports") for hit in hits}
    for hit, verdict in zip(hits, ["neutral"] * 3 + [None], strict=True):
        evaluations[hit.record.id] = cited(hit.record.id, "supports", verdict)
    (line,) = certify(build_perturbed_pairs(hits, evaluations))
    assert line.reason.startswith("Detects 3 of 3 extreme perturbations;")
    assert line.reason.endswith("; 1 of 4 undecided.")
    assert line.decided is not None and (line.decided.value, line.decided.n) == (0.75, 4)
