"""Follow a graph that writes: report its progress, and find out what failed calls have cost."""

from __future__ import annotations

from typing import Any

from ragassay.models.call_usage import unbooked_usage
from ragassay.models.gateway import metered
from ragassay.records import Usage
from ragassay.runs.events import Event, Listener


async def follow_graph(
    graph: Any, start: Any, tools: Any, listen: Listener
) -> tuple[dict[str, Any], Usage]:
    """Run a graph to its end.

    Args:
        graph: Its nodes tell `expected`, `done` and `usage`.
        start: Its input.
        tools: Its run-time context.
        listen: Receives an event for each.

    Returns:
        Its output, and the usage of calls that were paid for and failed, which no node has told.
    """
    values, booked = dict[str, Any](), Usage()
    modes = ["custom", "values"]
    with metered() as meter:
        async for mode, chunk in graph.astream(start, context=tools, stream_mode=modes):
            if mode == "values":
                values = {name: chunk[name] for name in graph.output_channels if name in chunk}
                continue
            usage = chunk.get("usage", Usage())
            booked += usage
            listen(Event(chunk.get("expected", 0), chunk.get("done", 0), usage=usage))
    failed = unbooked_usage(meter.usage, booked)
    if failed.n_calls:
        listen(Event(usage=failed))
    return values, failed
