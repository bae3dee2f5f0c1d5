"""Read chat messages, content blocks and grounding metadata, with their citations."""

from __future__ import annotations

from typing import Any

from ragassay.formats.problems import is_list, is_mapping, is_object
from ragassay.formats.reply_builder import (
    Fields,
    ReplyBlock,
    ReplyBuilder,
    collect_free_text,
    get,
    get_fields,
    get_list,
    get_number,
    get_source_text,
    get_text,
    iter_objects,
)
from ragassay.formats.values import parse_json

_POSITION_NAMES = ("document_index", "search_result_index")
_NO_EVIDENCE = frozenset({"file_path"})
"""Types of annotations that refer to a file which the model wrote, not to a source."""


def read_content(content: Any, reply: ReplyBuilder) -> list[ReplyBlock]:
    """Add message content, which is text or a list of blocks, and return its text blocks.

    Blocks that are not part of the answer, such as thinking, tool calls and images, are skipped.
    """
    if isinstance(content, str):
        return [reply.add_text(content)]
    if is_mapping(content):
        content = [content]
    blocks: list[ReplyBlock] = []
    for part in content if is_list(content) else ():
        if isinstance(part, str):
            blocks.append(reply.add_text(part))
        elif is_mapping(part):
            fields = {str(name): value for name, value in part.items()}
            blocks.extend(_read_block(fields, reply, blocks))
    return blocks


def _read_block(part: Fields, reply: ReplyBuilder, before: list[ReplyBlock]) -> list[ReplyBlock]:
    kind = get_text(part, "type")
    cited = get_fields(part, "citations_content")  # Bedrock
    if cited:
        blocks = read_content(get(cited, "content"), reply)
        _cite_all(blocks, get(cited, "citations"), reply)
        return blocks
    if kind in ("reference", "tool_reference"):  # Mistral
        _read_reference(part, before, reply)
        return []
    text = get(part, "text")
    if kind in ("thinking", "reasoning", "redacted_thinking") or get(part, "thought") is True:
        return []
    if is_mapping(text):  # OpenAI Assistants
        value, notes = get_text(text, "value"), get(text, "annotations")
    else:
        value, notes = get_text(part, "text", "refusal"), get(part, "annotations")
    if not value:
        return []
    block = reply.add_text(value)
    _cite_all([block], get(part, "citations"), reply)
    read_annotations(notes, block, reply)
    return [block]


def _cite_all(blocks: list[ReplyBlock], citations: Any, reply: ReplyBuilder) -> None:
    """Cite sources for whole blocks, because Anthropic and Bedrock split text at citations."""
    sources = [read_quote(one, reply) for one in iter_objects(citations)]
    for block in blocks:
        reply.cite(block, sources)


def _read_reference(part: Fields, before: list[ReplyBlock], reply: ReplyBuilder) -> None:
    """Cite the sources of a Mistral reference at the end of the preceding text."""
    ids = [str(one) for one in get_list(part, "reference_ids") if isinstance(one, int | str)]
    sources = [reply.add_source(name) for name in ids]
    if not ids and get_text(part, "url", "title"):
        title, text = get_text(part, "title"), get_text(part, "description")
        sources = [reply.add_source(get_text(part, "url"), title=title, text=text)]
    if before:
        end = len(before[-1].text)
        reply.cite(before[-1], sources, end, end)
    elif sources:
        reply.report("a citation comes before any text")


