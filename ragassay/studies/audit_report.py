"""Render an audit as HTML, Markdown and CSV, and as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragassay.metrics.papers.answer_scores import LIKERT
from ragassay.records import AttackFigure, Audit, Score, TargetTrust, Variant
from ragassay.reports.certificate import (
    EXPLANATION,
    WORDS,
    WORST_FIRST,
    TrustLine,
    basis_text,
    certificate_groups,
    target_title,
    view_certificate,
)
from ragassay.reports.display import (
    NOT_DEFINED,
    SHARE_SCALE,
    count_missing,
    format_interval,
    is_number,
    signed_text,
)
from ragassay.reports.html import content_policy, page_environment
from ragassay.reports.labels import without_controls
from ragassay.reports.markdown import certificate_block
from ragassay.reports.provenance import usage_text
from ragassay.reports.sheets import (
    Column,
    Sheet,
    Shown,
    csv_text,
    escape,
    numbers,
    score_cell,
    sheet_markdown,
    value_cell,
    words,
)
from ragassay.reports.text import humanise, score_text
from ragassay.studies.certificate import CHANCE

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


def attack_title(attack: str) -> str:
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
    environment = page_environment()
    style = environment.get_template(STYLE).render()
    page = environment.get_template(AUDIT_PAGE).render(
        audit=audit,
        headline=view_certificate(audit).headline,
        basis=basis_text(audit),
        explanation=EXPLANATION,
        sections=view_groups(audit),
        attack_sheet=attack_sheet,
        attack_text=_attack_text,
        chance=CHANCE_PLACE,
        desired=DESIRED,
        measures_note=MEASURES_NOTE,
        unchanged=unchanged_lines(audit),
        cost=usage_text(audit.usage),
        style=style,
        policy=content_policy(style, ""),
    )
    return without_controls(page)


def render_audit_markdown(audit: Audit) -> str:
    """Render an audit as Markdown."""
    ratings = ratings_sheet(audit)
    blocks = [
        "# ragassay audit\n",
        certificate_block(view_certificate(audit)),
        *([_section(ratings)] if ratings.rows else []),
        _section(attack_sheet(audit.figures)),
    ]
    if unchanged := unchanged_lines(audit):
        blocks.append("Answers that an attack could not change, which are not counted:\n")
        blocks += [*(f"- {escape(x)}" for x in unchanged), ""]
    blocks.append(f"Cost: {usage_text(audit.usage)}.")
    return "\n".join(blocks).rstrip("\n") + "\n"


def _section(sheet: Sheet) -> str:
    return f"## {sheet.title}\n\n{sheet_markdown(sheet)}\n{sheet.caption}\n"


def figures_csv(audit: Audit) -> str:
    """Return all figures as CSV, with one row per attack and score."""
    columns = ["attack", "family", "severity", "target", "n", "n_unscored", "n_undecided"]
    columns += [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")]
    return csv_text((*columns, "judge"), [(*_csv_row(f), audit.judge) for f in audit.figures])


def certificate_sheet(audit: Audit) -> Sheet:
    """Return the certificate as a table."""
    return view_certificate(audit).sheet


def ratings_sheet(audit: Audit, has_intervals: bool = True) -> Sheet:
    """Return a table of mean ratings by rubric and severity, as in YESciEval."""
    rows = tuple(
        (target_title(target), *(score_or_none(scores.get(v), has_intervals) for v in VARIANTS))
        for target, scores in audit.ratings.items()
        if target.startswith("rubric.")
    )
    columns = (*words("Rubric"), *numbers("Unperturbed", "Subtle", "Extreme"))
    return Sheet("Mean ratings of unperturbed and perturbed answers", columns, rows, DESIRED)


def attack_sheet(figures: Sequence[AttackFigure], has_targets: bool = True) -> Sheet:
    """Return a table of attacks, with a column for the target score if `has_targets` is True."""
    columns = (
        *words("Attack", *("Score",) * has_targets),
        *numbers("Unperturbed", "Perturbed", "Found", "AUROC", "Lift", "Too high", "Pairs"),
    )
    rows = tuple(
        (
            Shown(attack_title(f.attack), notes=(f.severity,)),
            *(target_title(f.target),) * has_targets,
            *(score_or_none(getattr(f, name)) for name in MEASURES),
            _count_pairs(f),
        )
        for f in figures
    )
    return Sheet("All attacks", columns, rows, MEASURES_NOTE)


def short_attack_sheet(audit: Audit) -> Sheet:
    """Return a narrow table of attacks. For injected text, only the most raised score is shown."""
    names = ("benign", "perturbed", "detection", "auroc")
    columns = (
        *(Column("", "Attack", is_once=True), Column("", "Score")),
        *numbers("Unperturbed", "Perturbed", "Found", "AUROC", "Pairs"),
    )
    rows = tuple(
        (
            f"{attack_title(f.attack)} ({f.severity})",
            target_title(f.target),
            *(score_or_none(getattr(f, name), False) for name in names),
            _count_pairs(f),
        )
        for f in _most_lifted(audit.figures)
    )
    return Sheet("All attacks", columns, rows)


def _most_lifted(figures: Sequence[AttackFigure]) -> list[AttackFigure]:
    worst: dict[str, AttackFigure] = {}
    for figure in figures:
        if figure.family == "injection":
            worst[figure.attack] = max(worst.get(figure.attack, figure), figure, key=_lift)
    return [f for f in figures if f.family != "injection" or f is worst[f.attack]]


def unchanged_lines(audit: Audit) -> tuple[str, ...]:
    """Return a line for each attack with the number of answers that it could not change."""
    return tuple(f"{attack_title(name)}: {n:,}" for name, n in audit.n_unchanged.items() if n)


def _attack_text(figure: AttackFigure) -> str:
    return f"{attack_title(figure.attack)} ({figure.severity}), {target_title(figure.target)}"


def _lift(figure: AttackFigure) -> float:
    return -math.inf if figure.lift.value is None else figure.lift.value


def _count_pairs(figure: AttackFigure) -> str:
    n_failed = figure.detection.n_unscored - figure.n_undecided
    others = ", ".join(f"+{text}" for text in count_missing(figure.n_undecided, n_failed))
    return f"{figure.detection.n:,}" + (f" ({others})" if others else "")


def score_or_none(score: Score | None, has_interval: bool = True) -> Shown:
    """Return the table cell of a score, or "n/a" for None."""
    return score_cell(score, has_interval) if score else value_cell(NOT_DEFINED, False)


def _csv_row(figure: AttackFigure) -> list[str | float | None]:
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
    for line, trusts in certificate_groups(audit):
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
        lifts = [_lift_bar(target_title(t.target), t.lift) for t in trusts if t.lift]
        lifts.sort(key=lambda bar: -1.0 if bar.value is None else bar.value, reverse=True)
        return AttackGroup(line, "lift", tuple(lifts), (), tuple(figures))
    (trust,) = trusts
    bars = (
        bar_of(title, trust.detection[severity], _share_text)
        for severity, title in SEVERITIES.items()
        if severity in trust.detection
    )
    rated = audit.ratings.get(trust.target, {}) if trust.family == "rubric" else {}
    ratings = (
        bar_of(title, rated[variant], _mean_text)
        for variant, title in RATINGS.items()
        if variant in rated
    )
    return AttackGroup(line, "found", tuple(bars), tuple(ratings), tuple(figures))


def bar_of(title: str, score: Score, text: Callable[[Score], str]) -> ScaleBar:
    """Return a bar that shows where a score is on its scale."""
    value, low, high = (_position(end, score.scale) for end in (score.value, score.low, score.high))
    return ScaleBar(title, text(score), value, low, high)


def _share_text(score: Score) -> str:
    if score.value is None:
        return score_text(score)
    return f"{score.value * score.n:.0f} of {score.n}"


def _mean_text(score: Score) -> str:
    interval = format_interval(score)
    return f"{score_text(score)}{f' ({interval})' if interval != NOT_DEFINED else ''}"


def _lift_bar(title: str, lift: Score) -> ScaleBar:
    """Return a bar for a lift, with 0 in the middle and `LIFT_SHARE` at the ends."""
    end = (lift.scale[1] - lift.scale[0]) / 2 * LIFT_SHARE
    value, low, high = (_position(v, (-end, end)) for v in (lift.value, lift.low, lift.high))
    is_points = end != LIFT_SHARE
    ends = lift.range if lift.is_open else None
    known = ends or (() if lift.value is None else (lift.value,))
    scale = LIKERT if is_points else SHARE_SCALE
    text = " to ".join(dict.fromkeys(signed_text(one, scale) for one in known))
    return ScaleBar(title, f"{text} points" if text else NOT_DEFINED, value, low, high)


def _position(value: float | None, scale: tuple[float, float]) -> float | None:
    if value is None or not is_number(value):
        return None
    low, high = scale
    return round(max(0.0, min(100.0, 100 * (value - low) / (high - low))), 1)
