"""Base class and prompt adapters for agents.

Each agent makes one model call with typed inputs and outputs.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import dspy
import pydantic

from ragassay.agents.replies import read_reply, require_no_correction
from ragassay.agents.reply_cues import is_refusal
from ragassay.agents.reply_values import convert_value, is_label, list_required_fields
from ragassay.agents.sampling import (
    ModelCall,
    add_distribution,
    await_first_reply,
    list_label_choices,
    note_logprobs,
)
from ragassay.errors import RefusedError, SettingsError, UnparsableReplyError
from ragassay.models.gateway import meter_calls
from ragassay.models.prompt_caching import SharedPrompt
from ragassay.prompts import load_prompts
from ragassay.prompts.compiled import CompiledPrompt
from ragassay.records import Usage

CONTEXT_FIELD = "context"
"""Name of the first input field of every signature."""

CASE_FIELD = "case"
"""Name of an extra field for the question and answer of an example."""

_REASONS = ("rationale", "reason")
"""Starts of the names of fields that explain a verdict."""


class SharedPrefixAdapter(dspy.Adapter):
    """Adapter that renders `context`, examples, instruction and inputs, and expects JSON replies.

    Inputs other than `context` are shown as `name: value`, in order. Agents enclose untrusted
    values in delimiters.
    """

    def format(
        self, signature: Any, demos: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the system and user messages of a call."""
        examples = [_render_example(signature, demo) for demo in demos]
        return _build_messages(
            inputs[CONTEXT_FIELD], "\n\n", *examples, self.render_task(signature, inputs)
        )

    def render_task(self, signature: Any, inputs: Mapping[str, Any]) -> str:
        """Return the part of the prompt after the context and the examples."""
        # All calls of an agent share the output format, so it comes before the inputs.
        return "\n".join(
            [
                f"Task: {signature.instructions}",
                _describe_shape(signature),
                *_list_inputs(signature, inputs),
            ]
        )

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Parse a reply into fields of the declared types.

        Length and pattern constraints are not checked. If the verdict is valid, other fields may be
        missing or have the wrong type.

        Raises:
            UnparsableReplyError: The reply has no JSON object, lacks a required field, has a value
                of the wrong type, gives a refusal as its rationale, or is followed by text that
                changes the verdict.
            RefusedError: The model refused to answer.
        """
        types = {name: field.annotation for name, field in signature.output_fields.items()}
        required = list_required_fields(types)
        text = _unquote(completion)
        try:
            fields = read_reply(text, tuple(types), required)
        except ValueError as error:
            if is_refusal(completion):
                raise RefusedError(f"the model refused: {completion[:200]!r}") from error
            raise UnparsableReplyError(f"{error} in {completion[:200]!r}") from error
        values: dict[str, Any] = {}
        for name, kind in types.items():
            try:
                values[name] = convert_value(
                    name, fields[name].value if name in fields else None, kind
                )
            except UnparsableReplyError:
                if name in required:
                    raise
                values[name] = convert_value(name, None, kind)
        labels = [name for name in required if is_label(types[name])]
        if labels:
            reasons = [values[name] for name in types if name.startswith(_REASONS)]
            if any(is_refusal(reason) for reason in reasons if isinstance(reason, str)):
                raise UnparsableReplyError(f"the rationale is a refusal: {completion[:200]!r}")
            verdict = {values[name] for name in labels}
            require_no_correction(text, fields[labels[-1]], verdict, types[labels[-1]])
        return values


class CompactAdapter(SharedPrefixAdapter):
    """Adapter that renders only the inputs.

    Fine-tuned models need no instruction. A schema enforces the reply format.
    """

    def format(
        self, signature: Any, demos: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the system and user messages of a call, without examples."""
        return _build_messages(inputs[CONTEXT_FIELD], "\n", *_list_inputs(signature, inputs))


