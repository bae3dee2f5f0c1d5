"""An audit as a page, Markdown, CSV and tables for the terminal."""

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
    "off_topic": "Sentence on another subject at the end",
    "off_topic_inside": "Sentence on another subject inside",
    "same_domain": "Sentence of another answer at the end",
    "same_domain_inside": "Sentence of another answer inside",
    "blog": "Blog snippet at the end",
    "blog_inside": "Blog snippet inside",
    "tweet": "Tweet at the end",
    "tweet_inside": "Tweet inside",
    "drop_last": "Last sentence left out",
    "drop_inside": "Sentence inside left out",
    "drop_last_off_topic": "Last sentence replaced by another subject",
    "swap_last": "Last two sentences swapped",
    "shuffle": "Sentences shuffled",
    "first_connective": "First connective left out",
    "all_connectives": "All connectives left out",
    "repeat_last": "Last sentence said again",
    "repeat_inside": "Sentence inside said again",
    "repeat_all": "Every sentence said again",
    "number": "Dose or number changed",
    "negation": "Negation turned round",
    "comparator": "Direction turned round (higher, lower)",
    "population": "Other people or animals named",
    "drug": "Other drug named",
    "hedge": "Hedging left out",
    "citation": "Citation moved to another source",
    "retracted": "Retracted article cited",
    "instruction": "Instructions to the judge",
    "forged_rating": "Forged rating",
    "forged_end": "Forged end of the answer",
    "experts_said": "Claim that experts rated it highest",
    "flattery": "Flattery of the judge",
    "given": "Damage that the file holds",
    "wrong_number": "Wrong number",
    "points_to_paper": "Question that points to its paper",
    "half_answer": "Half of the answer left out",
    "foreign_question": "Question on another subject",
    "contradiction": "Answer that contradicts itself",
}


def attack_title(attack: str) -> str:
    """Return an attack's title; for an unknown one, its name as words."""
    return ATTACK_TITLES.get(attack) or humanise(attack)


AUDIT_PAGE, STYLE = "audit.html.j2", "audit_style.html.j2"
DESIRED = (
    "Desired are at most 3 for subtle and at most 1 for extreme damage (YESciEval, section 5)."
)
MEASURES_NOTE = (
    "Found: share of pairs in which the perturbed answer has the lower score; a tie is not found. "
    "AUROC: how well the score alone separates perturbed from unperturbed answers. Lift: mean of "
    "perturbed minus mean of unperturbed answers. Too high: mean excess over the desired rating. "
    "95 % intervals resample questions."
)
VARIANTS: tuple[Variant, ...] = ("benign", "subtle", "extreme")
MEASURES = ("benign", "perturbed", "detection", "auroc", "lift", "optimism_error")


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
    """Render an audit as Markdown with a final newline; the same bytes for the same audit."""
    blocks = [
        "# ragassay audit\n",
        certificate_block(view_certificate(audit)),
        *(_section(sheet) for sheet in (ratings_sheet(audit),) if sheet.rows),
        _section(attack_sheet(audit.figures)),
    ]
    if unchanged := unchanged_lines(audit):
        blocks += ["Left unchanged, and not counted:\n", *(f"- {escape(x)}" for x in unchanged), ""]
    blocks.append(f"Cost: {usage_text(audit.usage)}.")
    return "\n".join(blocks).rstrip("\n") + "\n"


def _section(sheet: Sheet) -> str:
    return f"## {sheet.title}\n\n{sheet_markdown(sheet)}\n{sheet.caption}\n"


