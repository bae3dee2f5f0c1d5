"""Read answers of any known format as records: the single entry point."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.conversations import read_answer
from ragassay.formats.export_shapes import ShapeFormat
from ragassay.formats.exports import read_export
from ragassay.formats.fields import ANSWER_NAMES, QUESTION_NAMES, find_name
from ragassay.formats.gold import read_nuggets
from ragassay.formats.items import ROWS_NAME, Item, Place, content_of, iter_items, iter_rows
from ragassay.formats.known import (
    FORMATS,
    ON_TOPICS,
    OPEN_FORMATS,
    REPEATING,
    SELF_CONTAINED,
    Mapper,
    add_named_sources,
    named_format,
)
from ragassay.formats.named_fields import FieldTally
from ragassay.formats.problems import Problem, empty_answer, found_text, require_records
from ragassay.formats.ragas_deepeval import DEEPEVAL
from ragassay.formats.ragassay_jsonl import NAMED_FIELDS, RAGASSAY
from ragassay.formats.row_mapping import merged_items, with_columns
from ragassay.formats.sniff import Format, sniff
from ragassay.formats.topics import read_topics
from ragassay.formats.workbench.paragraphs import RESPONSES, is_paragraph_file, iter_responses
from ragassay.formats.yescieval import (
    YESCIEVAL,
    YESCIEVAL_SHEET,
    find_questions,
    read_questions,
    read_yescieval,
    sheet_items,
)
from ragassay.records import Nugget, Record, Rejection


@dataclass(frozen=True)
class ReadResult:
    """The records of a file of answers and its rejected lines.

    Attributes:
        records: In the file's order, each id once.
        rejections: Lines that could not be read, of this file and of those read with it.
        format: The format's name, e.g. "ragassay", "ragas", "trec-rag-2024", "medaesqa".
        fields: The fields of other names that question, answer, sources and reference were read
            from, by ours.
    """

    records: tuple[Record, ...]
    rejections: tuple[Rejection, ...]
    format: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])


def read_records(
    path: Path,
    *,
    limit: int | None = None,
    questions: Path | None = None,
    nuggets: Path | None = None,
    answered: bool = False,
    columns: Mapping[str, str] | None = None,
    only_questions: bool = False,
) -> ReadResult:
    """Read answers from a file in any known format.

    Args:
        path: JSON lines, a JSON array or a JSON document, CSV or TSV, plain or gzip; Parquet or an
            Excel workbook. The format is recognised by the content. A folder has YESciEval's
            workbooks of one split.
        limit: Stop after this many records; None reads all.
        questions: For runs of TREC tracks without questions, the topics; for YESciEval answers, the
            questions file, where it is in another folder.
        nuggets: Gold nuggets, in a form that `read_nuggets` knows, for records that have none. They
            are looked up by the record's topic, else by its id.
        answered: Whether the answers are to be evaluated: an empty one is then a rejection, and a
            file without a record an error. Questions with reference answers are read without.
        columns: The column of each field of ragassay's own format, for files in no known one;
            other columns become metadata, but for id, question, answer, system and topic.
        only_questions: Whether a question needs no answer: it becomes a record with an empty one.

    Returns:
        The records; a line that cannot be read is a rejection and does not stop the others.

    Raises:
        InputError: a file is missing, empty or in no known format; `limit` is below 1; `questions`
            is given for a format that includes its questions; a column is not there.
        NoRecordError: with `answered`, no record could be read.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}: it must be at least 1, or None to read all")
    match: Format
    tally = FieldTally()
    given = _questions(iter_items(path), columns) if only_questions else iter_items(path)
    if path.is_dir():
        match, items = YESCIEVAL_SHEET, sheet_items(path)
    elif columns:
        match, items = RAGASSAY, with_columns(given, columns, str(path), tally)
    elif is_paragraph_file(path):
        match, items = RESPONSES, iter_responses(path)
    else:
        match, items = sniff(given, FORMATS, str(path), named_format)
    reading = _RecordReading(match, answered, tally, is_mapped=bool(columns))
    items = merged_items(items, match)
    reading.collect(items, _mapper(match, str(path), path, questions, reading), limit)
    return with_gold(reading.result(match.name, str(path)), nuggets)


