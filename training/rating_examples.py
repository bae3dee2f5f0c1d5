"""Measured answers with known damage: the training data of a rater."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.evaluators.toolbox import Toolbox
from ragassay.formats import read_records
from ragassay.graphs.files import case_of
from ragassay.instruments.signals.measuring import Measured, measure
from ragassay.models.entailment import Remembered
from ragassay.models.verifiers import signals_verifier
from ragassay.optimizers.finetuning.yescieval import (
    DESIRED,
    SEED,
    is_held_out,
    ratings_of,
    redundant,
    some_systems,
)
from ragassay.perturbations import ATTACKS, damage_answers
from ragassay.records import DamagedAnswer

OTHER_GENRE = {"off_topic": {"readability": 2}, "off_topic_inside": {"readability": 2}}
"""A further desired rating of an attack: a passage of another genre breaks a scholarly text."""


@dataclass(frozen=True)
class Example:
    """A measured answer with its known damage.

    Attributes:
        measured: Its measures.
        ratings: Desired ratings by rubric.
        original: Id of the whole answer.
        kind: "whole", "subtle" or "extreme".
        attack: The attack's name; "" for a whole answer.
        added: Numbers of the sentences that the attack added or changed.
        pool: The kind of text they are from.
    """

    measured: Measured
    ratings: dict[str, int]
    original: str = ""
    kind: str = "whole"
    attack: str = ""
    added: tuple[int, ...] = ()
    pool: str = ""


def examples_of(
    answers: Sequence[Path],
    tools: Toolbox,
    n_systems: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> Iterator[Example]:
    """Measure whole answers to questions that are not held out, and their damaged versions.

    Args:
        answers: YESciEval files.
        tools: Cuts and embeds.
        n_systems: Number of systems drawn for each question.
        say: Receives progress messages.

    Raises:
        InputError: A file cannot be read.
    """
    verifier, given = Remembered(signals_verifier()), (tools.settings, tools.retrieval.corpus)
    for path in answers:
        records = [r for r in read_records(path).records if not is_held_out(r.topic or r.id)]
        fit = [record for record in records if record.metadata.get("variant") == "benign"]
        rated = ratings_of(path)
        chosen = some_systems(fit, n_systems)
        damaged = [
            *damage_answers(chosen, attacks=ATTACKS, pools="fit", seed=SEED, among=fit).answers,
            *redundant(records, chosen),
        ]
        for n, record in enumerate(chosen, 1):
            say(f"{path.name}: {n} of {len(chosen)}")
            found = measure(case_of(record, *given), tools.models.embedder, verifier)
            yield Example(found, rated.get(record.id, {}), record.id)
            for one in damaged:
                wanted = DESIRED.get((one.family, one.severity))
                if one.original == record.id and wanted is not None:
                    found = measure(case_of(one.record, *given), tools.models.embedder, verifier)
                    yield _example(one, found, wanted)


def _example(one: DamagedAnswer, measured: Measured, wanted: int) -> Example:
    return Example(
        measured,
        dict.fromkeys(one.record.rubrics, wanted) | OTHER_GENRE.get(one.attack, {}),
        one.original,
        one.severity if one.family == "rubric" else one.family,
        one.attack,
        one.sentences,
        one.record.metadata.get("pool", ""),
    )
