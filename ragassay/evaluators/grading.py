"""The grading of passages in a run: by the judge, or by an instrument in its place; the ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from ragassay.errors import SettingsError
from ragassay.instruments.exam_grader import ExamInstrument
from ragassay.judges import BaseJudge
from ragassay.records import DirectGrader, ExamGrader, GradeWay
from ragassay.settings import Settings


@dataclass(frozen=True)
class Grading:
    """The grading of passages.

    Attributes:
        name: Name of what grades.
        instrument: It, where it is not the judge.
        ways: The ways that the run grades in; none where nobody grades.
        items_per_call: Items that a judge rates in one call.
    """

    name: str
    instrument: ExamInstrument | None
    ways: tuple[GradeWay, ...]
    items_per_call: int

    @classmethod
    def of(cls, settings: Settings, judge: BaseJudge, instrument: ExamInstrument | None) -> Grading:
        """Return the grading that the settings ask for.

        Raises:
            SettingsError: The instrument does not know one of the ways.
        """
        ways = settings.grading.grades if instrument is not None or judge.lm is not None else ()
        if instrument is not None:
            known = instrument.graders | instrument.direct_graders
            strange = next((way for way in ways if way not in known), None)
            if strange is not None:
                raise SettingsError(
                    f"grades {strange}: {instrument.name} knows {', '.join(sorted(known))}; name "
                    "a judge for others (--model openai/gpt-4.1-mini)"
                )
        name = instrument.name if instrument else judge.answered_by
        return cls(name, instrument, ways, settings.grading.items_per_call)

    @property
    def identity(self) -> tuple[str, ...]:
        """All that grades depend on besides the texts and the prompts."""
        return self.instrument.identity if self.instrument else (self.name,)

    @property
    def item_ways(self) -> tuple[ExamGrader, ...]:
        """The ways to grade by items of a test bank."""
        ways: tuple[Any, ...] = self.ways
        return tuple(way for way in ways if way in get_args(ExamGrader))

    @property
    def direct_ways(self) -> tuple[DirectGrader, ...]:
        """The ways to grade relevance without a test bank."""
        ways: tuple[Any, ...] = self.ways
        return tuple(way for way in ways if way in get_args(DirectGrader))

    def n_items_of(self, way: ExamGrader) -> int:
        """Return how many items one call grades; 0 for all of a kind."""
        if self.instrument is not None:
            return 0
        return self.items_per_call if way == "rating" else 1
