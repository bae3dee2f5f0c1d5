"""The four tables of Chaudhary et al. 2024 for a judge that was asked in several ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ragassay.metrics.papers.strategies import PERTURBED, RubricRobustness, StrategyAnswer, polarity
from ragassay.records import Score
from ragassay.reports.display import SHARE_SCALE, decimals_text, format_value, label_text
from ragassay.reports.labels import one_line
from ragassay.reports.sheets import (
    NEEDS_BOOKTABS,
    Plain,
    Sheet,
    Shown,
    counted_cell,
    csv_text,
    escape,
    numbers,
    sheet_latex,
    sheet_markdown,
    words,
)
from ragassay.reports.text import count_text

COLUMNS = ("table", "rubric", "column", "value", "low", "high", "n", "n_unscored", "judge")
RATING_COLUMNS = ("record_id", "rubric", "way", "rating", "polarity", "people", "hint", "reason")


def strategy_views(rubrics: Sequence[RubricRobustness]) -> tuple[StrategyTable, ...]:
    """Return the four tables; without rubrics they have no rows."""
    ways = tuple(rubrics[0].alignment) if rubrics else ()
    return (
        StrategyTable(
            "Agreement of people and the judge, by the way of asking",
            tuple(map(label_text, ways)),
            tuple((r, tuple(r.alignment[way] for way in ways)) for r in rubrics),
            "Krippendorff's alpha, ordinal, of people and the judge as one rater more",
        ),
        StrategyTable(
            "Consistency",
            ("People", "Judge"),
            tuple((r, (r.people, r.judge)) for r in rubrics),
            "Krippendorff's alpha, ordinal: among people; among the judge's ratings by strategy",
        ),
        StrategyTable(
            "Ratings under a misleading rating of an expert",
            ("Unmoved", "Followed"),
            tuple((r, (r.unmoved, r.followed)) for r in rubrics),
            "Unmoved: as without it. Followed: became what it said, of those that were not that",
        ),
        StrategyTable(
            "Sentiment of the justifications",
            ("All strategies", label_text(PERTURBED)),
            tuple((r, (r.sentiment, r.perturbed_sentiment)) for r in rubrics),
            "Mean polarity by TextBlob, from -1 to 1",
        ),
    )


class StrategyTable(NamedTuple):
    """One of the paper's tables: a rubric a row with its figures, one per column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[RubricRobustness, tuple[Score, ...]], ...]
    caption: str


def strategy_sheets(rubrics: Sequence[RubricRobustness]) -> tuple[Sheet, ...]:
    """Return the four tables: value, interval and n of each figure."""
    return tuple(
        Sheet(
            f"{number}. {view.title}",
            (*words("Rubric", "Scale"), *numbers(*view.columns)),
            tuple(
                (label_text(r.rubric), "{} to {}".format(*r.scale), *map(_cell, scores))
                for r, scores in view.rows
            ),
            f"{view.caption}; 95 % intervals resample questions",
        )
        for number, view in enumerate(strategy_views(rubrics), 1)
    )


def strategies_csv(rubrics: Sequence[RubricRobustness], judge: str) -> str:
    """Return all figures, one per row; an undefined one has an empty value."""
    rows: list[tuple[Plain, ...]] = [
        (number, r.rubric, column, s.value, s.low, s.high, s.n, s.n_unscored, judge)
        for number, view in enumerate(strategy_views(rubrics), 1)
        for r, scores in view.rows
        for column, s in zip(view.columns, scores, strict=True)
    ]
    rows += [
        (4, r.rubric, label_text(way), s.value, s.low, s.high, s.n, s.n_unscored, judge)
        for r in rubrics
        for way, s in r.sentiments.items()
        if way != PERTURBED
    ]
    return csv_text(COLUMNS, rows)


def ratings_csv(answers: Mapping[str, Sequence[StrategyAnswer]]) -> str:
    """Return every rating with its reason and people's ratings, one per row."""
    rows: list[tuple[Plain, ...]] = [
        (
            *(answer.record_id, rubric, way, reply.rating),
            polarity(reply.reason) if reply.reason else None,
            " ".join(map(str, answer.people)),
            answer.hint if way == PERTURBED else None,
            reply.reason,
        )
        for rubric, group in answers.items()
        for answer in group
        for way, reply in answer.replies.items()
    ]
    return csv_text(RATING_COLUMNS, rows)


def strategies_latex(rubrics: Sequence[RubricRobustness], judge: str) -> str:
    r"""Return the four tables in LaTeX; they need \usepackage{booktabs}."""
    tables = (
        sheet_latex(sheet, f"tab:strategies-{number}", f"{sheet.title}: {judge}. {sheet.caption}.")
        for number, sheet in enumerate(strategy_sheets(rubrics), 1)
    )
    return NEEDS_BOOKTABS + "\n".join(tables)


def strategies_markdown(
    rubrics: Sequence[RubricRobustness],
    judge: str,
    n_answers: int,
    n_labels: int,
    notes: Sequence[str] = (),
) -> str:
    """Return the four tables as a page in Markdown with a final newline.

    Args:
        rubrics: The figures.
        judge: The judge's name.
        n_answers: Answers that were rated.
        n_labels: People's ratings of them.
        notes: Notes for the reader.
    """
    lines = [f"# {escape(strategies_headline(judge, n_answers, n_labels))}", ""]
    for note in notes:
        lines += [escape(note), ""]
    for sheet in strategy_sheets(rubrics):
        lines += [f"## {sheet.title}", "", sheet_markdown(sheet), f"{sheet.caption}.", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def strategies_headline(judge: str, n_answers: int, n_labels: int) -> str:
    """Return the judge, the number of its ratings, and the number of people's ratings."""
    answers, labels = count_text(n_answers, "answer"), count_text(n_labels, "rating")
    return one_line(f"{judge} on {answers}, beside {labels} of people")


def _cell(score: Score) -> Shown:
    is_share = score.scale == SHARE_SCALE
    return counted_cell(
        score, format_value(score.value) if is_share else decimals_text(score.value)
    )
