"""Turn a DSPy signature into a prompt, and a reply into fields.

There is one system message, the same for all agents, and one user message that starts with the
context of the case, the same bytes for all agents, and ends with the part that differs. So hosted
models bill the context from their cache, and the local judge computes it once.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import dspy
import pydantic

from ragassay.agents.replies import is_refusal, read_reply
from ragassay.agents.reply_values import required_fields, value_of
from ragassay.errors import RefusedError, UnparsableReplyError
from ragassay.models.prompt_caching import SharedPrompt
from ragassay.prompts import load_prompts

CONTEXT_FIELD = "context"
"""The first input field of every signature here."""

CASE_FIELD = "case"
"""The question and answer of an example, if its fields do not contain them."""


class SharedPrefixAdapter(dspy.Adapter):
    """Renders `context` first, then examples, the instruction, the other inputs; replies in JSON.

    Every other input is shown as `name: value` in the signature's order; agents fence untrusted
    values.
    """

    def format(
        self, signature: Any, demos: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the two messages of a call."""
        examples = [_example(signature, demo) for demo in demos]
        return _messages(inputs[CONTEXT_FIELD], "\n\n", *examples, self.task(signature, inputs))

    def task(self, signature: Any, inputs: Mapping[str, Any]) -> str:
        """Return what a prompt says after the context and the examples."""
        # The shape comes before the inputs: all calls of an agent share it.
        return "\n".join(
            [f"Task: {signature.instructions}", _shape(signature), *_given(signature, inputs)]
        )

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Return the reply's fields, each of its declared type.

        Bounds of length and pattern are for models that can enforce them; a reply beyond them is
        still a reply, as is one without its free text where it has a verdict.

        Raises:
            UnparsableReplyError: No JSON object, a missing field, or a value of another type.
            RefusedError: It is an apology in place of a verdict.
        """
        types = {name: field.annotation for name, field in signature.output_fields.items()}
        required = required_fields(types)
        try:
            found = read_reply(_unquote(completion), tuple(types), required)
        except ValueError as error:
            if is_refusal(completion):
                raise RefusedError(f"the model refused: {completion[:200]!r}") from error
            raise UnparsableReplyError(f"{error} in {completion[:200]!r}") from error
        return {
            name: value_of(name, found[name].value if name in found else None, kind)
            for name, kind in types.items()
        }


class CompactAdapter(SharedPrefixAdapter):
    """Renders `context` and the other inputs, and nothing else.

    For a model that was fine-tuned on such prompts: it knows its task, and a schema enforces the
    form of its reply.
    """

    def format(
        self, signature: Any, demos: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the two messages of a call; demonstrations are not shown."""
        return _messages(inputs[CONTEXT_FIELD], "\n", *_given(signature, inputs))


def _messages(context: str, between: str, *parts: str) -> list[dict[str, Any]]:
    """Return the two messages of a call; the user's remembers how far the context reaches."""
    prompt = SharedPrompt(between.join([context, *parts]), len(context + between))
    return [
        {"role": "system", "content": load_prompts().system},
        {"role": "user", "content": prompt},
    ]


def _unquote(completion: str) -> str:
    """Return what a reply says that was sent as one string of JSON."""
    text = completion.strip()
    if text[:2] != '"{':
        return completion
    try:
        return json.loads(text)
    except ValueError:
        return completion


def _given(signature: Any, inputs: Mapping[str, Any]) -> list[str]:
    names = [name for name in signature.input_fields if name != CONTEXT_FIELD]
    return [f"{name}: {inputs[name]}" for name in names]


def _shape(signature: Any) -> str:
    """Return the expected reply, as JSON with a hint in place of each value."""
    schema = response_format(signature)["json_schema"]["schema"]
    return f"Reply with JSON: {json.dumps(_hint(schema, schema.get('$defs', {})))}"


def _hint(schema: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """Return a value of a schema with a hint in place of each part."""
    if "$ref" in schema:
        return _hint(known[schema["$ref"].rpartition("/")[2]], known)
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "properties" in schema:
        return {name: _hint(part, known) for name, part in schema["properties"].items()}
    if schema.get("type") == "array":
        return [_hint(schema.get("items", {}), known)]
    return "..."


def _example(signature: Any, demo: Mapping[str, Any]) -> str:
    given = [
        f"{name}: {demo[name]}"
        for name in signature.input_fields
        if name in demo and name != CONTEXT_FIELD
    ]
    about = [str(demo[CASE_FIELD])] if demo.get(CASE_FIELD) else []
    reply = {name: demo[name] for name in signature.output_fields if name in demo}
    return "\n".join(["Example", *about, *given, f"Reply: {json.dumps(reply)}"])


@functools.lru_cache(maxsize=64)
def response_format(signature: Any) -> dict[str, Any]:
    """Return the JSON schema of a signature's outputs, as OpenAI's `response_format`."""
    fields: dict[str, Any] = {
        # DSPy keeps the bounds of a field apart from its type.
        name: (Annotated[(field.annotation, *field.metadata)], ...)
        if field.metadata
        else (field.annotation, ...)
        for name, field in signature.output_fields.items()
    }
    config = pydantic.ConfigDict(extra="forbid")
    model = pydantic.create_model(signature.__name__, __config__=config, **fields)
    schema = model.model_json_schema()
    return {
        "type": "json_schema",
        "json_schema": {"name": signature.__name__, "schema": _untitled(schema), "strict": True},
    }


def _untitled(node: Any) -> Any:
    """Return a schema without the titles that pydantic adds; property names stay."""
    if isinstance(node, list):
        return [_untitled(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: {name: _untitled(value) for name, value in item.items()}
        if key == "properties"
        else _untitled(item)
        for key, item in node.items()
        if key != "title"
    }
