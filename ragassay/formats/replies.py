"""Recognize and read the replies of model providers, and add their sources to records."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragassay.formats.problems import is_list, is_mapping, is_object
from ragassay.formats.reply_builder import (
    Fields,
    ReplyBuilder,
    StructuredReply,
    as_plain,
    get,
    get_fields,
    get_list,
    get_text,
    iter_objects,
)
from ragassay.formats.reply_messages import (
    read_candidate,
    read_content,
    read_knowledge_base,
    read_message,
    read_search_answer,
)
from ragassay.formats.rows import distinguish_ids
from ragassay.formats.values import PASSAGE_IDS
from ragassay.records import CitedSpan, Document, Record

_ASSISTANTS = frozenset({"assistant", "ai", "AIMessageChunk", "model"})


@dataclass(frozen=True)
class ReplyShape:
    """Structure of the replies of one provider API, with functions to recognize and read it.

    Attributes:
        name: Name of the API, with its providers.
        is_like: Function that returns whether an object has this structure.
        read: Function that adds an object's text, sources and citations to a builder.
        fields: Fields that contain the answer and its sources, as opposed to other response data.
    """

    name: str
    is_like: Callable[[Fields], bool]
    read: Callable[[Fields, ReplyBuilder], None]
    fields: tuple[str, ...]


def _build_shape_check(name: str, inner: str) -> Callable[[Fields], bool]:
    return lambda fields: any(get_fields(one, inner) for one in iter_objects(get(fields, name)))


def _take_first(fields: Fields, name: str, reply: ReplyBuilder) -> Fields:
    values = get_list(fields, name)
    if len(values) > 1:
        reply.report(f"only the first of {len(values)} {name} is read")
    return next(iter_objects(values), {})


def _read_choices(fields: Fields, reply: ReplyBuilder) -> None:
    choice = _take_first(fields, "choices", reply)
    read_message(get_fields(choice, "message", "delta"), reply, fields)


def _has_output_messages(fields: Fields) -> bool:
    return any(get_list(item, "content") for item in _find_output_messages(fields))


def _find_output_messages(fields: Fields) -> list[Fields]:
    """Return the final messages of a response, or its commentary if there are no final messages."""
    items = [one for one in iter_objects(get(fields, "output")) if get(one, "content") is not None]
    messages = [one for one in items if get_text(one, "type") in ("", "message")]
    final = [one for one in messages if get_text(one, "phase") != "commentary"]
    return list(final or messages)


def _read_output(fields: Fields, reply: ReplyBuilder) -> None:
    for item in _find_output_messages(fields):
        read_content(get(item, "content"), reply)


def _read_thread(fields: Fields, reply: ReplyBuilder) -> None:
    """Read the newest assistant message of a thread. Threads list the newest message first."""
    messages = (one for one in iter_objects(get(fields, "data")) if _is_assistant(one))
    read_message(next(messages, {}), reply)


def _is_assistant(fields: Fields) -> bool:
    return get_text(fields, "role") in _ASSISTANTS or get_text(fields, "type") in _ASSISTANTS


def _is_message(fields: Fields) -> bool:
    content = get(fields, "content")
    if isinstance(content, str):
        return _is_assistant(fields)
    parts = list(iter_objects(content))
    is_blocks = bool(parts) and all(get_text(one, "type", "text") for one in parts)
    return is_blocks and (_is_assistant(fields) or get_text(fields, "role") == "")


def _is_chat(fields: Fields) -> bool:
    return _is_message({"role": "assistant"} | get_fields(fields, "message"))


def _is_cohere_text(fields: Fields) -> bool:
    cites = any("document_ids" in one for one in iter_objects(get(fields, "citations")))
    return isinstance(get(fields, "text"), str) and (cites or "generation_id" in fields)


def _read_cohere_text(fields: Fields, reply: ReplyBuilder) -> None:
    read_message({**fields, "content": get_text(fields, "text")}, reply)


def _find_converse_message(fields: Fields) -> Fields:
    return get_fields(get_fields(fields, "output"), "message")


def _is_knowledge_base(fields: Fields) -> bool:
    cited = get_list(fields, "citations")
    has_parts = any(get(one, "generated_response_part") for one in iter_objects(cited))
    return bool(get_text(get_fields(fields, "output"), "text")) and (has_parts or not cited)


def _is_constructor(fields: Fields) -> bool:
    inner = get_fields(fields, "kwargs", "data")
    return get(inner, "content") is not None and (
        get_text(fields, "type") in _ASSISTANTS or "AIMessage" in get_list(fields, "id")[-1:]
    )


def _read_nodes(fields: Fields, reply: ReplyBuilder) -> None:
    reply.add_text(get_text(fields, "response"))
    for scored in iter_objects(get(fields, "source_nodes")):
        node = get_fields(scored, "node") or scored
        metadata = get_fields(node, "metadata")
        # Node ids are random, so answers cite an id from the metadata if there is one.
        name = get_text(metadata, *PASSAGE_IDS) or get_text(node, "node_id", "id_", "id")
        text = get_text(node, "text") or get_text(get_fields(node, "text_resource"), "text")
        title = get_text(metadata, "title", "file_name")
        reply.add_source(name, title=title, text=text, is_new=True)


SHAPES: tuple[ReplyShape, ...] = (
    ReplyShape(
        "chat completions (OpenAI, Azure on your data, Perplexity, OpenRouter, Mistral, LiteLLM)",
        _build_shape_check("choices", "message"),
        _read_choices,
        ("choices", "citations", "search_results"),
    ),
    ReplyShape("responses (OpenAI)", _has_output_messages, _read_output, ("output", "output_text")),
    ReplyShape(
        "converse (Amazon Bedrock)",
        lambda fields: bool(get_list(_find_converse_message(fields), "content")),
        lambda fields, reply: read_message(_find_converse_message(fields), reply),
        ("output",),
    ),
    ReplyShape(
        "knowledge bases (Amazon Bedrock)",
        _is_knowledge_base,
        read_knowledge_base,
        ("output", "citations"),
    ),
    ReplyShape(
        "generate content (Gemini)",
        _build_shape_check("candidates", "content"),
        lambda fields, reply: read_candidate(_take_first(fields, "candidates", reply), reply),
        ("candidates",),
    ),
    ReplyShape(
        "search answers (Vertex AI)",
        lambda fields: bool(get_text(get_fields(fields, "answer"), "answer_text")),
        lambda fields, reply: read_search_answer(get_fields(fields, "answer"), reply),
        ("answer",),
    ),
    ReplyShape(
        "answer of Vertex AI search on its own",
        lambda fields: bool(get_text(fields, "answer_text")),
        read_search_answer,
        ("answer_text", "answerText", "citations", "references"),
    ),
    ReplyShape(
        "chat (Cohere v2, Ollama)",
        _is_chat,
        lambda fields, reply: read_message(get_fields(fields, "message"), reply, fields),
        ("message",),
    ),
    ReplyShape(
        "chat (Cohere v1)", _is_cohere_text, _read_cohere_text, ("text", "citations", "documents")
    ),
    ReplyShape(
        "thread (OpenAI Assistants)",
        lambda fields: any(
            _is_assistant(one) and _is_message(one) for one in iter_objects(get(fields, "data"))
        ),
        _read_thread,
        ("data",),
    ),
    ReplyShape(
        "serialized message (LangChain)",
        _is_constructor,
        lambda fields, reply: read_message(get_fields(fields, "kwargs", "data"), reply),
        ("kwargs", "data", "lc"),
    ),
    ReplyShape(
        "message (Anthropic, OpenAI, LangChain)",
        _is_message,
        read_message,
        ("content", "annotations", "citations", "context"),
    ),
    ReplyShape(
        "response (LlamaIndex)",
        lambda fields: isinstance(get(fields, "response"), str) and "source_nodes" in fields,
        _read_nodes,
        ("response", "source_nodes"),
    ),
)


UNREAD_CITATIONS = "unread_citations"
"""Metadata key under which problems with a reply's citations are stored."""

