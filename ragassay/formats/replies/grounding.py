"""Read what grounds an answer at Google and Amazon: supports, each with a span and its sources."""

from __future__ import annotations

from ragassay.formats.replies.builder import Block, ReplyBuilder
from ragassay.formats.replies.values import (
    Fields,
    each_object,
    get,
    get_fields,
    get_list,
    get_number,
    get_text,
)

_CHUNK_KINDS = ("web", "retrieved_context", "maps", "image")


def read_grounding(grounding: Fields, parts: list[Block], reply: ReplyBuilder) -> None:
    """Cite what Gemini's grounding supports name; their offsets count bytes of a part.

    Args:
        grounding: `groundingMetadata`: chunks, and supports with their numbers.
        parts: The texts of the content's parts.
        reply: Takes the sources.
    """
    sources = [
        _add_chunk(chunk, reply) for chunk in each_object(get(grounding, "grounding_chunks"))
    ]
    for support in each_object(get(grounding, "grounding_supports")):
        numbers = get_list(support, "grounding_chunk_indices")
        known = [sources[n] for n in numbers if isinstance(n, int) and 0 <= n < len(sources)]
        if len(known) < len(numbers):
            reply.report("a grounding support names a chunk that is not there")
        segment = get_fields(support, "segment")
        n_part = get_number(segment, "part_index") or 0
        if not 0 <= n_part < len(parts):
            reply.report(f"a grounding support is for part {n_part} of {len(parts)}")
            continue
        start = get_number(segment, "start_index") or 0
        end = get_number(segment, "end_index")
        reply.cite(parts[n_part], known, start, end, get_text(segment, "text"), "bytes")


def _add_chunk(chunk: Fields, reply: ReplyBuilder) -> int:
    about = next((found for kind in _CHUNK_KINDS if (found := get_fields(chunk, kind))), chunk)
    passage = get_text(about, "text") or get_text(get_fields(about, "rag_chunk"), "text")
    name = get_text(about, "uri", "document_name", "source_uri", "title")
    return reply.add_source(name, title=get_text(about, "title"), text=passage)


def read_candidate(candidate: Fields, reply: ReplyBuilder) -> None:
    """Add a candidate of Gemini: its parts, grounding and citation metadata."""
    parts: list[Block] = []
    for part in each_object(get(get_fields(candidate, "content"), "parts")):
        is_thought = get(part, "thought") is True
        # A part without text keeps its number: supports count all parts.
        parts.append(reply.add_text("" if is_thought else get_text(part, "text")))
    read_grounding(get_fields(candidate, "grounding_metadata"), parts, reply)
    recited = get_fields(candidate, "citation_metadata")
    whole = Block(0, reply.text)
    for citation in each_object(get(recited, "citations", "citation_sources")):
        name = get_text(citation, "uri", "title")
        source = reply.add_source(name, title=get_text(citation, "title"))
        start, end = get_number(citation, "start_index") or 0, get_number(citation, "end_index")
        reply.cite(whole, [source], start, end, unit="bytes")


def read_search_answer(answer: Fields, reply: ReplyBuilder) -> None:
    """Add an answer of Vertex AI Search: `answerText`, citations by bytes, references by id."""
    block = reply.add_text(get_text(answer, "answer_text"))
    numbers: dict[str, int] = {}
    for n, reference in enumerate(each_object(get(answer, "references"))):
        chunk = get_fields(reference, "chunk_info", "unstructured_document_info")
        about = get_fields(chunk, "document_metadata") or chunk
        contents = each_object(get(chunk, "chunk_contents"))
        text = get_text(chunk, "content") or "\n".join(get_text(c, "content") for c in contents)
        name = get_text(about, "uri", "document", "title")
        numbers[str(n)] = reply.add_source(
            name, title=get_text(about, "title"), text=text, is_new=True
        )
    for citation in each_object(get(answer, "citations")):
        ids = [get_text(source, "reference_id") for source in each_object(get(citation, "sources"))]
        known = [numbers[name] for name in ids if name in numbers]
        if len(known) < len(ids):
            reply.report("a citation names a reference that is not there")
        start, end = get_number(citation, "start_index") or 0, get_number(citation, "end_index")
        reply.cite(block, known, start, end, unit="bytes")


def read_knowledge_base(answer: Fields, reply: ReplyBuilder) -> None:
    """Add an answer of Amazon's knowledge bases: `output.text` and parts with references.

    The last character of a span is in it, which the part's own text shows.
    """
    block = reply.add_text(get_text(get_fields(answer, "output"), "text"))
    for citation in each_object(get(answer, "citations")):
        part = get_fields(get_fields(citation, "generated_response_part"), "text_response_part")
        references = each_object(get(citation, "retrieved_references"))
        sources = [_add_retrieved(reference, reply) for reference in references]
        span = get_fields(part, "span")
        start, end = get_number(span, "start"), get_number(span, "end")
        reply.cite(block, sources, start, end, get_text(part, "text"))


def _add_retrieved(reference: Fields, reply: ReplyBuilder) -> int:
    place = get_fields(reference, "location")
    places = (one for one in place.values() if get_text(one, "uri", "url", "id"))
    name = get_text(next(places, {}), "uri", "url", "id")
    text = get_text(get_fields(reference, "content"), "text")
    return reply.add_source(name or get_text(reference, "title"), text=text)
