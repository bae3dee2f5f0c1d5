"""Call RAG applications of different kinds, and read their replies."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

from ragassay.errors import InputError
from ragassay.files import get_line_limit
from ragassay.formats.fields import ANSWER_NAMES, find_name
from ragassay.formats.named_fields import find_sources
from ragassay.formats.objects import convert_documents, split_response
from ragassay.formats.problems import Problem
from ragassay.formats.ragassay_jsonl import read_sources
from ragassay.formats.replies import add_reply, is_reply_object, read_structured_reply
from ragassay.formats.reply_builder import StructuredReply, as_plain, get_fields, get_number
from ragassay.models.litellm_library import compute_price_usd
from ragassay.records import CitedSpan, Document, Record, SentenceInput, Usage
from ragassay.safe_text import hide_secrets

App = Any
"""A sync or async callable, a LangChain Runnable, a compiled LangGraph graph, a LlamaIndex query
engine, a URL, or the `module:name` of such an object."""

QUESTION_KEYS = ("question", "query", "user_input", "input")
MESSAGES = "messages"


@dataclass(frozen=True)
class AppReply:
    """Unparsed reply from an application, and the token usage if LangChain reported it."""

    value: Any
    usage: Usage | None = None


Caller = Callable[[str], Awaitable[AppReply]]


def is_url(app: App) -> bool:
    """Return whether an application is the URL of an endpoint."""
    return isinstance(app, str) and app.startswith(("http://", "https://"))


def identify_app(app: App) -> str:
    """Return a name that identifies an application and contains no password."""
    if isinstance(app, str):
        return hide_secrets(app)
    if hasattr(app, "__qualname__"):
        return f"{app.__module__}:{app.__qualname__}"
    kind = type(app)
    return f"{kind.__module__}:{kind.__qualname__}"


def load_app(app: App) -> App:
    """Return an application. An application given as `module:name` is imported.

    Raises:
        InputError: The application cannot be imported or called.
    """
    if is_url(app):
        return app
    if isinstance(app, str):
        module, colon, name = app.partition(":")
        if not (module and colon and name):
            raise InputError(f"{app!r} is not an application; specify module:name or http(s)://...")
        folder = os.getcwd()
        if folder not in sys.path:
            sys.path.insert(0, folder)  # Like `python -m`.
        try:
            app = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise InputError(f"cannot import {module}:{name}: {error}") from error
    if not (callable(app) or hasattr(app, "ainvoke") or hasattr(app, "aquery")):
        raise InputError(
            f"an application of type {type(app).__name__} cannot be called; pass a function, a "
            "Runnable, a LangGraph graph, a query engine, a URL or 'module:name'"
        )
    return app


@asynccontextmanager
async def open_app(app: App, n_at_once: int) -> AsyncIterator[Caller]:
    """Yield an async function that sends a question to an application."""
    if is_url(app):
        import httpx

        async with httpx.AsyncClient(timeout=None) as client:  # The caller sets a timeout.
            yield partial(_post, client, app)
    elif hasattr(app, "ainvoke"):
        yield partial(_invoke, app, choose_input_form(app))
    elif hasattr(app, "aquery"):
        yield lambda question: _await_reply(app.aquery, question)
    elif inspect.iscoroutinefunction(app) or inspect.iscoroutinefunction(
        getattr(app, "__call__", None)  # noqa: B004
    ):
        yield lambda question: _await_reply(app, question)
    else:
        import anyio

        yield partial(_call_in_thread, app, anyio.CapacityLimiter(n_at_once))


async def _post(client: Any, url: str, question: str) -> AppReply:
    body, limit = bytearray(), get_line_limit()
    async with client.stream("POST", url, json={"question": question}) as response:
        response.raise_for_status()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > limit:
                raise InputError(f"the reply is longer than {limit:,} bytes")
    is_json = "json" in response.headers.get("content-type", "")
    text = body.decode(response.encoding or "utf-8", "replace")
    return AppReply(json.loads(text) if is_json else text)


async def _await_reply(app: Callable[[str], Awaitable[Any]], question: str) -> AppReply:
    return AppReply(await app(question))


async def _call_in_thread(app: Callable[[str], Any], limiter: Any, question: str) -> AppReply:
    import anyio.to_thread

    value = await anyio.to_thread.run_sync(app, question, limiter=limiter, abandon_on_cancel=True)
    return AppReply(await value if inspect.isawaitable(value) else value)


async def _invoke(app: Any, make: Callable[[str], Any], question: str) -> AppReply:
    from langchain_core.callbacks import UsageMetadataCallbackHandler

    counter = UsageMetadataCallbackHandler()
    thread = {"thread_id": uuid4().hex}  # Required by graphs with a checkpointer.
    config = {"callbacks": [counter], "configurable": thread}
    value = await app.ainvoke(make(question), config=config)
    return AppReply(value, _sum_usage(counter.usage_metadata))


def _sum_usage(by_model: Mapping[str, Any]) -> Usage | None:
    if not by_model:
        return None
    total = Usage()
    for model, counted in by_model.items():
        sent, received = counted.get("input_tokens", 0), counted.get("output_tokens", 0)
        total += Usage(
            n_prompt_tokens=sent,
            n_completion_tokens=received,
            cost_usd=compute_price_usd(model, sent, received),
        )
    return total


def choose_input_form(app: Any) -> Callable[[str], Any]:
    """Return a function that converts a question to the input of a Runnable or graph.

    If the input schema has a key `question`, `query`, `user_input`, `input` or `messages`, the
    input is a dictionary with that key. Otherwise, the input is the text of the question.
    """
    channels = getattr(app, "channels", None)
    if isinstance(channels, Mapping):
        names = set(channels)
    else:
        schema: dict[str, Any] = getattr(app, "get_input_jsonschema", dict)()
        names = set(schema.get("properties", ()))
    key = next((key for key in QUESTION_KEYS if key in names), None)
    if key:
        return lambda question: {key: question}
    if MESSAGES in names:
        return lambda question: {MESSAGES: [{"role": "user", "content": question}]}
    if names == {"root"}:  # A chain that starts with `assign` takes a dictionary with unknown keys.
        return lambda question: {"input": question, "question": question}
    return lambda question: question


ACCEPTED = (
    "text, a dictionary with an answer (answer, response, output, ...) or messages, a LangChain "
    "message, a LlamaIndex response, a provider response (OpenAI, Anthropic, Cohere, Gemini, "
    "...), or a Record. Use `parse=` to convert other replies"
)
_USAGES = ("usage", "usage_metadata", "usageMetadata")
_PROMPT_TOKENS = ("prompt_tokens", "input_tokens", "prompt_token_count")
_COMPLETION_TOKENS = ("completion_tokens", "output_tokens", "candidates_token_count")
"""Names of token counts in provider replies. Camel-case names are also recognized."""


@dataclass(frozen=True)
class AppAnswer:
    """Parsed answer of an application.

    Token counts and cost are None if the application does not report them.

    Attributes:
        answer: Text of the answer, or sentences with citations.
        sources: Retrieved documents, best first.
        citations: Structured citations, by offsets into the answer.
        problems: Error messages about citations that could not be read.
    """

    answer: str | tuple[SentenceInput, ...]
    sources: tuple[Document, ...] = ()
    citations: tuple[CitedSpan, ...] = ()
    problems: tuple[str, ...] = ()
    n_prompt_tokens: int | None = None
    n_completion_tokens: int | None = None
    cost_usd: float | None = None


def read_reply(reply: Any) -> AppAnswer:
    """Parse a reply from an application, which must have a form listed in `ACCEPTED`.

    A dictionary may also contain sources (`SOURCE_NAMES`), `cost_usd`, `n_prompt_tokens` and
    `n_completion_tokens`, or OpenAI's `usage`.

    Raises:
        InputError: The reply has an unsupported form, or a source cannot be read.
    """
    if isinstance(reply, Record):
        return AppAnswer(reply.answer, reply.sources, reply.citations)
    has_text = isinstance(reply, Mapping) and isinstance(reply.get("answer"), str)
    if is_reply_object(reply) or (isinstance(reply, Mapping | list) and not has_text):
        plain = as_plain(reply)
        structured = read_structured_reply(plain)
        if structured is not None:
            return _from_structured(structured, plain)
    if isinstance(reply, Mapping):
        return _from_mapping(reply)
    if isinstance(reply, str) or hasattr(reply, "source_nodes"):
        parts = split_response(reply)
        return AppAnswer(parts.text, _read_sources(parts.sources))
    if hasattr(reply, "content"):
        return AppAnswer(read_message_text(reply))
    raise InputError(f"the application returned {type(reply).__name__}; expected {ACCEPTED}")


def _from_structured(reply: StructuredReply, fields: Any) -> AppAnswer:
    usage = get_fields(fields, *_USAGES)
    return AppAnswer(
        reply.text,
        reply.sources,
        reply.citations,
        reply.problems,
        get_number(usage, *_PROMPT_TOKENS),
        get_number(usage, *_COMPLETION_TOKENS),
        _read_number(usage.get("cost"), None),
    )


def _from_mapping(reply: Mapping[Any, Any]) -> AppAnswer:
    name = find_name(reply, ANSWER_NAMES)
    value = reply[name] if name is not None else None
    messages: Any = reply.get("messages") or ()
    if value is None and messages:
        value = messages[-1]
        if isinstance(value, Mapping) and read_structured_reply(value) is None:
            value = read_message_text(value)
    if value is None:
        keys = ", ".join(map(str, reply)) or "nothing"
        raise InputError(f"the application returned a dictionary with {keys}; expected {ACCEPTED}")
    inner = read_reply(value)
    others = {str(key): convert_documents(part) for key, part in reply.items() if key != name}
    source = find_sources(others)
    source_value = None if source is None else others[source]
    own = _read_sources(_list_artifacts(messages) if source_value is None else source_value)
    if own:
        inner = _add_sources(inner, own)
    usage = reply.get("usage") or {}
    return replace(
        inner,
        n_prompt_tokens=_read_number(
            reply.get("n_prompt_tokens", usage.get("prompt_tokens")), inner.n_prompt_tokens
        ),
        n_completion_tokens=_read_number(
            reply.get("n_completion_tokens", usage.get("completion_tokens")),
            inner.n_completion_tokens,
        ),
        cost_usd=_read_number(reply.get("cost_usd", usage.get("cost")), inner.cost_usd),
    )


def _add_sources(answer: AppAnswer, own: tuple[Document, ...]) -> AppAnswer:
    """Add an answer's retrieved sources, followed by sources that occur only in its citations."""
    if not answer.citations or not isinstance(answer.answer, str):
        return replace(answer, sources=own)
    record = Record(id="answer", question="", answer=answer.answer, sources=own)
    joined = add_reply(record, StructuredReply(answer.answer, answer.citations, answer.sources))
    return replace(answer, sources=joined.sources, citations=joined.citations)


def _read_number(value: Any, default: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else default


def read_message_text(message: Any) -> str:
    """Return the text of a LangChain or OpenAI message, joining content blocks."""
    is_plain = isinstance(message, Mapping)
    content = message.get("content") if is_plain else getattr(message, "content", message)
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) else ()
    return "".join(b if isinstance(b, str) else str(b.get("text", "")) for b in blocks)


def _list_artifacts(messages: Sequence[Any]) -> list[Any]:
    """Return the documents that tools attached to their messages as artifacts."""
    artifacts = (getattr(message, "artifact", None) for message in messages)
    lists = (one for one in artifacts if isinstance(one, Sequence) and not isinstance(one, str))
    return [document for one in lists for document in one]


def _read_sources(source_value: Any) -> tuple[Document, ...]:
    if source_value is None:
        return ()
    sources = read_sources(convert_documents(source_value))
    if isinstance(sources, Problem):
        raise InputError(
            f"cannot read a source that the application returned ({sources.field}: "
            f"{sources.text}); "
            "expected texts, dictionaries with a text, or documents"
        )
    return sources
