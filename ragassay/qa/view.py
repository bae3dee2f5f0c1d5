"""View of a set of question-answer pairs: the worst pairs, scores, each paper's plots."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.qa.coverage import chunk_share, paper_sentences, pooled_coverage_score
from ragassay.qa.pair_view import PairFacts, PairView, view_pair
from ragassay.qa.plots import (
    Heatmap,
    Histogram,
    Places,
    closest_places,
    histogram,
    question_heatmap,
    sentence_heatmap,
)
from ragassay.qa.score_view import (
    LikenessView,
    PairScoreLine,
    view_likeness,
    view_plots,
    view_scores,
)
from ragassay.qa.scores import intent_score, qa_scores, rating_means, similarities
from ragassay.records import Score
from ragassay.records.inputs import QAPair
from ragassay.records.qa import (
    MOST_INTENT,
    RACAR,
    IntentSimilarity,
    Paper,
    PaperMeasures,
    RacarRating,
)
from ragassay.reports.charts import Plot
from ragassay.reports.display import NOT_DEFINED, count_missing, format_share
from ragassay.reports.text import count_text, join_words

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


N_WORST = 10
"""Pairs that the page opens with; further ones are folded."""


@dataclass(frozen=True)
class QAReport:
    """Everything that a report on question-answer pairs shows.

    Attributes:
        name: What was evaluated, e.g. the file's name.
        papers: The papers; one without pairs is not shown.
        pairs: The pairs; `QAPair.paper` names the paper.
        measures: Of each paper that was measured.
        ratings: RACAR's ratings of any pairs; one that failed is shown as unscored.
        intents: A judge's comparisons of questions, any.
        embedder: The model behind coverage and similarity.
        judge: The model behind ratings and comparisons; "" without any.
        cards: What is known of how well the judge and the rules do, a paragraph each.
        notes: What else a reader must know, e.g. what could not be read.
    """

    name: str
    papers: Sequence[Paper]
    pairs: Sequence[QAPair]
    measures: Sequence[PaperMeasures]
    ratings: Sequence[RacarRating] = ()
    intents: Sequence[IntentSimilarity] = ()
    embedder: str = ""
    judge: str = ""
    cards: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class QAView:
    """The whole page; `worst` are the first of the pairs with a fault, `further` the others."""

    name: str
    headline: str
    judge: str
    embedder: str
    worst: tuple[PairView, ...]
    further: tuple[PairView, ...]
    n_pairs: int
    plots: tuple[Plot, ...]
    unscored: str
    unplotted: str
    scores: tuple[PairScoreLine, ...]
    likeness: tuple[LikenessView, ...]
    papers: tuple[PaperView, ...]
    cards: tuple[str, ...]
    notes: tuple[str, ...]


def view_report(report: QAReport) -> QAView:
    """Return the view of a report; papers come by their first pair, pairs in their order."""
    papers = tuple(view_paper(i, facts) for i, facts in enumerate(_facts(report), start=1))
    pairs = [pair for paper in papers for pair in paper.pairs]
    faulty = sorted((pair for pair in pairs if pair.faults), key=lambda pair: pair.rank)
    scores = report_scores(report)
    return QAView(
        name=report.name,
        headline=_headline(report, len(papers)),
        judge=report.judge,
        embedder=report.embedder,
        worst=tuple(faulty[:N_WORST]),
        further=tuple(faulty[N_WORST:]),
        n_pairs=len(pairs),
        plots=view_plots(scores),
        unscored=_unscored([*report.ratings, *report.intents]),
        unplotted=_unplotted(len(papers)),
        scores=view_scores(scores, report.measures),
        likeness=view_likeness(report.measures, report.intents),
        papers=papers,
        cards=tuple(report.cards),
        notes=tuple(report.notes),
    )


def report_scores(report: QAReport) -> dict[str, Score]:
    """Return all scores of a report by their keys: ratings first, then what asks no judge."""
    paper_of = {pair.id: pair.paper for pair in report.pairs}
    return {
        **rating_means(report.ratings, paper_of),
        **qa_scores(report.measures, report.embedder),
        **intent_score(report.intents, paper_of),
    }


def _facts(report: QAReport) -> list[PaperFacts]:
    pairs: dict[str, list[QAPair]] = defaultdict(list)
    for pair in report.pairs:
        pairs[pair.paper].append(pair)
    paper_of = {pair.id: pair.paper for pair in report.pairs}
    ratings: dict[str, dict[str, list[RacarRating]]] = defaultdict(lambda: defaultdict(list))
    for rating in report.ratings:
        if rating.pair in paper_of:
            ratings[paper_of[rating.pair]][rating.pair].append(rating)
    intents: dict[str, list[IntentSimilarity]] = defaultdict(list)
    for one in report.intents:
        if one.first in paper_of:
            intents[paper_of[one.first]].append(one)
    papers = {paper.id: paper for paper in report.papers}
    measures = {one.paper: one for one in report.measures}
    return [
        PaperFacts(
            name,
            papers.get(name),
            own,
            measures.get(name),
            ratings[name],
            intents[name],
            report.embedder,
        )
        for name, own in pairs.items()
    ]


def _unscored(verdicts: Sequence[RacarRating | IntentSimilarity]) -> str:
    """Say what the judge could not tell; empty where it told everything."""
    missing = [one.failure for one in verdicts if one.value is None and one.said is None]
    n_undecided = sum(bool(one and one.is_undecided) for one in missing)
    said = join_words(count_missing(n_undecided, len(missing) - n_undecided, "not to be had"))
    of = count_text(len(verdicts), "judgment")
    return f"Of {of}, {said}: left out of every mean, never counted as zero." if said else ""


def _unplotted(n_papers: int) -> str:
    if n_papers <= MAX_PLOTTED:
        return ""
    return f"Plots are drawn of the first {MAX_PLOTTED} papers; the tables have the figures of all."


def _headline(report: QAReport, n_papers: int) -> str:
    who = f"{count_text(len(report.pairs), 'pair')} on {count_text(n_papers, 'paper')}"
    measured = [pair for paper in report.measures for pair in paper.pairs]
    n_wrong = sum(any(not one.is_found for one in pair.numbers) for pair in measured)
    n_astray = sum(any(n.is_found and not n.is_near for n in pair.numbers) for pair in measured)
    n_bound = sum(any(mark.part == "question" for mark in pair.context) for pair in measured)
    n_low = len({one.pair for one in report.ratings if one.rating == 1})
    n_blank = sum(not pair.answer.strip() for pair in report.pairs)
    clauses = (
        (n_low, "pair is rated 1 of 3", "pairs are rated 1 of 3"),
        (n_blank, "answer is empty", "answers are empty"),
        (
            n_wrong,
            "answer has a number that the paper does not have",
            "answers have a number that the paper does not have",
        ),
        (n_bound, "question needs the paper", "questions need the paper"),
        (
            n_astray,
            "answer has a number that is worth a look",
            "answers have a number that is worth a look",
        ),
    )
    said = join_words(count_text(n, one, several) for n, one, several in clauses if n)
    return f"{who}: {said or 'nothing was found wrong'}."
