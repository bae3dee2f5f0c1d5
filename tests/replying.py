"""A fake model for agents with one reply and optional log-probabilities."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import dspy

Step = str | tuple[str, dict[str, float]]


def logprobs_of(*steps: Step) -> SimpleNamespace:
    """Return token log-probabilities. Tokens with a probability table have these alternatives."""
    content: list[Any] = []
    for step in steps:
        text, table = (step, {}) if isinstance(step, str) else step
        top = [SimpleNamespace(token=t, logprob=math.log(p)) for t, p in table.items()]
        logprob = math.log(table.get(text, 1.0))
        content.append(SimpleNamespace(token=text, logprob=logprob, top_logprobs=top))
    return SimpleNamespace(content=content)


class FakeLM(dspy.LM):
    """Model that gives one reply to all prompts and records `messages`, `user` and the options.

    Args:
        reply: Reply text, or an object to send as JSON.
        steps: Tokens of the reply. Without them there are no log-probabilities.
    """

    takes_schema = True

    def __init__(self, reply: str | dict[str, Any], *steps: Step) -> None:
        super().__init__("openai/fake", api_base="http://secret.example", api_key="sk-secret")
        text = reply if isinstance(reply, str) else json.dumps(reply)
        self.reply = {"text": text, "logprobs": logprobs_of(*steps) if steps else None}
        self.sent: list[dict[str, Any]] = []

    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> list[Any]:
        self.sent.append({"messages": messages, "user": messages[1]["content"], **kwargs})
        return [self.reply]
