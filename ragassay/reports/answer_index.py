"""List the answers and findings of a page with all that its script filters and sorts them by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ragassay.records import Document, Evaluation, Outlined, Score
from ragassay.reports.finding_cards import FindingCard
from ragassay.reports.sentence_view import article_url
from ragassay.reports.text import (
    MAIN_SCORES,
    RUBRIC_MEAN,
    is_number,
    rubric_mean,
    score_text,
    score_title,
)

MAIN = ("", "exam.cover", *(key for key in MAIN_SCORES if key != "nuggets.f1"))
"""Scores that the page's head and its list of answers show; "" is the mean of the rubrics."""

UNSCORED = "unscored"

MOST_SOURCE_CHARS = 6_000
"""Characters of a source that the page holds: an abstract is whole, a full text is not."""


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source, cut where it is long; `n_cut` counts what is left out."""

    id: str
    title: str
    url: str
    text: str
    n_cut: int


def view_source(source: Document) -> SourceView:
    """Return the view of a source."""
    text = source.text[:MOST_SOURCE_CHARS]
    n_cut = len(source.text) - len(text)
    return SourceView(source.id, source.title, article_url(source.id), text, n_cut)


def score_columns(evaluations: Sequence[Outlined]) -> dict[str, str]:
    """Return the titles of the scores that answers are filtered and sorted by, by key."""
    keys = dict.fromkeys(key for e in evaluations for key in e.scores)
    mean = {"": RUBRIC_MEAN} if any(rubric_mean(e.scores) for e in evaluations) else {}
    return mean | {key: score_title(key) for key in keys}


def index_answer(
    evaluation: Evaluation, columns: Collection[str], sources: Sequence[int]
) -> dict[str, object]:
    """Return an answer's entry.

    It has id, system, question; kinds of the findings that lead (`heads`) and that are worth a
    look (`looks`); numbers of `undecided` and `unscored` verdicts; `scores` with their `texts`, in
    the order of the columns, None where unscored; `shown` are the texts of the main ones, `sources`
    the positions of its sources among all.
    """
    e = evaluation
    return {
        "id": e.record_id,
        "system": e.system or "",
        "question": e.question,
        "heads": [finding.kind for finding in e.heads],
        "looks": [finding.kind for finding in e.looks],
        "undecided": len(e.undecided),
        "unscored": sum(v.failure is not None and not v.is_undecided for v in e.verdicts),
        "scores": [_value(e, key) for key in columns],
        "shown": [_text(e, key) for key in main_columns(columns)],
        "sources": sources,
    }


def main_columns(columns: Iterable[str]) -> list[str]:
    """Return the keys of the scores that a list of answers has room for."""
    known = set(columns)
    return [key for key in MAIN if key in known]


def index_cards(cards: Sequence[FindingCard]) -> list[list[object]]:
    """Return the answer's number and the kind of each finding."""
    return [[card.number, card.kind] for card in cards]


def _score(evaluation: Evaluation, key: str) -> Score | None:
    return evaluation.scores.get(key) if key else rubric_mean(evaluation.scores)


def _value(evaluation: Evaluation, key: str) -> float | None:
    """Return what an answer is sorted and filtered by: of a range its worst case."""
    score = _score(evaluation, key)
    value = score.worst if score and score.is_open else score.value if score else None
    return round(value, 4) if value is not None and is_number(value) else None


def _text(evaluation: Evaluation, key: str) -> str:
    score = _score(evaluation, key)
    return score_text(score) if score and is_number(score.decided) else UNSCORED
