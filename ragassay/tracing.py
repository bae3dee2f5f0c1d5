"""OpenTelemetry spans of a run, following the GenAI conventions. Off by default.

invoke_workflow evaluate       one answer per trace, with its scores as evaluation events
├── ask rubric, write_query    an evaluator question or a search step
│   └── chat MODEL             a model call
└── ...

If tracing is off, nothing is imported or sent. If content is off, spans contain no prompts,
replies, ids, citation markers or error messages, because an error message may quote a reply.
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
from ragassay.model_names import find_provider, is_local
from ragassay.safe_text import hide_known_secrets, hide_secrets

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
"""Provider names in the GenAI conventions that differ from LiteLLM's names."""


@dataclass(frozen=True)
class _Tracing:
    """Data shared by all spans of a run. `run` is the session id that groups the traces."""

    tracer: Tracer
    has_content: bool
    run: str


_CURRENT: ContextVar[_Tracing | None] = ContextVar("ragassay_tracing", default=None)


@asynccontextmanager
async def trace_run(is_traced: bool, has_content: bool) -> AsyncIterator[None]:
    """Trace the run if `is_traced`, and send all spans on exit. May raise `ExtraError`."""
    if not is_traced:
        yield
        return
    provider, close = _open_provider()
    tracer = provider.get_tracer("ragassay", importlib.metadata.version("ragassay"))
    token = _CURRENT.set(_Tracing(tracer, has_content, uuid.uuid4().hex))
    try:
        yield
    finally:
        _CURRENT.reset(token)
        await asyncio.to_thread(close)


def _open_provider() -> tuple[TracerProvider, Callable[[], None]]:
    """Return a tracer provider and a function to close it.

    A provider configured by the host application is used if there is one, and is not closed.
    """
    need(*EXTRAS["tracing"])
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http import trace_exporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    configured = trace.get_tracer_provider()
    if not isinstance(configured, trace.ProxyTracerProvider):
        return configured, lambda: None
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are merged last, so they take precedence.
    resource = Resource({"service.name": "ragassay"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=Resource.create(resource.attributes))
    exporter = trace_exporter.OTLPSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    complaints = _Complaints()
    logger = logging.getLogger(trace_exporter.__name__)
    logger.addFilter(complaints)

    def close() -> None:
        provider.shutdown()
        logger.removeFilter(complaints)
        if complaints.are_final:
            endpoint = getattr(exporter, "_endpoint", "the collector")
            message = hide_secrets(f"{endpoint}: {complaints.first}")
            logger.warning("tracing: spans were lost: %s", message)

    return provider, close


class _Complaints(logging.Filter):
    first = ""
    are_final = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Store the first message, and suppress all messages."""
        self.first = self.first or record.getMessage()
        self.are_final |= record.levelno >= logging.ERROR
        return False


@contextmanager
def _open_span(
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
            message = hide_secrets(f"{type(error).__name__}: {error}")
            span.set_status(Status(StatusCode.ERROR, message if tracing.has_content else None))
            raise


@contextmanager
def open_answer_span(record: Record) -> Iterator[Callable[[Evaluation], None]]:
    """Open the root span of an answer, and yield a function that records its evaluation."""
    tracing = _CURRENT.get()
    if tracing is None:
        yield lambda result: None  # tracing is off
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
            "gen_ai.input.messages": _format_messages([("user", record.question)]),
            "gen_ai.output.messages": _format_messages([("assistant", record.answer)]),
        }
    with _open_span(tracing, "invoke_workflow evaluate", False, attributes) as span:
        yield functools.partial(_note_evaluation, span)


def _note_evaluation(span: Span, evaluation: Evaluation) -> None:
    span.set_attribute("ragassay.fingerprint", evaluation.fingerprint)
    span.set_attribute("ragassay.judge", evaluation.judge)
    span.set_attribute("ragassay.findings", [found.kind for found in evaluation.primary_findings])
    for key, score in evaluation.scores.items():
        span.add_event("gen_ai.evaluation.result", _build_result_event(key, score))


def _build_result_event(key: str, score: Score) -> dict[str, Any]:
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
def open_step_span(
    step: str, evaluator: str = "", item: object = None, role: str = ""
) -> Iterator[None]:
    """Open the span of one graph step. Each retry has its own span, and cached verdicts have none.

    The role of a judge is "second" in a cascade, or the member name in a panel.
    """
    tracing = _CURRENT.get()
    if tracing is None:
        yield
        return
    is_named = tracing.has_content or evaluator == "rubric"  # other items may be citations
    attributes = {
        "ragassay.evaluator": evaluator or None,
        "ragassay.item": item if is_named else None,
        "ragassay.role": role or None,
    }
    with _open_span(tracing, f"{step} {evaluator}".strip(), False, attributes):
        yield


@contextmanager
def call_span(
    model: str, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> Iterator[Callable[[Any], None]]:
    """Open the span of a model call, and yield a function that records LiteLLM's response."""
    tracing = _CURRENT.get()
    if tracing is None:
        yield lambda result: None  # tracing is off
        return
    provider = find_provider(model)
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
        pairs = [(message["role"], message["content"]) for message in messages]
        attributes["gen_ai.input.messages"] = _format_messages(pairs)
    with _open_span(tracing, f"chat {name}", not is_local(model), attributes) as span:
        yield lambda response: span.set_attributes(_describe_reply(response, tracing.has_content))


def _describe_reply(response: Any, has_content: bool) -> dict[str, Any]:
    choice, usage = next(iter(response.choices), None), getattr(response, "usage", None)
    found = {
        "gen_ai.response.id": response.id,
        "gen_ai.response.model": response.model,
        "gen_ai.response.finish_reasons": [choice.finish_reason] if choice else None,
        "gen_ai.usage.input_tokens": getattr(usage, "prompt_tokens", None),
        "gen_ai.usage.output_tokens": getattr(usage, "completion_tokens", None),
    }
    if has_content and choice:
        reply = hide_known_secrets(choice.message.content or "")
        found["gen_ai.output.messages"] = _format_messages(
            [("assistant", reply)], choice.finish_reason
        )
    return {name: value for name, value in found.items() if value is not None}


def _format_messages(pairs: list[tuple[str, Any]], finish_reason: str | None = None) -> str:
    extra = {"finish_reason": finish_reason} if finish_reason else {}
    found = [
        {"role": role, "parts": [{"type": "text", "content": text}], **extra}
        for role, text in pairs
    ]
    return json.dumps(found, ensure_ascii=False)
