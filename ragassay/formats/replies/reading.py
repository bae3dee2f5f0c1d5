"""Read a structured reply, and join it with a record that has sources of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ragassay.formats.replies.blocks import read_content
from ragassay.formats.replies.builder import ReplyBuilder, StructuredReply
from ragassay.formats.replies.shapes import SHAPES, ReplyShape
from ragassay.formats.replies.values import as_plain, get_text
from ragassay.formats.rows import distinct_ids
from ragassay.formats.shapes import is_list, is_mapping, is_object
from ragassay.records import CitedSpan, Document, Record

UNREAD_CITATIONS = "unread_citations"
"""The metadata that keeps what could not be read of a reply's citations."""

_OBJECT_FIELDS = ("choices", "candidates", "output", "content", "message")
"""An object with one of these may be a reply."""


def is_reply_object(value: object) -> bool:
    """Return whether an object of a library, no dictionary, may be a reply."""
    if isinstance(value, str | type | Mapping | Record):
        return False
    return any(hasattr(value, name) for name in _OBJECT_FIELDS)


def find_shape(fields: Mapping[str, Any]) -> ReplyShape | None:
    """Return the shape of a reply; None where the object is of no known one."""
    return next((shape for shape in SHAPES if shape.is_like(fields)), None)


def read_structured_reply(reply: object) -> StructuredReply | None:
    """Read the reply of a provider: its text, the spans that cite, the sources.

    Args:
        reply: A dictionary, an object of the provider's library, or a list of content blocks.

    Returns:
        None where it is of no known shape.
    """
    plain = as_plain(reply)
    builder = ReplyBuilder()
    if is_list(plain):
        is_content = plain and all(is_mapping(one) and get_text(one, "type") for one in plain)
        if not is_content or not read_content(plain, builder):
            return None
        return builder.build()
    shape = find_shape(plain) if is_object(plain) else None
    if shape is None:
        return None
    shape.read(plain, builder)
    return builder.build()


def add_reply(record: Record, reply: StructuredReply) -> Record:
    """Return a record with a reply's citations, and those of its sources that it lacks.

    A source of the reply is the record's where the ids or titles are the same, where the request
    numbered it (Anthropic's `document_index`), or where it quotes the source's text.
    """
    ids = {one.id: _own_id(one, record.sources, reply.positions) for one in reply.sources}
    new = [one for one in reply.sources if ids[one.id] is None]
    names = distinct_ids([one.id for one in (*record.sources, *new)])[len(record.sources) :]
    ids |= {one.id: name for one, name in zip(new, names, strict=True)}
    sources = (one.model_copy(update={"id": ids[one.id]}) for one in new)
    citations = (
        CitedSpan(
            start=span.start,
            end=span.end,
            documents=tuple(dict.fromkeys(ids[name] or name for name in span.documents)),
        )
        for span in reply.citations
    )
    problems = {UNREAD_CITATIONS: json.dumps(reply.problems)} if reply.problems else {}
    return record.model_copy(
        update={
            "sources": (*record.sources, *sources),
            "citations": (*record.citations, *citations),
            "metadata": record.metadata | problems,
        }
    )


def _own_id(source: Document, own: Sequence[Document], positions: Mapping[str, int]) -> str | None:
    """Return the id of the record's source that a reply's source is; None for another one."""
    if any(one.id == source.id for one in own):
        return source.id
    position = positions.get(source.id)
    if position is not None and position < len(own):
        return own[position].id
    titled = [one.id for one in own if source.title and one.title == source.title]
    quoting = [one.id for one in own if source.text and source.text in one.text]
    return next((ids[0] for ids in (titled, quoting) if len(ids) == 1), None)
