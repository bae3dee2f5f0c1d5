"""An audit as a page, Markdown, CSV and tables for the terminal.

Names of attacks are ours; ids of answers and the judge's name are untrusted, and escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.records import AttackFigure, Audit, Score, Variant
from ragassay.reports.attack_titles import attack_title
from ragassay.reports.audit_groups import CHANCE_PLACE, view_groups
from ragassay.reports.certificate import (
    EXPLANATION,
    TrustLine,
    basis_text,
    target_title,
    view_certificate,
)
from ragassay.reports.html import content_policy, page_environment
from ragassay.reports.labels import without_controls
from ragassay.reports.markdown import certificate_block, escape, table
from ragassay.reports.provenance import usage_text
from ragassay.reports.tables import cell_text, plain_table, value_text
from ragassay.reports.tabular import csv_text
from ragassay.reports.text import NOT_DEFINED, format_interval, is_number, score_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

AUDIT_PAGE, STYLE = "audit.html.j2", "audit_style.html.j2"
RATINGS_TITLE = "Mean rating, whole and damaged"
ATTACKS_TITLE = "Every attack"
DESIRED = (
    "Desired are at most 3 for subtle and at most 1 for extreme damage (YESciEval, section 5)."
)
MEASURES_NOTE = (
    "Found: share of pairs in which the damaged answer has the lower score; a tie is not found. "
    "AUROC: how well the score alone tells damaged answers from whole ones. Lift: mean of damaged "
    "minus whole. Too high: mean excess over the desired rating. Intervals of 95 % resample "
    "questions."
)
VARIANTS: tuple[Variant, ...] = ("benign", "subtle", "extreme")
VARIANT_TITLES = ("Whole", "Subtle", "Extreme")
ATTACK_WORDS = ("Attack", "Score")
ATTACK_NUMBERS = ("Whole", "Damaged", "Found", "AUROC", "Lift", "Too high", "Pairs")
TERMINAL_NUMBERS = ("Whole", "Damaged", "Found", "AUROC", "Pairs")
N_TERMINAL_CELLS = len(TERMINAL_NUMBERS) - 1
MOST_TITLE = 22
MEASURES = ("benign", "damaged", "detection", "auroc", "lift", "optimism_error")
TONE_STYLES = {"good": "bold blue", "wary": "yellow", "bad": "bold red", "unscored": "dim italic"}


@dataclass(frozen=True, slots=True)
class ValueCell:
    """A value, its interval, and whether there is one."""

    value: str
    interval: str
    scored: bool


@dataclass(frozen=True, slots=True)
class RatingsRow:
    """A rubric's mean ratings of whole, subtly and extremely damaged answers."""

    title: str
    cells: tuple[ValueCell, ...]


@dataclass(frozen=True, slots=True)
class AttackRow:
    """An attack on a score; `examples` are ids of damaged answers that got through."""

    attack: str
    severity: str
    target: str
    cells: tuple[ValueCell, ...]
    n: str
    examples: tuple[str, ...]


def render_audit_html(audit: Audit) -> str:
    """Render an audit as one self-contained page; the same bytes for the same audit."""
    environment = page_environment()
    style = environment.get_template(STYLE).render()
    page = environment.get_template(AUDIT_PAGE).render(
        audit=audit,
        headline=view_certificate(audit).headline,
        basis=basis_text(audit),
        explanation=EXPLANATION,
        sections=view_groups(audit),
        attack_row=_attack_row,
        chance=CHANCE_PLACE,
        desired=DESIRED,
        columns=(*ATTACK_WORDS, *ATTACK_NUMBERS),
        measures_note=MEASURES_NOTE,
        unchanged=unchanged_lines(audit),
        cost=usage_text(audit.usage),
        style=style,
        policy=content_policy(style, ""),
    )
    return without_controls(page)


def render_audit_markdown(audit: Audit) -> str:
    """Render an audit as Markdown with a final newline; the same bytes for the same audit."""
    blocks = [
        "# ragassay audit\n",
        certificate_block(view_certificate(audit)),
        *_ratings(audit),
        *_attacks(audit),
    ]
    if unchanged := unchanged_lines(audit):
        blocks += ["Left unchanged, and not counted:\n", *(f"- {escape(x)}" for x in unchanged), ""]
    blocks.append(f"Cost: {usage_text(audit.usage)}.")
    return "\n".join(blocks).rstrip("\n") + "\n"


