"""A judge on every task, and the rankings that follow from it."""

from __future__ import annotations

import pytest
from answers import answer, changed
from case_tables import each_case

from ragassay.metrics.papers.rankings import Ranking, compare_rankings, relabel_answers
from ragassay.metrics.stats.alignment import align_labels
from ragassay.records import (
    Evaluation,
    EvidenceVerdict,
    ExamGrade,
    Failure,
    HumanLabel,
    Judgment,
    SentenceLabel,
)
from ragassay.studies.trust import TaskTrust, measure_trust


def human(task: str, label: str, record_id: str = "r", **fields: object) -> HumanLabel:
    given = {"task": task, "label": label, "record_id": record_id}
    return HumanLabel.model_validate(given | fields)


def rated(record_id: str, scale: tuple[int, int] = (1, 5), **ratings: int | None) -> Evaluation:
    """An answer to its own question, rated on rubrics."""
    judgments = [
        Judgment(rubric=name, rating=n, score=n, scale=scale) for name, n in ratings.items()
    ]
    return answer(record_id, topic=record_id, judgments=tuple(judgments))


def people_rated(rubric: str, **ratings: int) -> list[HumanLabel]:
    """People's ratings by answer."""
    return [human("rubric", str(n), name, item=rubric) for name, n in ratings.items()]


def trust(evaluations: list[Evaluation], labels: list[HumanLabel]) -> dict[str, TaskTrust]:
    found = measure_trust(align_labels(labels, evaluations), evaluations)
    return {f"{t.task}: {t.reading}": t for t in found}


def value(found: TaskTrust, metric: str) -> float | None:
    (score,) = [figure.score for figure in found.figures if figure.metric == metric]
    return score.value


def test_relevance_worked_by_hand():
    # Judge: required, required, borderline; people: required, borderline, borderline.
    # 2 of 3 agree; expected 1/3 * 2/3 + 2/3 * 1/3 = 4/9; kappa = (2/3 - 4/9) / (5/9) = .4.
    # Confidence .75 throughout: ECE = |2/3 - .75| = .0833.
    words = [("a", "required"), ("b", "required"), ("c", "borderline")]
    said = ("required", "borderline", "borderline")
    labels = [human("relevance", label, sentence=i) for i, label in enumerate(said, 1)]
    found = trust([answer(labels=words)], labels)["relevance: four labels"]
    assert value(found, "accuracy") == pytest.approx(2 / 3)
    assert value(found, "Cohen's kappa") == pytest.approx(0.4)
    error = value(found, "expected calibration error (lower is better)")
    assert error == pytest.approx(0.75 - 2 / 3)
    assert found.agreement is not None
    assert found.agreement.confusion[0][:2] == (1, 0)
    assert trust([answer(labels=words)], []) == {}


def test_citations_are_read_three_ways():
    def cited(*labels: str) -> list[HumanLabel]:
        pairs = enumerate(labels, 1)
        return [human("citation", said, sentence=i, item=f"3118012{i}") for i, said in pairs]

    documents = [(i, f"3118012{i}", v) for i, v in enumerate(("supports", "neutral", "neutral"), 1)]
    judged = answer(labels=[(w, "required") for w in "abc"], citations=documents)
    found = trust([judged], cited("supports", "not_relevant", "contradicts"))
    # Folded to two: s/s o/o o/o. To three: s/s n/n c/n. All four: s/s nr/n c/n.
    assert {name: value(t, "accuracy") for name, t in found.items()} == {
        "citation: supports or not": 1.0,
        "citation: three labels": pytest.approx(2 / 3),
        "citation: four labels": pytest.approx(1 / 3),
    }
    assert "citation: five labels" in trust([judged], cited("invalid"))
    two = answer(labels=[("a", "required")], citations=[(1, "31180121", "not_attributable")])
    aligned = align_labels(cited("neutral"), [two])
    (found,) = measure_trust(aligned, [two], n_verdict_labels=2)
    assert (found.reading, value(found, "accuracy")) == ("supports or not", 1.0)
    assert len(measure_trust(aligned, [two], n_verdict_labels=3)) == 2


def test_ratings_are_compared_rubric_by_rubric_and_over_all():
    run = [
        rated("a", cohesion=1, depth=5),
        rated("b", cohesion=3, depth=None),
        rated("c", cohesion=5, depth=4),
    ]
    people = people_rated("cohesion", a=2, b=3, c=4) + people_rated("depth", a=5, b=5, c=5)
    found = trust(run, people)
    assert list(found) == ["rubric: cohesion", "rubric: depth", "rubric: all rubrics"]
    assert value(found["rubric: cohesion"], "Spearman's rho") == 1.0
    # Constant human ratings: no order to correlate with.
    assert value(found["rubric: depth"], "Spearman's rho") is None
    # Observed (1 + 0 + 1) / 3; expected over nine pairs of 2 3 4 and 1 3 5:
    # (1+1+9 + 4+0+4 + 9+1+1) / 9 = 30/9; kappa = 1 - (2/3) / (30/9) = .8.
    kappa = value(found["rubric: cohesion"], "Cohen's kappa, quadratic weights")
    assert kappa == pytest.approx(0.8)
    depth = found["rubric: depth"].agreement
    assert depth is not None
    assert (depth.accuracy.n, depth.accuracy.n_unscored) == (2, 1)


