"""Read exports of LangSmith, Langfuse, Phoenix, promptfoo and OpenAI evals.

The record structures are defined in `export_shapes.yaml`. If the question or answer of a record is
not found, the error message suggests a `--map` option that specifies its location.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from ragassay.formats.conversations import read_history
from ragassay.formats.fields import (
    ANSWER_NAMES,
    QUESTION_NAMES,
    REFERENCE_NAMES,
    find_name,
    find_value,
    nest_fields,
)
from ragassay.formats.items import Item
from ragassay.formats.named_fields import FieldTally, find_sources, find_unread
from ragassay.formats.problems import Problem, is_list, is_object
from ragassay.formats.ragassay_jsonl import read_sources
from ragassay.formats.rows import as_text
from ragassay.formats.sniff import Format
from ragassay.formats.source_values import build_source_rows, count_texts
from ragassay.formats.values import parse_text
from ragassay.records import Record, Rejection, Turn

ROOTS = (
    *("inputs", "outputs", "reference", "reference_outputs", "attributes", "context", "item"),
    *("sample", "datasource_item", "run", "example", "trace", "metadata", "vars", "response"),
)
"""Objects that tables may store as columns with dotted names, such as `inputs.question`."""


class Spans(BaseModel):
    """Paths of the fields by which the rows of a trace are merged.

    Attributes:
        trace: Paths of the trace id.
        parent: Paths of the parent span's id, which is missing in the root span.
        kind: Paths of the kind of a span, such as "retriever".
        documents: Paths of the documents found by a retriever span.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    trace: tuple[str, ...]
    parent: tuple[str, ...]
    kind: tuple[str, ...]
    documents: tuple[str, ...]


