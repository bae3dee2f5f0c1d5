"""The one way in: answers of any known format as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.biogen import BIOGEN, read_biogen
from ragassay.formats.items import ROWS_NAME, Item, Place, iter_items, iter_rows
from ragassay.formats.problems import Problem, found_text
from ragassay.formats.ragas import RAGAS, read_ragas
from ragassay.formats.ragassay_jsonl import RAGASSAY, read_ragassay
from ragassay.formats.sniff import Format, sniff
from ragassay.formats.topics import read_nuggets, read_topics
from ragassay.formats.yescieval import YESCIEVAL, find_questions, read_questions, read_yescieval
from ragassay.records import Nugget, Record, Rejection

FORMATS: tuple[Format, ...] = (RAGASSAY, RAGAS, BIOGEN, YESCIEVAL)

_Mapper = Callable[[Item], Record | Problem]


@dataclass(frozen=True)
class ReadResult:
    """What a file of answers held.

    Attributes:
        records: In the file's order, each id once.
        rejections: Lines that could not be read, of this file and of those beside it.
        format: "ragassay", "ragas", "biogen-2025-b" or "yescieval".
    """

    records: tuple[Record, ...]
    rejections: tuple[Rejection, ...]
    format: str


def read_records(
    path: Path,
    *,
    limit: int | None = None,
    questions: Path | None = None,
    nuggets: Path | None = None,
) -> ReadResult:
    """Read answers, in whichever known format the file is.

    Args:
        path: JSON lines or a JSON array, plain or gzip. The format is told by the content.
        limit: Stop after this many records; None reads all.
        questions: For BioGen runs without questions, the topics; for YESciEval answers, the
            questions file, where it is not beside the answers.
        nuggets: Gold nuggets, `{topic_id: [text]}`, for records that bring none of their own.
            They are looked up by the record's topic, else by its id.

    Returns:
        The records; a line that cannot be read is a rejection and does not stop the others.

    Raises:
        InputError: a file is missing, empty or in no known format; `limit` is below 1;
            `questions` is given for a format that carries its questions.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}: it must be at least 1, or None to read all")
    match, items = sniff(iter_items(path), FORMATS, str(path))
    reading = _Reading()
    mapper = _mapper(match, path, questions, reading)
    gold: Mapping[str, tuple[Nugget, ...]] = {}
    if nuggets is not None:
        gold, rejected = read_nuggets(nuggets)
        reading.rejections.extend(rejected)
    reading.collect(items, mapper, gold, limit)
    if nuggets is not None and not any(_has_gold(record, gold) for record in reading.records):
        reading.rejections.append(_unused(nuggets))
    return reading.result(match)


def records_from_rows(rows: Iterable[Mapping[str, object]]) -> ReadResult:
    """Read answers from dicts, or from a frame's `to_dict("records")`.

    Args:
        rows: In any known format but YESciEval's, which needs its second file. NaN, NA and NaT
            mean that the field is absent. Rejections name the file "rows" and count lines by row.

    Returns:
        As `read_records`.

    Raises:
        InputError: there are no rows, or they are in no known format.
    """
    match, items = sniff(iter_rows(rows), FORMATS, ROWS_NAME)
    reading = _Reading()
    reading.collect(items, _mapper(match, None, None, reading), {}, None)
    return reading.result(match)


def _mapper(match: Format, path: Path | None, questions: Path | None, reading: _Reading) -> _Mapper:
    if match is BIOGEN:
        topics: dict[str, str] = {}
        if questions is not None:
            topics, rejected = read_topics(questions)
            reading.rejections.extend(rejected)
        return partial(read_biogen, questions=topics)
    if match is YESCIEVAL:
        if path is None:
            raise InputError("YESciEval answers need their questions file: use read_records")
        known, rejected = read_questions(questions or find_questions(path))
        reading.rejections.extend(rejected)
        return partial(read_yescieval, questions=known)
    if questions is not None:
        raise InputError(f"{path} is in the format {match.name}, which carries its questions")
    return read_ragas if match is RAGAS else read_ragassay


@dataclass
class _Reading:
    records: list[Record] = field(default_factory=list[Record])
    rejections: list[Rejection] = field(default_factory=list[Rejection])
    places: dict[str, Place] = field(default_factory=dict[str, Place])

    def collect(
        self,
        items: Iterator[Item | Rejection],
        mapper: _Mapper,
        gold: Mapping[str, tuple[Nugget, ...]],
        limit: int | None,
    ) -> None:
        for item in items:
            outcome = item if isinstance(item, Rejection) else self._read(item, mapper)
            if isinstance(outcome, Rejection):
                self.rejections.append(outcome)
                continue
            if _has_gold(outcome, gold) and not outcome.nuggets:
                outcome = outcome.model_copy(update={"nuggets": gold[_gold_key(outcome, gold)]})
            self.records.append(outcome)
            if len(self.records) == limit:
                return

    def _read(self, item: Item, mapper: _Mapper) -> Record | Rejection:
        record = mapper(item)
        if isinstance(record, Problem):
            return item.place.reject(record)
        if record.id == item.place.label and item.fields.get("id") is None:
            record = record.model_copy(update={"id": self._free(record.id)})
        first = self.places.setdefault(record.id, item.place)
        if first is not item.place:
            where = f"line {first.line} ({first.label})"
            text = f"the id {found_text(record.id)} stands on {where} already"
            field_name = "id" if "id" in item.fields else ""
            return item.place.reject(Problem(field_name, text, "an id for each record"))
        return record

    def _free(self, name: str) -> str:
        free, count = name, 1
        while free in self.places:
            count += 1
            free = f"{name}-{count}"
        return free

    def result(self, match: Format) -> ReadResult:
        return ReadResult(tuple(self.records), tuple(self.rejections), match.name)


def _gold_key(record: Record, gold: Mapping[str, tuple[Nugget, ...]]) -> str:
    return record.topic if record.topic is not None and record.topic in gold else record.id


def _has_gold(record: Record, gold: Mapping[str, tuple[Nugget, ...]]) -> bool:
    return _gold_key(record, gold) in gold


def _unused(nuggets: Path) -> Rejection:
    return Rejection(
        file=str(nuggets),
        line=0,
        problem="none of its topics is the topic or id of an answer: no nugget was used",
        expected="{topic_id: [text]} with the topic ids of the answers",
    )
