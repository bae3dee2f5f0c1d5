"""Render the four tables of Chaudhary et al. 2024 on prompting strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ragassay.metrics.papers.strategies import PERTURBED, RubricRobustness, StrategyAnswer, polarity
from ragassay.perturbations.perturb import Inversion, find_mode_rating
from ragassay.prompts import Rubric
from ragassay.records import Record, Score
from ragassay.reports.display import SHARE_SCALE, format_decimals, format_value
from ragassay.reports.labels import flatten_text, format_label
from ragassay.reports.sheets import (
    NEEDS_BOOKTABS,
    Plain,
    Sheet,
    Shown,
    build_counted_cell,
    build_number_columns,
    build_text_columns,
    escape,
    render_csv,
    render_sheet_latex,
    render_sheet_markdown,
)
from ragassay.reports.text import count_text

Place = tuple[str, str]
"""Record id and rubric name."""

COLUMNS = ("table", "rubric", "column", "value", "low", "high", "n", "n_unscored", "judge")
RATING_COLUMNS = ("record_id", "rubric", "way", "rating", "polarity", "people", "hint", "reason")


def build_strategy_views(rubrics: Sequence[RubricRobustness]) -> tuple[StrategyTable, ...]:
    """Return the data of the four tables, which have one row per rubric."""
    ways = tuple(rubrics[0].alignment) if rubrics else ()
    return (
        StrategyTable(
            "Agreement between humans and the judge by strategy",
            tuple(map(format_label, ways)),
            tuple((r, tuple(r.alignment[way] for way in ways)) for r in rubrics),
            "Ordinal Krippendorff's alpha of humans and the judge as an additional rater",
        ),
        StrategyTable(
            "Consistency",
            ("People", "Judge"),
            tuple((r, (r.people, r.judge)) for r in rubrics),
            "Ordinal Krippendorff's alpha among humans, and among the judge's ratings by strategy",
        ),
        StrategyTable(
            "Ratings with a misleading expert rating",
            ("Unmoved", "Followed"),
            tuple((r, (r.unmoved, r.followed)) for r in rubrics),
            "Unmoved: share of unchanged ratings. Followed: share of ratings that became the "
            "misleading rating, of those that differed from it",
        ),
        StrategyTable(
            "Sentiment of the rationales",
            ("All strategies", format_label(PERTURBED)),
            tuple((r, (r.sentiment, r.perturbed_sentiment)) for r in rubrics),
            "Mean TextBlob polarity from -1 to 1",
        ),
    )


class StrategyTable(NamedTuple):
    """One of the four tables of the paper, with one row per rubric."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[RubricRobustness, tuple[Score, ...]], ...]
    caption: str


def build_strategy_sheets(rubrics: Sequence[RubricRobustness]) -> tuple[Sheet, ...]:
    """Return the four tables, with intervals and n for each value."""
    return tuple(
        Sheet(
            f"{number}. {view.title}",
            (*build_text_columns("Rubric", "Scale"), *build_number_columns(*view.columns)),
            tuple(
                (format_label(r.rubric), "{} to {}".format(*r.scale), *map(_build_cell, scores))
                for r, scores in view.rows
            ),
            f"{view.caption}; 95 % intervals are computed by resampling questions",
        )
        for number, view in enumerate(build_strategy_views(rubrics), 1)
    )


def render_strategies_csv(rubrics: Sequence[RubricRobustness], judge: str) -> str:
    """Return all measures as CSV, in which undefined values are empty."""
    rows: list[tuple[Plain, ...]] = [
        (number, r.rubric, column, s.value, s.low, s.high, s.n, s.n_unscored, judge)
        for number, view in enumerate(build_strategy_views(rubrics), 1)
        for r, scores in view.rows
        for column, s in zip(view.columns, scores, strict=True)
    ]
    rows += [
        (4, r.rubric, format_label(way), s.value, s.low, s.high, s.n, s.n_unscored, judge)
        for r in rubrics
        for way, s in r.sentiments.items()
        if way != PERTURBED
    ]
    return render_csv(COLUMNS, rows)


def render_ratings_csv(answers: Mapping[str, Sequence[StrategyAnswer]]) -> str:
    """Return all ratings by the judge as CSV, with the rationales and human ratings."""
    rows: list[tuple[Plain, ...]] = [
        (
            *(answer.record_id, rubric, way, reply.rating),
            polarity(reply.reason) if reply.reason else None,
            " ".join(map(str, answer.people)),
            answer.hint if way == PERTURBED else None,
            reply.reason,
        )
        for rubric, group in answers.items()
        for answer in group
        for way, reply in answer.replies.items()
    ]
    return render_csv(RATING_COLUMNS, rows)


