"""The evaluations of a run in little memory: an outline of each, and the whole, deflated.

As objects, ten thousand evaluations take gigabytes. What a run's statistics and lists read of one
is its outline; the whole is read again when it is asked for.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from ragassay.records.evaluation import Evaluation, Finding, Score

FASTEST = 1
"""Level of compression: a third of the size is left."""


@dataclass(frozen=True, slots=True)
class Outline:
    """An evaluation without its texts and verdicts."""

    record_id: str
    question: str
    system: str | None
    topic: str | None
    scores: Mapping[str, Score]
    primary_findings: tuple[Finding, ...]
    secondary_findings: tuple[Finding, ...]


Outlined = Outline | Evaluation
"""The part of an evaluation that statistics and lists read."""


@dataclass(frozen=True, slots=True)
class Compact:
    """An evaluation in little memory.

    Attributes:
        outline: What is read often.
        data: The whole as JSON, deflated (RFC 1950).
    """

    outline: Outline
    data: bytes

    @classmethod
    def of(cls, evaluation: Evaluation) -> Compact:
        """Return an evaluation in its compact form."""
        outline = Outline(
            evaluation.record_id,
            evaluation.question,
            evaluation.system,
            evaluation.topic,
            {key: _slim(**score.__dict__) for key, score in evaluation.scores.items()},
            evaluation.primary_findings,
            evaluation.secondary_findings,
        )
        return cls(outline, zlib.compress(evaluation.model_dump_json().encode(), FASTEST))

    @property
    def line(self) -> str:
        """The evaluation as a line of JSON."""
        return zlib.decompress(self.data).decode() + "\n"

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation, read anew."""
        return Evaluation.model_validate_json(zlib.decompress(self.data))


_FIELDS = set(Score.model_fields)


@functools.lru_cache(maxsize=4096)
def _slim(**fields: Any) -> Score:
    """Return the score with some fields: the same for equal ones, with one set of field names."""
    return Score.model_construct(_FIELDS, **fields)


class CompactEvaluations(Sequence[Evaluation]):
    """Evaluations of which each is read anew whenever it is asked for.

    Args:
        members: The evaluations, compact or not.
    """

    def __init__(self, members: Iterable[Compact | Evaluation] = ()) -> None:
        self._members = tuple(
            one if isinstance(one, Compact) else Compact.of(one) for one in members
        )

    @property
    def outlines(self) -> tuple[Outline, ...]:
        """The outline of each."""
        return tuple(one.outline for one in self._members)

    def with_scores(self, changed: Mapping[str, Mapping[str, Score]]) -> CompactEvaluations:
        """Return the evaluations with other scores where there are some, by record id."""
        return CompactEvaluations(
            one.evaluation.model_copy(update={"scores": changed[one.outline.record_id]})
            if one.outline.record_id in changed
            else one
            for one in self._members
        )

    def lines(self) -> Iterator[str]:
        """Yield each as a line of JSON."""
        return (one.line for one in self._members)

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, index: int) -> Evaluation: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Evaluation, ...]: ...
    def __getitem__(self, index: int | slice) -> Evaluation | tuple[Evaluation, ...]:
        if isinstance(index, slice):
            return tuple(one.evaluation for one in self._members[index])
        return self._members[index].evaluation

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CompactEvaluations):
            return NotImplemented
        return self._members == other._members

    def __iter__(self) -> Iterator[Evaluation]:
        return (one.evaluation for one in self._members)


def outlines_of(evaluations: Sequence[Evaluation]) -> Sequence[Outlined]:
    """Return the outlines of evaluations; those that are not compact are their own."""
    return evaluations.outlines if isinstance(evaluations, CompactEvaluations) else evaluations
