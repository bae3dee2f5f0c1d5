"""A model for agents that gives one reply, with log-probabilities where a test wants some."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import dspy

Step = str | tuple[str, dict[str, float]]


def logprobs_of(*steps: Step) -> SimpleNamespace:
    """Tokens; one with a table of probabilities has those alternatives."""
    content: list[Any] = []
    for step in steps:
        text, table = (step, {}) if isinstance(step, str) else step
        top = [SimpleNamespace(token=t, logprob=math.log(p)) for t, p in table.items()]
        logprob = math.log(table.get(text, 1.0))
        content.append(SimpleNamespace(token=text, logprob=logprob, top_logprobs=top))
    return SimpleNamespace(content=content)


class FakeLM(dspy.LM):
    """Gives one reply to all prompts, and keeps them: `messages`, `user`, and the options.

    Args:
        reply: Its text, or the object behind its JSON.
        steps: Its tokens; without any it has no log-probabilities.
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