def render_strategies_latex(rubrics: Sequence[RubricRobustness], judge: str) -> str:
    r"""Return the four tables in LaTeX, which require \usepackage{booktabs}."""
    tables = (
        render_sheet_latex(
            sheet, f"tab:strategies-{number}", f"{sheet.title}: {judge}. {sheet.caption}."
        )
        for number, sheet in enumerate(build_strategy_sheets(rubrics), 1)
    )
    return NEEDS_BOOKTABS + "\n".join(tables)


def render_strategies_markdown(
    rubrics: Sequence[RubricRobustness],
    judge: str,
    n_answers: int,
    n_labels: int,
    notes: Sequence[str] = (),
) -> str:
    """Return a headline, the notes and the four tables as Markdown."""
    lines = [f"# {escape(build_study_headline(judge, n_answers, n_labels))}", ""]
    for note in notes:
        lines += [escape(note), ""]
    for sheet in build_strategy_sheets(rubrics):
        lines += [f"## {sheet.title}", "", render_sheet_markdown(sheet), f"{sheet.caption}.", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def build_study_headline(judge: str, n_answers: int, n_labels: int) -> str:
    """Return a headline with the judge and the numbers of answers and of human ratings."""
    answers, labels = count_text(n_answers, "answer"), count_text(n_labels, "human rating")
    return flatten_text(f"{judge} on {answers} with {labels}")


def _build_cell(score: Score) -> Shown:
    is_share = score.scale == SHARE_SCALE
    return build_counted_cell(
        score, format_value(score.value) if is_share else format_decimals(score.value)
    )


INVERSIONS: Mapping[Inversion, str] = {
    "extreme": "the end of the scale that is opposite to",
    "mirror": "the mirror image (lowest + highest - rating) of",
}


def describe_study_design(
    records: Sequence[Record],
    rubrics: Mapping[str, Rubric],
    with_human_labels: bool,
    inversion: Inversion,
    n_pairs: int,
) -> tuple[str, ...]:
    """Describe how the misleading ratings and the few-shot examples were chosen."""
    raters = "human" if with_human_labels else "the judge's"
    perturbed = (
        f"Perturbed: the misleading rating in the prompt is {INVERSIONS[inversion]} the mode of "
        f"{raters} ratings ({inversion})."
    )
    if not n_pairs:
        return perturbed, "Few-shot: the examples come from the rubric."
    few_shot = (
        "Few-shot: the examples are the answers to other questions with the highest and lowest "
        "human ratings"
    )
    n_ratings = sum(not r.rubrics or name in r.rubrics for r in records for name in rubrics)
    if n_pairs < n_ratings:
        few_shot += (
            f", or, for {n_ratings - n_pairs} of {n_ratings} ratings, the rubric's own examples"
        )
    return perturbed, f"{few_shot}."


def describe_idle_hints(
    ratings: Mapping[Place, Sequence[int]], hints: Mapping[Place, int]
) -> tuple[str, ...]:
    """Return a note about misleading ratings that equal the mode of the original ratings."""
    n = sum(find_mode_rating(own) == hints[key] for key, own in ratings.items())
    if not n:
        return ()
    return (
        f"{n} of {len(hints)} perturbed ratings are not misleading, because the middle of the "
        "scale is its own mirror image.",
    )


def list_study_notes(
    records: Sequence[Record],
    people: Mapping[Place, Sequence[int]],
    hints: Mapping[Place, int],
    rubrics: Mapping[str, Rubric],
    n_unknown: int,
) -> tuple[str, ...]:
    """Return notes about missing and invalid human ratings."""
    notes: list[str] = []
    if not people:
        notes.append(
            "There are no human ratings. The misleading ratings are opposites of the judge's own "
            "ratings, and the judge is compared only with itself."
        )
    elif all(len(ratings) == 1 for ratings in people.values()):
        notes.append("Each answer has only one human rating, so human agreement is unknown.")
    n_without = len(records) * len(rubrics) - len(hints)
    if people and n_without:
        notes.append(f"Pairs of answer and rubric without human ratings or hints: {n_without}.")
    if n_unknown:
        notes.append(f"Human ratings outside the rubric's scale, excluded: {n_unknown}.")
    return tuple(notes)
