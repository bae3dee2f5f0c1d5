"""Measure how often a judge contradicts itself when the same answers are judged again."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragassay.metrics.intervals import Interval, share_interval
from ragassay.metrics.resampling import ratio_interval
from ragassay.metrics.scoring import build_score
from ragassay.records import RepeatFigure, VerdictBase

Key = tuple[str, str, str, str]
"""A question: its kind, the answer's id, the verdict's item, the panel's judge."""


@dataclass(frozen=True)
class Asked:
    """A verdict that a model was asked for.

    Attributes:
        kind: The kind of question.
        record_id: The answer.
        question: The answer's question; intervals resample questions.
        verdict: The verdict, a panel's as those of its members.
    """

    kind: str
    record_id: str
    question: str
    verdict: VerdictBase

    @property
    def key(self) -> Key:
        """A question, the same in every repetition."""
        return self.kind, self.record_id, self.verdict.item, self.verdict.judge


def repeat_figures(times: Sequence[Iterable[Asked]]) -> tuple[RepeatFigure, ...]:
    """Return the share of verdicts that change, by kind of question and judge.

    A rating is compared as it was written, a number on a scale as the nearest of its possible
    values; both differ in their last digits between any two calls.

    Args:
        times: The verdicts of each repetition, at least two.

    Returns:
        In the order of the first repetition. A question without a verdict in some repetition is
        unscored, also where a repetition did not ask it: facts that a judge lists are others each
        time.
    """
    found: list[dict[Key, Asked]] = [{one.key: one for one in asked} for asked in times]
    groups: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in dict.fromkeys(key for repetition in found for key in repetition):
        groups[key[0], key[3]].append(key)
    return tuple(_figure(*group, keys, found) for group, keys in groups.items())


def _figure(
    kind: str, judge: str, keys: Sequence[Key], times: Sequence[Mapping[Key, Asked]]
) -> RepeatFigure:
    changed: list[float] = []
    questions: list[str] = []
    spreads: list[float] = []
    for key in keys:
        asked = [repetition[key] for repetition in times if key in repetition]
        values = [value_of(one.verdict) for one in asked]
        if len(values) < len(times) or None in values:
            continue
        changed.append(float(len(set(values)) > 1))
        questions.append(asked[0].question)
        scores = [v for one in asked if isinstance(v := one.verdict.value, int | float)]
        spreads += [max(scores) - min(scores)] if scores else []
    value = math.fsum(changed) / len(changed) if changed else None
    return RepeatFigure(
        kind=kind,
        judge=judge,
        changed=build_score(
            value, len(changed), len(keys) - len(changed), change_interval(changed, questions)
        ),
        mean_spread=round(math.fsum(spreads) / len(spreads), 4) if spreads else None,
    )


def value_of(verdict: VerdictBase) -> str | float | None:
    """Return what is compared: the label, the written rating, or the nearest possible number."""
    said, choices = verdict.said, verdict.choices
    if isinstance(said, str) or said is None:
        return said
    numbers = [choice for choice in choices if not isinstance(choice, str)]
    return min(numbers, key=lambda number: abs(number - said), default=said)


def change_interval(changed: Sequence[float], questions: Sequence[str]) -> Interval | None:
    """Return the 95 % interval of a share of changes.

    Questions are resampled. Where none or all changed, or there is one question, a resample says
    nothing, and Wilson's interval stands.

    Args:
        changed: 1 for each verdict that changed, else 0.
        questions: The question of each.

    Returns:
        None without a verdict.
    """
    if not 0 < sum(changed) < len(changed) or len(set(questions)) < 2:
        return share_interval(int(sum(changed)), len(changed))
    return ratio_interval(changed, [1.0] * len(changed), questions)
