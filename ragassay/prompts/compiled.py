"""Read and write prompts compiled by `ragassay optimize`.

A JSON file contains an agent's instruction, examples and held-out scores, but no endpoints, keys or
paths.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field, ValidationError

from ragassay.errors import SettingsError, find_first_problem
from ragassay.files import read_small
from ragassay.records.base import Frozen
from ragassay.records.evaluation import Score
from ragassay.records.run import PromptFingerprint
from ragassay.records.verdicts import Usage

DemoValue: TypeAlias = int | str | tuple[str, ...] | tuple[int, ...]

PREDICTOR = "predict"
"""Name of the predictor, of which every agent has exactly one."""


class CompiledPredictor(Frozen):
    """Prompt of one predictor.

    Attributes:
        demos: Examples, as values keyed by the names of input and output fields. "case" is an extra
            field with the question and answer of an example.
    """

    instructions: str = Field(min_length=1)
    demos: tuple[dict[str, DemoValue], ...] = ()

    @property
    def sha256(self) -> str:
        """Hash of the instructions and examples."""
        return _hash([self.instructions, [dict(demo) for demo in self.demos]])


class PromptComparison(Frozen):
    """Scores of the built-in prompt and the compiled prompt on the same items.

    Attributes:
        metric: Name of the metric, such as "macro-F1".
        before, after: Scores of the built-in prompt and of the compiled prompt.
        gain: Difference on the items scored with both prompts, and its paired interval.
    """

    metric: str
    before: Score
    after: Score
    gain: Score


class CompiledPrompt(Frozen):
    """Compiled prompt of one agent.

    Attributes:
        agent: Key of the prompt that is replaced, such as "verifier".
        rubrics: Rubrics that use the prompt (empty for all rubrics, or if the agent does not rate).
        model: LiteLLM name of the model that the prompt was compiled for.
        reflection_model: Model that wrote the instructions to choose from.
        budget: Maximum number of agent calls by the optimizer.
        n_train, data_sha256: Number and hash of the training examples.
        n_dev, dev_sha256: Number and hash of the held-out examples, from other questions.
        before_sha256, after_sha256: Hashes of the built-in prompt and the compiled prompt.
        comparisons: Comparisons of both prompts on the held-out examples, of which the first
            decides.
        is_better: Whether the first metric improved and there were no more unscored replies.
        usage: Usage of the job, including cached calls.
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
        """Prompt of the agent's predictor."""
        return self.predictors[PREDICTOR]

    @property
    def sha256(self) -> str:
        """Hash of the prompt, agent and rubrics, without other metadata."""
        prompts = {name: part.sha256 for name, part in sorted(self.predictors.items())}
        return _hash([self.agent, list(self.rubrics), prompts])

    @property
    def fingerprint(self) -> PromptFingerprint:
        """Description of the prompt for the manifest of a run."""
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
        """Name of the agent, with the rubrics in parentheses if there are any."""
        return f"{self.agent} ({', '.join(self.rubrics)})" if self.rubrics else self.agent


def read_compiled(path: Path) -> CompiledPrompt:
    """Read a compiled prompt.

    Raises:
        SettingsError: The file cannot be read or is not a compiled prompt.
    """
    try:
        prompt = CompiledPrompt.model_validate_json(read_small(path))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        field, problem = find_first_problem(error)
        where = f"{path}, field {field!r}" if field else f"{path}"
        raise SettingsError(f"{where}: {problem}; the file is not a compiled prompt") from error
    if set(prompt.predictors) != {PREDICTOR}:
        raise SettingsError(f"{path}, field 'predictors': the only key must be {PREDICTOR!r}")
    return prompt


def read_all_compiled(paths: Sequence[Path]) -> tuple[CompiledPrompt, ...]:
    """Read compiled prompts, no two of which may be for the same agent and rubric.

    Raises:
        SettingsError: A file is invalid, or two files are for the same agent and rubric.
    """
    prompts: list[CompiledPrompt] = []
    path_by_target: dict[tuple[str, str], Path] = {}
    for path in paths:
        prompt = read_compiled(path)
        for target in ((prompt.agent, rubric) for rubric in prompt.rubrics or ("",)):
            if target in path_by_target:
                other = path_by_target[target]
                raise SettingsError(
                    f"{other} and {path} are both compiled prompts for {prompt.title}; pass only "
                    "one"
                )
            path_by_target[target] = path
        prompts.append(prompt)
    return tuple(prompts)


def hash_all_prompts(shipped: str, compiled: Sequence[CompiledPrompt]) -> str:
    """Return a hash of the built-in and the compiled prompts.

    Args:
        shipped: Hash of the built-in prompts, from `prompts_sha256()`.
        compiled: Compiled prompts in any order. Without compiled prompts, the result is `shipped`.
    """
    if not compiled:
        return shipped
    return _hash([shipped, *sorted(prompt.sha256 for prompt in compiled)])


def build_demo(fields: Mapping[str, DemoValue | list[str] | list[int]]) -> dict[str, DemoValue]:
    """Return the fields of an example, with lists converted to tuples."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}  # type: ignore[misc]


def _hash(prompts: object) -> str:
    return hashlib.sha256(json.dumps(prompts, ensure_ascii=False).encode()).hexdigest()
