"""Measure how a judge scores perturbed answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ragassay.metrics.papers.answer_scores import LIKERT
from ragassay.metrics.stats.aggregates import average_over_questions
from ragassay.metrics.stats.agreement import measure_discrimination
from ragassay.metrics.stats.intervals import SHARE_SCALE, compute_share_interval
from ragassay.records import (
    DESIRED_RATING,
    AttackFigure,
    Evaluation,
    PerturbedAnswer,
    Score,
    Severity,
    Variant,
    VerdictBase,
)

SEVERITIES: tuple[Severity, ...] = ("subtle", "extreme")
N_EXAMPLES = 3

JUDGED_BY = {
    "citations": "citation",
    "sentences": "sentence_label",
    "nuggets": "assignment",
    "contradicted_citation": "citation",
    "irrelevant_citation": "citation",
    "contradicted_sentence": "evidence",
    "inappropriate_sentence": "sentence_label",
}
"""Evaluators of the score groups and finding kinds that do not have the same name."""

_BY_ITEM = frozenset({"rubric", "racar"})
"""Score groups in which each score depends only on the verdicts on one item."""

K = TypeVar("K")


@dataclass(frozen=True)
class PerturbedPair:
    """A score of an answer before and after an attack.

    Attributes:
        target: Name of the score, which is expected to decrease.
        is_undecided: Whether the comparison depends on undecided verdicts.
    """

    perturbation: PerturbedAnswer
    target: str
    question: str
    benign: float | None
    perturbed: float | None
    scale: tuple[float, float]
    judge: str
    is_undecided: bool = False

    @property
    def scores(self) -> tuple[float, float] | None:
        """Scores of both answers, or None if a score is missing or the pair is undecided."""
        if self.benign is None or self.perturbed is None or self.is_undecided:
            return None
        return self.benign, self.perturbed

    @property
    def is_detected(self) -> bool:
        """True if the perturbed answer has the lower score."""
        return self.scores is not None and self.scores[1] < self.scores[0]


def build_perturbed_pairs(
    perturbed: Iterable[PerturbedAnswer], evaluations: Mapping[str, Evaluation]
) -> tuple[PerturbedPair, ...]:
    """Pair the score of each perturbed answer with the score of the unperturbed answer.

    Scores that do not apply to the unperturbed answer are left out. A pair is unscored if a score
    is missing or an evaluation failed.

    Args:
        perturbed: Perturbed answers. There is one pair for each target of an attack.
    """
    pairs = (
        _pair_scores(perturbation, target, evaluations)
        for perturbation in perturbed
        for target in perturbation.targets
    )
    return tuple(pair for pair in pairs if pair is not None)


def _pair_scores(
    perturbation: PerturbedAnswer, target: str, evaluations: Mapping[str, Evaluation]
) -> PerturbedPair | None:
    unperturbed = evaluations.get(perturbation.original)
    perturbed = evaluations.get(perturbation.record.id)
    benign = find_target_score(target, unperturbed) if unperturbed else None
    if unperturbed and (benign is None or not benign.n + benign.n_unscored):
        return None
    after = find_target_score(target, perturbed) if perturbed else None
    known = benign or after
    unknown_scale = LIKERT if target.startswith("rubric.") else SHARE_SCALE
    return PerturbedPair(
        perturbation=perturbation,
        target=target,
        question=perturbation.record.topic or perturbation.record.question,
        benign=benign.value if benign else None,
        perturbed=after.value if after else None,
        scale=known.scale if known else unknown_scale,
        judge=known.judge if known else "",
        is_undecided=bool(
            unperturbed and perturbed and _is_open(perturbation, target, unperturbed, perturbed)
        ),
    )


def _is_open(
    perturbation: PerturbedAnswer, target: str, unperturbed: Evaluation, perturbed: Evaluation
) -> bool:
    """Return whether the comparison of two scores depends on undecided verdicts.

    The comparison depends on undecided verdicts if a score has no value because of them, or if the
    perturbed answer has additional undecided verdicts (or one on a changed sentence) and, in the
    best case, a score that is not lower.
    """
    evaluations = (unperturbed, perturbed)
    before, after = (find_target_score(target, evaluation) for evaluation in evaluations)
    open_before, open_after = (open_verdicts(target, evaluation) for evaluation in evaluations)
    if before is None or before.value is None or after is None or after.value is None:
        return bool(open_before or open_after)
    changed = [v for v in open_after if getattr(v, "sentence", None) in perturbation.sentences]
    if not changed and len(open_after) <= len(open_before):
        return False
    best = after.value if after.best is None else after.best
    return best >= before.value


def open_verdicts(target: str, evaluation: Evaluation) -> list[VerdictBase]:
    """Return the undecided verdicts that a score depends on."""
    group, _, name = target.partition(".")
    evaluator = JUDGED_BY.get(name if group == "findings" else group, group)
    return [
        verdict
        for verdict in evaluation.find_verdicts(evaluator)
        if verdict.is_undecided
        and (group not in _BY_ITEM or verdict.item.partition("/")[0] == name)
    ]


def find_target_score(target: str, evaluation: Evaluation) -> Score | None:
    """Return the score with a given name.

    For "findings.KIND", the score is 1 / (1 + n), where n is the number of primary findings of that
    kind.
    """
    group, _, kind = target.partition(".")
    if group != "findings":
        return evaluation.scores.get(target)
    n_findings = sum(finding.kind == kind for finding in evaluation.primary_findings)
    return Score(value=1 / (1 + n_findings), n=1)


def compute_attack_figures(pairs: Sequence[PerturbedPair]) -> tuple[AttackFigure, ...]:
    """Compute the figures of each attack, severity and target, in order of first appearance."""
    groups = group_pairs(
        pairs,
        lambda p: (p.perturbation.family, p.perturbation.attack, p.perturbation.severity, p.target),
    )
    return tuple(_compute_figure(members) for members in groups.values())


def group_pairs(
    pairs: Iterable[PerturbedPair], key: Callable[[PerturbedPair], K]
) -> dict[K, list[PerturbedPair]]:
    """Group pairs by a key, in order of first appearance."""
    groups: dict[K, list[PerturbedPair]] = {}
    for pair in pairs:
        groups.setdefault(key(pair), []).append(pair)
    return groups


def _compute_figure(pairs: Sequence[PerturbedPair]) -> AttackFigure:
    perturbation = pairs[0].perturbation
    is_rated = perturbation.family == "rubric"
    return AttackFigure(
        attack=perturbation.attack,
        family=perturbation.family,
        severity=perturbation.severity,
        target=pairs[0].target,
        benign=_average_pairs(pairs, lambda benign, perturbed: benign, pairs[0].scale),
        perturbed=_average_pairs(pairs, lambda benign, perturbed: perturbed, pairs[0].scale),
        detection=detection_score(pairs),
        auroc=_compute_auroc(pairs),
        lift=lift_score(pairs),
        optimism_error=optimism_error(pairs, perturbation.severity) if is_rated else None,
        n_undecided=sum(pair.is_undecided for pair in pairs),
        examples=_select_examples(pairs),
    )


def detection_score(pairs: Sequence[PerturbedPair]) -> Score:
    """Return the share of pairs in which the perturbed answer has the lower score.

    The interval is the union of a bootstrap interval and a Wilson interval with one trial per
    question, because the bootstrap interval of a share of 0 or 1 has no width. The value is None if
    there are no scored pairs.

    Example:
        >>> detection_score([]).value is None
        True
    """
    score = _average_pairs(pairs, lambda benign, perturbed: float(perturbed < benign), SHARE_SCALE)
    n_questions = len({pair.question for pair in pairs if pair.scores is not None})
    wilson = compute_share_interval((score.value or 0.0) * n_questions, n_questions)
    if wilson is None or score.low is None or score.high is None:
        low, high = wilson or (None, None)
    else:
        low, high = min(wilson[0], score.low), max(wilson[1], score.high)
    return score.model_copy(update={"low": low, "high": high})


def lift_score(pairs: Sequence[PerturbedPair]) -> Score:
    """Return the mean difference between perturbed and unperturbed scores."""
    low, high = pairs[0].scale if pairs else SHARE_SCALE
    return _average_pairs(
        pairs, lambda benign, perturbed: perturbed - benign, (low - high, high - low)
    )


def optimism_error(pairs: Sequence[PerturbedPair], severity: Severity) -> Score | None:
    """Return how far ratings exceed the desired rating, on average (YESciEval, section 5).

    The excess is max(0, rating - 1) for extreme and max(0, rating - 3) for subtle perturbations.
    The result is None if the scores are not ratings from 1 to 5.
    """
    if not pairs or pairs[0].scale != LIKERT:
        return None
    desired = DESIRED_RATING[severity]
    scale = (0.0, LIKERT[1] - desired)
    return _average_pairs(pairs, lambda benign, perturbed: max(0.0, perturbed - desired), scale)


def average_variant_ratings(pairs: Sequence[PerturbedPair]) -> dict[str, dict[Variant, Score]]:
    """Return mean ratings by target and variant (YESciEval, tables 7-14).

    Only attacks of the family "rubric" are included. Each unperturbed answer counts once.
    """
    rated = [pair for pair in pairs if pair.perturbation.family == "rubric"]
    return {
        target: _average_variants(members)
        for target, members in sorted(group_pairs(rated, lambda pair: pair.target).items())
    }


def _average_variants(pairs: Sequence[PerturbedPair]) -> dict[Variant, Score]:
    unperturbed = list({pair.perturbation.original: pair for pair in pairs}.values())
    means: dict[Variant, Score] = {
        "benign": _average_values(
            unperturbed, [pair.benign for pair in unperturbed], unperturbed[0].scale
        )
    }
    for severity in SEVERITIES:
        own = [pair for pair in pairs if pair.perturbation.severity == severity]
        if own:
            means[severity] = _average_values(own, [pair.perturbed for pair in own], own[0].scale)
    return means


def _average_pairs(
    pairs: Sequence[PerturbedPair], of: Callable[[float, float], float], scale: tuple[float, float]
) -> Score:
    return _average_values(
        pairs, [of(*pair.scores) if pair.scores else None for pair in pairs], scale
    )


def _average_values(
    pairs: Sequence[PerturbedPair], values: Sequence[float | None], scale: tuple[float, float]
) -> Score:
    questions = [pair.question for pair in pairs]
    return average_over_questions(values, questions, scale, _find_judge(pairs))


def _compute_auroc(pairs: Sequence[PerturbedPair]) -> Score:
    scored = [(pair.scores, pair.question) for pair in pairs if pair.scores is not None]
    values = [value for both, _ in scored for value in both]
    questions = [question for _, question in scored for _ in range(2)]
    auroc = measure_discrimination(values, [True, False] * len(scored), questions).auroc
    n_unscored = 2 * (len(pairs) - len(scored))
    return auroc.model_copy(update={"n_unscored": n_unscored, "judge": _find_judge(pairs)})


def _select_examples(pairs: Sequence[PerturbedPair]) -> tuple[str, ...]:
    undetected = [
        (scores[0] - scores[1], pair.perturbation.record.id)
        for pair in pairs
        if (scores := pair.scores) is not None and not pair.is_detected
    ]
    return tuple(name for _, name in sorted(undetected)[:N_EXAMPLES])


def _find_judge(pairs: Sequence[PerturbedPair]) -> str:
    return next((pair.judge for pair in pairs if pair.judge), "")
