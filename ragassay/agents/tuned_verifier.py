"""Says whether a passage bears out a claim, as a model that was fine-tuned for it is asked.

The passage comes first and the claim last: a causal model that reads the claim has then just read
what it is compared with. No question is shown and no other source, and of a document only what is
closest to the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import dspy

from ragassay.agents.adapter import CompactAdapter
from ragassay.agents.base import Agent, Request
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fence_mark, fenced
from ragassay.agents.verifier import Finding
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.prompts import load_prompts
from ragassay.records import VERDICT_SETS, Usage, Verdict
from ragassay.retrievers.closest import closest_sentences
from ragassay.retrievers.rerank import TextEncoder

N_READ = 4
"""Sentences that are read, the title among them: those that are closest to the claim. Four hold a
sentence of the rationale for 85 of 100 of SciFact's training claims that have one, three for 76."""

LABELS: tuple[Verdict, ...] = VERDICT_SETS[4]

Label = Literal["supports", "contradicts", "neutral", "not_relevant"]


class CompareClaim(dspy.Signature):
    """A passage and a claim in, what the passage says of the claim out."""

    context: str = dspy.InputField()
    label: Label = dspy.OutputField()


class TunedVerifier(Agent):
    """A claim and a passage in, a verdict out; for models that `ragassay finetune` made."""

    name = "tuned_verifier"
    adapter = CompactAdapter()

    def __init__(self) -> None:
        super().__init__(CompareClaim)

    async def aforward(self, claim: str, sentences: Sequence[str]) -> Finding:
        """Compare a claim with a passage that `passage_for` has cut.

        Raises:
            ModelError: The model gave no usable reply.
        """
        if not sentences:
            return Finding("not_relevant", None, Usage())
        return await self.ask(self.request(claim, sentences))

    def request(self, claim: str, sentences: Sequence[str]) -> Request:
        """Compare a claim with a passage of at least one sentence."""
        return self.asking(_finding, context=_context(claim, sentences))

    def messages(self, claim: str, sentences: Sequence[str]) -> list[dict[str, str]]:
        """The prompt as the model sees it, for whoever trains one."""
        inputs = {"context": _context(claim, sentences)}
        return self.adapter.format(self.predict.signature, [], inputs)


def _finding(found: dspy.Prediction, usage: Usage) -> Finding:
    weights = choice_distribution(found.get("logprobs"), "label", LABELS)
    return Finding(
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
    """What a tuned verifier reads of a document: of its title and sentences the closest ones.

    Args:
        claim: What they are compared with.
        title: The document's; may be empty.
        sentences: The document's; may be empty.
        embedder: Measures the cosine.
        wanted: Places of sentences, from 0, that are read whatever others are closer.

    Returns:
        At most `N_READ` of them, in their order.
    """
    texts = [title, *sentences] if title else list(sentences)
    places = {place + bool(title) for place in wanted}
    return closest_sentences(claim, texts, embedder, N_READ, places)