_OBJECT_FIELDS = ("choices", "candidates", "output", "content", "message")
"""Attributes of library objects that may be a reply."""


def is_reply_object(value: object) -> bool:
    """Return whether a value is a library object (not a dict) that may be a reply."""
    if isinstance(value, str | type | Mapping | Record):
        return False
    return any(hasattr(value, name) for name in _OBJECT_FIELDS)


def find_shape(fields: Mapping[str, Any]) -> ReplyShape | None:
    """Return the first shape that fits a reply, or None if none fits."""
    return next((shape for shape in SHAPES if shape.is_like(fields)), None)


def read_structured_reply(reply: object) -> StructuredReply | None:
    """Read a provider's reply, or return None if its structure is unknown.

    The reply is a dict, an object of the provider's library, or a list of content blocks.
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
    """Add a reply's citations to a record, and those of its sources that the record lacks.

    The record has a source of the reply if its sources include one with the same id or title, one
    at the position to which the reply refers (Anthropic's `document_index`), or one that contains
    the quoted text.
    """
    ids = {one.id: _find_own_id(one, record.sources, reply.positions) for one in reply.sources}
    new = [one for one in reply.sources if ids[one.id] is None]
    names = distinguish_ids([one.id for one in (*record.sources, *new)])[len(record.sources) :]
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


def _find_own_id(
    source: Document, own: Sequence[Document], positions: Mapping[str, int]
) -> str | None:
    if any(one.id == source.id for one in own):
        return source.id
    position = positions.get(source.id)
    if position is not None and position < len(own):
        return own[position].id
    titled = [one.id for one in own if source.title and one.title == source.title]
    quoting = [one.id for one in own if source.text and source.text in one.text]
    return next((ids[0] for ids in (titled, quoting) if len(ids) == 1), None)
