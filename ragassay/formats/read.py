"""Read answers in any known format as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.conversations import CONVERSATION, REPLY, read_answer
from ragassay.formats.exports import ShapeFormat, export_format, read_export
from ragassay.formats.fields import ANSWER_NAMES, QUESTION_NAMES, find_name
from ragassay.formats.gold import read_nuggets
from ragassay.formats.items import (
    ROWS_NAME,
    Item,
    Place,
    format_content,
    iter_items,
    iter_rows,
    read_item,
)
from ragassay.formats.medaesqa import EXTRACTED_ANSWERS, EXTRACTED_EVIDENCE, MEDAESQA
from ragassay.formats.named_fields import FieldTally, find_sources, find_unread
from ragassay.formats.nuggetizer import ASSIGNED, CREATE_INPUT, RETRIEVED
from ragassay.formats.problems import Problem, detect_empty_answer, quote_text, require_records
from ragassay.formats.qa_collections import BIOASQ, EXPERTQA, PUBMEDQA, SUBMISSION
from ragassay.formats.ragas_deepeval import DEEPEVAL, RAGAS
from ragassay.formats.ragassay_jsonl import NAMED_FIELDS, RAGASSAY, read_sources
from ragassay.formats.ragchecker import RAGCHECKER, RAGCHECKER_PAIRS
from ragassay.formats.rated_texts import SUMMEVAL, SUMMEVAL_MEANS, USR, USR_MEANS
from ragassay.formats.row_mapping import map_columns, merge_items
from ragassay.formats.sniff import Format, Outcome, sniff
from ragassay.formats.topics import read_topics
from ragassay.formats.trec_biogen import BIOGEN_2024, BIOGEN_A, BIOGEN_B
from ragassay.formats.trec_rag import RAG_2024, RAG_2025, REPORT
from ragassay.formats.workbench.paragraphs import RESPONSES, is_paragraph_file, iter_responses
from ragassay.formats.yescieval import (
    YESCIEVAL,
    YESCIEVAL_ROWS,
    YESCIEVAL_SHEET,
    find_questions,
    read_questions,
    read_sheet_items,
    read_yescieval,
)
from ragassay.records import Nugget, Record, Rejection

FORMATS: tuple[Format, ...] = (
    *(RAGASSAY, RAGAS, DEEPEVAL, RAGCHECKER, CREATE_INPUT, ASSIGNED, RETRIEVED),
    *(EXTRACTED_ANSWERS, EXTRACTED_EVIDENCE, SUMMEVAL, SUMMEVAL_MEANS, PUBMEDQA),
    *(YESCIEVAL_SHEET, YESCIEVAL_ROWS, RAGCHECKER_PAIRS, USR, USR_MEANS, REPLY, CONVERSATION),
    *(EXPERTQA, MEDAESQA, BIOASQ, SUBMISSION, RAG_2024, RAG_2025, BIOGEN_2024, BIOGEN_A),
    *(BIOGEN_B, RESPONSES, REPORT, YESCIEVAL),
)
"""All formats in which answers can be read."""

Mapper = Callable[[Item], Outcome | Sequence[Outcome]]


@dataclass(frozen=True)
class ReadResult:
    """Records in an answer file, and its rejected lines.

    Attributes:
        records: Records in file order, with unique ids.
        rejections: Lines that could not be read, including those in the questions and nuggets
            files.
        format: Name of the format, such as "ragassay", "ragas", "trec-rag-2024" or "medaesqa".
        fields: Names of renamed fields in the file, keyed by the field name in a record.
    """

    records: tuple[Record, ...]
    rejections: tuple[Rejection, ...]
    format: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])


def read_records(
    path: AnyPath,
    *,
    limit: int | None = None,
    questions: AnyPath | None = None,
    nuggets: AnyPath | None = None,
    answered: bool = False,
    columns: Mapping[str, str] | None = None,
    only_questions: bool = False,
) -> ReadResult:
    """Read answers from a file in any known format.

    Args:
        path: JSON lines, a JSON array or document, CSV or TSV, all optionally compressed with gzip;
            a Parquet file; an Excel workbook; or a folder with the YESciEval workbooks of one
            split. The format is detected from the content.
        limit: Maximum number of records, or None to read all.
        questions: Topics file for TREC runs without questions, or questions file for YESciEval
            answers if it is not in their folder.
        nuggets: File of gold nuggets in a format that `read_nuggets` reads. Records without nuggets
            get the gold nuggets of their topic or id.
        answered: Whether to reject empty answers, and to raise an error if no record is left.
        columns: Names of the file's columns, keyed by field of ragassay's format. Unmapped columns
            become metadata, unless ragassay recognizes their names.
        only_questions: Whether to read questions without an answer as records with empty answers.

    Returns:
        The records, and rejections of the lines that cannot be read.

    Raises:
        InputError: A file is missing, empty or in an unknown format; `limit` is below 1;
            `questions` was passed but the file contains its questions; or a column is missing.
        NoRecordError: `answered` is true and no record could be read.
    """
    path = Path(path)
    questions = None if questions is None else Path(questions)
    if limit is not None and limit < 1:
        raise InputError(f"limit must be at least 1, or None to read all records; got {limit}")
    reading = _RecordReading(str(path), path, questions, answered, columns)
    if path.is_dir():
        match, items = YESCIEVAL_SHEET, read_sheet_items(path)
    elif not columns and is_paragraph_file(path):
        match, items = RESPONSES, iter_responses(path)
    else:
        match, items = reading.detect_format(iter_items(path), only_questions)
    return add_gold_nuggets(reading.read(items, match, limit), nuggets)


def read_records_from_rows(
    rows: Iterable[Mapping[str, object]],
    *,
    questions: AnyPath | None = None,
    nuggets: AnyPath | None = None,
    answered: bool = False,
    columns: Mapping[str, str] | None = None,
    only_questions: bool = False,
) -> ReadResult:
    """Read answers from dicts, or from a frame's `to_dict("records")`, like `read_records`.

    NaN, NA and NaT count as absent. YESciEval answers require `questions`. In rejections, the file
    is "rows" and the line is the row number.

    Raises:
        InputError: There are no rows, or their format is unknown.
        NoRecordError: See `read_records`.
    """
    questions = None if questions is None else Path(questions)
    reading = _RecordReading(ROWS_NAME, None, questions, answered, columns)
    match, items = reading.detect_format(iter_rows(rows), only_questions)
    return add_gold_nuggets(reading.read(items, match, None), nuggets)


def add_gold_nuggets(found: ReadResult, nuggets: AnyPath | None) -> ReadResult:
    """Add the gold nuggets of a file to records that have no nuggets."""
    if nuggets is None:
        return found
    gold, rejected = read_nuggets(nuggets)
    if not any(_find_gold_key(record, gold) in gold for record in found.records):
        text = "no topic matches the topic or id of an answer, so no nuggets were used"
        expected = "nuggets for the topic ids of the answers"
        rejected.append(Rejection(file=str(Path(nuggets)), line=0, problem=text, expected=expected))
    records = (
        record.model_copy(update={"nuggets": gold.get(_find_gold_key(record, gold), ())})
        if not record.nuggets
        else record
        for record in found.records
    )
    return replace(found, records=tuple(records), rejections=(*found.rejections, *rejected))


def _find_gold_key(record: Record, gold: Mapping[str, tuple[Nugget, ...]]) -> str:
    return record.topic if record.topic is not None and record.topic in gold else record.id


def reject_unanswered(records: Iterable[Record]) -> ReadResult:
    """Reject records with an empty answer. A rejection's line is the record's 1-based position."""
    checked = [(record, detect_empty_answer(record)) for record in records]
    rejections = (
        Place("records", n, record.id, format_content(record.model_dump())).reject(problem)
        for n, (record, problem) in enumerate(checked, 1)
        if problem is not None
    )
    answered = (record for record, problem in checked if problem is None)
    return ReadResult(tuple(answered), tuple(rejections), "records")


@dataclass
class _RecordReading:
    name: str
    path: Path | None
    questions: Path | None
    answered: bool
    columns: Mapping[str, str] | None
    tally: FieldTally = field(default_factory=FieldTally)
    records: list[Record] = field(default_factory=list[Record])
    rejections: list[Rejection] = field(default_factory=list[Rejection])
    places: dict[str, Place] = field(default_factory=dict[str, Place])
    ids: set[str] = field(default_factory=set[str])
    seen: dict[str, Record] = field(default_factory=dict[str, Record])

    def detect_format(
        self, items: Iterable[Item | Rejection], only_questions: bool
    ) -> tuple[Format, Iterator[Item | Rejection]]:
        """Return the detected format, and an iterator over all items."""
        if only_questions:
            items = self._add_empty_answers(items)
        if self.columns:
            return RAGASSAY, map_columns(items, self.columns, self.name, self.tally)
        return sniff(items, FORMATS, self.name, detect_named_format)

    def _add_empty_answers(self, items: Iterable[Item | Rejection]) -> Iterator[Item | Rejection]:
        """Yield the items, and add an empty answer to each question without one."""
        pairs = [("question", "answer"), ("user_input", "response")]
        if self.columns:
            question, answer = pairs[0]
            pairs = [(self.columns.get(question, question), self.columns.get(answer, answer))]
        for item in items:
            if isinstance(item, Rejection):
                yield item
                continue
            keys = item.keys - {name for name, value in item.fields.items() if value is None}
            is_known = not self.columns and any(form.is_complete(keys) for form in FORMATS)
            missing = [a for q, a in pairs if not is_known and q in keys and a not in keys]
            if not (is_known or self.columns or missing or DEEPEVAL.fits_partly(keys)):
                if find_name(item.fields, QUESTION_NAMES) and not keys & set(ANSWER_NAMES):
                    missing = ["answer"]
            yield replace(item, fields=item.fields | dict.fromkeys(missing, ""))

    def read(
        self, items: Iterator[Item | Rejection], match: Format, limit: int | None
    ) -> ReadResult:
        mapper = self._choose_mapper(match)
        for outcome in self._read_outcomes(merge_items(items, match), mapper, match):
            if isinstance(outcome, Rejection):
                self.rejections.append(outcome)
                continue
            self.records.append(outcome)
            if len(self.records) == limit:
                break
        if self.answered:
            require_records(self.records, self.rejections, self.name)
        fields = self.tally.list_renamed_fields()
        return ReadResult(tuple(self.records), tuple(self.rejections), match.name, fields)

    def _choose_mapper(self, match: Format) -> Mapper:
        if match.has_topics and match.read is not None:
            topics: dict[str, str] = {}
            if self.questions is not None:
                topics, rejected = read_topics(self.questions)
                self.rejections.extend(rejected)
            return partial(match.read, questions=topics)
        if match is YESCIEVAL:
            path = self.questions or (self.path and find_questions(self.path))
            if path is None:
                raise InputError("YESciEval answers require a questions file; pass `questions`")
            known, rejected = read_questions(path)
            self.rejections.extend(rejected)
            return partial(read_yescieval, questions=known)
        if self.questions is not None:
            raise InputError(
                f"{self.name} has the format {match.name}, which already contains the questions; "
                "remove the questions file"
            )
        if isinstance(match, ShapeFormat):
            return partial(read_export, tally=self.tally)
        return match.read or partial(read_answer, tally=None if self.columns else self.tally)

    def _read_outcomes(
        self, items: Iterable[Item | Rejection], mapper: Mapper, match: Format
    ) -> Iterator[Record | Rejection]:
        for item in items:
            if isinstance(item, Rejection):
                yield item
                continue
            result = read_item(mapper, item)
            for outcome in [result] if isinstance(result, Record | Problem) else result:
                if isinstance(outcome, Problem):
                    yield item.place.reject(outcome)
                elif not (match.is_repeating and self._is_known(outcome)):
                    yield self._check_record(outcome, item, match)

    def _is_known(self, record: Record) -> bool:
        first = self.seen.setdefault(record.id, record)
        return first is not record and first.answer == record.answer

    def _check_record(self, record: Record, item: Item, match: Format) -> Record | Rejection:
        if match.is_open:
            record, names = _add_named_sources(record, item.fields, match)
            self.tally.add(names)
        if self.answered and (problem := detect_empty_answer(record, match.unanswered)):
            return item.place.reject(problem)
        if record.id == item.place.label and item.fields.get("id") is None:
            record = record.model_copy(update={"id": self._find_free_id(record.id)})
        first = self.places.setdefault(record.id, item.place)
        if first is not item.place or record.id in self.ids:
            where = f"line {first.line} ({first.label})"
            text = f"the id {quote_text(record.id)} is already on {where}"
            field_name = "id" if "id" in item.fields else ""
            return item.place.reject(Problem(field_name, text, "unique ids"))
        self.ids.add(record.id)
        return record

    def _find_free_id(self, name: str) -> str:
        free, count = name, 1
        while free in self.places:
            count += 1
            free = f"{name}-{count}"
        return free


def detect_named_format(item: Item) -> Format | None:
    """Return the format of a tool's export or of fields with common names, or None."""
    named = NAMED_FIELDS if NAMED_FIELDS.is_named(item.fields) else None
    return export_format(item.fields) or named


def _add_named_sources(
    record: Record, fields: Mapping[str, object], form: Format
) -> tuple[Record, dict[str, str]]:
    others = {key: value for key, value in fields.items() if key not in form.fields}
    name = None if record.sources else find_sources(others)
    sources = read_sources(others.pop(name)) if name is not None else ()
    update: dict[str, object] = {}
    if name is not None and isinstance(sources, tuple):
        metadata = {key: text for key, text in record.metadata.items() if key != name}
        update = {"sources": sources, "metadata": metadata}
    unread = find_unread(others, has_sources=bool(record.sources or update))
    if not update and not unread:
        return record, {}
    record = record.model_copy(update=update | {"unread": unread})
    return record, {"sources": name} if update and name else {}
