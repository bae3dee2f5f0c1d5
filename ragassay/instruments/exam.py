"""Define the interface of graders of passages that need no hosted language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ragassay.records import DirectGrader, ExamGrade, ExamGrader, ExamItem, RelevanceGrade


class ExamInstrument(Protocol):
    """Grades passages. Calls compute, so make them in a thread; they are safe across threads.

    Attributes:
        name: Its name in reports.
        digest: SHA-256 of its numbers or weights; empty where not known.
        graders: How it can grade items.
        direct_graders: How it can grade relevance; empty where it cannot.
    """

    name: str
    digest: str
    graders: frozenset[ExamGrader]
    direct_graders: frozenset[DirectGrader]

    @property
    def identity(self) -> tuple[str, ...]:
        """Name, digests and bounds: all that its grades depend on besides the texts."""
        ...

    def grade(
        self,
        items: Sequence[ExamItem],
        passage: str,
        query: str = "",
        grader: ExamGrader = "rating",
    ) -> list[ExamGrade]:
        """Grade a passage by all items of a bank, in one batch.

        Args:
            items: Questions and nuggets, in any order; may be empty.
            passage: The passage.
            query: The query's text, for those that use it.
            grader: One of `graders`.

        Returns:
            A grade for each item, in their order; one that it cannot tell is undecided.

        Raises:
            SettingsError: The model is unavailable, or cannot grade so.
        """
        ...

    def relevance(self, query: str, passage: str, grader: DirectGrader) -> RelevanceGrade:
        """Grade a passage's relevance to its query, without items.

        Raises:
            SettingsError: The model is unavailable, or cannot grade so.
        """
        ...
