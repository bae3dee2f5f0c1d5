"""Prepare the scores of question-answer pairs for tables, dot plots and histograms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.qa.measures import chance_coverage_score, count_top_sentences
from ragassay.qa.plots import Histogram, draw_histogram
from ragassay.qa.scores import (
    COSINE_SCALE,
    QuestionDiversity,
    convert_intent_scores,
    list_pair_similarities,
    list_similarities,
    question_diversity,
)
from ragassay.records import Score
from ragassay.records.qa import RACAR, IntentSimilarity, PaperMeasures
from ragassay.reports.charts import Plot, build_dot_plot
from ragassay.reports.display import (
    NBSP,
    NOT_DEFINED,
    format_bounds,
    format_interval,
    format_score,
    format_share,
    is_number,
)
from ragassay.reports.sheets import (
    Column,
    Sheet,
    Shown,
    build_number_columns,
    build_text_columns,
    build_value_cell,
    format_count_or_none,
)
from ragassay.reports.text import count_text


@dataclass(frozen=True, slots=True)
class PairScoreLine:
    """A row of the score table.

    Attributes:
        chance: Score that random sentences would reach, or empty if unknown.
    """

    title: str
    value: str
    scored: bool
    interval: str
    n: int
    n_unscored: int
    bounds: str
    chance: str
    meaning: str


@dataclass(frozen=True, slots=True)
class SimilarityView:
    """Distribution of question similarities, in the bins of table 2 and as a histogram."""

    title: str
    mean: str
    sheet: Sheet
    histogram: Histogram | None


RATINGS: tuple[str, ...] = RACAR
SHARES = (
    "pooled_coverage",
    "chunks_per_answer",
    "numbers_found",
    "numbers_near",
    "context_free_questions",
)
LIKENESS = ("question_similarity", "intent_similarity")
TITLES = {
    **{name: name.capitalize() for name in RACAR},
    "coverage": "Coverage (equation 1)",
    "pooled_coverage": "Pooled coverage",
    "chunks_per_answer": "Chunks per answer",
    "numbers_found": "Numbers found",
    "numbers_near": "Numbers in place",
    "answers_with_numbers": "Answers with numbers",
    "context_free_questions": "Context-free questions",
    "question_similarity": "Question similarity",
    "intent_similarity": "Similarity of intent",
}
MEANINGS = {
    "relevance": "Rated 1 to 3: the question is about the content of the paper.",
    "agnosticism": "Rated 1 to 3: the question makes sense without the paper.",
    "completeness": "Rated 1 to 3: the answer covers all parts of the question.",
    "accuracy": "Rated 1 to 3: the paper supports the answer.",
    "reasonableness": "Rated 1 to 3: the answer does not contradict itself.",
    "coverage": (
        "Each paper is divided into ten parts. The score is the share of parts with a sentence"
        " among the 15 % closest to any of the answers. Only low values are informative, because"
        " high values can occur by chance."
    ),
    "pooled_coverage": (
        "Share of the ten parts of a paper with a sentence among the 15 % closest to all answers"
        " together. SciQAG reports 68 % for this score."
    ),
    "chunks_per_answer": "Share of the ten parts of a paper that a single answer draws on.",
    "numbers_found": "Share of the numbers in answers that the paper contains, in any notation.",
    "numbers_near": (
        "Share of the numbers in answers that the paper contains with the same unit and in a"
        " similar context."
    ),
    "answers_with_numbers": "Share of answers that state a number.",
    "context_free_questions": "Share of questions without words such as \u201cthis study\u201d.",
    "question_similarity": (
        "Cosine similarity of questions about one paper. Lower values mean more diverse questions."
        " Questions about opposites, such as advantages and disadvantages, also count as similar."
        " Values are comparable only for the same embedding model."
    ),
    "intent_similarity": (
        "How similar the intents of the questions about one paper are, rated by the judge from 0 to"
        " 1. Lower values mean more diverse questions."
    ),
}


def view_plots(scores: Mapping[str, Score]) -> tuple[Plot, ...]:
    """Return up to three dot plots: ratings, shares and similarities, without empty plots."""
    groups = (
        ("Ratings, 1 to 3", RATINGS),
        ("Shares", SHARES),
        ("Similarity of questions, lower is more diverse", LIKENESS),
    )
    plots: list[Plot] = []
    for title, keys in groups:
        group = {TITLES[key]: scores[key] for key in keys if key in scores}
        if keys == LIKENESS:
            group = {name: _as_cosine(score) for name, score in group.items()}
        if group:
            plots.append(build_dot_plot(title, list(group), {"": group}))
    return tuple(plots)


def _as_cosine(score: Score) -> Score:
    """Return the score on a scale from -1 to 1, so that it is not displayed as a percentage."""
    return score.model_copy(update={"scale": COSINE_SCALE})


def view_scores(
    scores: Mapping[str, Score], measures: Sequence[PaperMeasures]
) -> tuple[PairScoreLine, ...]:
    """Return a table row for each score, in the order of `scores`."""
    chance = _compute_chance(measures)
    return tuple(_build_line(key, score, chance.get(key)) for key, score in scores.items())


def build_qa_score_sheet(lines: Sequence[PairScoreLine], has_meanings: bool = False) -> Sheet:
    """Return the table of scores.

    With `has_meanings`, each row explains its score and mentions the score of random sentences.
    Otherwise, the score of random sentences is a column.
    """
    rows = tuple(
        (
            *(line.title, build_value_cell(line.value, line.scored), line.interval),
            *(line.chance,) * (not has_meanings),
            *(
                line.n,
                Shown(
                    format_count_or_none(line.n_unscored), notes=(line.bounds,) * bool(line.bounds)
                ),
            ),
            *(_explain_meaning(line),) * has_meanings,
        )
        for line in lines
    )
    columns = (
        *(
            *build_text_columns("Score"),
            *build_number_columns("Mean", "95 % interval", *("By chance",) * (not has_meanings)),
        ),
        *(
            *build_number_columns("n", "Unscored"),
            *(Column("", "Meaning", is_below=True),) * has_meanings,
        ),
    )
    return Sheet("Scores", columns, rows)


def _explain_meaning(line: PairScoreLine) -> Shown:
    chance = f" Random sentences would reach {line.chance}." if line.chance else ""
    return Shown(f"{line.meaning}{chance}")


def _compute_chance(measures: Sequence[PaperMeasures]) -> dict[str, float]:
    """Return the scores that answers based on random sentences would get."""
    sizes = [(len(list_similarities(one)), one.n_sentences) for one in measures]
    sizes = [(n_answers, n) for n_answers, n in sizes if n_answers and n]
    if not sizes:
        return {}
    all_answers, one_answer = (
        math.fsum(chance_coverage_score(m, n, count_top_sentences(n)) or 0.0 for m, n in drawn)
        / len(drawn)
        for drawn in (sizes, [(1, n) for _, n in sizes])
    )
    return {
        "coverage": all_answers,
        "pooled_coverage": one_answer,
        "chunks_per_answer": one_answer,
    }


def _build_line(key: str, score: Score, chance: float | None) -> PairScoreLine:
    if key in LIKENESS:
        score = _as_cosine(score)
    return PairScoreLine(
        title=TITLES[key],
        value=format_score(score),
        scored=is_number(score.value),
        interval=format_interval(score),
        n=score.n,
        n_unscored=score.n_unscored,
        bounds=format_bounds(score),
        chance="" if chance is None else format_share(chance),
        meaning=MEANINGS[key],
    )


def view_likeness(
    measures: Sequence[PaperMeasures], intents: Sequence[IntentSimilarity]
) -> tuple[SimilarityView, ...]:
    """Return the distribution of question similarities by cosine and, if rated, by intent."""
    views: list[SimilarityView] = []
    if intents:
        scores = convert_intent_scores(intents)
        known = [value for value in scores if value is not None]
        views.append(_build_likeness("By intent", question_diversity(scores), known))
    cosines = [v for paper in measures for v in list_pair_similarities(paper.question_similarity)]
    if cosines:
        by_cosine = question_diversity(cosines, scale=COSINE_SCALE)
        views.append(_build_likeness("By cosine", by_cosine, cosines))
    return tuple(views)


def _build_likeness(
    title: str, diversity: QuestionDiversity, values: Sequence[float]
) -> SimilarityView:
    score = diversity.similarity
    unscored = f", {score.n_unscored:,} unscored" if score.n_unscored else ""
    mean = NOT_DEFINED if score.value is None else f"{score.value:.2f}"
    rows = tuple(
        (bin.name, bin.count, None if bin.share is None else f"{bin.share * 100:.1f}{NBSP}%")
        for bin in diversity.bins
    )
    summary = f"mean {mean} of {count_text(score.n, 'question pair')}{unscored}"
    sheet = Sheet(
        title, (*build_text_columns("Similarity"), *build_number_columns("Pairs", "Share")), rows
    )
    return SimilarityView(title, summary, sheet, draw_histogram(values))
