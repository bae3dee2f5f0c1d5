"""Measure how a judge scores perturbed answers: by attack and score, and by mean ratings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ragassay.metrics.papers.answer_scores import LIKERT
from ragassay.metrics.stats.aggregates import mean_over_questions
from ragassay.metrics.stats.agreement import discrimination
from ragassay.metrics.stats.intervals import SHARE_SCALE, share_interval
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
"""Evaluators by groups of scores and kinds of findings that are not called as they are."""

_BY_ITEM = frozenset({"rubric", "racar"})
"""Groups whose scores each rest on verdicts on an item of that name."""

K = TypeVar("K")


@dataclass(frozen=True)
class PerturbedPair:
    """A whole answer and the same one after an attack, on one score.

    Attributes:
        target: The score that should fall.
        question: The key that answers to the same question share.
        benign: The whole answer's score; None where it is missing.
        perturbed: The perturbed answer's.
        is_undecided: Whether the judge left open what the damage changed, so that the scores say
            nothing of it.
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
        """Benign and perturbed score; None where either is missing, or the pair is undecided."""
        if self.benign is None or self.perturbed is None or self.is_undecided:
            return None
        return self.benign, self.perturbed

    @property
    def is_detected(self) -> bool:
        """Return whether the perturbed answer has the lower score; a tie does not count."""
        return self.scores is not None and self.scores[1] < self.scores[0]


def audit_pairs(
    perturbed: Iterable[PerturbedAnswer], evaluations: Mapping[str, Evaluation]
) -> tuple[PerturbedPair, ...]:
    """Pair the scores of unperturbed and perturbed answers.

    A score that does not apply to the whole answer, such as citations to one without any, makes no
    pair. A missing score, or an answer whose evaluation failed, is unscored.

    Args:
        perturbed: Perturbed answers; each gives one pair per target, in the given order.
        evaluations: Of unperturbed and perturbed answers, by record id.
    """
    found = (
        _pair(perturbation, target, evaluations)
        for perturbation in perturbed
        for target in perturbation.targets
    )
    return tuple(pair for pair in found if pair is not None)


def _pair(
    perturbation: PerturbedAnswer, target: str, evaluations: Mapping[str, Evaluation]
) -> PerturbedPair | None:
    unperturbed, hurt = (
        evaluations.get(name) for name in (perturbation.original, perturbation.record.id)
    )
    benign = score_of(target, unperturbed) if unperturbed else None
    if unperturbed and (benign is None or not benign.n + benign.n_unscored):
        return None
    after = score_of(target, hurt) if hurt else None
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
            unperturbed and hurt and _is_open(perturbation, target, unperturbed, hurt)
        ),
    )


def _is_open(
    perturbation: PerturbedAnswer, target: str, unperturbed: Evaluation, hurt: Evaluation
) -> bool:
    """Return whether undecided verdicts keep a score from telling.

    They do where they leave no value, and where the damage made some, or changed a sentence that
    has one, unless the score is lower even if these were the best.
    """
    before, after = (score_of(target, evaluation) for evaluation in (unperturbed, hurt))
    open_before, open_after = (
        open_verdicts(target, evaluation) for evaluation in (unperturbed, hurt)
    )
    if before is None or before.value is None or after is None or after.value is None:
        return bool(open_before or open_after)
    changed = [v for v in open_after if getattr(v, "sentence", None) in perturbation.sentences]
    if not changed and len(open_after) <= len(open_before):
        return False
    best = after.value if after.best is None else after.best
    return best >= before.value


def open_verdicts(target: str, evaluation: Evaluation) -> list[VerdictBase]:
    """Return the undecided verdicts that a score rests on."""
    group, _, name = target.partition(".")
    evaluator = JUDGED_BY.get(name if group == "findings" else group, group)
    found = [verdict for verdict in evaluation.by(evaluator) if verdict.is_undecided]
    return [one for one in found if group not in _BY_ITEM or one.item.partition("/")[0] == name]


def score_of(target: str, evaluation: Evaluation) -> Score | None:
    """Return a score by name; for "findings.KIND" one that falls with each finding of that kind.

    The latter is 1 / (1 + n) for n findings that lead a report: 1 without any, 1/2 for one.
    """
    group, _, kind = target.partition(".")
    if group != "findings":
        return evaluation.scores.get(target)
    n_findings = sum(finding.kind == kind for finding in evaluation.primary_findings)
    return Score(value=1 / (1 + n_findings), n=1)


def attack_figures(pairs: Sequence[PerturbedPair]) -> tuple[AttackFigure, ...]:
    """Return one figure for each attack, severity and target, in the order of first appearance."""
    groups = group_pairs(
        pairs,
        lambda p: (p.perturbation.family, p.perturbation.attack, p.perturbation.severity, p.target),
    )
    return tuple(_figure(members) for members in groups.values())


def group_pairs(
    pairs: Iterable[PerturbedPair], key: Callable[[PerturbedPair], K]
) -> dict[K, list[PerturbedPair]]:
    """Group pairs by a key, in the order of first appearance."""
    groups: dict[K, list[PerturbedPair]] = {}
    for pair in pairs:
        groups.setdefault(key(pair), []).append(pair)
    return groups


