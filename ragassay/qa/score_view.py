"""Scores of question-answer pairs as rows, dots and histograms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.qa.measures import chance_coverage_score, top_count
from ragassay.qa.plots import Histogram, histogram
from ragassay.qa.scores import (
    COSINE_SCALE,
    QuestionDiversity,
    intent_similarities,
    pair_similarities,
    question_diversity,
    similarities,
)
from ragassay.records import Score
from ragassay.records.qa import RACAR, IntentSimilarity, PaperMeasures
from ragassay.reports.charts import Plot, dot_plot
from ragassay.reports.display import (
    NBSP,
    NOT_DEFINED,
    format_bounds,
    format_interval,
    format_share,
    is_number,
    score_text,
)
from ragassay.reports.sheets import Column, Sheet, Shown, none_text, numbers, value_cell, words
from ragassay.reports.text import count_text


@dataclass(frozen=True, slots=True)
class PairScoreLine:
    """A score as a row of a table: `meaning` is what it counts, `chance` what chance would give."""

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
class LikenessView:
    """Similarities of questions: table 2's bins, and a histogram."""

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
    "relevance": "Rated 1 to 3: the question is about what the paper says.",
    "agnosticism": "Rated 1 to 3: the question can be asked without the paper.",
    "completeness": "Rated 1 to 3: the answer covers all that the question asks.",
    "accuracy": "Rated 1 to 3: the paper bears the answer out.",
    "reasonableness": "Rated 1 to 3: the answer does not contradict itself.",
    "coverage": (
        "Tenths of a paper that hold one of the 15 % of sentences closest to some answer. A low"
        " value tells something; a high one does not, as chance reaches it."
    ),
    "pooled_coverage": (
        "Tenths that hold one of the 15 % of sentences closest to all answers together. SciQAG's"
        " 68 % is this figure."
    ),
    "chunks_per_answer": "Tenths of its paper that one answer draws on, as a mean.",
    "numbers_found": "Numbers of the answers that the paper has, in whatever notation.",
    "numbers_near": "Numbers that the paper has with this unit and among such words.",
    "answers_with_numbers": "Answers that state a number.",
    "context_free_questions": "Questions without words such as \u201cthis study\u201d, by rule.",
    "question_similarity": (
        "Cosine of questions on one paper; lower is more diverse. Counts words and subject, so that"
        " advantages and disadvantages of one thing are alike; comparable only with the same model."
    ),
    "intent_similarity": (
        "The judge's score of what questions on one paper ask for, 0 to 1; lower is more diverse."
    ),
}


def view_plots(scores: Mapping[str, Score]) -> tuple[Plot, ...]:
    """Return a plot for ratings, one for shares and one for similarities, of what there is."""
    groups = (
        ("Ratings, 1 to 3", RATINGS),
        ("Shares", SHARES),
        ("Similarity of questions, lower is more diverse", LIKENESS),
    )
    found: list[Plot] = []
    for title, keys in groups:
        own = {TITLES[key]: scores[key] for key in keys if key in scores}
        if keys == LIKENESS:
            own = {name: _as_cosine(score) for name, score in own.items()}
        if own:
            found.append(dot_plot(title, list(own), {"": own}))
    return tuple(found)


def _as_cosine(score: Score) -> Score:
    """Return a similarity on the scale of cosines, on which it is no share and has no per cent."""
    return score.model_copy(update={"scale": COSINE_SCALE})


def view_scores(
    scores: Mapping[str, Score], measures: Sequence[PaperMeasures]
) -> tuple[PairScoreLine, ...]:
    """Return the rows of the table of scores, in their given order."""
    chance = _chance(measures)
    return tuple(_line(key, score, chance.get(key)) for key, score in scores.items())


def score_sheet(lines: Sequence[PairScoreLine], has_meanings: bool = False) -> Sheet:
    """Return the scores, each with what answers drawn at random would reach.

    With meanings, that is a part of them in place of a column.
    """
    rows = tuple(
        (
            *(one.title, value_cell(one.value, one.scored), one.interval),
            *(one.chance,) * (not has_meanings),
            *(one.n, Shown(none_text(one.n_unscored), notes=(one.bounds,) * bool(one.bounds))),
            *(_meaning(one),) * has_meanings,
        )
        for one in lines
    )
    columns = (
        *(*words("Score"), *numbers("Mean", "95 % interval", *("By chance",) * (not has_meanings))),
        *(*numbers("n", "Unscored"), *(Column("", "Meaning", is_below=True),) * has_meanings),
    )
    return Sheet("Scores", columns, rows)


def _meaning(line: PairScoreLine) -> Shown:
    chance = f" Sentences drawn at random would reach {line.chance}." if line.chance else ""
    return Shown(f"{line.meaning}{chance}")


def _chance(measures: Sequence[PaperMeasures]) -> dict[str, float]:
    """Return what answers that draw on sentences at random would reach, by score."""
    sizes = [(len(similarities(one)), one.n_sentences) for one in measures]
    sizes = [(n_answers, n) for n_answers, n in sizes if n_answers and n]
    if not sizes:
        return {}
    each, one = (
        math.fsum(chance_coverage_score(m, n, top_count(n)) or 0.0 for m, n in drawn) / len(drawn)
        for drawn in (sizes, [(1, n) for _, n in sizes])
    )
    return {"coverage": each, "pooled_coverage": one, "chunks_per_answer": one}


def _line(key: str, score: Score, chance: float | None) -> PairScoreLine:
    if key in LIKENESS:
        score = _as_cosine(score)
    return PairScoreLine(
        title=TITLES[key],
        value=score_text(score),
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
) -> tuple[LikenessView, ...]:
    """Return similarities of questions: by a judge where there is one, and by cosine."""
    found: list[LikenessView] = []
    if intents:
        scores = intent_similarities(intents)
        known = [value for value in scores if value is not None]
        found.append(_likeness_view("By intent", question_diversity(scores), known))
    cosines = [v for one in measures for v in pair_similarities(one.question_similarity)]
    if cosines:
        by_cosine = question_diversity(cosines, scale=COSINE_SCALE)
        found.append(_likeness_view("By cosine", by_cosine, cosines))
    return tuple(found)


def _likeness_view(
    title: str, diversity: QuestionDiversity, values: Sequence[float]
) -> LikenessView:
    score = diversity.similarity
    unscored = f", {score.n_unscored:,} unscored" if score.n_unscored else ""
    mean = NOT_DEFINED if score.value is None else f"{score.value:.2f}"
    rows = tuple(
        (one.name, one.count, None if one.share is None else f"{one.share * 100:.1f}{NBSP}%")
        for one in diversity.bins
    )
    told = f"mean {mean} of {count_text(score.n, 'pair')} of questions{unscored}"
    sheet = Sheet(title, (*words("Similarity"), *numbers("Pairs", "Share")), rows)
    return LikenessView(title, told, sheet, histogram(values))
