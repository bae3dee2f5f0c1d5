"""Read and write the nuggetizer's results: nuggets with assignments, and scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.items import Item, iter_items, read_once
from ragassay.formats.nuggetizer import ASSIGNED, FAILED, AssignedRow
from ragassay.formats.output import JsonRow, write_values
from ragassay.formats.problems import Problem, found_text, validate
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format, sniff
from ragassay.records import Assignment, Importance, Rejection

ALL = "all"
"""The `qid` of the line with the means."""

_SCORES = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")


@dataclass(frozen=True)
class AssignedNugget:
    """A gold nugget and whether an answer states it.

    Attributes:
        text: The nugget.
        importance: None where unknown.
        assignment: None where it failed; the file says "failed".
    """

    text: str
    importance: Importance | None = None
    assignment: Assignment | None = None


@dataclass(frozen=True)
class AssignedAnswer:
    """An answer with the assignments of its question's gold nuggets.

    Attributes:
        topic: The question's id.
        question: The question.
        answer: The answer's text.
        system: The run that wrote it.
        nuggets: In the bank's order.
        n_words: The answer's length as the file gives it; None: counted from the text.
    """

    topic: str
    question: str
    answer: str
    system: str
    nuggets: tuple[AssignedNugget, ...]
    n_words: int | None = None


@dataclass(frozen=True)
class NuggetScores:
    """The nuggetizer's scores of an answer, each in [0, 1]; None where there is none.

    Attributes:
        topic: The question's id; "all" for the means.
        strict_vital_score: Share of vital nuggets in full support.
        strict_all_score: Share of all nuggets in full support.
        vital_score: The same of vital nuggets; partial support counts half.
        all_score: The same of all nuggets; partial support counts half.
    """

    topic: str
    strict_vital_score: float | None
    strict_all_score: float | None
    vital_score: float | None
    all_score: float | None


class ScoresRow(Row):
    """A line of scores."""

    qid: IdText
    strict_vital_score: float | None = None
    strict_all_score: float | None = None
    vital_score: float | None = None
    all_score: float | None = None


SCORES = Format(
    name="nuggetizer-scores",
    required=(("qid",), ("strict_vital_score", "strict_all_score", "vital_score", "all_score")),
    fields=frozenset(ScoresRow.model_fields),
    leading="strict_vital_score",
    keys="qid, strict_vital_score, strict_all_score, vital_score, all_score",
)


def read_assignments(path: Path) -> tuple[tuple[AssignedAnswer, ...], tuple[Rejection, ...]]:
    """Read the answers written by the nuggetizer's `assign`. Unknown fields are dropped.

    Returns:
        The answers in the file's order, each topic and system once; the lines that could not be
        read.

    Raises:
        InputError: the file cannot be opened, is empty, or is in another form.
    """
    _, items = sniff(iter_items(path), (ASSIGNED,), str(path))
    answers, rejections = read_once(
        items,
        _assigned,
        key_of=lambda answer: (answer.topic, answer.system),
        repeated=lambda answer, _: Problem(
            "qid",
            f"the answer of {found_text(answer.system)} to it appeared before",
            "each answer once",
        ),
    )
    return answers, tuple(rejections)


def _assigned(item: Item) -> AssignedAnswer | Problem:
    row = validate(AssignedRow, item.fields)
    if isinstance(row, Problem):
        return row
    nuggets = tuple(AssignedNugget(one.text, one.importance, one.label) for one in row.nuggets)
    is_counted = row.response_length in (None, _n_words(row.answer_text))
    length = None if is_counted else row.response_length
    return AssignedAnswer(row.qid, row.query, row.answer_text, row.run_id, nuggets, length)


def _n_words(text: str) -> int:
    return len(text.split())


def write_assignments(answers: Sequence[AssignedAnswer], path: Path) -> None:
    """Write answers with their assignments as the nuggetizer's `assign` does.

    `read_assignments` returns equal answers.

    Raises:
        InputError: an answer comes twice, has no topic or no system, or a nugget has no text; the
            file cannot be written.
    """
    seen: set[tuple[str, str]] = set()
    for answer in answers:
        key = (answer.topic, answer.system)
        if not all(part.strip() for part in key) or key in seen:
            problem = "comes twice" if key in seen else "has no topic or no system"
            raise InputError(f"{path} cannot be written: the answer {key} {problem}")
        if not all(nugget.text for nugget in answer.nuggets):
            raise InputError(f"{path} cannot be written: a nugget of {key} has no text")
        seen.add(key)
    write_values((_assigned_row(answer) for answer in answers), path)


def _assigned_row(answer: AssignedAnswer) -> JsonRow:
    nuggets: list[JsonRow] = []
    for nugget in answer.nuggets:
        row: JsonRow = {"text": nugget.text}
        if nugget.importance is not None:
            row["importance"] = nugget.importance
        nuggets.append(row | {"assignment": nugget.assignment or FAILED})
    n_words = answer.n_words
    return {
        "query": answer.question,
        "qid": answer.topic,
        "answer_text": answer.answer,
        "response_length": _n_words(answer.answer) if n_words is None else n_words,
        "run_id": answer.system,
        "nuggets": nuggets,
    }


def read_nugget_scores(path: Path) -> tuple[tuple[NuggetScores, ...], tuple[Rejection, ...]]:
    """Read the nuggetizer's scores, including the line "all".

    Raises:
        InputError: the file cannot be opened, is empty, or is in another form.
    """
    _, items = sniff(iter_items(path), (SCORES,), str(path))
    found = [item if isinstance(item, Rejection) else _scores(item) for item in items]
    rejections = tuple(one for one in found if isinstance(one, Rejection))
    return tuple(one for one in found if isinstance(one, NuggetScores)), rejections


def _scores(item: Item) -> NuggetScores | Rejection:
    row = validate(ScoresRow, item.fields)
    if isinstance(row, Problem):
        return item.place.reject(row)
    return NuggetScores(row.qid, *(getattr(row, name) for name in _SCORES))


def write_nugget_scores(scores: Iterable[NuggetScores], path: Path) -> None:
    """Write scores as the nuggetizer does, with their means on a last line "all".

    The means leave out None, which the nuggetizer counts as 0; the file says null there. A line
    "all" among the scores is written as given, and none is added.

    Raises:
        InputError: there are no scores, a topic is blank, or the file cannot be written.
    """
    rows = list(scores)
    if not rows or not all(row.topic.strip() for row in rows):
        raise InputError(f"{path} cannot be written: no scores, or scores without a topic")
    if not any(row.topic == ALL for row in rows):
        means = (_mean([getattr(row, name) for row in rows]) for name in _SCORES)
        rows.append(NuggetScores(ALL, *means))
    write_values(({"qid": row.topic} | {n: getattr(row, n) for n in _SCORES} for row in rows), path)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
