"""View of the systems for the page's head: a line each, with a few scores drawn as bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.metrics.aggregates import question_of
from ragassay.metrics.intervals import mean_interval
from ragassay.records import Outlined, Score, Summary
from ragassay.reports.answer_index import main_columns, score_columns
from ragassay.reports.labels import is_serious
from ragassay.reports.text import (
    RUBRIC_MEAN,
    format_bounds,
    format_interval,
    is_number,
    rubric_mean,
    score_text,
    score_title,
)

EVERY = "All answers"


@dataclass(frozen=True, slots=True)
class Bar:
    """A score on its scale; places in per cent of it, None where undefined.

    Attributes:
        low: Lower end of the 95 % interval.
        high: Its upper end.
        worst: Lower end of what unscored verdicts leave open; None without any.
        best: Its upper end.
        detail: The score in words.
    """

    title: str
    text: str
    value: float | None
    low: float | None
    high: float | None
    worst: float | None
    best: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class SystemLine:
    """A system: its answers, how many have a serious finding, and its main scores."""

    name: str
    is_named: bool
    n: int
    n_wrong: int
    bars: tuple[Bar, ...]


def view_lines(summary: Summary, evaluations: Sequence[Outlined]) -> tuple[SystemLine, ...]:
    """Return a line for each system, or one for all answers where fewer than two are named."""
    is_named = len(summary.systems) > 1
    systems = summary.systems if is_named else {EVERY: summary.scores}
    keys = main_columns(score_columns(evaluations))
    members = {
        name: [e for e in evaluations if not is_named or (e.system or "") == name]
        for name in systems
    }
    return tuple(
        SystemLine(
            name=name,
            is_named=is_named,
            n=len(members[name]),
            n_wrong=sum(map(is_wrong, members[name])),
            bars=tuple(
                view_bar(score_title(key), scores.get(key))
                if key
                else view_bar(RUBRIC_MEAN, _rubrics(scores, members[name]))
                for key in keys
            ),
        )
        for name, scores in systems.items()
    )


def is_wrong(evaluation: Outlined) -> bool:
    """Return whether a serious finding leads an answer."""
    return any(is_serious(finding.kind) for finding in evaluation.heads)


def view_bar(title: str, score: Score | None) -> Bar:
    """Return a score as a bar."""
    if score is None or not is_number(score.value):
        text = score_text(score)
        ends = score.range if score and score.is_open else None
        low, high = (_place(end, score.scale) for end in ends) if score and ends else (None, None)
        return Bar(title, text, None, None, None, low, high, f"{title}: {text}")
    detail = f"{title}: {score_text(score)}, 95 % interval {format_interval(score)}"
    worst = best = None
    if score.n_unscored:
        detail += f"; {score.n_unscored:,} unscored: {format_bounds(score)}"
        if score.worst is not None and score.best is not None:
            worst, best = sorted((score.worst, score.best))
    return Bar(
        title=title,
        text=score_text(score),
        value=_place(score.value, score.scale),
        low=_place(score.low, score.scale),
        high=_place(score.high, score.scale),
        worst=_place(worst, score.scale),
        best=_place(best, score.scale),
        detail=detail,
    )


def _place(value: float | None, scale: tuple[float, float]) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    low, high = scale
    return round(100 * min(1.0, max(0.0, (value - low) / (high - low))), 1) if high > low else None


def _rubrics(scores: Mapping[str, Score], evaluations: Sequence[Outlined]) -> Score | None:
    """Return the mean of the rubrics, with the interval of its mean over answers."""
    mean = rubric_mean(scores)
    if mean is None:
        return None
    own = [(rubric_mean(e.scores), question_of(e)) for e in evaluations]
    known = [(one.value, of) for one, of in own if one is not None and one.value is not None]
    interval = mean_interval([value for value, _ in known], [of for _, of in known])
    low, high = interval or (None, None)
    return mean.model_copy(update={"low": low, "high": high, "n_unscored": 0})
