"""Rubrics and prompts as data: one place for every text sent to a model."""

from __future__ import annotations

import functools
import hashlib

import yaml
from pydantic import Field

from ragassay.prompts.rubrics import (
    RUBRIC_FILES,
    RUBRIC_SETS,
    STRATEGIES,
    Criteria,
    Criterion,
    Rubric,
    RubricExample,
    RubricSet,
    Strategy,
    chosen_rubrics,
    is_rubric_file,
    joined_rubrics,
    load_rubrics,
    read_rubrics,
)
from ragassay.prompts.texts import prompt_text
from ragassay.records.base import Frozen

__all__ = [
    "RUBRIC_SETS",
    "STRATEGIES",
    "Criteria",
    "Criterion",
    "Prompts",
    "Rubric",
    "RubricExample",
    "RubricSet",
    "Strategy",
    "chosen_rubrics",
    "is_rubric_file",
    "joined_rubrics",
    "load_prompts",
    "load_rubrics",
    "prompts_sha256",
    "read_rubrics",
]


class ContextTexts(Frozen):
    """The headings of a context."""

    question: str
    sources: str
    no_sources: str
    answer: str
    turns: str
    facts: str
    claim: str
    passage: str
    query: str
    title: str
    subtopic: str
    paper: str
    pairs: str
    questions: str


class PanelTexts(Frozen):
    """Wording that tells a panel's judge another judge's rating."""

    rating: str
    sentences: str
    reason: str


class AgentPrompt(Frozen):
    """An agent's prompt, and the limits on its reply.

    Attributes:
        task: The instruction. "{low}" and "{high}" stand for the ends of a rubric's scale.
        additions: Continuations of the instruction, by occasion.
        rationale_chars: Longest rationale, where the agent gives one.
        reasoning_chars: Longest reasoning before a rating, where the agent is asked to reason
            first.
        max_nuggets: Most nuggets of one sentence.
        nugget_chars: Longest nugget or exam question.
        query_chars: Longest search query.
        restatement_chars: Longest paraphrase of a sentence.
        answer_chars: Longest answer that is taken from a passage.
    """

    task: str
    additions: dict[str, str] = Field(default_factory=dict)
    rationale_chars: int = Field(default=0, ge=0)
    reasoning_chars: int = Field(default=0, ge=0)
    max_nuggets: int = Field(default=0, ge=0)
    nugget_chars: int = Field(default=0, ge=0)
    query_chars: int = Field(default=0, ge=0)
    restatement_chars: int = Field(default=0, ge=0)
    answer_chars: int = Field(default=0, ge=0)


class Prompts(Frozen):
    """All prompts."""

    version: int
    system: str
    context: ContextTexts
    panel: PanelTexts
    agents: dict[str, AgentPrompt]


@functools.cache
def load_prompts() -> Prompts:
    """Load the prompts that the package ships."""
    return Prompts.model_validate(yaml.safe_load(prompt_text("agents.yaml")))


@functools.cache
def prompts_sha256() -> str:
    """Return a hash of every prompt and rubric text."""
    names = ("agents.yaml", *RUBRIC_FILES.values())
    return hashlib.sha256("".join(map(prompt_text, names)).encode()).hexdigest()
