"""Read and write prompts compiled by `ragassay optimize`.

A file is JSON. It contains an agent's instruction, its examples, and its scores on held-out data.
It names no endpoint, no key and no folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field, ValidationError

from ragassay.errors import SettingsError, first_problem
from ragassay.files import read_small
from ragassay.records.base import Frozen
from ragassay.records.evaluation import Score
from ragassay.records.run import PromptFingerprint
from ragassay.records.verdicts import Usage

DemoValue: TypeAlias = int | str | tuple[str, ...] | tuple[int, ...]

PREDICTOR = "predict"
"""Name of the only predictor of every agent."""


class CompiledPredictor(Frozen):
    """The prompt of one predictor.

    Attributes:
        demos: Its examples: values by field, those of the reply included. The subject of an
            example, where it is not among the fields, is under "case".
    """

    instructions: str = Field(min_length=1)
    demos: tuple[dict[str, DemoValue], ...] = ()

    @property
    def sha256(self) -> str:
        """A hash of everything that it changes in a prompt."""
        return _hash([self.instructions, [dict(demo) for demo in self.demos]])


class PromptComparison(Frozen):
    """A score of the shipped prompt and of the compiled one, on the same items.

    Attributes:
        metric: e.g. "macro-F1".
        before: The shipped prompt's.
        after: The compiled prompt's.
        gain: Their difference over the items that both scored, resampled together; its scale is
            that of a difference.
    """

    metric: str
    before: Score
    after: Score
    gain: Score


class CompiledPrompt(Frozen):
    """A compiled prompt of one agent.

    Attributes:
        format: The file's format.
        agent: Key of the prompt that it replaces, e.g. "verifier".
        rubrics: The rubrics that it is for; empty for all, and for other agents than the judge.
        predictors: By name.
        model: LiteLLM name of the model that it was compiled for.
        reflection_model: The model that wrote the candidates.
        seed: The job's seed.
        budget: Calls of the agent that the optimizer was allowed.
        n_train: Examples that it was found on.
        n_dev: Examples that it was measured on; no question is on both sides.
        data_sha256: Hash of the training examples.
        dev_sha256: Hash of those that it was measured on.
        before_sha256: Hash of the shipped prompt.
        comparisons: On the examples of `n_dev`; the first decides.
        is_better: Whether the first score rose, and no more replies were unscored.
        usage: What the job cost, cached calls included.
        packages: Versions of the libraries that matter to it.
    """

    format: Literal["ragassay-prompt-1"] = "ragassay-prompt-1"
    agent: str
    rubrics: tuple[str, ...] = ()
    predictors: dict[str, CompiledPredictor]
    optimizer: str
    model: str
    reflection_model: str = ""
    seed: int = 0
    budget: int = Field(ge=0)
    n_train: int = Field(ge=0)
    n_dev: int = Field(ge=0)
    data_sha256: str
    dev_sha256: str
    before_sha256: str
    after_sha256: str
    comparisons: tuple[PromptComparison, ...] = ()
    is_better: bool
    usage: Usage = Usage()
    ragassay: str
    packages: dict[str, str] = Field(default_factory=dict)

    @property
    def predictor(self) -> CompiledPredictor:
        """The prompt of the agent's only predictor."""
        return self.predictors[PREDICTOR]

    @property
    def sha256(self) -> str:
        """A hash of the prompt and its target, without other metadata."""
        prompts = {name: part.sha256 for name, part in sorted(self.predictors.items())}
        return _hash([self.agent, list(self.rubrics), prompts])

    @property
    def fingerprint(self) -> PromptFingerprint:
        """The part that a run's manifest keeps."""
        first = self.comparisons[0] if self.comparisons else None
        return PromptFingerprint(
            agent=self.agent,
            rubrics=self.rubrics,
            sha256=self.sha256,
            model=self.model,
            optimizer=self.optimizer,
            metric=first.metric if first else "",
            before=first.before if first else None,
            after=first.after if first else None,
            is_better=self.is_better,
        )

    @property
    def title(self) -> str:
        """The agent and rubrics of the prompt, in words."""
        return f"{self.agent} ({', '.join(self.rubrics)})" if self.rubrics else self.agent


def read_compiled(path: Path) -> CompiledPrompt:
    """Read a compiled prompt.

    Raises:
        SettingsError: The file cannot be read or is not a compiled prompt; the message names file
            and field.
    """
    try:
        found = CompiledPrompt.model_validate_json(read_small(path))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        field, problem = first_problem(error)
        where = f"{path}, field {field!r}" if field else f"{path}"
        raise SettingsError(f"{where}: {problem}; no compiled prompt") from error
    if set(found.predictors) != {PREDICTOR}:
        raise SettingsError(f"{path}, field 'predictors': has something other than {PREDICTOR!r}")
    return found


def read_all_compiled(paths: Sequence[Path]) -> tuple[CompiledPrompt, ...]:
    """Read compiled prompts; no two may be for the same agent and rubric.

    Raises:
        SettingsError: As `read_compiled`; or two files are for the same.
    """
    found: list[CompiledPrompt] = []
    taken: dict[tuple[str, str], Path] = {}
    for path in paths:
        prompt = read_compiled(path)
        for place in ((prompt.agent, rubric) for rubric in prompt.rubrics or ("",)):
            if place in taken:
                raise SettingsError(f"{taken[place]} and {path} are both for {prompt.title}")
            taken[place] = path
        found.append(prompt)
    return tuple(found)


def compiled_sha256(shipped: str, compiled: Sequence[CompiledPrompt]) -> str:
    """Return a hash of all prompts: of the shipped ones, unless some are compiled.

    Args:
        shipped: `prompts_sha256()`.
        compiled: In any order.
    """
    if not compiled:
        return shipped
    return _hash([shipped, *sorted(prompt.sha256 for prompt in compiled)])


def demo_of(fields: Mapping[str, DemoValue | list[str] | list[int]]) -> dict[str, DemoValue]:
    """Return an example's fields as a record keeps them."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}  # type: ignore[misc]


def _hash(prompts: object) -> str:
    return hashlib.sha256(json.dumps(prompts, ensure_ascii=False).encode()).hexdigest()