class ExportShape(BaseModel):
    """Structure of the records that a tool exports. Paths use the syntax of `fields.find_value`.

    Attributes:
        marks: Paths that all have a value in records of this shape.
        question: Paths of the question. The value may be text, messages, or an object with a field
            that has a common name. The first path with a question is used.
        sources: Paths of objects with a sources field, or of lists of sources.
        rows: Path of the list of records if an exported object contains several records.
        spans: Paths used to merge the rows of a trace, or None if each row is a record.
        has_objects: Whether at least one value at the `marks` paths must be an object or a list.
        refusal: Reason why records of this shape contain no answers, or "" if they contain answers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

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
    example: dict[str, object]

    @property
    def name(self) -> str:
        """Name of the tool in lower case, with hyphens instead of spaces."""
        return self.tool.lower().replace(" ", "-")

    def fits(self, fields: Mapping[str, object]) -> bool:
        """Return whether a record has a value at every path in `marks`."""
        values = [find_value(fields, path) for path in self.marks]
        if any(value is None for value in values):
            return False
        return not self.has_objects or any(map(_is_packed, values))


@dataclass(frozen=True)
class ShapeFormat(Format):
    """A format that is identified by the structure of its records."""

    shape: ExportShape | None = None


@cache
def export_shapes() -> tuple[ExportShape, ...]:
    """Return the shapes in `export_shapes.yaml`, most specific first."""
    text = files("ragassay.formats").joinpath("export_shapes.yaml").read_text("utf-8")
    return TypeAdapter(tuple[ExportShape, ...]).validate_python(yaml.safe_load(text))


def detect_shape(fields: Mapping[str, object]) -> ExportShape | None:
    """Return the shape of an exported record, or None if it matches no shape."""
    nested = nest_fields(fields, ROOTS)
    return next((shape for shape in export_shapes() if shape.fits(nested)), None)


def _is_packed(value: object) -> bool:
    return not isinstance(value, str) or value.lstrip()[:2] in ('{"', "[{")


def export_format(fields: Mapping[str, object]) -> ShapeFormat | None:
    """Return the format of an exported record, or None if it matches no shape."""
    if (shape := detect_shape(fields)) is None:
        return None
    return ShapeFormat(shape.name, ((shape.name,),), frozenset(), "", shape.tool, shape=shape)


_INNER = ("input", "inputs", "output", "outputs", "kwargs", "args", "messages", "data", "value")
"""Names of objects that may contain the inputs or outputs of a call."""

MESSAGE_ROLES = {"question": ("user", "human"), "answer": ("assistant", "ai", "model")}
_MAX_LEVELS = 3
_MOST_NAMED = 8
_NO_ANSWERS = ("spec", "final_report", "event_id")
"""Fields that occur only in log lines without an answer."""

_OWN = ("id", "question", "answer", "input", "output")
_RETRIEVERS = ("retriev", "search", "rerank")


def read_export(item: Item, tally: FieldTally) -> list[Record | Problem]:
    """Convert an exported object to one or more records."""
    if (shape := detect_shape(item.fields)) is None:
        if any(mark in item.fields for mark in _NO_ANSWERS):
            return []
        text, expected = (
            "the record has no known export format",
            "a record with the structure of the first line",
        )
        return [Problem("", text, expected)]
    if not shape.rows:
        return [_build_record(shape, nest_fields(item.fields, ROOTS), item.place.label, tally)]
    rows = find_value(item.fields, shape.rows)
    records: list[Record | Problem] = []
    for n, row in enumerate(rows if is_list(rows) else [], start=1):
        if is_object(row):
            around = {"example_inputs": item.fields.get("inputs")}
            around |= {"example_outputs": item.fields.get("outputs")}
            records.append(_build_record(shape, around | row, f"{item.place.label}-{n}", tally))
    return records


def _build_record(
    shape: ExportShape, fields: Mapping[str, object], label: str, tally: FieldTally
) -> Record | Problem:
    question = _find_first_text(fields, shape.question, QUESTION_NAMES, "question")
    answer = _find_first_text(fields, shape.answer, ANSWER_NAMES, "answer")
    if shape.refusal or not question or not answer:
        return _describe_refusal(shape, fields, question, answer)
    sources_path, rows = _choose_sources(fields, shape)
    sources = read_sources(rows)
    documents = sources if isinstance(sources, tuple) else ()
    record_id = next((str(v) for p in shape.id if (v := find_value(fields, p)) is not None), label)
    system = next((v for p in shape.system if isinstance(v := find_value(fields, p), str)), None)
    is_separate = not set(shape.reference) & set(shape.question)
    names = (*REFERENCE_NAMES, *ANSWER_NAMES)
    reference = _find_first_text(fields, shape.reference, names, "answer", lone=is_separate)
    if reference is not None and reference[1] == answer[1]:
        reference = None
    paths = {"question": question[1], "answer": answer[1]}
    paths |= {"sources": sources_path} if documents else {}
    paths |= {"reference": reference[1]} if reference else {}
    tally.add(paths)
    used_fields = {path.partition(".")[0] for path in paths.values()}
    rest = {key: value for key, value in fields.items() if key not in used_fields}
    return Record(
        id=record_id or label,
        question=question[0],
        answer=answer[0],
        sources=documents,
        reference=reference[0] if reference else None,
        system=str(system) if system else None,
        turns=_find_earlier_turns(fields, question[1], question[0]),
        metadata=_collect_metadata(rest),
        unread=() if documents else find_unread(fields, has_sources=False),
    )


def _find_earlier_turns(fields: Mapping[str, object], path: str, question: str) -> tuple[Turn, ...]:
    messages = parse_text(find_value(fields, path))
    turns = (read_history(messages) if is_list(messages) else None) or ()
    asked = [n for n, turn in enumerate(turns) if turn.role == "user" and turn.text == question]
    return turns[: asked[-1]] if asked else ()


def _collect_metadata(fields: Mapping[str, object]) -> dict[str, str]:
    plain = {n: v for n, v in fields.items() if isinstance(v, str | int | float) and n not in _OWN}
    return {name: as_text(value) for name, value in plain.items()}


def _find_first_text(
    fields: Mapping[str, object],
    paths: tuple[str, ...],
    names: tuple[str, ...],
    role: str,
    *,
    lone: bool = True,
) -> tuple[str, str] | None:
    texts = (
        _find_text(parse_text(find_value(fields, path)), names, role, path, _MAX_LEVELS, lone)
        for path in paths
    )
    return next((text for text in texts if text is not None), None)


def _find_text(
    value: object, names: tuple[str, ...], role: str, path: str, levels: int, lone: bool
) -> tuple[str, str] | None:
    """Find text in a value, its usual fields or its messages, and return it with its path."""
    if isinstance(value, str):
        return (str(value), path) if value.strip() else None
    if levels == 0:
        return None
    if is_list(value):
        text = find_last_message(value, MESSAGE_ROLES[role])
        return (text, path) if text else None
    if not is_object(value):
        return None
    if (text := find_last_message([value], MESSAGE_ROLES[role])) is not None:
        return text, f"{path}.content"
    usual = find_name(value, names)
    inner = [usual] if usual else []
    inner += [name for name in _INNER if name in value and name != usual]
    texts = [name for name, part in value.items() if isinstance(part, str) and part.strip()]
    inner += texts if lone and len(texts) == 1 and len(value) <= 2 else []
    for name in inner:
        part = parse_text(value[name])
        found = _find_text(part, names, role, f"{path}.{name}", levels - 1, lone)
        if found is not None:
            return found
    return None


def find_last_message(messages: list[object], roles: tuple[str, ...]) -> str | None:
    """Return the text of the last message with one of the roles, or None if no message has one."""
    for message in reversed(messages):
        if is_list(message):  # LangChain traces contain nested lists.
            return find_last_message(message, roles)
        if not is_object(message):
            continue
        inner = message.get("message")
        kwargs = message.get("kwargs")
        message = inner if is_object(inner) else kwargs if is_object(kwargs) else message
        nested = {key.removeprefix("message."): part for key, part in message.items()}
        role = str(nested.get("role") or nested.get("type") or "").lower()
        if role.removesuffix("message").removesuffix("chunk") in roles:
            return join_blocks(nested.get("content"))
    return None


def join_blocks(content: object) -> str | None:
    """Return the text of a message's content, or None if it is empty."""
    if isinstance(content, str):
        return content or None
    blocks = content if is_list(content) else []
    texts = [_read_block(block) if is_object(block) else block for block in blocks]
    return "".join(text for text in texts if isinstance(text, str)) or None


