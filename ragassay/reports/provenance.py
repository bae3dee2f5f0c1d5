"""A run's manifest, the cards of its models, and what the run and an application cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ragassay.records import (
    ApplicationUse,
    Bound,
    CardFigure,
    FileFingerprint,
    Manifest,
    ModelCard,
    Summary,
    Usage,
)
from ragassay.records.run import PromptFingerprint
from ragassay.reports.display import (
    NBSP,
    NOT_DEFINED,
    UNDECIDED,
    UNSCORED,
    format_share,
    format_span,
)
from ragassay.reports.labels import one_line
from ragassay.reports.panel_view import usd_text
from ragassay.reports.sheets import Column, Sheet, Shown, numbers, words
from ragassay.reports.text import count_text

UNKNOWN_JUDGE = (
    "Nobody has measured this judge on data that it had not seen. "
    "Check a sample of its scores by hand before you rely on them."
)
NO_FIGURES = "This judge has a card, but was not measured on data that it had not seen."

BOUNDS_NOTE = (
    f"Bounds: below its bound, a verdict is {UNDECIDED} and a finding only worth a look. Of those "
    "above it, at most the named share is wrong, with probability 1 - delta over such data."
)


@dataclass(frozen=True, slots=True)
class JudgeView:
    """A model's card; `role` is its part in the run, `notice` says what is missing."""

    model: str
    role: str
    card: str
    description: str
    warning: str
    figures: Sheet
    limits: tuple[str, ...]
    bounds: Sheet


def who_text(manifest: Manifest, summary: Summary) -> str:
    """Return how many answers, by how many systems, and who judged, on one line."""
    answers = count_text(summary.n_evaluated, "answer")
    if len(summary.systems) > 1:
        answers += f" by {count_text(len(summary.systems), 'system')}"
    judges = [manifest.judge, *(member.judge for member in manifest.panel)]
    if manifest.second:
        judges.append(manifest.second.judge)
    return f"{answers} \u00b7 judge: {', '.join(judges)}"


def view_judges(manifest: Manifest) -> tuple[JudgeView, ...]:
    """Return the cards of judge, rater, panel and verifier, or a notice for each without one."""
    is_tuned = bool(manifest.base)
    own = "Rubrics were rated" if is_tuned else "Judged"
    views = [_judge(manifest.judge, own, manifest.card)]
    if is_tuned:
        views.append(
            _judge(manifest.base, "Everything but the rubrics was judged", manifest.base_card)
        )
    if manifest.rater:
        role = "Rubrics were also rated" if is_tuned else "Rubrics were rated"
        views.append(_judge(manifest.rater, role, manifest.rater_card))
    views += [
        _judge(member.judge, "Rubrics were also rated", member.card) for member in manifest.panel
    ]
    if manifest.second:
        second = manifest.second
        views.append(_judge(second.judge, "Unsure cases were decided", second.card))
    if manifest.verifier not in ("", manifest.judge):
        views.append(_judge(manifest.verifier, "Verified", manifest.verifier_card))
    if manifest.grader:
        views.append(_judge(manifest.grader, "Graded", manifest.grader_card))
    return tuple(views)


def _judge(model: str, role: str, card: ModelCard | None) -> JudgeView:
    if card is None:
        none = figures_sheet(()), (), bounds_sheet(())
        return JudgeView(model, role, "", "", UNKNOWN_JUDGE, *none)
    return JudgeView(
        model=model,
        role=role,
        card="" if card.model == model else card.model,
        description=card.description,
        warning="" if card.figures else NO_FIGURES,
        figures=figures_sheet(card.figures),
        limits=card.limits,
        bounds=bounds_sheet(card.bounds),
    )


def bounds_sheet(bounds: Sequence[Bound]) -> Sheet:
    """Return how sure a model has to be of each verdict, and how often it then is right."""
    titles = ("Verdict", "Admits", "From", "Wrong at most", "Decides", "Right", "N", "Data")
    rows = tuple(
        (
            bound.label.replace("_", " "),
            f"{bound.level}, {bound.kind.replace('_', ' ')}" if bound.kind else bound.level,
            _least_text(bound),
            f"{format_share(bound.risk)} (delta {bound.delta:.3g})",
            format_share(bound.coverage),
            _right_text(bound),
            f"{bound.n:,}",
            bound.data or "not named",
        )
        for bound in bounds
    )
    return Sheet("Bounds", words(*titles), rows)


