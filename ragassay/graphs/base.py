"""The picture, the retries and the explained failures of every graph."""

from __future__ import annotations

import copy
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Graph
from langgraph.errors import NodeError
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, RetryPolicy

from ragassay.errors import (
    CorpusError,
    FatalModelError,
    InputError,
    ModelError,
    RagassayError,
    StorageError,
    TransientModelError,
    UnparsableReplyError,
)
from ragassay.records import Failure
from ragassay.safe_text import without_secrets

G = TypeVar("G", bound=CompiledStateGraph[Any, Any, Any, Any])


class DrawnGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that leaves its error handlers out of its picture.

    LangGraph draws each handler as a node without an edge, and opens no subgraph that has one.
    """

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """Return the picture; `xray` opens subgraphs."""
        return CompiledStateGraph.get_graph(self._without_handlers(), config, xray=xray)

    async def aget_graph(
        self, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Graph:
        """Return the picture; LangGraph's server asks for it here."""
        return await CompiledStateGraph.aget_graph(self._without_handlers(), config, xray=xray)

    def _without_handlers(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        handlers = set(self.node_error_handler_map.values())
        shown = copy.copy(self)
        shown.nodes = {name: node for name, node in self.nodes.items() if name not in handlers}
        return shown


def make_drawn(graph: G) -> G:
    """Make a compiled graph leave its error handlers out of its picture; return it."""
    # `StateGraph.compile` takes no class to compile to.
    cast(Any, graph).__class__ = DrawnGraph
    return graph


FIRST_PAUSE_S, MOST_PAUSE_S = 0.2, 20.0
"""Shortest and longest pause before a retry; up to a second is added at random."""

MOST_UNPARSABLE = 2
"""Most attempts of a call whose reply cannot be parsed."""


def retry_policies(max_attempts: int) -> list[RetryPolicy]:
    """Retry temporary errors with growing pauses, an unparsable reply once, and nothing else.

    Args:
        max_attempts: Most attempts of a call, including the first.
    """
    return [
        RetryPolicy(
            retry_on=TransientModelError,
            max_attempts=max_attempts,
            initial_interval=FIRST_PAUSE_S,
            backoff_factor=2.0,
            max_interval=MOST_PAUSE_S,
            jitter=True,
        ),
        RetryPolicy(
            retry_on=UnparsableReplyError,
            max_attempts=MOST_UNPARSABLE,
            initial_interval=0.0,
            jitter=False,
        ),
    ]


def pause_before_retry(error: Exception, attempt: int, max_attempts: int) -> float | None:
    """Return how long to wait before a call is tried again; None where it is not.

    A passing error is retried after growing pauses, an unparsable reply once and at once, anything
    else never.

    Args:
        error: What the last attempt ended with.
        attempt: Its number, from 1.
        max_attempts: Most attempts, including the first.
    """
    if isinstance(error, TransientModelError) and attempt < max_attempts:
        return min(MOST_PAUSE_S, FIRST_PAUSE_S * 2 ** (attempt - 1)) + random.random()
    if isinstance(error, UnparsableReplyError) and attempt < MOST_UNPARSABLE:
        return 0.0
    return None


Update = dict[str, Any]
"""A part of a graph's state."""


def add_call(
    builder: StateGraph[Any, Any, Any, Any],
    name: str,
    ask: Callable[[Any, Runtime[Any]], Awaitable[Update]],
    on_failure: Callable[[Any, Failure], Update],
    *,
    given: type,
    goto: str,
    max_attempts: int,
    event: Callable[[Update], dict[str, Any]] = lambda update: {"done": 1, "failed": 1},
) -> None:
    """Add a node that asks a model: retried, and recorded where it fails.

    An error that ends the run is raised from there, when the calls beside it have ended.

    Args:
        on_failure: Returns a replacement for the result of a failed call.
        given: What the node takes.
        goto: The node that comes after a failed one.
        max_attempts: Most attempts of a call that fails for a temporary reason.
        event: Returns what is streamed of a failure.
    """

    def record_failure(task: Any, error: NodeError, runtime: Runtime[Any]) -> Command[Any]:
        update = on_failure(task, failure_of(error.error))
        runtime.stream_writer(event(update))
        return Command(update=update, goto=goto)

    # LangGraph's types allow neither for handlers that take the error nor for a task of its own.
    node: Any = ask
    handler: Any = record_failure
    builder.add_node(
        name,
        node,
        input_schema=given,
        retry_policy=retry_policies(max_attempts),
        error_handler=handler,
    )


def failure_of(error: BaseException) -> Failure:
    """Return the failure to record for an error.

    Raises:
        FatalModelError, InputError, CorpusError, StorageError: The run or the record cannot go on.
    """
    if isinstance(error, FatalModelError | InputError | CorpusError | StorageError):
        raise error
    reason = error.reason if isinstance(error, ModelError) else "error"
    told = without_secrets(str(error))
    if not isinstance(error, RagassayError):
        told = f"{type(error).__name__}: {told}"
    return Failure(reason=reason, detail=told[:400])
