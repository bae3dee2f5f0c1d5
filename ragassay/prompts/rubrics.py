"""Rubrics: the questions and scales of a judge, and its prompting strategies."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Literal, get_args

import yaml
from pydantic import Field, model_validator

from ragassay.prompts.texts import prompt_text
from ragassay.records.base import Frozen

Strategy = Literal["zero_shot", "knowledge", "few_shot", "chain_of_thought"]
"""Prompting strategies of a judge (Chaudhary et al. 2024, section 3.2).

- zero_shot: with the rubric's name and range alone, by its own understanding
- knowledge: with the rubric's meaning and what each rating shows
- few_shot: as "knowledge", with two examples, one of the highest and one of the lowest rating
- chain_of_thought: as "knowledge", and the judge reasons step by step before it rates
"""

RubricSet = Literal["yescieval", "summeval", "usr"]
"""Rubrics that belong together: YESciEval's nine, SummEval's four (Fabbri et al. 2021), USR's six
(Mehri and Eskenazi 2020)."""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
RUBRIC_SETS: tuple[RubricSet, ...] = get_args(RubricSet)

RUBRIC_FILES: Mapping[RubricSet, str] = {
    "yescieval": "rubrics.yaml",
    "summeval": "rubrics_summeval.yaml",
    "usr": "rubrics_usr.yaml",
}


class RubricExample(Frozen):
    """An answer with the rating that it deserves.

    Attributes:
        question: The question.
        sources: The answer's sources, where the rating depends on them.
        answer: The answer.
        rating: On the rubric's scale.
        reason: Why.
    """

    question: str = ""
    sources: str = ""
    answer: str
    rating: int
    reason: str

    def rendered(self) -> str:
        """Render the example as a prompt shows it."""
        names = ("question", "sources", "answer", "rating", "reason")
        given = ((name, str(getattr(self, name))) for name in names)
        return "\n".join(f"{name}: {text}" for name, text in given if text)


class Rubric(Frozen):
    """A rubric with its scale.

    Attributes:
        group: Which of YESciEval's three dimensions it belongs to; None for another set's.
        about: What question, sources and answer are, where they are not really a question and an
            answer.
        question: The question about the answer.
        scale: What an answer of each rating shows, from the lowest to the highest without a gap.
        examples: One answer with the highest rating, then one with the lowest.
    """

    name: str = ""
    group: Literal["linguistic", "logical", "content"] | None = None
    about: str = ""
    question: str
    scale: dict[int, str] = Field(min_length=2, max_length=11)
    examples: tuple[RubricExample, RubricExample]

    @model_validator(mode="after")
    def _is_whole(self) -> Rubric:
        low, high = self.bounds
        if low < 0 or len(self.scale) != high - low + 1:
            raise ValueError("a scale describes every rating from its lowest, 0 or more, on")
        if [example.rating for example in self.examples] != [high, low]:
            raise ValueError(f"the examples are one rated {high}, then one rated {low}")
        return self

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest rating."""
        return min(self.scale), max(self.scale)

    @property
    def title(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ")

    def rendered(self, strategy: Strategy = "knowledge") -> str:
        """Render the rubric as a strategy's prompt shows it, without its examples."""
        head = f"{self.title}. {self.about} ".rstrip(" ")
        if strategy == "zero_shot":
            low, high = self.bounds
            return f"{head}\n{low}: lowest\n{high}: highest"
        levels = "\n".join(f"{rating}: {text}" for rating, text in sorted(self.scale.items()))
        return f"{head} {self.question}\n{levels}"

    def rendered_examples(self) -> str:
        """Render the two examples as a prompt shows them."""
        return "\n\n".join(example.rendered() for example in self.examples)


@functools.cache
def load_rubrics(set: RubricSet = "yescieval") -> dict[str, Rubric]:
    """Load the rubrics of a set, by name, in their order."""
    read = yaml.safe_load(prompt_text(RUBRIC_FILES[set]))
    about = read.get("about", "")
    return {
        name: Rubric(name=name, about=about, **fields) for name, fields in read["rubrics"].items()
    }
