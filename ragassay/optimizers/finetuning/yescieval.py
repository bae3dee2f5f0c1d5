"""Choose YESciEval's training answers and their desired ratings."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import median_low

from ragassay.formats import read_labels
from ragassay.records import AttackFamily, DamagedAnswer, Record, Severity

SEED = 5
"""Seed of the choice among a question's systems."""

HELD_OUT_PERCENT = 40
"""Share of the questions that nothing is fitted on."""

DESIRED: dict[tuple[AttackFamily, Severity], int] = {
    ("rubric", "extreme"): 1,
    ("rubric", "subtle"): 2,
    ("clinical", "subtle"): 2,
}
"""Desired ratings of damaged answers. YESciEval asks for at most 1 and at most 3; a model that aims
at 3 for damage that it often overlooks ends above."""

WRITTEN_BY_MODELS = "conciseness"
"""The rubric whose damaged answers also come from the file."""


def is_held_out(question: str) -> bool:
    """Return whether a question is held out from fitting, by the hash of its id."""
    return int(hashlib.sha256(question.encode()).hexdigest(), 16) % 100 < HELD_OUT_PERCENT


def redundant(records: Sequence[Record], whole: Sequence[Record]) -> list[DamagedAnswer]:
    """Return the file's own redundant answers to the questions of the whole ones."""
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
    """Return the median of all ratings for each answer and rubric."""
    given: dict[str, dict[str, list[int]]] = {}
    for label in read_labels(path).labels:
        if label.record_id and label.task == "rubric":
            by_rubric = given.setdefault(label.record_id, {})
            by_rubric.setdefault(label.item, []).append(int(label.label))
    return {
        record: {rubric: median_low(ratings) for rubric, ratings in by_rubric.items()}
        for record, by_rubric in given.items()
    }


def some_systems(records: Sequence[Record], n: int) -> list[Record]:
    """Draw so many systems' answers to each question, always the same ones."""
    by_question: dict[str, list[Record]] = {}
    for record in records:
        by_question.setdefault(record.topic or record.id, []).append(record)
    rng = random.Random(SEED)
    return [
        record
        for question in sorted(by_question)
        for record in rng.sample(by_question[question], min(n, len(by_question[question])))
    ]
