"""The four tables of Chaudhary et al. 2024 for a judge that was asked in several ways.

For the terminal, as CSV, as LaTeX and as Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.metrics.strategies import PERTURBED, RatedAnswer, RubricRobustness, polarity
from ragassay.records import Score
from ragassay.reports.labels import label_text, one_line
from ragassay.reports.markdown import escape
from ragassay.reports.tables import cell_text, plain_table, value_text
from ragassay.reports.tabular import Cell, csv_text, latex_text
from ragassay.reports.text import SHARE_SCALE, count_text, format_interval, format_share
from ragassay.reports.trust import UNDEFINED, number_text

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = ("table", "rubric", "column", "value", "low", "high", "n", "n_unscored", "judge")
FAINT = "dim not bold not italic"
RATING_COLUMNS = ("record_id", "rubric", "way", "rating", "polarity", "people", "hint", "reason")


@dataclass(frozen=True)
class StrategyTable:
    """One of the paper's tables.

    Attributes:
        number: The paper's number.
        title: The table's title.
        columns: The figures' columns.
        rows: A rubric and its figures, one per column.
        caption: How to read it.
    """

    number: int
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[RubricRobustness, tuple[Score, ...]], ...]
    caption: str


def strategy_views(rubrics: Sequence[RubricRobustness]) -> tuple[StrategyTable, ...]:
    """Return the four tables; without rubrics they have no rows."""
    ways = tuple(rubrics[0].alignment) if rubrics else ()
    named = tuple(map(label_text, ways))
    return (
        StrategyTable(
            1,
            "Agreement of people and the judge, by the way of asking",
            named,
            tuple((r, tuple(r.alignment[way] for way in ways)) for r in rubrics),
            "Krippendorff's alpha, ordinal, of people and the judge as one rater more",
        ),
        StrategyTable(
            2,
            "Consistency",
            ("People", "Judge"),
            tuple((r, (r.people, r.judge)) for r in rubrics),
            "Krippendorff's alpha, ordinal: among people; among the judge's ratings by strategy",
        ),
        StrategyTable(
            3,
            "Ratings under a misleading rating of an expert",
            ("Unmoved", "Followed"),
            tuple((r, (r.unmoved, r.followed)) for r in rubrics),
            "Unmoved: as without it. Followed: became what it said, of those that were not that",
        ),
        StrategyTable(
            4,
            "Sentiment of the justifications",
            ("All strategies", label_text(PERTURBED)),
            tuple((r, (r.sentiment, r.perturbed_sentiment)) for r in rubrics),
            "Mean polarity by TextBlob, from -1 to 1",
        ),
    )


def strategy_tables(rubrics: Sequence[RubricRobustness]) -> tuple[Table, ...]:
    """Return the four tables for the terminal: value, interval and n of each figure."""
    made: list[Table] = []
    for view in strategy_views(rubrics):
        table = plain_table(f"{view.number}. {view.title}", ("Rubric",), view.columns)
        for rubric, scores in view.rows:
            cells = [value_text(_value(score), score.value is not None) for score in scores]
            for cell, score in zip(cells, scores, strict=True):
                cell.append(
                    f"\n{format_interval(score)}\n{_count(score)}", style="dim not bold not italic"
                )
            name = cell_text(label_text(rubric.rubric))
            name.append(f"\n{_scale(rubric)}", style="dim")
            table.add_row(name, *cells)
        table.caption = cell_text(f"{view.caption}; 95 % intervals resample questions")
        made.append(table)
    return tuple(made)


def strategies_csv(rubrics: Sequence[RubricRobustness], judge: str) -> str:
    """Return all figures, one per row; an undefined one has an empty value."""
    rows: list[tuple[Cell, ...]] = [
        (view.number, r.rubric, column, s.value, s.low, s.high, s.n, s.n_unscored, judge)
        for view in strategy_views(rubrics)
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


def ratings_csv(answers: Mapping[str, Sequence[RatedAnswer]]) -> str:
    """Return every rating with its reason and people's ratings, one per row."""
    rows: list[tuple[Cell, ...]] = [
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
    tables = ["% Needs \\usepackage{booktabs}."]
    for view in strategy_views(rubrics):
        rows = [(label_text(r.rubric), _scale(r), *map(_cell, scores)) for r, scores in view.rows]
        columns = ("Rubric", "Scale", *view.columns)
        caption = f"{view.title}: {judge}. {view.caption}."
        tables.append(latex_text(columns, rows, caption, f"tab:strategies-{view.number}"))
    return "\n".join(tables)


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
    for view in strategy_views(rubrics):
        lines += [f"## {view.number}. {view.title}", ""]
        lines.append(f"| {' | '.join(('Rubric', 'Scale', *view.columns))} |")
        lines.append("|---|---|" + "---:|" * len(view.columns))
        for rubric, scores in view.rows:
            cells = (escape(label_text(rubric.rubric)), _scale(rubric), *map(_cell, scores))
            lines.append(f"| {' | '.join(cells)} |")
        lines += ["", f"{view.caption}. In brackets 95 % intervals, which resample questions.", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def strategies_headline(judge: str, n_answers: int, n_labels: int) -> str:
    """Return the judge, the number of its ratings, and the number of people's ratings."""
    answers, labels = count_text(n_answers, "answer"), count_text(n_labels, "rating")
    return one_line(f"{judge} on {answers}, beside {labels} of people")


def _scale(rubric: RubricRobustness) -> str:
    low, high = rubric.scale
    return f"{low} to {high}"


def _value(score: Score) -> str:
    if score.value is None:
        return UNDEFINED
    return format_share(score.value) if score.scale == SHARE_SCALE else number_text(score.value)


def _count(score: Score) -> str:
    unscored = f", {score.n_unscored} unscored" if score.n_unscored else ""
    return f"n {score.n}{unscored}"


def _cell(score: Score) -> str:
    span = "" if score.low is None else f" ({format_interval(score)})"
    return f"{_value(score)}{span}, {_count(score)}"
