"""Tables and texts about a run's manifest, model cards and costs."""

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
from ragassay.reports.labels import flatten_text
from ragassay.reports.panel_view import format_usd
from ragassay.reports.sheets import Column, Sheet, Shown, build_number_columns, build_text_columns
from ragassay.reports.text import count_text

UNKNOWN_JUDGE = (
    "The accuracy of this judge on held-out data was not measured. "
    "Check a sample of its scores by hand before you rely on them."
)
NO_FIGURES = "This judge has a model card, but the card has no results on held-out data."

BOUNDS_NOTE = (
    f"A verdict with a confidence below its threshold is {UNDECIDED}, and a finding with a "
    f"confidence below its threshold is not a main finding. Above the threshold, the error rate is "
    f"at most the listed maximum with probability 1 - delta, if the answers resemble the listed "
    f"data."
)


@dataclass(frozen=True, slots=True)
class JudgeView:
    """The card of a model, its role in the run, and a warning if the card lacks results."""

    model: str
    role: str
    card: str
    description: str
    warning: str
    figures: Sheet
    limits: tuple[str, ...]
    bounds: Sheet


def describe_participants(manifest: Manifest, summary: Summary) -> str:
    """Return one line with the number of answers, the number of systems, and the judges."""
    answers = count_text(summary.n_evaluated, "answer")
    if len(summary.systems) > 1:
        answers += f" by {count_text(len(summary.systems), 'system')}"
    judges = [manifest.judge, *(member.judge for member in manifest.panel)]
    if manifest.second:
        judges.append(manifest.second.judge)
    return f"{answers} \u00b7 judge: {', '.join(judges)}"


def view_judges(manifest: Manifest) -> tuple[JudgeView, ...]:
    """Return a card for each model that judged, rated, verified or graded.

    Models without a card get a warning.
    """
    is_tuned = bool(manifest.base)
    role = "Rubrics were rated" if is_tuned else "Judged"
    views = [_view_judge(manifest.judge, role, manifest.card)]
    if is_tuned:
        views.append(
            _view_judge(
                manifest.base, "Everything except the rubrics was judged", manifest.base_card
            )
        )
    if manifest.rater:
        role = "Rubrics were also rated" if is_tuned else "Rubrics were rated"
        views.append(_view_judge(manifest.rater, role, manifest.rater_card))
    views += [
        _view_judge(member.judge, "Rubrics were also rated", member.card)
        for member in manifest.panel
    ]
    if second := manifest.second:
        views.append(_view_judge(second.judge, "Uncertain cases were decided", second.card))
    if manifest.verifier not in ("", manifest.judge):
        views.append(_view_judge(manifest.verifier, "Verified", manifest.verifier_card))
    if manifest.grader:
        views.append(_view_judge(manifest.grader, "Graded", manifest.grader_card))
    return tuple(views)


def _view_judge(model: str, role: str, card: ModelCard | None) -> JudgeView:
    if card is None:
        return JudgeView(
            model, role, "", "", UNKNOWN_JUDGE, build_figures_sheet(()), (), build_bounds_sheet(())
        )
    return JudgeView(
        model=model,
        role=role,
        card="" if card.model == model else card.model,
        description=card.description,
        warning="" if card.figures else NO_FIGURES,
        figures=build_figures_sheet(card.figures),
        limits=card.limits,
        bounds=build_bounds_sheet(card.bounds),
    )


def build_bounds_sheet(bounds: Sequence[Bound]) -> Sheet:
    """Return a table of a model's decision thresholds, with its accuracy above each threshold."""
    titles = (
        *("Verdict", "Use", "Threshold", "Maximum error rate", "Decided", "Correct", "N", "Data"),
    )
    rows = tuple(
        (
            bound.label.replace("_", " "),
            f"{bound.level}, {bound.kind.replace('_', ' ')}" if bound.kind else bound.level,
            _format_threshold(bound),
            f"{format_share(bound.risk)} (delta {bound.delta:.3g})",
            format_share(bound.coverage),
            _correct_text(bound),
            f"{bound.n:,}",
            bound.data or "not stated",
        )
        for bound in bounds
    )
    return Sheet("Thresholds", build_text_columns(*titles), rows)


def _format_threshold(bound: Bound) -> str:
    if bound.threshold is None:
        return "never" if bound.is_tested else "never (too little data)"
    cosine = "" if bound.least_cosine is None else f", cosine at least {bound.least_cosine:.3g}"
    return f"{bound.threshold:.3g}{cosine}"


def _correct_text(bound: Bound) -> str:
    if bound.precision is None:
        return NOT_DEFINED
    if bound.low is None or bound.high is None:
        return format_share(bound.precision)
    return f"{format_share(bound.precision)} ({format_span(bound.low, bound.high, (0, 1))})"


def build_figures_sheet(figures: Sequence[CardFigure], has_commands: bool = True) -> Sheet:
    """Return a table of the results on held-out data in a model card."""
    columns = (
        *(Column("", "Held-out task"), Column("", "Data", is_below=True), Column("", "Metric")),
        *(
            replace(column, is_unbroken=True)
            for column in build_number_columns("Value", "95 % interval", "n")
        ),
        *(Column("", "Command", is_below=True),) * has_commands,
    )
    rows = tuple(
        (
            *(figure.task, figure.data, figure.metric),
            *(Shown(f"{figure.value:.3g}", style="strong"), _format_interval(figure), figure.n),
            *(Shown(figure.command, style="code"),) * has_commands,
        )
        for figure in figures
    )
    return Sheet("Results on held-out data", columns, rows)


