"""Read and write the nuggetizer's output files: nugget assignments and scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.items import Item, iter_items, read_once
from ragassay.formats.nuggetizer import (
    ASSIGNED,
    FAILED,
    RETRIEVED,
    AssignedRow,
    RetrievedRow,
    collect_unknown_labels,
    describe_unknown_labels,
    find_unknown_assignments,
    find_unknown_importances,
)
from ragassay.formats.output import JsonRow, restore_metadata, write_values
from ragassay.formats.problems import Problem, parse, quote_text
from ragassay.formats.rows import collect_unknown_fields
from ragassay.formats.sniff import sniff
from ragassay.records import Assignment, Importance, Rejection

ALL = "all"
"""Value of `qid` on the line with the mean scores of all answers."""

_SCORES = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")


@dataclass(frozen=True)
class AssignedNugget:
    """A gold nugget and whether an answer supports it.

    Attributes:
        importance: Importance, or None if it is unknown or the nuggetizer failed to assign it.
        assignment: Level of support, or None if the nuggetizer failed to assign it.
    """

    text: str
    importance: Importance | None = None
    assignment: Assignment | None = None


@dataclass(frozen=True)
class AssignedAnswer:
    """An answer or retrieved passage with nugget assignments.

    Attributes:
        system: Name of the run that generated the answer, or "" for a passage.
        n_words: Length of the answer according to the file, or None if it is the number of words.
        document: Id of the passage, or "" for an answer.
        metadata: Texts of all other fields in the file, keyed by dotted path.
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
        """Key of the answer, unique within a file: its topic, system and document."""
        return self.topic, self.system, self.document

    @property
    def n_unscored(self) -> int:
        """Number of nuggets to which the nuggetizer failed to assign a level of support."""
        return sum(nugget.assignment is None for nugget in self.nuggets)


@dataclass(frozen=True)
class NuggetScores:
    """The nuggetizer's scores for an answer, each in [0, 1] or None if undefined.

    Attributes:
        topic: Question id, or "all" for the mean scores of all answers.
        strict_vital_score: Share of vital nuggets with full support.
        strict_all_score: Share of all nuggets with full support.
        vital_score: Like `strict_vital_score`, but partial support counts half.
        all_score: Like `strict_all_score`, but partial support counts half.
    """

    topic: str
    strict_vital_score: float | None
    strict_all_score: float | None
    vital_score: float | None
    all_score: float | None


def read_assignments(path: AnyPath) -> tuple[tuple[AssignedAnswer, ...], tuple[Rejection, ...]]:
    """Read answers or passages from the nuggetizer's `assign`, and return them with rejected lines.

    Labels that the nuggetizer failed to assign are None. Answers with unknown labels are kept, and
    a rejection reports how many labels are unknown.

    Raises:
        InputError: The file cannot be opened, is empty, or has another format.
    """
    path = Path(path)
    _, items = sniff(iter_items(path), (ASSIGNED, RETRIEVED), str(path))
    label_rejections: list[Rejection] = []

    def read(item: Item) -> AssignedAnswer:
        row = parse(RetrievedRow if _is_retrieved(item) else AssignedRow, item.fields)
        labels = find_unknown_importances(row.nuggets, [FAILED])
        labels += find_unknown_assignments(row.nuggets)
        label_rejections.extend(map(item.place.reject, describe_unknown_labels(labels)))
        return _build_answer(row, collect_unknown_fields(row) | collect_unknown_labels(labels))

    answers, rejections = read_once(
        items,
        read,
        key_of=lambda answer: answer.key,
        repeated=lambda answer, _: Problem(
            "qid",
            f"the topic already has an answer by {quote_text(answer.system or answer.document)}",
            "one line for each answer",
        ),
    )
    return answers, tuple(sorted([*rejections, *label_rejections], key=lambda one: one.line))


def _is_retrieved(item: Item) -> bool:
    return RETRIEVED.is_complete(item.keys) and not ASSIGNED.is_complete(item.keys)