def figures_csv(audit: Audit) -> str:
    """Return all figures, one row per attack and score."""
    columns = ["attack", "family", "severity", "target", "n", "n_unscored", "n_undecided"]
    columns += [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")]
    return csv_text((*columns, "judge"), [(*_csv_row(f), audit.judge) for f in audit.figures])


def certificate_table(audit: Audit) -> Table:
    """Return the certificate for the terminal."""
    view = view_certificate(audit)
    found = plain_table("What this judge can tell", ("Of", "Judge is", "Why"), ())
    found.columns[0].max_width = MOST_TITLE
    for place, lines in enumerate((view.rubrics, view.others)):
        if place and view.rubrics:
            found.add_section()
        for line in lines:
            found.add_row(cell_text(line.title), _verdict(line), cell_text(line.reason))
    found.caption = cell_text(view.basis)
    return found


def ratings_table(audit: Audit) -> Table:
    """Return mean ratings by rubric and damage for the terminal, as in YESciEval's tables."""
    found = plain_table(RATINGS_TITLE, ("Rubric",), VARIANT_TITLES)
    for row in view_ratings(audit):
        found.add_row(cell_text(row.title), *(value_text(c.value, c.scored) for c in row.cells))
    found.caption = cell_text(DESIRED)
    return found


def attack_table(audit: Audit) -> Table:
    """Return every attack for the terminal; of an injection, the score that it raises most."""
    found = plain_table(ATTACKS_TITLE, ATTACK_WORDS, TERMINAL_NUMBERS)
    before = ""
    for figure in _most_lifted(audit.figures):
        row = _attack_row(figure)
        name = f"{row.attack} ({row.severity})"
        values = [value_text(cell.value, cell.scored) for cell in row.cells[:N_TERMINAL_CELLS]]
        title = "" if name == before else name
        found.add_row(cell_text(title), cell_text(row.target), *values, row.n)
        before = name
    return found


def _most_lifted(figures: Sequence[AttackFigure]) -> list[AttackFigure]:
    """Return all figures, but for each injection only that of the score with the largest lift."""
    worst: dict[str, AttackFigure] = {}
    for figure in figures:
        if figure.family == "injection":
            worst[figure.attack] = max(worst.get(figure.attack, figure), figure, key=_lift)
    return [f for f in figures if f.family != "injection" or f is worst[f.attack]]


def view_ratings(audit: Audit) -> tuple[RatingsRow, ...]:
    """Return the rows of the table of mean ratings; targets without ratings are left out."""
    return tuple(
        RatingsRow(target_title(target), tuple(_cell(scores.get(v)) for v in VARIANTS))
        for target, scores in audit.ratings.items()
        if target.startswith("rubric.")
    )


def view_attacks(audit: Audit) -> tuple[AttackRow, ...]:
    """Return the rows of the table of attacks, in the audit's order."""
    return tuple(_attack_row(figure) for figure in audit.figures)


def unchanged_lines(audit: Audit) -> tuple[str, ...]:
    """Return the number of answers that each attack left unchanged."""
    return tuple(f"{attack_title(name)}: {n:,}" for name, n in audit.n_unchanged.items() if n)


def _attack_row(figure: AttackFigure) -> AttackRow:
    f = figure
    scores = (f.benign, f.damaged, f.detection, f.auroc, f.lift, f.optimism_error)
    return AttackRow(
        attack=attack_title(f.attack),
        severity=f.severity,
        target=target_title(f.target),
        cells=tuple(map(_cell, scores)),
        n=_pairs(f),
        examples=f.examples,
    )


def _lift(figure: AttackFigure) -> float:
    return -math.inf if figure.lift.value is None else figure.lift.value


def _pairs(figure: AttackFigure) -> str:
    n_failed = figure.detection.n_unscored - figure.n_undecided
    counts = (figure.n_undecided, "undecided"), (n_failed, "unscored")
    others = ", ".join(f"+{n:,} {word}" for n, word in counts if n)
    return f"{figure.detection.n:,}" + (f" ({others})" if others else "")


def _cell(score: Score | None) -> ValueCell:
    if score is None:
        return ValueCell(NOT_DEFINED, "", False)
    scored = is_number(score.value)
    return ValueCell(score_text(score), format_interval(score) if scored else "", scored)


def _verdict(line: TrustLine) -> Text:
    return cell_text(f"{line.sign} {line.word}", TONE_STYLES[line.tone])


def _ratings(audit: Audit) -> Iterator[str]:
    rows = view_ratings(audit)
    if rows:
        yield f"## {RATINGS_TITLE}\n"
        cells = [(escape(r.title), *(_markdown_cell(c) for c in r.cells)) for r in rows]
        yield from table(("Rubric", *VARIANT_TITLES), cells, 3)
        yield f"{DESIRED}\n"


def _attacks(audit: Audit) -> Iterator[str]:
    yield f"## {ATTACKS_TITLE}\n"
    rows = [
        (
            f"{escape(row.attack)} ({row.severity})",
            escape(row.target),
            *(_markdown_cell(cell) for cell in row.cells),
            escape(row.n),
        )
        for row in view_attacks(audit)
    ]
    yield from table((*ATTACK_WORDS, *ATTACK_NUMBERS), rows, len(ATTACK_NUMBERS))
    yield f"{MEASURES_NOTE}\n"


def _markdown_cell(cell: ValueCell) -> str:
    return escape(f"{cell.value} [{cell.interval}]" if cell.interval else cell.value)


def _csv_row(figure: AttackFigure) -> list[str | float | None]:
    row: list[str | float | None] = [figure.attack, figure.family, figure.severity, figure.target]
    row += [figure.detection.n, figure.detection.n_unscored, figure.n_undecided]
    for score in (getattr(figure, name) for name in MEASURES):
        row += [score.value, score.low, score.high] if score else [None, None, None]
    return row
