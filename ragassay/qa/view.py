"""View of a set of question-answer pairs: the worst pairs, scores, each paper's plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragassay.qa.measures import chunk_share, paper_sentences, pooled_coverage_score
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
class _PaperFacts:
    """Everything known of a paper; its text, and its measures, may be missing."""

    id: str
    paper: Paper | None
    measures: PaperMeasures | None
    embedder: str
    pairs: list[QAPair] = field(default_factory=list[QAPair])
    ratings: list[RacarRating] = field(default_factory=list[RacarRating])
    intents: list[IntentSimilarity] = field(default_factory=list[IntentSimilarity])

    @property
    def title(self) -> str:
        """The paper's title; empty where it is not known."""
        titles = (one.title for one in (self.paper, self.measures) if one)
        return next(filter(None, titles), "")


def _view_paper(number: int, facts: _PaperFacts) -> PaperView:
    """Return the view of a paper, by its 1-based place; beyond `MAX_PLOTTED`, without plots."""
    is_plotted = number <= MAX_PLOTTED
    measures = facts.measures
    n_sentences = measures.n_sentences if measures else 0
    matrix: Sequence[Sequence[float | None]] = measures.question_similarity if measures else ()
    if facts.intents:
        matrix = _intents(facts)
    known = [v for i, row in enumerate(matrix) for v in row[i + 1 :] if v is not None]
    rated = [one.rating for one in facts.ratings if one.rating is not None]
    rows = similarities(measures) if measures else []
    pooled = pooled_coverage_score(rows)
    own = measures.pairs if measures and is_plotted else ()
    pairs = _view_pairs(number, facts)
    return PaperView(
        number=number,
        id=facts.id,
        title=facts.title,
        n_sentences=n_sentences,
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
        places=closest_places([pair.closest for pair in own], n_sentences),
        sentences=sentence_heatmap([pair.similarity for pair in own]),
        pairs=pairs,
    )


def _view_pairs(number: int, facts: _PaperFacts) -> tuple[PairView, ...]:
    sentences: list[str] = []
    if facts.paper:
        # A frozen record can be hashed, which its base class does not tell.
        found = paper_sentences(facts.paper)  # pyright: ignore[reportArgumentType]
        sentences = [one.text for one in found]
    measured = {one.pair: one for one in (facts.measures.pairs if facts.measures else ())}
    questions = {pair.id: pair.question for pair in facts.pairs}
    ratings = sorted(facts.ratings, key=lambda rating: RACAR.index(rating.dimension))
    views: list[PairView] = []
    for place, pair in enumerate(facts.pairs, start=1):
        told = PairFacts(
            pair,
            measured.get(pair.id),
            [one for one in ratings if one.pair == pair.id],
            [one for one in facts.intents if pair.id in (one.first, one.second)],
            sentences,
            questions,
            facts.embedder,
        )
        views.append(view_pair(place, facts.title or facts.id, number, told))
    return tuple(views)


def _intents(facts: _PaperFacts) -> list[list[float | None]]:
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
    """Everything that a report on question-answer pairs shows; a paper without pairs is not shown.

    Attributes:
        name: What was evaluated, e.g. the file's name.
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
    papers = tuple(_view_paper(i, facts) for i, facts in enumerate(_facts(report), start=1))
    pairs = [pair for paper in papers for pair in paper.pairs]
    faulty = sorted((pair for pair in pairs if pair.faults), key=lambda pair: pair.rank)
    scores = report_scores(report)
    drawn = f"Plots are drawn of the first {MAX_PLOTTED} papers"
    unplotted = f"{drawn}; the tables have the figures of all."
    return QAView(
        name=report.name,
        headline=_headline(report, len(papers)),
        judge=report.judge,
        embedder=report.embedder,
        worst=tuple(faulty[:N_WORST]),
        further=tuple(faulty[N_WORST:]),
        n_pairs=len(pairs),
        plots=view_plots(scores),
        unscored=_describe_unscored([*report.ratings, *report.intents]),
        unplotted=unplotted if len(papers) > MAX_PLOTTED else "",
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


def _facts(report: QAReport) -> list[_PaperFacts]:
    papers = {paper.id: paper for paper in report.papers}
    measures = {one.paper: one for one in report.measures}
    found: dict[str, _PaperFacts] = {}
    of_pair: dict[str, _PaperFacts] = {}
    for pair in report.pairs:
        name = pair.paper
        if name not in found:
            found[name] = _PaperFacts(name, papers.get(name), measures.get(name), report.embedder)
        found[name].pairs.append(pair)
        of_pair[pair.id] = found[name]
    for rating in report.ratings:
        if rating.pair in of_pair:
            of_pair[rating.pair].ratings.append(rating)
    for one in report.intents:
        if one.first in of_pair:
            of_pair[one.first].intents.append(one)
    return list(found.values())


def _describe_unscored(verdicts: Sequence[RacarRating | IntentSimilarity]) -> str:
    """Say what the judge could not tell; empty where it told everything."""
    missing = [one.failure for one in verdicts if one.value is None and one.choice is None]
    n_undecided = sum(bool(one and one.is_undecided) for one in missing)
    missing_text = join_words(
        count_missing(n_undecided, len(missing) - n_undecided, "not to be had")
    )
    of = count_text(len(verdicts), "judgment")
    return (
        f"Of {of}, {missing_text}: left out of every mean, never counted as zero."
        if missing_text
        else ""
    )


def _headline(report: QAReport, n_papers: int) -> str:
    who = f"{count_text(len(report.pairs), 'pair')} on {count_text(n_papers, 'paper')}"
    measured = [pair for paper in report.measures for pair in paper.pairs]
    n_wrong = sum(any(not one.is_found for one in pair.numbers) for pair in measured)
    n_astray = sum(any(n.is_found and not n.is_near for n in pair.numbers) for pair in measured)
    n_bound = sum(any(mark.part == "question" for mark in pair.context) for pair in measured)
    n_low = len({one.pair for one in report.ratings if one.rating == 1})
    n_blank = sum(not pair.answer.strip() for pair in report.pairs)
    lacked, astray = "that the paper does not have", "that is worth a look"
    clauses = (
        (n_low, "pair is rated 1 of 3", "pairs are rated 1 of 3"),
        (n_blank, "answer is empty", "answers are empty"),
        (n_wrong, f"answer has a number {lacked}", f"answers have a number {lacked}"),
        (n_bound, "question needs the paper", "questions need the paper"),
        (n_astray, f"answer has a number {astray}", f"answers have a number {astray}"),
    )
    missing_text = join_words(count_text(n, one, several) for n, one, several in clauses if n)
    return f"{who}: {missing_text or 'nothing was found wrong'}."