def figures_csv(audit: Audit) -> str:
    """Return all figures, one row per attack and score."""
    columns = ["attack", "family", "severity", "target", "n", "n_unscored", "n_undecided"]
    columns += [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")]
    return csv_text((*columns, "judge"), [(*_csv_row(f), audit.judge) for f in audit.figures])


def certificate_sheet(audit: Audit) -> Sheet:
    """Return the certificate as a table."""
    return view_certificate(audit).sheet


def ratings_sheet(audit: Audit, has_intervals: bool = True) -> Sheet:
    """Return mean ratings by rubric and damage, as in YESciEval's tables."""
    rows = tuple(
        (target_title(target), *(score_or_none(scores.get(v), has_intervals) for v in VARIANTS))
        for target, scores in audit.ratings.items()
        if target.startswith("rubric.")
    )
    columns = (*words("Rubric"), *numbers("Unperturbed", "Subtle", "Extreme"))
    return Sheet("Mean rating, unperturbed and perturbed", columns, rows, DESIRED)


def attack_sheet(figures: Sequence[AttackFigure], has_targets: bool = True) -> Sheet:
    """Return every attack; without the score that it is about where that is always the same."""
    columns = (
        *words("Attack", *("Score",) * has_targets),
        *numbers("Unperturbed", "Perturbed", "Found", "AUROC", "Lift", "Too high", "Pairs"),
    )
    rows = tuple(
        (
            Shown(attack_title(f.attack), notes=(f.severity,)),
            *(target_title(f.target),) * has_targets,
            *(score_or_none(getattr(f, name)) for name in MEASURES),
            _pairs(f),
        )
        for f in figures
    )
    return Sheet("Every attack", columns, rows, MEASURES_NOTE)


def short_attack_sheet(audit: Audit) -> Sheet:
    """Return what of every attack fits a terminal; of an injection, the score it raises most."""
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
            _pairs(f),
        )
        for f in _most_lifted(audit.figures)
    )
    return Sheet("Every attack", columns, rows)


def _most_lifted(figures: Sequence[AttackFigure]) -> list[AttackFigure]:
    """Return all figures, but for each injection only that of the score with the largest lift."""
    worst: dict[str, AttackFigure] = {}
    for figure in figures:
        if figure.family == "injection":
            worst[figure.attack] = max(worst.get(figure.attack, figure), figure, key=_lift)
    return [f for f in figures if f.family != "injection" or f is worst[f.attack]]


def unchanged_lines(audit: Audit) -> tuple[str, ...]:
    """Return the number of answers that each attack left unchanged."""
    return tuple(f"{attack_title(name)}: {n:,}" for name, n in audit.n_unchanged.items() if n)


def _attack_text(figure: AttackFigure) -> str:
    return f"{attack_title(figure.attack)} ({figure.severity}), {target_title(figure.target)}"


def _lift(figure: AttackFigure) -> float:
    return -math.inf if figure.lift.value is None else figure.lift.value


def _pairs(figure: AttackFigure) -> str:
    n_failed = figure.detection.n_unscored - figure.n_undecided
    others = ", ".join(f"+{text}" for text in count_missing(figure.n_undecided, n_failed))
    return f"{figure.detection.n:,}" + (f" ({others})" if others else "")


def score_or_none(score: Score | None, has_interval: bool = True) -> Shown:
    """Return the cell of a score; of one that an attack does not have, "n/a"."""
    return score_cell(score, has_interval) if score else value_cell(NOT_DEFINED, False)


def _csv_row(figure: AttackFigure) -> list[str | float | None]:
    row: list[str | float | None] = [figure.attack, figure.family, figure.severity, figure.target]
    row += [figure.detection.n, figure.detection.n_unscored, figure.n_undecided]
    for score in (getattr(figure, name) for name in MEASURES):
        row += [score.value, score.low, score.high] if score else [None, None, None]
    return row


CHANCE_PLACE = CHANCE * 100
LIFT_SHARE = 0.25
"""Share of a score's scale at which the axis of lifts ends: one point of a rating from 1 to 5."""

SEVERITIES = {"extreme": "extreme damage", "subtle": "subtle damage"}
RATINGS = {"benign": "whole", "subtle": "subtly perturbed", "extreme": "extremely perturbed"}
UNLISTED = TrustLine("Other scores", "not certified", "?", "unscored", "")


@dataclass(frozen=True, slots=True)
class ScaleBar:
    """A value on a scale of 0 to 100; places are None where undefined."""

    title: str
    text: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class AttackGroup:
    """A line of the certificate and what is behind it.

    Attributes:
        kind: What the bars show: shares "found", or the "lift" by injected text.
        bars: Shares found of each severity, the plainest first; or lifts, the largest first.
        ratings: Mean ratings of unperturbed and perturbed answers on their scale.
        figures: Every attack on the target.
    """

    line: TrustLine
    kind: str
    bars: tuple[ScaleBar, ...]
    ratings: tuple[ScaleBar, ...]
    figures: tuple[AttackFigure, ...]


