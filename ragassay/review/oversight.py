"""The oversight of a graded file: the tables of `ragassay grades`, as a person asks for them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.formats.workbench.grades import GradeFilter, grade_of, grades_of
from ragassay.formats.workbench.paragraphs import QueryParagraphs
from ragassay.metrics.bank_oversight import (
    ItemUse,
    MissingPassage,
    item_uses,
    missing_passages,
)
from ragassay.metrics.exam_graders import GraderAgreement, grader_agreement
from ragassay.metrics.oversight import CheckedItem, Grid, Relevance, checked_items, grids
from ragassay.runs.grades import GradedFile

N_KEPT = 32
"""So many sets of tables are kept, the last ones that were asked for."""

RATINGS = tuple(range(1, 6))
LEVELS = (1, 2, 3)


@dataclass(frozen=True)
class Asked:
    """The tables that a person asked for.

    Attributes:
        query: The query; empty for all.
        grader: A name of `Oversight.graders`.
        min_rating: The least rating that covers an item; None takes what is marked as correct.
        min_relevant: The least judgment that is relevant.
    """

    query: str
    grader: str
    min_rating: int | None = None
    min_relevant: int = 1


@dataclass(frozen=True)
class Found:
    """The findings that the tables show; see the metrics of the same names.

    Attributes:
        grader: Accepts the grades that count.
        checked: Each grade beside what was extracted; none where all queries are asked for.
        grid: The same by passage and item.
        missing: Relevant passages that no item covers.
        uses: Items, by how many non-relevant passages cover them.
        agreement: Of all graders.
        notes: What to know of them.
    """

    grader: GradeFilter
    checked: tuple[CheckedItem, ...]
    grid: Grid | None
    missing: tuple[MissingPassage, ...]
    uses: tuple[ItemUse, ...]
    agreement: GraderAgreement
    notes: tuple[str, ...]


class Oversight:
    """Oversees a graded file. Threads may share it.

    Args:
        file: The file.
        names: Texts of queries, as far as they are known.

    Attributes:
        queries: Queries with their names.
    """

    def __init__(self, file: GradedFile, names: Mapping[str, str]) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._found = functools.lru_cache(maxsize=N_KEPT)(self._compute)
        self.queries = {
            one.query_id: f"{one.query_id}: {names[one.query_id]}"
            if names.get(one.query_id)
            else one.query_id
            for one in file.queries
        }

    @functools.cached_property
    def graders(self) -> dict[str, GradeFilter]:
        """The graders: a model with a class of prompts and a kind of item, by name."""
        return _graders(self._file.queries)

    @functools.cached_property
    def is_judged(self) -> bool:
        """True where some passage has a judgment."""
        every = (one for query in self._file.queries for one in query.paragraphs)
        return any(one.paragraph_data.judgments for one in every)

    def asked(self, given: Mapping[str, str]) -> Asked:
        """Read what is asked for from an address; in place of what is unknown, the first one."""
        query, grader = given.get("query"), given.get("grader", "")
        rating, level = given.get("rating", ""), given.get("relevant", "")
        return Asked(
            query=query if query in self.queries or query == "" else next(iter(self.queries)),
            grader=grader if grader in self.graders else next(iter(self.graders)),
            min_rating=int(rating) if rating in map(str, RATINGS) else None,
            min_relevant=int(level) if level in map(str, LEVELS) else LEVELS[0],
        )

    def found(self, asked: Asked) -> Found:
        """Return what the tables show: from the metrics, once for each thing asked for."""
        with self._lock:
            return self._found(asked)

    def _compute(self, asked: Asked) -> Found:
        chosen, texts = self.graders[asked.grader], self._file.texts
        queries = self._file.only(asked.query or None)
        relevance, notes = self._relevance(asked, chosen)
        if not texts and chosen.items != "direct":
            notes.append("Start the page with --testbank BANK to read the items' texts.")
        least = asked.min_rating
        if least is not None and not _all_rated(queries, chosen):
            least = None
            notes.append("This grader gives no ratings: what it marked as correct counts.")
        checked = (
            checked_items(queries, chosen, None, least, texts, relevance) if asked.query else ()
        )
        return Found(
            grader=chosen,
            checked=checked,
            grid=next(iter(grids(checked)), None),
            missing=missing_passages(queries, chosen, relevance, least),
            uses=item_uses(queries, chosen, relevance, least, texts),
            agreement=grader_agreement(queries, GradeFilter(), asked.min_rating),
            notes=tuple(notes),
        )

    def _relevance(self, asked: Asked, chosen: GradeFilter) -> tuple[Relevance, list[str]]:
        """Return what is relevant: by judgments; without any, by direct grades of another kind."""
        if self.is_judged:
            return Relevance(asked.min_relevant), []
        direct = [one for one in self.graders.values() if one.items == "direct"]
        if not direct or chosen.items == "direct":
            unknown = "Nobody judged these passages: what is missing or spurious is not known."
            return Relevance(asked.min_relevant), [unknown]
        note = f"Nobody judged these passages: in place of judgments, {direct[0]} grades count."
        return Relevance(asked.min_relevant, direct[0]), [note]


def _graders(queries: Sequence[QueryParagraphs]) -> dict[str, GradeFilter]:
    """Return a filter for each model with a class of prompts and a kind of item."""
    found: dict[GradeFilter, None] = {}
    for query in queries:
        for one in query.paragraphs:
            for grade in grades_of(one, GradeFilter()):
                found[GradeFilter(grade.model, grade.prompt_class, grade.kind)] = None
    return {_name(one): one for one in found}


def _name(one: GradeFilter) -> str:
    asked = one.prompt_class or "unnamed prompt"
    return f"{asked} by {one.model}, {one.items}" if one.model else f"{asked}, {one.items}"


def _all_rated(queries: Sequence[QueryParagraphs], chosen: GradeFilter) -> bool:
    grades = (grade_of(one, chosen) for query in queries for one in query.paragraphs)
    return all(grade.ratings is not None for grade in grades if grade is not None)
