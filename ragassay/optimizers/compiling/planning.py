"""Validate the agent, optimizer and budget of a job, and estimate its calls and cost."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from ragassay.errors import InputError
from ragassay.model_names import PROVIDER, is_local
from ragassay.models.litellm_library import compute_price_usd
from ragassay.models.prompt_caching import CHARS_PER_TOKEN
from ragassay.optimizers.compiling.items import CompileItem
from ragassay.reports.panel_view import format_usd
from ragassay.settings import Settings

if TYPE_CHECKING:
    from ragassay.agents.base import Agent

N_RENDERED = 20
"""Number of items that are rendered to estimate the prompt length."""

N_SHOWN = 3
"""Maximum number of examples in a prompt, and of cases in a request for a new instruction."""

AGENTS = (
    "rubric_judge",
    "verifier",
    "sentence_labeller",
    "nugget_assigner",
    "nugget_writer",
    "query_writer",
)

_WRITES = "the agent writes free text, and no data format has expected replies"
_MEASURED = "there is no format for its training data; use `ragassay meta-evaluate` to measure it"
_UNLABELLED = "no data format has expected replies"
_TUNED = "a fine-tuned model depends on its training prompt"

_AGENTS_BY_REASON: Mapping[str, tuple[str, ...]] = {
    _WRITES: (
        *("answer_nuggetizer", "exam_writer", "fact_lister", "nugget_creator", "paraphraser"),
        *("qa_mender", "qa_writer", "self_questioner", "synthesizer"),
    ),
    _MEASURED: (
        *("answer_checker", "answer_extractor", "nugget_extractor", "nugget_rater"),
        *("question_rater", "racar_accuracy", "racar_agnosticism", "racar_completeness"),
        *("racar_reasonableness", "racar_relevance", "relevance_grader"),
    ),
    _UNLABELLED: (
        *("importance_scorer", "intent_comparer", "rationale_auditor", "sufficiency_judge"),
    ),
    _TUNED: ("answer_reader", "tuned_judge", "tuned_verifier"),
    "the user provides its prompt": ("asker",),
    "the agent calls tools, and no data format has expected searches": ("evidence_searcher",),
    "use the agent verifier with --labels 2": ("verifier_binary",),
    "use the agent verifier with --labels 3": ("verifier_ternary",),
}
UNCOMPILED = {name: reason for reason, names in _AGENTS_BY_REASON.items() for name in names}
"""Reason why an agent cannot be optimized, keyed by prompt key."""


def check_agent(name: str) -> None:
    """Raise `InputError` if an agent is unknown or cannot be optimized."""
    if name in AGENTS:
        return
    known = f"choose from {', '.join(AGENTS)}"
    if name in UNCOMPILED:
        raise InputError(f"{name} cannot be optimized: {UNCOMPILED[name]}; {known}")
    raise InputError(f"unknown agent {name!r}; {known}")


OptimizerName = Literal["bootstrap", "miprov2", "gepa", "copro"]
OPTIMIZERS: tuple[OptimizerName, ...] = get_args(OptimizerName)

ROUNDS: Mapping[str, int] = {"light": 6, "medium": 15, "heavy": 40}
"""Number of times that all comparison items are evaluated, keyed by the name of the budget."""

DEPTH = 2
"""Number of rounds in which COPRO proposes instructions."""

REFLECTED = 3
"""Number of cases that GEPA shows when it requests a new instruction."""

N_FIXED = 3
"""Number of fixed candidates in bootstrap: prompts with no, labelled and unshuffled examples."""

FEWEST_ROUNDS = 2


def check_optimizer(name: str) -> None:
    """Raise `InputError` if an optimizer is unknown."""
    if name not in OPTIMIZERS:
        raise InputError(f"unknown optimizer {name!r}; choose from {', '.join(OPTIMIZERS)}")


def count_budget_calls(budget: str, n_tried: int) -> int:
    """Return the number of agent calls allowed by a budget.

    Raises:
        InputError: The budget is invalid.

    Example:
        >>> count_budget_calls("light", 10), count_budget_calls("77", 10)
        (60, 77)
    """
    if budget in ROUNDS:
        return ROUNDS[budget] * n_tried
    if budget.isdecimal() and int(budget) > 0:
        return int(budget)
    raise InputError(f"--budget must be {', '.join(ROUNDS)} or a positive number, got {budget}")


@dataclass(frozen=True)
class Sizes:
    """Sizes that determine how many candidates a search compares.

    Attributes:
        n_taught: Number of items from which few-shot examples and wrong replies are taken.
        n_tried: Number of items on which candidates are compared.
        n_budget: Approximate maximum number of agent calls.
    """

    n_taught: int
    n_tried: int
    n_budget: int

    @property
    def n_rounds(self) -> int:
        """Number of times that the budget allows evaluating all comparison items, at least two."""
        return max(FEWEST_ROUNDS, self.n_budget // max(1, self.n_tried))

    @property
    def n_shuffled(self) -> int:
        """Number of random sets of few-shot examples that bootstrap tries."""
        return max(0, self.n_rounds - N_FIXED)

    @property
    def n_trials(self) -> int:
        """Number of combinations that MIPROv2 tries in addition to the shipped prompt."""
        return self.n_rounds - 1

    @property
    def n_candidates(self) -> int:
        """Number of instructions, and of sets of few-shot examples, that MIPROv2 combines."""
        return max(3, self.n_trials // 2)

    @property
    def n_reflected(self) -> int:
        """Number of items that GEPA evaluates in one step."""
        return min(REFLECTED, self.n_taught)

    @property
    def n_gepa_calls(self) -> int:
        """Number of calls after which GEPA starts no new step, but at least enough for one step."""
        return max(self.n_budget, self.n_tried + 2 * self.n_reflected)

    @property
    def breadth(self) -> int:
        """Number of instructions that COPRO proposes per round."""
        return max(2, self.n_rounds // DEPTH)


@dataclass(frozen=True)
class CallPlan:
    """Maximum number of calls of a job, in which identical requests are made only once.

    Attributes:
        n_measured: Agent calls for measuring the shipped and the compiled prompt.
        n_searched: Agent calls for comparing candidate prompts.
        n_written: Calls for writing candidate instructions.
    """

    n_measured: int
    n_searched: int
    n_written: int

    @property
    def n_calls(self) -> int:
        """Total number of calls."""
        return self.n_measured + self.n_searched + self.n_written


def plan_calls(optimizer: OptimizerName, sizes: Sizes, n_dev: int) -> CallPlan:
    """Return the maximum number of calls of a job.

    Example:
        >>> plan_calls("copro", Sizes(n_taught=50, n_tried=50, n_budget=300), n_dev=100)
        CallPlan(n_measured=200, n_searched=300, n_written=5)
    """
    taught, tried = sizes.n_taught, sizes.n_tried
    shuffled, candidates = sizes.n_shuffled, sizes.n_candidates
    n_searched, n_written = {
        # Each demonstration set is bootstrapped on the taught items, then compared.
        "bootstrap": ((N_FIXED + shuffled) * tried + (1 + shuffled) * taught, 0),
        # The first two demonstration sets (none and labelled) need no calls.
        "miprov2": (sizes.n_rounds * tried + (candidates - 2) * taught, candidates),
        # Each step runs the old and the new instruction on a few items, then the new one on all
        # items. The last step can start when the limit is almost reached.
        "gepa": (
            sizes.n_gepa_calls + 2 * sizes.n_reflected + tried,
            1 + max(0, sizes.n_gepa_calls - tried) // (2 * sizes.n_reflected),
        ),
        "copro": (DEPTH * sizes.breadth * tried, DEPTH * sizes.breadth - 1),
    }[optimizer]
    return CallPlan(2 * n_dev, n_searched, n_written)


@dataclass(frozen=True)
class JobPlan:
    """Estimated number of calls and cost of a job.

    Attributes:
        writer: Model that writes candidate instructions.
        usd: Maximum cost, assuming that every reply has the maximum length. The cost is 0 for local
            models, and None if a price is unknown.
    """

    calls: CallPlan
    model: str
    writer: str
    usd: float | None

    @property
    def text(self) -> str:
        """Description of the plan in one line."""
        calls = self.calls
        n_agent = calls.n_measured + calls.n_searched
        parts = [f"at most {n_agent:,} calls to {self.model} ({calls.n_measured:,} to measure)"]
        if calls.n_written:
            parts.append(f"{calls.n_written:,} calls to {self.writer} to write instructions")
        if self.usd is None:
            parts.append("the price is unknown")
        elif self.usd:
            parts.append(f"at most {format_usd(self.usd)}")
        return "; ".join(parts)


def plan_job(
    optimizer: OptimizerName,
    sizes: Sizes,
    agent: Agent,
    dev: Sequence[CompileItem],
    model: Settings,
    writer: Settings,
) -> JobPlan:
    """Estimate the number of calls and the cost of a job. `dev` must not be empty."""
    calls = plan_calls(optimizer, sizes, len(dev))
    n_sent = _estimate_prompt_tokens(agent, dev[:N_RENDERED])
    shows_examples = optimizer in ("bootstrap", "miprov2")
    n_agent = calls.n_measured + calls.n_searched
    prices = [
        compute_price_usd(
            model.judge.model,
            n_agent * n_sent * (1 + N_SHOWN * shows_examples),
            n_agent * model.prompting.max_reply_tokens,
        )
    ]
    if calls.n_written:
        n_read = calls.n_written * n_sent * N_SHOWN
        n_replied = calls.n_written * writer.prompting.max_reply_tokens
        prices.append(compute_price_usd(writer.judge.model, n_read, n_replied))
    known = [price for price in prices if price is not None]
    usd = sum(known) if len(known) == len(prices) else None
    return JobPlan(
        calls, shorten_model_name(model.judge.model), shorten_model_name(writer.judge.model), usd
    )


def _estimate_prompt_tokens(agent: Agent, items: Sequence[CompileItem]) -> int:
    lengths: list[int] = []
    for item in items:
        request = agent.request(*item.arguments)
        messages = agent.adapter.format(request.signature, request.demos, request.inputs)
        lengths.append(sum(len(str(message["content"])) for message in messages))
    return round(statistics.fmean(lengths) / CHARS_PER_TOKEN)


def shorten_model_name(model: str) -> str:
    """Return a model name, without the path if the model is a local folder."""
    name = model.removeprefix(f"{PROVIDER}/")
    is_folder = is_local(model) and (name.startswith((".", "/", "~")) or Path(name).exists())
    return f"{PROVIDER}/{Path(name).name}" if is_folder else model