def _build_answer(row: AssignedRow | RetrievedRow, metadata: dict[str, str]) -> AssignedAnswer:
    nuggets = tuple(AssignedNugget(one.text, one.weight, one.label) for one in row.nuggets)
    if isinstance(row, RetrievedRow):
        passage = row.candidate_text
        return AssignedAnswer(
            *(row.qid, row.text, passage, "", nuggets), document=row.docid, metadata=metadata
        )
    is_counted = row.response_length in (None, _count_words(row.answer_text))
    length = None if is_counted else row.response_length
    return AssignedAnswer(
        *(row.qid, row.query, row.answer_text, row.run_id, nuggets, length), metadata=metadata
    )


def _count_words(text: str) -> int:
    return len(text.split())


def write_assignments(answers: Sequence[AssignedAnswer], path: AnyPath) -> None:
    """Write answers or passages in the format of the nuggetizer's `assign`.

    The nuggetizer's `metrics` requires an importance for every nugget, so an unknown importance is
    written as "failed", which `metrics` does not count as vital.

    Raises:
        InputError: An answer occurs twice, has no topic, or has both a system and a document or
            neither; a nugget has no text; or the file cannot be written.
    """
    path = Path(path)
    seen: set[tuple[str, str, str]] = set()
    for answer in answers:
        key = answer.key
        if not answer.topic.strip() or not (answer.system + answer.document).strip():
            raise InputError(
                f"{path} cannot be written: {key} has no topic, or neither system nor document"
            )
        if key in seen or (answer.system and answer.document):
            problem = "occurs twice" if key in seen else "has both a system and a document"
            raise InputError(f"{path} cannot be written: the answer {key} {problem}")
        if not all(nugget.text for nugget in answer.nuggets):
            raise InputError(f"{path} cannot be written: a nugget of {key} has no text")
        seen.add(key)
    write_values((_build_answer_row(answer) for answer in answers), path)


def _build_answer_row(answer: AssignedAnswer) -> JsonRow:
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
            "response_length": _count_words(answer.answer) if n_words is None else n_words,
            "run_id": answer.system,
        }
    row["nuggets"] = [_build_nugget_row(answer, i) for i in range(len(answer.nuggets))]
    return restore_metadata(row, answer.metadata, ())


def _build_nugget_row(answer: AssignedAnswer, i: int) -> JsonRow:
    nugget, metadata = answer.nuggets[i], answer.metadata
    return {
        "text": nugget.text,
        "importance": nugget.importance or metadata.get(f"nuggets.{i}.importance", FAILED),
        "assignment": nugget.assignment or metadata.get(f"nuggets.{i}.assignment", FAILED),
    }


def write_nugget_scores(scores: Iterable[NuggetScores], path: AnyPath) -> None:
    """Write scores in the nuggetizer's format, with the mean scores on a final line "all".

    The means exclude undefined scores, which the nuggetizer counts as 0. Undefined scores are not
    written, which the nuggetizer's `compare` accepts but its `view` does not. If `scores` includes
    an entry for "all", no means are added.

    Raises:
        InputError: There are no scores, a topic is blank, or the file cannot be written.
    """
    path = Path(path)
    rows = list(scores)
    if not rows or not all(row.topic.strip() for row in rows):
        raise InputError(f"{path} cannot be written: there are no scores, or a topic is blank")
    if not any(row.topic == ALL for row in rows):
        means = (_average_known([getattr(row, name) for row in rows]) for name in _SCORES)
        rows.append(NuggetScores(ALL, *means))
    write_values(map(_build_scores_row, rows), path)


def _build_scores_row(scores: NuggetScores) -> JsonRow:
    known = {name: getattr(scores, name) for name in _SCORES}
    row: JsonRow = {"qid": scores.topic}
    return row | {name: value for name, value in known.items() if value is not None}


def _average_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
