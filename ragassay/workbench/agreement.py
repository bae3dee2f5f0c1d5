"""Agreement of graders with each other and with people (Dietz 2024, table 5)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from ragassay.formats.workbench.paragraphs import GradedParagraph, QueryParagraphs
from ragassay.metrics.stats.agreement import Agreement, agreement, krippendorff_alpha
from ragassay.records import Score
from ragassay.workbench.grades import GradeFilter, GradeKind, PassageGrade, grade_of, grades_of


@dataclass(frozen=True)
class GraderPair:
    """Two graders on the items of passages that both graded.

    Attributes:
        kind: The kind of item, or "all".
        covered: Whether an item is covered, the first's verdicts as the truth.
        ratings: Their ratings; None where one of them does not rate.
    """

    kind: str
    first: str
    second: str
    covered: Agreement
    ratings: Agreement | None


@dataclass(frozen=True)
class GraderAgreement:
    """Agreement of all graders.

    Attributes:
        pairs: Each pair within a kind; then each pair of models with the same prompts, over all.
        alpha: Krippendorff's alpha (nominal) of whether an item is covered, by kind and for "all".
        rating_alpha: The same of the ratings (ordinal); kinds with two raters only.
    """

    pairs: tuple[GraderPair, ...]
    alpha: Mapping[str, Score]
    rating_alpha: Mapping[str, Score]


ALL = "all"
Unit = tuple[str, str, str]
"""Query, passage, item."""

Grader = tuple[GradeKind, str, str]
"""Kind of item, class of prompts, model."""

_Verdicts = dict[Unit, tuple["bool | None", "int | None"]]
_COVERED = ("no", "yes")
_RATED = ("0", "1", "2", "3", "4", "5")


def grader_agreement(
    queries: Sequence[QueryParagraphs], chosen: GradeFilter, min_rating: int | None = None
) -> GraderAgreement:
    """Compare graders, a model with a prompt class each, item by item.

    Args:
        chosen: The grades that count, all of them.
        min_rating: The least rating that covers an item, for graders that rate; None takes what is
            marked as correct.

    Returns:
        Empty where no kind has two graders. An item that one of two did not grade is left out of
        their pair; if it failed there, it is counted as unscored.
    """
    graders: dict[Grader, _Verdicts] = {}
    for query in queries:
        for one in query.paragraphs:
            _collect(graders, query.query_id, one, chosen, min_rating)
    pairs = [
        _pair(first[0], _name(first), _name(second), graders[first], graders[second])
        for first, second in itertools.combinations(graders, 2)
        if first[0] == second[0]
    ]
    pairs += _model_pairs(graders)
    by_kind: dict[str, list[_Verdicts]] = {}
    for (kind, _, _), verdicts in graders.items():
        by_kind.setdefault(kind, []).append(verdicts)
    shared = {kind: found for kind, found in by_kind.items() if len(found) > 1}
    return GraderAgreement(
        pairs=tuple(one for one in pairs if one is not None),
        alpha=_alphas(shared, is_rating=False),
        rating_alpha=_alphas(shared, is_rating=True),
    )


def _collect(
    graders: dict[Grader, _Verdicts],
    query: str,
    paragraph: GradedParagraph,
    chosen: GradeFilter,
    min_rating: int | None,
) -> None:
    for grade in grades_of(paragraph, chosen):
        verdicts = graders.setdefault((grade.kind, grade.prompt_class, grade.model), {})
        ratings = grade.ratings or {}
        for item, is_covered in grade.check_cover(
            None if grade.ratings is None else min_rating
        ).items():
            unit = query, paragraph.paragraph_id, item
            verdicts.setdefault(unit, (is_covered, ratings.get(item)))


def _name(grader: Grader) -> str:
    _, prompt_class, model = grader
    return f"{prompt_class} by {model}" if model else prompt_class


def _model_pairs(
    graders: Mapping[Grader, _Verdicts],
) -> list[GraderPair | None]:
    """Pair models over all kinds, by the prompt classes that both have."""
    models = list(dict.fromkeys(model for *_, model in graders))
    found: list[GraderPair | None] = []
    for first, second in itertools.combinations(models, 2):
        joined: tuple[_Verdicts, _Verdicts] = ({}, {})
        for kind, name, model in list(graders):
            if model == first and (kind, name, second) in graders:
                for own_model, verdicts in zip((first, second), joined, strict=True):
                    own = graders[kind, name, own_model]
                    verdicts.update({(q, p, f"{name}/{i}"): v for (q, p, i), v in own.items()})
        found.append(_pair(ALL, first, second, *joined))
    return found


def _pair(
    kind: str, first: str, second: str, left: _Verdicts, right: _Verdicts
) -> GraderPair | None:
    shared = [unit for unit in left if unit in right]
    covered = _compare_graders(shared, left, right, _COVERED, is_rating=False)
    if covered is None:
        return None
    return GraderPair(
        kind, first, second, covered, _compare_graders(shared, left, right, _RATED, is_rating=True)
    )


def _compare_graders(
    units: Sequence[Unit],
    left: _Verdicts,
    right: _Verdicts,
    labels: Sequence[str],
    *,
    is_rating: bool,
) -> Agreement | None:
    """Compare two graders; None where there is nothing that both could have graded.

    What either has no verdict on is unscored. Kappa has no order of its raters: where only the
    first has none, the other's verdict stands in its place.
    """
    rows = [(_word(left[unit], is_rating), _word(right[unit], is_rating)) for unit in units]
    if not units or (is_rating and not any(a and b for a, b in rows)):
        return None
    return agreement(
        truth=[a or b or labels[0] for a, b in rows],
        predicted=[b if a else None for a, b in rows],
        labels=labels,
        questions=[query for query, _, _ in units],
        is_ordered=is_rating,
    )


def _word(verdict: tuple[bool | None, int | None], is_rating: bool) -> str | None:
    covered, rating = verdict
    if is_rating:
        return None if rating is None else str(rating)
    return None if covered is None else _COVERED[covered]


def _alphas(shared: Mapping[str, Sequence[_Verdicts]], *, is_rating: bool) -> dict[str, Score]:
    units: dict[str, dict[Unit, list[str]]] = {}
    for kind, graders in shared.items():
        found: dict[Unit, list[str]] = {}
        for verdicts in graders:
            for unit, verdict in verdicts.items():
                word = _word(verdict, is_rating)
                found.setdefault(unit, []).extend(() if word is None else (word,))
        if not is_rating or any(len(words) > 1 for words in found.values()):
            units[kind] = found
    labels = _RATED if is_rating else _COVERED
    scores = {kind: _alpha(found.items(), labels, is_rating) for kind, found in units.items()}
    if len(units) > 1:
        every = itertools.chain.from_iterable(found.items() for found in units.values())
        scores[ALL] = _alpha(every, labels, is_rating)
    return scores


def _alpha(
    units: Iterable[tuple[Unit, list[str]]], labels: Sequence[str], is_rating: bool
) -> Score:
    rows = list(units)
    return krippendorff_alpha(
        [words for _, words in rows],
        labels,
        "ordinal" if is_rating else "nominal",
        [query for (query, _, _), _ in rows],
    )


RATINGS = (5, 4, 3, 2, 1, 0)
RELEVANT, OTHER = "relevant", "not relevant"
MIN_ANSWERS = (1, 2, 5)
"""The original's numbers of items that a passage must cover."""


@dataclass(frozen=True)
class LabelledPassage:
    """A passage that people judged.

    Attributes:
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
    def name_side(is_relevant: bool) -> str:
        """Return the label of a side."""
        return RELEVANT if is_relevant else OTHER

    return agreement(
        truth=[name_side(one.judgment >= min_relevant) for one in passages],
        predicted=[None if one.label is None else name_side(one.label >= cut) for one in passages],
        labels=(RELEVANT, OTHER),
        questions=[one.query_id for one in passages],
    )
