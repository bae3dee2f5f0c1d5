"""Read sources from fields that a file's own format does not know."""

from __future__ import annotations

from collections.abc import Mapping

from ragassay.formats.deepeval import DEEPEVAL
from ragassay.formats.named_fields import find_sources, find_unread
from ragassay.formats.ragas import RAGAS
from ragassay.formats.ragassay_jsonl import read_sources
from ragassay.formats.ragchecker import RAGCHECKER
from ragassay.formats.sniff import Format
from ragassay.records import Record

OPEN_FORMATS = (RAGAS, DEEPEVAL, RAGCHECKER)
"""Formats that people extend with fields of their own."""


def add_named_sources(
    record: Record, fields: Mapping[str, object], form: Format
) -> tuple[Record, dict[str, str]]:
    """Give a record the sources of a field that its format does not know.

    Args:
        record: As its format's reader made it.
        fields: The fields of its line.
        form: Its format.

    Returns:
        The record, which also names the fields with texts that were not read; and the field that
        the sources were read from.
    """
    others = {key: value for key, value in fields.items() if key not in form.fields}
    name = None if record.sources else find_sources(others)
    sources = read_sources(others.pop(name)) if name is not None else ()
    update: dict[str, object] = {}
    if name is not None and isinstance(sources, tuple):
        kept = {key: text for key, text in record.metadata.items() if key != name}
        update = {"sources": sources, "metadata": kept}
    unread = find_unread(others, has_sources=bool(record.sources or update))
    if not update and not unread:
        return record, {}
    record = record.model_copy(update=update | {"unread": unread})
    return record, {"sources": name} if update and name else {}
