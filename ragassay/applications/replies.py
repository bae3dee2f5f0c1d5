"""Read an application's reply: an answer, its sources, what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragassay.errors import InputError
from ragassay.formats.field_names import ANSWER_NAMES, find_name
from ragassay.formats.named_fields import find_sources
from ragassay.formats.objects import plain_value, response_parts
from ragassay.formats.problems import Problem
from ragassay.formats.ragassay_jsonl import read_sources
from ragassay.formats.replies import (
    StructuredReply,
    add_reply,
    is_reply_object,
    read_structured_reply,
)
from ragassay.formats.replies.values import as_plain, get_fields, get_number
from ragassay.records import CitedSpan, Document, Record, SentenceInput

ACCEPTED = (
    "text, a dictionary with an answer (answer, response, output, ...) or messages, a message "
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
        reply: See `ACCEPTED`. A dictionary may also have sources (`SOURCE_NAMES`), `cost_usd`,
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
    name = find_name(reply, ANSWER_NAMES)
    value = reply[name] if name is not None else None
    found: Any = reply.get("messages") or ()
    if value is None and found:
        value = found[-1]
        if isinstance(value, Mapping) and read_structured_reply(value) is None:
            value = message_text(value)
    if value is None:
        keys = ", ".join(map(str, reply)) or "nothing"
        raise InputError(f"the application returned a dictionary of {keys}: expected {ACCEPTED}")
    inner = read_reply(value)
    others = {str(key): plain_value(part) for key, part in reply.items() if key != name}
    source = find_sources(others)
    given = None if source is None else others[source]
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
    if given is None:
        return ()
    found = read_sources(plain_value(given))
    if isinstance(found, Problem):
        raise InputError(
            f"a source of the application cannot be read: {found.field}: {found.text}; expected "
            "texts, dictionaries with a text, or documents"
        )
    return found