def read_quote(citation: Fields, reply: ReplyBuilder) -> int:
    """Add the source of an Anthropic or Bedrock citation with its quote, and return its number."""
    location = get_fields(citation, "location")
    inner = next((part for part in location.values() if is_mapping(part)), location)
    positions = (get_number(one, *_POSITION_NAMES) for one in (citation, inner))
    position = next((position for position in positions if position is not None), None)
    title = get_text(citation, "document_title", "title")
    name = get_text(citation, "file_id", "url", "source") or get_text(inner, "url", "source")
    parts = (get_text(part, "text") for part in iter_objects(get(citation, "source_content")))
    quoted = get_text(citation, "cited_text") or "".join(parts)
    kind = "search" if get_number(citation, "search_result_index") is not None else "document"
    if position is None:
        return reply.add_source(name, title=title, text=quoted)
    label = name or title or f"{kind}-{position + 1}"
    key = f"{kind} {position}"
    return reply.add_source(label, key=key, title=title, text=quoted, position=position)


def read_annotations(
    annotations: Any, block: ReplyBlock, reply: ReplyBuilder, *, is_message: bool = False
) -> None:
    """Cite the sources of OpenAI, OpenRouter, LangChain and Perplexity annotations.

    The fields of an annotation may be in an object with the name of its type, such as
    `url_citation`. An annotation without offsets cites the whole block, unless the block is a whole
    message.
    """
    for note in iter_objects(annotations):
        kind = get_text(note, "type")
        fields = note | get_fields(note, kind) if kind else note
        if kind in _NO_EVIDENCE:
            continue
        name = get_text(fields, "url", "uri", "file_id")
        title = get_text(fields, "title", "filename")
        if not name and not title and not get_text(fields, "cited_text", "quote", "content"):
            reply.report(f"an annotation of type {kind or 'unknown'!r} does not specify a source")
            continue
        source, start, end = _add_annotated(fields, name, title, block, reply)
        has_offsets = start is not None or end is not None
        if start == end == 0 or (is_message and not has_offsets):
            continue  # OpenRouter and others provide no offsets.
        reply.cite(block, [source], start, end, get_text(fields, "text"))


def _add_annotated(
    fields: Fields, name: str, title: str, block: ReplyBlock, reply: ReplyBuilder
) -> tuple[int, int | None, int | None]:
    start = get_number(fields, "start_index", "index")
    end = get_number(fields, "end_index")
    excerpt = get_text(fields, "cited_text", "quote") or get_source_text({**fields, "text": None})
    if start is not None and end is not None and block.text[start:end] == excerpt:
        excerpt = ""  # LangChain's Gemini integration quotes the answer, not the source.
    position = get_number(get_fields(fields, "extras"), *_POSITION_NAMES)
    key = f"document {position}" if position is not None and not name else ""
    source = reply.add_source(name, key=key, title=title, text=excerpt, position=position)
    return source, start, end


_CHUNK_KINDS = ("web", "retrieved_context", "maps", "image")


def read_grounding(grounding: Fields, parts: list[ReplyBlock], reply: ReplyBuilder) -> None:
    """Cite the sources of Gemini's grounding supports, which have byte offsets within a part."""
    sources = [
        _add_chunk(chunk, reply) for chunk in iter_objects(get(grounding, "grounding_chunks"))
    ]
    for support in iter_objects(get(grounding, "grounding_supports")):
        numbers = get_list(support, "grounding_chunk_indices")
        known = [sources[n] for n in numbers if isinstance(n, int) and 0 <= n < len(sources)]
        if len(known) < len(numbers):
            reply.report("a grounding support refers to a missing chunk")
        segment = get_fields(support, "segment")
        n_part = get_number(segment, "part_index") or 0
        if not 0 <= n_part < len(parts):
            reply.report(
                f"a grounding support refers to part {n_part}, but the number of parts is "
                f"{len(parts)}"
            )
            continue
        start = get_number(segment, "start_index") or 0
        end = get_number(segment, "end_index")
        reply.cite(parts[n_part], known, start, end, get_text(segment, "text"), "bytes")


def _add_chunk(chunk: Fields, reply: ReplyBuilder) -> int:
    fields = next((inner for kind in _CHUNK_KINDS if (inner := get_fields(chunk, kind))), chunk)
    passage = get_text(fields, "text") or get_text(get_fields(fields, "rag_chunk"), "text")
    name = get_text(fields, "uri", "document_name", "source_uri", "title")
    return reply.add_source(name, title=get_text(fields, "title"), text=passage)


