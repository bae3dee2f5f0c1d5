"""Read and write the nuggetizer's results: nuggets with assignments, and scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.items import Item, iter_items, read_once
from ragassay.formats.nuggetizer import (
    ASSIGNED,
    FAILED,
    RETRIEVED,
    AssignedRow,
    RetrievedRow,
    kept_labels,
    odd_assignments,
    odd_importances,
    problems_of,
)
from ragassay.formats.output import JsonRow, restore_metadata, write_values
from ragassay.formats.problems import Problem, found_text, parse
from ragassay.formats.rows import kept_fields
from ragassay.formats.sniff import sniff
from ragassay.records import Assignment, Importance, Rejection

ALL = "all"
"""The `qid` of the line with the means."""

_SCORES = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")


@dataclass(frozen=True)
class AssignedNugget:
    """A gold nugget and whether an answer states it.

    Attributes:
        importance: None where unknown or failed; the file says "failed".
        assignment: None where it failed; the file says "failed".
    """

    text: str
    importance: Importance | None = None
    assignment: Assignment | None = None


@dataclass(frozen=True)
class AssignedAnswer:
    """An answer, or a retrieved passage, with the assignments of its question's gold nuggets.

    Attributes:
        topic: The question's id.
        answer: The answer's text, or the passage's.
        system: The run that wrote it; empty for a passage.
        nuggets: In the bank's order.
        n_words: The answer's length as the file gives it; None: counted from the text.
        document: The passage's id; empty for an answer.
        metadata: The file's other fields, as text, by dotted path.
    """

    topic: str
    question: str
    answer: str
    system: str
    nuggets: tuple[AssignedNugget, ...]
    n_words: int | None = None
    document: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str], hash=False, kw_only=True)

    @property
    def key(self) -> tuple[str, str, str]:
        """Topic, system and document, which no two of a file share."""
        return self.topic, self.system, self.document

    @property
    def n_unscored(self) -> int:
        """The number of nuggets whose assignment failed."""
        return sum(nugget.assignment is None for nugget in self.nuggets)


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


def read_assignments(path: AnyPath) -> tuple[tuple[AssignedAnswer, ...], tuple[Rejection, ...]]:
    """Read what the nuggetizer's `assign` wrote of answers, or of retrieved passages.

    Returns:
        The answers in the file's order, each topic and system once; the lines that could not be
        read. A label that failed is None; of a line with labels that are none of the nuggetizer's,
        as its model made some up, the answer stays, and a rejection counts them.

    Raises:
        InputError: the file cannot be opened, is empty, or is in another form.
    """
    path = Path(path)
    _, items = sniff(iter_items(path), (ASSIGNED, RETRIEVED), str(path))
    odd: list[Rejection] = []

    def read(item: Item) -> AssignedAnswer:
        row = parse(RetrievedRow if _is_retrieved(item) else AssignedRow, item.fields)
        labels = [*odd_importances(row.nuggets, [FAILED]), *odd_assignments(row.nuggets)]
        odd.extend(map(item.place.reject, problems_of(labels)))
        return _answer(row, kept_fields(row) | kept_labels(labels))

    answers, rejections = read_once(
        items,
        read,
        key_of=lambda answer: answer.key,
        repeated=lambda answer, _: Problem(
            "qid",
            f"the answer of {found_text(answer.system or answer.document)} to it appeared before",
            "each answer once",
        ),
    )
    return answers, tuple(sorted([*rejections, *odd], key=lambda one: one.line))


def _is_retrieved(item: Item) -> bool:
    return RETRIEVED.is_complete(item.keys) and not ASSIGNED.is_complete(item.keys)


def _answer(row: AssignedRow | RetrievedRow, kept: dict[str, str]) -> AssignedAnswer:
    nuggets = tuple(AssignedNugget(one.text, one.weight, one.label) for one in row.nuggets)
    if isinstance(row, RetrievedRow):
        passage = row.candidate_text
        return AssignedAnswer(
            *(row.qid, row.text, passage, "", nuggets), document=row.docid, metadata=kept
        )
    is_counted = row.response_length in (None, _n_words(row.answer_text))
    length = None if is_counted else row.response_length
    return AssignedAnswer(
        *(row.qid, row.query, row.answer_text, row.run_id, nuggets, length), metadata=kept
    )


def _n_words(text: str) -> int:
    return len(text.split())


def write_assignments(answers: Sequence[AssignedAnswer], path: AnyPath) -> None:
    """Write answers, or passages, with their assignments as the nuggetizer's `assign` does.

    `read_assignments` returns equal answers. The nuggetizer's `metrics` wants every importance: an
    unknown one is "failed", which is not vital there either.

    Raises:
        InputError: an answer comes twice, has no topic, neither a system nor a document, or both,
            or a nugget has no text; the file cannot be written.
    """
    path = Path(path)
    seen: set[tuple[str, str, str]] = set()
    for answer in answers:
        key = answer.key
        if not answer.topic.strip() or not (answer.system + answer.document).strip():
            raise InputError(f"{path} cannot be written: {key} has no topic or no system")
        if key in seen or (answer.system and answer.document):
            problem = "comes twice" if key in seen else "is of a system and a passage at once"
            raise InputError(f"{path} cannot be written: the answer {key} {problem}")
        if not all(nugget.text for nugget in answer.nuggets):
            raise InputError(f"{path} cannot be written: a nugget of {key} has no text")
        seen.add(key)
    write_values((_assigned_row(answer) for answer in answers), path)


def _assigned_row(answer: AssignedAnswer) -> JsonRow:
    n_words = answer.n_words
    if answer.document:
        row: JsonRow = {
            "text": answer.question,
            "qid": answer.topic,
            "candidate_text": answer.answer,
            "docid": answer.document,
        }
    else:
        row = {
            "query": answer.question,
            "qid": answer.topic,
            "answer_text": answer.answer,
            "response_length": _n_words(answer.answer) if n_words is None else n_words,
            "run_id": answer.system,
        }
    row["nuggets"] = [_nugget_row(answer, i) for i in range(len(answer.nuggets))]
    return restore_metadata(row, answer.metadata, ())


def _nugget_row(answer: AssignedAnswer, i: int) -> JsonRow:
    nugget, given = answer.nuggets[i], answer.metadata
    return {
        "text": nugget.text,
        "importance": nugget.importance or given.get(f"nuggets.{i}.importance", FAILED),
        "assignment": nugget.assignment or given.get(f"nuggets.{i}.assignment", FAILED),
    }


def write_nugget_scores(scores: Iterable[NuggetScores], path: AnyPath) -> None:
    """Write scores as the nuggetizer does, with their means on a last line "all".

    The means leave out None, which the nuggetizer counts as 0; the field is left out there, as its
    `compare` reads it (its `view` shows files without gaps only). A line "all" among the scores is
    written as given, and none is added.

    Raises:
        InputError: there are no scores, a topic is blank, or the file cannot be written.
    """
    path = Path(path)
    rows = list(scores)
    if not rows or not all(row.topic.strip() for row in rows):
        raise InputError(f"{path} cannot be written: no scores, or scores without a topic")
    if not any(row.topic == ALL for row in rows):
        means = (_mean([getattr(row, name) for row in rows]) for name in _SCORES)
        rows.append(NuggetScores(ALL, *means))
    write_values(map(_scores_row, rows), path)


def _scores_row(scores: NuggetScores) -> JsonRow:
    known = {name: getattr(scores, name) for name in _SCORES}
    row: JsonRow = {"qid": scores.topic}
    return row | {name: value for name, value in known.items() if value is not None}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
