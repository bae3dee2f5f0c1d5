"""Rubrics and prompts as data: one place for every word that is said to a model."""

from __future__ import annotations

import functools
import hashlib
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import Field

from ragassay.records.base import Frozen

__all__ = [
    "AgentPrompt",
    "ContextWords",
    "Prompts",
    "RatingPoint",
    "Rubric",
    "load_prompts",
    "load_rubrics",
    "prompts_sha256",
]

RatingPoint = Literal[1, 2, 3, 4, 5]


class Rubric(Frozen):
    """A rubric with its Likert scale.

    Attributes:
        group: Which of YESciEval's three dimensions it belongs to.
        question: What is asked of the answer.
        scale: What an answer of each rating shows, from 1 (very bad) to 5 (very good).
    """

    name: str = ""
    group: Literal["linguistic", "logical", "content"]
    question: str
    scale: dict[RatingPoint, str] = Field(min_length=5)

    def rendered(self) -> str:
        """The rubric as a prompt shows it."""
        levels = "\n".join(f"{rating}: {text}" for rating, text in sorted(self.scale.items()))
        return f"{self.name}. {self.question}\n{levels}"


class ContextWords(Frozen):
    """The headings of a context."""

    question: str
    sources: str
    no_sources: str
    answer: str
    facts: str


class AgentPrompt(Frozen):
    """What one agent says, and the bounds of what it wants back.

    Attributes:
        task: The instruction.
        rationale_chars: Longest rationale, where the agent gives one.
        max_nuggets: Most nuggets of one sentence.
        nugget_chars: Longest nugget.
        query_chars: Longest search query.
    """

    task: str
    rationale_chars: int = Field(default=0, ge=0)
    max_nuggets: int = Field(default=0, ge=0)
    nugget_chars: int = Field(default=0, ge=0)
    query_chars: int = Field(default=0, ge=0)


class Prompts(Frozen):
    """All prompts."""

    version: int
    system: str
    context: ContextWords
    agents: dict[str, AgentPrompt]


@functools.cache
def load_prompts() -> Prompts:
    """The prompts that the package ships."""
    return Prompts.model_validate(yaml.safe_load(_text("agents.yaml")))


@functools.cache
def load_rubrics() -> dict[str, Rubric]:
    """The nine rubrics of YESciEval, by name, in their order."""
    rubrics = yaml.safe_load(_text("rubrics.yaml"))["rubrics"]
    return {name: Rubric(name=name, **fields) for name, fields in rubrics.items()}


@functools.cache
def prompts_sha256() -> str:
    """Hash of every prompt and rubric text."""
    return hashlib.sha256((_text("agents.yaml") + _text("rubrics.yaml")).encode()).hexdigest()


def _text(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
