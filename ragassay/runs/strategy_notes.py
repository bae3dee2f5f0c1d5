"""Say in sentences how a judge was asked in several ways, and what to know of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragassay.perturbations.misleading import Inversion, mode_rating
from ragassay.prompts import Rubric
from ragassay.records import Record
from ragassay.runs.rated_examples import Place

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
    n_strange: int,
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
    if n_strange:
        notes.append(f"Ratings of people that are off their rubric's scale, left out: {n_strange}.")
    return tuple(notes)
