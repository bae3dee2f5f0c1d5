"""Read content blocks: the pieces of a message, each with its citations or annotations."""

from __future__ import annotations

from typing import Any

from ragassay.formats.replies.builder import Block, ReplyBuilder
from ragassay.formats.replies.values import (
    Fields,
    each_object,
    get,
    get_fields,
    get_list,
    get_number,
    get_text,
    source_text,
)
from ragassay.formats.shapes import is_list, is_mapping

_NO_EVIDENCE = frozenset({"file_path"})
"""Annotations that name a file which the model wrote."""


def read_content(content: Any, reply: ReplyBuilder) -> list[Block]:
    """Add a message's content, a text or a list of blocks, and return its pieces of text.

    Blocks without text of the answer (thinking, calls of tools, images) are passed over.
    """
    if isinstance(content, str):
        return [reply.add_text(content)]
    if is_mapping(content):
        content = [content]
    blocks: list[Block] = []
    for part in content if is_list(content) else ():
        if isinstance(part, str):
            blocks.append(reply.add_text(part))
        elif is_mapping(part):
            fields = {str(name): value for name, value in part.items()}
            blocks.extend(_read_block(fields, reply, blocks))
    return blocks


def _read_block(part: Fields, reply: ReplyBuilder, before: list[Block]) -> list[Block]:
    kind = get_text(part, "type")
    cited = get_fields(part, "citations_content")  # Bedrock
    if cited:
        found = read_content(get(cited, "content"), reply)
        _cite_all(found, get(cited, "citations"), reply)
        return found
    if kind in ("reference", "tool_reference"):  # Mistral
        _read_reference(part, before, reply)
        return []
    text = get(part, "text")
    if kind in ("thinking", "reasoning", "redacted_thinking") or get(part, "thought") is True:
        return []
    if is_mapping(text):  # Assistants of OpenAI
        value = get_text(text, "value")
        notes = get(text, "annotations")
    else:
        value, notes = get_text(part, "text", "refusal"), get(part, "annotations")
    if not value:
        return []
    block = reply.add_text(value)
    _cite_all([block], get(part, "citations"), reply)
    read_annotations(notes, block, reply)
    return [block]


def _cite_all(blocks: list[Block], citations: Any, reply: ReplyBuilder) -> None:
    """Cite for whole blocks: Anthropic and Bedrock cut the text where its sources change."""
    sources = [read_quote(one, reply) for one in each_object(citations)]
    for block in blocks:
        reply.cite(block, sources)


def _read_reference(part: Fields, before: list[Block], reply: ReplyBuilder) -> None:
    """Cite the ids that a chunk of Mistral gives, for the text in front of it."""
    ids = [str(one) for one in get_list(part, "reference_ids") if isinstance(one, int | str)]
    sources = [reply.add_source(name) for name in ids]
    if not ids and (get_text(part, "url", "title")):
        sources = [
            reply.add_source(
                get_text(part, "url"),
                title=get_text(part, "title"),
                text=get_text(part, "description"),
            )
        ]
    if before:
        end = len(before[-1].text)
        reply.cite(before[-1], sources, end, end)
    elif sources:
        reply.report("a reference stands in front of any text")


def read_quote(citation: Fields, reply: ReplyBuilder) -> int:
    """Add the source of a citation of Anthropic or Bedrock, with what it quotes."""
    place = get_fields(citation, "location")
    inner = next((part for part in place.values() if is_mapping(part)), place)
    position = get_number(citation, "document_index", "search_result_index")
    if position is None:
        position = get_number(inner, "document_index", "search_result_index")
    title = get_text(citation, "document_title", "title")
    name = get_text(citation, "file_id", "url", "source") or get_text(inner, "url", "source")
    quoted = get_text(citation, "cited_text") or _joined(get_list(citation, "source_content"))
    kind = "search" if get_number(citation, "search_result_index") is not None else "document"
    if position is None:
        return reply.add_source(name, title=title, text=quoted)
    label = name or title or f"{kind}-{position + 1}"
    key = f"{kind} {position}"
    return reply.add_source(label, key=key, title=title, text=quoted, position=position)


def _joined(parts: list[Any]) -> str:
    return "".join(get_text(part, "text") for part in each_object(parts))


def read_annotations(
    annotations: Any, block: Block, reply: ReplyBuilder, *, is_message: bool = False
) -> None:
    """Cite what annotations name: those of OpenAI, OpenRouter, LangChain and Perplexity.

    Args:
        annotations: `url_citation` and `file_citation` may hold their fields in an object of their
            own name.
        block: What they annotate.
        reply: Takes the sources.
        is_message: Whether the block is a whole message: an annotation without offsets then
            cites nothing in particular. A smaller block is cut where its sources change.
    """
    for note in each_object(annotations):
        kind = get_text(note, "type")
        fields = note | get_fields(note, kind) if kind else note
        if kind in _NO_EVIDENCE:
            continue
        name = get_text(fields, "url", "uri", "file_id")
        title = get_text(fields, "title", "filename")
        if not name and not title and not get_text(fields, "cited_text", "quote", "content"):
            reply.report(f"an annotation of the type {kind or 'unknown'!r} names no source")
            continue
        source, start, end = _add_annotated(fields, name, title, block, reply)
        has_place = start is not None or end is not None
        if start == end == 0 or (is_message and not has_place):
            continue  # OpenRouter and others that know no place
        reply.cite(block, [source], start, end, get_text(fields, "text"))


def _add_annotated(
    fields: Fields, name: str, title: str, block: Block, reply: ReplyBuilder
) -> tuple[int, int | None, int | None]:
    """Add the source of an annotation, and return it with the annotation's offsets."""
    start = get_number(fields, "start_index", "index")
    end = get_number(fields, "end_index")
    excerpt = get_text(fields, "cited_text", "quote") or source_text({**fields, "text": None})
    if start is not None and end is not None and block.text[start:end] == excerpt:
        excerpt = ""  # LangChain's Gemini puts the answer's own words here.
    position = get_number(get_fields(fields, "extras"), "document_index", "search_result_index")
    key = f"document {position}" if position is not None and not name else ""
    source = reply.add_source(name, key=key, title=title, text=excerpt, position=position)
    return source, start, end
