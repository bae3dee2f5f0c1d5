"""Turn what Python programs hold into rows and sources, without importing its libraries.

Everything is told by its shape: the attributes and methods that a library's objects have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragassay.errors import InputError
from ragassay.formats.plain import passage_fields
from ragassay.formats.shapes import is_list, is_mapping, is_sequence
from ragassay.formats.source_values import source_rows
from ragassay.formats.tables import cells_of
from ragassay.records import Document, Record

ACCEPTED = (
    "a file, records, dictionaries, a frame of pandas or polars, an Arrow table, a dataset of "
    "Hugging Face, a dictionary of columns, samples of ragas or test cases of DeepEval"
)
_SAMPLES = (("user_input", "response"), ("input", "actual_output"))
"""What ragas' samples and DeepEval's test cases have."""

_RESPONSE = ("response", "source_nodes")


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
    given = answers if isinstance(answers, Iterable) else getattr(answers, "test_cases", None)
    if given is None or isinstance(given, bytes):
        raise InputError(f"answers are of type {type(answers).__name__}: give {ACCEPTED}")
    rows = list(given)
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
        return row
    text, sources = response_parts(row["answer"])
    return {"sources": sources} | dict(row) | {"answer": text}


def response_parts(response: Any) -> tuple[str, list[Any]]:
    """Return the text of an answer, and its sources where it brings any.

    Args:
        response: Text, or a response of LlamaIndex.
    """
    if isinstance(response, str):
        return response, []
    if not _has(response, _RESPONSE):
        raise InputError(
            f"the answer is of type {type(response).__name__}: "
            "give text, or a response of LlamaIndex"
        )
    return str(response.response or ""), source_objects(response.source_nodes or ())


def _is_sample(value: Any) -> bool:
    return any(_has(value, names) for names in _SAMPLES)


def _has(value: Any, names: Iterable[str]) -> bool:
    return not isinstance(value, type) and all(hasattr(value, name) for name in names)


def _rows_of_columns(columns: Mapping[Any, Any]) -> list[dict[str, object]]:
    lists = {str(name): _listed(values) for name, values in columns.items()}
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


def _listed(values: Any) -> Any:
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
