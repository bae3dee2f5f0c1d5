"""Convert objects of other libraries to rows and sources without importing the libraries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragassay.errors import InputError
from ragassay.formats.conversations import REPLY_FIELDS
from ragassay.formats.problems import is_list, is_mapping, is_sequence
from ragassay.formats.replies import is_reply_object, read_structured_reply
from ragassay.formats.reply_builder import StructuredReply, as_plain
from ragassay.formats.source_values import build_source_rows
from ragassay.formats.tables import convert_cells
from ragassay.formats.values import convert_passage
from ragassay.records import Document, Record


class Table(Protocol):
    """A polars frame, an Arrow table or a Hugging Face dataset."""

    @property
    def columns(self) -> Any:
        """Columns of the table, or their names."""


class Sample(Protocol):
    """A ragas single-turn sample."""

    @property
    def user_input(self) -> Any:
        """The user's question."""

    @property
    def response(self) -> Any:
        """The system's answer."""


class TestCase(Protocol):
    """A DeepEval test case."""

    @property
    def input(self) -> Any:
        """The user's question."""

    @property
    def actual_output(self) -> Any:
        """The system's answer."""


class TestCases(Protocol):
    """A DeepEval dataset."""

    @property
    def test_cases(self) -> Any:
        """Test cases of the dataset."""


class Response(Protocol):
    """A LlamaIndex response."""

    @property
    def response(self) -> Any:
        """The system's answer."""

    @property
    def source_nodes(self) -> Any:
        """Retrieved nodes that the answer is based on."""


class ScoredNode(Protocol):
    """A LlamaIndex node, with or without a score."""

    def get_content(self) -> str:
        """Return the text of the node."""
        ...


ACCEPTED = (
    "a file, records, dicts, a pandas or polars frame, an Arrow table, a Hugging Face dataset, "
    "a dict of columns, ragas samples or DeepEval test cases"
)
_SAMPLES = (
    ("user_input", "response"),
    ("user_input", "reference_topics"),
    ("input", "actual_output"),
)
"""Attributes of ragas samples (single-turn and multi-turn) and of DeepEval test cases."""

_RESPONSE = ("response", "source_nodes")
_MESSAGES = ("messages", "user_input")
"""Fields of a row that may contain the messages of a conversation."""


@dataclass(frozen=True)
class ResponseParts:
    """Text, sources and citations of an answer object.

    Attributes:
        reply: Provider's reply with its citations, or None for text and LlamaIndex responses.
    """

    text: str
    sources: list[Any] = field(default_factory=list)
    reply: StructuredReply | None = None


def extract_rows(answers: Any) -> list[Any]:
    """Return the rows of a table or an iterable, as dicts of plain values or as records.

    Args:
        answers: A pandas or polars frame; an Arrow table; a dataset of Hugging Face, ragas or
            DeepEval; a dict of columns such as `{"question": [...], "answer": [...]}`; a record,
            ragas sample or DeepEval test case; or an iterable of records, samples, test cases or
            dicts. A table cell may contain a list as text. The answer in a dict may be a LlamaIndex
            response.

    Raises:
        InputError: The type is not supported, columns differ in length, or `answers` contains
            several datasets.
    """
    table = answers.collect() if callable(getattr(answers, "collect", None)) else answers
    if hasattr(table, "to_pylist"):  # Arrow
        rows = table.to_pylist()
    elif hasattr(table, "to_dicts"):  # polars
        rows = table.to_dicts()
    elif hasattr(table, "to_dict") and hasattr(table, "iloc"):  # pandas
        rows = table.to_dict("records")
    elif is_mapping(table):
        rows = _transpose_columns(table)
    else:
        rows = _convert_answers(table)
        if not (hasattr(table, "features") and all(map(is_mapping, rows))):
            return rows
    return [convert_cells(row) for row in rows]


