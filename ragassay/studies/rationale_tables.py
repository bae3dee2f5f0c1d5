"""Render an audit of a judge's reasons as tables, Markdown and CSV."""

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
from ragassay.reports.display import format_label, format_value
from ragassay.reports.sheets import (
    Plain,
    Sheet,
    Shown,
    build_counted_cell,
    build_number_columns,
    build_text_columns,
    escape,
    render_csv,
    render_sheet_markdown,
)

RULES = {
    "recited": "Words recited from the rubric",
    "names_nothing": "No reference to the answer",
    "contradicts": "Sentiment contradicts the rating",
}

TITLES = {name: text[:1].upper() + text[1:] for name, text in CRITERIA.items()}

RULES_CAPTION = (
    "Recited: mean share of a reason's words that are part of three or more consecutive words of "
    "the rubric. No reference: share of reasons without a quote, number, sentence or term from the "
    "answer. Sentiment: share of reasons whose TextBlob sentiment clearly contradicts the rating"
)
LABELS_CAPTION = "Shares of reasons with the fault. Faults without a valid quote are unscored"
SHEET_FIELDS = ("id", "question", "answer", "rubric", "rating", "reason")


def build_rationale_sheets(rubrics: Sequence[RubricReasons]) -> tuple[Sheet, ...]:
    """Return a table of rule-based measures, and a table of faults for each labeller."""
    by_rule = Sheet(
        "Rule-based measures of reasons",
        (*build_text_columns("Rubric"), *build_number_columns(*RULES.values())),
        tuple(
            (_format_title(one), *(_build_cell(getattr(one, name)) for name in RULES))
            for one in rubrics
        ),
        f"{RULES_CAPTION}; 95 % intervals are computed by resampling questions",
    )
    labelled = (
        Sheet(
            f"Faults of reasons according to {labeller}",
            (*build_text_columns("Rubric"), *build_number_columns(*TITLES.values())),
            tuple(
                (_format_title(one), *map(_build_cell, one.labels[labeller].values()))
                for one in rubrics
            ),
            LABELS_CAPTION,
        )
        for labeller in (rubrics[0].labels if rubrics else ())
    )
    return by_rule, *labelled


def render_rationales_csv(rubrics: Sequence[RubricReasons]) -> str:
    """Return all measures as CSV, in which undefined values are empty."""
    rows: list[tuple[Plain, ...]] = [
        (source, one.rubric or "all", name, s.value, s.low, s.high, s.n, s.n_unscored)
        for one in rubrics
        for source, name, s in _list_scores(one)
    ]
    return render_csv(("by", "rubric", "figure", "value", "low", "high", "n", "n_unscored"), rows)


def render_reasons_csv(
    reasons: Sequence[JudgedReason],
    measures: Mapping[str, ReasonMeasures],
    labels: Mapping[str, Labels],
    quotes: Mapping[str, Mapping[str, str]],
) -> str:
    """Return all reasons with their measures, labels and quotes as CSV."""
    rows: list[tuple[Plain, ...]] = []
    for one in reasons:
        measured = measures[one.id]
        cells: list[Plain] = [one.id, one.rubric, one.judge, one.rating, one.reason]
        cells += [measured.recited, "; ".join(measured.named)]
        cells += [measured.polarity, measured.contradicts]
        for own in labels.values():
            cells += [_format_label(own.get(one.id, {}).get(name)) for name in CRITERIA]
        quoted = quotes.get(one.id, {})
        rows.append((*cells, "; ".join(f"{name}: {quote}" for name, quote in quoted.items())))
    label_columns = [f"{labeller}: {name}" for labeller in labels for name in CRITERIA]
    columns = ("id", "rubric", "judge", "rating", "reason", "recited", "named", "polarity")
    return render_csv((*columns, "contradicts", *label_columns, "quotes"), rows)


def render_labelling_csv(reasons: Sequence[JudgedReason]) -> str:
    """Return a CSV sheet for human labels, with one row per reason and one column per criterion.

    Annotators enter yes or no. `ragassay rationales --labels` reads the sheet.
    """
    rows: list[tuple[Plain, ...]] = [
        (
            one.id,
            one.question,
            one.answer,
            one.rubric,
            one.rating,
            one.reason,
            *[""] * len(CRITERIA),
        )
        for one in reasons
    ]
    return render_csv((*SHEET_FIELDS, *CRITERIA), rows)


def render_rationales_markdown(
    rubrics: Sequence[RubricReasons], agreement: Mapping[str, Score]
) -> str:
    """Return all tables as Markdown."""
    lines = ["# Audit of a judge's reasons"]
    for sheet in build_rationale_sheets(rubrics):
        lines += [
            "",
            f"## {escape(sheet.title)}",
            "",
            render_sheet_markdown(sheet),
            f"{sheet.caption}.",
        ]
    if agreement:
        lines += ["", "## Agreement between humans and the model", ""]
        lines += [
            f"- {TITLES[name]}: {_build_cell(score).line}" for name, score in agreement.items()
        ]
    return "\n".join(lines) + "\n"


def describe_label_agreement(agreement: Mapping[str, Score]) -> list[str]:
    """Return one line per criterion with the agreement between humans and the model."""
    return [
        f"agree on {TITLES[name].lower()}: {_build_cell(s).line}" for name, s in agreement.items()
    ]


def _list_scores(one: RubricReasons) -> list[tuple[str, str, Score]]:
    scores = [("rule", name, getattr(one, name)) for name in RULES]
    return scores + [(who, name, s) for who, own in one.labels.items() for name, s in own.items()]


def _format_title(one: RubricReasons) -> str:
    return format_label(one.rubric) if one.rubric else "All"


def _build_cell(score: Score) -> Shown:
    return build_counted_cell(score, format_value(score.value))


def _format_label(label: bool | None) -> str:
    return "" if label is None else "yes" if label else "no"
