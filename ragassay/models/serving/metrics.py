"""What the server counts, in Prometheus' text format at `/metrics`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ragassay.models.local.batcher import loads

if TYPE_CHECKING:
    from prometheus_client.core import Metric

SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0)
"""Upper ends of the latency histogram's bins."""


class ServerMetrics:
    """Counters of one server.

    Labels are bounded: a model's name is one that the server knows, or empty.
    """

    def __init__(self) -> None:
        from prometheus_client import (
            CollectorRegistry,
            Counter,
            Gauge,
            Histogram,
            ProcessCollector,
        )

        self._registry = CollectorRegistry()
        register: Any = {"registry": self._registry}
        self._requests = Counter(
            "ragassay_requests",
            "Requests ended, by model and status.",
            ["model", "status"],
            **register,
        )
        self._seconds = Histogram(
            "ragassay_request_seconds",
            "Seconds from a request's last byte to its reply's, chat completions alone.",
            ["model"],
            buckets=SECONDS,
            **register,
        )
        self._tokens = Counter(
            "ragassay_tokens",
            "Tokens: of prompts, of prompts that had been computed already, of replies.",
            ["model", "kind"],
            **register,
        )
        self._in_flight = Gauge("ragassay_requests_in_flight", "Requests under way.", **register)
        self._registry.register(_BatchCollector())
        ProcessCollector(**register)

    def begin(self) -> None:
        """A request was let in."""
        self._in_flight.inc()

    def end(self) -> None:
        """A request that was let in has ended."""
        self._in_flight.dec()

    def count(self, model: str, status: int, seconds: float | None = None) -> None:
        """Count a request.

        Args:
            model: Empty where none was asked.
            status: HTTP status; 499 where the client went away.
            seconds: How long a completion took.
        """
        self._requests.labels(model, str(status)).inc()
        if seconds is not None:
            self._seconds.labels(model).observe(seconds)

    def count_tokens(self, model: str, n_prompt: int, n_cached: int, n_written: int) -> None:
        """Count the tokens of a completion."""
        for kind, n in (("prompt", n_prompt), ("cached", n_cached), ("completion", n_written)):
            self._tokens.labels(model, kind).inc(n)

    def page(self) -> bytes:
        """All figures, as Prometheus reads them."""
        from prometheus_client import generate_latest

        return generate_latest(self._registry)


class _BatchCollector:
    """The load of the local models' batchers, summed."""

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        known = loads()
        yield GaugeMetricFamily(
            "ragassay_local_calls_waiting",
            "Calls of local models that wait or are being answered.",
            sum(load.n_waiting for load in known),
        )
        yield CounterMetricFamily(
            "ragassay_local_batches",
            "Batches that local models began.",
            sum(load.n_batches for load in known),
        )
        yield CounterMetricFamily(
            "ragassay_local_batched_calls",
            "Calls in these batches; divided by their number, the mean size of a batch.",
            sum(load.n_batched for load in known),
        )
        yield GaugeMetricFamily(
            "ragassay_local_largest_batch",
            "Calls in the largest batch so far.",
            max((load.n_largest for load in known), default=0),
        )


def watch_tokens(metrics: ServerMetrics, models: Sequence[str]) -> None:
    """Have LiteLLM report each completion's tokens.

    Args:
        metrics: What counts them.
        models: The names that clients ask by.
    """
    import litellm
    from litellm.integrations.custom_logger import CustomLogger

    class TokenWatch(CustomLogger):
        """Hears of each call that went well."""

        async def async_log_success_event(
            self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
        ) -> None:
            usage = getattr(response_obj, "usage", None)
            group = (kwargs.get("standard_logging_object") or {}).get("model_group", "")
            if usage is None or group not in models:
                return
            details = getattr(usage, "prompt_tokens_details", None)
            n_cached = getattr(details, "cached_tokens", None) or 0
            metrics.count_tokens(group, usage.prompt_tokens, n_cached, usage.completion_tokens)

    litellm.callbacks.append(TokenWatch())
