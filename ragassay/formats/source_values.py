"""Read the sources of an answer from any common structure.

The value may be a list of texts or objects, a single text, JSON text, `{id: text}`,
`{"documents": [...]}`, Chroma's columns, pairs of document and score, or passages joined into one
text. The result is a list of objects with `text` and, if available, `id` and `title`. Unreadable
values are returned unchanged, so that errors can quote them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ragassay.formats.fields import (
    INNER_NAMES,
    LISTED_NAMES,
    NO_SOURCE_NAMES,
    SOURCE_ID_NAMES,
    SOURCE_NAMES,
    TEXT_NAMES,
    TITLE_NAMES,
    URL_NAMES,
    find_all,
    find_name,
    fold,
    has_value,
    nest_fields,
)
from ragassay.formats.joined_passages import split_passages
from ragassay.formats.problems import Problem, is_list, is_object
from ragassay.formats.values import parse_text

MAX_LEVELS = 4
"""Maximum number of nested levels that are searched for sources."""

_LONG_WORDS = 4
"""Minimum number of words in a text that counts as more than an id, a name or a label."""

_BLOB_WORDS = 40
"""Minimum number of words in a text that is reported as unread."""

_WRAPPERS = (*SOURCE_NAMES, "data", "items", "value", "values", "list", "contents", "texts")
_ADDRESS = re.compile(r"(https?://|www\.|/|10\.\d{4,9}/)?[^\s]{1,2000}")
_WEB = re.compile(r"https?://|www\.", re.IGNORECASE)
_NOT_PROSE = re.compile(r"^\d+$|[/_]")
_DIGIT = re.compile(r"\d")
_NO_SOURCES = frozenset(map(fold, NO_SOURCE_NAMES))
_METADATA_IDS = ("id", "pmid", "doi", "source", *SOURCE_ID_NAMES)
_UNKNOWN_KEYS = frozenset(map(fold, (*TEXT_NAMES, *INNER_NAMES, *SOURCE_ID_NAMES, *TITLE_NAMES)))


def build_source_rows(value: object) -> object:
    """Convert sources in any common structure to a list of objects, if they contain text."""
    rows = _build_rows(parse_text(value), MAX_LEVELS)
    return value if rows is None else rows


def count_texts(value: object, name: str = "") -> int:
    """Count the source texts in a field, without short texts if the name is in `LISTED_NAMES`."""
    value = parse_text(value)
    rows = _build_rows(value, MAX_LEVELS)
    plain = isinstance(value, str) or (is_list(value) and any(isinstance(v, str) for v in value))
    is_doubtful = plain and fold(name) in {fold(one) for one in LISTED_NAMES}
    texts = (row.get("text") if is_object(row) else row for row in rows or ())
    named = [text for text in texts if isinstance(text, str) and text.strip()]
    if is_doubtful:
        named = [text for text in named if len(text.split()) >= _LONG_WORDS]
    elif named and all(_ADDRESS.fullmatch(text) and _NOT_PROSE.search(text) for text in named):
        return 0
    return len(named)


def find_unread_paths(value: object, name: str, *, long_text: bool) -> list[str]:
    """Return the paths of unread sources in a field or, if `long_text` is true, of a long text."""
    if fold(name.rpartition(".")[2]) in _NO_SOURCES:
        return []
    value = parse_text(value)
    if isinstance(value, str):
        return [name] if long_text and len(value.split()) >= _BLOB_WORDS else []
    by_id = is_object(value) and len(value) > 1 and all(map(_DIGIT.search, value))
    rows = (_build_rows(value, 2) if is_list(value) or by_id else None) or []
    texts = [row.get("text") for row in rows if is_object(row)]
    if any(isinstance(text, str) and len(text.split()) > _LONG_WORDS for text in texts):
        return [name]
    if is_object(value) and name.count(".") < MAX_LEVELS:
        entries = list(value.items())[:50]
        inner = (find_unread_paths(part, f"{name}.{key}", long_text=False) for key, part in entries)
        return [path for paths in inner for path in paths]
    return []


def _build_rows(value: object, levels: int) -> list[object] | None:
    if isinstance(value, Problem) or levels == 0 or not has_value(value):
        return None
    if isinstance(value, str):
        return [*split_passages(value)] or [{"text": value}] if value.strip() else None
    if is_list(value):
        if len(value) == 1 and isinstance(only := _unwrap_text(value[0]), str):
            return [*split_passages(only)] or _convert_list(value, levels)
        return _convert_list(value, levels)
    return _convert_object(value, levels) if is_object(value) else None


def _unwrap_text(part: object) -> object:
    if is_object(part) and part.keys() <= {*TEXT_NAMES, "type"}:
        return next((text for key, text in part.items() if key != "type"), None)
    return part


def _convert_list(value: list[object], levels: int) -> list[object]:
    rows: list[object] = []
    for part in value:
        if is_list(part):
            if _is_scored(part):
                part = part[0]
            elif (inner := _build_rows(part, levels - 1)) is not None:
                rows.extend(inner)
                continue
        rows.append(build_source_row(part) if isinstance(part, str | dict) else part)
    return rows


def _is_scored(pair: list[object]) -> bool:
    """Return whether a list is a document with its score, as vector stores return it."""
    is_score = len(pair) == 2 and isinstance(pair[1], int | float)
    return is_score and isinstance(pair[0], str | dict)


def build_source_row(part: object) -> object:
    """Return a source as an object with the field `text`, or unchanged if it has no text."""
    if isinstance(part, str):
        return {"text": str(part)}
    if not is_object(part) or _has_own_fields(part):
        return part
    part = nest_fields(part, INNER_NAMES)
    text, text_key = _find_text(part, MAX_LEVELS)
    if text is None:
        return _read_named_text(part) or part
    row: dict[str, object] = {"id": _find_id(part), "text": text}
    title = _find_title(part, MAX_LEVELS)
    row["title"] = "" if title == text else title
    row["url"] = _find_url(part)
    id_and_title = (find_name(part, SOURCE_ID_NAMES), find_name(part, TITLE_NAMES))
    used_keys = {text_key, "metadata", *id_and_title, *row}
    return row | {key: value for key, value in part.items() if key not in used_keys}


def _has_own_fields(part: Mapping[str, object]) -> bool:
    has_texts = isinstance(part.get("text"), str) and isinstance(part.get("title"), str)
    return has_texts and part.get("id") is not None


def _read_named_text(part: dict[str, object]) -> dict[str, object] | None:
    if len(part) != 1:
        return None
    ((name, text),) = part.items()
    is_named = isinstance(text, str) and fold(name) not in _UNKNOWN_KEYS and bool(name.strip())
    return {"id": name, "text": text} if is_named else None


def _find_text(part: dict[str, object], levels: int) -> tuple[str | None, str]:
    for key in find_all(part, TEXT_NAMES):
        if (text := _join_texts(part[key])) is not None:
            return text, key
    for name in INNER_NAMES if levels else ():
        inner = part.get(name)
        if is_object(inner):
            text, _ = _find_text(inner, levels - 1)
            if text is not None:
                return text, name
    return None, ""


def _join_texts(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if not is_list(value):
        return None
    parts = [part.get("text") if is_object(part) else part for part in value]
    texts = [part for part in parts if isinstance(part, str)]
    return " ".join(texts) if texts and len(texts) == len(parts) else None


def _find_id(part: dict[str, object]) -> object:
    metadata = part.get("metadata")
    node = part.get("node")
    if is_object(node):  # LlamaIndex node ids are random, so answers cite ids in the metadata.
        inner = node.get("metadata")
        cited_id = _find_scalar(inner, _METADATA_IDS) if is_object(inner) else None
        return cited_id or _find_scalar(node, SOURCE_ID_NAMES)
    source_id = _find_scalar(part, SOURCE_ID_NAMES)
    if source_id is None and is_object(metadata):
        source_id = _find_scalar(metadata, _METADATA_IDS)
    for name in INNER_NAMES if source_id is None else ():
        inner = part.get(name)
        if is_object(inner) and name != "metadata":
            source_id = _find_id(inner)
        if source_id is not None:
            break
    return source_id


def _find_title(part: dict[str, object], levels: int) -> str:
    title = _find_scalar(part, TITLE_NAMES)
    if isinstance(title, str):
        return str(title)
    objects = (part.get(name) for name in ("metadata", *INNER_NAMES)) if levels else ()
    titles = (_find_title(inner, levels - 1) for inner in objects if is_object(inner))
    return next(filter(None, titles), "")


def _find_url(part: dict[str, object]) -> str:
    objects = (part, part.get("metadata"))
    values = (_find_scalar(one, URL_NAMES) for one in objects if is_object(one))
    return next((str(v) for v in values if isinstance(v, str) and _WEB.match(v)), "")


def _find_scalar(part: Mapping[str, object], names: tuple[str, ...]) -> object:
    for key in find_all(part, names):
        value = part[key]
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return value
    return None


def _convert_object(value: dict[str, object], levels: int) -> list[object] | None:
    wrapped = find_name(value, _WRAPPERS)
    if wrapped and (is_list(value[wrapped]) or is_object(value[wrapped])):
        if (rows := _build_rows(value[wrapped], levels - 1)) is not None:
            return _add_ids(rows, value.get("ids"), value.get("metadatas"))
    row = build_source_row(value)
    if is_object(row) and "text" in row:
        columns = _transpose_columns(value)
        return columns if columns is not None else [row]
    return _list_rows_by_id(value, levels)


def _transpose_columns(value: dict[str, object]) -> list[object] | None:
    """Return the rows of a column-oriented object: `{"id": [...], "text": [...]}`."""
    lists = {name: part for name, part in value.items() if is_list(part)}
    lengths = {len(part) for part in lists.values()}
    if len(lists) < 2 or len(lengths) != 1:
        return None
    rows = [dict(zip(lists, parts, strict=True)) for parts in zip(*lists.values(), strict=True)]
    return [build_source_row(row) for row in rows]


def _list_rows_by_id(value: dict[str, object], levels: int) -> list[object] | None:
    rows: list[object] = []
    for name, part in value.items():
        sources = _build_rows(part, levels - 1) if isinstance(part, str | dict | list) else None
        if not sources or not name.strip():
            return None
        for row in sources:
            if not (is_object(row) and isinstance(row.get("text"), str)):
                return None
            rows.append(row | {"id": name})
    return rows or None


def _add_ids(rows: list[object], ids: object, metadatas: object) -> list[object]:
    """Add ids from separate lists of ids or metadata in the same order, as in Chroma's results."""
    id_list, metadata = _flatten_list(ids), _flatten_list(metadatas)
    result: list[object] = []
    for n, row in enumerate(rows):
        if is_object(row) and row.get("id") is None:
            own = metadata[n] if len(metadata) == len(rows) else None
            source_id = _find_scalar(own, _METADATA_IDS) if is_object(own) else None
            if source_id is None and len(id_list) == len(rows):
                source_id = id_list[n]
            if source_id is not None:
                row = row | {"id": source_id}
        result.append(row)
    return result


def _flatten_list(value: object) -> list[object]:
    if not is_list(value):
        return []
    return [one for part in value for one in (part if is_list(part) else [part])]
