"""Read the questions that answers are written to.

A question is a record without an answer; its sources are its papers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.errors import InputError
from ragassay.formats import read_records
from ragassay.formats.answered import require_records
from ragassay.formats.column_map import column_map
from ragassay.formats.exam_queries import read_exam_queries
from ragassay.formats.yescieval import read_questions
from ragassay.limits import line_limit
from ragassay.options import Keywords
from ragassay.records import Document, Record, Rejection
from ragassay.runs.job import question_rows, read_job
from ragassay.settings import Settings

if TYPE_CHECKING:
    from ragassay.options import Answers

    Queries = Sequence[str] | Answers
else:
    Queries = Any

SHOWN_IDS = 5
"""Ids of questions that a line names."""

MORE = 2
"""So many times as many are searched for: the retracted, and those without a text, are left out."""


NO_PAPERS = (
    "no question has a source: give a corpus to search for some, such as --corpus abstracts.jsonl"
)


@dataclass(frozen=True)
class Questions:
    """The questions to write answers to.

    Attributes:
        records: One a question, without an answer, in the order given.
        rejections: Lines that could not be read.
        bare: Ids of questions without a paper, which are left out.
        notes: What the user should know about the search.
    """

    records: tuple[Record, ...]
    rejections: tuple[Rejection, ...] = ()
    bare: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which questions are left out, in a sentence; none where all have papers."""
        if not self.bare:
            return ()
        told = f"{len(self.bare)} ({first_ids(self.bare)})"
        return (f"questions without a paper, left out: {told}",)


def first_ids(ids: Sequence[str]) -> str:
    """Return the first ids of some, and how many more there are."""
    more = len(ids) - SHOWN_IDS
    return ", ".join(ids[:SHOWN_IDS]) + (f" and {more} more" if more > 0 else "")


def read_synthesis_questions(queries: Queries, options: Keywords, settings: Settings) -> Questions:
    """Read questions, those without a paper too.

    Args:
        queries: YESciEval's file of questions; answers, or questions, in any format, of which each
            question has the sources of all its answers; topics; or texts, rows or records.
        options: `questions` and `column_map`, as for `evaluate`.
        settings: Bound the length of a line.

    Raises:
        InputError: The file cannot be read, has no question, or two questions share an id.
    """
    with line_limit(settings.limits.max_line_bytes):
        if isinstance(queries, str | Path):
            found = _of_file(Path(queries), options)
        else:
            job = read_job(
                question_rows(queries),
                questions=options.get("questions"),
                settings=settings,
                answered=False,
                columns=column_map(options.get("column_map")),
            )
            found = Questions(_grouped(job.records), job.rejections)
    name, n = Counter(record.id for record in found.records).most_common(1)[0]
    if n > 1:
        raise InputError(f"{n} questions have the id {name!r}: give each one of its own")
    return found


def _of_file(path: Path, options: Keywords) -> Questions:
    given, columns = options.get("questions"), column_map(options.get("column_map"))
    try:
        known, rejected = ({}, []) if columns else read_questions(path)
    except InputError:  # Not YESciEval's; if it is nothing else either, the readers below say so.
        known, rejected = {}, []
    if known:
        records = (
            Record(id=i, question=q.text, answer="", sources=q.sources) for i, q in known.items()
        )
        return Questions(tuple(records), tuple(rejected))
    try:
        found = read_records(
            path, questions=Path(given) if given else None, columns=columns, only_questions=True
        )
    except InputError as error:
        if given or columns:
            raise
        return _of_topics(path, error)
    require_records(found.records, found.rejections, str(path))
    return Questions(_grouped(found.records), found.rejections)


def _of_topics(path: Path, unread: InputError) -> Questions:
    """Read topics, which have no papers; where there are none either, say what was wrong before."""
    try:
        found = read_exam_queries(path)
    except InputError:
        raise unread from None
    records = (Record(id=query.id, question=query.text, answer="") for query in found.queries)
    return Questions(tuple(records), found.rejections)


def _grouped(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return one record a question: answers to the same question are one, with all sources."""
    groups: dict[tuple[str | None, str], list[Record]] = {}
    for record in records:
        by_words = record.question if record.answer else record.id
        key = (record.topic, "" if record.topic else by_words)
        groups.setdefault(key, []).append(record)
    return tuple(map(_joined, groups.values()))


def _joined(group: Sequence[Record]) -> Record:
    first = group[0]
    sources: dict[tuple[str, str], Document] = {}
    for source in (source for record in group for source in record.sources):
        sources.setdefault((source.title, source.text), source)
    references = (record.reference for record in group if record.reference)
    return Record(
        id=_id(first),
        question=first.question,
        answer="",
        sources=_numbered(tuple(sources.values())),
        nuggets=next((record.nuggets for record in group if record.nuggets), ()),
        reference=next(references, None),
        rubrics=first.rubrics,
        # What is said of an answer is not said of its question.
        metadata={} if first.answer else first.metadata,
    )


def _id(record: Record) -> str:
    """Return a question's id; the tables of TREC's topics name it otherwise."""
    return record.topic or record.metadata.get("topic_id") or record.id


def _numbered(sources: tuple[Document, ...]) -> tuple[Document, ...]:
    """Return sources with their ids; with their numbers where two have the same id."""
    if len({source.id for source in sources}) == len(sources):
        return sources
    return tuple(s.model_copy(update={"id": str(n)}) for n, s in enumerate(sources, 1))