def test_rubrics_on_different_scales_are_not_put_together():
    run = []
    for name, fits, depth in (("a", 0, 5), ("b", 1, 3), ("c", 0, 1)):
        one, other = rated(name, (0, 1), fits=fits), rated(name, depth=depth)
        run.append(changed(one, judgments=(*one.judgments, *other.judgments)))
    people = people_rated("fits", a=0, b=1, c=1) + people_rated("depth", a=3, b=3, c=3)
    found = trust(run, people)
    assert list(found) == ["rubric: depth", "rubric: fits"]
    fits = found["rubric: fits"].agreement
    assert fits is not None
    assert fits.labels == ("0", "1")
    # Two of three agree.
    assert fits.accuracy.value == pytest.approx(2 / 3)


def test_annotators_are_held_against_each_other():
    judged = answer(labels=[("a", "required"), ("b", "borderline"), ("c", "required")])
    by_person = {
        "ann": ("required", "borderline", "required"),
        "bob": ("required", "borderline", "borderline"),
    }
    labels = [
        human("relevance", label, sentence=sentence, annotator=who)
        for who, said in by_person.items()
        for sentence, label in enumerate(said, 1)
    ]
    found = trust([judged], labels)["relevance: four labels"]
    # Units rr, bb, rb: 4/9, as worked out for alpha.
    assert value(found, "between people: Krippendorff's alpha, nominal") == pytest.approx(4 / 9)
    # With the judge: rrr, bbb, rbr; n 9, r 5, b 4. Observed: 2 * (2 * 1) / 2 = 2; expected
    # 2 * 5 * 4 / 8 = 5; alpha = 1 - 2 / 5.
    assert value(found, "people and the judge: Krippendorff's alpha, nominal") == pytest.approx(0.6)
    assert found.n_disputed == 1
    assert value(found, "accuracy") == 1.0


def test_what_the_judge_decides_is_measured_and_beside_it_how_much_that_is():
    # Decided: right, wrong, right; two undecided, one of which leant to the right label; one
    # failed. 2 of 3 decided are right; 2 of 5 if undecided is wrong; 3 of 5 decided; were the
    # failed one right 3 of 6, else 2 of 6.
    undecided = {"failure": Failure(reason="undecided"), "tentative_label": "required"}
    given = [
        *({"label": label, "confidence": 0.9} for label in ("required", "required", "borderline")),
        *[undecided | {"confidence": 0.6}] * 2,
        {"failure": Failure(reason="timeout")},
    ]
    labels = tuple(SentenceLabel(sentence=n, **one) for n, one in enumerate(given, 1))
    judged = answer().model_copy(update={"verdicts": labels})
    said = ("required", "borderline", "borderline", "required", "borderline", "required")
    people = [human("relevance", label, sentence=n) for n, label in enumerate(said, 1)]
    found = trust([judged], people)["relevance: four labels"]
    assert value(found, "accuracy") == pytest.approx(2 / 3)
    assert value(found, "accuracy, undecided as wrong") == pytest.approx(2 / 5)
    assert value(found, "share decided") == pytest.approx(3 / 5)
    (score,) = [f.score for f in found.figures if f.metric == "accuracy, undecided as wrong"]
    assert (score.n, score.n_unscored) == (5, 1)
    assert (score.worst, score.best) == (pytest.approx(2 / 6), pytest.approx(3 / 6))
    # A leaning is no verdict: its confidence calibrates nothing.
    assert found.calibration is not None and found.calibration.error.n == 3


def test_scores_are_held_against_accuracy():
    run = [
        answer("a", "q1", scores={"nuggets.recall": 0.9, "citations.contradict": 0.8}),
        answer("b", "q1", scores={"nuggets.recall": 0.1, "citations.contradict": 0.1}),
        answer("c", "q2", scores={"nuggets.recall": 0.5}),
    ]
    labels = [human("accuracy", s, r) for r, s in (("a", "yes"), ("b", "no"), ("c", "yes"))]
    found = trust(run, labels)
    assert value(found["accuracy: nuggets.recall"], "AUROC") == 1.0
    # Less contradiction is better, and the accurate answer has more of it.
    assert value(found["accuracy: citations.contradict"], "AUROC, paired by question") == 0.0