def read_candidate(candidate: Fields, reply: ReplyBuilder) -> None:
    """Add the parts, grounding and citation metadata of a Gemini candidate."""
    parts: list[ReplyBlock] = []
    for part in iter_objects(get(get_fields(candidate, "content"), "parts")):
        is_thought = get(part, "thought") is True
        # Supports count all parts, so parts without text are kept.
        parts.append(reply.add_text("" if is_thought else get_text(part, "text")))
    read_grounding(get_fields(candidate, "grounding_metadata"), parts, reply)
    metadata = get_fields(candidate, "citation_metadata")
    whole = ReplyBlock(0, reply.text)
    for citation in iter_objects(get(metadata, "citations", "citation_sources")):
        name = get_text(citation, "uri", "title")
        source = reply.add_source(name, title=get_text(citation, "title"))
        start, end = get_number(citation, "start_index") or 0, get_number(citation, "end_index")
        reply.cite(whole, [source], start, end, unit="bytes")


def read_search_answer(answer: Fields, reply: ReplyBuilder) -> None:
    """Add a Vertex AI Search answer, whose citations have byte offsets and reference ids."""
    block = reply.add_text(get_text(answer, "answer_text"))
    numbers: dict[str, int] = {}
    for n, reference in enumerate(iter_objects(get(answer, "references"))):
        chunk = get_fields(reference, "chunk_info", "unstructured_document_info")
        metadata = get_fields(chunk, "document_metadata") or chunk
        contents = iter_objects(get(chunk, "chunk_contents"))
        text = get_text(chunk, "content") or "\n".join(get_text(c, "content") for c in contents)
        name, title = get_text(metadata, "uri", "document", "title"), get_text(metadata, "title")
        numbers[str(n)] = reply.add_source(name, title=title, text=text, is_new=True)
    for citation in iter_objects(get(answer, "citations")):
        ids = [
            get_text(source, "reference_id") for source in iter_objects(get(citation, "sources"))
        ]
        known = [numbers[name] for name in ids if name in numbers]
        if len(known) < len(ids):
            reply.report("a citation refers to a missing reference")
        start, end = get_number(citation, "start_index") or 0, get_number(citation, "end_index")
        reply.cite(block, known, start, end, unit="bytes")


def read_knowledge_base(answer: Fields, reply: ReplyBuilder) -> None:
    """Add an Amazon Bedrock knowledge base answer: `output.text` and parts with references.

    The end offset of a span is inclusive, as `locate` detects from the text of the part.
    """
    block = reply.add_text(get_text(get_fields(answer, "output"), "text"))
    for citation in iter_objects(get(answer, "citations")):
        part = get_fields(get_fields(citation, "generated_response_part"), "text_response_part")
        references = iter_objects(get(citation, "retrieved_references"))
        sources = [_add_retrieved(reference, reply) for reference in references]
        span = get_fields(part, "span")
        start, end = get_number(span, "start"), get_number(span, "end")
        reply.cite(block, sources, start, end, get_text(part, "text"))


def _add_retrieved(reference: Fields, reply: ReplyBuilder) -> int:
    location = get_fields(reference, "location")
    named = (one for one in location.values() if get_text(one, "uri", "url", "id"))
    name = get_text(next(named, {}), "uri", "url", "id")
    text = get_text(get_fields(reference, "content"), "text")
    return reply.add_source(name or get_text(reference, "title"), text=text)


