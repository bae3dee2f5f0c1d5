"""Answers of a file with their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats import read_labels
from ragassay.formats.reviews import read_answers
from ragassay.metrics.alignment import consensus
from ragassay.records import HumanLabel, LabelTask, Record, Rejection

Place = tuple[int, str]
"""The subject of a label: a sentence's number (0 for the whole answer), and its item."""


@dataclass(frozen=True)
class LabelledAnswers:
    """Answers with labels.

    Attributes:
        records: All readable answers.
        labels: The annotators' majority, by answer and place; places without one are left out.
        rejections: Unreadable lines, and labels of answers that are not in the file.
    """

    records: tuple[Record, ...]
    labels: dict[str, dict[Place, str]]
    rejections: tuple[Rejection, ...]


def read_labelled(path: Path, gold: Path | None, task: LabelTask) -> LabelledAnswers:
    """Read answers and their labels of one task.

    Args:
        path: Answers in any known format; or a run folder, for its answers and its reviews.
        gold: The file of the labels; None if they are in the answers' file.
        task: The labels' task.

    Raises:
        InputError: A file cannot be read, or has no label of the task for any of the answers.
    """
    read = read_answers(path)
    found = read_labels(gold or path)
    by_id = {record.id: record for record in read.records}
    by_place = {(record.topic, record.system): record for record in read.records}
    said: dict[str, dict[Place, list[str]]] = {}
    for label in found.labels:
        record = by_id.get(label.record_id or "")
        # Without a topic, another answer's label would fall to an answer without one.
        if record is None and label.topic:
            record = by_place.get((label.topic, label.system))
        if label.task == task and record is not None:
            place = (label.sentence or 0, label.item)
            said.setdefault(record.id, {}).setdefault(place, []).append(label.label)
    if not said:
        raise InputError(
            f"{gold or path} has no label of the task {task!r} on an answer of {path}; "
            f"{_seen(found.labels)}"
        )
    return LabelledAnswers(
        records=tuple(read.records),
        labels={name: _agreed(task, places) for name, places in said.items()},
        rejections=(*read.rejections, *(found.rejections if gold else ())),
    )


def _agreed(task: LabelTask, places: dict[Place, list[str]]) -> dict[Place, str]:
    together = {place: consensus(task, labels) for place, labels in places.items()}
    return {place: label for place, label in together.items() if label is not None}


def _seen(labels: Sequence[HumanLabel]) -> str:
    tasks = sorted({label.task for label in labels})
    return f"its labels are of {', '.join(tasks)}" if tasks else "it has no labels"
