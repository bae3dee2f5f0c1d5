"""The four tables of Chaudhary et al. 2024 for a judge that was asked in several ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ragassay.metrics.papers.strategies import PERTURBED, RubricRobustness, StrategyAnswer, polarity
from ragassay.perturbations.perturb import Inversion, mode_rating
from ragassay.prompts import Rubric
from ragassay.records import Record, Score
from ragassay.reports.display import SHARE_SCALE, decimals_text, format_value
from ragassay.reports.labels import label_text, one_line
from ragassay.reports.sheets import (
    NEEDS_BOOKTABS,
    Plain,
    Sheet,
    Shown,
    counted_cell,
    csv_text,
    escape,
    numbers,
    sheet_latex,
    sheet_markdown,
    words,
)
from ragassay.reports.text import count_text

Place = tuple[str, str]
"""A record's id and a rubric's name."""

COLUMNS = ("table", "rubric", "column", "value", "low", "high", "n", "n_unscored", "judge")
RATING_COLUMNS = ("record_id", "rubric", "way", "rating", "polarity", "people", "hint", "reason")


def strategy_views(rubrics: Sequence[RubricRobustness]) -> tuple[StrategyTable, ...]:
    """Return the four tables; without rubrics they have no rows."""
    ways = tuple(rubrics[0].alignment) if rubrics else ()
    return (
        StrategyTable(
            "Agreement of people and the judge, by the way of asking",
            tuple(map(label_text, ways)),
            tuple((r, tuple(r.alignment[way] for way in ways)) for r in rubrics),
            "Krippendorff's alpha, ordinal, of people and the judge as one rater more",
        ),
        StrategyTable(
            "Consistency",
            ("People", "Judge"),
            tuple((r, (r.people, r.judge)) for r in rubrics),
            "Krippendorff's alpha, ordinal: among people; among the judge's ratings by strategy",
        ),
        StrategyTable(
            "Ratings under a misleading rating of an expert",
            ("Unmoved", "Followed"),
            tuple((r, (r.unmoved, r.followed)) for r in rubrics),
            "Unmoved: as without it. Followed: became what it said, of those that were not that",
        ),
        StrategyTable(
            "Sentiment of the justifications",
            ("All strategies", label_text(PERTURBED)),
            tuple((r, (r.sentiment, r.perturbed_sentiment)) for r in rubrics),
            "Mean polarity by TextBlob, from -1 to 1",
        ),
    )


class StrategyTable(NamedTuple):
    """One of the paper's tables: a rubric a row with its figures, one per column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[RubricRobustness, tuple[Score, ...]], ...]
    caption: str


def strategy_sheets(rubrics: Sequence[RubricRobustness]) -> tuple[Sheet, ...]:
    """Return the four tables: value, interval and n of each figure."""
    return tuple(
        Sheet(
            f"{number}. {view.title}",
            (*words("Rubric", "Scale"), *numbers(*view.columns)),
            tuple(
                (label_text(r.rubric), "{} to {}".format(*r.scale), *map(_cell, scores))
                for r, scores in view.rows
            ),
            f"{view.caption}; 95 % intervals resample questions",
        )
        for number, view in enumerate(strategy_views(rubrics), 1)
    )


def strategies_csv(rubrics: Sequence[RubricRobustness], judge: str) -> str:
    """Return all figures, one per row; an undefined one has an empty value."""
    rows: list[tuple[Plain, ...]] = [
        (number, r.rubric, column, s.value, s.low, s.high, s.n, s.n_unscored, judge)
        for number, view in enumerate(strategy_views(rubrics), 1)
        for r, scores in view.rows
        for column, s in zip(view.columns, scores, strict=True)
    ]
    rows += [
        (4, r.rubric, label_text(way), s.value, s.low, s.high, s.n, s.n_unscored, judge)
        for r in rubrics
        for way, s in r.sentiments.items()
        if way != PERTURBED
    ]
    return csv_text(COLUMNS, rows)


def ratings_csv(answers: Mapping[str, Sequence[StrategyAnswer]]) -> str:
    """Return every rating with its reason and people's ratings, one per row."""
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
    return csv_text(RATING_COLUMNS, rows)


