"""Render the comparison of two runs or systems as a self-contained HTML page.

The page starts with the outcome and a plot of differences, followed by all pairs of answers, worst
change first. Answers, questions and names are untrusted, so the templates escape everything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.metrics.stats.changes import (
    MARGIN,
    Change,
    Direction,
    ScoreChange,
    can_be_significant,
)
from ragassay.metrics.stats.leaderboard import ALPHA
from ragassay.reports.answer_changes import AnswerChangeView, view_answer_change
from ragassay.reports.comparison import OVERLAP, format_p_value
from ragassay.reports.display import (
    NBSP,
    NOT_DEFINED,
    format_difference,
    format_difference_span,
    format_score,
    format_value,
)
from ragassay.reports.html import CHUNK, build_content_policy, create_page_environment, pack
from ragassay.reports.labels import replace_controls
from ragassay.reports.text import count_text, find_score_name, join_words

PAGE, STYLE, SCRIPT = "compare.html.j2", "compare_style.html.j2", "compare_script.html.j2"
ROW = "compare_answer.html.j2"
PLOT_WIDTH = 240.0
LIMITS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Possible ends of the plot axis for differences, as a share of the scale."""

WORDS: dict[Direction, str] = {"worse": "worse", "better": "better", "same": "no clear change"}
METHOD = (
    "Each score is a mean over the questions that both sides answer. Significance is tested with "
    f"two-sided paired permutation tests over questions at {ALPHA:g}, after Holm's correction over "
    "all scores shown. The 95 % intervals are computed by resampling questions. An answer is worse "
    "if it has more serious findings than before, or equally many, but scores that fall on average "
    f"by at least {MARGIN:.0%} of their scales. It is better if it has fewer serious findings, or "
    f"equally many, but scores that rise on average by at least {MARGIN:.0%} of their scales."
)


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """The change of a score as text, with the coordinates at which it is plotted."""

    title: str
    old: str
    new: str
    difference: str
    interval: str
    word: str
    direction: Direction
    detail: str
    x: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ChangeView:
    """Comparison with the baseline; `limit` is the end of the plot axis in percent."""

    old: str
    new: str
    headline: str
    limit: str
    lines: tuple[ScoreLine, ...]
    notes: tuple[str, ...]
    lost: tuple[str, ...]


def render_changes_html(changes: Sequence[Change], warnings: Sequence[str] = ()) -> str:
    """Render comparisons with one baseline as an HTML page.

    Args:
        changes: At least one comparison from `find_changes`.
        warnings: Reasons why the sides may not be comparable.
    """
    environment = create_page_environment()
    style = environment.get_template(STYLE).render()
    script = environment.get_template(SCRIPT).render()
    ranked = sorted(
        ((n, answer) for n, change in enumerate(changes) for answer in change.answers),
        key=lambda pair: pair[1].build_sort_key(),
    )
    answers = [view_answer_change(answer, changes[n], n) for n, answer in ranked]
    limit = _limit([score for change in changes for score in change.scores])
    row = environment.get_template(ROW)
    rows = [
        replace_controls(row.render(a=answer, number=number, several=len(changes) > 1))
        for number, answer in enumerate(answers, 1)
    ]
    page = environment.get_template(PAGE).render(
        changes=[view_change(change, limit) for change in changes],
        warnings=warnings,
        method=METHOD,
        width=PLOT_WIDTH,
        counts=[(name, sum(map(test, answers))) for name, test in FILTERS.items()],
        index=json.dumps([_index_answer(answer) for answer in answers], separators=(",", ":")),
        chunks=pack("answers", rows).chunks,
        chunk_size=CHUNK,
        style=style,
        script=script,
        policy=build_content_policy(style, script),
    )
    return replace_controls(page)


FILTERS = {
    "all": lambda answer: True,
    "worse": lambda answer: answer.direction == "worse",
    "better": lambda answer: answer.direction == "better",
    "new findings": lambda answer: bool(answer.appeared),
}
"""Filters by which the page can reduce the list of answers."""


def _index_answer(answer: AnswerChangeView) -> list[int]:
    return [answer.place, *(int(test(answer)) for test in FILTERS.values())]


def view_change(change: Change, limit: float = 1.0) -> ChangeView:
    """Format one comparison for the page.

    Args:
        limit: End of the plot axis, as a share of the scale.
    """
    return ChangeView(
        old=change.old,
        new=change.new,
        headline=describe_outcome(change),
        limit=f"{limit * 100:g}{NBSP}%",
        lines=tuple(_build_line(score, limit) for score in change.scores),
        notes=tuple(_list_notes(change)),
        lost=tuple(e.question for e in change.only_old),
    )


