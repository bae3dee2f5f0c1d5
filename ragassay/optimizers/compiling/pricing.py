"""Estimate what a compile job's calls cost at most, before the first of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.agents.base import Agent
from ragassay.model_names import PROVIDER, is_local
from ragassay.models.litellm_library import listed_price_usd
from ragassay.optimizers.compiling.items import CompileItem
from ragassay.optimizers.compiling.planning import CallPlan, OptimizerName, Sizes, plan_calls
from ragassay.reports.cascade_view import usd_text
from ragassay.settings import Settings

CHARS_PER_TOKEN = 4

N_RENDERED = 20
"""Items whose prompts are rendered to learn their length."""

N_SHOWN = 3
"""Items in a prompt besides its own: the most examples, and the cases that a writer reads."""


@dataclass(frozen=True)
class JobPlan:
    """The calls of a job to come.

    Attributes:
        calls: Their most numbers.
        model: The model that the prompt is for.
        writer: The model that writes instructions.
        usd: The most that they cost, every reply at full length; 0 for local models, None where a
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
    """Return the calls of a job and their price.

    Args:
        optimizer: The optimizer.
        sizes: The sizes of its search.
        agent: The agent with its shipped prompt.
        dev: The held-out items, at least one.
        model: Settings of the model that the prompt is for.
        writer: Settings of the model that writes instructions.
    """
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