def _read_block(block: Mapping[str, object]) -> object:
    is_text = block.get("type") in (None, "text", "output_text", "input_text")
    return block.get("text") if is_text else None


def _choose_sources(fields: Mapping[str, object], shape: ExportShape) -> tuple[str, list[object]]:
    for path in shape.sources:
        value = parse_text(find_value(fields, path))
        sources_path, rows = _find_sources(value, path, _MAX_LEVELS)
        if rows:
            return sources_path, rows
    return "", []


def _find_sources(value: object, path: str, levels: int) -> tuple[str, list[object]]:
    if levels == 0:
        return path, []
    if is_list(value):
        spans = [one for one in value if is_object(one) and _get_output(one) is not None]
        retrieved = [parse_text(_get_output(one)) for one in spans if _is_retriever(one)]
        if spans:
            lists = (_find_sources(output, "", levels - 1)[1] for output in retrieved)
            return path, [row for rows in lists for row in rows]
        rows = build_source_rows(value) if count_texts(value) else []
        return path, rows if is_list(rows) else []
    if not is_object(value):
        return path, []
    if (name := find_sources(value)) is not None:
        rows = build_source_rows(value[name])
        return f"{path}.{name}", rows if is_list(rows) else []
    for key in _INNER:
        inner = parse_text(value.get(key))
        inner_path, rows = _find_sources(inner, f"{path}.{key}", levels - 1)
        if rows:
            return inner_path, rows
    return path, []


