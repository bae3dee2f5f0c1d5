"""Prepare the data of a report on question-answer pairs for the templates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragassay.qa.measures import average_chunk_share, list_paper_sentences, pooled_coverage_score
from ragassay.qa.pair_view import PairFacts, PairView, view_pair
from ragassay.qa.plots import (
    Heatmap,
    Histogram,
    Places,
    draw_closest_places,
    draw_histogram,
    draw_question_heatmap,
    draw_sentence_heatmap,
)
from ragassay.qa.score_view import (
    PairScoreLine,
    SimilarityView,
    view_likeness,
    view_plots,
    view_scores,
)
from ragassay.qa.scores import (
    average_intents,
    average_racar_ratings,
    compute_qa_scores,
    list_similarities,
)
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
"""Maximum number of papers with plots in the report; plots take about 20 kB per paper."""


@dataclass(frozen=True, slots=True)
class PaperView:
    """A paper for display, with its pairs, their mean `rating`, and plots."""

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
    """A paper with its measures, pairs, ratings and intent scores."""

    id: str
    paper: Paper | None
    measures: PaperMeasures | None
    embedder: str
    pairs: list[QAPair] = field(default_factory=list[QAPair])
    ratings: list[RacarRating] = field(default_factory=list[RacarRating])
    intents: list[IntentSimilarity] = field(default_factory=list[IntentSimilarity])

    @property
    def title(self) -> str:
        """Title of the paper, or an empty string if unknown."""
        titles = (source.title for source in (self.paper, self.measures) if source)
        return next(filter(None, titles), "")


def _view_paper(number: int, facts: _PaperFacts) -> PaperView:
    """Prepare a paper for display, with plots only for the first `MAX_PLOTTED` papers."""
    is_plotted = number <= MAX_PLOTTED
    measures = facts.measures
    n_sentences = measures.n_sentences if measures else 0
    matrix: Sequence[Sequence[float | None]] = measures.question_similarity if measures else ()
    if facts.intents:
        matrix = _build_intent_matrix(facts)
    known = [v for i, row in enumerate(matrix) for v in row[i + 1 :] if v is not None]
    rated = [rating.rating for rating in facts.ratings if rating.rating is not None]
    rows = list_similarities(measures) if measures else []
    pooled = pooled_coverage_score(rows)
    plotted = measures.pairs if measures and is_plotted else ()
    pairs = _view_pairs(number, facts)
    return PaperView(
        number=number,
        id=facts.id,
        title=facts.title,
        n_sentences=n_sentences,
        n_faulty=sum(bool(pair.faults) for pair in pairs),
        coverage=_format_optional_share(measures.coverage if measures else None),
        pooled=_format_optional_share(pooled),
        pooled_value=pooled,
        chunks=_format_optional_share(average_chunk_share(rows)),
        similarity=f"{math.fsum(known) / len(known):.2f}" if known else NOT_DEFINED,
        rating=math.fsum(rated) / len(rated) if rated else None,
        questions=draw_question_heatmap(matrix) if is_plotted else None,
        questions_by="intent" if facts.intents else "cosine",
        histogram=draw_histogram(known) if is_plotted else None,
        places=draw_closest_places([pair.closest for pair in plotted], n_sentences),
        sentences=draw_sentence_heatmap([pair.similarity for pair in plotted]),
        pairs=pairs,
    )


def _view_pairs(number: int, facts: _PaperFacts) -> tuple[PairView, ...]:
    sentences = [one.text for one in list_paper_sentences(facts.paper)] if facts.paper else []
    measured = {one.pair: one for one in (facts.measures.pairs if facts.measures else ())}
    questions = {pair.id: pair.question for pair in facts.pairs}
    ratings = sorted(facts.ratings, key=lambda rating: RACAR.index(rating.dimension))
    views: list[PairView] = []
    for pair_number, pair in enumerate(facts.pairs, start=1):
        pair_facts = PairFacts(
            pair,
            measured.get(pair.id),
            [rating for rating in ratings if rating.pair == pair.id],
            [intent for intent in facts.intents if pair.id in (intent.first, intent.second)],
            sentences,
            questions,
            facts.embedder,
        )
        views.append(view_pair(pair_number, facts.title or facts.id, number, pair_facts))
    return tuple(views)


def _build_intent_matrix(facts: _PaperFacts) -> list[list[float | None]]:
    """Return the judge's intent scores as a similarity matrix, with None for missing scores."""
    scores = {
        frozenset((intent.first, intent.second)): intent.score / MOST_INTENT
        for intent in facts.intents
        if intent.score is not None
    }
    return [
        [scores.get(frozenset((first.id, second.id))) for second in facts.pairs]
        for first in facts.pairs
    ]


