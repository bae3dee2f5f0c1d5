"""Read the prompts for local encoder-decoders that grade passages."""

from __future__ import annotations

import functools
import hashlib
from typing import Literal

import yaml

from ragassay.prompts.texts import around_passage, prompt_text
from ragassay.records import DirectGrader, ExamGrader, ExamItem
from ragassay.records.base import Frozen

_FILE = "graders.yaml"


class ItemTexts(Frozen):
    """A text for each kind of item."""

    question: str
    nugget: str


class RelevanceExample(Frozen):
    """A query and a passage with the right reply."""

    query: str
    passage: str
    reply: Literal["yes", "no"]


class GraderPrompts(Frozen):
    """Templates of the prompts, as `graders.yaml` describes them."""

    version: int
    rating: ItemTexts
    scale: ItemTexts
    extraction: ItemTexts
    relevance: dict[DirectGrader, str]
    examples: tuple[RelevanceExample, ...]


@functools.cache
def load_grader_prompts() -> GraderPrompts:
    """Read the templates."""
    return GraderPrompts.model_validate(yaml.safe_load(prompt_text(_FILE)))


@functools.cache
def grader_prompts_sha256() -> str:
    """Return a hash of the templates."""
    return hashlib.sha256(prompt_text(_FILE).encode()).hexdigest()


def item_prompt(item: ExamItem, grader: ExamGrader) -> tuple[str, str]:
    """Return the text before the passage and after it, for an item of a bank."""
    prompts = load_grader_prompts()
    template = getattr(prompts.rating if grader == "rating" else prompts.extraction, item.kind)
    return around_passage(template, scale=getattr(prompts.scale, item.kind), item=item.text)


def relevance_prompt(query: str, grader: DirectGrader) -> tuple[str, str]:
    """Return the text before the passage and after it, for a query."""
    prompts = load_grader_prompts()
    name = "Question" if grader.startswith("fagb") else "Query"
    examples = "\n".join(
        f"{name}: {one.query}\nText: {one.passage}\nReply: {one.reply}" for one in prompts.examples
    )
    return around_passage(prompts.relevance[grader], examples=examples, query=query)
