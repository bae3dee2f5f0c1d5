"""What all agents share: a signature from the prompts, one typed call, its usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import dspy

from ragassay.agents.adapter import CASE_FIELD, SharedPrefixAdapter
from ragassay.errors import ModelError, SettingsError, UnparsableReplyError
from ragassay.models.gateway import metered
from ragassay.prompts import load_prompts
from ragassay.prompts.compiled import CompiledPrompt
from ragassay.records import Usage

ADAPTER = SharedPrefixAdapter()


class Agent(dspy.Module):
    """An agent with one predictor.

    Args:
        signature: Its typed inputs and outputs; the instruction comes from the prompts.
        prompt: Key of the prompt, where it is not the agent's name.
    """

    name: ClassVar[str]
    """Key of the agent's prompt."""

    adapter: ClassVar[SharedPrefixAdapter] = ADAPTER
    """Renders its prompts."""

    wants_logprobs: ClassVar[bool] = True
    """Whether the agent reads a distribution off its reply; log-probabilities of long replies cost
    more processor time than all else."""

    def __init__(self, signature: Any, prompt: str = "") -> None:
        super().__init__()
        self.prompt = prompt or self.name
        task = load_prompts().agents[self.prompt].task
        self.predict = dspy.Predict(signature.with_instructions(task))

    def use(self, compiled: CompiledPrompt) -> None:
        """Say what a compiled prompt says, in place of the shipped one.

        Raises:
            SettingsError: It is another agent's, or its examples have a field that this one has
                not.
        """
        self.check(compiled)
        signature: Any = self.predict.signature
        self.predict.signature = signature.with_instructions(compiled.predictor.instructions)
        self.predict.demos = [dict(demo) for demo in compiled.predictor.demos]

    def check(self, compiled: CompiledPrompt) -> None:
        """Refuse what cannot be used; see `use`."""
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

    async def ask(
        self,
        signature: type[dspy.Signature] | None = None,
        demos: Sequence[Mapping[str, Any]] | None = None,
        /,
        **inputs: str,
    ) -> tuple[dspy.Prediction, Usage]:
        """One call through the house's adapter.

        Args:
            signature: In place of the predictor's, for this call.
            demos: Examples in place of the predictor's, for this call.
            inputs: Its inputs by name.

        Raises:
            ModelError: What went wrong, typed.
        """
        chosen: dict[str, Any] = {} if signature is None else {"signature": signature}
        if demos is not None:
            chosen["demos"] = list(demos)
        with metered() as meter, dspy.context(adapter=self.adapter, disable_history=True):
            try:
                prediction = await self.predict.acall(config=self._options(), **chosen, **inputs)
            except dspy.utils.exceptions.AdapterParseError as error:
                raise UnparsableReplyError(str(error)[:300]) from error
            except ExceptionGroup as error:
                raise ModelError(str(error)[:300]) from error
        return prediction, meter.usage

    def _options(self) -> dict[str, Any]:
        return {} if self.wants_logprobs else {"logprobs": None, "top_logprobs": None}
