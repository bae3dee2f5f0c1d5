"""Read the sources of an answer from whatever shape a field has.

A list of texts or objects, one text, JSON text of a list, `{id: text}`, `{"documents": [...]}`, the
columns of Chroma, pairs of a document and a score, passages joined in one text. Each becomes a list
of objects with `text`, and `id` and `title` where there are any; what cannot be read stays as it
is, so that it can be named.
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
    nested_fields,
)
from ragassay.formats.joined_passages import split_passages
from ragassay.formats.problems import Problem, is_list, is_object
from ragassay.formats.values import literal

MAX_LEVELS = 4
"""Levels of lists and objects that are searched for sources."""

_LONG_WORDS = 4
"""Words from which a text is more than an id, a name or a label."""

_BLOB_WORDS = 40
"""Words from which a field of text is reported as one that was not read."""

_WRAPPERS = (*SOURCE_NAMES, "data", "items", "value", "values", "list", "contents", "texts")
_ADDRESS = re.compile(r"(https?://|www\.|/|10\.\d{4,9}/)?[^\s]{1,2000}")
_WEB = re.compile(r"https?://|www\.", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_NO_SOURCES = frozenset(map(fold, NO_SOURCE_NAMES))
_METADATA_IDS = ("id", "pmid", "doi", "source", *SOURCE_ID_NAMES)
_UNKNOWN_KEYS = frozenset(map(fold, (*TEXT_NAMES, *INNER_NAMES, *SOURCE_ID_NAMES, *TITLE_NAMES)))


def source_rows(value: object) -> object:
    """Return sources as a list of objects; a value that has no text in it as it is."""
    rows = _rows(_parse_text(value), MAX_LEVELS)
    return value if rows is None else rows


def n_texts(value: object, name: str = "") -> int:
    """Return how many texts of sources a field has.

    Args:
        name: The field; of `LISTED_NAMES`, short plain texts do not count.
    """
    value = _parse_text(value)
    rows = _rows(value, MAX_LEVELS)
    plain = isinstance(value, str) or (is_list(value) and any(isinstance(v, str) for v in value))
    is_doubtful = plain and fold(name) in {fold(one) for one in LISTED_NAMES}
    texts = (row.get("text") if is_object(row) else row for row in rows or ())
    named = [text for text in texts if isinstance(text, str) and text.strip()]
    if is_doubtful:
        named = [text for text in named if len(text.split()) >= _LONG_WORDS]
    elif named and all(_ADDRESS.fullmatch(text) and _is_bare(text) for text in named):
        return 0
    return len(named)


def unread_paths(value: object, name: str, *, long_text: bool) -> list[str]:
    """Return the paths of texts in a field: those of several sources, or a long one."""
    if fold(name.rpartition(".")[2]) in _NO_SOURCES:
        return []
    value = _parse_text(value)
    if isinstance(value, str):
        return [name] if long_text and len(value.split()) >= _BLOB_WORDS else []
    by_id = is_object(value) and len(value) > 1 and all(map(_DIGIT.search, value))
    rows = (_rows(value, 2) if is_list(value) or by_id else None) or []
    texts = [row.get("text") for row in rows if is_object(row)]
    if any(isinstance(text, str) and len(text.split()) > _LONG_WORDS for text in texts):
        return [name]
    if is_object(value) and name.count(".") < MAX_LEVELS:
        inner = (unread_paths(part, f"{name}.{key}", long_text=False) for key, part in _few(value))
        return [path for paths in inner for path in paths]
    return []


def _few(value: Mapping[str, object]) -> list[tuple[str, object]]:
    return list(value.items())[:50]


def _is_bare(text: str) -> bool:
    """Return whether a text without spaces is an address, a path or a number."""
    return text.isdigit() or "/" in text or "_" in text


def _parse_text(value: object) -> object:
    """Return the list or object that a text writes."""
    if not isinstance(value, str):
        return value
    try:
        return literal(str(value))
    except ValueError:
        return str(value)


def _rows(value: object, levels: int) -> list[object] | None:
    """Return the sources in a value; None where it has none."""
    if isinstance(value, Problem) or levels == 0 or not has_value(value):
        return None
    if isinstance(value, str):
        return [*split_passages(value)] or [{"text": value}] if value.strip() else None
    if is_list(value):
        if len(value) == 1 and isinstance(only := _only_text(value[0]), str):
            return [*split_passages(only)] or _listed_rows(value, levels)
        return _listed_rows(value, levels)
    return _object_rows(value, levels) if is_object(value) else None


def _only_text(part: object) -> object:
    """Return the text of a source that has nothing else."""
    if is_object(part) and part.keys() <= {*TEXT_NAMES, "type"}:
        return next((text for key, text in part.items() if key != "type"), None)
    return part


def _listed_rows(value: list[object], levels: int) -> list[object]:
    rows: list[object] = []
    for part in value:
        if is_list(part):
            if _is_scored(part):
                part = part[0]
            elif (inner := _rows(part, levels - 1)) is not None:
                rows.extend(inner)
                continue
        rows.append(source_row(part) if isinstance(part, str | dict) else part)
    return rows


def _is_scored(pair: list[object]) -> bool:
    """Return whether a list is a document and its score, as vector stores return them."""
    is_score = len(pair) == 2 and isinstance(pair[1], int | float)
    return is_score and isinstance(pair[0], str | dict)


def source_row(part: object) -> object:
    """Return one source as an object with `text`; what has none is returned as it is."""
    if isinstance(part, str):
        return {"text": str(part)}
    if not is_object(part) or _is_ours(part):
        return part
    part = nested_fields(part, INNER_NAMES)
    text, used = _text_of(part, MAX_LEVELS)
    if text is None:
        return _named_text(part) or part
    row: dict[str, object] = {"id": _id_of(part), "text": text}
    title = _title_of(part, MAX_LEVELS)
    row["title"] = "" if title == text else title
    row["url"] = _url_of(part)
    named = (find_name(part, SOURCE_ID_NAMES), find_name(part, TITLE_NAMES))
    known = {used, "metadata", *named}
    return row | {key: kept for key, kept in part.items() if key not in known and key not in row}


def _is_ours(part: Mapping[str, object]) -> bool:
    """Return whether a source has the names of our own format, and needs no looking up."""
    has_texts = isinstance(part.get("text"), str) and isinstance(part.get("title"), str)
    return has_texts and part.get("id") is not None


def _named_text(part: dict[str, object]) -> dict[str, object] | None:
    """Return the source of an object of one id with its text; None for any other object."""
    if len(part) != 1:
        return None
    ((name, text),) = part.items()
    is_named = isinstance(text, str) and fold(name) not in _UNKNOWN_KEYS and bool(name.strip())
    return {"id": name, "text": text} if is_named else None


def _text_of(part: dict[str, object], levels: int) -> tuple[str | None, str]:
    """Return the text of a source and the key that it was in."""
    for key in find_all(part, TEXT_NAMES):
        text = _join_texts(part[key])
        if text is not None:
            return text, key
    for name in INNER_NAMES if levels else ():
        inner = part.get(name)
        if is_object(inner):
            text, _ = _text_of(inner, levels - 1)
            if text is not None:
                return text, name
    return None, ""


def _join_texts(value: object) -> str | None:
    """Return text, or texts and blocks of text as one; None for anything else."""
    if isinstance(value, str):
        return value
    if not is_list(value):
        return None
    parts = [part.get("text") if is_object(part) else part for part in value]
    texts = [part for part in parts if isinstance(part, str)]
    return " ".join(texts) if texts and len(texts) == len(parts) else None


def _id_of(part: dict[str, object]) -> object:
    """Return a source's id: its own, one of its metadata or of the object within it."""
    about = part.get("metadata")
    node = part.get("node")
    if is_object(node):  # LlamaIndex: the node's own id is random, that of its metadata is cited
        inner = node.get("metadata")
        named = _scalar(inner, _METADATA_IDS) if is_object(inner) else None
        return named or _scalar(node, SOURCE_ID_NAMES)
    own = _scalar(part, SOURCE_ID_NAMES)
    if own is None and is_object(about):
        own = _scalar(about, _METADATA_IDS)
    for name in INNER_NAMES if own is None else ():
        inner = part.get(name)
        if is_object(inner) and name != "metadata":
            own = _id_of(inner)
        if own is not None:
            break
    return own


