"""Ask a model a user's question about an answer, for a label or a rating with a reason."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fenced, mark_of
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.prompts import load_prompts
from ragassay.records import Case, Said, Usage

_WORDS = load_prompts().agents["asker"]

Reason = Annotated[str, StringConstraints(max_length=_WORDS.rationale_chars * 2)]


@functools.lru_cache(maxsize=256)
def _signature(values: tuple[str | int, ...], has_subject: bool) -> type[dspy.Signature]:
    possible: Any = Literal[values]  # type: ignore[valid-type]
    fields: dict[str, Any] = {"context": (str, dspy.InputField())}
    if has_subject:
        fields["subject"] = (str, dspy.InputField())
    fields |= {
        "question": (str, dspy.InputField()),
        "reply": (possible, dspy.OutputField()),
        "rationale": (Reason, dspy.OutputField()),
    }
    return dspy.make_signature(fields, _WORDS.task, signature_name="AskOwn")


class Asker(Agent):
    """An agent that answers a user's question on a case with one of the given values."""

    name = "asker"

    def __init__(self) -> None:
        super().__init__(_signature(("yes", "no"), False))

    def request(
        self, case: Case, question: str, values: Sequence[str | int], subject: str = ""
    ) -> Request:
        """Return the request to ask about the case's answer.

        Args:
            case: The case.
            question: The user's question; trusted.
            values: The possible labels or ratings, at least two.
            subject: The sentence or text of the case in question; untrusted.

        Returns:
            The request; its reply is read as the value and its usage.
        """
        labels = [str(value) for value in values]

        def read(found: dspy.Prediction, usage: Usage) -> tuple[Said, Usage]:
            weights = choice_distribution(found.get("logprobs"), "reply", labels)
            value: str | float = found.reply
            if weights and isinstance(found.reply, int):
                value = sum(float(label) * weight for label, weight in weights.items())
            said = Said(
                value=value,
                reason=found.rationale.strip(),
                confidence=round(weights[str(found.reply)], 4) if weights else None,
                entropy_bits=rounded_bits(weights.values() if weights else None),
            )
            return said, usage

        signature = _signature(tuple(values), bool(subject))
        inputs = {"context": case.context, "question": question}
        if subject:
            inputs["subject"] = fenced(subject, mark_of(case))
        return Request(signature, inputs, (), read)
