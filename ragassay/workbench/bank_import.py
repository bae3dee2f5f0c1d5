"""Import test banks from text lines, CSV tables, TREC nuggets, TQA lessons and gold nuggets."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import AliasChoices, Field

from ragassay.errors import InputError
from ragassay.formats.gold import read_nugget_banks
from ragassay.formats.items import Item, Place, format_content, iter_items
from ragassay.formats.problems import Problem, quote_text, validate
from ragassay.formats.rows import IdText, Row
from ragassay.formats.topics import read_small_file
from ragassay.formats.workbench.bank_items import BankItem, BankKind, RubricBank, build_bank_item_id
from ragassay.formats.workbench.banks import BankResult, read_test_banks
from ragassay.records import Rejection

_FORMATS = "\n".join(
    (
        "- one item per line, with --query ID",
        "- one query id, tab and item per line",
        "- CSV with the columns query and text",
        "- TREC QA nuggets: query, number, vital or okay, text",
        "- JSON: questions with query_id and question, TQA lessons, gold nuggets or test banks",
    )
)
_TREC = re.compile(r"(\S+)\s+(\d+)\s+(vital|okay|ok)\s+(\S.*)")


@dataclass(frozen=True)
class ImportedItem:
    """A test bank item with its query."""

    query: str
    text: str
    query_text: str = ""
    answers: tuple[str, ...] = ()
    facet: str = ""
    kind: BankKind | None = None
    name: str = ""
    info: str = ""


class KeyedRow(Row):
    """Fields of a question and its answer key in a JSON file."""

    query_id: IdText
    query_text: str = ""
    qid: IdText | None = None
    facet_id: IdText | None = None
    question: str = Field(min_length=1, validation_alias=AliasChoices("question", "question_text"))
    choices: dict[str, str] = Field(default_factory=dict[str, str])
    correct: str | None = Field(default=None, validation_alias=AliasChoices("correct", "answer"))
    key: str | None = Field(default=None, validation_alias=AliasChoices("correctKey", "key"))
    answers: list[str] = Field(
        default_factory=list[str], validation_alias=AliasChoices("answers", "gold_answers")
    )


class TextRow(Row):
    """Fields of a text in a TQA lesson."""

    text: str = Field(min_length=1, validation_alias=AliasChoices("processedText", "rawText"))


class TqaQuestionRow(Row):
    """Fields of a question in a TQA lesson."""

    asked: TextRow = Field(validation_alias=AliasChoices("beingAsked"))
    choices: dict[str, TextRow] = Field(validation_alias=AliasChoices("answerChoices"))
    key: TextRow = Field(validation_alias=AliasChoices("correctAnswer"))


class TqaQuestionsRow(Row):
    """Questions of a TQA lesson, without diagram questions, as in the original workbench."""

    texts: dict[str, dict[str, object]] = Field(
        validation_alias=AliasChoices("nonDiagramQuestions")
    )


class LessonRow(Row):
    """Fields of a TQA lesson. The lesson title becomes the query."""

    id: IdText = Field(validation_alias=AliasChoices("globalID"))
    title: str = Field(validation_alias=AliasChoices("lessonName"))
    questions: TqaQuestionsRow


def read_bank_import(
    path: Path,
    *,
    query: str = "",
    kind: BankKind | None = None,
    queries: Mapping[str, str] | None = None,
    collection: str = "",
) -> BankResult:
    """Read test banks from a file and detect its format.

    Args:
        path: Path of the file, plain or gzip.
        query: Query id for files that contain only items.
        kind: Item kind. By default, the format decides, or else the kind is "questions" if every
            item ends with a question mark, and "nuggets" otherwise.
        queries: Query texts by id, for files without query texts.
        collection: Name of the test collection, for files that do not name it.

    Raises:
        InputError: The file cannot be opened, is empty, or has an unknown format.
    """
    data = read_small_file(path)
    if data.lstrip().startswith((b"{", b"[")):
        result = _read_json(path, kind)
    else:
        result = _group_items(_read_text(path, data, query), kind)
    texts = queries or {}
    banks = tuple(
        replace(
            bank,
            query_text=bank.query_text or texts.get(bank.query_id, ""),
            test_collection=bank.test_collection or collection,
        )
        for bank in result.banks
    )
    if not banks and not result.rejections:
        raise InputError(f"{path} has no items; expected one of these formats:\n{_FORMATS}")
    return BankResult(banks, result.rejections)


def _read_json(path: Path, kind: BankKind | None) -> BankResult:
    first = next((item for item in iter_items(path) if isinstance(item, Item)), None)
    keys = first.fields.keys() if first else set[str]()
    if {"items", "query_id"} <= keys or keys & {"nugget_bank", "claim_bank"}:
        return read_test_banks(path)
    if "globalID" in keys:
        return _group_items(_read_items(path, _read_lesson), kind)
    if "query_id" in keys and keys & {"question", "question_text"}:
        return _group_items(_read_items(path, _read_keyed), kind or "questions")
    banks, rejections = read_nugget_banks(path)
    gold = (
        ImportedItem(
            *(bank.topic, nugget.text, bank.question),
            info=_dump_importance(nugget.importance or ""),
        )
        for bank in banks
        for nugget in bank.nuggets
    )
    return BankResult(_group_items(gold, "nuggets").banks, tuple(rejections))


def _dump_importance(label: str) -> str:
    return json.dumps({"importance": "okay" if label == "ok" else label}) if label else ""


Imported = ImportedItem | Rejection


def _read_items(path: Path, read: Callable[[Item], Iterator[Imported]]) -> Iterator[Imported]:
    for item in iter_items(path):
        if isinstance(item, Rejection):
            yield item
        else:
            yield from read(item)


def _read_keyed(item: Item) -> Iterator[Imported]:
    row = validate(KeyedRow, item.fields)
    if not isinstance(row, Problem) and row.key and row.choices and row.key not in row.choices:
        text = f"the key {quote_text(row.key)} is not one of the choices"
        row = Problem("correctKey", text, ", ".join(row.choices))
    if isinstance(row, Problem):
        yield item.place.reject(row)
        return
    known = row.correct or row.choices.get(row.key or "", "")
    yield ImportedItem(
        *(row.query_id, row.question, row.query_text),
        answers=(*row.answers, *((known,) if known else ())),
        facet=row.facet_id or "",
        name=row.qid or "",
    )


def _read_lesson(item: Item) -> Iterator[Imported]:
    row = validate(LessonRow, item.fields)
    if isinstance(row, Problem):
        yield item.place.reject(row)
        return
    for name, fields in row.questions.texts.items():
        question = validate(TqaQuestionRow, fields)
        if not isinstance(question, Problem) and question.key.text not in question.choices:
            text = f"the key {quote_text(question.key.text)} is not one of the choices"
            question = Problem("correctAnswer", text, ", ".join(question.choices))
        if isinstance(question, Problem):
            field = f"questions.nonDiagramQuestions.{name}.{question.field}"
            yield item.place.reject(replace(question, field=field))
        else:
            answer = question.choices[question.key.text].text
            yield ImportedItem(
                *(row.id, question.asked.text, row.title, (answer,)), kind="questions", name=name
            )


def _read_text(path: Path, data: bytes, query: str) -> Iterator[Imported]:
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error.reason})") from error
    numbered = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and line[0] != "#"]
    first = numbered[0][1] if numbered else ""
    if re.match(r"(query|query_id|qid|topic|topic_id)\s*,", first, re.IGNORECASE):
        return _read_csv(path, lines)
    if _TREC.fullmatch(first.strip()):
        return _read_lines(path, numbered, _read_trec)
    if query:
        return (ImportedItem(query, line.strip()) for _, line in numbered)
    if "\t" not in first:
        raise InputError(
            f"{path} has no query ids; pass --query ID, or use one of these formats:\n{_FORMATS}"
        )
    return _read_lines(path, numbered, _read_tabbed)


def _read_lines(
    path: Path, lines: Iterable[tuple[int, str]], read: Callable[[str], ImportedItem | Problem]
) -> Iterator[Imported]:
    for number, line in lines:
        item = read(line.strip())
        place = Place(str(path), number, f"line-{number}", line)
        yield place.reject(item) if isinstance(item, Problem) else item


def _read_trec(line: str) -> ImportedItem | Problem:
    match = _TREC.fullmatch(line)
    if not match:
        return Problem("", "the line is not a TREC QA nugget", "query, number, vital or okay, text")
    query, _, importance, text = match.groups()
    return ImportedItem(query, text, kind="nuggets", info=_dump_importance(importance))


def _read_tabbed(line: str) -> ImportedItem | Problem:
    query, tab, text = line.partition("\t")
    if not tab or not query.strip() or not text.strip():
        return Problem("", "the line has no query, tab and text", "query TAB text")
    return ImportedItem(query.strip(), text.strip())


class CsvRow(Row):
    """Fields of a CSV row."""

    query: str = Field(
        min_length=1,
        validation_alias=AliasChoices("query", "query_id", "qid", "topic", "topic_id"),
    )
    text: str = Field(
        min_length=1, validation_alias=AliasChoices("text", "question", "nugget", "item")
    )
    answers: str = Field(default="", validation_alias=AliasChoices("answers", "answer"))
    facet: str = Field(default="", validation_alias=AliasChoices("facet", "facet_id"))
    kind: BankKind | None = None
    query_text: str = ""


def _read_csv(path: Path, lines: list[str]) -> Iterator[Imported]:
    table = csv.reader(io.StringIO("\n".join(lines), newline=""))
    header = [name.strip().casefold() for name in next(table)]
    for cells in table:
        place = Place(str(path), table.line_num, f"line-{table.line_num}", format_content(cells))
        if not any(cells):
            continue
        if len(cells) > len(header):
            expected = f"at most {len(header)} cells; quote cells that contain commas"
            yield place.reject(Problem("", f"found {len(cells)} cells", expected))
            continue
        cells_by_name = {name: cell.strip() for name, cell in zip(header, cells, strict=False)}
        row = validate(CsvRow, {name: cell for name, cell in cells_by_name.items() if cell})
        if isinstance(row, Problem):
            yield place.reject(row)
            continue
        answers = tuple(part.strip() for part in row.answers.split("|") if part.strip())
        yield ImportedItem(row.query, row.text, row.query_text, answers, row.facet, row.kind)


def _group_items(imported: Iterable[Imported], kind: BankKind | None) -> BankResult:
    rejections: list[Rejection] = []
    items: list[ImportedItem] = []
    for entry in imported:
        if isinstance(entry, Rejection):
            rejections.append(entry)
        else:
            items.append(entry)
    are_questions = bool(items) and all(item.text.rstrip().endswith("?") for item in items)
    default: BankKind = "questions" if are_questions else "nuggets"
    banks: dict[tuple[str, str, str], RubricBank] = {}
    for item in items:
        item_kind: BankKind = kind or item.kind or default
        bank = banks.setdefault(
            (item.query, item.facet, item_kind),
            RubricBank(item.query, item.query_text, item_kind, facet_id=item.facet),
        )
        name = item.name or build_bank_item_id(item.query, item.text, item.facet)
        if all(known.id != name for known in bank.items):
            added = BankItem(item.text, name, item.info, item.answers)
            banks[bank.key] = replace(bank, items=(*bank.items, added))
    return BankResult(tuple(banks.values()), tuple(rejections))