def _format_optional_share(value: float | None) -> str:
    return NOT_DEFINED if value is None else format_share(value)


N_WORST = 10
"""Number of pairs with faults that the report shows in full; further ones are collapsed."""


@dataclass(frozen=True)
class QAReport:
    """Data for a report on question-answer pairs, which omits papers without pairs.

    Attributes:
        name: Name of the evaluated input, such as a file name.
        ratings: RACAR ratings; failed ratings are shown as unscored.
        embedder: Embedding model that measured coverage and similarity.
        judge: Model that rated pairs and compared questions, or empty without a judge.
        cards: What is known about the accuracy of each model and rule set, one paragraph each.
        notes: Notes for the reader, such as messages about rejected records.
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
    """A report for display. `worst` are the worst pairs, `further` are other pairs with faults."""

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
    likeness: tuple[SimilarityView, ...]
    papers: tuple[PaperView, ...]
    cards: tuple[str, ...]
    notes: tuple[str, ...]


def view_report(report: QAReport) -> QAView:
    """Prepare a report for display, with papers in the order of their first pair."""
    papers = tuple(_view_paper(i, facts) for i, facts in enumerate(_group_facts(report), start=1))
    pairs = [pair for paper in papers for pair in paper.pairs]
    faulty = sorted((pair for pair in pairs if pair.faults), key=lambda pair: pair.rank)
    scores = collect_report_scores(report)
    unplotted = f"Only the first {MAX_PLOTTED} papers have plots. The tables include all papers."
    return QAView(
        name=report.name,
        headline=_build_headline(report, len(papers)),
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


def collect_report_scores(report: QAReport) -> dict[str, Score]:
    """Return all scores of a report by name, ratings first."""
    paper_of = {pair.id: pair.paper for pair in report.pairs}
    return {
        **average_racar_ratings(report.ratings, paper_of),
        **compute_qa_scores(report.measures, report.embedder),
        **average_intents(report.intents, paper_of),
    }


def _group_facts(report: QAReport) -> list[_PaperFacts]:
    papers = {paper.id: paper for paper in report.papers}
    measures = {one.paper: one for one in report.measures}
    by_paper: dict[str, _PaperFacts] = {}
    by_pair: dict[str, _PaperFacts] = {}
    for pair in report.pairs:
        name = pair.paper
        if name not in by_paper:
            by_paper[name] = _PaperFacts(
                name, papers.get(name), measures.get(name), report.embedder
            )
        by_paper[name].pairs.append(pair)
        by_pair[pair.id] = by_paper[name]
    for rating in report.ratings:
        if rating.pair in by_pair:
            by_pair[rating.pair].ratings.append(rating)
    for intent in report.intents:
        if intent.first in by_pair:
            by_pair[intent.first].intents.append(intent)
    return list(by_paper.values())


def _describe_unscored(verdicts: Sequence[RacarRating | IntentSimilarity]) -> str:
    missing = [one.failure for one in verdicts if one.value is None and one.choice is None]
    if not missing:
        return ""
    n_undecided = sum(bool(failure and failure.is_undecided) for failure in missing)
    counts = join_words(count_missing(n_undecided, len(missing) - n_undecided, "failed"))
    return (
        f"{len(missing):,} of {count_text(len(verdicts), 'judgment')} are unscored: {counts}. "
        "Unscored judgments are left out of all means and never counted as zero."
    )


def _build_headline(report: QAReport, n_papers: int) -> str:
    counts = f"{count_text(len(report.pairs), 'pair')} on {count_text(n_papers, 'paper')}"
    measured = [pair for paper in report.measures for pair in paper.pairs]
    n_missing = sum(any(not n.is_found for n in pair.numbers) for pair in measured)
    n_misplaced = sum(any(n.is_found and not n.is_near for n in pair.numbers) for pair in measured)
    n_bound = sum(any(mark.part == "question" for mark in pair.context) for pair in measured)
    n_low = len({rating.pair for rating in report.ratings if rating.rating == 1})
    n_empty = sum(not pair.answer.strip() for pair in report.pairs)
    missing, misplaced = "that the paper does not contain", "that is worth a look"
    clauses = (
        (n_low, "pair is rated 1 of 3", "pairs are rated 1 of 3"),
        (n_empty, "answer is empty", "answers are empty"),
        (n_missing, f"answer has a number {missing}", f"answers have a number {missing}"),
        (n_bound, "question refers to the paper", "questions refer to the paper"),
        (n_misplaced, f"answer has a number {misplaced}", f"answers have a number {misplaced}"),
    )
    faults = join_words(count_text(n, one, several) for n, one, several in clauses if n)
    return f"{counts}: {faults or 'no faults found'}."