def _convert_answers(answers: Any) -> list[Any]:
    if isinstance(answers, Record) or _is_sample(answers) or _has(answers, _RESPONSE):
        return [_convert_row(answers)]
    cases = answers if isinstance(answers, Iterable) else getattr(answers, "test_cases", None)
    if cases is None or isinstance(cases, bytes):
        raise InputError(
            f"answers have the unsupported type {type(answers).__name__}; pass {ACCEPTED}"
        )
    rows = list(cases)
    converted = [_convert_row(row) for row in rows]
    if converted and not any(is_mapping(row) or isinstance(row, Record) for row in converted):
        raise InputError(
            f"answers are a list of the unsupported type {type(rows[0]).__name__}; pass {ACCEPTED}"
        )
    return converted


def _convert_row(row: Any) -> Any:
    if _is_sample(row):
        dumped = row.model_dump() if hasattr(row, "model_dump") else vars(row)
        return {name: value for name, value in dumped.items() if value not in (None, False)}
    if _has(row, _RESPONSE):
        raise InputError(
            f"a {type(row).__name__} has no question; pass "
            '{"question": ..., "answer": response}, or `question=` and `answer=`'
        )
    if not is_mapping(row):
        return row
    if not _has(row.get("answer"), _RESPONSE):
        return _convert_objects(row)
    parts = split_response(row["answer"])
    return {"sources": parts.sources} | dict(row) | {"answer": parts.text}


def _convert_objects(row: Mapping[Any, Any]) -> Any:
    plain: dict[Any, Any] = {}
    for name in (*REPLY_FIELDS, *_MESSAGES):
        value = row.get(name)
        messages = value if isinstance(value, list) else []
        if is_reply_object(value) or any(map(is_reply_object, messages)):
            plain[name] = as_plain(value)
    return dict(row) | plain if plain else row


def split_response(response: Any) -> ResponseParts:
    """Return the parts of an answer: text, a LlamaIndex response or a provider's reply."""
    if isinstance(response, str):
        return ResponseParts(response)
    if _has(response, _RESPONSE):
        nodes = convert_sources(response.source_nodes or ())
        return ResponseParts(str(response.response or ""), nodes)
    if (reply := read_structured_reply(response)) is None:
        raise InputError(
            f"the answer has the unsupported type {type(response).__name__}; pass text, a "
            "LlamaIndex response or a provider reply (OpenAI, Anthropic, Cohere, Gemini, ...)"
        )
    return ResponseParts(reply.text, reply=reply)


def _is_sample(value: Any) -> bool:
    return any(_has(value, names) for names in _SAMPLES)


def _has(value: Any, names: Iterable[str]) -> bool:
    return not isinstance(value, type) and all(hasattr(value, name) for name in names)


def _transpose_columns(columns: Mapping[Any, Any]) -> list[dict[str, object]]:
    lists = {
        str(name): values.tolist() if hasattr(values, "tolist") else values
        for name, values in columns.items()
    }
    if not all(is_sequence(values) for values in lists.values()):
        names = ", ".join(map(str, columns))
        raise InputError(
            f"answers are a {type(columns).__name__} with the keys {names}; pass one of its "
            "datasets, a list of rows, or a list for each column"
        )
    if len({len(values) for values in lists.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(values)}" for name, values in lists.items())
        raise InputError(f"columns differ in length: {lengths}")
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def convert_sources(sources: Iterable[Any]) -> list[Any]:
    """Convert sources, such as texts and LangChain or LlamaIndex objects, to dicts."""
    plain = convert_documents(list(sources))
    rows = build_source_rows(plain)
    return rows if is_list(rows) else list(plain)


def convert_documents(value: Any) -> Any:
    """Convert LangChain, LlamaIndex and ragassay documents within a value to dicts."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, Document):
        return value.model_dump(exclude_defaults=True)
    if is_mapping(value):
        return {str(name): convert_documents(part) for name, part in value.items()}
    if is_sequence(value):
        return [convert_documents(part) for part in value]
    return convert_passage(value) or value
