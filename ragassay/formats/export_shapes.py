"""The shapes of what tracing and evaluation tools export, as data; `exports` reads them.

Each shape has an example, which a test reads. Paths are those of `field_paths`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragassay.formats.fields import nested_fields, value_at
from ragassay.formats.sniff import Format

ROOTS = (
    *("inputs", "outputs", "reference", "reference_outputs", "attributes", "context", "item"),
    *("sample", "datasource_item", "run", "example", "trace", "metadata", "vars", "response"),
)
"""Objects whose fields tables write as columns with dots: `inputs.question`."""


@dataclass(frozen=True)
class ExportShape:
    """The shape of one tool's records.

    Attributes:
        tool: The tool, as shown to people.
        marks: Paths that are all there in such a record, and in no other known one.
        question: Where the question is: a text, messages, or an object with a usual name in it;
            the first that has one.
        answer: Where the answer is, the same way.
        sources: Objects that have sources under a usual name, or lists of them.
        reference: Where a reference answer is.
        system: Where the system is named.
        id: Where the record's id is.
        rows: The list whose entries are the records, where one record has several.
        spans: How several rows of a trace become one; None where a row is a record.
        has_objects: Whether a record is only one where its question or answer is no plain text.
        refusal: Why such a record has no answer; empty where it has one.
        example: A record, and what is read of it.
    """

    tool: str
    marks: tuple[str, ...]
    question: tuple[str, ...]
    answer: tuple[str, ...]
    sources: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    id: tuple[str, ...] = ("id",)
    rows: str = ""
    spans: Spans | None = None
    has_objects: bool = False
    refusal: str = ""
    example: str = ""

    @property
    def name(self) -> str:
        """The name of the format."""
        return self.tool.lower().replace(" ", "-")


@dataclass(frozen=True)
class Spans:
    """Paths by which the rows of a trace are put together.

    Attributes:
        trace: Paths of the trace's id.
        parent: Paths of the id of the row above; the answer's row has none.
        kind: Paths of what a row did.
        documents: Paths of what a row that retrieved has found.
    """

    trace: tuple[str, ...]
    parent: tuple[str, ...]
    kind: tuple[str, ...]
    documents: tuple[str, ...]


_RETRIEVED = ("child_runs", "observations")

SHAPES: tuple[ExportShape, ...] = (
    ExportShape(
        tool="promptfoo",
        marks=("results.results.0.vars",),
        rows="results.results",
        question=("vars",),
        answer=("response.output", "output"),
        sources=("vars", "response.metadata", "metadata", "response"),
        reference=("vars", "testCase.vars"),
        system=("provider.label", "provider.id", "provider"),
        id=(),
        example='{"results": {"version": 3, "results": [{"vars": {"question": "Q?", "context": '
        '"T one two three."}, "response": {"output": "A."}, "provider": {"id": "p"}}]}}',
    ),
    ExportShape(
        tool="promptfoo",
        marks=("vars", "response"),
        question=("vars",),
        answer=("response.output", "response"),
        sources=("vars", "response.metadata", "metadata", "response"),
        reference=("vars",),
        system=("provider.label", "provider.id", "provider"),
        id=(),
        example='{"vars": {"query": "Q?", "contexts": ["T one two three."]}, '
        '"response": {"output": "A."}}',
    ),
    ExportShape(
        tool="OpenAI evals",
        marks=("datasource_item", "sample"),
        question=("datasource_item", "sample.input"),
        answer=(
            "sample.output_text",
            "datasource_item.sample.output_text",
            "sample.output",
            "datasource_item",
        ),
        sources=("datasource_item",),
        reference=("datasource_item",),
        system=("sample.model",),
        example='{"object": "eval.run.output_item", "id": "o1", "datasource_item": {"query": "Q?", '
        '"context": "T one two three."}, "sample": {"model": "m", "output": [{"role": "assistant", '
        '"content": "A."}]}, "results": [{"name": "g", "passed": true}]}',
    ),
    ExportShape(
        tool="OpenAI evals",
        marks=("item", "sample"),
        question=("item", "sample.input"),
        answer=("sample.output_text", "sample.output", "sample"),
        sources=("item",),
        reference=("item",),
        system=("sample.model",),
        example='{"item": {"question": "Q?", "documents": ["T one two three."]}, '
        '"sample": {"output_text": "A."}}',
    ),
    ExportShape(
        tool="OpenAI evals",
        marks=("event_id", "sample_id", "data.sampled"),
        question=("data.prompt",),
        answer=("data.sampled.0", "data.sampled"),
        id=("sample_id",),
        example='{"run_id": "r", "event_id": 0, "sample_id": "s.1", "type": "sampling", "data": '
        '{"prompt": [{"role": "user", "content": "Q?"}], "sampled": ["A."]}}',
    ),
    ExportShape(
        tool="LangSmith",
        marks=("run.inputs", "run.outputs", "example"),
        question=("run.inputs", "example.inputs"),
        answer=("run.outputs",),
        sources=("run.outputs", "run.inputs", "run.child_runs"),
        reference=("example.outputs",),
        id=("run.id", "example.id"),
        example='{"run": {"id": "r1", "inputs": {"question": "Q?"}, "outputs": {"output": "A.", '
        '"documents": [{"page_content": "T one two three."}]}}, '
        '"example": {"outputs": {"answer": "G."}}}',
    ),
    ExportShape(
        tool="LangSmith",
        marks=("inputs", "runs.0.outputs"),
        rows="runs",
        question=("inputs", "example_inputs"),
        answer=("outputs",),
        sources=("outputs", "inputs", "child_runs"),
        reference=("example_outputs",),
        example='{"id": "e1", "inputs": {"question": "Q?"}, "outputs": {"answer": "G."}, "runs": '
        '[{"id": "r1", "inputs": {"question": "Q?"}, "outputs": {"answer": "A.", '
        '"contexts": ["T one two three."]}}]}',
    ),
    ExportShape(
        tool="LangSmith",
        marks=("inputs", "outputs", "dataset_id"),
        question=("inputs",),
        answer=("outputs",),
        refusal="examples of a data set, whose outputs are reference answers: export the runs of "
        "an experiment, or read the references as answers with",
        example='{"dataset_id": "d", "inputs": {"question": "Q?"}, "outputs": {"answer": "G."}}',
    ),
    ExportShape(
        tool="LangSmith",
        marks=("inputs", "outputs"),
        question=("inputs",),
        answer=("outputs",),
        sources=("outputs", "inputs", "child_runs"),
        reference=("reference_outputs", "reference", "expectations", "targets"),
        id=("id", "run_id", "example_id"),
        example='{"id": "r1", "run_type": "chain", "inputs": {"question": "Q?"}, "outputs": '
        '{"answer": "A.", "context": [{"page_content": "T one two three."}]}, '
        '"reference_outputs": {"answer": "G."}}',
    ),
    ExportShape(
        tool="Phoenix",
        marks=("attributes.input.value",),
        question=("attributes.input.value",),
        answer=("attributes.output.value", "attributes.llm.output_messages"),
        sources=("retrieved", "attributes.retrieval.documents", "attributes.output.value"),
        id=("context.span_id", "span_id", "id"),
        spans=Spans(
            trace=("context.trace_id", "trace_id"),
            parent=("parent_id", "parent_span_id"),
            kind=("span_kind", "attributes.openinference.span.kind"),
            documents=("attributes.retrieval.documents", "attributes.reranker.output_documents"),
        ),
        example='{"context.span_id": "s1", "parent_id": null, "span_kind": "CHAIN", '
        '"attributes.input.value": "Q?", "attributes.output.value": "A.", '
        '"attributes.retrieval.documents": [{"document.content": "T one two three."}]}',
    ),
    ExportShape(
        tool="Langfuse",
        marks=("trace.input", "trace.output"),
        question=("trace.input",),
        answer=("trace.output",),
        sources=("retrieved", "trace.output", "trace.metadata", "observations"),
        id=("trace.id",),
        example='{"trace": {"id": "t1", "input": {"question": "Q?"}, "output": "A."}, '
        '"observations": [{"type": "RETRIEVER", "output": [{"content": "T one two three."}]}]}',
    ),
    ExportShape(
        tool="Langfuse",
        marks=("input", "traceId"),
        question=("input",),
        answer=("output",),
        sources=("retrieved", "output", "metadata", "input"),
        reference=("expectedOutput",),
        spans=Spans(
            trace=("traceId",),
            parent=("parentObservationId",),
            kind=("type",),
            documents=("output",),
        ),
        example='{"id": "o1", "traceId": "t1", "type": "SPAN", "input": {"question": "Q?"}, '
        '"output": {"answer": "A.", "contexts": ["T one two three."]}}',
    ),
    ExportShape(
        tool="Langfuse",
        marks=("input", "trace_id"),
        question=("input",),
        answer=("output",),
        sources=("retrieved", "output", "metadata", "input"),
        spans=Spans(
            trace=("trace_id",),
            parent=("parent_observation_id",),
            kind=("type",),
            documents=("output",),
        ),
        example='{"id": "o1", "trace_id": "t1", "type": "SPAN", "input": "Q?", "output": '
        '"{\\"answer\\": \\"A.\\", \\"contexts\\": [\\"T one two three.\\"]}"}',
    ),
    ExportShape(
        tool="Langfuse",
        marks=("input", "datasetId"),
        question=("input",),
        answer=("expectedOutput",),
        refusal="items of a data set, whose outputs are reference answers: export the traces of a "
        "run, or read the references as answers with",
        example='{"datasetId": "d", "input": {"question": "Q?"}, "expectedOutput": "G."}',
    ),
    ExportShape(
        tool="Langfuse",
        marks=("input", "output", "observations"),
        question=("input",),
        answer=("output",),
        sources=("observations", "output", "metadata", "input"),
        reference=("expectedOutput", "expected", "expected_output"),
        example='{"id": "t1", "name": "rag", "sessionId": "s", "input": {"question": "Q?"}, '
        '"output": {"answer": "A."}, "observations": [{"type": "SPAN", "name": "retrieve", '
        '"output": {"documents": ["T one two three."]}}]}',
    ),
    ExportShape(
        tool="Traces",
        marks=("input", "output"),
        question=("input",),
        answer=("output",),
        sources=("output", "metadata", "input"),
        reference=("expectedOutput", "expected", "expected_output"),
        has_objects=True,
        example='{"input": {"question": "Q?"}, "output": {"answer": "A.", "docs": '
        '["T one two three."]}, "expected": {"answer": "G."}}',
    ),
)


def shape_of(fields: Mapping[str, object]) -> ExportShape | None:
    """Return the shape of an exported record; None for any other record."""
    nested = nested_fields(fields, ROOTS)
    return next((shape for shape in SHAPES if _fits(shape, nested)), None)


def _fits(shape: ExportShape, fields: Mapping[str, object]) -> bool:
    """Return whether a record has a value at each of the marks."""
    found = [value_at(fields, path) for path in shape.marks]
    if any(value is None for value in found):
        return False
    return not shape.has_objects or any(_is_packed(value) for value in found)


def _is_packed(value: object) -> bool:
    """Return whether a value is an object or a list, or JSON text of one."""
    return not isinstance(value, str) or value.lstrip()[:2] in ('{"', "[{")


@dataclass(frozen=True)
class ShapeFormat(Format):
    """A format that is known by the shape of its records, not by their fields alone."""

    shape: ExportShape | None = None


def export_format(fields: Mapping[str, object]) -> ShapeFormat | None:
    """Return the format of an exported record; None for any other record."""
    shape = shape_of(fields)
    if shape is None:
        return None
    return ShapeFormat(shape.name, ((shape.name,),), frozenset(), "", shape.tool, shape=shape)
