"""Compare the scores and findings of two sets of answers to the same questions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragassay.metrics.papers.answer_scores import LOWER_IS_BETTER
from ragassay.metrics.stats.aggregates import average_question_score, identify_question
from ragassay.metrics.stats.intervals import SHARE_SCALE, compute_mean
from ragassay.metrics.stats.leaderboard import ALPHA, PairTest, apply_holm, run_paired_tests
from ragassay.records import Evaluation, Finding, Score

SAME_WORDS = 0.6
"""Minimum Jaccard similarity of the words of two versions of the same sentence."""


def match_answers(
    old: Sequence[Evaluation], new: Sequence[Evaluation]
) -> list[tuple[Evaluation, Evaluation]]:
    """Pair up answers to the same question, one to one.

    Answers with the same id and system are paired first, then answers with the same system, and
    then the remaining answers in order.
    """
    waiting: dict[str, list[Evaluation]] = defaultdict(list)
    for evaluation in new:
        waiting[identify_question(evaluation)].append(evaluation)
    partners: dict[int, Evaluation] = {}
    for key in (lambda e: (e.record_id, e.system), lambda e: e.system, lambda e: None):
        for i, one in enumerate(old):
            candidates = waiting[identify_question(one)]
            partner = next((two for two in candidates if key(one) == key(two)), None)
            if partner is not None and i not in partners:
                partners[i] = partner
                waiting[identify_question(one)] = [two for two in candidates if two is not partner]
    return [(one, partners[i]) for i, one in enumerate(old) if i in partners]


def match_findings(
    old: Evaluation, new: Evaluation
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """Split the primary findings of two answers into new, gone and unchanged findings.

    A finding is unchanged if the old answer has a finding of the same kind, and both findings refer
    to similar sentences or to no sentence.
    """
    texts = [{s.index: s.text for s in e.sentences} for e in (old, new)]
    left = list(old.primary_findings)
    appeared: list[Finding] = []
    kept: list[Finding] = []
    for finding in new.primary_findings:
        text = texts[1].get(finding.sentence or 0, "")
        same = next(
            (
                one
                for one in left
                if one.kind == finding.kind
                and compute_word_overlap(texts[0].get(one.sentence or 0, ""), text) >= SAME_WORDS
            ),
            None,
        )
        if same is None:
            appeared.append(finding)
        else:
            left.remove(same)
            kept.append(finding)
    return tuple(appeared), tuple(left), tuple(kept)


def compute_word_overlap(one: str, two: str) -> float:
    """Return the Jaccard similarity of two texts' words, which is 1 for two empty texts."""
    first, second = set(one.lower().split()), set(two.lower().split())
    union = first | second
    return len(first & second) / len(union) if union else 1.0


MARGIN = 0.05
"""Minimum mean change of an answer's scores, as a share of their scales, to count as better or
worse."""

SERIOUS_KEY = "findings.serious"
"""Share of answers with a serious primary finding. Lower is better."""

Direction = Literal["worse", "better", "same"]


@dataclass(frozen=True)
class ScoreChange:
    """Change of a score over the answer pairs in which both answers have the score.

    Attributes:
        old: Old mean over the shared questions, or None if no questions are shared.
        new: New mean over the shared questions, or None if no questions are shared.
        test: Paired test of the difference (new minus old). `p_holm` is corrected for the number of
            compared scores.
        n_questions: Number of questions for which an old answer has the score.
        ranges: Old and new means with bounds for undecided verdicts, or None for `SERIOUS_KEY`.
    """

    key: str
    scale: tuple[float, float]
    lower_is_better: bool
    old: float | None
    new: float | None
    test: PairTest
    n_questions: int
    ranges: tuple[Score, Score] | None = None

    @property
    def overlaps(self) -> bool:
        """True if it depends on undecided verdicts which set of answers has the better score."""
        return self.ranges is not None and self.ranges[0].overlaps(self.ranges[1])

    @property
    def gain(self) -> float | None:
        """Improvement as a share of the scale, positive if the new answers are better."""
        return None if self.overlaps else self.as_gain(self.test.difference)

    def as_gain(self, difference: float | None) -> float | None:
        """Convert a difference of the score to a gain, which is positive for an improvement."""
        if difference is None:
            return None
        return _as_gain(difference, self.scale, self.lower_is_better)

    @property
    def direction(self) -> Direction:
        """Direction of the change if it is significant, else "same"."""
        if self.overlaps or not self.test.is_significant:
            return "same"
        return "better" if (self.gain or 0.0) > 0 else "worse"


@dataclass(frozen=True)
class AnswerChange:
    """Difference between an old and a new answer to the same question.

    Attributes:
        kept: Findings that both answers have.
        gain: Mean gain of the compared scores as a share of their scales, or None if no score can
            be compared.
        n_serious: Change in the number of serious findings.
    """

    old: Evaluation
    new: Evaluation
    appeared: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    kept: tuple[Finding, ...]
    gain: float | None
    n_serious: int

    @property
    def direction(self) -> Direction:
        """Direction of the change in the number of serious findings or, if equal, in the scores."""
        gain = self.gain or 0.0
        if self.n_serious > 0 or (self.n_serious == 0 and gain <= -MARGIN):
            return "worse"
        return "better" if self.n_serious < 0 or gain >= MARGIN else "same"

    def build_sort_key(self) -> tuple[int, float, str]:
        """Return a sort key that places the worst changes first."""
        order = ("worse", "same", "better").index(self.direction)
        return order, (self.gain or 0.0) - self.n_serious, self.old.record_id


