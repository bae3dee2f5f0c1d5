"""What all agents share: a signature from the prompts, one typed call, its usage."""

from __future__ import annotations

from typing import Any, ClassVar

import dspy

from ragassay.agents.adapter import SharedPrefixAdapter
from ragassay.errors import ModelError, UnparsableReplyError
from ragassay.models.gateway import metered
from ragassay.prompts import load_prompts
from ragassay.records import Usage


class Agent(dspy.Module):
    """An agent with one predictor.

    Args:
        signature: Its typed inputs and outputs; the instruction comes from the prompts.
        prompt: Key of the prompt, where it is not the agent's name.
    """

    name: ClassVar[str]
    """Key of the agent's prompt."""

    wants_logprobs: ClassVar[bool] = True
    """Whether the agent reads a distribution off its reply; log-probabilities of long replies cost
    more processor time than all else."""

    def __init__(self, signature: Any, prompt: str = "") -> None:
        super().__init__()
        task = load_prompts().agents[prompt or self.name].task
        self.predict = dspy.Predict(signature.with_instructions(task))

    async def ask(
        self, signature: type[dspy.Signature] | None = None, /, **inputs: str
    ) -> tuple[dspy.Prediction, Usage]:
        """One call through the house's adapter.

        Args:
            signature: In place of the predictor's, for this call.
            inputs: Its inputs by name.

        Raises:
            ModelError: What went wrong, typed.
        """
        chosen = {} if signature is None else {"signature": signature}
        with metered() as meter, dspy.context(adapter=ADAPTER, disable_history=True):
            try:
                prediction = await self.predict.acall(config=self._options(), **chosen, **inputs)
            except dspy.utils.exceptions.AdapterParseError as error:
                raise UnparsableReplyError(str(error)[:300]) from error
            except ExceptionGroup as error:
                raise ModelError(str(error)[:300]) from error
        return prediction, meter.usage

    def _options(self) -> dict[str, Any]:
        return {} if self.wants_logprobs else {"logprobs": None, "top_logprobs": None}


ADAPTER = SharedPrefixAdapter()
