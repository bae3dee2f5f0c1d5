"""Read test banks from other forms: by hand, of TREC, of TQA, gold nuggets."""

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
from ragassay.formats.items import Item, Place, content_of, iter_items
from ragassay.formats.problems import Problem, found_text, validate
from ragassay.formats.rows import IdText, Row
from ragassay.formats.topics import whole_bytes
from ragassay.formats.workbench.bank_items import BankItem, BankKind, RubricBank, bank_item_id
from ragassay.formats.workbench.banks import BankResult, read_test_banks
from ragassay.records import Rejection

SHAPES = (__doc__ or "").partition("\n\n")[2]
_TREC = re.compile(r"(\S+)\s+(\d+)\s+(vital|okay|ok)\s+(\S.*)")


@dataclass(frozen=True)
class ImportedItem:
    """An item with the query that it is of."""

    query: str
    text: str
    query_text: str = ""
    answers: tuple[str, ...] = ()
    facet: str = ""
    kind: BankKind | None = None
    name: str = ""
    info: str = ""


class KeyedRow(Row):
    """A question with its answer key."""

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
    """A text of TQA."""

    text: str = Field(min_length=1, validation_alias=AliasChoices("processedText", "rawText"))


class TqaQuestionRow(Row):
    """A question of TQA."""

    asked: TextRow = Field(validation_alias=AliasChoices("beingAsked"))
    choices: dict[str, TextRow] = Field(validation_alias=AliasChoices("answerChoices"))
    key: TextRow = Field(validation_alias=AliasChoices("correctAnswer"))


class TqaQuestionsRow(Row):
    """The questions of a lesson; those about a diagram are left out, as in the original."""

    texts: dict[str, dict[str, object]] = Field(
        validation_alias=AliasChoices("nonDiagramQuestions")
    )


class LessonRow(Row):
    """A lesson of TQA: its title is the query."""

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
    """Read test banks from a file in any known form; it is recognised by its content.

    Args:
        path: The file, plain or gzip.
        query: Id of the query, for a file of items without one.
        kind: What the items are; by default what the form says, else questions where all items of
            the file end with a question mark.
        queries: Texts of queries that the file does not give.
        collection: Name of the queries' collection, where the file gives none.

    Raises:
        InputError: the file cannot be opened, is empty, or is in no known form.
    """
    data = whole_bytes(path)
    if data.lstrip().startswith((b"{", b"[")):
        found = _json_banks(path, kind)
    else:
        found = _group_items(_lines(path, data, query), kind)
    texts = queries or {}
    banks = tuple(
        replace(
            bank,
            query_text=bank.query_text or texts.get(bank.query_id, ""),
            test_collection=bank.test_collection or collection,
        )
        for bank in found.banks
    )
    if not banks and not found.rejections:
        raise InputError(f"{path} has no item; expected one of\n{SHAPES}")
    return BankResult(banks, found.rejections)


def _json_banks(path: Path, kind: BankKind | None) -> BankResult:
    items = iter_items(path)
    first = next((item for item in items if isinstance(item, Item)), None)
    keys = first.fields.keys() if first else set[str]()
    if {"items", "query_id"} <= keys or keys & {"nugget_bank", "claim_bank"}:
        return read_test_banks(path)
    if "globalID" in keys:
        return _group_items(_each(iter_items(path), _lesson), kind)
    if "query_id" in keys and keys & {"question", "question_text"}:
        return _group_items(_each(iter_items(path), _read_keyed), kind or "questions")
    banks, rejections = read_nugget_banks(path)
    gold = (
        ImportedItem(
            *(bank.topic, nugget.text, bank.question),
            info=_importance(nugget.importance or ""),
        )
        for bank in banks
        for nugget in bank.nuggets
    )
    found = _group_items(gold, "nuggets")
    return BankResult(found.banks, (*rejections, *found.rejections))


def _importance(label: str) -> str:
    return json.dumps({"importance": "okay" if label == "ok" else label}) if label else ""


Imported = ImportedItem | Rejection


def _each(
    items: Iterable[Item | Rejection], read: Callable[[Item], Iterator[Imported]]
) -> Iterator[Imported]:
    for item in items:
        if isinstance(item, Rejection):
            yield item
        else:
            yield from read(item)


def _read_keyed(item: Item) -> Iterator[Imported]:
    row = validate(KeyedRow, item.fields)
    if not isinstance(row, Problem) and row.key and row.choices and row.key not in row.choices:
        text = f"the key {found_text(row.key)} is none of the choices"
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


