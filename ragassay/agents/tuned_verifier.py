"""Verify a claim against a passage, with a model fine-tuned for it.

The passage comes first and the claim last, so that a causal model reads the claim knowing the
passage. No question and no other source is shown, and of a document only the sentences closest to
the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import dspy

from ragassay.agents.adapter import CompactAdapter
from ragassay.agents.base import Agent, Request
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fence_mark, fenced
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.prompts import load_prompts
from ragassay.records import VERDICT_SETS, Comparison, Usage, Verdict
from ragassay.retrievers.closest import closest_sentences
from ragassay.retrievers.rerank import TextEncoder

N_READ = 4
"""Sentences read, title included: those closest to the claim. Four include a sentence of the
rationale for 85 of 100 of SciFact's training claims that have one, three for 76."""

LABELS: tuple[Verdict, ...] = VERDICT_SETS[4]

Label = Literal["supports", "contradicts", "neutral", "not_relevant"]


class CompareClaim(dspy.Signature):
    """A passage and a claim in, what the passage says of the claim out."""

    context: str = dspy.InputField()
    label: Label = dspy.OutputField()


class TunedVerifier(Agent):
    """Verifies a claim against a passage; for models made by `ragassay finetune`."""

    name = "tuned_verifier"
    adapter = CompactAdapter()

    def __init__(self) -> None:
        super().__init__(CompareClaim)

    async def aforward(self, claim: str, sentences: Sequence[str]) -> Comparison:
        """Verify a claim against a passage cut by `passage_for`.

        Raises:
            ModelError: The model gave no usable reply.
        """
        if not sentences:
            return Comparison("not_relevant", None, Usage())
        return await self.ask(self.request(claim, sentences))

    def request(self, claim: str, sentences: Sequence[str]) -> Request:
        """Compare a claim with a passage of at least one sentence."""
        return self.asking(_finding, context=_context(claim, sentences))

    def messages(self, claim: str, sentences: Sequence[str]) -> list[dict[str, str]]:
        """Return the prompt as the model sees it, for training."""
        inputs = {"context": _context(claim, sentences)}
        return self.adapter.format(self.predict.signature, [], inputs)


def _finding(found: dspy.Prediction, usage: Usage) -> Comparison:
    weights = choice_distribution(found.get("logprobs"), "label", LABELS)
    return Comparison(
        found.label,
        round(weights[found.label], 4) if weights else None,
        usage,
        rounded_bits(weights.values() if weights else None),
    )


def _context(claim: str, sentences: Sequence[str]) -> str:
    words, mark = load_prompts().context, fence_mark([claim, *sentences], claim)
    passage = fenced("\n".join(sentences), mark)
    return "\n".join([words.passage, passage, words.claim, fenced(claim, mark)])


def passage_for(
    claim: str,
    title: str,
    sentences: Sequence[str],
    embedder: TextEncoder,
    wanted: Sequence[int] = (),
) -> list[str]:
    """Return the part of a document that a tuned verifier reads: its closest sentences and title.

    Args:
        claim: The claim to compare with.
        title: The document's title; may be empty.
        sentences: The document's sentences; may be empty.
        embedder: Provides the vectors for the cosine.
        wanted: Positions of sentences, from 0, that are read even if others are closer.

    Returns:
        At most `N_READ` of them, in their order.
    """
    texts = [title, *sentences] if title else list(sentences)
    places = {place + bool(title) for place in wanted}
    return closest_sentences(claim, texts, embedder, N_READ, places)
