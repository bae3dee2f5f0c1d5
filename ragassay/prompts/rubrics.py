"""Rubrics: the questions and scales of a judge, and its prompting strategies."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import Field, ValidationError, model_validator

from ragassay.errors import SettingsError, first_problem
from ragassay.files import AnyPath, read_yaml
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
        sources: The answer's sources, where the rating depends on them.
        rating: On the rubric's scale.
    """

    question: str = ""
    sources: str = ""
    answer: str
    rating: int
    reason: str

    def render(self) -> str:
        """Render the example as a prompt shows it."""
        names = ("question", "sources", "answer", "rating", "reason")
        lines = ((name, str(getattr(self, name))) for name in names)
        return "\n".join(f"{name}: {text}" for name, text in lines if text)


class Rubric(Frozen):
    """A rubric with its scale.

    Attributes:
        group: Which of YESciEval's three dimensions it belongs to; None for another set's.
        about: What question, sources and answer are, where they are not really a question and an
            answer.
        scale: What an answer of each rating shows, from the lowest to the highest without a gap.
        examples: One answer with the highest rating, then one with the lowest; none, and the
            rubric cannot be asked with the strategy "few_shot".
    """

    name: str = ""
    group: Literal["linguistic", "logical", "content"] | None = None
    about: str = ""
    question: str
    scale: dict[int, str] = Field(min_length=2, max_length=11)
    examples: tuple[()] | tuple[RubricExample, RubricExample] = ()

    @model_validator(mode="after")
    def _is_whole(self) -> Rubric:
        low, high = self.bounds
        if low < 0 or len(self.scale) != high - low + 1:
            raise ValueError("a scale describes every rating from its lowest, 0 or more, on")
        if self.examples and [example.rating for example in self.examples] != [high, low]:
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

    def render(self, strategy: Strategy = "knowledge") -> str:
        """Render the rubric as a strategy's prompt shows it, without its examples."""
        head = f"{self.title}. {self.about} ".rstrip(" ")
        if strategy == "zero_shot":
            low, high = self.bounds
            return f"{head}\n{low}: lowest\n{high}: highest"
        levels = "\n".join(f"{rating}: {text}" for rating, text in sorted(self.scale.items()))
        return f"{head} {self.question}\n{levels}"

    def rendered_examples(self) -> str:
        """Render the two examples as a prompt shows them."""
        return "\n\n".join(example.render() for example in self.examples)


class Criterion(Frozen):
    """One thing that an answer should do, and how much it counts beside the others."""

    text: str = Field(min_length=1)
    weight: float = Field(default=1.0, gt=0)


class Criteria(Frozen):
    """A list of weighted criteria that a judge holds an answer against, one by one.

    Attributes:
        name: Prefix of its scores' names.
        question: What the criteria are about, where they do not say it themselves.
        reference: What a good answer says; the judge sees it with each criterion.
        criteria: At least one, each different.
    """

    name: str
    question: str = ""
    reference: str = ""
    criteria: tuple[Criterion, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _differ(self) -> Criteria:
        texts = [criterion.text for criterion in self.criteria]
        if len(set(texts)) < len(texts):
            raise ValueError("two criteria are the same")
        return self


@functools.cache
def load_rubrics(set: RubricSet = "yescieval") -> dict[str, Rubric]:
    """Load the rubrics of a set, by name, in their order."""
    read = yaml.safe_load(prompt_text(RUBRIC_FILES[set]))
    about = read.get("about", "")
    return {
        name: Rubric(name=name, about=about, **fields) for name, fields in read["rubrics"].items()
    }


def read_rubrics(files: Iterable[AnyPath]) -> tuple[Rubric | Criteria, ...]:
    """Read rubrics of a user's own.

    A file is YAML as the shipped ones: `rubrics:` with, by name, `question`, `scale` (each rating
    and what an answer of it shows), and perhaps `about` and two `examples`; or `criteria` (each
    with `text` and `weight`), and perhaps `question` and `reference`.

    Raises:
        SettingsError: A file cannot be read; names file, rubric and field.
    """
    return tuple(rubric for file in files for rubric in _read_file(Path(file)))


def _read_file(file: Path) -> list[Rubric | Criteria]:
    try:
        read = read_yaml(file)
    except OSError as error:
        raise SettingsError(f"rubrics {file} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise SettingsError(f"rubrics {file}: {' '.join(str(error).split())}") from error
    rubrics = read.get("rubrics") if isinstance(read, dict) else None
    if not isinstance(rubrics, dict) or not rubrics:
        raise SettingsError(
            f"rubrics {file}: a mapping `rubrics:` of at least one name is expected"
        )
    return [_rubric_of(file, name, fields) for name, fields in rubrics.items()]


def _rubric_of(file: Path, name: object, fields: object) -> Rubric | Criteria:
    where = f"rubrics {file}: {name}"
    if not isinstance(fields, dict):
        raise SettingsError(f"{where}: a mapping with question and scale, or criteria, is expected")
    kind = Criteria if "criteria" in fields else Rubric
    try:
        return kind.model_validate({"name": name, **fields})
    except ValidationError as error:
        field, problem = first_problem(error)
        raise SettingsError(f"{where}{f', {field}' if field else ''}: {problem}") from error


def joined_rubrics(shipped: Mapping[str, Rubric], own: Iterable[Rubric]) -> dict[str, Rubric]:
    """Return the shipped rubrics and a user's own.

    Raises:
        SettingsError: One of the user's has no usable name, or that of another.
    """
    known = dict(shipped)
    for rubric in own:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", rubric.name):
            raise SettingsError(f"rubric {rubric.name!r}: a name has only a-z, 0-9 and _")
        if rubric.name in known:
            raise SettingsError(f"rubric {rubric.name}: the name is taken; choose another")
        known[rubric.name] = rubric
    return known


def is_rubric_file(name: str) -> bool:
    """Return whether a user means a file, and not the name of a rubric."""
    return name.endswith((".yaml", ".yml"))


def chosen_rubrics(
    names: Sequence[str], set: RubricSet, known: Mapping[str, Rubric], own: Sequence[Rubric]
) -> tuple[str, ...]:
    """Return which rubrics a user chose: those named, those of files, all of the set for none.

    Args:
        names: Of rubrics, of the set, or of files.
        set: The set.
        known: The set's rubrics and the user's own.
        own: The user's own.

    Raises:
        SettingsError: There is no such rubric.
    """
    chosen: dict[str, None] = {}
    for name in names:
        if name == set:
            chosen |= dict.fromkeys(load_rubrics(set))
        elif name in known:
            chosen[name] = None
        elif not is_rubric_file(name):
            raise SettingsError(f"unknown rubric {name!r}; there are {', '.join(known)}")
    chosen |= dict.fromkeys(rubric.name for rubric in own)
    return tuple(chosen) or tuple(known)