def _lesson(item: Item) -> Iterator[Imported]:
    row = validate(LessonRow, item.fields)
    if isinstance(row, Problem):
        yield item.place.reject(row)
        return
    for name, fields in row.questions.texts.items():
        asked = validate(TqaQuestionRow, fields)
        where = f"questions.nonDiagramQuestions.{name}"
        if not isinstance(asked, Problem) and asked.key.text not in asked.choices:
            text = f"the key {found_text(asked.key.text)} is none of the choices"
            asked = Problem("correctAnswer", text, ", ".join(asked.choices))
        if isinstance(asked, Problem):
            problem = replace(asked, field=f"{where}.{asked.field}")
            yield item.place.reject(problem)
        else:
            answer = asked.choices[asked.key.text].text
            yield ImportedItem(
                *(row.id, asked.asked.text, row.title, (answer,)), kind="questions", name=name
            )


def _lines(path: Path, data: bytes, query: str) -> Iterator[Imported]:
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error.reason})") from error
    written = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and line[0] != "#"]
    first = written[0][1] if written else ""
    if re.match(r"(query|query_id|qid|topic|topic_id)\s*,", first, re.IGNORECASE):
        return _csv(path, lines)
    if _TREC.fullmatch(first.strip()):
        return _each_line(path, written, _trec)
    if query:
        return (ImportedItem(query, line.strip()) for _, line in written)
    if "\t" not in first:
        raise InputError(
            f"{path} names no query: give --query ID for a file of items, or a file in the form\n"
            f"{SHAPES}"
        )
    return _each_line(path, written, _read_tabbed)


def _each_line(
    path: Path, lines: Iterable[tuple[int, str]], read: Callable[[str], ImportedItem | Problem]
) -> Iterator[Imported]:
    for number, line in lines:
        item = read(line.strip())
        place = Place(str(path), number, f"line-{number}", line)
        yield place.reject(item) if isinstance(item, Problem) else item


def _trec(line: str) -> ImportedItem | Problem:
    match = _TREC.fullmatch(line)
    if not match:
        return Problem("", "no nugget of TREC's QA track", "query, number, vital or okay, text")
    query, _, importance, text = match.groups()
    return ImportedItem(query, text, kind="nuggets", info=_importance(importance))


def _read_tabbed(line: str) -> ImportedItem | Problem:
    query, tab, text = line.partition("\t")
    if not tab or not query.strip() or not text.strip():
        return Problem("", "found no query, tab and text", "query TAB text")
    return ImportedItem(query.strip(), text.strip())


class CsvRow(Row):
    """A row of a table of items."""

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


def _csv(path: Path, lines: list[str]) -> Iterator[Imported]:
    table = csv.reader(io.StringIO("\n".join(lines), newline=""))
    header = [name.strip().casefold() for name in next(table)]
    for cells in table:
        place = Place(str(path), table.line_num, f"line-{table.line_num}", content_of(cells))
        if not any(cells):
            continue
        if len(cells) > len(header):
            yield place.reject(
                Problem("", f"found {len(cells)} cells", f"at most {len(header)}: quote commas")
            )
            continue
        cells_by_name = {name: cell.strip() for name, cell in zip(header, cells, strict=False)}
        row = validate(CsvRow, {name: cell for name, cell in cells_by_name.items() if cell})
        if isinstance(row, Problem):
            yield place.reject(row)
            continue
        answers = tuple(part.strip() for part in row.answers.split("|") if part.strip())
        yield ImportedItem(row.query, row.text, row.query_text, answers, row.facet, row.kind)


def _group_items(found: Iterable[Imported], kind: BankKind | None) -> BankResult:
    """Make banks of items; one that is repeated in its bank is left out."""
    every = list(found)
    rejections = [one for one in every if isinstance(one, Rejection)]
    items = [one for one in every if not isinstance(one, Rejection)]
    asks = bool(items) and all(item.text.rstrip().endswith("?") for item in items)
    guess: BankKind = "questions" if asks else "nuggets"
    banks: dict[tuple[str, str, str], RubricBank] = {}
    for one in items:
        chosen: BankKind = kind or one.kind or guess
        bank = banks.setdefault(
            (one.query, one.facet, chosen),
            RubricBank(one.query, one.query_text, chosen, facet_id=one.facet),
        )
        name = one.name or bank_item_id(one.query, one.text, one.facet)
        if all(item.id != name for item in bank.items):
            item = BankItem(one.text, name, one.info, one.answers)
            banks[bank.key] = replace(bank, items=(*bank.items, item))
    return BankResult(tuple(banks.values()), tuple(rejections))