def _title_of(part: dict[str, object], levels: int) -> str:
    """Return a source's title: its own, or that of its metadata or of the object within it."""
    own = _scalar(part, TITLE_NAMES)
    if isinstance(own, str):
        return str(own)
    objects = (part.get(name) for name in ("metadata", *INNER_NAMES)) if levels else ()
    titles = (_title_of(one, levels - 1) for one in objects if is_object(one))
    return next(filter(None, titles), "")


def _url_of(part: dict[str, object]) -> str:
    """Return a source's address, or that in its metadata."""
    about = part.get("metadata")
    values = (_scalar(one, URL_NAMES) for one in (part, about) if is_object(one))
    return next((str(v) for v in values if isinstance(v, str) and _WEB.match(v)), "")


def _scalar(part: Mapping[str, object], names: tuple[str, ...]) -> object:
    """Return the first plain value under one of the names."""
    for key in find_all(part, names):
        value = part[key]
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return value
    return None


def _object_rows(value: dict[str, object], levels: int) -> list[object] | None:
    wrapped = find_name(value, _WRAPPERS)
    if wrapped and (is_list(value[wrapped]) or is_object(value[wrapped])):
        rows = _rows(value[wrapped], levels - 1)
        if rows is not None:
            return _with_ids(rows, value.get("ids"), value.get("metadatas"))
    row = source_row(value)
    if is_object(row) and "text" in row:
        columns = _columns(value)
        return columns if columns is not None else [row]
    return _rows_by_id(value, levels)