def _format_interval(figure: CardFigure) -> str:
    if figure.low is None or figure.high is None:
        return ""
    return f"{figure.low:.3g}{NBSP}to{NBSP}{figure.high:.3g}"


def build_provenance_sheet(manifest: Manifest, usage: Usage) -> Sheet:
    """Return a table of the contents of the manifest and the cost of the run."""
    rows = [
        ("ragassay", Shown(manifest.ragassay)),
        ("Judge", Shown(manifest.judge)),
        ("Judge, SHA-256", _style_code(manifest.judge_digest)),
        *[("Judge of everything except rubrics", Shown(manifest.base))] * bool(manifest.base),
        *(("Additional rubric judge", Shown(member.judge)) for member in manifest.panel),
        *([("Second judge", Shown(manifest.second.judge))] if manifest.second else []),
        ("Judge's model card, digest", _style_code(manifest.card.digest if manifest.card else "")),
        *[
            ("Rubric rater", Shown(manifest.rater)),
            ("Rater, SHA-256", _style_code(manifest.rater_digest)),
        ]
        * bool(manifest.rater),
        ("Verifier", Shown(manifest.verifier)),
        ("Verifier, SHA-256", _style_code(manifest.verifier_digest)),
        ("Correctness", Shown(manifest.correctness)),
        ("Embedder", Shown(manifest.embedder)),
        ("Embedder, SHA-256", _style_code(manifest.embedder_digest)),
        ("Prompts, SHA-256", _style_code(manifest.prompts_sha256)),
        *(
            ("Compiled prompt", Shown(_describe_prompt(fingerprint)))
            for fingerprint in manifest.prompts
        ),
        *(
            (f"Custom evaluator {name}, SHA-256", _style_code(digest))
            for name, digest in manifest.own.items()
        ),
        *[("Answered by", _style_code("\n".join(manifest.answered_by)))]
        * bool(manifest.answered_by),
        *_describe_file("Answers", manifest.answers),
        *_describe_file("Corpus", manifest.corpus),
        ("Settings", _style_code(_format_pairs(manifest.settings))),
        ("Packages", _style_code(_format_pairs(manifest.packages))),
        ("Cost", Shown(describe_usage(usage))),
    ]
    recorded = ((name, value if value.text else Shown("not recorded")) for name, value in rows)
    return Sheet(
        "Models and settings of this run", build_text_columns("Setting", "Value"), tuple(recorded)
    )


def _style_code(value: str) -> Shown:
    return Shown(value, style="code")


def _describe_prompt(fingerprint: PromptFingerprint) -> str:
    rubrics = f" ({', '.join(fingerprint.rubrics)})" if fingerprint.rubrics else ""
    optimizer = f"optimized by {fingerprint.optimizer} for {fingerprint.model}"
    text = f"{fingerprint.agent}{rubrics}: {optimizer}"
    if fingerprint.before is not None and fingerprint.after is not None:
        figures = (
            UNSCORED if score.value is None else f"{score.value:.3f}"
            for score in (fingerprint.before, fingerprint.after)
        )
        text += f", {fingerprint.metric} {' -> '.join(figures)} on {fingerprint.after.n} items"
    if not fingerprint.is_better:
        text += ", no better than the default prompt, but written with --keep-anyway"
    return f"{text} (SHA-256 {fingerprint.sha256[:12]})"


def _describe_file(name: str, fingerprint: FileFingerprint | None) -> tuple[tuple[str, Shown], ...]:
    if fingerprint is None:
        return ((name, Shown("none")),)
    form = f", {fingerprint.format}" if fingerprint.format else ""
    text = f"{fingerprint.name} ({count_text(fingerprint.n_items, 'item')}{form})"
    return ((name, Shown(text)), (f"{name}, SHA-256", _style_code(fingerprint.sha256)))


def _format_pairs(values: Mapping[str, str | int | float | bool | None]) -> str:
    return "\n".join(f"{name} = {value}" for name, value in sorted(values.items()))


def describe_usage(usage: Usage) -> str:
    """Return the number of calls and tokens and the price, which may be unknown."""
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
    """Estimated cost of a run in USD; see `ragassay.runs.preflight.Estimate`."""

    @property
    def usd(self) -> float | None:
        """Cost without a prompt cache."""
        ...

    @property
    def cached_usd(self) -> float | None:
        """Cost with the provider's prompt cache."""
        ...

    @property
    def batch_usd(self) -> float | None:
        """Cost with the provider's batch API."""
        ...


def estimate_text(cost: Estimated) -> str:
    """Return the maximum cost of a run on one line, or "" if the run is free."""
    if cost.usd == 0:
        return ""
    if cost.usd is None:
        return "the cost is unknown because LiteLLM does not know the price of the model"
    parts = [f"at most {format_usd(cost.usd)}, if every reply has the maximum length"]
    if cost.cached_usd is not None and cost.cached_usd < cost.usd:
        parts.append(f"{format_usd(cost.cached_usd)} with the provider's prompt cache")
    if cost.batch_usd is not None:
        parts.append(f"{format_usd(cost.batch_usd)} at the batch price")
    return "; ".join(parts)


def describe_application(use: ApplicationUse) -> str:
    """Return the latency, tokens and cost of an application on one line.

    Example:
        >>> describe_application(ApplicationUse(name="a:b", n_asked=3, n_failed=1,
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
    return flatten_text("; ".join(parts) + ".")
