"""Says whether a passage bears out a claim, as a model that was fine-tuned for it is asked.

The prompt is as short as it can be: no question, no other source, and of a document only those of
its title and sentences that are closest to the claim. A small model has learnt what the labels
mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import dspy

from ragassay.agents.base import ADAPTER, Agent
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fence_mark, fenced
from ragassay.agents.verifier import Finding
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.records import VERDICT_SETS, Verdict
from ragassay.retrievers.closest import closest_sentences
from ragassay.retrievers.rerank import TextEncoder

N_READ = 4
"""Sentences that are read, the title among them: those that are closest to the claim. Four hold a
sentence of the rationale for 85 of 100 of SciFact's training claims that have one, three for 76."""

LABELS: tuple[Verdict, ...] = VERDICT_SETS[4]

Label = Literal["supports", "contradicts", "neutral", "not_relevant"]


class CompareTexts(dspy.Signature):
    """Compare a claim with a passage."""

    context: str = dspy.InputField()
    claim: str = dspy.InputField()
    label: Label = dspy.OutputField()


class TunedVerifier(Agent):
    """A claim and a passage in, a verdict out; for models that `ragassay finetune` made."""

    name = "tuned_verifier"

    def __init__(self) -> None:
        super().__init__(CompareTexts)

    async def aforward(self, claim: str, passage: str) -> Finding:
        """Compare a claim with a passage that `passage_for` has cut.

        Raises:
            ModelError: The model gave no usable reply.
        """
        found, usage = await self.ask(**self.inputs(claim, passage))
        weights = choice_distribution(found.get("logprobs"), "label", LABELS)
        confidence = round(weights[found.label], 4) if weights else None
        bits = rounded_bits(weights.values() if weights else None)
        return Finding(found.label, confidence, usage, bits)

    def messages(self, claim: str, passage: str) -> list[dict[str, str]]:
        """The prompt as the model sees it, for whoever trains one."""
        return ADAPTER.format(self.predict.signature, [], self.inputs(claim, passage))

    @staticmethod
    def inputs(claim: str, passage: str) -> dict[str, str]:
        """What the signature is given."""
        mark = fence_mark([passage, claim])
        return {"context": fenced(passage, mark), "claim": fenced(claim, mark)}


def passage_for(claim: str, title: str, sentences: Sequence[str], embedder: TextEncoder) -> str:
    """What a tuned verifier reads of a document: of its title and sentences the closest ones.

    Args:
        claim: What they are compared with.
        title: The document's; may be empty.
        sentences: The document's; may be empty.
        embedder: Measures the cosine.

    Returns:
        At most `N_READ` of them, in their order.
    """
    texts = [title, *sentences] if title else list(sentences)
    return closest_sentences(claim, texts, embedder, N_READ)
