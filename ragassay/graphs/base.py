"""Functions that all graphs use to draw themselves, retry calls and handle failures."""

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
from ragassay.safe_text import hide_secrets

G = TypeVar("G", bound=CompiledStateGraph[Any, Any, Any, Any])


class DrawnGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that hides its error handlers when drawn.

    LangGraph draws each handler as a node without edges, and does not expand subgraphs that have
    handlers.
    """

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """Return the graph without error handlers, for drawing. `xray` expands subgraphs."""
        return CompiledStateGraph.get_graph(self._hide_handlers(), config, xray=xray)

    async def aget_graph(
        self, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Graph:
        """Return the graph without error handlers.

        LangGraph's server calls this method to draw the graph.
        """
        return await CompiledStateGraph.aget_graph(self._hide_handlers(), config, xray=xray)

    def _hide_handlers(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        handlers = set(self.node_error_handler_map.values())
        shown = copy.copy(self)
        shown.nodes = {name: node for name, node in self.nodes.items() if name not in handlers}
        return shown


def make_drawn(graph: G) -> G:
    """Return a compiled graph that hides its error handlers when drawn."""
    # `StateGraph.compile` does not accept a class for the compiled graph.
    cast(Any, graph).__class__ = DrawnGraph
    return graph


FIRST_PAUSE_S, MOST_PAUSE_S = 0.2, 20.0
"""Minimum and maximum pause before a retry. Up to one second of jitter is added."""

MOST_UNPARSABLE = 2
"""Maximum number of attempts for a call that returns unparsable replies."""


def retry_policies(max_attempts: int) -> list[RetryPolicy]:
    """Return policies that retry transient errors with backoff and unparsable replies once.

    Args:
        max_attempts: Maximum number of attempts, including the first.
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
    """Return the pause in seconds before a retry, or None if the call is not retried.

    Transient errors are retried with exponential backoff. Unparsable replies are retried once,
    without a pause.

    Args:
        error: Error raised by the last attempt.
        attempt: Number of the last attempt, from 1.
        max_attempts: Maximum number of attempts, including the first.
    """
    if isinstance(error, TransientModelError) and attempt < max_attempts:
        return min(MOST_PAUSE_S, FIRST_PAUSE_S * 2 ** (attempt - 1)) + random.random()
    if isinstance(error, UnparsableReplyError) and attempt < MOST_UNPARSABLE:
        return 0.0
    return None


Update = dict[str, Any]
"""Update of some fields of a graph's state."""


def add_call(
    builder: StateGraph[Any, Any, Any, Any],
    name: str,
    ask: Callable[[Any, Runtime[Any]], Awaitable[Update]],
    on_failure: Callable[[Any, Failure], Update],
    *,
    input_type: type,
    goto: str,
    max_attempts: int,
    event: Callable[[Update], dict[str, Any]] = lambda update: {"done": 1, "failed": 1},
) -> None:
    """Add a node that calls a model, with retries and failure handling.

    The failure handler raises fatal errors after all parallel calls have finished.

    Args:
        on_failure: Function that returns the state update for a failed call.
        input_type: Type of the node's input.
        goto: Next node after a failed call.
        max_attempts: Maximum number of attempts for a call that fails with transient errors.
        event: Function that returns the event to stream for a failure.
    """

    def record_failure(task: Any, error: NodeError, runtime: Runtime[Any]) -> Command[Any]:
        update = on_failure(task, build_failure(error.error))
        runtime.stream_writer(event(update))
        return Command(update=update, goto=goto)

    # LangGraph's types support neither handlers with an error argument nor custom task types.
    node: Any = ask
    handler: Any = record_failure
    builder.add_node(
        name,
        node,
        input_schema=input_type,
        retry_policy=retry_policies(max_attempts),
        error_handler=handler,
    )


def build_failure(error: BaseException) -> Failure:
    """Return the failure to record for an error.

    Raises:
        FatalModelError, InputError, CorpusError, StorageError: The error must not be recorded as a
            failed call.
    """
    if isinstance(error, FatalModelError | InputError | CorpusError | StorageError):
        raise error
    reason = error.reason if isinstance(error, ModelError) else "error"
    detail = hide_secrets(str(error))
    if not isinstance(error, RagassayError):
        detail = f"{type(error).__name__}: {detail}"
    return Failure(reason=reason, detail=detail[:400])