def _is_retriever(span: Mapping[str, object]) -> bool:
    kinds = " ".join(str(span.get(key, "")) for key in ("type", "run_type", "name", "span_kind"))
    return any(word in kinds.lower() for word in _RETRIEVERS)


def _get_output(span: Mapping[str, object]) -> object:
    return span.get("output") if span.get("output") is not None else span.get("outputs")


def _describe_refusal(
    shape: ExportShape,
    fields: Mapping[str, object],
    question: tuple[str, str] | None,
    answer: tuple[str, str] | None,
) -> Problem:
    question_path = question[1] if question else _guess(fields, shape.question, "QUESTION")
    answer_path = answer[1] if answer else _guess(fields, shape.answer, "ANSWER")
    option = f"--map question={question_path},answer={answer_path}"
    if shape.refusal:
        return Problem("", f"{shape.tool}: {shape.refusal} {option}", "answers")
    missing = " and ".join(
        name for name, one in (("question", question), ("answer", answer)) if one is None
    )
    texts = dict.fromkeys(_list_text_paths(fields, shape.question + shape.answer))
    text = f"{shape.tool}: no {missing} found among {', '.join(texts) or 'no texts'}"
    return Problem(
        shape.answer[0] if question else shape.question[0], text, f"a path, such as {option}"
    )


def _guess(fields: Mapping[str, object], paths: tuple[str, ...], name: str) -> str:
    return next(_list_text_paths(fields, paths), f"{paths[0]}.{name}")


def _list_text_paths(fields: Mapping[str, object], paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        value = parse_text(find_value(fields, path))
        named = list(value.items())[:_MOST_NAMED] if is_object(value) else []
        yield from (f"{path}.{name}" for name, part in named if isinstance(part, str))


def merge_spans(items: Iterable[Item | Rejection], spans: Spans) -> Iterator[Item | Rejection]:
    """Merge each trace into one item: the root span with the documents from the retriever spans.

    Rows without a trace id remain separate items.
    """
    traces: dict[str, list[Item]] = {}
    order: list[Item | Rejection | str] = []
    for item in items:
        trace = None if isinstance(item, Rejection) else _find_first_value(item, spans.trace)
        if isinstance(item, Rejection) or trace is None:
            order.append(item)
            continue
        name = as_text(trace)
        if name not in traces:
            order.append(name)
        traces.setdefault(name, []).append(item)
    for one in order:
        yield _merge_rows(traces[one], spans) if isinstance(one, str) else one


def _merge_rows(rows: list[Item], spans: Spans) -> Item:
    ids = {
        as_text(v)
        for row in rows
        if (v := _find_first_value(row, ("context.span_id", "id"))) is not None
    }
    roots = [row for row in rows if _is_root(row, spans, ids)]
    root = next((row for row in roots if not _is_kind(row, spans)), (roots or rows)[0])
    documents: list[object] = []
    for row in rows:
        if row is not root and _is_kind(row, spans):
            values = (parse_text(_find_first_value(row, (path,))) for path in spans.documents)
            lists = (_find_sources(value, "", _MAX_LEVELS)[1] for value in values)
            documents += next((found for found in lists if found), [])
    return replace(root, fields=root.fields | {"retrieved": documents}) if documents else root


def _is_root(row: Item, spans: Spans, ids: set[str]) -> bool:
    parent = _find_first_value(row, spans.parent)
    return parent in (None, "") or as_text(parent) not in ids


def _is_kind(row: Item, spans: Spans) -> bool:
    kind = " ".join(str(_find_first_value(row, (path,)) or "") for path in (*spans.kind, "name"))
    return any(word in kind.lower() for word in _RETRIEVERS)


def _find_first_value(item: Item, paths: tuple[str, ...]) -> object:
    nested = nest_fields(item.fields, ROOTS)
    return next((v for path in paths if (v := find_value(nested, path)) is not None), None)
