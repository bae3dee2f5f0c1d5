"""Follow a graph that writes: report its progress, and find out what failed calls have cost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ragassay.models.call_usage import unbooked_usage
from ragassay.models.gateway import metered
from ragassay.records import Usage
from ragassay.runs.events import Event, Listener


async def follow_graph(stream: AsyncIterator[Any], listen: Listener) -> Usage:
    """Run a graph to its end.

    Args:
        stream: What its nodes tell: `expected`, `done`, `usage`; as of `stream_mode="custom"`.
        listen: Receives an event for each.

    Returns:
        The usage of calls that were paid for and failed, which no node has told.
    """
    booked = Usage()
    with metered() as meter:
        async for chunk in stream:
            told: dict[str, Any] = dict(chunk)
            usage = told.get("usage", Usage())
            booked += usage
            listen(Event(told.get("expected", 0), told.get("done", 0), usage=usage))
    failed = unbooked_usage(meter.usage, booked)
    if failed.n_calls:
        listen(Event(usage=failed))
    return failed
