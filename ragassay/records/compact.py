"""Compressed evaluations that save memory.

Ten thousand `Evaluation` objects take gigabytes. A compact evaluation consists of an outline for
statistics and lists, and the compressed JSON of the full evaluation, which is parsed on each
access.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from ragassay.records.evaluation import Evaluation, Finding, Score

FASTEST = 1
"""Level of zlib compression, which reduces the size to a third."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The fields of an evaluation that statistics and lists need."""

    record_id: str
    question: str
    system: str | None
    topic: str | None
    scores: Mapping[str, Score]
    primary_findings: tuple[Finding, ...]
    secondary_findings: tuple[Finding, ...]


Outlined = Outline | Evaluation
"""Type with the fields of an evaluation that statistics and lists need."""


@dataclass(frozen=True, slots=True)
class Compact:
    """Compressed evaluation.

    Attributes:
        data: JSON of the full evaluation, compressed with zlib (RFC 1950).
    """

    outline: Outline
    data: bytes

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation) -> Compact:
        """Compress an evaluation."""
        outline = Outline(
            evaluation.record_id,
            evaluation.question,
            evaluation.system,
            evaluation.topic,
            {key: _cache_score(**score.__dict__) for key, score in evaluation.scores.items()},
            evaluation.primary_findings,
            evaluation.secondary_findings,
        )
        return cls(outline, zlib.compress(evaluation.model_dump_json().encode(), FASTEST))

    @property
    def line(self) -> str:
        """Evaluation as a JSON line."""
        return zlib.decompress(self.data).decode() + "\n"

    @property
    def evaluation(self) -> Evaluation:
        """Decompressed evaluation."""
        return Evaluation.model_validate_json(zlib.decompress(self.data))


_FIELDS = set(Score.model_fields)


@functools.lru_cache(maxsize=4096)
def _cache_score(**fields: Any) -> Score:
    """Return a cached `Score` without validation, so that equal scores share one object."""
    return Score.model_construct(_FIELDS, **fields)


class CompactEvaluations(Sequence[Evaluation]):
    """Sequence of compressed evaluations, each decompressed on access."""

    def __init__(self, members: Iterable[Compact | Evaluation] = ()) -> None:
        self._members = tuple(
            one if isinstance(one, Compact) else Compact.from_evaluation(one) for one in members
        )

    @property
    def outlines(self) -> tuple[Outline, ...]:
        """Outlines of all evaluations."""
        return tuple(one.outline for one in self._members)

    def with_scores(self, changed: Mapping[str, Mapping[str, Score]]) -> CompactEvaluations:
        """Return a copy with the scores of some evaluations replaced.

        Args:
            changed: New scores by record id.
        """
        return CompactEvaluations(
            one.evaluation.model_copy(update={"scores": changed[one.outline.record_id]})
            if one.outline.record_id in changed
            else one
            for one in self._members
        )

    def iter_lines(self) -> Iterator[str]:
        """Yield each evaluation as a JSON line."""
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


def list_outlines(evaluations: Sequence[Evaluation]) -> Sequence[Outlined]:
    """Return the outlines of compact evaluations, or the evaluations if they are not compact."""
    return evaluations.outlines if isinstance(evaluations, CompactEvaluations) else evaluations
