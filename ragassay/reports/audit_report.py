"""Render an audit as HTML, Markdown and CSV, and as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragassay.metrics.papers.answer_scores import LIKERT
from ragassay.records import AttackFigure, Audit, Score, TargetTrust, Variant
from ragassay.reports.certificate import (
    CHANCE,
    EXPLANATION,
    WORDS,
    WORST_FIRST,
    TrustLine,
    describe_audit_basis,
    find_target_title,
    group_certificate_lines,
    view_certificate,
)
from ragassay.reports.display import (
    NOT_DEFINED,
    SHARE_SCALE,
    count_missing,
    format_interval,
    format_signed,
    is_number,
)
from ragassay.reports.html import build_content_policy, create_page_environment
from ragassay.reports.labels import replace_controls
from ragassay.reports.markdown import render_certificate
from ragassay.reports.provenance import describe_usage
from ragassay.reports.sheets import (
    Column,
    Sheet,
    Shown,
    build_number_columns,
    build_score_cell,
    build_text_columns,
    build_value_cell,
    escape,
    render_csv,
    render_sheet_markdown,
)
from ragassay.reports.text import format_score, humanise

ATTACK_TITLES = {
    "off_topic": "Off-topic sentence added at the end",
    "off_topic_inside": "Off-topic sentence inserted",
    "same_domain": "Sentence from another answer added at the end",
    "same_domain_inside": "Sentence from another answer inserted",
    "blog": "Blog snippet added at the end",
    "blog_inside": "Blog snippet inserted",
    "tweet": "Tweet added at the end",
    "tweet_inside": "Tweet inserted",
    "drop_last": "Last sentence removed",
    "drop_inside": "Other sentence removed",
    "drop_last_off_topic": "Last sentence replaced by an off-topic sentence",
    "swap_last": "Last two sentences swapped",
    "shuffle": "Sentences shuffled",
    "first_connective": "First connective removed",
    "all_connectives": "All connectives removed",
    "repeat_last": "Last sentence repeated",
    "repeat_inside": "Other sentence repeated",
    "repeat_all": "All sentences repeated",
    "number": "Dose or number changed",
    "negation": "Negation added or removed",
    "comparator": "Direction reversed (higher, lower)",
    "population": "Population changed",
    "drug": "Drug changed",
    "hedge": "Hedging removed",
    "citation": "Citation moved to another source",
    "retracted": "Retracted article cited",
    "instruction": "Instructions to the judge",
    "forged_rating": "Forged rating",
    "forged_end": "Forged end of the answer",
    "experts_said": "Claim that experts gave the answer the highest rating",
    "flattery": "Flattery of the judge",
    "given": "Perturbation from the input file",
    "wrong_number": "Wrong number",
    "points_to_paper": "Question that refers to its paper",
    "half_answer": "Half of the answer removed",
    "foreign_question": "Question about another subject",
    "contradiction": "Answer that contradicts itself",
}


def get_attack_title(attack: str) -> str:
    """Return the title of an attack, or its name with spaces if it has no title."""
    return ATTACK_TITLES.get(attack) or humanise(attack)


AUDIT_PAGE, STYLE = "audit.html.j2", "audit_style.html.j2"
DESIRED = (
    "Desired ratings are at most 3 for subtle and 1 for extreme perturbations (YESciEval, section "
    "5)."
)
MEASURES_NOTE = (
    "Found: share of pairs in which the perturbed answer has the lower score, not counting ties. "
    "AUROC: "
    "how well the score separates perturbed from unperturbed answers. Lift: mean difference "
    "between perturbed and unperturbed scores. Too high: mean excess over the desired rating. 95 % "
    "intervals are computed by resampling questions."
)
VARIANTS: tuple[Variant, ...] = ("benign", "subtle", "extreme")
MEASURES = ("benign", "perturbed", "detection", "auroc", "lift", "optimism_error")


def render_audit_html(audit: Audit) -> str:
    """Render an audit as a self-contained HTML page."""
    environment = create_page_environment()
    style = environment.get_template(STYLE).render()
    page = environment.get_template(AUDIT_PAGE).render(
        audit=audit,
        headline=view_certificate(audit).headline,
        basis=describe_audit_basis(audit),
        explanation=EXPLANATION,
        sections=view_groups(audit),
        attack_sheet=build_attack_sheet,
        attack_text=_describe_attack,
        chance=CHANCE_PLACE,
        desired=DESIRED,
        measures_note=MEASURES_NOTE,
        unchanged=describe_unchanged(audit),
        cost=describe_usage(audit.usage),
        style=style,
        policy=build_content_policy(style, ""),
    )
    return replace_controls(page)


def render_audit_markdown(audit: Audit) -> str:
    """Render an audit as Markdown."""
    ratings = build_ratings_sheet(audit)
    blocks = [
        "# ragassay audit\n",
        render_certificate(view_certificate(audit)),
        *([_render_section(ratings)] if ratings.rows else []),
        _render_section(build_attack_sheet(audit.figures)),
    ]
    if unchanged := describe_unchanged(audit):
        blocks.append("Answers that an attack could not change, which are not counted:\n")
        blocks += [*(f"- {escape(x)}" for x in unchanged), ""]
    blocks.append(f"Cost: {describe_usage(audit.usage)}.")
    return "\n".join(blocks).rstrip("\n") + "\n"


def _render_section(sheet: Sheet) -> str:
    return f"## {sheet.title}\n\n{render_sheet_markdown(sheet)}\n{sheet.caption}\n"


def render_figures_csv(audit: Audit) -> str:
    """Return all figures as CSV, with one row per attack and score."""
    columns = ["attack", "family", "severity", "target", "n", "n_unscored", "n_undecided"]
    columns += [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")]
    return render_csv(
        (*columns, "judge"), [(*_build_csv_row(f), audit.judge) for f in audit.figures]
    )


def build_certificate_sheet(audit: Audit) -> Sheet:
    """Return the certificate as a table."""
    return view_certificate(audit).sheet


def build_ratings_sheet(audit: Audit, has_intervals: bool = True) -> Sheet:
    """Return a table of mean ratings by rubric and severity, as in YESciEval."""
    rows = tuple(
        (
            find_target_title(target),
            *(format_optional_score(scores.get(v), has_intervals) for v in VARIANTS),
        )
        for target, scores in audit.ratings.items()
        if target.startswith("rubric.")
    )
    columns = (
        *build_text_columns("Rubric"),
        *build_number_columns("Unperturbed", "Subtle", "Extreme"),
    )
    return Sheet("Mean ratings of unperturbed and perturbed answers", columns, rows, DESIRED)


def build_attack_sheet(figures: Sequence[AttackFigure], has_targets: bool = True) -> Sheet:
    """Return a table of attacks, with a column for the target score if `has_targets` is True."""
    columns = (
        *build_text_columns("Attack", *("Score",) * has_targets),
        *build_number_columns(
            "Unperturbed", "Perturbed", "Found", "AUROC", "Lift", "Too high", "Pairs"
        ),
    )
    rows = tuple(
        (
            Shown(get_attack_title(f.attack), notes=(f.severity,)),
            *(find_target_title(f.target),) * has_targets,
            *(format_optional_score(getattr(f, name)) for name in MEASURES),
            _count_pairs(f),
        )
        for f in figures
    )
    return Sheet("All attacks", columns, rows, MEASURES_NOTE)


def build_short_attack_sheet(audit: Audit) -> Sheet:
    """Return a narrow table of attacks. For injected text, only the most raised score is shown."""
    names = ("benign", "perturbed", "detection", "auroc")
    columns = (
        *(Column("", "Attack", is_once=True), Column("", "Score")),
        *build_number_columns("Unperturbed", "Perturbed", "Found", "AUROC", "Pairs"),
    )
    rows = tuple(
        (
            f"{get_attack_title(f.attack)} ({f.severity})",
            find_target_title(f.target),
            *(format_optional_score(getattr(f, name), False) for name in names),
            _count_pairs(f),
        )
        for f in _select_most_lifted(audit.figures)
    )
    return Sheet("All attacks", columns, rows)


def _select_most_lifted(figures: Sequence[AttackFigure]) -> list[AttackFigure]:
    worst: dict[str, AttackFigure] = {}
    for figure in figures:
        if figure.family == "injection":
            worst[figure.attack] = max(worst.get(figure.attack, figure), figure, key=_lift)
    return [f for f in figures if f.family != "injection" or f is worst[f.attack]]


def describe_unchanged(audit: Audit) -> tuple[str, ...]:
    """Return a line for each attack with the number of answers that it could not change."""
    return tuple(f"{get_attack_title(name)}: {n:,}" for name, n in audit.n_unchanged.items() if n)


def _describe_attack(figure: AttackFigure) -> str:
    return (
        f"{get_attack_title(figure.attack)} ({figure.severity}), {find_target_title(figure.target)}"
    )


def _lift(figure: AttackFigure) -> float:
    return -math.inf if figure.lift.value is None else figure.lift.value


def _count_pairs(figure: AttackFigure) -> str:
    n_failed = figure.detection.n_unscored - figure.n_undecided
    others = ", ".join(f"+{text}" for text in count_missing(figure.n_undecided, n_failed))
    return f"{figure.detection.n:,}" + (f" ({others})" if others else "")


def format_optional_score(score: Score | None, has_interval: bool = True) -> Shown:
    """Return the table cell of a score, or "n/a" for None."""
    return build_score_cell(score, has_interval) if score else build_value_cell(NOT_DEFINED, False)


def _build_csv_row(figure: AttackFigure) -> list[str | float | None]:
    row: list[str | float | None] = [figure.attack, figure.family, figure.severity, figure.target]
    row += [figure.detection.n, figure.detection.n_unscored, figure.n_undecided]
    for score in (getattr(figure, name) for name in MEASURES):
        row += [score.value, score.low, score.high] if score else [None, None, None]
    return row


CHANCE_PLACE = CHANCE * 100
LIFT_SHARE = 0.25
"""Lift at the end of a bar, as a share of the scale (one point on a scale of 1 to 5)."""

SEVERITIES = {"extreme": "extreme perturbations", "subtle": "subtle perturbations"}
RATINGS = {"benign": "unperturbed", "subtle": "subtly perturbed", "extreme": "extremely perturbed"}
UNLISTED = TrustLine("Other scores", "not certified", "?", "unscored", "")


@dataclass(frozen=True, slots=True)
class ScaleBar:
    """Bar for a value and an interval. Positions are 0 to 100, or None if undefined."""

    title: str
    text: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class AttackGroup:
    """Line of the certificate, with the figures on which its verdict is based.

    Attributes:
        kind: Measure that the bars show, "found" or "lift".
        bars: Bars for detection rates, extreme severity first, or for lifts, largest first.
    """

    line: TrustLine
    kind: str
    bars: tuple[ScaleBar, ...]
    ratings: tuple[ScaleBar, ...]
    figures: tuple[AttackFigure, ...]


def view_groups(audit: Audit) -> tuple[tuple[str, tuple[AttackGroup, ...]], ...]:
    """Return the headings of the page with their groups, worst verdicts first."""
    rubrics, others = [], []
    listed: set[int] = set()
    for line, trusts in group_certificate_lines(audit):
        figures = [
            f for t in trusts for f in audit.figures if (f.family, f.target) == (t.family, t.target)
        ]
        listed |= {id(figure) for figure in figures}
        group = _view_group(audit, line, trusts, figures)
        (rubrics if trusts[0].family in ("rubric", "pair") else others).append(group)
    left = [figure for figure in audit.figures if id(figure) not in listed]
    if left:
        others.append(AttackGroup(UNLISTED, "found", (), (), tuple(left)))
    sections = (
        ("Audit of this judge", rubrics),
        ("Changed facts, and text that addresses the judge", others),
    )
    return tuple((title, tuple(sorted(own, key=_rank_verdict))) for title, own in sections if own)


def _rank_verdict(group: AttackGroup) -> int:
    ranking = [WORDS[trust][0] for trust in WORST_FIRST]
    return ranking.index(group.line.word) if group.line.word in ranking else len(ranking)


def _view_group(
    audit: Audit, line: TrustLine, trusts: Sequence[TargetTrust], figures: Sequence[AttackFigure]
) -> AttackGroup:
    if trusts[0].family == "injection":
        lifts = [_lift_bar(find_target_title(t.target), t.lift) for t in trusts if t.lift]
        lifts.sort(key=lambda bar: -1.0 if bar.value is None else bar.value, reverse=True)
        return AttackGroup(line, "lift", tuple(lifts), (), tuple(figures))
    (trust,) = trusts
    bars = (
        build_scale_bar(title, trust.detection[severity], _format_fraction)
        for severity, title in SEVERITIES.items()
        if severity in trust.detection
    )
    rated = audit.ratings.get(trust.target, {}) if trust.family == "rubric" else {}
    ratings = (
        build_scale_bar(title, rated[variant], _format_mean)
        for variant, title in RATINGS.items()
        if variant in rated
    )
    return AttackGroup(line, "found", tuple(bars), tuple(ratings), tuple(figures))


def build_scale_bar(title: str, score: Score, text: Callable[[Score], str]) -> ScaleBar:
    """Return a bar that shows where a score is on its scale."""
    value, low, high = (
        _compute_position(end, score.scale) for end in (score.value, score.low, score.high)
    )
    return ScaleBar(title, text(score), value, low, high)


def _format_fraction(score: Score) -> str:
    if score.value is None:
        return format_score(score)
    return f"{score.value * score.n:.0f} of {score.n}"


def _format_mean(score: Score) -> str:
    interval = format_interval(score)
    return f"{format_score(score)}{f' ({interval})' if interval != NOT_DEFINED else ''}"


def _lift_bar(title: str, lift: Score) -> ScaleBar:
    """Return a bar for a lift, with 0 in the middle and `LIFT_SHARE` at the ends."""
    end = (lift.scale[1] - lift.scale[0]) / 2 * LIFT_SHARE
    value, low, high = (
        _compute_position(v, (-end, end)) for v in (lift.value, lift.low, lift.high)
    )
    is_points = end != LIFT_SHARE
    ends = lift.range if lift.is_open else None
    known = ends or (() if lift.value is None else (lift.value,))
    scale = LIKERT if is_points else SHARE_SCALE
    text = " to ".join(dict.fromkeys(format_signed(one, scale) for one in known))
    return ScaleBar(title, f"{text} points" if text else NOT_DEFINED, value, low, high)


def _compute_position(value: float | None, scale: tuple[float, float]) -> float | None:
    if value is None or not is_number(value):
        return None
    low, high = scale
    return round(max(0.0, min(100.0, 100 * (value - low) / (high - low))), 1)
