"""The forms of a RAG application, each as one function from a question to its reply."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from ragassay.errors import InputError
from ragassay.limits import max_line_bytes
from ragassay.models.prices import listed_price_usd
from ragassay.records import Usage
from ragassay.redaction import without_secrets

App = Any
"""An async or plain callable, a Runnable of LangChain, a compiled graph of LangGraph, a query
engine of LlamaIndex, a URL, or `module:name` of one of the others."""

QUESTION_KEYS = ("question", "query", "user_input", "input")
MESSAGES = "messages"


@dataclass(frozen=True)
class Reply:
    """The return of an application.

    Attributes:
        value: In whatever form.
        usage: What LangChain counted; None where it counted nothing.
    """

    value: Any
    usage: Usage | None = None


Caller = Callable[[str], Awaitable[Reply]]


def is_url(app: App) -> bool:
    """Return whether an application is an endpoint."""
    return isinstance(app, str) and app.startswith(("http://", "https://"))


def app_name(app: App) -> str:
    """Return a name that stays the same from one start to the next, and holds no password."""
    if isinstance(app, str):
        return without_secrets(app)
    if hasattr(app, "__qualname__"):
        return f"{app.__module__}:{app.__qualname__}"
    kind = type(app)
    return f"{kind.__module__}:{kind.__qualname__}"


def found_app(app: App) -> App:
    """Return an application, imported where `module:name` names it.

    Raises:
        InputError: It cannot be imported, or is nothing that can be called.
    """
    if is_url(app):
        return app
    if isinstance(app, str):
        module, colon, name = app.partition(":")
        if not (module and colon and name):
            raise InputError(f"{app!r} is no application: give module:name, or http(s)://...")
        folder = os.getcwd()
        if folder not in sys.path:
            sys.path.insert(0, folder)  # as `python -m` does
        try:
            app = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise InputError(f"{module}:{name} cannot be imported: {error}") from error
    if not (callable(app) or hasattr(app, "ainvoke") or hasattr(app, "aquery")):
        raise InputError(
            f"an application of type {type(app).__name__} cannot be called: give a function, a "
            "Runnable, a LangGraph graph, a query engine, a URL or 'module:name'"
        )
    return app


@asynccontextmanager
async def opened_app(app: App, n_at_once: int) -> AsyncIterator[Caller]:
    """Yield the function that asks an application; see `found_app` for what it may be."""
    if is_url(app):
        import httpx

        async with httpx.AsyncClient(timeout=None) as client:  # the whole call has a time limit
            yield partial(_post, client, app)
    elif hasattr(app, "ainvoke"):
        yield partial(_invoke, app, input_of(app))
    elif hasattr(app, "aquery"):
        yield lambda question: _awaited(app.aquery, question)
    elif inspect.iscoroutinefunction(app) or inspect.iscoroutinefunction(
        getattr(app, "__call__", None)  # noqa: B004
    ):
        yield lambda question: _awaited(app, question)
    else:
        import anyio

        yield partial(_in_thread, app, anyio.CapacityLimiter(n_at_once))


async def _post(client: Any, url: str, question: str) -> Reply:
    body, most = bytearray(), max_line_bytes()
    async with client.stream("POST", url, json={"question": question}) as response:
        response.raise_for_status()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > most:
                raise InputError(f"the reply is longer than {most:,} bytes")
    is_json = "json" in response.headers.get("content-type", "")
    text = body.decode(response.encoding or "utf-8", "replace")
    return Reply(json.loads(text) if is_json else text)


async def _awaited(app: Callable[[str], Awaitable[Any]], question: str) -> Reply:
    return Reply(await app(question))


async def _in_thread(app: Callable[[str], Any], limiter: Any, question: str) -> Reply:
    import anyio.to_thread

    value = await anyio.to_thread.run_sync(app, question, limiter=limiter, abandon_on_cancel=True)
    return Reply(await value if inspect.isawaitable(value) else value)


async def _invoke(app: Any, make: Callable[[str], Any], question: str) -> Reply:
    from langchain_core.callbacks import UsageMetadataCallbackHandler

    counter = UsageMetadataCallbackHandler()
    thread = {"thread_id": uuid4().hex}  # a graph that remembers wants one: each question its own
    config = {"callbacks": [counter], "configurable": thread}
    value = await app.ainvoke(make(question), config=config)
    return Reply(value, _usage(counter.usage_metadata))


def _usage(by_model: Mapping[str, Any]) -> Usage | None:
    """Return what LangChain counted, priced where the model is in the price list."""
    if not by_model:
        return None
    total = Usage()
    for model, counted in by_model.items():
        sent, received = counted.get("input_tokens", 0), counted.get("output_tokens", 0)
        total += Usage(
            n_prompt_tokens=sent,
            n_completion_tokens=received,
            cost_usd=listed_price_usd(model, sent, received),
        )
    return total


def input_of(app: Any) -> Callable[[str], Any]:
    """Return what makes the input of a Runnable or a graph from a question.

    A graph's state, or a chain's input, names the question `question`, `query`, `user_input` or
    `input`, or has `messages`; any other Runnable gets the text.
    """
    channels = getattr(app, "channels", None)
    names = set(channels) if isinstance(channels, Mapping) else set(_properties(app))
    key = next((key for key in QUESTION_KEYS if key in names), None)
    if key:
        return lambda question: {key: question}
    if MESSAGES in names:
        return lambda question: {MESSAGES: [{"role": "user", "content": question}]}
    if names == {"root"}:  # a chain that starts with `assign`: a dictionary, of nobody knows what
        return lambda question: {"input": question, "question": question}
    return lambda question: question


def _properties(app: Any) -> Mapping[str, Any]:
    schema: Callable[[], dict[str, Any]] | None = getattr(app, "get_input_jsonschema", None)
    return schema().get("properties", {}) if schema else {}
