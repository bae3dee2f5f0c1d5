"""Agreement of grades with people's judgments of the same passages (Dietz 2024, table 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from ragassay.formats.workbench.grades import GradeFilter, PassageGrade, grade_of
from ragassay.formats.workbench.paragraphs import QueryParagraphs
from ragassay.metrics.agreement import Agreement, agreement

RATINGS = (5, 4, 3, 2, 1, 0)
RELEVANT, OTHER = "relevant", "not relevant"
MIN_ANSWERS = (1, 2, 5)
"""The original's numbers of items that a passage must cover."""


@dataclass(frozen=True)
class LabelledPassage:
    """A passage that people judged.

    Attributes:
        query_id: The query.
        judgment: The highest of its judgments.
        label: By its grades; None without a grade.
    """

    query_id: str
    judgment: int
    label: int | None


@dataclass(frozen=True)
class GradeTable:
    """Labels by grades (rows) and people's judgments (columns).

    Attributes:
        labels: The rows, the highest first.
        judgments: The columns, the highest first.
        counts: Passages, row by row.
        n_unscored: Judged passages without a label.
    """

    labels: tuple[int, ...]
    judgments: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...]
    n_unscored: int


@dataclass(frozen=True)
class AnnotatorTables:
    """Agreement of grades with judgments, if a passage needs so many items.

    Attributes:
        min_answers: The least number of items that a passage must cover.
        by_grade: Grade by grade.
        binary: By the least label that counts as relevant, people's labels as the truth.
    """

    min_answers: int
    by_grade: GradeTable
    binary: Mapping[int, Agreement]


def annotator_tables(
    queries: Sequence[QueryParagraphs],
    chosen: GradeFilter,
    min_relevant: int = 1,
    min_answers: Sequence[int] = MIN_ANSWERS,
    *,
    like_original: bool = False,
) -> tuple[AnnotatorTables, ...]:
    """Compare grades with people's judgments (Dietz 2024, table 5).

    The original's kappas of single grades compare a grade with a judgment that its program pairs it
    with; they are not given here, every minimum's is.

    Args:
        queries: Graded and judged passages; others are left out.
        chosen: The grades that count; of several for a passage the first does.
        min_relevant: The least judgment that is relevant; 2 for TREC DL.
        min_answers: A table for each.
        like_original: See `passage_labels`.

    Raises:
        InputError: No passage was judged.
    """
    found: list[AnnotatorTables] = []
    for least in min_answers:
        passages = passage_labels(queries, chosen, least, like_original=like_original)
        by_grade = grade_table(passages)
        cuts = [label for label in by_grade.labels if label > 0]
        binary = {cut: _binary(passages, cut, min_relevant) for cut in reversed(cuts)}
        found.append(AnnotatorTables(least, by_grade, binary))
    return tuple(found)


def passage_labels(
    queries: Sequence[QueryParagraphs],
    chosen: GradeFilter,
    min_answers: int = 1,
    *,
    like_original: bool = False,
) -> tuple[LabelledPassage, ...]:
    """Label judged passages by their grades.

    With ratings, a passage's label is the rating that its best `min_answers` items reach, the
    lowest of all if it has fewer; without, whether it covers so many items, 1 or 0. Items without a
    grade are left out: their passage's label may be too low.

    Args:
        queries: Graded passages; one without a judgment is left out.
        chosen: The grades that count; of several for a passage the first does.
        min_answers: The number of items, 1 or more.
        like_original: As the original's program has it, a passage without a grade has the label 0,
            and without ratings a passage must cover one item more than `min_answers`.
    """
    found: list[LabelledPassage] = []
    for query in queries:
        for one in query.paragraphs:
            judgments = [judgment.relevance for judgment in one.paragraph_data.judgments]
            if judgments:
                grade = grade_of(one, chosen)
                if grade is None:
                    label = 0 if like_original else None
                else:
                    label = _label(grade, min_answers, min_answers + like_original)
                found.append(LabelledPassage(query.query_id, max(judgments), label))
    return tuple(found)


def _label(grade: PassageGrade, n_ratings: int, n_correct: int) -> int | None:
    if grade.ratings is not None:
        return min(nlargest(n_ratings, grade.ratings.values()), default=None)
    if not grade.correct and not grade.wrong:
        return None
    return int(len(grade.correct) >= n_correct)


def grade_table(passages: Sequence[LabelledPassage]) -> GradeTable:
    """Count passages by label and judgment."""
    counts = Counter((one.label, one.judgment) for one in passages if one.label is not None)
    labels = {label for label, _ in counts if label is not None}
    rows = RATINGS if max(labels, default=0) > 1 else (1, 0)
    rows = tuple(sorted({*rows, *labels}, reverse=True))
    columns = tuple(sorted({one.judgment for one in passages}, reverse=True))
    return GradeTable(
        labels=rows,
        judgments=columns,
        counts=tuple(tuple(counts[row, column] for column in columns) for row in rows),
        n_unscored=sum(one.label is None for one in passages),
    )


def _binary(passages: Sequence[LabelledPassage], cut: int, min_relevant: int) -> Agreement:
    def named(is_relevant: bool) -> str:
        """Return the label of a side."""
        return RELEVANT if is_relevant else OTHER

    return agreement(
        truth=[named(one.judgment >= min_relevant) for one in passages],
        predicted=[None if one.label is None else named(one.label >= cut) for one in passages],
        labels=(RELEVANT, OTHER),
        questions=[one.query_id for one in passages],
    )
