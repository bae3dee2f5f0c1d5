"""Question-answer pairs and their papers as CSV: everything that was measured and rated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ragassay.metrics.qa.summary import intent_score, qa_scores, rating_means
from ragassay.records import Score
from ragassay.records.inputs import QAPair
from ragassay.records.qa import RACAR, IntentSimilarity, PairMeasures, RacarRating
from ragassay.reports.labels import unscored_text
from ragassay.reports.qa.view import QAReport
from ragassay.reports.sheets import Plain, csv_text

MEASURED = (
    *("numbers", "numbers_found", "missing_numbers", "question_context", "answer_context"),
    *("chunks", "closest_sentence", "closest_similarity"),
    *("nearest_question", "nearest_similarity"),
)
PAIR_COLUMNS = (
    *("pair", "paper", "system", "question", "answer"),
    *MEASURED,
    *(f"{dimension}{part}" for dimension in RACAR for part in ("", "_unscored", "_reason")),
)
PAPER_SCORES = (
    *("coverage", "pooled_coverage", "chunks_per_answer", "numbers_found"),
    *("answers_with_numbers", "context_free_questions", "question_similarity"),
)
JUDGED_SCORES = ("intent_similarity", *RACAR)
PAPER_COLUMNS = (
    *("paper", "title", "pairs", "sentences", "numbers", *PAPER_SCORES),
    *(f"{key}{part}" for key in JUDGED_SCORES for part in ("", "_n", "_unscored")),
)


def pairs_csv(report: QAReport) -> str:
    """Return a row for each pair; an unscored rating is an empty cell, with its reason beside it.

    Numbers of sentences count from 1, as on the page.
    """
    measures = {pair.pair: pair for one in report.measures for pair in one.pairs}
    ratings: dict[tuple[str, str], RacarRating] = {(r.pair, r.dimension): r for r in report.ratings}
    rows = [
        (
            *(pair.id, pair.paper, pair.system or "", pair.question, pair.answer),
            *_measured(measures.get(pair.id)),
            *(cell for dimension in RACAR for cell in _rated(ratings.get((pair.id, dimension)))),
        )
        for pair in report.pairs
    ]
    return csv_text(PAIR_COLUMNS, rows)


def _measured(pair: PairMeasures | None) -> Sequence[Plain]:
    if pair is None:
        return (None,) * len(MEASURED)
    missing = [one.text for one in pair.numbers if not one.is_found]
    marks = {
        part: "; ".join(mark.text for mark in pair.context if mark.part == part)
        for part in ("question", "answer")
    }
    closest = pair.closest[0] if pair.closest and pair.similarity else None
    return (
        len(pair.numbers),
        len(pair.numbers) - len(missing),
        "; ".join(missing),
        marks["question"],
        marks["answer"],
        "; ".join(map(str, pair.chunks)),
        None if closest is None else closest + 1,
        None if closest is None else pair.similarity[closest],
        pair.nearest_question,
        pair.nearest_similarity,
    )


def _rated(rating: RacarRating | None) -> tuple[Plain, Plain, Plain]:
    """Return the rating, why there is none, and the judge's reason."""
    if rating is None:
        return None, None, None
    if rating.rating is None:
        leaning = None if rating.leaning_rating is None else str(rating.leaning_rating)
        return None, unscored_text(rating.failure, leaning), rating.reason
    return rating.rating if rating.score is None else rating.score, None, rating.reason


def papers_csv(report: QAReport) -> str:
    """Return a row for each paper with pairs: means, and how many judgments were unscored."""
    pairs: dict[str, list[QAPair]] = defaultdict(list)
    for pair in report.pairs:
        pairs[pair.paper].append(pair)
    paper_of = {pair.id: pair.paper for pair in report.pairs}
    ratings: dict[str, list[RacarRating]] = defaultdict(list)
    for rating in report.ratings:
        ratings[paper_of.get(rating.pair, "")].append(rating)
    intents: dict[str, list[IntentSimilarity]] = defaultdict(list)
    for one in report.intents:
        intents[paper_of.get(one.first, "")].append(one)
    titles = {paper.id: paper.title for paper in report.papers}
    measures = {one.paper: one for one in report.measures}
    rows: list[tuple[Plain, ...]] = []
    for name, own in pairs.items():
        measured = measures.get(name)
        scores = {
            **qa_scores([measured] if measured else []),
            **intent_score(intents[name], paper_of),
            **rating_means(ratings[name], paper_of),
        }
        rows.append(
            (
                *(name, titles.get(name, ""), len(own), measured.n_sentences if measured else None),
                sum(len(pair.numbers) for pair in measured.pairs) if measured else None,
                *(scores[key].value if key in scores else None for key in PAPER_SCORES),
                *(cell for key in JUDGED_SCORES for cell in _score(scores.get(key))),
            )
        )
    return csv_text(PAPER_COLUMNS, rows)


def _score(score: Score | None) -> tuple[Plain, Plain, Plain]:
    return (score.value, score.n, score.n_unscored) if score else (None, None, None)
