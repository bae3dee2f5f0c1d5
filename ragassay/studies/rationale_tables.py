"""Show what was found in a judge's reasons: on the terminal, as Markdown, as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragassay.metrics.papers.rationales import (
    CRITERIA,
    JudgedReason,
    Labels,
    ReasonMeasures,
    RubricReasons,
)
from ragassay.records import Score
from ragassay.reports.display import format_value, label_text
from ragassay.reports.sheets import (
    Plain,
    Sheet,
    Shown,
    counted_cell,
    csv_text,
    escape,
    numbers,
    sheet_markdown,
    words,
)

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


def rationale_sheets(rubrics: Sequence[RubricReasons]) -> tuple[Sheet, ...]:
    """Return the tables: by rule, then one for each who labelled."""
    by_rule = Sheet(
        "Reasons, measured by rule",
        (*words("Rubric"), *numbers(*RULES.values())),
        tuple((_title(one), *(_cell(getattr(one, name)) for name in RULES)) for one in rubrics),
        f"{RULES_CAPTION}; 95 % intervals resample questions",
    )
    labelled = (
        Sheet(
            f"Faults of reasons, by {who}",
            (*words("Rubric"), *numbers(*TITLES.values())),
            tuple((_title(one), *map(_cell, one.labels[who].values())) for one in rubrics),
            LABELS_CAPTION,
        )
        for who in (rubrics[0].labels if rubrics else ())
    )
    return by_rule, *labelled


def rationales_csv(rubrics: Sequence[RubricReasons]) -> str:
    """Return all figures, one a row; an undefined one has an empty value."""
    rows: list[tuple[Plain, ...]] = [
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
    rows: list[tuple[Plain, ...]] = []
    for one in reasons:
        found = measures[one.id]
        cells: list[Plain] = [one.id, one.rubric, one.judge, one.rating, one.reason]
        cells += [found.recited, "; ".join(found.named), found.polarity, found.contradicts]
        for given in labels.values():
            cells += [_yes(given.get(one.id, {}).get(name)) for name in CRITERIA]
        told = quotes.get(one.id, {})
        rows.append((*cells, "; ".join(f"{name}: {quote}" for name, quote in told.items())))
    by = [f"{who}: {name}" for who in labels for name in CRITERIA]
    head = ("id", "rubric", "judge", "rating", "reason", "recited", "named", "polarity")
    return csv_text((*head, "contradicts", *by, "quotes"), rows)


def labelling_csv(reasons: Sequence[JudgedReason]) -> str:
    """Return a sheet for people: a row for each reason, and a cell for each criterion.

    They write yes or no; `ragassay rationales --labels` reads it back.
    """
    rows: list[tuple[Plain, ...]] = [
        (one.id, one.question, one.answer, one.rubric, one.rating, one.reason, *("",) * 6)
        for one in reasons
    ]
    return csv_text((*SHEET_FIELDS, *CRITERIA), rows)


def rationales_markdown(rubrics: Sequence[RubricReasons], agreement: Mapping[str, Score]) -> str:
    """Return the tables as a page in Markdown with a final newline."""
    lines = ["# How a judge gives its reasons"]
    for sheet in rationale_sheets(rubrics):
        lines += ["", f"## {escape(sheet.title)}", "", sheet_markdown(sheet), f"{sheet.caption}."]
    if agreement:
        lines += ["", "## Agreement of people and the model", ""]
        lines += [f"- {TITLES[name]}: {_cell(score).line}" for name, score in agreement.items()]
    return "\n".join(lines) + "\n"


def agreement_lines(agreement: Mapping[str, Score]) -> list[str]:
    """Return the share of reasons on which people and the model agree, a line a criterion."""
    return [f"agree on {TITLES[name].lower()}: {_cell(s).line}" for name, s in agreement.items()]


def _figures(one: RubricReasons) -> list[tuple[str, str, Score]]:
    found = [("rule", name, getattr(one, name)) for name in RULES]
    return found + [(who, n, s) for who, by in one.labels.items() for n, s in by.items()]


def _title(one: RubricReasons) -> str:
    return label_text(one.rubric) if one.rubric else "All"


def _cell(score: Score) -> Shown:
    return counted_cell(score, format_value(score.value))


def _yes(label: bool | None) -> str:
    return "" if label is None else "yes" if label else "no"
