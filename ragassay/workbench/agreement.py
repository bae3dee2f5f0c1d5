"""Agreement between graders, and between graders and human judges (Dietz 2024, table 5)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from ragassay.formats.workbench.paragraphs import GradedParagraph, QueryParagraphs
from ragassay.metrics.stats.agreement import Agreement, krippendorff_alpha, measure_agreement
from ragassay.records import Score
from ragassay.workbench.grades import (
    GradeFilter,
    GradeKind,
    PassageGrade,
    find_grade,
    select_grades,
)


@dataclass(frozen=True)
class GraderPair:
    """Agreement between two graders on the items that both graded.

    Attributes:
        kind: Item kind, or "all".
        covered: Agreement on whether passages cover items. The first grader is the reference.
        ratings: Agreement on ratings, or None if either grader assigns no ratings.
    """

    kind: str
    first: str
    second: str
    covered: Agreement
    ratings: Agreement | None


@dataclass(frozen=True)
class GraderAgreement:
    """Agreement between all graders.

    Attributes:
        pairs: Agreement of every two graders of the same item kind, and then of every two models
            over the prompt classes that both use.
        alpha: Nominal Krippendorff's alpha for item coverage, by kind and for "all".
        rating_alpha: Ordinal Krippendorff's alpha for ratings, by kind of item that at least two
            graders rate.
    """

    pairs: tuple[GraderPair, ...]
    alpha: Mapping[str, Score]
    rating_alpha: Mapping[str, Score]


ALL = "all"
Unit = tuple[str, str, str]
"""What a grader grades, as query id, passage id and item id."""

Grader = tuple[GradeKind, str, str]
"""A grader, as item kind, prompt class and model."""

_Verdicts = dict[Unit, tuple["bool | None", "int | None"]]
_COVERED = ("no", "yes")
_RATED = ("0", "1", "2", "3", "4", "5")


def compare_graders(
    queries: Sequence[QueryParagraphs], chosen: GradeFilter, min_rating: int | None = None
) -> GraderAgreement:
    """Compare graders item by item. A grader is a model with a prompt class.

    Args:
        min_rating: Lowest rating that covers an item, or None to use correctness.

    Returns:
        Agreement between the graders, which is empty if no kind of item has two graders. A pair
        ignores items that only one of its graders attempted, and counts items as unscored if
        grading failed.
    """
    graders: dict[Grader, _Verdicts] = {}
    for query in queries:
        for paragraph in query.paragraphs:
            _collect_verdicts(graders, query.query_id, paragraph, chosen, min_rating)
    pairs = [
        _compare_pair(
            first[0],
            _describe_grader(first),
            _describe_grader(second),
            graders[first],
            graders[second],
        )
        for first, second in itertools.combinations(graders, 2)
        if first[0] == second[0]
    ]
    pairs += _compare_models(graders)
    by_kind: dict[str, list[_Verdicts]] = {}
    for (kind, _, _), verdicts in graders.items():
        by_kind.setdefault(kind, []).append(verdicts)
    shared = {kind: group for kind, group in by_kind.items() if len(group) > 1}
    return GraderAgreement(
        pairs=tuple(pair for pair in pairs if pair is not None),
        alpha=_compute_alphas(shared, is_rating=False),
        rating_alpha=_compute_alphas(shared, is_rating=True),
    )


def _collect_verdicts(
    graders: dict[Grader, _Verdicts],
    query: str,
    paragraph: GradedParagraph,
    chosen: GradeFilter,
    min_rating: int | None,
) -> None:
    for grade in select_grades(paragraph, chosen):
        verdicts = graders.setdefault((grade.kind, grade.prompt_class, grade.model), {})
        ratings = grade.ratings or {}
        threshold = None if grade.ratings is None else min_rating
        for item, is_covered in grade.check_cover(threshold).items():
            unit = query, paragraph.paragraph_id, item
            verdicts.setdefault(unit, (is_covered, ratings.get(item)))


def _describe_grader(grader: Grader) -> str:
    _, prompt_class, model = grader
    return f"{prompt_class} by {model}" if model else prompt_class


def _compare_models(graders: Mapping[Grader, _Verdicts]) -> list[GraderPair | None]:
    """Compare models over all item kinds, using the prompt classes that both models share."""
    models = list(dict.fromkeys(model for *_, model in graders))
    pairs: list[GraderPair | None] = []
    for first, second in itertools.combinations(models, 2):
        joined: tuple[_Verdicts, _Verdicts] = ({}, {})
        for kind, name, model in graders:
            if model == first and (kind, name, second) in graders:
                for own_model, verdicts in zip((first, second), joined, strict=True):
                    own = graders[kind, name, own_model]
                    verdicts.update({(q, p, f"{name}/{i}"): v for (q, p, i), v in own.items()})
        pairs.append(_compare_pair(ALL, first, second, *joined))
    return pairs


def _compare_pair(
    kind: str, first: str, second: str, left: _Verdicts, right: _Verdicts
) -> GraderPair | None:
    shared = [unit for unit in left if unit in right]
    covered = _compare_verdicts(shared, left, right, _COVERED, is_rating=False)
    if covered is None:
        return None
    ratings = _compare_verdicts(shared, left, right, _RATED, is_rating=True)
    return GraderPair(kind, first, second, covered, ratings)


def _compare_verdicts(
    units: Sequence[Unit],
    left: _Verdicts,
    right: _Verdicts,
    labels: Sequence[str],
    *,
    is_rating: bool,
) -> Agreement | None:
    """Compare two graders, or return None if they graded no common items.

    An item without a verdict from both graders is unscored. If only the first verdict is missing,
    the second is the reference, because kappa is symmetric.
    """
    rows = [(_to_text(left[unit], is_rating), _to_text(right[unit], is_rating)) for unit in units]
    if not units or (is_rating and not any(a and b for a, b in rows)):
        return None
    return measure_agreement(
        truth=[a or b or labels[0] for a, b in rows],
        predicted=[b if a else None for a, b in rows],
        labels=labels,
        questions=[query for query, _, _ in units],
        is_ordered=is_rating,
    )


def _to_text(verdict: tuple[bool | None, int | None], is_rating: bool) -> str | None:
    covered, rating = verdict
    if is_rating:
        return None if rating is None else str(rating)
    return None if covered is None else _COVERED[covered]


def _compute_alphas(
    shared: Mapping[str, Sequence[_Verdicts]], *, is_rating: bool
) -> dict[str, Score]:
    rows_by_kind: dict[str, list[tuple[Unit, list[str]]]] = {}
    for kind, graders in shared.items():
        labels: dict[Unit, list[str]] = {}
        for verdicts in graders:
            for unit, verdict in verdicts.items():
                label = _to_text(verdict, is_rating)
                labels.setdefault(unit, []).extend(() if label is None else (label,))
        if not is_rating or any(len(ratings) > 1 for ratings in labels.values()):
            rows_by_kind[kind] = list(labels.items())
    if len(rows_by_kind) > 1:
        rows_by_kind[ALL] = list(itertools.chain.from_iterable(rows_by_kind.values()))
    return {
        kind: krippendorff_alpha(
            [labels for _, labels in rows],
            _RATED if is_rating else _COVERED,
            "ordinal" if is_rating else "nominal",
            [query for (query, _, _), _ in rows],
        )
        for kind, rows in rows_by_kind.items()
    }


RATINGS = (5, 4, 3, 2, 1, 0)
RELEVANT, OTHER = "relevant", "not relevant"
MIN_ANSWERS = (1, 2, 5)
"""Minimum numbers of covered items, as in Dietz 2024."""


@dataclass(frozen=True)
class LabelledPassage:
    """A passage that was judged by humans.

    Attributes:
        label: Label derived from the grades, or None if there are no grades.
    """

    query_id: str
    judgment: int
    label: int | None


@dataclass(frozen=True)
class GradeTable:
    """Contingency table of labels (rows) and human judgments (columns).

    Attributes:
        counts: Number of passages in each cell, row by row.
        n_unscored: Number of judged passages that have no label.
    """

    labels: tuple[int, ...]
    judgments: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...]
    n_unscored: int


@dataclass(frozen=True)
class AnnotatorTables:
    """Agreement between grades and human judgments.

    Attributes:
        min_answers: Number of items that a relevant passage covers at least.
        binary: Agreement on binary relevance with human judgments as the reference, keyed by the
            lowest label that counts as relevant.
    """

    min_answers: int
    by_grade: GradeTable
    binary: Mapping[int, Agreement]


def compare_annotators(
    queries: Sequence[QueryParagraphs],
    chosen: GradeFilter,
    min_relevant: int = 1,
    min_answers: Sequence[int] = MIN_ANSWERS,
    *,
    like_original: bool = False,
) -> tuple[AnnotatorTables, ...]:
    """Compare grades with human judgments (Dietz 2024, table 5).

    Kappa is computed for each label that can be the lowest relevant one. It differs from the kappa
    of the original program, which pairs single grades with single judgments.

    Args:
        queries: Passages of each query. Passages without judgments are skipped.
        chosen: Filter that selects the first matching grade of each passage.
        min_relevant: Lowest judgment that counts as relevant, which is 2 for TREC DL.
        min_answers: Minimum numbers of covered items, with one table for each.
        like_original: See `label_judged_passages`.

    Raises:
        InputError: There are no judged passages.
    """
    tables: list[AnnotatorTables] = []
    for least in min_answers:
        passages = label_judged_passages(queries, chosen, least, like_original=like_original)
        by_grade = tabulate_grades(passages)
        cuts = [label for label in by_grade.labels if label > 0]
        binary = {cut: _compare_binary(passages, cut, min_relevant) for cut in reversed(cuts)}
        tables.append(AnnotatorTables(least, by_grade, binary))
    return tuple(tables)


def label_judged_passages(
    queries: Sequence[QueryParagraphs],
    chosen: GradeFilter,
    min_answers: int = 1,
    *,
    like_original: bool = False,
) -> tuple[LabelledPassage, ...]:
    """Label judged passages by their grades.

    If there are ratings, the label is the `min_answers`-th highest rating, or the lowest rating if
    there are fewer ratings. Otherwise, the label is 1 if at least `min_answers` items are correct,
    and 0 if not. Ungraded items are ignored, so labels may be too low.

    Args:
        queries: Passages of each query. Passages without judgments are skipped.
        chosen: Filter that selects the first matching grade of each passage.
        min_answers: Number of items that a passage must cover, at least 1.
        like_original: Whether to follow the original program: ungraded passages are labelled 0, and
            if there are no ratings, a passage must cover `min_answers` + 1 items.
    """
    labelled: list[LabelledPassage] = []
    for query in queries:
        for paragraph in query.paragraphs:
            judgments = [judgment.relevance for judgment in paragraph.paragraph_data.judgments]
            if judgments:
                grade = find_grade(paragraph, chosen)
                if grade is None:
                    label = 0 if like_original else None
                else:
                    label = _label_grade(grade, min_answers, min_answers + like_original)
                labelled.append(LabelledPassage(query.query_id, max(judgments), label))
    return tuple(labelled)


def _label_grade(grade: PassageGrade, n_ratings: int, n_correct: int) -> int | None:
    if grade.ratings is not None:
        return min(nlargest(n_ratings, grade.ratings.values()), default=None)
    if not grade.correct and not grade.wrong:
        return None
    return int(len(grade.correct) >= n_correct)


def tabulate_grades(passages: Sequence[LabelledPassage]) -> GradeTable:
    """Count the passages with each label and judgment."""
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


def _compare_binary(passages: Sequence[LabelledPassage], cut: int, min_relevant: int) -> Agreement:
    sides = (OTHER, RELEVANT)
    return measure_agreement(
        truth=[sides[one.judgment >= min_relevant] for one in passages],
        predicted=[None if one.label is None else sides[one.label >= cut] for one in passages],
        labels=(RELEVANT, OTHER),
        questions=[one.query_id for one in passages],
    )