def _columns(value: dict[str, object]) -> list[object] | None:
    """Return the rows of an object of lists: `{"id": [...], "text": [...]}`."""
    lists = {name: part for name, part in value.items() if is_list(part)}
    lengths = {len(part) for part in lists.values()}
    if len(lists) < 2 or len(lengths) != 1:
        return None
    rows = [dict(zip(lists, parts, strict=True)) for parts in zip(*lists.values(), strict=True)]
    return [source_row(row) for row in rows]


def _rows_by_id(value: dict[str, object], levels: int) -> list[object] | None:
    """Return the sources of an object whose names are ids: `{id: text}`."""
    rows: list[object] = []
    for name, part in value.items():
        found = _rows(part, levels - 1) if isinstance(part, str | dict | list) else None
        if not found or not name.strip():
            return None
        for row in found:
            if not (is_object(row) and isinstance(row.get("text"), str)):
                return None
            rows.append(row | {"id": name})
    return rows or None


def _with_ids(rows: list[object], ids: object, about: object) -> list[object]:
    """Return sources with the ids and metadata that stand in lists beside them, as Chroma's."""
    names, metadata = _flat(ids), _flat(about)
    made: list[object] = []
    for n, row in enumerate(rows):
        if is_object(row) and row.get("id") is None:
            own = metadata[n] if len(metadata) == len(rows) else None
            name = _scalar(own, _METADATA_IDS) if is_object(own) else None
            named = names[n] if len(names) == len(rows) else None
            if name is not None or named is not None:
                row = row | {"id": name if name is not None else named}
        made.append(row)
    return made


def _flat(value: object) -> list[object]:
    if not is_list(value):
        return []
    return [one for part in value for one in (part if is_list(part) else [part])]
