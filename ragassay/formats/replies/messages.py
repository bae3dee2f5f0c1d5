"""Read chat messages as providers and frameworks return them, with their citations."""

from __future__ import annotations

from typing import Any

from ragassay.formats.json_values import parse_json
from ragassay.formats.replies.blocks import read_annotations, read_content, read_quote
from ragassay.formats.replies.builder import Block, ReplyBuilder
from ragassay.formats.replies.grounding import read_grounding
from ragassay.formats.replies.values import (
    Fields,
    each_object,
    free_text,
    get,
    get_fields,
    get_list,
    get_number,
    get_text,
    source_text,
)
from ragassay.formats.shapes import is_mapping, is_object


def read_message(message: Fields, reply: ReplyBuilder, around: Fields | None = None) -> None:
    """Add an assistant's message.

    Args:
        message: Its content, and what it cites: `annotations` (OpenAI), `context.citations`
            (Azure), `citations` (Cohere), or these in `additional_kwargs` (LangChain).
        reply: Takes it.
        around: The object around the message; Perplexity's citations stand there.
    """
    extra = get_fields(message, "additional_kwargs")
    for holder in (around or {}, message, extra):
        _add_listed(holder, reply)
    blocks = read_content(get(message, "content"), reply)
    if not blocks:
        return
    whole = Block(blocks[0].start, "".join(block.text for block in blocks))
    for holder in (message, extra):
        read_annotations(get(holder, "annotations"), whole, reply, is_message=True)
        _read_spans(holder, blocks, whole, reply)
    about = get_fields(message, "response_metadata")
    read_grounding(get_fields(about, "grounding_metadata"), blocks, reply)
    _read_litellm(get_fields(message, "provider_specific_fields"), whole, reply)


def _add_listed(holder: Fields, reply: ReplyBuilder) -> None:
    """Add sources that a reply lists in the order in which its text numbers them."""
    context = get_fields(holder, "context")
    for passage in each_object(get(context, "citations") or _azure_tool_citations(context)):
        name = get_text(passage, "url", "filepath", "id", "title")
        title = get_text(passage, "title")
        reply.add_source(name, title=title, text=source_text(passage), is_new=True)
    pages = [one for one in get_list(holder, "citations") if isinstance(one, str)]
    results = list(each_object(get(holder, "search_results")))
    known = {get_text(one, "url"): one for one in results}
    for url in pages or list(known):
        page = known.get(url, {})
        reply.add_source(url, title=get_text(page, "title"), text=source_text(page))
    for document in each_object(get(holder, "documents")):
        _add_document(get_text(document, "id"), document, reply)


def _azure_tool_citations(context: Fields) -> Any:
    """Return the citations of Azure's older API: JSON in the message of a tool."""
    for message in each_object(get(context, "messages")):
        value = parse_json(get_text(message, "content").encode("utf-8", "replace"))
        if is_object(value) and get_list(value, "citations"):
            return get_list(value, "citations")
    return []


def _add_document(name: str, document: Fields, reply: ReplyBuilder) -> int:
    """Add a document of Cohere, whose fields are the user's own."""
    data = get_fields(document, "data") or document
    name = name or get_text(data, "id", "url", "title")
    return reply.add_source(name, title=get_text(data, "title"), text=free_text(data))


def _read_spans(holder: Fields, blocks: list[Block], whole: Block, reply: ReplyBuilder) -> None:
    """Cite what Cohere's citations name: `sources` with documents, or `document_ids`."""
    for citation in each_object(get(holder, "citations")):
        sources = [
            _add_document(
                get_text(source, "id"),
                get_fields(source, "document", "tool_output"),
                reply,
            )
            for source in each_object(get(citation, "sources"))
        ]
        ids = (str(one) for one in get_list(citation, "document_ids"))
        sources += [reply.add_source(name) for name in ids]
        if not sources:
            _read_own_citation(citation, whole, reply)
            continue
        index = get_number(citation, "content_index")
        is_known = index is not None and 0 <= index < len(blocks)
        block = blocks[index] if is_known and index is not None else whole
        start, end = get_number(citation, "start"), get_number(citation, "end")
        reply.cite(block, sources, start, end, get_text(citation, "text"))


def _read_own_citation(citation: Fields, whole: Block, reply: ReplyBuilder) -> None:
    """Cite a source that stands in the citation itself, as a quote or an address."""
    if not get_text(citation, "url", "title", "document_title", "cited_text", "id"):
        reply.report("a citation names no source")
        return
    start, end = get_number(citation, "start", "start_index"), get_number(citation, "end")
    end = end if end is not None else get_number(citation, "end_index")
    source = read_quote(citation, reply)
    if start is not None or get_text(citation, "supported_text"):
        reply.cite(whole, [source], start, end, get_text(citation, "supported_text", "text"))


def _read_litellm(fields: Fields, whole: Block, reply: ReplyBuilder) -> None:
    """Cite what LiteLLM keeps of Anthropic's citations: a list for each cited block of text."""
    start = 0
    for group in get_list(fields, "citations"):
        for citation in each_object(group if not is_mapping(group) else [group]):
            supported = get_text(citation, "supported_text")
            found = whole.text.find(supported, start) if supported else -1
            source = read_quote(citation, reply)
            if found < 0:
                reply.report("the text that a citation supports is not in the answer")
                continue
            start = found
            reply.cite(whole, [source], found, found + len(supported))