@dataclass(frozen=True)
class Change:
    """Difference between two sets of answers.

    Attributes:
        answers: Difference of each pair of answers, worst first.
    """

    old: str
    new: str
    scores: tuple[ScoreChange, ...]
    answers: tuple[AnswerChange, ...]
    only_old: tuple[Evaluation, ...] = ()
    only_new: tuple[Evaluation, ...] = ()


def find_changes(
    old: tuple[str, Sequence[Evaluation]],
    others: Iterable[tuple[str, Sequence[Evaluation]]],
    keys: Sequence[str],
    is_serious: Callable[[Finding], bool],
) -> tuple[Change, ...]:
    """Compare baseline answers with other sets of answers.

    Args:
        keys: Keys of the scores to compare, which can include `SERIOUS_KEY`.

    Returns:
        The change from the baseline to each set. P-values are Holm-corrected over all scores and
        sets.
    """
    changes = [_compare(old, other, keys, is_serious) for other in others]
    p_holm = iter(apply_holm([score.test.p_value for change in changes for score in change.scores]))
    return tuple(
        replace(
            change,
            scores=tuple(
                replace(score, test=replace(score.test, p_holm=next(p_holm)))
                for score in change.scores
            ),
        )
        for change in changes
    )


def compute_min_p_value(scores: Sequence[ScoreChange]) -> float:
    """Return the smallest possible Holm-corrected p-value, given the numbers of questions.

    The smallest p-value of a permutation test on n questions is 2 / 2^n. Holm's correction
    multiplies the smallest p-value by the number of tests.
    """
    sizes = [score.test.n_questions for score in scores if score.test.n_questions]
    return min(1.0, len(sizes) * 2.0 ** (1 - max(sizes))) if sizes else 1.0


def can_be_significant(scores: Sequence[ScoreChange]) -> bool:
    """Return whether there are enough questions for any difference to be significant."""
    return compute_min_p_value(scores) < ALPHA


def _compare(
    old: tuple[str, Sequence[Evaluation]],
    new: tuple[str, Sequence[Evaluation]],
    keys: Sequence[str],
    is_serious: Callable[[Finding], bool],
) -> Change:
    pairs = match_answers(old[1], new[1])
    matched = {id(evaluation) for pair in pairs for evaluation in pair}
    known = [
        key for key in keys if key == SERIOUS_KEY or any(key in e.scores for p in pairs for e in p)
    ]
    answers = [_build_answer_change(one, two, known, is_serious) for one, two in pairs]
    return Change(
        old=old[0],
        new=new[0],
        scores=tuple(_build_score_change(old, new[0], pairs, key, is_serious) for key in known),
        answers=tuple(sorted(answers, key=AnswerChange.build_sort_key)),
        only_old=tuple(e for e in old[1] if id(e) not in matched),
        only_new=tuple(e for e in new[1] if id(e) not in matched),
    )


def _build_score_change(
    old: tuple[str, Sequence[Evaluation]],
    new: str,
    pairs: Sequence[tuple[Evaluation, Evaluation]],
    key: str,
    is_serious: Callable[[Finding], bool],
) -> ScoreChange:
    shared: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one, two in pairs:
        before, after = (_get_value(e, key, is_serious) for e in (one, two))
        if before is not None and after is not None:
            shared[identify_question(one)].append((before, after))
    olds, news = (
        {q: math.fsum(v[side] for v in values) / len(values) for q, values in shared.items()}
        for side in (0, 1)
    )
    # The two sides can have equal or empty names, so the test uses other names.
    (test,) = run_paired_tests({"new": news, "old": olds})
    ranges = None
    if key != SERIOUS_KEY and shared:
        sides = [
            [pair[side] for pair in pairs if identify_question(pair[0]) in shared]
            for side in (0, 1)
        ]
        old_side, new_side = (average_question_score(key, side).reported for side in sides)
        ranges = old_side, new_side
    first = next((e.scores[key] for pair in pairs for e in pair if key in e.scores), None)
    return ScoreChange(
        key=key,
        scale=first.scale if first else SHARE_SCALE,
        lower_is_better=key == SERIOUS_KEY or key in LOWER_IS_BETTER,
        old=compute_mean(olds.values()),
        new=compute_mean(news.values()),
        test=replace(test, first=new, second=old[0]),
        n_questions=len(
            {identify_question(e) for e in old[1] if _get_value(e, key, is_serious) is not None}
        ),
        ranges=ranges,
    )


def _get_value(
    evaluation: Evaluation, key: str, is_serious: Callable[[Finding], bool]
) -> float | None:
    if key == SERIOUS_KEY:
        return float(any(map(is_serious, evaluation.primary_findings)))
    score = evaluation.scores.get(key)
    return score.decided if score else None


def _build_answer_change(
    old: Evaluation, new: Evaluation, keys: Sequence[str], is_serious: Callable[[Finding], bool]
) -> AnswerChange:
    appeared, gone, kept = match_findings(old, new)
    gains = [
        gain
        for key in keys
        if key != SERIOUS_KEY
        and (gain := compute_gain(key, old.scores.get(key), new.scores.get(key))) is not None
    ]
    n_serious = sum(map(is_serious, new.primary_findings)) - sum(
        map(is_serious, old.primary_findings)
    )
    return AnswerChange(old, new, appeared, gone, kept, compute_mean(gains), n_serious)


def compute_gain(key: str, old: Score | None, new: Score | None) -> float | None:
    """Return the gain in an answer's score as a share of the scale, or None if not comparable."""
    if old is None or new is None or old.value is None or new.value is None or old.overlaps(new):
        return None
    return _as_gain(new.value - old.value, new.scale, key in LOWER_IS_BETTER)


def _as_gain(difference: float, scale: tuple[float, float], lower_is_better: bool) -> float:
    low, high = scale
    share = difference / (high - low) if high > low else 0.0
    return -share if lower_is_better else share
