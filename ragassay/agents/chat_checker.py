"""Verify a claim by Bespoke-MiniCheck-7B, over the chat interface of vLLM or Ollama.

Its prompt and cut are those of MiniCheck's program: the probability of "Yes" as the first token.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import dspy

from ragassay.agents.calls import read_call
from ragassay.errors import UnparsableReplyError
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.models.gateway import metered
from ragassay.prompts.texts import around_passage
from ragassay.prompts.verifiers import load_verifier_kinds
from ragassay.records import Comparison

N_TOKENS = 4
"""Longest reply: "Yes" or "No"."""


async def check_by_chat(claim: str, passage: str) -> Comparison:
    """Ask the model of DSPy's settings whether a passage supports a claim.

    Args:
        claim: The claim.
        passage: The whole text; it is not cut into chunks.

    Returns:
        "supports" or "not_attributable"; no confidence where there are no log-probabilities.

    Raises:
        ModelError: The call failed, or the reply is neither Yes nor No.
    """
    chat = load_verifier_kinds().facts.chat
    user = " ".join(passage.split()).join(around_passage(chat.text, claim=claim))
    messages = [{"role": "system", "content": chat.system}, {"role": "user", "content": user}]
    lm = dspy.settings.lm
    with metered() as meter:
        is_yes, share = await read_call(lm, messages, {"max_tokens": N_TOKENS}, _read_yes)
    supports = is_yes if share is None else share > chat.threshold
    verdict = "supports" if supports else "not_attributable"
    if share is None:
        return Comparison(verdict, None, meter.usage)
    confidence = round(share if supports else 1 - share, 4)
    return Comparison(verdict, confidence, meter.usage, rounded_bits((share, 1 - share)))


def _read_yes(reply: Mapping[str, Any]) -> tuple[bool, float | None]:
    """Return whether a reply says Yes, and the probability of Yes as its first token."""
    word = reply["text"].strip().lower()
    if not word.startswith(("yes", "no")):
        raise UnparsableReplyError(f"the reply is neither Yes nor No: {reply['text'][:60]!r}")
    tokens: list[Any] = list(getattr(reply["logprobs"], "content", None) or ())
    options = (tokens[0].top_logprobs or ()) if tokens else ()
    if not options:
        return word.startswith("yes"), None
    yes = (math.exp(min(0.0, o.logprob)) for o in options if o.token.strip().lower() == "yes")
    return word.startswith("yes"), min(1.0, sum(yes))
