"""Answers of which it is known what is wrong with them, measured: what a rater is fitted on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low

from ragassay.agents.signals.measuring import Measured, measure
from ragassay.formats import read_labels, read_records
from ragassay.graphs.files import case_of
from ragassay.graphs.toolbox import Toolbox
from ragassay.models.entailment import Remembered
from ragassay.models.verifiers import minilm_verifier
from ragassay.optimizers.signal_rating import is_held_out
from ragassay.perturbations import ATTACKS, damage_answers
from ragassay.records import AttackFamily, DamagedAnswer, Record, Severity

SEED = 5

DESIRED: dict[tuple[AttackFamily, Severity], int] = {
    ("rubric", "extreme"): 1,
    ("rubric", "subtle"): 2,
    ("clinical", "subtle"): 2,
}
"""Ratings that damaged answers are to get. YESciEval asks for at most 1 and at most 3; a model that
aims at 3 for what it often overlooks ends above."""

OTHER_GENRE = {"off_topic": {"readability": 2}, "off_topic_inside": {"readability": 2}}
"""What else is desired of an attack: a passage of another genre breaks a scholarly text."""

WRITTEN_BY_MODELS = "conciseness"
"""The rubric whose damaged answers are taken from the file as well."""


@dataclass(frozen=True)
class Example:
    """An answer that was measured, and what is known of it.

    Attributes:
        measured: Its measures.
        ratings: Desired ratings by rubric.
        original: Id of the whole answer.
        kind: "whole", "subtle" or "extreme".
        attack: The attack's name; "" for a whole answer.
        added: Numbers of the sentences that the attack added or changed.
        pool: What kind of text they are from.
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
    """Whole answers to questions that may be fitted on, and what damage makes of them.

    Args:
        answers: YESciEval files.
        tools: Cuts and embeds.
        n_systems: How many systems' answers are taken of each question, at random.
        say: Told of progress.

    Raises:
        InputError: A file cannot be read.
    """
    verifier = Remembered(minilm_verifier())
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
            found = measure(case_of(record, tools), tools.embedder, verifier)
            yield Example(found, rated.get(record.id, {}), record.id)
            for one in damaged:
                wanted = DESIRED.get((one.family, one.severity))
                if one.original == record.id and wanted is not None:
                    found = measure(case_of(one.record, tools), tools.embedder, verifier)
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


def redundant(records: Sequence[Record], whole: Sequence[Record]) -> list[DamagedAnswer]:
    """The file's own answers with redundant sentences, to the questions of the whole ones."""
    originals = {(record.topic, record.system): record.id for record in whole}
    severities: dict[str, Severity] = {"subtle": "subtle", "extreme": "extreme"}
    return [
        DamagedAnswer(
            record=record.model_copy(update={"rubrics": (WRITTEN_BY_MODELS,)}),
            original=originals[record.topic, record.system],
            attack="redundant",
            family="rubric",
            severity=severities[record.metadata["variant"]],
            targets=(f"rubric.{WRITTEN_BY_MODELS}",),
        )
        for record in records
        if record.metadata["variant"] in severities
        and record.metadata.get("target_rubric", "").lower() == WRITTEN_BY_MODELS
        and (record.topic, record.system) in originals
    ]


def ratings_of(path: Path) -> dict[str, dict[str, int]]:
    """The median of the judges' ratings for each whole answer and rubric."""
    given: dict[str, dict[str, list[int]]] = {}
    for label in read_labels(path).labels:
        if label.record_id and "/benign" in label.record_id:
            by_rubric = given.setdefault(label.record_id, {})
            by_rubric.setdefault(label.item, []).append(int(label.label))
    return {
        record: {rubric: median_low(ratings) for rubric, ratings in by_rubric.items()}
        for record, by_rubric in given.items()
    }


def some_systems(records: Sequence[Record], n: int) -> list[Record]:
    """The answers of so many systems to each question, at random but always the same."""
    by_question: dict[str, list[Record]] = {}
    for record in records:
        by_question.setdefault(record.topic or record.id, []).append(record)
    rng = random.Random(SEED)
    return [
        record
        for question in sorted(by_question)
        for record in rng.sample(by_question[question], min(n, len(by_question[question])))
    ]