def _build_messages(context: str, between: str, *parts: str) -> list[dict[str, Any]]:
    """Return the system and user messages. The user message stores the length of the context."""
    prompt = SharedPrompt(between.join([context, *parts]), len(context + between))
    return [
        {"role": "system", "content": load_prompts().system},
        {"role": "user", "content": prompt},
    ]


def _unquote(completion: str) -> str:
    """Decode a reply that is a JSON string containing an object, with or without its quotes."""
    text = completion.strip()
    if re.match(r'\{(?:\\n|\s){0,99}\\"', text):
        text = f'"{text}"'
    if text[:2] != '"{':
        return completion
    try:
        return json.loads(text)
    except ValueError:
        return completion


def _list_inputs(signature: Any, inputs: Mapping[str, Any]) -> list[str]:
    names = [name for name in signature.input_fields if name != CONTEXT_FIELD]
    return [f"{name}: {inputs[name]}" for name in names]


def _describe_shape(signature: Any) -> str:
    schema = build_response_format(signature)["json_schema"]["schema"]
    return f"Reply with JSON: {json.dumps(_build_hint(schema, schema.get('$defs', {})))}"


def _build_hint(schema: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        return _build_hint(known[schema["$ref"].rpartition("/")[2]], known)
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "properties" in schema:
        return {name: _build_hint(part, known) for name, part in schema["properties"].items()}
    if schema.get("type") == "array":
        return [_build_hint(schema.get("items", {}), known)]
    return "..."


def _render_example(signature: Any, demo: Mapping[str, Any]) -> str:
    lines = [
        f"{name}: {demo[name]}"
        for name in signature.input_fields
        if name in demo and name != CONTEXT_FIELD
    ]
    case = [str(demo[CASE_FIELD])] if demo.get(CASE_FIELD) else []
    reply = {name: demo[name] for name in signature.output_fields if name in demo}
    return "\n".join(["Example", *case, *lines, f"Reply: {json.dumps(reply)}"])


@functools.lru_cache(maxsize=64)
def build_response_format(signature: Any) -> dict[str, Any]:
    """Return the JSON schema of a signature's outputs as an OpenAI `response_format`."""
    fields: dict[str, Any] = {
        # DSPy stores the constraints of a field separately from its type.
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
        "json_schema": {"name": signature.__name__, "schema": _drop_titles(schema), "strict": True},
    }


def _drop_titles(node: Any) -> Any:
    if isinstance(node, list):
        return [_drop_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: {name: _drop_titles(value) for name, value in item.items()}
        if key == "properties"
        else _drop_titles(item)
        for key, item in node.items()
        if key != "title"
    }


ADAPTER = SharedPrefixAdapter()

NO_LOGPROBS: Mapping[str, None] = {"logprobs": None, "top_logprobs": None}
"""Options for calls that do not need log-probabilities."""


@dataclass(frozen=True)
class AgentRequest:
    """A prepared model call.

    Attributes:
        read: Function that builds the agent's result from a reply and its usage.
        n_parts: Number of items that the reply covers. The token limit is multiplied by this
            number.
    """

    signature: Any
    inputs: dict[str, str]
    demos: Sequence[Mapping[str, Any]]
    read: Callable[[dspy.Prediction, Usage], Any]
    n_parts: int = 1


class Agent(dspy.Module):
    """Base class for agents with a single predictor.

    Args:
        signature: Signature to use instead of the class attribute, except for its instruction,
            which comes from the prompts.
        prompt: Key of the prompt, by default the name of the agent.
    """

    name: ClassVar[str]
    """Default key of the prompt."""

    signature: ClassVar[Any] = None
    """Signature of all calls, or None if the constructor gets a signature."""

    adapter: ClassVar[SharedPrefixAdapter] = ADAPTER
    """Adapter for rendering prompts."""

    wants_logprobs: ClassVar[bool] = True
    """Whether the agent uses log-probabilities, which are expensive for long replies."""

    def __init__(self, signature: Any = None, prompt: str = "") -> None:
        super().__init__()
        self.prompt = prompt or self.name
        task = load_prompts().agents[self.prompt].task
        self.predict = dspy.Predict(_set_instruction(signature or self.signature, task))

    def use(self, compiled: CompiledPrompt) -> None:
        """Replace the packaged prompt with a compiled prompt.

        Raises:
            SettingsError: The prompt was compiled for another agent, or its examples have an
                unknown field.
        """
        self.check(compiled)
        signature: Any = self.predict.signature
        self.predict.signature = signature.with_instructions(compiled.predictor.instructions)
        self.predict.demos = [dict(demo) for demo in compiled.predictor.demos]

    def check(self, compiled: CompiledPrompt) -> None:
        """Check a compiled prompt. See `use`."""
        if compiled.agent != self.prompt:
            raise SettingsError(
                f"expected a compiled prompt for {self.prompt!r}, got one for {compiled.agent!r}"
            )
        signature: Any = self.predict.signature
        known = {CASE_FIELD, *signature.fields}
        for demo in compiled.predictor.demos:
            if unknown := sorted(demo.keys() - known):
                raise SettingsError(
                    f"compiled prompt of {compiled.title}: an example has the unknown field "
                    f"{unknown[0]!r}; known fields are {', '.join(sorted(known))}"
                )

    def request(self, *args: Any, **kwargs: Any) -> AgentRequest:
        """Prepare a call without making it. The arguments depend on the agent."""
        raise NotImplementedError

    @property
    def instructions(self) -> str:
        """Instruction of the compiled prompt, or of the packaged prompt if none was compiled."""
        predictor: Any = self.predict
        return predictor.signature.instructions

    def build_request(
        self,
        read: Callable[[dspy.Prediction, Usage], Any],
        signature: Any = None,
        n_parts: int = 1,
        /,
        **inputs: str,
    ) -> AgentRequest:
        """Return a request with the predictor's examples, and by default its signature."""
        predictor: Any = self.predict
        demos = tuple(predictor.demos)
        return AgentRequest(signature or predictor.signature, inputs, demos, read, n_parts)

    def aforward(self, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Prepare a call from the arguments of `request`, make it, and return the result.

        Raises:
            ModelError: The model returned no valid reply.
        """
        return self.ask(self.request(*args, **kwargs))

    async def ask(self, asked: AgentRequest) -> Any:
        """Send a prepared call to the model configured in DSPy, and return the result.

        Raises:
            ModelError: The call failed, and the class of the error shows why.
        """
        call = self._build_call(asked)
        with meter_calls() as meter:
            async with await_first_reply(call) as is_needed:
                reply = note_logprobs(call, await call.draw()) if is_needed else None
            reply, source = await add_distribution(call, reply)
        return asked.read(reply, meter.usage + source)

    def _build_call(self, request: AgentRequest) -> ModelCall[dspy.Prediction]:
        predictor: Any = self.predict
        lm = predictor.lm or dspy.settings.lm
        options: dict[str, Any] = {} if self.wants_logprobs else dict(NO_LOGPROBS)
        if lm.takes_schema:
            options["response_format"] = build_response_format(request.signature)
        if request.n_parts > 1 and lm.kwargs.get("max_tokens"):
            options["max_tokens"] = lm.kwargs["max_tokens"] * request.n_parts
        messages = self.adapter.format(request.signature, request.demos, request.inputs)

        def read(reply: Mapping[str, Any]) -> dspy.Prediction:
            fields = self.adapter.parse(request.signature, reply["text"])
            return dspy.Prediction(**fields, logprobs=reply["logprobs"])

        has_labels = self.wants_logprobs and hasattr(lm, "n_samples")
        labels = list_label_choices(request.signature) if has_labels else {}
        return ModelCall(lm, messages, options, read, labels)


@functools.cache
def _set_instruction(signature: Any, task: str) -> Any:
    """Return a signature with an instruction.

    Results are cached because DSPy creates new classes.
    """
    return signature.with_instructions(task)
