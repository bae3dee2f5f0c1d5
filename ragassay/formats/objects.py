"""Turn what Python programs hold into rows and sources, without importing its libraries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragassay.errors import InputError
from ragassay.formats.conversations import REPLY_FIELDS
from ragassay.formats.problems import is_list, is_mapping, is_sequence
from ragassay.formats.replies import is_reply_object, read_structured_reply
from ragassay.formats.reply_builder import StructuredReply, as_plain
from ragassay.formats.source_values import source_rows
from ragassay.formats.tables import cells_of
from ragassay.formats.values import passage_fields
from ragassay.records import Document, Record


class Table(Protocol):
    """A frame of polars, an Arrow table, a dataset of Hugging Face."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""


class Sample(Protocol):
    """A single-turn sample of ragas."""

    @property
    def user_input(self) -> Any:
        """The question."""

    @property
    def response(self) -> Any:
        """The answer."""


class TestCase(Protocol):
    """A test case of DeepEval."""

    @property
    def input(self) -> Any:
        """The question."""

    @property
    def actual_output(self) -> Any:
        """The answer."""


class TestCases(Protocol):
    """A dataset of DeepEval."""

    @property
    def test_cases(self) -> Any:
        """Its test cases."""


class Response(Protocol):
    """A response of LlamaIndex."""

    @property
    def response(self) -> Any:
        """The answer."""

    @property
    def source_nodes(self) -> Any:
        """The nodes that it was written from."""


class ScoredNode(Protocol):
    """A node of LlamaIndex, with a score or without."""

    def get_content(self) -> str:
        """Return its text."""
        ...


ACCEPTED = (
    "a file, records, dictionaries, a frame of pandas or polars, an Arrow table, a dataset of "
    "Hugging Face, a dictionary of columns, samples of ragas or test cases of DeepEval"
)
_SAMPLES = (
    ("user_input", "response"),
    ("user_input", "reference_topics"),
    ("input", "actual_output"),
)
"""What ragas' samples, of one turn and of several, and DeepEval's test cases have."""

_RESPONSE = ("response", "source_nodes")
_MESSAGES = ("messages", "user_input")
"""Fields of a row that may be a conversation."""


@dataclass(frozen=True)
class ResponseParts:
    """The parts of an answer that is an object.

    Attributes:
        sources: Its sources, as `source_objects` gives them.
        reply: What a provider's reply cites, and its sources; None for any other answer.
    """

    text: str
    sources: list[Any] = field(default_factory=list)
    reply: StructuredReply | None = None


def rows_of(answers: Any) -> list[Any]:
    """Return the rows of a table, or of a list: records, and dictionaries of plain values.

    Args:
        answers: A frame of pandas or polars, an Arrow table, a dataset of Hugging Face, ragas or
            DeepEval; columns, as `{"question": [...], "answer": [...]}`; a record, a sample of
            ragas, a test case of DeepEval, or an iterable of these or of dictionaries. A table's
            texts are read as cells: a list may be text. An answer may be a LlamaIndex response.

    Raises:
        InputError: It is none of these, columns differ in length, or it is several datasets.
    """
    found = answers.collect() if callable(getattr(answers, "collect", None)) else answers
    if hasattr(found, "to_pylist"):  # an Arrow table
        rows = found.to_pylist()
    elif hasattr(found, "to_dicts"):  # a frame of polars
        rows = found.to_dicts()
    elif hasattr(found, "to_dict") and hasattr(found, "iloc"):  # a frame of pandas
        rows = found.to_dict("records")
    elif is_mapping(found):
        rows = _rows_of_columns(found)
    else:
        rows = _listed_rows(found)
        if not (hasattr(found, "features") and all(map(is_mapping, rows))):
            return rows
    return [cells_of(row) for row in rows]


