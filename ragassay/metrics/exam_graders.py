"""Agreement of graders with each other, item by item."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragassay.formats.workbench.grades import GradeFilter, GradeKind, grades_of
from ragassay.formats.workbench.paragraphs import GradedParagraph, QueryParagraphs
from ragassay.metrics.agreement import Agreement, agreement, krippendorff_alpha
from ragassay.records import Score


@dataclass(frozen=True)
class GraderPair:
    """Two graders on the items of passages that both graded.

    Attributes:
        kind: The kind of item, or "all".
        first: The first grader.
        second: The second.
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
        queries: Graded passages.
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
        for item, is_covered in grade.covered(
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
    covered = _compared(shared, left, right, _COVERED, is_rating=False)
    if covered is None:
        return None
    return GraderPair(
        kind, first, second, covered, _compared(shared, left, right, _RATED, is_rating=True)
    )


def _compared(
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
