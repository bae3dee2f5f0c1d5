"""View of an audit by target: the judge's verdict, what it found, drawn, and every attack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragassay.records import AttackFigure, Audit, Score, TargetTrust
from ragassay.reports.certificate import (
    WORDS,
    WORST_FIRST,
    TrustLine,
    certificate_groups,
    target_title,
)
from ragassay.reports.display import (
    NOT_DEFINED,
    SHARE_SCALE,
    format_interval,
    is_number,
    score_text,
    signed_text,
)
from ragassay.studies.certificate import CHANCE

CHANCE_PLACE = CHANCE * 100
LIFT_SHARE = 0.25
"""Share of a score's scale at which the axis of lifts ends: one point of a rating from 1 to 5."""

LIKERT = (1.0, 5.0)
SEVERITIES = {"extreme": "extreme damage", "subtle": "subtle damage"}
RATINGS = {"benign": "whole", "subtle": "subtly damaged", "extreme": "extremely damaged"}
UNLISTED = TrustLine("Other scores", "not certified", "?", "unscored", "")


@dataclass(frozen=True, slots=True)
class ScaleBar:
    """A value on a scale of 0 to 100; places are None where undefined."""

    title: str
    text: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Group:
    """A line of the certificate and what is behind it.

    Attributes:
        kind: What the bars show: shares "found", or the "lift" by injected text.
        bars: Shares found of each severity, the plainest first; or lifts, the largest first.
        ratings: Mean ratings of whole and damaged answers on their scale.
        figures: Every attack on the target.
    """

    line: TrustLine
    kind: str
    bars: tuple[ScaleBar, ...]
    ratings: tuple[ScaleBar, ...]
    figures: tuple[AttackFigure, ...]


def view_groups(audit: Audit) -> tuple[tuple[str, tuple[Group, ...]], ...]:
    """Return the groups under their headings, the worst verdict first."""
    rubrics, others = [], []
    listed: set[int] = set()
    for line, trusts in certificate_groups(audit):
        found = [f for t in trusts for f in audit.figures if (f.family, f.target) == _key(t)]
        listed |= {id(figure) for figure in found}
        group = _group(audit, line, trusts, found)
        (rubrics if trusts[0].family in ("rubric", "pair") else others).append(group)
    left = [figure for figure in audit.figures if id(figure) not in listed]
    if left:
        others.append(Group(UNLISTED, "found", (), (), tuple(left)))
    sections = (
        ("What this judge can tell", rubrics),
        ("Changed facts, and text that talks to the judge", others),
    )
    return tuple((title, tuple(sorted(found, key=_badness))) for title, found in sections if found)


def _key(trust: TargetTrust) -> tuple[str, str]:
    return trust.family, trust.target


def _badness(group: Group) -> int:
    words = [WORDS[trust][0] for trust in WORST_FIRST]
    return words.index(group.line.word) if group.line.word in words else len(words)


def _group(
    audit: Audit, line: TrustLine, trusts: Sequence[TargetTrust], found: Sequence[AttackFigure]
) -> Group:
    if trusts[0].family == "injection":
        lifts = [_lift_bar(target_title(t.target), t.lift) for t in trusts if t.lift]
        lifts.sort(key=lambda bar: -1.0 if bar.value is None else bar.value, reverse=True)
        return Group(line, "lift", tuple(lifts), (), tuple(found))
    (trust,) = trusts
    bars = (
        bar_of(words, trust.detection[severity], _share_text)
        for severity, words in SEVERITIES.items()
        if severity in trust.detection
    )
    rated = audit.ratings.get(trust.target, {}) if trust.family == "rubric" else {}
    ratings = (
        bar_of(words, rated[variant], _mean_text)
        for variant, words in RATINGS.items()
        if variant in rated
    )
    return Group(line, "found", tuple(bars), tuple(ratings), tuple(found))


def bar_of(title: str, score: Score, text: Callable[[Score], str]) -> ScaleBar:
    """Return a score as a bar on its scale."""
    value, low, high = (_place(end, score.scale) for end in (score.value, score.low, score.high))
    return ScaleBar(title, text(score), value, low, high)


def _share_text(score: Score) -> str:
    if score.value is None:
        return score_text(score)
    return f"{score.value * score.n:.0f} of {score.n}"


def _mean_text(score: Score) -> str:
    interval = format_interval(score)
    return f"{score_text(score)}{f' ({interval})' if interval != NOT_DEFINED else ''}"


def _lift_bar(title: str, lift: Score) -> ScaleBar:
    """Return a lift as a bar: the middle is none, its ends are `LIFT_SHARE`."""
    end = (lift.scale[1] - lift.scale[0]) / 2 * LIFT_SHARE
    value, low, high = (_place(v, (-end, end)) for v in (lift.value, lift.low, lift.high))
    is_points = end != LIFT_SHARE
    ends = lift.range if lift.is_open else None
    known = ends or (() if lift.value is None else (lift.value,))
    scale = LIKERT if is_points else SHARE_SCALE
    text = " to ".join(dict.fromkeys(signed_text(one, scale) for one in known))
    return ScaleBar(title, f"{text} points" if text else NOT_DEFINED, value, low, high)


def _place(value: float | None, scale: tuple[float, float]) -> float | None:
    if value is None or not is_number(value):
        return None
    low, high = scale
    return round(max(0.0, min(100.0, 100 * (value - low) / (high - low))), 1)
