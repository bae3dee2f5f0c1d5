"""Read gold nuggets in any known format, keyed by topic, and write them.

    {"116": ["a fact", {"text": "another", "importance": "vital"}]}                BioACE
    {"query", "qid", "nuggets": [{"text", "importance"}]} per line                 nuggetizer
    {"query_id", "query_text", "items": [{"nugget_id", "nugget_text"}]} per line   test bank

A file may repeat a topic with the same nuggets, for example once per run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.items import Item, Place, format_content, iter_items, read_item
from ragassay.formats.nuggetizer import (
    ASSIGNED,
    CREATED,
    RETRIEVED,
    CreatedRow,
    GoldNuggetRow,
    collect_unknown_labels,
    convert_gold_rows,
    describe_unknown_labels,
    find_unknown_importances,
)
from ragassay.formats.output import JsonRow, restore_metadata, write_values
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    describe_value,
    is_list,
    is_object,
    join_path,
    parse,
    quote_text,
    validate,
)
from ragassay.formats.rows import Row, collect_unknown_fields, wrap_text
from ragassay.formats.sniff import detect_format
from ragassay.formats.topics import read_small_file
from ragassay.formats.values import find_bad_value, parse_json
from ragassay.formats.workbench.banks import TEST_BANK, read_bank
from ragassay.records import Nugget, Rejection

_SHAPES = "\n".join(
    (
        "  {topic_id: [text]} or {topic_id: [{text, importance}]}",
        f"  {CREATED.name}: {CREATED.keys}",
        f"  {ASSIGNED.name}: {ASSIGNED.keys}",
        f"  {TEST_BANK.name}: {TEST_BANK.keys}",
    )
)

_OF_ANSWERS = frozenset({"answer_text", "candidate_text"})


@dataclass(frozen=True)
class NuggetBank:
    """Gold nuggets for a question, identified by its topic id.

    Attributes:
        question: Question, or "" if the file contains only the topic id.
        metadata: Texts of all other fields in the file, keyed by dotted path.
    """

    topic: str
    question: str = ""
    nuggets: tuple[Nugget, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)


class NuggetsRow(Row):
    """Gold nuggets for a topic."""

    nuggets: list[Annotated[GoldNuggetRow, BeforeValidator(wrap_text)]]


@dataclass
class _Gold:
    banks: dict[str, NuggetBank] = field(default_factory=dict[str, NuggetBank])
    places: dict[str, Place] = field(default_factory=dict[str, Place])
    rejections: list[Rejection] = field(default_factory=list[Rejection])

    def add(self, bank: NuggetBank, place: Place, has_facets: bool = False) -> None:
        """Add the nuggets of a topic, or a rejection if they differ from earlier ones."""
        first = self.banks.setdefault(bank.topic, bank)
        if has_facets:
            nuggets = tuple(dict.fromkeys([*first.nuggets, *bank.nuggets]))
            self.banks[bank.topic] = replace(first, nuggets=nuggets)
            return
        line = self.places.setdefault(bank.topic, place).line
        if first.nuggets != bank.nuggets:
            text = f"the topic {quote_text(bank.topic)} already appeared with other nuggets"
            where = f" (line {line})" if line else ""
            problem = Problem("", f"{text}{where}", "all nuggets of a topic in one list")
            self.rejections.append(place.reject(problem))


def read_nugget_banks(path: AnyPath) -> tuple[tuple[NuggetBank, ...], tuple[Rejection, ...]]:
    """Read gold nuggets with their questions, and return them with the rejected lines.

    The file is JSON or JSON lines, optionally compressed with gzip: `{topic_id: [text]}`, output of
    the nuggetizer's `create` or `assign`, or a test bank of the Rubric workbench. Nuggets with an
    unknown importance are kept without an importance, and a rejection reports their number.

    Raises:
        InputError: The file cannot be opened, is empty, or has an unknown format.
    """
    path = Path(path)
    items = list(iter_items(path))
    if not items:
        raise InputError(f"{path} is empty; expected gold nuggets:\n{_SHAPES}")
    known = (CREATED, ASSIGNED, RETRIEVED, TEST_BANK)
    forms = (detect_format(item.keys, known) for item in items if isinstance(item, Item))
    match = next((form for form in forms if form is not None), None)
    gold = _Gold()
    if match is None:
        _read_mapping(path, gold)
    else:
        _read_lines(items, match is TEST_BANK, gold)
    return tuple(gold.banks.values()), tuple(gold.rejections)


def read_nuggets(path: AnyPath) -> tuple[dict[str, tuple[Nugget, ...]], list[Rejection]]:
    """Read gold nuggets, keyed by topic, like `read_nugget_banks` but without questions."""
    path = Path(path)
    banks, rejections = read_nugget_banks(path)
    return {bank.topic: bank.nuggets for bank in banks}, list(rejections)


def write_nugget_banks(banks: Sequence[NuggetBank], path: AnyPath) -> None:
    """Write gold nuggets in the format of the nuggetizer's `create`.

    The format stores only the text and importance of nuggets, not their origin and method.

    Raises:
        InputError: A topic is blank or occurs twice, or the file cannot be written.
    """
    path = Path(path)
    topics: set[str] = set()
    for bank in banks:
        if not bank.topic.strip() or bank.topic in topics:
            problem = "occurs twice" if bank.topic in topics else "is blank"
            raise InputError(f"nuggets cannot be written: the topic {bank.topic!r} {problem}")
        topics.add(bank.topic)
    write_values((_build_bank_row(bank) for bank in banks), path)


def _build_bank_row(bank: NuggetBank) -> JsonRow:
    nuggets = [
        {"text": nugget.text}
        | ({"importance": nugget.importance} if nugget.importance is not None else {})
        for nugget in bank.nuggets
    ]
    row: JsonRow = {"query": bank.question, "qid": bank.topic, "nuggets": nuggets}
    return restore_metadata(row, bank.metadata, ())


def _read_lines(items: Iterable[Item | Rejection], are_test_banks: bool, gold: _Gold) -> None:
    for item in items:
        if isinstance(item, Rejection):
            gold.rejections.append(item)
            continue
        result = read_item(_from_test_bank if are_test_banks else _from_created, item)
        for outcome in [result] if isinstance(result, Problem) else result:
            if isinstance(outcome, Problem):
                gold.rejections.append(item.place.reject(outcome))
            else:
                gold.add(outcome, item.place, has_facets=are_test_banks)


def _from_created(item: Item) -> list[NuggetBank | Problem]:
    row = parse(CreatedRow, item.fields)
    # The other fields of a line with assignments describe the answer.
    metadata = collect_unknown_fields(row) if not _OF_ANSWERS & item.keys else {}
    odd = find_unknown_importances(row.nuggets)
    metadata |= collect_unknown_labels(odd)
    bank = NuggetBank(row.qid, row.query, convert_gold_rows(row.nuggets), metadata)
    return [bank, *describe_unknown_labels(odd)]


def _from_test_bank(item: Item) -> list[NuggetBank | Problem]:
    bank = read_bank(item)
    if bank.kind == "questions":
        text = "found a bank of exam questions instead of nuggets"
        raise ProblemError("items.0.question_text", text, 'items with "nugget_text"')
    nuggets = tuple(Nugget(text=item.text) for item in bank.items)
    return [NuggetBank(bank.query_id, bank.query_text, nuggets)]


def _read_mapping(path: Path, gold: _Gold) -> None:
    value = parse_json(read_small_file(path))
    if isinstance(value, Problem):
        raise InputError(f"{path}: {value.text}; expected gold nuggets:\n{_SHAPES}")
    if not is_object(value) or not any(is_list(part) for part in value.values()):
        text = f"{path} contains {describe_value(value)}"
        raise InputError(f"{text}; expected gold nuggets:\n{_SHAPES}")
    for topic, entries in value.items():
        place = Place(str(path), 0, topic, format_content({topic: entries}))
        fields = {"nuggets": entries}
        row = find_bad_value(topic) or find_bad_value(fields) or validate(NuggetsRow, fields)
        if not isinstance(row, Problem) and not topic.strip():
            row = Problem("", "found an empty topic", "a topic id that is not empty")
        odd = [] if isinstance(row, Problem) else find_unknown_importances(row.nuggets)
        for problem in [row] if isinstance(row, Problem) else describe_unknown_labels(odd):
            field_name = f"{join_path((topic,))}{problem.field.removeprefix('nuggets')}"
            gold.rejections.append(place.reject(replace(problem, field=field_name)))
        if not isinstance(row, Problem):
            metadata = collect_unknown_fields(row) | collect_unknown_labels(odd)
            gold.add(NuggetBank(topic, "", convert_gold_rows(row.nuggets), metadata), place)