def read_message(message: Fields, reply: ReplyBuilder, around: Fields | None = None) -> None:
    """Add an assistant message.

    Args:
        message: Message with its content and citations: `annotations` (OpenAI),
            `context.citations` (Azure), `citations` (Cohere), or any of these in
            `additional_kwargs` (LangChain).
        around: Object that contains the message, in which Perplexity lists the citations.
    """
    extra = get_fields(message, "additional_kwargs")
    for holder in (around or {}, message, extra):
        _add_listed(holder, reply)
    blocks = read_content(get(message, "content"), reply)
    if not blocks:
        return
    whole = ReplyBlock(blocks[0].start, "".join(block.text for block in blocks))
    for holder in (message, extra):
        read_annotations(get(holder, "annotations"), whole, reply, is_message=True)
        _read_spans(holder, blocks, whole, reply)
    metadata = get_fields(message, "response_metadata")
    read_grounding(get_fields(metadata, "grounding_metadata"), blocks, reply)
    _read_litellm(get_fields(message, "provider_specific_fields"), whole, reply)


def _add_listed(holder: Fields, reply: ReplyBuilder) -> None:
    """Add the sources in the order of their list, because the text cites them by number."""
    context = get_fields(holder, "context")
    for passage in iter_objects(get(context, "citations") or _find_azure_citations(context)):
        name = get_text(passage, "url", "filepath", "id", "title")
        title = get_text(passage, "title")
        reply.add_source(name, title=title, text=get_source_text(passage), is_new=True)
    pages = [one for one in get_list(holder, "citations") if isinstance(one, str)]
    results = list(iter_objects(get(holder, "search_results")))
    known = {get_text(one, "url"): one for one in results}
    for url in pages or list(known):
        page = known.get(url, {})
        reply.add_source(url, title=get_text(page, "title"), text=get_source_text(page))
    for document in iter_objects(get(holder, "documents")):
        _add_document(get_text(document, "id"), document, reply)


def _find_azure_citations(context: Fields) -> Any:
    """Return the citations that older Azure APIs write as JSON text into a tool message."""
    for message in iter_objects(get(context, "messages")):
        value = parse_json(get_text(message, "content").encode("utf-8", "replace"))
        if is_object(value) and get_list(value, "citations"):
            return get_list(value, "citations")
    return []


def _add_document(name: str, document: Fields, reply: ReplyBuilder) -> int:
    data = get_fields(document, "data") or document
    name = name or get_text(data, "id", "url", "title")
    return reply.add_source(name, title=get_text(data, "title"), text=collect_free_text(data))


def _read_spans(
    holder: Fields, blocks: list[ReplyBlock], whole: ReplyBlock, reply: ReplyBuilder
) -> None:
    """Cite the documents that Cohere lists in `sources` or `find_document_ids` of a citation."""
    for citation in iter_objects(get(holder, "citations")):
        sources = [
            _add_document(
                get_text(source, "id"), get_fields(source, "document", "tool_output"), reply
            )
            for source in iter_objects(get(citation, "sources"))
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


def _read_own_citation(citation: Fields, whole: ReplyBlock, reply: ReplyBuilder) -> None:
    if not get_text(citation, "url", "title", "document_title", "cited_text", "id"):
        reply.report("a citation does not specify a source")
        return
    start, end = get_number(citation, "start", "start_index"), get_number(citation, "end")
    end = end if end is not None else get_number(citation, "end_index")
    source = read_quote(citation, reply)
    if start is not None or get_text(citation, "supported_text"):
        reply.cite(whole, [source], start, end, get_text(citation, "supported_text", "text"))


def _read_litellm(fields: Fields, whole: ReplyBlock, reply: ReplyBuilder) -> None:
    """Cite the sources of Anthropic citations in LiteLLM's form: one list per cited block."""
    start = 0
    for group in get_list(fields, "citations"):
        for citation in iter_objects(group if not is_mapping(group) else [group]):
            supported = get_text(citation, "supported_text")
            position = whole.text.find(supported, start) if supported else -1
            source = read_quote(citation, reply)
            if position < 0:
                reply.report("the text supported by a citation is not in the answer")
                continue
            start = position
            reply.cite(whole, [source], position, position + len(supported))