def records_from_rows(
    rows: Iterable[Mapping[str, object]],
    *,
    questions: Path | None = None,
    nuggets: Path | None = None,
    answered: bool = False,
    columns: Mapping[str, str] | None = None,
    only_questions: bool = False,
) -> ReadResult:
    """Read answers from dicts, or from a frame's `to_dict("records")`.

    Args:
        rows: In any known format. NaN, NA and NaT mean that the field is absent. Rejections name
            the file "rows" and count lines by row.
        questions: As for `read_records`; YESciEval's answers need theirs.
        nuggets: As for `read_records`.
        answered: As for `read_records`.
        columns: As for `read_records`.
        only_questions: As for `read_records`.

    Returns:
        As `read_records`.

    Raises:
        InputError: there are no rows, or they are in no known format.
        NoRecordError: As for `read_records`.
    """
    match: Format
    tally = FieldTally()
    given = _questions(iter_rows(rows), columns) if only_questions else iter_rows(rows)
    if columns:
        match, items = RAGASSAY, with_columns(given, columns, ROWS_NAME, tally)
    else:
        match, items = sniff(given, FORMATS, ROWS_NAME, named_format)
    reading = _RecordReading(match, answered, tally, is_mapped=bool(columns))
    items = merged_items(items, match)
    reading.collect(items, _mapper(match, ROWS_NAME, None, questions, reading), None)
    return with_gold(reading.result(match.name, ROWS_NAME), nuggets)


def with_gold(found: ReadResult, nuggets: Path | None) -> ReadResult:
    """Give gold nuggets of a file to the records that bring none; as `read_records` does."""
    if nuggets is None:
        return found
    gold, rejected = read_nuggets(nuggets)
    if not any(_gold_key(record, gold) in gold for record in found.records):
        rejected.append(_unused_nuggets_rejection(nuggets))
    records = (
        record.model_copy(update={"nuggets": gold.get(_gold_key(record, gold), ())})
        if not record.nuggets
        else record
        for record in found.records
    )
    return replace(found, records=tuple(records), rejections=(*found.rejections, *rejected))


def _questions(
    items: Iterable[Item | Rejection], columns: Mapping[str, str] | None
) -> Iterator[Item | Rejection]:
    """Return items; a question of no format, as it has no answer, gets an empty one."""
    pairs = (("question", "answer"), ("user_input", "response"))
    if columns:
        pairs = ((columns.get("question", "question"), columns.get("answer", "answer")),)
    for item in items:
        if isinstance(item, Rejection):
            yield item
            continue
        given = item.keys - {name for name, value in item.fields.items() if value is None}
        known = not columns and any(form.is_complete(given) for form in FORMATS)
        lacking = [a for q, a in pairs if not known and q in given and a not in given]
        if not (known or columns or lacking or DEEPEVAL.is_begun(given)):
            is_asked = find_name(item.fields, QUESTION_NAMES) and not given & set(ANSWER_NAMES)
            lacking = ["answer"] if is_asked else []
        yield replace(item, fields=item.fields | dict.fromkeys(lacking, ""))


def _mapper(
    match: Format, name: str, path: Path | None, questions: Path | None, reading: _RecordReading
) -> Mapper:
    on_topics = next((read for form, read in ON_TOPICS if form is match), None)
    if on_topics is not None:
        topics: dict[str, str] = {}
        if questions is not None:
            topics, rejected = read_topics(questions)
            reading.rejections.extend(rejected)
        return lambda item: on_topics(item, topics)
    if match is YESCIEVAL:
        beside = questions or (path and find_questions(path))
        if beside is None:
            raise InputError("YESciEval answers need their questions file, as `questions`")
        known, rejected = read_questions(beside)
        reading.rejections.extend(rejected)
        return partial(read_yescieval, questions=known)
    if questions is not None:
        raise InputError(f"{name} is in the format {match.name}, which includes its questions")
    if isinstance(match, ShapeFormat):
        return partial(read_export, tally=reading.tally)
    if match in (RAGASSAY, NAMED_FIELDS):
        return partial(read_answer, tally=None if reading.is_mapped else reading.tally)
    return next(read for form, read in SELF_CONTAINED if form is match)


