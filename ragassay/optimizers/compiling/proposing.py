"""Prompts for the writers of new instructions, with replies in JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from ragassay.agents.adapter import SharedPrefixAdapter, response_format
from ragassay.agents.base import NO_LOGPROBS
from ragassay.errors import ModelError, RefusedError, UnparsableReplyError
from ragassay.prompts.proposals import load_proposals

LONGEST_LOCAL = 600
"""Most characters of a text by the embedded model; hosted ones have no limit."""

MOST_CASE_CHARS = 700
"""Most characters of each input of a case, for a writer of instructions."""


FENCE = "```"
"""Around the text itself, where a writer adds remarks."""


class ProposalAdapter(SharedPrefixAdapter):
    """Renders DSPy's own signatures, with which optimizers ask for new instructions.

    A reply that is not the expected JSON is taken as the text itself: a candidate is tried, and a
    bad one loses. One failed candidate must not end an optimizer: a refusal and an empty reply are
    left out, and where nothing is left, the instruction of before is the candidate.

    Args:
        instruction: The instruction to improve.
    """

    def __init__(self, instruction: str) -> None:
        super().__init__()
        self._instruction = instruction

    def __call__(
        self,
        lm: Any,
        lm_kwargs: dict[str, Any],
        signature: Any,
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """Make one request in a waiting thread.

        Returns:
            The fields of each reply that has an instruction; at least one.
        """
        options = {**lm_kwargs, **NO_LOGPROBS}
        if lm.takes_schema:
            options["response_format"] = _bounded(response_format(signature))
        try:
            outputs = lm(messages=self.format(signature, demos, inputs), **options)
        except ModelError:
            outputs = [{"text": ""}]
        replies = [self.parse(signature, output["text"]) for output in outputs]
        # The first output of each of these signatures is the instruction.
        first, *others = signature.output_fields
        # DSPy replaces an empty instruction with one of its own, made of the fields' names.
        return [reply for reply in replies if reply[first]] or [
            {first: self._instruction, **dict.fromkeys(others, "")}
        ]

    def format(
        self, signature: Any, demos: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the task as system message, the inputs as the user's."""
        shape = ", ".join(f'"{name}": "..."' for name in signature.output_fields)
        given = [f"{name}:\n{_text(inputs[name])}" for name in signature.input_fields]
        asked = "\n\n".join([*given, f"Reply with JSON: {{{shape}}}"])
        return [
            {"role": "system", "content": signature.instructions},
            {"role": "user", "content": asked},
        ]

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Return the reply's fields, stripped; each is the whole reply if there is no JSON."""
        try:
            found = super().parse(signature, completion)
        except RefusedError:
            return dict.fromkeys(signature.output_fields, "")
        except UnparsableReplyError:
            return dict.fromkeys(signature.output_fields, _unfenced(completion))
        return {name: str(value).strip() for name, value in found.items()}


class BetterInstruction(dspy.Signature):
    """Write a better instruction; the words come from the prompts."""

    instruction: str = dspy.InputField()
    cases: str = dspy.InputField()
    better_instruction: str = dspy.OutputField()


def propose_instructions(
    candidate: dict[str, str],
    reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
    components_to_update: list[str],
) -> dict[str, str]:
    """Have DSPy's current model write better instructions: GEPA's `ProposalFn`.

    Args:
        candidate: Instructions by predictor.
        reflective_dataset: Cases by predictor: inputs, the reply, feedback.
        components_to_update: The predictors to improve.

    Returns:
        Instructions by predictor; the old one if the model gave none.
    """
    words = load_proposals().improve
    ask = dspy.Predict(BetterInstruction.with_instructions(words.task))
    found: dict[str, str] = {}
    for name in components_to_update:
        cases = [_case(n, one) for n, one in enumerate(reflective_dataset.get(name, ()), 1)]
        with dspy.context(adapter=ProposalAdapter(candidate[name])):
            reply = ask(instruction=candidate[name], cases="\n\n".join(cases))
        found[name] = reply.better_instruction
    return found


def _case(number: int, case: Mapping[str, Any]) -> str:
    words = load_proposals().improve
    parts = [words.case.replace("{number}", str(number))]
    for title, key in ((words.given, "Inputs"), (words.replied, "Generated Outputs")):
        held = case.get(key) or {}
        shown = held.items() if isinstance(held, Mapping) else [("", held)]
        parts += [f"{title} {name}: {str(value)[:MOST_CASE_CHARS]}" for name, value in shown]
    return "\n".join([*parts, f"{words.remark}: {case.get('Feedback', '')}"])


def _unfenced(text: str) -> str:
    """Return the first fenced block of a text that has one, else the text."""
    parts = text.split(FENCE)
    if len(parts) < 3:
        return text.strip()
    _, _, block = parts[1].partition("\n")  # the language stands before it
    return block.strip() or text.strip()


def _text(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return str(value)


def _bounded(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return a reply's schema with limits on texts, so that a small model stops."""
    schema = wanted["json_schema"]["schema"]
    properties = {
        name: part | {"maxLength": LONGEST_LOCAL} if part.get("type") == "string" else part
        for name, part in schema["properties"].items()
    }
    bounded = schema | {"properties": properties}
    return wanted | {"json_schema": wanted["json_schema"] | {"schema": bounded}}
