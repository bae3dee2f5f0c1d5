"""Table of systems at the top of a report page, and answer index for filtering and sorting."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragassay.metrics.stats.aggregates import identify_question
from ragassay.metrics.stats.intervals import compute_mean_interval
from ragassay.records import Document, Evaluation, Outlined, Score, Summary
from ragassay.reports.display import (
    UNDECIDED,
    UNSCORED,
    format_bounds,
    format_interval,
    format_score,
    is_number,
    rescale_value,
)
from ragassay.reports.findings_view import FindingCard
from ragassay.reports.labels import is_serious
from ragassay.reports.sentence_view import build_article_url
from ragassay.reports.text import MAIN_SCORES, RUBRIC_MEAN, average_rubrics, find_score_title

MAIN = ("", "exam.cover", *(key for key in MAIN_SCORES if key != "nuggets.f1"))
"""Scores shown in the table of systems and the list of answers; "" stands for the rubric mean."""

MOST_SOURCE_CHARS = 6_000
"""Maximum length of a source on the page, enough for abstracts but not for full texts."""


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source with truncated text; `n_cut` is the number of omitted characters."""

    id: str
    title: str
    url: str
    text: str
    n_cut: int


def view_source(source: Document) -> SourceView:
    """Format a source for the page."""
    text = source.text[:MOST_SOURCE_CHARS]
    n_cut = len(source.text) - len(text)
    return SourceView(source.id, source.title, build_article_url(source.id), text, n_cut)


def list_score_columns(evaluations: Sequence[Outlined]) -> dict[str, str]:
    """Return the titles of the scores for filtering and sorting, by key."""
    keys = dict.fromkeys(key for e in evaluations for key in e.scores)
    mean = {"": RUBRIC_MEAN} if any(average_rubrics(e.scores) for e in evaluations) else {}
    return mean | {key: find_score_title(key) for key in keys}


def index_answer(
    evaluation: Evaluation, columns: Collection[str], sources: Sequence[int]
) -> dict[str, object]:
    """Return the index entry of an answer.

    Args:
        sources: Positions of the answer's sources on the page.

    Returns:
        `primary` and `secondary` list kinds of findings; `undecided` and `unscored` count verdicts.
        `scores` are in the order of the columns; an unscored one is None. `shown` are the texts of
        the main scores.
    """
    e = evaluation
    return {
        "id": e.record_id,
        "system": e.system or "",
        "question": e.question,
        "primary": [finding.kind for finding in e.primary_findings],
        "secondary": [finding.kind for finding in e.secondary_findings],
        UNDECIDED: len(e.undecided),
        UNSCORED: sum(verdict.state == UNSCORED for verdict in e.verdicts),
        "scores": [_find_value(e, key) for key in columns],
        "shown": [_format_score(e, key) for key in select_main_columns(columns)],
        "sources": sources,
    }


def select_main_columns(columns: Iterable[str]) -> list[str]:
    """Return the keys of the scores shown in the answer list."""
    known = set(columns)
    return [key for key in MAIN if key in known]


def index_cards(cards: Sequence[FindingCard]) -> list[list[object]]:
    """Return the answer's number and the kind of each finding."""
    return [[card.number, card.kind] for card in cards]


def _find_score(evaluation: Evaluation, key: str) -> Score | None:
    return evaluation.scores.get(key) if key else average_rubrics(evaluation.scores)


def _find_value(evaluation: Evaluation, key: str) -> float | None:
    """Return the value for sorting and filtering, or the worst case if only a range is known."""
    score = _find_score(evaluation, key)
    value = score.worst if score and score.is_open else score.value if score else None
    return round(value, 4) if value is not None and is_number(value) else None


def _format_score(evaluation: Evaluation, key: str) -> str:
    score = _find_score(evaluation, key)
    return format_score(score) if score and is_number(score.decided) else UNSCORED


EVERY = "All answers"


@dataclass(frozen=True, slots=True)
class Bar:
    """A score drawn as a bar; coordinates are percentages of the scale, or None if undefined.

    Attributes:
        low: Lower end of the 95 % interval.
        worst: Lowest value that the score could have, given the unscored verdicts. None if all
            verdicts are scored.
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
    """A system with its main scores, number of answers, and number of answers with errors."""

    name: str
    is_named: bool
    n: int
    n_wrong: int
    bars: tuple[Bar, ...]


def view_lines(summary: Summary, evaluations: Sequence[Outlined]) -> tuple[SystemLine, ...]:
    """Return one line per system, or a single line if there are fewer than two systems."""
    is_named = len(summary.systems) > 1
    systems = summary.systems if is_named else {EVERY: summary.scores}
    keys = select_main_columns(list_score_columns(evaluations))
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
                view_bar(find_score_title(key), scores.get(key))
                if key
                else view_bar(RUBRIC_MEAN, _average_rubrics(scores, members[name]))
                for key in keys
            ),
        )
        for name, scores in systems.items()
    )


def is_wrong(evaluation: Outlined) -> bool:
    """Return whether an answer has a serious primary finding."""
    return any(is_serious(finding.kind) for finding in evaluation.primary_findings)


def view_bar(title: str, score: Score | None) -> Bar:
    """Return a score as a bar."""
    if score is None or not is_number(score.value):
        text = format_score(score)
        ends = score.range if score and score.is_open else None
        low, high = (
            (_compute_percent(e, score.scale) for e in ends) if score and ends else (None, None)
        )
        return Bar(title, text, None, None, None, low, high, f"{title}: {text}")
    detail = f"{title}: {format_score(score)}, 95 % interval {format_interval(score)}"
    worst = best = None
    if score.n_unscored:
        detail += f"; {score.n_unscored:,} unscored: {format_bounds(score)}"
        if score.worst is not None and score.best is not None:
            worst, best = sorted((score.worst, score.best))
    return Bar(
        title=title,
        text=format_score(score),
        value=_compute_percent(score.value, score.scale),
        low=_compute_percent(score.low, score.scale),
        high=_compute_percent(score.high, score.scale),
        worst=_compute_percent(worst, score.scale),
        best=_compute_percent(best, score.scale),
        detail=detail,
    )


def _compute_percent(value: float | None, scale: tuple[float, float]) -> float | None:
    share = rescale_value(value, scale)
    return None if share is None else round(100 * share, 1)


def _average_rubrics(scores: Mapping[str, Score], evaluations: Sequence[Outlined]) -> Score | None:
    mean = average_rubrics(scores)
    if mean is None:
        return None
    means = ((average_rubrics(e.scores), identify_question(e)) for e in evaluations)
    known = [(m.value, question) for m, question in means if m is not None and m.value is not None]
    interval = compute_mean_interval(
        [value for value, _ in known], [question for _, question in known]
    )
    low, high = interval or (None, None)
    return mean.model_copy(update={"low": low, "high": high, "n_unscored": 0})
