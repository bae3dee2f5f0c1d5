"""Contents of traces, and content that traces must not contain."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from collector import Collector, Seen, collecting
from conftest import ROOT
from fakes import WordEmbedder
from handbook import blocks
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import ragassay
from ragassay.errors import ExtraError
from ragassay.evaluators.build_run import build_run
from ragassay.records import Document, Record
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import RunResult, build_job, run_job
from ragassay.runs.folder import RunFolder
from ragassay.settings import load_settings
from ragassay.testing import Fault, ScriptedModel

pytestmark = pytest.mark.integration

SECRETS = ("patient-4711", "headache", "lisinopril", "drowsiness", "ward-seven", "[PMID 99]")
"""Words from the ids, question, answer, source, system and a citation."""

RECORDS = [
    Record(
        id=f"patient-4711-{n}",
        question="What helps against a headache?",
        answer=f"Take lisinopril {n} times [1]. It never causes drowsiness [PMID 99].",
        sources=(Document(id="1", text="Lisinopril lowers blood pressure; drowsiness is rare."),),
        system="ward-seven",
    )
    for n in (1, 2, 3)
]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        yield found


async def evaluated(
    model: ScriptedModel, *, n: int = 1, folder: RunFolder | None = None, **options: Any
) -> RunResult:
    """Evaluate the first records with tracing."""
    given = {"tracing": True, "evidence_rounds": 1} | options
    settings = load_settings(model=model.model_name, api_base=model.base_url, **given)
    job = build_job(RECORDS[:n], Corpus([Document(id="9", text="Headache has many causes.")]))
    run = build_run(settings, job.corpus).with_models(embedder=WordEmbedder())
    return await run_job(job, run, folder)


async def scripted(reply: Any = None, faults: Sequence[Fault] = (), **options: Any) -> RunResult:
    """Evaluate with a scripted model of its own."""
    with ScriptedModel(reply, faults=faults) as model:
        return await evaluated(model, **options)


def ancestors(collector: Collector, span: Seen) -> list[str]:
    names = []
    while span.parent:
        span = collector.parent(span)
        names.append(span.name)
    return names


async def test_each_answer_is_a_trace_of_questions_and_calls(collector):
    with ScriptedModel() as model:
        result = await evaluated(model, n=3)
    roots = [span for span in collector.spans if not span.parent]
    assert [root.name for root in roots] == ["invoke_workflow evaluate"] * 3
    assert len({span.trace for span in collector.spans}) == 3
    calls = collector.named("chat scripted")
    assert len(calls) == model.n_requests > 30
    above = {tuple(ancestors(collector, call)[1:]) for call in calls}
    assert above == {("invoke_workflow evaluate",)}
    steps = Counter(ancestors(collector, call)[0] for call in calls)
    assert steps["ask rubric"] == 27 and steps["write_query"] > 0
    by_trace = Counter(call.trace for call in calls)
    fingerprints = {root.attributes["ragassay.fingerprint"]: root.trace for root in roots}
    for one in result.evaluations:
        assert by_trace[fingerprints[one.fingerprint]] == one.usage.n_calls


async def test_spans_have_the_names_of_the_conventions(collector):
    result = await scripted()
    (root,) = collector.named("invoke_workflow")
    call, (asked, *_) = collector.named("chat scripted")[0], collector.named("ask rubric")
    assert root.attributes["gen_ai.operation.name"] == "invoke_workflow"
    assert root.resource["service.name"] == "ragassay"
    assert asked.attributes["ragassay.evaluator"] == "rubric"
    assert asked.attributes["ragassay.item"] in {j.rubric for j in result.evaluations[0].judgments}
    assert (root.kind, asked.kind, call.kind) == (1, 1, 3), "internal, internal, client"
    wanted = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 256,
        "gen_ai.output.type": "json",
        "gen_ai.response.finish_reasons": ["stop"],
    }
    assert wanted.items() <= call.attributes.items()
    assert {"gen_ai.response.id", "gen_ai.response.model"} <= call.attributes.keys()
    for kind, n in (("input", "n_prompt_tokens"), ("output", "n_completion_tokens")):
        spent = [c.attributes[f"gen_ai.usage.{kind}_tokens"] for c in collector.named("chat")]
        assert sum(spent) == getattr(result.evaluations[0].usage, n)


async def test_scores_are_evaluation_events(collector):
    result = await scripted()
    (root,) = collector.named("invoke_workflow")
    assert {name for name, _ in root.events} == {"gen_ai.evaluation.result"}
    told = {found["gen_ai.evaluation.name"]: found for _, found in root.events}
    scores = result.evaluations[0].scores
    assert told.keys() == scores.keys()
    for key, score in scores.items():
        assert told[key].get("gen_ai.evaluation.score.value") == score.value
        assert told[key].get("error.type") == ("unscored" if score.value is None else None)
        assert told[key]["ragassay.score.n_unscored"] == score.n_unscored


async def test_no_word_of_an_answer_leaves_unless_asked(collector):
    def quoting(messages: Any, schema: Any) -> str:
        return "no JSON, but lisinopril and drowsiness of patient-4711"

    for reply in (None, quoting):
        await scripted(reply, n=3)
    assert any(span.is_error for span in collector.spans)
    assert not any(collector.holds(word) for word in SECRETS)
    assert not collector.holds("127.0.0.1"), "nor the judge's address"


async def test_content_is_sent_when_asked(collector):
    with ScriptedModel() as model:
        await evaluated(model, tracing_content=True)
    assert all(collector.holds(word) for word in SECRETS)
    (root,) = collector.named("invoke_workflow")
    assert root.attributes["ragassay.record.id"] == RECORDS[0].id
    asked = {"role": "user", "parts": [{"type": "text", "content": RECORDS[0].question}]}
    assert json.loads(root.attributes["gen_ai.input.messages"]) == [asked]
    said = [
        [(message["role"], message["content"]) for message in request.body["messages"]]
        for request in model.requests
    ]
    for call in collector.named("chat"):
        prompt = json.loads(call.attributes["gen_ai.input.messages"])
        assert [(m["role"], m["parts"][0]["content"]) for m in prompt] in said
        (reply,) = json.loads(call.attributes["gen_ai.output.messages"])
        assert reply["role"] == "assistant" and reply["finish_reason"] == "stop"


async def test_errors_and_retries_are_spans_with_a_status(collector):
    given = {"faults": [Fault("server_error", attempts=1)]}
    given |= {"only": ("rubrics",), "rubrics": ("cohesion",)}
    await scripted(**given)
    failed, passed = collector.named("ask rubric")
    assert (failed.is_error, passed.is_error) == (True, False)
    assert failed.attributes["error.type"] == "TransientModelError" and failed.told == ""
    call, again = collector.named("chat")
    assert call.is_error and "gen_ai.usage.input_tokens" not in call.attributes
    assert not again.is_error and collector.parent(again) == passed
    await scripted(**given, tracing_content=True)
    assert any(span.told.startswith("TransientModelError: ") for span in collector.spans)


async def test_a_verdict_from_the_cache_is_no_span(collector, tmp_path):
    folder = RunFolder(tmp_path / "run")
    with ScriptedModel() as model:
        await evaluated(model, folder=folder)
        n_spans = len(collector.spans)
        folder.evaluations_file.unlink()
        await evaluated(model, folder=folder)
    new = collector.spans[n_spans:]
    assert not [span for span in new if span.name.startswith(("ask", "chat"))]
    assert len([span for span in new if not span.parent]) == 1


async def test_the_spans_join_an_application_that_traces(collector, monkeypatch):
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    with provider.get_tracer("app").start_as_current_span("request"):
        await scripted(only=("nuggets",))
    found = {span.name: span for span in kept.get_finished_spans()}
    outer, root = found["request"], found["invoke_workflow evaluate"]
    assert root.parent and outer.context and root.parent.span_id == outer.context.span_id
    assert "chat scripted" in found and collector.bodies == []


async def test_nothing_is_sent_unless_wanted(collector):
    await scripted(tracing=False, tracing_content=True)
    assert collector.bodies == []


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setattr("ragassay.extras.is_installed", lambda module: False)
    with pytest.raises(ExtraError, match=r'pip install "ragassay\[tracing\]"'):
        ragassay.evaluate(question="Why?", answer="So.", tracing=True, only="grades")


async def test_lost_spans_are_one_line_and_no_error(monkeypatch, caplog):
    with collecting() as closed:
        pass
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", closed.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with caplog.at_level(logging.WARNING):
        assert (await scripted(only=("nuggets",))).evaluations
    (line,) = (one.getMessage() for one in caplog.records if one.name.startswith("opentelemetry"))
    assert line.startswith("tracing: spans were lost") and str(closed.port) in line


DESTINATIONS = {
    "langfuse": ("/api/public/otel/v1/traces", {"authorization": "Basic cGstbGY6c2stbGY="}),
    "phoenix": ("/v1/traces", {"authorization": "Bearer KEY", "x-project-name": "ragassay"}),
    "mlflow": ("/v1/traces", {"x-mlflow-experiment-id": "1"}),
    "langsmith": ("/otel/v1/traces", {"x-api-key": "KEY", "langsmith-project": "ragassay"}),
}


@pytest.mark.parametrize("name", DESTINATIONS)
async def test_the_guide_addresses_each_backend(name, collector, monkeypatch):
    (page,) = ROOT.glob("docs/tracing.md")
    found = [one.text for one in blocks(page, "sh") if f"# {name}" in one.text.lower()]
    lines = [line for line in "".join(found).splitlines() if line.startswith("export ")]
    given = dict(line.removeprefix("export ").split("=", 1) for line in lines)
    assert given, "the guide says what to set"
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT")
    for variable, text in given.items():
        text = text.strip('"')
        if text.startswith("http"):
            text = f"{collector.url}/{'/'.join(text.split('/')[3:])}"
        monkeypatch.setenv(variable, text)
    await scripted(only=("nuggets",))
    path, headers = DESTINATIONS[name]
    assert set(collector.paths) == {path}
    assert headers.items() <= collector.headers[0].items()
    assert collector.headers[0]["content-type"] == "application/x-protobuf"
    assert collector.named("chat scripted")
