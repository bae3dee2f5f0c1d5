"""View of one paper, its pairs and its plots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.metrics.qa.coverage import chunk_share, pooled_coverage_score
from ragassay.metrics.qa.summary import similarities
from ragassay.records.inputs import QAPair
from ragassay.records.papers import Paper
from ragassay.records.qa import MOST_INTENT, RACAR, IntentSimilarity, PaperMeasures, RacarRating
from ragassay.reports.qa.pair_view import PairFacts, PairView, view_pair
from ragassay.reports.qa.plots import (
    Heatmap,
    Histogram,
    Places,
    closest_places,
    histogram,
    question_heatmap,
    sentence_heatmap,
)
from ragassay.reports.text import NOT_DEFINED, format_share
from ragassay.text.papers import paper_sentences

MAX_PLOTTED = 60
"""Papers whose plots a page holds: some 20 kB each."""


@dataclass(frozen=True, slots=True)
class PaperView:
    """A paper, its pairs and its plots; `rating` is the mean of all its ratings."""

    number: int
    id: str
    title: str
    n_sentences: int
    n_faulty: int
    coverage: str
    pooled: str
    pooled_value: float | None
    chunks: str
    similarity: str
    rating: float | None
    questions: Heatmap | None
    questions_by: str
    histogram: Histogram | None
    places: Places | None
    sentences: Heatmap | None
    pairs: tuple[PairView, ...]


@dataclass(frozen=True)
class PaperFacts:
    """Everything known of a paper.

    Attributes:
        id: The paper's id.
        paper: None where its text is not at hand.
        pairs: Its pairs.
        measures: None where it was not measured.
        ratings: Ratings by pair.
        intents: The judge's comparisons of its questions; may be empty.
        embedder: The model behind the cosines.
    """

    id: str
    paper: Paper | None
    pairs: Sequence[QAPair]
    measures: PaperMeasures | None
    ratings: Mapping[str, Sequence[RacarRating]]
    intents: Sequence[IntentSimilarity]
    embedder: str


def view_paper(number: int, facts: PaperFacts) -> PaperView:
    """Return the view of a paper; beyond the first `MAX_PLOTTED`, without plots.

    Args:
        number: 1-based place in the report; it names the anchors, never an id.
        facts: What is known of the paper.
    """
    is_plotted = number <= MAX_PLOTTED
    measures = facts.measures
    matrix = _intents(facts) if facts.intents else _cosines(measures)
    known = [v for i, row in enumerate(matrix) for v in row[i + 1 :] if v is not None]
    rated = [one.rating for own in facts.ratings.values() for one in own if one.rating is not None]
    rows = similarities(measures) if measures else []
    pooled = pooled_coverage_score(rows)
    own = measures.pairs if measures and is_plotted else ()
    pairs = _pairs(number, facts)
    return PaperView(
        number=number,
        id=facts.id,
        title=_title(facts),
        n_sentences=measures.n_sentences if measures else 0,
        n_faulty=sum(bool(pair.faults) for pair in pairs),
        coverage=_share(measures.coverage if measures else None),
        pooled=_share(pooled),
        pooled_value=pooled,
        chunks=_share(chunk_share(rows)),
        similarity=f"{math.fsum(known) / len(known):.2f}" if known else NOT_DEFINED,
        rating=math.fsum(rated) / len(rated) if rated else None,
        questions=question_heatmap(matrix) if is_plotted else None,
        questions_by="intent" if facts.intents else "cosine",
        histogram=histogram(known) if is_plotted else None,
        places=closest_places([p.closest for p in own], measures.n_sentences if measures else 0),
        sentences=sentence_heatmap([pair.similarity for pair in own]),
        pairs=pairs,
    )


def _title(facts: PaperFacts) -> str:
    return (facts.paper.title if facts.paper else "") or (
        facts.measures.title if facts.measures else ""
    )


def _pairs(number: int, facts: PaperFacts) -> tuple[PairView, ...]:
    sentences: list[str] = []
    if facts.paper:
        # A frozen record can be hashed, which its base class does not tell.
        found = paper_sentences(facts.paper)  # pyright: ignore[reportArgumentType]
        sentences = [one.text for one in found]
    measured = {one.pair: one for one in (facts.measures.pairs if facts.measures else ())}
    questions = {pair.id: pair.question for pair in facts.pairs}
    name = _title(facts) or facts.id
    return tuple(
        view_pair(
            place,
            name,
            number,
            PairFacts(
                pair,
                measured.get(pair.id),
                sorted(facts.ratings.get(pair.id, ()), key=lambda r: RACAR.index(r.dimension)),
                [one for one in facts.intents if pair.id in (one.first, one.second)],
                sentences,
                questions,
                facts.embedder,
            ),
        )
        for place, pair in enumerate(facts.pairs, start=1)
    )


def _cosines(measures: PaperMeasures | None) -> list[list[float | None]]:
    return [list(row) for row in measures.question_similarity] if measures else []


def _intents(facts: PaperFacts) -> list[list[float | None]]:
    """Return the judge's scores as a matrix of similarities; None where two were not compared."""
    scores = {frozenset((one.first, one.second)): one.score for one in facts.intents}
    found: list[list[float | None]] = []
    for first in facts.pairs:
        row = [scores.get(frozenset((first.id, second.id))) for second in facts.pairs]
        found.append([None if score is None else score / MOST_INTENT for score in row])
    return found


def _share(value: float | None) -> str:
    return NOT_DEFINED if value is None else format_share(value)
