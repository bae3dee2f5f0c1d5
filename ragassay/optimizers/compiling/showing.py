"""Format prompts for display: as a list, in full, or as a diff from a compiled prompt."""

from __future__ import annotations

import difflib
import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ragassay.agents.base import ADAPTER, CONTEXT_FIELD, Agent
from ragassay.agents.evidence_search import QueryWriter, SufficiencyJudge
from ragassay.agents.labellers import ImportanceScorer, NuggetAssigner, SentenceLabeller
from ragassay.agents.nugget_writers import AnswerNuggetizer, FactLister, NuggetCreator, NuggetWriter
from ragassay.agents.rubric_judge import RubricJudge
from ragassay.agents.verifiers import Verifier
from ragassay.agents.writers import ExamWriter
from ragassay.errors import InputError
from ragassay.optimizers.compiling.planning import AGENTS
from ragassay.prompts.compiled import CompiledPredictor, CompiledPrompt

N_WIDE = 96


@dataclass(frozen=True)
class PromptLine:
    """Entry in the list of prompts: an agent's prompt key, hash, fields and instruction."""

    name: str
    sha256: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    instruction: str
    can_compile: bool


def list_shipped_agents() -> dict[str, Agent]:
    """Return the agents that make a single model call, keyed by prompt key."""
    agents = (
        RubricJudge(),
        *(Verifier(n) for n in (4, 3, 2)),
        SentenceLabeller(),
        NuggetAssigner(),
        NuggetWriter(),
        AnswerNuggetizer(),
        QueryWriter(),
        SufficiencyJudge(),
        NuggetCreator(),
        ImportanceScorer(),
        FactLister(),
        ExamWriter(),
    )
    return {agent.prompt: agent for agent in agents}


def list_prompt_lines() -> list[PromptLine]:
    """Return an entry for each shipped prompt."""
    lines: list[PromptLine] = []
    for name, agent in list_shipped_agents().items():
        signature: Any = agent.predict.signature
        fields = tuple(signature.input_fields), tuple(signature.output_fields)
        sha256, can_compile = _build_shipped_prompt(agent).sha256, agent.name in AGENTS
        lines.append(PromptLine(name, sha256, *fields, signature.instructions, can_compile))
    return lines


def find_agent(name: str) -> Agent:
    """Return the agent with a given prompt key.

    Raises:
        InputError: The agent is unknown.
    """
    agents = list_shipped_agents()
    if name not in agents:
        raise InputError(f"unknown agent {name!r}; choose from {', '.join(agents)}")
    return agents[name]


def render_full_prompt(agent: Agent) -> str:
    """Return the full prompt, with placeholders for parts that change with each call."""
    signature: Any = agent.predict.signature
    inputs = {name: f"<{name}>" for name in signature.input_fields}
    inputs[CONTEXT_FIELD] = "<context: question, sources and answer of the case, fenced>"
    messages = ADAPTER.format(signature, agent.predict.demos, inputs)
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in messages)


def render_prompt_diff(compiled: CompiledPrompt) -> str:
    """Return a unified diff from a shipped to a compiled instruction, and the compiled examples.

    Raises:
        InputError: The agent is unknown.
    """
    shipped = _build_shipped_prompt(find_agent(compiled.agent))
    lines = difflib.unified_diff(
        _wrap_text(shipped.instructions),
        _wrap_text(compiled.predictor.instructions),
        f"shipped {compiled.agent} {shipped.sha256[:12]}",
        f"compiled {compiled.title} {compiled.predictor.sha256[:12]}",
        lineterm="",
    )
    parts = list(lines) or [f"  the instruction of {compiled.agent} is unchanged"]
    return "\n".join([*parts, *_format_examples(compiled.predictor)])


def _format_examples(predictor: CompiledPredictor) -> Iterator[str]:
    for number, demo in enumerate(predictor.demos, 1):
        yield f"+ example {number}"
        for name, value in demo.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield from (f"+   {line}" for line in _wrap_text(f"{name}: {text}"))


def _wrap_text(text: str) -> list[str]:
    lines = text.splitlines() or [""]
    return [part for line in lines for part in textwrap.wrap(line, N_WIDE) or [""]]


def _build_shipped_prompt(agent: Agent) -> CompiledPredictor:
    signature: Any = agent.predict.signature
    return CompiledPredictor(instructions=signature.instructions)