def view_groups(audit: Audit) -> tuple[tuple[str, tuple[AttackGroup, ...]], ...]:
    """Return the groups under their headings, the worst verdict first."""
    rubrics, others = [], []
    listed: set[int] = set()
    for line, trusts in certificate_groups(audit):
        found = [f for t in trusts for f in audit.figures if (f.family, f.target) == _key(t)]
        listed |= {id(figure) for figure in found}
        group = _group(audit, line, trusts, found)
        (rubrics if trusts[0].family in ("rubric", "pair") else others).append(group)
    left = [figure for figure in audit.figures if id(figure) not in listed]
    if left:
        others.append(AttackGroup(UNLISTED, "found", (), (), tuple(left)))
    sections = (
        ("Audit of this judge", rubrics),
        ("Changed facts, and text that talks to the judge", others),
    )
    return tuple((title, tuple(sorted(found, key=_badness))) for title, found in sections if found)


def _key(trust: TargetTrust) -> tuple[str, str]:
    return trust.family, trust.target


def _badness(group: AttackGroup) -> int:
    words = [WORDS[trust][0] for trust in WORST_FIRST]
    return words.index(group.line.word) if group.line.word in words else len(words)


def _group(
    audit: Audit, line: TrustLine, trusts: Sequence[TargetTrust], found: Sequence[AttackFigure]
) -> AttackGroup:
    if trusts[0].family == "injection":
        lifts = [_lift_bar(target_title(t.target), t.lift) for t in trusts if t.lift]
        lifts.sort(key=lambda bar: -1.0 if bar.value is None else bar.value, reverse=True)
        return AttackGroup(line, "lift", tuple(lifts), (), tuple(found))
    (trust,) = trusts
    bars = (
        bar_of(words, trust.detection[severity], _share_text)
        for severity, words in SEVERITIES.items()
        if severity in trust.detection
    )
    rated = audit.ratings.get(trust.target, {}) if trust.family == "rubric" else {}
    ratings = (
        bar_of(words, rated[variant], _mean_text)
        for variant, words in RATINGS.items()
        if variant in rated
    )
    return AttackGroup(line, "found", tuple(bars), tuple(ratings), tuple(found))


def bar_of(title: str, score: Score, text: Callable[[Score], str]) -> ScaleBar:
    """Return a score as a bar on its scale."""
    value, low, high = (_place(end, score.scale) for end in (score.value, score.low, score.high))
    return ScaleBar(title, text(score), value, low, high)


def _share_text(score: Score) -> str:
    if score.value is None:
        return score_text(score)
    return f"{score.value * score.n:.0f} of {score.n}"


def _mean_text(score: Score) -> str:
    interval = format_interval(score)
    return f"{score_text(score)}{f' ({interval})' if interval != NOT_DEFINED else ''}"


def _lift_bar(title: str, lift: Score) -> ScaleBar:
    """Return a lift as a bar: the middle is none, its ends are `LIFT_SHARE`."""
    end = (lift.scale[1] - lift.scale[0]) / 2 * LIFT_SHARE
    value, low, high = (_place(v, (-end, end)) for v in (lift.value, lift.low, lift.high))
    is_points = end != LIFT_SHARE
    ends = lift.range if lift.is_open else None
    known = ends or (() if lift.value is None else (lift.value,))
    scale = LIKERT if is_points else SHARE_SCALE
    text = " to ".join(dict.fromkeys(signed_text(one, scale) for one in known))
    return ScaleBar(title, f"{text} points" if text else NOT_DEFINED, value, low, high)


def _place(value: float | None, scale: tuple[float, float]) -> float | None:
    if value is None or not is_number(value):
        return None
    low, high = scale
    return round(max(0.0, min(100.0, 100 * (value - low) / (high - low))), 1)
