"""The rubrics, and all texts that are sent to models."""

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
    choose_rubrics,
    is_rubric_file,
    join_rubrics,
    load_rubrics,
    read_rubrics,
)
from ragassay.prompts.texts import read_prompt_file
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
    "choose_rubrics",
    "hash_prompts",
    "is_rubric_file",
    "join_rubrics",
    "load_prompts",
    "load_rubrics",
    "read_rubrics",
]


class ContextTexts(Frozen):
    """Headings in the context of a prompt."""

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
    """Templates for showing a panel member the ratings by the other members."""

    rating: str
    sentences: str
    reason: str


class AgentPrompt(Frozen):
    """Prompt of an agent, and limits for its reply, which are in characters for texts.

    Attributes:
        task: Instruction. "{low}" and "{high}" are placeholders for the ends of the scale.
        additions: Texts that some calls add to the instruction, keyed by name.
        reasoning_chars: Maximum length of the reasoning before a rating.
        nugget_chars: Maximum length of a nugget or exam question.
        restatement_chars: Maximum length of a paraphrase.
        answer_chars: Maximum length of an extracted answer.
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
    """Load the built-in prompts."""
    return Prompts.model_validate(yaml.safe_load(read_prompt_file("agents.yaml")))


@functools.cache
def hash_prompts() -> str:
    """Return a hash of all prompt and rubric texts."""
    names = ("agents.yaml", *RUBRIC_FILES.values())
    return hashlib.sha256("".join(map(read_prompt_file, names)).encode()).hexdigest()
