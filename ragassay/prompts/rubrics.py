"""Rubrics, rubric sets and prompting strategies."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import Field, ValidationError, model_validator

from ragassay.errors import SettingsError, find_first_problem
from ragassay.files import AnyPath, read_yaml
from ragassay.prompts.texts import read_prompt_file
from ragassay.records.base import Frozen

Strategy = Literal["zero_shot", "knowledge", "few_shot", "chain_of_thought"]
"""Prompting strategy of a judge (Chaudhary et al. 2024, section 3.2).

- zero_shot: only the name and range of the rubric
- knowledge: the question of the rubric and a description of each rating
- few_shot: "knowledge" plus an example of the highest and an example of the lowest rating
- chain_of_thought: "knowledge" plus step-by-step reasoning before the rating
"""

RubricSet = Literal["yescieval", "summeval", "usr"]
"""Rubric set: nine rubrics from YESciEval, four from SummEval (Fabbri et al. 2021), or six from USR
(Mehri and Eskenazi 2020)."""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
RUBRIC_SETS: tuple[RubricSet, ...] = get_args(RubricSet)

RUBRIC_FILES: Mapping[RubricSet, str] = {
    "yescieval": "rubrics.yaml",
    "summeval": "rubrics_summeval.yaml",
    "usr": "rubrics_usr.yaml",
}


class RubricExample(Frozen):
    """Example answer with its correct rating.

    Attributes:
        sources: Sources of the answer, if the rating depends on them.
    """

    question: str = ""
    sources: str = ""
    answer: str
    rating: int
    reason: str

    def render(self) -> str:
        """Return the text of the example for a prompt."""
        names = ("question", "sources", "answer", "rating", "reason")
        lines = ((name, str(getattr(self, name))) for name in names)
        return "\n".join(f"{name}: {text}" for name, text in lines if text)


class Rubric(Frozen):
    """Rubric with its scale.

    Attributes:
        group: YESciEval dimension of the rubric, or None for other rubric sets.
        about: Explanation of the question, sources and answer, if they have a special meaning.
        scale: Description of each rating, without gaps between the lowest and highest rating.
        examples: Example with the highest rating and example with the lowest rating, which the
            strategy "few_shot" requires.
    """

    name: str = ""
    group: Literal["linguistic", "logical", "content"] | None = None
    about: str = ""
    question: str
    scale: dict[int, str] = Field(min_length=2, max_length=11)
    examples: tuple[()] | tuple[RubricExample, RubricExample] = ()

    @model_validator(mode="after")
    def _check_scale(self) -> Rubric:
        low, high = self.bounds
        if low < 0 or len(self.scale) != high - low + 1:
            raise ValueError("a scale must describe every rating and start at 0 or higher")
        if self.examples and [example.rating for example in self.examples] != [high, low]:
            raise ValueError(f"the examples must have the ratings {high} and {low}, in this order")
        return self

    @property
    def bounds(self) -> tuple[int, int]:
        """Lowest and highest rating on the scale."""
        return min(self.scale), max(self.scale)

    @property
    def title(self) -> str:
        """Name of the rubric, with spaces instead of underscores."""
        return self.name.replace("_", " ")

    def render(self, strategy: Strategy = "knowledge") -> str:
        """Return the text of the rubric for a prompt, without examples."""
        head = f"{self.title}. {self.about} ".rstrip(" ")
        if strategy == "zero_shot":
            low, high = self.bounds
            return f"{head}\n{low}: lowest\n{high}: highest"
        levels = "\n".join(f"{rating}: {text}" for rating, text in sorted(self.scale.items()))
        return f"{head} {self.question}\n{levels}"

    def render_examples(self) -> str:
        """Return the text of both examples for a prompt."""
        return "\n\n".join(example.render() for example in self.examples)


class Criterion(Frozen):
    """A criterion for an answer, and its weight."""

    text: str = Field(min_length=1)
    weight: float = Field(default=1.0, gt=0)


class Criteria(Frozen):
    """Checklist of weighted criteria that a judge checks one by one.

    Attributes:
        name: Prefix of the score names.
        question: Optional question that explains the criteria.
        reference: Optional reference answer, shown with each criterion.
        criteria: Criteria to check, at least one and without duplicates.
    """

    name: str
    question: str = ""
    reference: str = ""
    criteria: tuple[Criterion, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _refuse_repeats(self) -> Criteria:
        texts = [criterion.text for criterion in self.criteria]
        if len(set(texts)) < len(texts):
            raise ValueError("two criteria are identical")
        return self


@functools.cache
def load_rubrics(set: RubricSet = "yescieval") -> dict[str, Rubric]:
    """Load the rubrics of a set in order, keyed by name."""
    read = yaml.safe_load(read_prompt_file(RUBRIC_FILES[set]))
    about = read.get("about", "")
    return {
        name: Rubric(name=name, about=about, **fields) for name, fields in read["rubrics"].items()
    }


def read_rubrics(files: Iterable[AnyPath]) -> tuple[Rubric | Criteria, ...]:
    """Read user-defined rubrics and checklists from YAML files.

    A file contains a mapping `rubrics:` from names to definitions. A rubric has `question`,
    `scale`, and optionally `about` and two `examples`. A checklist has `criteria` with `text` and
    `weight`, and optionally `question` and `reference`.

    Raises:
        SettingsError: A file cannot be read or is invalid.
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
            f"rubrics {file}: expected a mapping `rubrics:` with at least one rubric"
        )
    return [_parse_rubric(file, name, fields) for name, fields in rubrics.items()]


