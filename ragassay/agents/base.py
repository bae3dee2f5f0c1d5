"""The base of all agents: a signature as a prompt, a request, one typed call, its usage."""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import dspy
import pydantic

from ragassay.agents.replies import (
    is_label,
    is_refusal,
    read_reply,
    refuse_correction,
    required_fields,
    value_of,
)
from ragassay.agents.sampling import (
    ModelCall,
    add_distribution,
    choices_of,
    first_reply,
    note_logprobs,
)
from ragassay.errors import RefusedError, SettingsError, UnparsableReplyError
from ragassay.models.gateway import meter_calls
from ragassay.models.prompt_caching import SharedPrompt
from ragassay.prompts import load_prompts
from ragassay.prompts.compiled import CompiledPrompt
from ragassay.records import Usage

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
            [f"Task: {signature.instructions}", _shape(signature), *_list_inputs(signature, inputs)]
        )

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Return the reply's fields, each of its declared type.

        Bounds of length and pattern are for models that can enforce them; a reply beyond them is
        still a reply, as is one with a verdict whose other fields are missing or of another type.

        Raises:
            UnparsableReplyError: No JSON object, a missing field, a value of another type, or a
                verdict that the words behind it change.
            RefusedError: It is an apology in place of a verdict.
        """
        types = {name: field.annotation for name, field in signature.output_fields.items()}
        required = required_fields(types)
        text = _unquote(completion)
        try:
            found = read_reply(text, tuple(types), required)
        except ValueError as error:
            if is_refusal(completion):
                raise RefusedError(f"the model refused: {completion[:200]!r}") from error
            raise UnparsableReplyError(f"{error} in {completion[:200]!r}") from error
        values: dict[str, Any] = {}
        for name, kind in types.items():
            try:
                values[name] = value_of(name, found[name].value if name in found else None, kind)
            except UnparsableReplyError:
                if name in required:
                    raise
                values[name] = value_of(name, None, kind)
        labels = [name for name in required if is_label(types[name])]
        if len(labels) == 1:
            refuse_correction(text, found[labels[0]], values[labels[0]], types[labels[0]])
        return values


class CompactAdapter(SharedPrefixAdapter):
    """Renders `context` and the other inputs, and nothing else.

    For a model that was fine-tuned on such prompts: it knows its task, and a schema enforces the
    form of its reply.
    """

    def format(
        self, signature: Any, demos: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the two messages of a call; demonstrations are not shown."""
        return _messages(inputs[CONTEXT_FIELD], "\n", *_list_inputs(signature, inputs))


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


def _list_inputs(signature: Any, inputs: Mapping[str, Any]) -> list[str]:
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
    lines = [
        f"{name}: {demo[name]}"
        for name in signature.input_fields
        if name in demo and name != CONTEXT_FIELD
    ]
    about = [str(demo[CASE_FIELD])] if demo.get(CASE_FIELD) else []
    reply = {name: demo[name] for name in signature.output_fields if name in demo}
    return "\n".join(["Example", *about, *lines, f"Reply: {json.dumps(reply)}"])


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
        "json_schema": {"name": signature.__name__, "schema": _drop_titles(schema), "strict": True},
    }


def _drop_titles(node: Any) -> Any:
    """Return a schema without the titles that pydantic adds; property names stay."""
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
"""Options of a call whose log-probabilities are not needed."""


@dataclass(frozen=True)
class AgentRequest:
    """A model call that is not made yet.

    Attributes:
        signature: The inputs' names, the outputs' types and the instruction.
        inputs: Inputs by name.
        demos: Examples for the prompt.
        read: Makes the agent's record from a reply and its usage.
        n_parts: Things that the reply is about; each may take as many tokens as the longest reply
            of the settings.
    """

    signature: Any
    inputs: dict[str, str]
    demos: Sequence[Mapping[str, Any]]
    read: Callable[[dspy.Prediction, Usage], Any]
    n_parts: int = 1