def _least_text(bound: Bound) -> str:
    if bound.threshold is None:
        return "never" if bound.is_tested else "never: too few data"
    cosine = "" if bound.least_cosine is None else f", cosine from {bound.least_cosine:.3g}"
    return f"{bound.threshold:.3g}{cosine}"


def _right_text(bound: Bound) -> str:
    if bound.precision is None:
        return NOT_DEFINED
    if bound.low is None or bound.high is None:
        return format_share(bound.precision)
    return f"{format_share(bound.precision)} ({format_span(bound.low, bound.high, (0, 1))})"


def figures_sheet(figures: Sequence[CardFigure], has_commands: bool = True) -> Sheet:
    """Return the figures of a model's card."""
    columns = (
        *(Column("", "Held-out task"), Column("", "Data", is_below=True), Column("", "Metric")),
        *(replace(one, is_unbroken=True) for one in numbers("Value", "95 % interval", "n")),
        *(Column("", "Command", is_below=True),) * has_commands,
    )
    rows = tuple(
        (
            *(one.task, one.data, one.metric, Shown(f"{one.value:.3g}", style="strong")),
            *(_ends_text(one), one.n),
            *(Shown(one.command, style="code"),) * has_commands,
        )
        for one in figures
    )
    return Sheet("Figures on data that it was not tuned on", columns, rows)


def _ends_text(figure: CardFigure) -> str:
    ends = (figure.low, figure.high)
    return "" if None in ends else f"{figure.low:.3g}{NBSP}to{NBSP}{figure.high:.3g}"


def provenance_sheet(manifest: Manifest, usage: Usage) -> Sheet:
    """Return everything in the manifest, and the run's cost."""
    card = manifest.card.digest if manifest.card else ""
    rows = [
        ("ragassay", Shown(manifest.ragassay)),
        ("Judge", Shown(manifest.judge)),
        ("Judge, SHA-256", _code(manifest.judge_digest)),
        *[("Judge of all but the rubrics", Shown(manifest.base))] * bool(manifest.base),
        *(("Further judge of the rubrics", Shown(member.judge)) for member in manifest.panel),
        *(("Second judge", Shown(one.judge)) for one in [manifest.second] if one),
        ("Judge's card, digest", _code(card)),
        *[
            ("Rater of the rubrics", Shown(manifest.rater)),
            ("Rater, SHA-256", _code(manifest.rater_digest)),
        ]
        * bool(manifest.rater),
        ("Verifier", Shown(manifest.verifier)),
        ("Verifier, SHA-256", _code(manifest.verifier_digest)),
        ("Correctness", Shown(manifest.correctness)),
        ("Embedder", Shown(manifest.embedder)),
        ("Embedder, SHA-256", _code(manifest.embedder_digest)),
        ("Prompts, SHA-256", _code(manifest.prompts_sha256)),
        *(
            ("Compiled prompt", Shown(_prompt_text(fingerprint)))
            for fingerprint in manifest.prompts
        ),
        *((f"Your own: {name}, SHA-256", _code(digest)) for name, digest in manifest.own.items()),
        *[("Answered by", _code("\n".join(manifest.answered_by)))] * bool(manifest.answered_by),
        *_file("Answers", manifest.answers),
        *_file("Corpus", manifest.corpus),
        ("Settings", _code(_pairs(manifest.settings))),
        ("Packages", _code(_pairs(manifest.packages))),
        ("Cost", Shown(usage_text(usage))),
    ]
    recorded = ((name, value if value.text else Shown("not recorded")) for name, value in rows)
    return Sheet("Models and settings of this run", words("Setting", "Value"), tuple(recorded))


def _code(value: str) -> Shown:
    return Shown(value, style="code")