def answered_records(records: Iterable[Record]) -> ReadResult:
    """Return records in memory, those without an answer as rejections; "line" counts from 1."""
    found = [(record, empty_answer(record)) for record in records]
    rejections = (
        Place("records", n, record.id, content_of(record.model_dump())).reject(problem)
        for n, (record, problem) in enumerate(found, 1)
        if problem is not None
    )
    kept = (record for record, problem in found if problem is None)
    return ReadResult(tuple(kept), tuple(rejections), "records")


@dataclass
class _RecordReading:
    match: Format
    answered: bool = False
    tally: FieldTally = field(default_factory=FieldTally)
    is_mapped: bool = False
    records: list[Record] = field(default_factory=list[Record])
    rejections: list[Rejection] = field(default_factory=list[Rejection])
    places: dict[str, Place] = field(default_factory=dict[str, Place])
    ids: set[str] = field(default_factory=set[str])
    seen: dict[str, Record] = field(default_factory=dict[str, Record])

    def collect(self, items: Iterator[Item | Rejection], mapper: Mapper, limit: int | None) -> None:
        for outcome in self._outcomes(items, mapper):
            if isinstance(outcome, Rejection):
                self.rejections.append(outcome)
                continue
            self.records.append(outcome)
            if len(self.records) == limit:
                return

    def _outcomes(
        self, items: Iterable[Item | Rejection], mapper: Mapper
    ) -> Iterator[Record | Rejection]:
        for item in items:
            if isinstance(item, Rejection):
                yield item
                continue
            made = mapper(item)
            for outcome in [made] if isinstance(made, Record | Problem) else made:
                if not self._is_known(outcome):
                    yield self._named(outcome, item)

    def _is_known(self, record: Record | Problem) -> bool:
        """Return whether a file that repeats its answers had this one already."""
        if self.match not in REPEATING or isinstance(record, Problem):
            return False
        return self.seen.setdefault(record.id, record) is not record and (
            self.seen[record.id].answer == record.answer
        )

    def _named(self, record: Record | Problem, item: Item) -> Record | Rejection:
        if isinstance(record, Problem):
            return item.place.reject(record)
        if self.match in OPEN_FORMATS:
            record, names = add_named_sources(record, item.fields, self.match)
            self.tally.add(names)
        if self.answered and (problem := empty_answer(record, self.match.unanswered)):
            return item.place.reject(problem)
        if record.id == item.place.label and item.fields.get("id") is None:
            record = record.model_copy(update={"id": self._free(record.id)})
        first = self.places.setdefault(record.id, item.place)
        if first is not item.place or record.id in self.ids:
            where = f"line {first.line} ({first.label})"
            text = f"the id {found_text(record.id)} is already on {where}"
            field_name = "id" if "id" in item.fields else ""
            return item.place.reject(Problem(field_name, text, "an id for each record"))
        self.ids.add(record.id)
        return record

    def _free(self, name: str) -> str:
        free, count = name, 1
        while free in self.places:
            count += 1
            free = f"{name}-{count}"
        return free

    def result(self, name: str, source: str) -> ReadResult:
        if self.answered:
            require_records(self.records, self.rejections, source)
        fields = self.tally.renamed()
        return ReadResult(tuple(self.records), tuple(self.rejections), name, fields)


def _gold_key(record: Record, gold: Mapping[str, tuple[Nugget, ...]]) -> str:
    return record.topic if record.topic is not None and record.topic in gold else record.id


def _unused_nuggets_rejection(nuggets: Path) -> Rejection:
    return Rejection(
        file=str(nuggets),
        line=0,
        problem="none of its topics is the topic or id of an answer: no nugget was used",
        expected="nuggets for the topic ids of the answers",
    )