def strategies_latex(rubrics: Sequence[RubricRobustness], judge: str) -> str:
    r"""Return the four tables in LaTeX; they need \usepackage{booktabs}."""
    tables = (
        sheet_latex(sheet, f"tab:strategies-{number}", f"{sheet.title}: {judge}. {sheet.caption}.")
        for number, sheet in enumerate(strategy_sheets(rubrics), 1)
    )
    return NEEDS_BOOKTABS + "\n".join(tables)


def strategies_markdown(
    rubrics: Sequence[RubricRobustness],
    judge: str,
    n_answers: int,
    n_labels: int,
    notes: Sequence[str] = (),
) -> str:
    """Return the four tables as a page in Markdown with a final newline."""
    lines = [f"# {escape(strategies_headline(judge, n_answers, n_labels))}", ""]
    for note in notes:
        lines += [escape(note), ""]
    for sheet in strategy_sheets(rubrics):
        lines += [f"## {sheet.title}", "", sheet_markdown(sheet), f"{sheet.caption}.", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def strategies_headline(judge: str, n_answers: int, n_labels: int) -> str:
    """Return the judge, the number of its ratings, and the number of people's ratings."""
    answers, labels = count_text(n_answers, "answer"), count_text(n_labels, "rating")
    return one_line(f"{judge} on {answers}, beside {labels} of people")


def _cell(score: Score) -> Shown:
    is_share = score.scale == SHARE_SCALE
    return counted_cell(
        score, format_value(score.value) if is_share else decimals_text(score.value)
    )


INVERSIONS: Mapping[Inversion, str] = {
    "extreme": "the opposite end of the scale",
    "mirror": "the mirror image on the scale (lowest + highest - rating)",
}
"""What a misleading rating is, by the name of the inversion."""


def how_asked(
    records: Sequence[Record],
    rubrics: Mapping[str, Rubric],
    by_people: bool,
    inversion: Inversion,
    n_pairs: int,
) -> tuple[str, ...]:
    """Return how the misleading ratings and the examples were made."""
    whose = "people's" if by_people else "the judge's own"
    told = (
        f"Perturbed: the judge is told {INVERSIONS[inversion]} for the mode of {whose} ratings "
        f"({inversion})."
    )
    n_asked = sum(not r.rubrics or name in r.rubrics for r in records for name in rubrics)
    taken = "Few-shot: the examples are the answers to other questions that people rated best and "
    if not n_pairs:
        return told, "Few-shot: the examples are the rubric's own."
    if n_pairs < n_asked:
        rest = n_asked - n_pairs
        return told, f"{taken}worst; for {rest} of {n_asked} ratings the rubric's own."
    return told, f"{taken}worst."


def idle_hints(
    ratings: Mapping[Place, Sequence[int]], hints: Mapping[Place, int]
) -> tuple[str, ...]:
    """Return a note on misleading ratings that are what was said anyway."""
    n = sum(mode_rating(given) == hints[place] for place, given in ratings.items())
    if not n:
        return ()
    return (
        f"{n} of {len(hints)} perturbed ratings are the true ones: the mirror of a scale's middle "
        "is the middle.",
    )


def study_notes(
    records: Sequence[Record],
    people: Mapping[Place, Sequence[int]],
    hints: Mapping[Place, int],
    rubrics: Mapping[str, Rubric],
    n_unknown: int,
) -> tuple[str, ...]:
    """Return what is missing of people's ratings."""
    notes: list[str] = []
    if not people:
        notes.append(
            "There are no ratings of people: the judge was misled by the opposite of its own "
            "usual rating, and is compared with itself alone."
        )
    elif all(len(ratings) == 1 for ratings in people.values()):
        notes.append("Each answer has one rating of people: their agreement is unknown.")
    n_without = len(records) * len(rubrics) - len(hints)
    if people and n_without:
        notes.append(
            f"Answers and rubrics without a rating of people, which get no hint: {n_without}."
        )
    if n_unknown:
        notes.append(f"Ratings of people that are off their rubric's scale, left out: {n_unknown}.")
    return tuple(notes)