def ranked_run() -> tuple[list[Evaluation], list[HumanLabel]]:
    """Three systems, two questions; the judge puts the first two the wrong way round."""
    counts = {"s1": (4, 3), "s2": (3, 4), "s3": (1, 1)}
    run, labels = [], []
    for system, n_required in counts.items():
        people, judge = (["required"] * n + ["unnecessary"] * (4 - n) for n in n_required)
        for topic in ("t1", "t2"):
            name = f"{system}-{topic}"
            run.append(answer(name, topic, system, labels=[("w", label) for label in judge]))
            labels += [human("relevance", one, name, sentence=i) for i, one in enumerate(people, 1)]
    return run, labels


def rank(run: list[Evaluation], labels: list[HumanLabel]) -> dict[str, Ranking]:
    both = relabel_answers(align_labels(labels, run), run)
    return {one.key: one for one in compare_rankings(both.human, both.judge, run)}


def test_rankings_worked_by_hand():
    found = rank(*ranked_run())
    precision = found["sentences.required"]
    assert precision.human == {"s1": 1.0, "s2": 0.75, "s3": 0.25}
    assert precision.judge == {"s1": 0.75, "s2": 1.0, "s3": 0.25}
    # Ranks 1 2 3 and 2 1 3: rho = 1 - 6 * 2 / 24 = .5; of three pairs two agree: tau = 1/3.
    assert precision.correlation.spearman.value == pytest.approx(0.5)
    assert precision.correlation.kendall.value == pytest.approx(1 / 3)
    # Nobody called a sentence inappropriate: undefined, as in BioACE's table 7.
    assert found["sentences.inappropriate"].correlation.spearman.value is None


def test_only_what_both_labelled_is_ranked():
    run, labels = ranked_run()
    both = relabel_answers(align_labels(labels[:2], run), run)
    (human_side,), (judge_side,) = both.human, both.judge
    assert len(human_side.labels) == len(judge_side.labels) == 2
    assert (human_side.judge, judge_side.judge) == ("people", "judge")
    assert compare_rankings(both.human, both.judge, run) == ()


def test_citations_are_ranked_by_support():
    run, labels = [], []
    for system, verdict in (("s1", "supports"), ("s2", "neutral")):
        for topic in ("t1", "t2"):
            name = f"{system}-{topic}"
            run.append(answer(name, topic, system, [("a", None)], [(1, "31180121", verdict)]))
            labels.append(human("citation", verdict, name, sentence=1, item="31180121"))
    found = rank(run, labels)["citations.support"]
    assert found.human == {"s1": 1.0, "s2": 0.0}
    assert found.correlation.kendall.value == 1.0


def test_what_people_said_of_a_verdict_is_compared_with_it():
    # Grades 3 and 0 beside 4 and 0: one of two agrees; the means are 1.5 and 2, the order is alike.
    grades = [ExamGrade(exam_item=name, rating=n, score=n) for name, n in (("a", 3), ("b", 0))]
    extracted = ExamGrade(exam_item="a", grader="extraction", is_correct=True)
    found_by = EvidenceVerdict(sentence=2, verdict="neutral", confidence=0.8)
    judged = answer().model_copy(update={"verdicts": (*grades, extracted, found_by)})
    said = [
        *(human("exam_grade", n, item="rating/a", annotator=f"person {n}") for n in "425"),
        human("exam_grade", "0", item="rating/b"),
        human("exam_grade", "no", item="extraction/a"),
        human("evidence", "neutral", item="2/for/1"),
    ]
    found = trust([judged], said)
    assert list(found) == ["evidence: five labels", "exam_grade: 0 to 5", "exam_grade: two labels"]
    graded = found["exam_grade: 0 to 5"]
    assert (value(graded, "accuracy"), value(graded, "Spearman's rho")) == (0.5, 1.0)
    assert graded.agreement is not None
    assert graded.agreement.confusion[4][3] == graded.agreement.confusion[0][0] == 1
    assert value(found["exam_grade: two labels"], "accuracy") == 0.0
    assert value(found["evidence: five labels"], "accuracy") == 1.0


@each_case(
    ("said", "item", "reason"),
    [
        ("supports", "1/for/1", "the run has no verdict on this item"),
        ("yes", "2/for/1", "'yes' is not a label of this task"),
    ],
)
def test_a_label_of_another_verdict_or_with_another_word_fits_nothing(said, item, reason):
    verdict = EvidenceVerdict(sentence=2, verdict="neutral")
    judged = answer().model_copy(update={"verdicts": (verdict,)})
    (left,) = align_labels([human("evidence", said, item=item)], [judged]).unaligned
    assert left.reason == reason
