"""The server's counters, in Prometheus' text format at `/metrics`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ragassay.models.local.batcher import loads

SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0)
"""Upper ends of the latency histogram's bins."""


class ServerMetrics:
    """Counters of one server.

    The set of labels is limited: a model's name is one that the server knows, or empty.
    """

    def __init__(self) -> None:
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
        self.in_flight = Gauge("ragassay_requests_in_flight", "Requests under way.", **register)
        self._registry.register(_LocalLoad())
        ProcessCollector(**register)

    def count(self, model: str, status: int, seconds: float | None = None) -> None:
        """Count a request.

        Args:
            model: The model's name; empty if none was asked.
            status: HTTP status; 499 if the client disconnected.
            seconds: Duration of a completion.
        """
        self._requests.labels(model, str(status)).inc()
        if seconds is not None:
            self._seconds.labels(model).observe(seconds)

    def count_tokens(self, model: str, n_prompt: int, n_cached: int, n_written: int) -> None:
        """Count the tokens of a completion."""
        for kind, n in (("prompt", n_prompt), ("cached", n_cached), ("completion", n_written)):
            self._tokens.labels(model, kind).inc(n)

    def page(self) -> bytes:
        """Return all figures in Prometheus' format."""
        return generate_latest(self._registry)


class _LocalLoad:
    """The load of the local models' batchers, summed."""

    def collect(self) -> Iterator[Metric]:
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
