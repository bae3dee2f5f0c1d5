"""OpenTelemetry spans of a run, named by its GenAI conventions; off by default.

invoke_workflow evaluate       an answer: one trace, with its scores as evaluation events
├── ask rubric, write_query    a question of an evaluator, a step of a search
│   └── chat MODEL             a model call
└── ...

Without tracing nothing is imported and nothing is sent. Without content no span holds what was
asked or answered, an id, a citation's marker, or the words of an error, which may quote a reply.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.metadata
import json
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.extras import EXTRAS, need
from ragassay.model_names import is_local, provider_of
from ragassay.safe_text import without_known, without_secrets

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

    from ragassay.records import Evaluation, Record, Score

PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""The conventions' names of LiteLLM's providers, where they differ."""


@dataclass(frozen=True)
class _Tracing:
    """What the spans of a run share; `run` groups its traces."""

    tracer: Tracer
    has_content: bool
    run: str


_CURRENT: ContextVar[_Tracing | None] = ContextVar("ragassay_tracing", default=None)


@asynccontextmanager
async def traced_run(is_traced: bool, has_content: bool) -> AsyncIterator[None]:
    """Trace the enclosed run, if that is wanted; at its end all spans have been sent.

    Raises:
        ExtraError: OpenTelemetry is not installed.
    """
    if not is_traced:
        yield
        return
    provider, close = _opened_provider()
    tracer = provider.get_tracer("ragassay", importlib.metadata.version("ragassay"))
    token = _CURRENT.set(_Tracing(tracer, has_content, uuid.uuid4().hex))
    try:
        yield
    finally:
        _CURRENT.reset(token)
        await asyncio.to_thread(close)


def _opened_provider() -> tuple[TracerProvider, Callable[[], None]]:
    """Return the application's tracer provider, else one of the run's own, and what closes it."""
    need(*EXTRAS["tracing"])
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http import trace_exporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    configured = trace.get_tracer_provider()
    if not isinstance(configured, trace.ProxyTracerProvider):
        return configured, lambda: None
    # The user's OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last, and so win.
    named = Resource({"service.name": "ragassay"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=Resource.create(named.attributes))
    exporter = trace_exporter.OTLPSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    complaints = _Complaints()
    logger = logging.getLogger(trace_exporter.__name__)
    logger.addFilter(complaints)

    def close() -> None:
        provider.shutdown()
        logger.removeFilter(complaints)
        if complaints.are_final:
            where = getattr(exporter, "_endpoint", "the collector")
            why = without_secrets(f"{where}: {complaints.first}")
            logger.warning("tracing: spans were lost: %s", why)

    return provider, close


class _Complaints(logging.Filter):
    """Holds back what an exporter says of each try, to say once why spans were lost.

    Attributes:
        first: What was wrong at the first try.
        are_final: Whether it gave up.
    """

    first = ""
    are_final = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep a message, and show none."""
        self.first = self.first or record.getMessage()
        self.are_final |= record.levelno >= logging.ERROR
        return False


@contextmanager
def _span(
    tracing: _Tracing, name: str, is_call: bool, attributes: Mapping[str, Any]
) -> Iterator[Span]:
    from opentelemetry.trace import SpanKind, Status, StatusCode

    with tracing.tracer.start_as_current_span(
        name,
        kind=SpanKind.CLIENT if is_call else SpanKind.INTERNAL,
        attributes={key: value for key, value in attributes.items() if value is not None},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            told = without_secrets(f"{type(error).__name__}: {error}")
            span.set_status(Status(StatusCode.ERROR, told if tracing.has_content else None))
            raise


@contextmanager
def answer_span(record: Record) -> Iterator[Callable[[Evaluation], None]]:
    """Open the root of an answer's trace, and yield what takes its evaluation."""
    tracing = _CURRENT.get()
    if tracing is None:
        yield _ignore_result
        return
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.agent.name": "evaluate",
        "session.id": tracing.run,
    }
    if tracing.has_content:
        attributes |= {
            "ragassay.record.id": record.id,
            "ragassay.system": record.system,
            "ragassay.topic": record.topic,
            "gen_ai.input.messages": _messages([("user", record.question)]),
            "gen_ai.output.messages": _messages([("assistant", record.answer)]),
        }
    with _span(tracing, "invoke_workflow evaluate", False, attributes) as span:
        yield functools.partial(_note_evaluation, span)


