"""Read an application's reply: an answer, its sources, what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from ragassay.errors import InputError
from ragassay.formats.objects import response_parts, source_objects
from ragassay.formats.replies import (
    StructuredReply,
    add_reply,
    is_reply_object,
    read_structured_reply,
)
from ragassay.formats.replies.values import as_plain, get_fields, get_number
from ragassay.formats.rows import SourceRow, distinct_ids, text_as_object
from ragassay.records import CitedSpan, Document, Record, SentenceInput

ANSWER_KEYS = ("answer", "response", "output", "result")
SOURCE_KEYS = (
    *("sources", "source_documents", "documents", "retrieved_contexts", "contexts", "context"),
    *("passages", "citations"),
)
ACCEPTED = (
    "text, a dictionary with an answer (answer, response, output, result) or messages, a message "
    "of LangChain, a response of LlamaIndex, a reply of a provider (OpenAI, Anthropic, Cohere, "
    "Gemini, ...), or a Record; `parse=` turns anything else into these"
)
_USAGES = ("usage", "usage_metadata", "usageMetadata")
_PROMPT_TOKENS = ("prompt_tokens", "input_tokens", "prompt_token_count")
_COMPLETION_TOKENS = ("completion_tokens", "output_tokens", "candidates_token_count")
"""Where providers count tokens, in snake or camel case."""


@dataclass(frozen=True)
class Answered:
    """An application's answer.

    Attributes:
        answer: The text, or sentences with citations.
        sources: What it retrieved, best first.
        citations: What it cites by structure, by offsets into the answer.
        problems: What could not be read of these citations.
        n_prompt_tokens: Tokens that its model read; None where it does not say.
        n_completion_tokens: Tokens that it wrote; None where it does not say.
        cost_usd: What the answer cost; None where it does not say.
    """

    answer: str | tuple[SentenceInput, ...]
    sources: tuple[Document, ...] = ()
    citations: tuple[CitedSpan, ...] = ()
    problems: tuple[str, ...] = ()
    n_prompt_tokens: int | None = None
    n_completion_tokens: int | None = None
    cost_usd: float | None = None


def read_reply(reply: Any) -> Answered:
    """Return the answer of a reply.

    Args:
        reply: See `ACCEPTED`. A dictionary may also have sources (`SOURCE_KEYS`), `cost_usd`,
            `n_prompt_tokens` and `n_completion_tokens`, or a `usage` as OpenAI's.

    Raises:
        InputError: It is none of these, or a source cannot be read.
    """
    if isinstance(reply, Record):
        return Answered(reply.answer, reply.sources, reply.citations)
    has_text = isinstance(reply, Mapping) and isinstance(reply.get("answer"), str)
    if is_reply_object(reply) or (isinstance(reply, Mapping | list) and not has_text):
        plain = as_plain(reply)
        structured = read_structured_reply(plain)
        if structured is not None:
            return _from_structured(structured, plain)
    if isinstance(reply, Mapping):
        return _from_mapping(reply)
    if isinstance(reply, str) or hasattr(reply, "source_nodes"):
        parts = response_parts(reply)
        return Answered(parts.text, _sources(parts.sources))
    if hasattr(reply, "content"):
        return Answered(message_text(reply))
    raise InputError(f"the application returned a {type(reply).__name__}: expected {ACCEPTED}")


def _from_structured(reply: StructuredReply, fields: Any) -> Answered:
    usage = get_fields(fields, *_USAGES)
    return Answered(
        reply.text,
        reply.sources,
        reply.citations,
        reply.problems,
        get_number(usage, *_PROMPT_TOKENS),
        get_number(usage, *_COMPLETION_TOKENS),
        _number(usage.get("cost"), None),
    )


def _from_mapping(reply: Mapping[Any, Any]) -> Answered:
    value = next((reply[key] for key in ANSWER_KEYS if reply.get(key) is not None), None)
    found: Any = reply.get("messages") or ()
    if value is None and found:
        value = found[-1]
        if isinstance(value, Mapping) and read_structured_reply(value) is None:
            value = message_text(value)
    if value is None:
        keys = ", ".join(map(str, reply)) or "nothing"
        raise InputError(f"the application returned a dictionary of {keys}: expected {ACCEPTED}")
    inner = read_reply(value)
    given = next((reply[key] for key in SOURCE_KEYS if reply.get(key)), None)
    own = _sources(_artifacts(found) if given is None else given)
    if own:
        inner = _with_sources(inner, own)
    usage = reply.get("usage") or {}
    return replace(
        inner,
        n_prompt_tokens=_number(
            reply.get("n_prompt_tokens", usage.get("prompt_tokens")), inner.n_prompt_tokens
        ),
        n_completion_tokens=_number(
            reply.get("n_completion_tokens", usage.get("completion_tokens")),
            inner.n_completion_tokens,
        ),
        cost_usd=_number(reply.get("cost_usd", usage.get("cost")), inner.cost_usd),
    )


def _with_sources(answered: Answered, own: tuple[Document, ...]) -> Answered:
    """Return an answer with the sources beside it; those that only its citations name follow."""
    if not answered.citations or not isinstance(answered.answer, str):
        return replace(answered, sources=own)
    record = Record(id="answer", question="", answer=answered.answer, sources=own)
    cited = StructuredReply(answered.answer, answered.citations, answered.sources)
    joined = add_reply(record, cited)
    return replace(answered, sources=joined.sources, citations=joined.citations)


def _number(value: Any, default: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else default


def message_text(message: Any) -> str:
    """Return the text of a message of LangChain or OpenAI, whose content may be blocks."""
    is_plain = isinstance(message, Mapping)
    content = message.get("content") if is_plain else getattr(message, "content", message)
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) else ()
    return "".join(b if isinstance(b, str) else str(b.get("text", "")) for b in blocks)


def _artifacts(messages: Sequence[Any]) -> list[Any]:
    """Return the documents that tools of an agent retrieved."""
    kept = (getattr(message, "artifact", None) for message in messages)
    lists = (one for one in kept if isinstance(one, Sequence) and not isinstance(one, str))
    return [document for one in lists for document in one]


def _sources(given: Any) -> tuple[Document, ...]:
    """Return sources as documents, ids distinct; those without an id are numbered."""
    listed = [given] if isinstance(given, str | Mapping) else list(given)
    try:
        found = [
            one if isinstance(one, Document) else _document(one, n)
            for n, one in enumerate(source_objects(listed), 1)
        ]
    except ValidationError as error:
        raise InputError(
            "a source of the application cannot be read: expected texts, dictionaries with a "
            "text, or documents"
        ) from error
    names = distinct_ids([document.id for document in found])
    return tuple(
        document.model_copy(update={"id": name})
        for document, name in zip(found, names, strict=True)
    )


def _document(source: Any, n: int) -> Document:
    return SourceRow.model_validate(text_as_object(source)).to_document(n)
