"""The base of all agents: a signature from the prompts, a request, one typed call, its usage."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import dspy

from ragassay.agents.adapter import CASE_FIELD, SharedPrefixAdapter, response_format
from ragassay.agents.calls import read_call
from ragassay.agents.sampling import ask_judge
from ragassay.errors import SettingsError
from ragassay.models.gateway import metered
from ragassay.prompts import load_prompts
from ragassay.prompts.compiled import CompiledPrompt
from ragassay.records import Usage

ADAPTER = SharedPrefixAdapter()

NO_LOGPROBS: Mapping[str, None] = {"logprobs": None, "top_logprobs": None}
"""Options of a call whose log-probabilities are not needed."""


@dataclass(frozen=True)
class Request:
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
        signature: Its typed inputs and outputs; the instruction comes from the prompts.
        prompt: Key of the prompt, if it is not the agent's name.
    """

    name: ClassVar[str]
    """Key of the agent's prompt."""

    adapter: ClassVar[SharedPrefixAdapter] = ADAPTER
    """The adapter that renders its prompts."""

    wants_logprobs: ClassVar[bool] = True
    """True if the agent reads a distribution off its reply. Log-probabilities of long replies cost
    more processor time than all else."""

    def __init__(self, signature: Any, prompt: str = "") -> None:
        super().__init__()
        self.prompt = prompt or self.name
        task = load_prompts().agents[self.prompt].task
        self.predict = dspy.Predict(_instructed(signature, task))

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
            if strange := sorted(demo.keys() - known):
                raise SettingsError(
                    f"compiled prompt of {compiled.title}: an example has the field "
                    f"{strange[0]!r}; there are {', '.join(sorted(known))}"
                )

    def request(self, *args: Any, **kwargs: Any) -> Request:
        """Return the request of a call, without making it; takes the agent's arguments."""
        raise NotImplementedError

    def asking(self, read: Callable[[dspy.Prediction, Usage], Any], /, **inputs: str) -> Request:
        """Return a request with the predictor's signature and examples."""
        predictor: Any = self.predict
        return Request(predictor.signature, inputs, tuple(predictor.demos), read)

    def aforward(self, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Ask a model; take `request`'s arguments, return the result of its `read`.

        Raises:
            ModelError: The model gave no usable reply.
        """
        return self.ask(self.request(*args, **kwargs))

    async def ask(self, asked: Request) -> Any:
        """Call the model of DSPy's settings, and read its reply.

        Raises:
            ModelError: The call failed; the type says how.
        """
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

        async def draw(more: Mapping[str, Any]) -> dspy.Prediction:
            return await read_call(lm, messages, {**options, **more}, read)

        with metered() as meter:
            if not self.wants_logprobs:
                return asked.read(await draw({}), meter.usage)
            found, source = await ask_judge(draw, lm, asked.signature, messages)
        return asked.read(found, meter.usage + source)


@functools.cache
def _instructed(signature: Any, task: str) -> Any:
    """Return a signature with an instruction; DSPy makes a class of each, so each is made once."""
    return signature.with_instructions(task)