def _figure(pairs: Sequence[PerturbedPair]) -> AttackFigure:
    perturbation = pairs[0].perturbation
    is_rated = perturbation.family == "rubric"
    return AttackFigure(
        attack=perturbation.attack,
        family=perturbation.family,
        severity=perturbation.severity,
        target=pairs[0].target,
        benign=_mean(pairs, lambda benign, perturbed: benign, pairs[0].scale),
        perturbed=_mean(pairs, lambda benign, perturbed: perturbed, pairs[0].scale),
        detection=detection_score(pairs),
        auroc=_auroc(pairs),
        lift=lift_score(pairs),
        optimism_error=optimism_error(pairs, perturbation.severity) if is_rated else None,
        n_undecided=sum(pair.is_undecided for pair in pairs),
        examples=_examples(pairs),
    )


def detection_score(pairs: Sequence[PerturbedPair]) -> Score:
    """Return the share of pairs in which the perturbed answer has the lower score.

    A bootstrap of a share of 0 or 1 has no width, however few the pairs. So Wilson's interval, with
    each question as one trial, is computed too, and the wider end is used.

    Returns:
        `n` counts scored pairs; the value is None without one.

    Example:
        >>> detection_score([]).value is None
        True
    """
    found = _mean(pairs, lambda benign, perturbed: float(perturbed < benign), SHARE_SCALE)
    n_questions = len({pair.question for pair in pairs if pair.scores is not None})
    wilson = share_interval((found.value or 0.0) * n_questions, n_questions)
    if wilson is None or found.low is None or found.high is None:
        low, high = wilson or (None, None)
    else:
        low, high = min(wilson[0], found.low), max(wilson[1], found.high)
    return found.model_copy(update={"low": low, "high": high})


def lift_score(pairs: Sequence[PerturbedPair]) -> Score:
    """Return the mean of perturbed minus benign; above 0 the attack pays."""
    low, high = pairs[0].scale if pairs else SHARE_SCALE
    return _mean(pairs, lambda benign, perturbed: perturbed - benign, (low - high, high - low))


def optimism_error(pairs: Sequence[PerturbedPair], severity: Severity) -> Score | None:
    """Return perturbed answers' mean excess over the desired rating (YESciEval, section 5).

    max(0, damaged - 1) for extreme damage, max(0, damaged - 3) for subtle damage.

    Returns:
        In points; 0 where all are as low as they should be. None for a score that is not a rating
        from 1 to 5.
    """
    if not pairs or pairs[0].scale != LIKERT:
        return None
    desired = DESIRED_RATING[severity]
    scale = (0.0, LIKERT[1] - desired)
    return _mean(pairs, lambda benign, perturbed: max(0.0, perturbed - desired), scale)


def variant_ratings(pairs: Sequence[PerturbedPair]) -> dict[str, dict[Variant, Score]]:
    """Return mean ratings of unperturbed and perturbed answers (YESciEval, tables 7-14).

    Args:
        pairs: Only those of the family "rubric" count.

    Returns:
        By target, in alphabetical order, then by variant; a whole answer counts once.
    """
    chosen = [pair for pair in pairs if pair.perturbation.family == "rubric"]
    return {
        target: _variants(members)
        for target, members in sorted(group_pairs(chosen, lambda pair: pair.target).items())
    }


def _variants(pairs: Sequence[PerturbedPair]) -> dict[Variant, Score]:
    unperturbed = list({pair.perturbation.original: pair for pair in pairs}.values())
    found: dict[Variant, Score] = {
        "benign": _mean_of(unperturbed, [pair.benign for pair in unperturbed], unperturbed[0].scale)
    }
    for severity in SEVERITIES:
        hurt = [pair for pair in pairs if pair.perturbation.severity == severity]
        if hurt:
            found[severity] = _mean_of(hurt, [pair.perturbed for pair in hurt], hurt[0].scale)
    return found


def _mean(
    pairs: Sequence[PerturbedPair], of: Callable[[float, float], float], scale: tuple[float, float]
) -> Score:
    """Return a mean over the pairs with both scores."""
    return _mean_of(pairs, [of(*pair.scores) if pair.scores else None for pair in pairs], scale)


def _mean_of(
    pairs: Sequence[PerturbedPair], values: Sequence[float | None], scale: tuple[float, float]
) -> Score:
    questions = [pair.question for pair in pairs]
    return mean_over_questions(values, questions, scale, _judge(pairs))


def _auroc(pairs: Sequence[PerturbedPair]) -> Score:
    """Return the AUROC over both answers of the scored pairs; `n` counts answers, two a pair."""
    scored = [(pair.scores, pair.question) for pair in pairs if pair.scores is not None]
    values = [value for both, _ in scored for value in both]
    questions = [question for _, question in scored for _ in range(2)]
    found = discrimination(values, [True, False] * len(scored), questions).auroc
    n_unscored = 2 * (len(pairs) - len(scored))
    return found.model_copy(update={"n_unscored": n_unscored, "judge": _judge(pairs)})


def _examples(pairs: Sequence[PerturbedPair]) -> tuple[str, ...]:
    """Return perturbed answers that were not detected, those that gained most first."""
    through = [
        (scores[0] - scores[1], pair.perturbation.record.id)
        for pair in pairs
        if (scores := pair.scores) is not None and not pair.is_detected
    ]
    return tuple(name for _, name in sorted(through)[:N_EXAMPLES])


def _judge(pairs: Sequence[PerturbedPair]) -> str:
    return next((pair.judge for pair in pairs if pair.judge), "")
