"""Build the training data of a rater: answers with known perturbations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.evaluators.base import Run
from ragassay.formats import read_records
from ragassay.graphs.case import convert_to_case
from ragassay.instruments.signals.extractor import AnswerMeasurements, measure
from ragassay.models.entailment import CachedEntailment
from ragassay.models.verifiers import load_signals_verifier
from ragassay.optimizers.finetuning.judge_replies import (
    DESIRED,
    SEED,
    is_held_out,
    read_median_ratings,
    sample_systems,
    select_redundant_answers,
)
from ragassay.perturbations import ATTACKS, perturb_answers
from ragassay.records import PerturbedAnswer, Record

OTHER_GENRE = {"off_topic": {"readability": 2}, "off_topic_inside": {"readability": 2}}
"""Additional target ratings by attack. Text of another genre lowers readability."""


NOTHING = (
    "The given context does not provide information about this question.",
    "There is not enough information available to answer this. Please provide more details.",
    "No relevant documents were found for this question.",
    "I cannot answer this question based on the abstracts. They do not mention what is asked.",
)
"""Answers without content."""

SAYS_SOMETHING: tuple[str, ...] = ("relevancy", "completeness", "informativeness")
"""Rubrics on which these answers get the lowest rating."""


@dataclass(frozen=True)
class Example:
    """Measurements of an answer with a known perturbation.

    Attributes:
        measured: Answer measurements.
        ratings: Target ratings by rubric.
        original: Id of the original answer.
        kind: "unperturbed" (original), "subtle" or "extreme".
        attack: Attack name. "" for an original answer.
        added: Numbers of the sentences that the attack added or changed.
        pool: Pool of the inserted text.
        question: Question id.
    """

    measured: AnswerMeasurements
    ratings: dict[str, int]
    original: str = ""
    kind: str = "unperturbed"
    attack: str = ""
    added: tuple[int, ...] = ()
    pool: str = ""
    question: str = ""


def examples_of(
    answers: Sequence[Path],
    run: Run,
    n_systems: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> Iterator[Example]:
    """Measure original answers to questions that are not held out, and perturbed versions.

    Args:
        answers: YESciEval files.
        run: Run that segments and embeds the answers.
        n_systems: Number of systems per question whose answers are perturbed.
        say: Callback for progress messages.

    Raises:
        InputError: A file cannot be read.
    """
    verifier = CachedEntailment(load_signals_verifier())

    def measured(record: Record) -> AnswerMeasurements:
        case = convert_to_case(record, run.settings, run.retrieval.corpus)
        return measure(case, run.models.embedder, verifier)

    for path in answers:
        records = [r for r in read_records(path).records if not is_held_out(r.topic or r.id)]
        fit = [record for record in records if record.metadata.get("variant") == "benign"]
        rated = read_median_ratings(path)
        chosen = sample_systems(fit, n_systems)
        drawn = {record.id for record in chosen}
        perturbed = [
            *perturb_answers(chosen, attacks=ATTACKS, pools="fit", seed=SEED, among=fit).answers,
            *select_redundant_answers(records, chosen),
        ]
        for n, record in enumerate(sorted(fit, key=lambda r: r.topic or r.id), 1):
            say(f"{path.name}: {n} of {len(fit)}")
            yield Example(
                measured(record),
                rated.get(record.id, {}),
                record.id,
                question=record.topic or record.id,
            )
            for one in perturbed:
                wanted = DESIRED.get((one.family, one.severity))
                if one.original == record.id and wanted is not None:
                    yield _example(one, measured(one.record), wanted)
            if record.id in drawn:
                empty = record.model_copy(update={"answer": NOTHING[n % len(NOTHING)]})
                wanted = dict.fromkeys(SAYS_SOMETHING, DESIRED["rubric", "extreme"])
                yield Example(measured(empty), wanted, record.id, "extreme", "nothing")


def _example(one: PerturbedAnswer, measured: AnswerMeasurements, wanted: int) -> Example:
    return Example(
        measured,
        dict.fromkeys(one.record.rubrics, wanted) | OTHER_GENRE.get(one.attack, {}),
        one.original,
        one.severity if one.family == "rubric" else one.family,
        one.attack,
        one.sentences,
        one.record.metadata.get("pool", ""),
    )