def _ignore_result(result: object) -> None:
    """Take a result that nobody traces."""


def _note_evaluation(span: Span, evaluation: Evaluation) -> None:
    span.set_attribute("ragassay.fingerprint", evaluation.fingerprint)
    span.set_attribute("ragassay.judge", evaluation.judge)
    span.set_attribute("ragassay.findings", [found.kind for found in evaluation.primary_findings])
    for key, score in evaluation.scores.items():
        span.add_event("gen_ai.evaluation.result", _result(key, score))


def _result(key: str, score: Score) -> dict[str, Any]:
    """Return a score as the attributes of an evaluation event; if nothing was scored, an error."""
    found = {
        "gen_ai.evaluation.name": key,
        "gen_ai.evaluation.score.value": score.value,
        "ragassay.score.low": score.low,
        "ragassay.score.high": score.high,
        "ragassay.score.worst": score.worst,
        "ragassay.score.best": score.best,
        "ragassay.score.n": score.n,
        "ragassay.score.n_unscored": score.n_unscored,
        "error.type": "unscored" if score.decided is None else None,
    }
    return {name: value for name, value in found.items() if value is not None}


@contextmanager
def step_span(
    step: str, evaluator: str = "", item: object = None, role: str = ""
) -> Iterator[None]:
    """Open the span of a step of a graph.

    A retry is a span of its own; a verdict from the cache has none.

    Args:
        item: What it asks about.
        role: The judge's role: "second" in a cascade, a member's name in a panel.
    """
    tracing = _CURRENT.get()
    if tracing is None:
        yield
        return
    is_named = tracing.has_content or evaluator == "rubric"  # else the item may be a citation
    attributes = {
        "ragassay.evaluator": evaluator or None,
        "ragassay.item": item if is_named else None,
        "ragassay.role": role or None,
    }
    with _span(tracing, f"{step} {evaluator}".strip(), False, attributes):
        yield


@contextmanager
def call_span(
    model: str, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> Iterator[Callable[[Any], None]]:
    """Open the span of a model call, and yield what takes LiteLLM's response."""
    tracing = _CURRENT.get()
    if tracing is None:
        yield _ignore_result
        return
    provider = provider_of(model)
    name = model.removeprefix(f"{provider}/")
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(provider, provider) or "openai",
        "gen_ai.request.model": name,
        "gen_ai.request.temperature": options.get("temperature"),
        "gen_ai.request.max_tokens": options.get("max_tokens"),
        "gen_ai.output.type": "json" if "response_format" in options else "text",
    }
    if tracing.has_content:
        told = [(message["role"], message["content"]) for message in messages]
        attributes["gen_ai.input.messages"] = _messages(told)
    with _span(tracing, f"chat {name}", not is_local(model), attributes) as span:
        yield lambda response: span.set_attributes(_reply(response, tracing.has_content))


def _reply(response: Any, has_content: bool) -> dict[str, Any]:
    """Return what a response says of itself, and of what it says."""
    choice, usage = next(iter(response.choices), None), getattr(response, "usage", None)
    found = {
        "gen_ai.response.id": response.id,
        "gen_ai.response.model": response.model,
        "gen_ai.response.finish_reasons": [choice.finish_reason] if choice else None,
        "gen_ai.usage.input_tokens": getattr(usage, "prompt_tokens", None),
        "gen_ai.usage.output_tokens": getattr(usage, "completion_tokens", None),
    }
    if has_content and choice:
        reply = without_known(choice.message.content or "")
        found["gen_ai.output.messages"] = _messages([("assistant", reply)], choice.finish_reason)
    return {name: value for name, value in found.items() if value is not None}


def _messages(told: list[tuple[str, Any]], finish_reason: str | None = None) -> str:
    """Return messages in the conventions' form, as JSON."""
    ended = {"finish_reason": finish_reason} if finish_reason else {}
    found = [
        {"role": role, "parts": [{"type": "text", "content": text}], **ended} for role, text in told
    ]
    return json.dumps(found, ensure_ascii=False)