def _parse_rubric(file: Path, name: object, fields: object) -> Rubric | Criteria:
    where = f"rubrics {file}: {name}"
    if not isinstance(fields, dict):
        raise SettingsError(f"{where}: expected a mapping with question and scale, or criteria")
    kind = Criteria if "criteria" in fields else Rubric
    try:
        return kind.model_validate({"name": name, **fields})
    except ValidationError as error:
        field, problem = find_first_problem(error)
        raise SettingsError(f"{where}{f', {field}' if field else ''}: {problem}") from error


def join_rubrics(shipped: Mapping[str, Rubric], own: Iterable[Rubric]) -> dict[str, Rubric]:
    """Combine built-in and user-defined rubrics.

    Raises:
        SettingsError: The name of a user-defined rubric is invalid or already in use.
    """
    known = dict(shipped)
    for rubric in own:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", rubric.name):
            raise SettingsError(
                f"rubric {rubric.name!r}: names must start with a-z and contain only a-z, 0-9 and _"
            )
        if rubric.name in known:
            raise SettingsError(f"rubric {rubric.name}: the name is already used; choose another")
        known[rubric.name] = rubric
    return known


def is_rubric_file(name: str) -> bool:
    """Return whether a name refers to a rubric file instead of a rubric."""
    return name.endswith((".yaml", ".yml"))


def choose_rubrics(
    names: Sequence[str], set: RubricSet, known: Mapping[str, Rubric], own: Sequence[Rubric]
) -> tuple[str, ...]:
    """Return the names of the selected rubrics, or of all rubrics if `names` is empty.

    Args:
        names: Names of rubrics, of a rubric set, or of rubric files.
        known: All rubrics in the set and in the files.
        own: Rubrics from the rubric files, which are always selected.

    Raises:
        SettingsError: A rubric is unknown.
    """
    chosen: dict[str, None] = {}
    for name in names:
        if name == set:
            chosen |= dict.fromkeys(load_rubrics(set))
        elif name in known:
            chosen[name] = None
        elif not is_rubric_file(name):
            raise SettingsError(f"unknown rubric {name!r}; available: {', '.join(known)}")
    chosen |= dict.fromkeys(rubric.name for rubric in own)
    return tuple(chosen) or tuple(known)