def describe_outcome(change: Change) -> str:
    """Summarize a comparison in one sentence.

    "beta is worse than alpha on 3 of 5 scores and better on none; 12 of 40 answers got worse and
    none got better."
    """
    if not change.answers:
        return f"There is no question that both {change.new} and {change.old} answer."
    scores = [score for score in change.scores if score.test.n_questions]
    worse, better = (sum(s.direction == d for s in scores) for d in ("worse", "better"))
    n_scores = count_text(len(scores), "score")
    if not worse and not better:
        start = f"{change.new} and {change.old} differ significantly on none of {n_scores}"
    elif worse:
        start = (
            f"{change.new} is worse than {change.old} on {worse} of {n_scores} and better on "
            f"{better or 'none'}"
        )
    else:
        start = (
            f"{change.new} is better than {change.old} on {better} of {n_scores} and worse on none"
        )
    directions = [answer.direction for answer in change.answers]
    n_worse, n_better = (directions.count(d) or "none" for d in ("worse", "better"))
    n_answers = count_text(len(directions), "answer")
    return f"{start}; {n_worse} of {n_answers} got worse and {n_better} got better."


def _list_notes(change: Change) -> list[str]:
    notes: list[str] = []
    if change.answers and not can_be_significant(change.scores):
        n = max(score.test.n_questions for score in change.scores)
        n_questions = count_text(n, "question")
        n_scores = count_text(len(change.scores), "score")
        notes.append(f"With {n_questions} and {n_scores}, no difference can be significant.")
    unpaired = [
        f"{count_text(len(answers), 'answer')} of {name}"
        for name, answers in ((change.old, change.only_old), (change.new, change.only_new))
        if answers
    ]
    if unpaired:
        notes.append(
            f"Not compared because the other run or system does not answer the question: "
            f"{join_words(unpaired)}."
        )
    return notes


def change_text(score: ScoreChange) -> str:
    """Describe the change of a score on one line."""
    test = score.test
    shown = " -> ".join(_format_sides(score))
    if score.overlaps:
        return f"{shown}, {OVERLAP}"
    ends = format_difference_span(test, score.scale)
    interval = f" ({ends})" if ends else ""
    number = format_difference(test.difference, score.scale)
    direction = ", lower is better" if score.lower_is_better else ""
    return (
        f"{shown}, {number}{interval}, p{NBSP}{format_p_value(test.p_holm)} over "
        f"{count_text(test.n_questions, 'question')}{direction}"
    )


def _format_sides(score: ScoreChange) -> tuple[str, str]:
    if score.ranges is None:
        return format_value(score.old, score.scale), format_value(score.new, score.scale)
    old, new = map(format_score, score.ranges)
    return old, new


def _build_line(score: ScoreChange, limit: float) -> ScoreLine:
    test = score.test
    # Better is always on the right, even if lower values are better.
    low, high = sorted(
        (score.as_gain(end) for end in (test.low, test.high)), key=lambda gain: gain or 0.0
    )
    measured = test.n_questions > 0
    parts = [count_text(test.n_questions, "question")]
    if test.n_questions < score.n_questions:
        parts[0] += f" of {score.n_questions}"
    if score.lower_is_better:
        parts.append("lower is better")
    known = measured and not score.overlaps
    old, new = _format_sides(score)
    word = WORDS[score.direction] if measured else "not measured"
    if known:
        parts.append(f"p{NBSP}{format_p_value(test.p_holm)}")
    return ScoreLine(
        title=find_score_name(score.key),
        old=old,
        new=new,
        difference=format_difference(test.difference, score.scale) if known else NOT_DEFINED,
        interval=format_difference_span(test, score.scale) if known else "",
        word=OVERLAP if score.overlaps else word,
        direction=score.direction,
        detail=", ".join(parts),
        x=_compute_x(score.gain, limit),
        low=_compute_x(low, limit) if known else None,
        high=_compute_x(high, limit) if known else None,
    )


def _limit(scores: Sequence[ScoreChange]) -> float:
    ends = [
        abs(gain)
        for score in scores
        for end in (score.test.difference, score.test.low, score.test.high)
        if (gain := score.as_gain(end)) is not None
    ]
    return next((limit for limit in LIMITS if limit >= max(ends, default=0.0)), 1.0)


def _compute_x(gain: float | None, limit: float) -> float | None:
    if gain is None or not math.isfinite(gain):
        return None
    share = max(-1.0, min(1.0, gain / limit))
    return round(PLOT_WIDTH / 2 * (1 + share * 0.96), 1)