def _prompt_text(fingerprint: PromptFingerprint) -> str:
    """Return a compiled prompt's agent, and its figures on held-out data."""
    about = (
        f"{fingerprint.agent} ({', '.join(fingerprint.rubrics)})"
        if fingerprint.rubrics
        else fingerprint.agent
    )
    text = f"{about}: found by {fingerprint.optimizer} for {fingerprint.model}"
    if fingerprint.before is not None and fingerprint.after is not None:
        figures = (
            UNSCORED if score.value is None else f"{score.value:.3f}"
            for score in (fingerprint.before, fingerprint.after)
        )
        text += f", {fingerprint.metric} {' -> '.join(figures)} on {fingerprint.after.n} items"
    if not fingerprint.is_better:
        text += "; not better than the shipped prompt, but used because it was forced"
    return f"{text} (SHA-256 {fingerprint.sha256[:12]})"


def _file(name: str, fingerprint: FileFingerprint | None) -> tuple[tuple[str, Shown], ...]:
    if fingerprint is None:
        return ((name, Shown("none")),)
    form = f", {fingerprint.format}" if fingerprint.format else ""
    text = f"{fingerprint.name} ({count_text(fingerprint.n_items, 'item')}{form})"
    return ((name, Shown(text)), (f"{name}, SHA-256", _code(fingerprint.sha256)))


def _pairs(values: Mapping[str, str | int | float | bool | None]) -> str:
    return "\n".join(f"{name} = {value}" for name, value in sorted(values.items()))


def usage_text(usage: Usage) -> str:
    """Return calls, tokens and price in words; an unknown price is called unknown."""
    price = "price unknown" if usage.cost_usd is None else f"{usage.cost_usd:.2f} USD"
    if usage.cost_usd is not None and 0 < usage.cost_usd < 0.005:
        price = "less than 0.01 USD"
    cached = f" ({usage.n_cached_tokens:,} from a cache)" if usage.n_cached_tokens else ""
    return (
        f"{count_text(usage.n_calls, 'model call')}, "
        f"{usage.n_prompt_tokens:,} tokens sent{cached}, "
        f"{usage.n_completion_tokens:,} received, {price}"
    )


class Estimated(Protocol):
    """An estimate of a run's cost in USD; see `ragassay.runs.preflight.Estimate`."""

    @property
    def usd(self) -> float | None:
        """Without a cache."""
        ...

    @property
    def cached_usd(self) -> float | None:
        """With the provider's cache."""
        ...

    @property
    def batch_usd(self) -> float | None:
        """Through the provider's batch interface."""
        ...


def estimate_text(cost: Estimated) -> str:
    """Return the most that a run costs, in one line; empty where it costs nothing."""
    if cost.usd == 0:
        return ""
    if cost.usd is None:
        return "the cost is unknown: LiteLLM's price list does not have the model"
    parts = [f"at most {usd_text(cost.usd)}, if every reply has its full length"]
    if cost.cached_usd is not None and cost.cached_usd < cost.usd:
        parts.append(f"{usd_text(cost.cached_usd)} with the provider's cache of prompts")
    if cost.batch_usd is not None:
        parts.append(f"{usd_text(cost.batch_usd)} at its batch price")
    return "; ".join(parts)


def application_text(use: ApplicationUse) -> str:
    """Return latency, tokens and cost of an application as one line.

    Example:
        >>> application_text(ApplicationUse(name="a:b", n_asked=3, n_failed=1,
        ...     latency_p50_s=1.23, latency_p95_s=4.0, n_priced=2, cost_usd=0.03))
        'a:b answered 2 of 3 questions; half within 1.23 s, 95 % within 4.00 s; $0.0300.'
    """
    n_answered = use.n_asked - use.n_failed
    parts = [f"{use.name} answered {n_answered:,} of {count_text(use.n_asked, 'question')}"]
    if use.latency_p50_s is not None and use.latency_p95_s is not None:
        parts.append(
            f"half within {use.latency_p50_s:.2f} s, 95 % within {use.latency_p95_s:.2f} s"
        )
    n_tokens = use.n_prompt_tokens + use.n_completion_tokens
    if n_tokens:
        parts.append(f"{n_tokens:,} tokens")
    if use.cost_usd is not None:
        of = "" if use.n_priced == n_answered else f" for {use.n_priced:,} of them"
        parts.append(f"${use.cost_usd:.4f}{of}")
    return one_line("; ".join(parts) + ".")
