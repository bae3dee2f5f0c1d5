"""Plan what is compiled, by which optimizer, in how many calls, and what they cost at most."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from ragassay.errors import InputError
from ragassay.model_names import PROVIDER, is_local
from ragassay.models.litellm_library import listed_price_usd
from ragassay.optimizers.compiling.items import CompileItem
from ragassay.reports.panel_view import usd_text
from ragassay.settings import Settings

if TYPE_CHECKING:
    from ragassay.agents.base import Agent

CHARS_PER_TOKEN = 4

N_RENDERED = 20
"""Items whose prompts are rendered to learn their length."""

N_SHOWN = 3
"""Items in a prompt besides its own: the most examples, and the cases that a writer reads."""

AGENTS = (
    "rubric_judge",
    "verifier",
    "sentence_labeller",
    "nugget_assigner",
    "nugget_writer",
    "query_writer",
)

_WRITES = "it writes text of its own, and no file holds its right replies"
_MEASURED = "no data for it are read here; `ragassay meta-evaluate` compares it with people"
_UNLABELLED = "no file holds its right replies"
_TUNED = "a fine-tuned model knows its prompt by heart"

UNCOMPILED: Mapping[str, str] = {
    "answer_checker": _MEASURED,
    "answer_extractor": _MEASURED,
    "answer_nuggetizer": _WRITES,
    "answer_reader": _TUNED,
    "asker": "its question is the user's own",
    "evidence_searcher": "it calls tools, and no file holds its right searches",
    "exam_writer": _WRITES,
    "fact_lister": _WRITES,
    "importance_scorer": _UNLABELLED,
    "intent_comparer": _UNLABELLED,
    "nugget_creator": _WRITES,
    "nugget_extractor": _MEASURED,
    "nugget_rater": _MEASURED,
    "paraphraser": _WRITES,
    "qa_mender": _WRITES,
    "qa_writer": _WRITES,
    "question_rater": _MEASURED,
    "racar_accuracy": _MEASURED,
    "racar_agnosticism": _MEASURED,
    "racar_completeness": _MEASURED,
    "racar_reasonableness": _MEASURED,
    "racar_relevance": _MEASURED,
    "rationale_auditor": _UNLABELLED,
    "relevance_grader": _MEASURED,
    "self_questioner": _WRITES,
    "sufficiency_judge": _UNLABELLED,
    "synthesizer": _WRITES,
    "tuned_judge": _TUNED,
    "tuned_verifier": _TUNED,
    "verifier_binary": "name it verifier, with --labels 2",
    "verifier_ternary": "name it verifier, with --labels 3",
}
"""Why an agent cannot be compiled, by the key of its prompt."""


def check_agent(name: str) -> None:
    """Refuse an agent that cannot be compiled.

    Raises:
        InputError: The message says why, and names those that can.
    """
    if name in AGENTS:
        return
    known = f"`ragassay optimize` compiles {', '.join(AGENTS)}"
    if name in UNCOMPILED:
        raise InputError(f"{name} cannot be compiled: {UNCOMPILED[name]}; {known}")
    raise InputError(f"there is no agent {name!r}; {known}")


OptimizerName = Literal["bootstrap", "miprov2", "gepa", "copro"]
OPTIMIZERS: tuple[OptimizerName, ...] = get_args(OptimizerName)

ROUNDS: Mapping[str, int] = {"light": 6, "medium": 15, "heavy": 40}
"""Passes of each named budget over the data for comparing candidates."""

DEPTH = 2
"""Rounds of COPRO's proposals: the first from the instruction, the next from the results of those.
"""

REFLECTED = 3
"""Cases that GEPA reads before it writes an instruction."""

N_FIXED = 3
"""Candidates that bootstrap always compares: no, labelled and unshuffled examples."""

FEWEST_ROUNDS = 2


def check_optimizer(name: str) -> None:
    """Refuse an unknown optimizer.

    Raises:
        InputError: It names those that there are.
    """
    if name not in OPTIMIZERS:
        raise InputError(f"no optimizer {name!r}; there are {', '.join(OPTIMIZERS)}")


def n_calls_of(budget: str, n_tried: int) -> int:
    """Return the calls of the agent that a budget allows: so many passes over the items, or calls.

    Raises:
        InputError: It is neither a name nor a number above 0.

    Example:
        >>> n_calls_of("light", 10), n_calls_of("77", 10)
        (60, 77)
    """
    if budget in ROUNDS:
        return ROUNDS[budget] * n_tried
    if budget.isdecimal() and int(budget) > 0:
        return int(budget)
    raise InputError(f"--budget {budget}: {', '.join(ROUNDS)} or a number above 0")


@dataclass(frozen=True)
class Sizes:
    """The sizes of a search.

    Items taught give examples and mistakes; candidates are compared on those tried; the budget is
    about how many calls of the agent there may be.
    """

    n_taught: int
    n_tried: int
    n_budget: int

    @property
    def n_rounds(self) -> int:
        """Affordable passes over the items for comparing candidates; two at least."""
        return max(FEWEST_ROUNDS, self.n_budget // max(1, self.n_tried))

    @property
    def n_shuffled(self) -> int:
        """Sets of examples that bootstrap draws besides the fixed candidates."""
        return max(0, self.n_rounds - N_FIXED)

    @property
    def n_trials(self) -> int:
        """Combinations that MIPROv2 tries besides the shipped prompt."""
        return self.n_rounds - 1

    @property
    def n_candidates(self) -> int:
        """Instructions, and sets of examples, that MIPROv2 combines."""
        return max(3, self.n_trials // 2)

    @property
    def n_reflected(self) -> int:
        """Cases in each step of GEPA."""
        return min(REFLECTED, self.n_taught)

    @property
    def n_gepa_calls(self) -> int:
        """Calls after which GEPA starts no further step; enough for one whole step."""
        return max(self.n_budget, self.n_tried + 2 * self.n_reflected)

    @property
    def breadth(self) -> int:
        """Instructions in each round of COPRO."""
        return max(2, self.n_rounds // DEPTH)


@dataclass(frozen=True)
class CallPlan:
    """The most calls that a job makes; equal requests are made once, so it may make fewer.

    They measure the shipped and the compiled prompt, search with the agent, and write instructions.
    """

    n_measured: int
    n_searched: int
    n_written: int

    @property
    def n_calls(self) -> int:
        """All calls together."""
        return self.n_measured + self.n_searched + self.n_written


def plan_calls(optimizer: OptimizerName, sizes: Sizes, n_dev: int) -> CallPlan:
    """Return the most calls of a job.

    Example:
        >>> plan_calls("copro", Sizes(n_taught=50, n_tried=50, n_budget=300), n_dev=100)
        CallPlan(n_measured=200, n_searched=300, n_written=5)
    """
    taught, tried = sizes.n_taught, sizes.n_tried
    shuffled, candidates = sizes.n_shuffled, sizes.n_candidates
    n_searched, n_written = {
        # Each set of examples is looked for among the taught items, then tried.
        "bootstrap": ((N_FIXED + shuffled) * tried + (1 + shuffled) * taught, 0),
        # The first two sets of examples, none and labelled ones, take no call.
        "miprov2": (sizes.n_rounds * tried + (candidates - 2) * taught, candidates),
        # A step: the mistakes, the new instruction on the same items, then on all; the last one
        # may begin just below the limit.
        "gepa": (
            sizes.n_gepa_calls + 2 * sizes.n_reflected + tried,
            1 + max(0, sizes.n_gepa_calls - tried) // (2 * sizes.n_reflected),
        ),
        "copro": (DEPTH * sizes.breadth * tried, DEPTH * sizes.breadth - 1),
    }[optimizer]
    return CallPlan(2 * n_dev, n_searched, n_written)


@dataclass(frozen=True)
class JobPlan:
    """The calls of a job to come, of the model that the prompt is for and of the writer.

    `usd` is the most that they cost, every reply at full length; 0 for local models, None where a
    price is unknown.
    """

    calls: CallPlan
    model: str
    writer: str
    usd: float | None

    @property
    def text(self) -> str:
        """The plan in one line."""
        calls = self.calls
        n_agent = calls.n_measured + calls.n_searched
        parts = [f"at most {n_agent:,} calls of {self.model}, {calls.n_measured:,} to measure"]
        if calls.n_written:
            parts.append(f"{calls.n_written:,} of {self.writer} to write instructions")
        if self.usd is None:
            parts.append("the price is not known")
        elif self.usd:
            parts.append(f"at most {usd_text(self.usd)}")
        return "; ".join(parts)


def plan_job(
    optimizer: OptimizerName,
    sizes: Sizes,
    agent: Agent,
    dev: Sequence[CompileItem],
    model: Settings,
    writer: Settings,
) -> JobPlan:
    """Return the calls of a job and their price; there is at least one held-out item."""
    calls = plan_calls(optimizer, sizes, len(dev))
    n_sent = _n_prompt_tokens(agent, dev[:N_RENDERED])
    shows_examples = optimizer in ("bootstrap", "miprov2")
    n_agent = calls.n_measured + calls.n_searched
    prices = [
        listed_price_usd(
            model.judge.model,
            n_agent * n_sent * (1 + N_SHOWN * shows_examples),
            n_agent * model.prompting.max_reply_tokens,
        )
    ]
    if calls.n_written:
        n_read = calls.n_written * n_sent * N_SHOWN
        n_replied = calls.n_written * writer.prompting.max_reply_tokens
        prices.append(listed_price_usd(writer.judge.model, n_read, n_replied))
    known = [price for price in prices if price is not None]
    usd = sum(known) if len(known) == len(prices) else None
    return JobPlan(calls, shown_name(model.judge.model), shown_name(writer.judge.model), usd)


def _n_prompt_tokens(agent: Agent, items: Sequence[CompileItem]) -> int:
    """Return the approximate mean length of a prompt."""
    lengths: list[int] = []
    for item in items:
        asked = agent.request(*item.arguments)
        messages = agent.adapter.format(asked.signature, asked.demos, asked.inputs)
        lengths.append(sum(len(str(message["content"])) for message in messages))
    return round(statistics.fmean(lengths) / CHARS_PER_TOKEN)


def shown_name(model: str) -> str:
    """Return a model's name without folders of this machine."""
    name = model.removeprefix(f"{PROVIDER}/")
    is_folder = is_local(model) and (name.startswith((".", "/", "~")) or Path(name).exists())
    return f"{PROVIDER}/{Path(name).name}" if is_folder else model
