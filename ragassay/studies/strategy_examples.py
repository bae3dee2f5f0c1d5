"""A judge's examples from answers that people rated best and worst, and notes on its prompts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from ragassay.agents.context import source_lines
from ragassay.perturbations.damage import Inversion, mode_rating
from ragassay.prompts import Rubric, RubricExample
from ragassay.records import Record
from ragassay.runs.evaluate import Job, job_of
from ragassay.text.search import passages_of

Place = tuple[str, str]
"""A record's id and a rubric's name."""

MOST_WORDS = 600
"""Longest sources, and longest answer, of an example: two of them stand in every prompt."""


@dataclass(frozen=True)
class ExamplePair:
    """The two examples of one prompt: answers to other questions than the judged one's.

    Attributes:
        best: The id of the answer that people rated best.
        worst: The id of the one that they rated worst.
        examples: Both, as a rubric's own examples.
    """

    best: str
    worst: str
    examples: tuple[RubricExample, RubricExample]

    @property
    def named(self) -> str:
        """The ids of both, with the ratings that are shown."""
        best, worst = self.examples
        return f"{self.best} ({best.rating}) and {self.worst} ({worst.rating})"

    def rendered(self) -> str:
        """Render the examples as a prompt shows them."""
        return "\n\n".join(example.rendered() for example in self.examples)


def rated_examples(
    records: Sequence[Record],
    people: Mapping[Place, Sequence[int]],
    rubrics: Mapping[str, Rubric],
) -> dict[Place, ExamplePair]:
    """Return the examples for each answer and rubric.

    Chaudhary et al. (section 3.2, appendix A): precisely two, one with the highest score and one
    with the lowest. Here these are the highest and the lowest mean of people's ratings, the first
    in the file among equals, and never an answer to the judged answer's own question.

    Args:
        records: All answers, in order.
        people: People's ratings.
        rubrics: The rubrics.

    Returns:
        Nothing for an answer and rubric where people rated no other question's answers, or all
        alike.
    """
    by_id = {record.id: record for record in records}
    found: dict[Place, ExamplePair] = {}
    for rubric in rubrics:
        means = {r.id: mean(given) for r in records if (given := people.get((r.id, rubric)))}
        upwards = sorted(means, key=lambda name: means[name])
        downwards = sorted(means, key=lambda name: -means[name])
        for record in records:
            own = question_of(record)
            best, worst = (
                next((name for name in names if question_of(by_id[name]) != own), None)
                for names in (downwards, upwards)
            )
            if best is None or worst is None or means[best] == means[worst]:
                continue
            shown = (_example(by_id[best], means[best]), _example(by_id[worst], means[worst]))
            found[record.id, rubric] = ExamplePair(best, worst, shown)
    return found


def with_examples(job: Job, pairs: Mapping[Place, ExamplePair]) -> Job:
    """Return the answers with their examples named in the metadata.

    So a folder judged with other examples is refused.
    """
    shown: dict[str, dict[str, str]] = {}
    for (name, rubric), pair in pairs.items():
        shown.setdefault(name, {})[f"examples.{rubric}"] = pair.named
    if not shown:
        return job
    made = job_of(
        [r.model_copy(update={"metadata": r.metadata | shown.get(r.id, {})}) for r in job.records],
        job.corpus,
    )
    stamp = made.answers.model_copy(
        update={"name": f"{job.answers.name} with examples by people's ratings"}
    )
    return replace(made, answers=stamp)


def question_of(record: Record) -> str:
    """Return the key that answers to the same question share."""
    return record.topic or record.question


def _example(record: Record, rated: float) -> RubricExample:
    answer = record.answer
    text = answer if isinstance(answer, str) else " ".join(one.text for one in answer)
    return RubricExample(
        question=record.question,
        sources=_cut(source_lines(record.sources)),
        answer=_cut(text),
        rating=math.floor(rated + 0.5),  # The scale has whole ratings only; a half goes up.
        reason="",
    )


def _cut(text: str) -> str:
    """Return a text, or its beginning where it is too long for an example."""
    first = passages_of(text, MOST_WORDS)[0]
    return first if first == text else f"{first} ..."


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
