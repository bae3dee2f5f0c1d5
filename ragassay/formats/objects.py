"""Turn what Python programs hold into rows and sources, without importing its libraries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragassay.errors import InputError
from ragassay.formats.plain import langchain_fields
from ragassay.formats.rows import passages_of
from ragassay.formats.shapes import is_list, is_mapping, is_sequence
from ragassay.formats.tables import cells_of


def rows_of(answers: Any) -> list[Any]:
    """Return the rows of a frame of pandas or polars, an arrow table, a data set, or a list.

    Args:
        answers: One of these; columns, as `{"question": [...], "answer": [...]}`; or an iterable
            of records or dictionaries. A table's texts are read as cells: a list may be text.

    Raises:
        InputError: It is none of these, columns differ in length, or it is several data sets.
    """
    found = answers.collect() if callable(getattr(answers, "collect", None)) else answers
    if hasattr(found, "to_pylist"):  # an arrow table
        rows = found.to_pylist()
    elif hasattr(found, "to_dicts"):  # a frame of polars
        rows = found.to_dicts()
    elif hasattr(found, "to_dict") and hasattr(found, "iloc"):  # a frame of pandas
        rows = found.to_dict("records")
    elif is_mapping(found):
        rows = _rows_of_columns(found)
    elif isinstance(found, Iterable):
        rows = list(found)
        return [cells_of(row) for row in rows] if hasattr(found, "features") else rows
    else:
        raise InputError(f"answers are a {type(found).__name__}: give a file, rows, or a table")
    return [cells_of(row) for row in rows]


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
    """Return sources with documents of LangChain, or their dumps, turned into ours."""
    plain = [langchain_fields(one) if hasattr(one, "page_content") else one for one in sources]
    made = passages_of(plain)
    return made if is_list(made) else plain