class Agent(dspy.Module):
    """An agent with one predictor.

    Args:
        signature: In place of the class's; the instruction comes from the prompts.
        prompt: Key of the prompt, if it is not the agent's name.
    """

    name: ClassVar[str]
    """Key of the agent's prompt."""

    signature: ClassVar[Any] = None
    """Its typed inputs and outputs, where these are always the same."""

    adapter: ClassVar[SharedPrefixAdapter] = ADAPTER
    """The adapter that renders its prompts."""

    wants_logprobs: ClassVar[bool] = True
    """True if the agent reads a distribution off its reply. Log-probabilities of long replies cost
    more processor time than all else."""

    def __init__(self, signature: Any = None, prompt: str = "") -> None:
        super().__init__()
        self.prompt = prompt or self.name
        task = load_prompts().agents[self.prompt].task
        self.predict = dspy.Predict(_set_instruction(signature or self.signature, task))

    def use(self, compiled: CompiledPrompt) -> None:
        """Use a compiled prompt in place of the shipped one.

        Raises:
            SettingsError: It is another agent's, or its examples have a field unknown to this one.
        """
        self.check(compiled)
        signature: Any = self.predict.signature
        self.predict.signature = signature.with_instructions(compiled.predictor.instructions)
        self.predict.demos = [dict(demo) for demo in compiled.predictor.demos]

    def check(self, compiled: CompiledPrompt) -> None:
        """Refuse an unusable prompt; see `use`."""
        if compiled.agent != self.prompt:
            raise SettingsError(f"a compiled prompt of {compiled.agent!r} is none of {self.prompt}")
        signature: Any = self.predict.signature
        known = {CASE_FIELD, *signature.fields}
        for demo in compiled.predictor.demos:
            if unknown := sorted(demo.keys() - known):
                raise SettingsError(
                    f"compiled prompt of {compiled.title}: an example has the field "
                    f"{unknown[0]!r}; there are {', '.join(sorted(known))}"
                )

    def request(self, *args: Any, **kwargs: Any) -> AgentRequest:
        """Return the request of a call, without making it; takes the agent's arguments."""
        raise NotImplementedError

    @property
    def instructions(self) -> str:
        """The instruction, of the shipped or of the compiled prompt."""
        predictor: Any = self.predict
        return predictor.signature.instructions

    def asking(
        self,
        read: Callable[[dspy.Prediction, Usage], Any],
        signature: Any = None,
        n_parts: int = 1,
        /,
        **inputs: str,
    ) -> AgentRequest:
        """Return a request with the predictor's examples, and its signature or another."""
        predictor: Any = self.predict
        demos = tuple(predictor.demos)
        return AgentRequest(signature or predictor.signature, inputs, demos, read, n_parts)

    def aforward(self, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Ask a model; take `request`'s arguments, return the result of its `read`.

        Raises:
            ModelError: The model gave no usable reply.
        """
        return self.ask(self.request(*args, **kwargs))

    async def ask(self, asked: AgentRequest) -> Any:
        """Call the model of DSPy's settings, and read its reply.

        Raises:
            ModelError: The call failed; the type says how.
        """
        call = self._call(asked)
        with meter_calls() as meter:
            async with first_reply(call) as is_asked:
                found = note_logprobs(call, await call.draw()) if is_asked else None
            found, source = await add_distribution(call, found)
        return asked.read(found, meter.usage + source)

    def _call(self, asked: AgentRequest) -> ModelCall[dspy.Prediction]:
        predictor: Any = self.predict
        lm = predictor.lm or dspy.settings.lm
        options: dict[str, Any] = {} if self.wants_logprobs else dict(NO_LOGPROBS)
        if lm.takes_schema:
            options["response_format"] = response_format(asked.signature)
        if asked.n_parts > 1 and lm.kwargs.get("max_tokens"):
            options["max_tokens"] = lm.kwargs["max_tokens"] * asked.n_parts
        messages = self.adapter.format(asked.signature, asked.demos, asked.inputs)

        def read(reply: Mapping[str, Any]) -> dspy.Prediction:
            fields = self.adapter.parse(asked.signature, reply["text"])
            return dspy.Prediction(**fields, logprobs=reply["logprobs"])

        has_labels = self.wants_logprobs and hasattr(lm, "n_samples")
        labels = choices_of(asked.signature) if has_labels else {}
        return ModelCall(lm, messages, options, read, labels)


@functools.cache
def _set_instruction(signature: Any, task: str) -> Any:
    """Return a signature with an instruction; DSPy makes a class of each, so each is made once."""
    return signature.with_instructions(task)
