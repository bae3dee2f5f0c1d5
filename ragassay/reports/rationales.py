"""Show what was found in a judge's reasons: on the terminal, as Markdown, as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ragassay.metrics.rationales import (
    CRITERIA,
    JudgedReason,
    Labels,
    ReasonMeasures,
    RubricReasons,
)
from ragassay.records import Score
from ragassay.reports.labels import label_text
from ragassay.reports.markdown import escape
from ragassay.reports.tables import cell_text, plain_table, value_text
from ragassay.reports.tabular import Cell, csv_text
from ragassay.reports.text import format_interval, format_share
from ragassay.reports.trust import UNDEFINED

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

RULES = {
    "recited": "Words recited from the rubric",
    "names_nothing": "Names nothing of the answer",
    "contradicts": "Sentiment against the rating",
}
"""Titles of what is measured by rule."""

TITLES = {name: text[:1].upper() + text[1:] for name, text in CRITERIA.items()}
"""Titles of the criteria."""

RULES_CAPTION = (
    "By rule. Recited: mean share of a reason's words that stand in the rubric too, three in a row "
    "or more. Names nothing: reasons without a quote, a number, a sentence or a term of the "
    "answer. Sentiment: TextBlob's, clearly that of a rating on the other side of the middle"
)
LABELS_CAPTION = "Shares of reasons with the fault; one that is seen and not shown is unscored"
SHEET_FIELDS = ("id", "question", "answer", "rubric", "rating", "reason")


def rationale_tables(rubrics: Sequence[RubricReasons]) -> tuple[Table, ...]:
    """Return the tables for the terminal: by rule, then one for each who labelled."""
    first = plain_table("Reasons, measured by rule", ("Rubric",), tuple(RULES.values()))
    for one in rubrics:
        first.add_row(_name(one), *(_cell(getattr(one, name)) for name in RULES))
    first.caption = cell_text(f"{RULES_CAPTION}; 95 % intervals resample questions")
    made = [first]
    for who in rubrics[0].labels if rubrics else ():
        table = plain_table(f"Faults of reasons, by {who}", ("Rubric",), tuple(TITLES.values()))
        for one in rubrics:
            table.add_row(_name(one), *(_cell(one.labels[who][name]) for name in CRITERIA))
        table.caption = cell_text(LABELS_CAPTION)
        made.append(table)
    return tuple(made)


def rationales_csv(rubrics: Sequence[RubricReasons]) -> str:
    """Return all figures, one a row; an undefined one has an empty value."""
    rows: list[tuple[Cell, ...]] = [
        (who, one.rubric or "all", name, s.value, s.low, s.high, s.n, s.n_unscored)
        for one in rubrics
        for who, name, s in _figures(one)
    ]
    return csv_text(("by", "rubric", "figure", "value", "low", "high", "n", "n_unscored"), rows)


def reasons_csv(
    reasons: Sequence[JudgedReason],
    measures: Mapping[str, ReasonMeasures],
    labels: Mapping[str, Labels],
    quotes: Mapping[str, Mapping[str, str]],
) -> str:
    """Return every reason with what was found in it, one a row."""
    rows: list[tuple[Cell, ...]] = []
    for one in reasons:
        found = measures[one.id]
        cells: list[Cell] = [one.id, one.rubric, one.judge, one.rating, one.reason]
        cells += [found.recited, "; ".join(found.named), found.polarity, found.contradicts]
        for given in labels.values():
            cells += [_yes(given.get(one.id, {}).get(name)) for name in CRITERIA]
        told = quotes.get(one.id, {})
        rows.append((*cells, "; ".join(f"{name}: {quote}" for name, quote in told.items())))
    by = [f"{who}: {name}" for who in labels for name in CRITERIA]
    head = ("id", "rubric", "judge", "rating", "reason", "recited", "named", "polarity")
    return csv_text((*head, "contradicts", *by, "quotes"), rows)


def sheet_csv(reasons: Sequence[JudgedReason]) -> str:
    """Return a sheet for people: a row for each reason, and a cell for each criterion.

    They write yes or no; `ragassay rationales --labels` reads it back.
    """
    rows: list[tuple[Cell, ...]] = [
        (one.id, one.question, one.answer, one.rubric, one.rating, one.reason, *("",) * 6)
        for one in reasons
    ]
    return csv_text((*SHEET_FIELDS, *CRITERIA), rows)


def rationales_markdown(rubrics: Sequence[RubricReasons], agreement: Mapping[str, Score]) -> str:
    """Return the tables as a page in Markdown with a final newline."""
    lines = ["# How a judge gives its reasons", "", "## By rule", ""]
    lines += _markdown(rubrics, list(RULES.values()), lambda o: [getattr(o, n) for n in RULES])
    lines += ["", f"{RULES_CAPTION}. In brackets 95 % intervals, which resample questions."]
    for who in rubrics[0].labels if rubrics else ():
        lines += ["", f"## By {escape(who)}", ""]
        lines += _markdown(
            rubrics, list(TITLES.values()), lambda o, w=who: list(o.labels[w].values())
        )
        lines += ["", f"{LABELS_CAPTION}."]
    if agreement:
        lines += ["", "## Agreement of people and the model", ""]
        lines += [f"- {TITLES[name]}: {_text(score)}" for name, score in agreement.items()]
    return "\n".join(lines) + "\n"


def agreement_lines(agreement: Mapping[str, Score]) -> list[str]:
    """Return the share of reasons on which people and the model agree, a line a criterion."""
    return [f"agree on {TITLES[name].lower()}: {_text(s)}" for name, s in agreement.items()]


def _markdown(
    rubrics: Sequence[RubricReasons],
    columns: Sequence[str],
    scores: Callable[[RubricReasons], Sequence[Score]],
) -> list[str]:
    rows = [f"| {' | '.join(('Rubric', *columns))} |", "|---|" + "---:|" * len(columns)]
    for one in rubrics:
        cells = (escape(_title(one)), *map(_text, scores(one)))
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _figures(one: RubricReasons) -> list[tuple[str, str, Score]]:
    found = [("rule", name, getattr(one, name)) for name in RULES]
    return found + [(who, n, s) for who, by in one.labels.items() for n, s in by.items()]


def _title(one: RubricReasons) -> str:
    return label_text(one.rubric) if one.rubric else "All"


def _name(one: RubricReasons) -> Text:
    return cell_text(_title(one))


def _cell(score: Score) -> Text:
    cell = value_text(_value(score), score.value is not None)
    cell.append(f"\n{format_interval(score)}\n{_count(score)}", style="dim not bold not italic")
    return cell


def _text(score: Score) -> str:
    span = "" if score.low is None else f" ({format_interval(score)})"
    return f"{_value(score)}{span}, {_count(score)}"


def _value(score: Score) -> str:
    return UNDEFINED if score.value is None else format_share(score.value)


def _count(score: Score) -> str:
    unscored = f", {score.n_unscored} unscored" if score.n_unscored else ""
    return f"n {score.n}{unscored}"


def _yes(label: bool | None) -> str:
    return "" if label is None else "yes" if label else "no"