def _listed_rows(answers: Any) -> list[Any]:
    """Return one answer, or those of a list or of a dataset of ragas or DeepEval, as rows."""
    if isinstance(answers, Record) or _is_sample(answers) or _has(answers, _RESPONSE):
        return [_row(answers)]
    cases = answers if isinstance(answers, Iterable) else getattr(answers, "test_cases", None)
    if cases is None or isinstance(cases, bytes):
        raise InputError(f"answers are of type {type(answers).__name__}: give {ACCEPTED}")
    rows = list(cases)
    read = [_row(row) for row in rows]
    if read and not any(is_mapping(row) or isinstance(row, Record) for row in read):
        raise InputError(f"answers are a list of {type(rows[0]).__name__}: give {ACCEPTED}")
    return read


def _row(row: Any) -> Any:
    """Return an object as a dictionary; what is none of those known stays."""
    if _is_sample(row):
        dumped = row.model_dump() if hasattr(row, "model_dump") else vars(row)
        return {name: value for name, value in dumped.items() if value not in (None, False)}
    if _has(row, _RESPONSE):
        raise InputError(
            f"a {type(row).__name__} has no question: give "
            '{"question": ..., "answer": response}, or `question=` and `answer=`'
        )
    if not is_mapping(row):
        return row
    if not _has(row.get("answer"), _RESPONSE):
        return _plain_objects(row)
    parts = response_parts(row["answer"])
    return {"sources": parts.sources} | dict(row) | {"answer": parts.text}


def _plain_objects(row: Mapping[Any, Any]) -> Any:
    """Return a row whose replies and messages are dictionaries, as a file has them."""
    plain = {
        name: as_plain(row[name])
        for name in (*REPLY_FIELDS, *_MESSAGES)
        if is_reply_object(row.get(name)) or any(map(is_reply_object, _listed_messages(row, name)))
    }
    return dict(row) | plain if plain else row


def _listed_messages(row: Mapping[Any, Any], name: str) -> list[Any]:
    value = row.get(name)
    return value if isinstance(value, list) else []


def response_parts(response: Any) -> ResponseParts:
    """Return the parts of an answer: its text, and sources and citations where it brings any.

    Args:
        response: Text, a response of LlamaIndex, or a reply of a provider, as its library gives it
            or as a dictionary.

    Raises:
        InputError: It is none of these.
    """
    if isinstance(response, str):
        return ResponseParts(response)
    if _has(response, _RESPONSE):
        nodes = source_objects(response.source_nodes or ())
        return ResponseParts(str(response.response or ""), nodes)
    reply = read_structured_reply(response)
    if reply is None:
        raise InputError(
            f"the answer is of type {type(response).__name__}: give text, a response of "
            "LlamaIndex, or a reply of a provider (OpenAI, Anthropic, Cohere, Gemini, ...)"
        )
    return ResponseParts(reply.text, reply=reply)


def _is_sample(value: Any) -> bool:
    return any(_has(value, names) for names in _SAMPLES)


def _has(value: Any, names: Iterable[str]) -> bool:
    return not isinstance(value, type) and all(hasattr(value, name) for name in names)


def _rows_of_columns(columns: Mapping[Any, Any]) -> list[dict[str, object]]:
    lists = {str(name): _to_list(values) for name, values in columns.items()}
    if not all(is_sequence(values) for values in lists.values()):
        named = ", ".join(map(str, columns))
        raise InputError(
            f"answers are a {type(columns).__name__} of {named}: give one of its data sets, a list "
            "of rows, or a list for each column"
        )
    if len({len(values) for values in lists.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(values)}" for name, values in lists.items())
        raise InputError(f"columns differ in length: {lengths}")
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def _to_list(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values


def source_objects(sources: Iterable[Any]) -> list[Any]:
    """Return sources in any usual shape, documents of LangChain and nodes of LlamaIndex as ours."""
    plain = plain_value(list(sources))
    made = source_rows(plain)
    return made if is_list(made) else list(plain)


def plain_value(value: Any) -> Any:
    """Return a value with documents of LangChain, nodes of LlamaIndex and ours as dictionaries."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, Document):
        return value.model_dump(exclude_defaults=True)
    if is_mapping(value):
        return {str(name): plain_value(part) for name, part in value.items()}
    if is_sequence(value):
        return [plain_value(part) for part in value]
    return passage_fields(value) or value
