"""Says whether a passage bears out a claim, as a model that was fine-tuned for it is asked.

As a fine-tuned judge reads an answer, so here a passage is read sentence by sentence: what a
sentence says of the claim shows best where it ends. There is a prompt for each, which ends with it
and shares with the others what they have in common. The verdict is that of the sentence which says
most. No question is shown and no other source, and of a document only what is closest to the claim.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import dspy

from ragassay.agents.adapter import CompactAdapter
from ragassay.agents.base import Agent
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

DECISIVE: tuple[Verdict, ...] = ("supports", "contradicts")
"""Labels of a sentence that says something of the claim."""

Label = Literal["supports", "contradicts", "neutral", "not_relevant"]


class CompareSentence(dspy.Signature):
    """A claim and a passage up to one of its sentences in, what that sentence says of it out."""

    context: str = dspy.InputField()
    label: Label = dspy.OutputField()


@dataclass(frozen=True)
class _Said:
    """What a sentence says of a claim: its label, and how likely each label was."""

    label: Verdict
    weights: dict[str, float] | None

    @property
    def share(self) -> float:
        """How likely it says anything of the claim."""
        if self.weights is None:
            return float(self.label in DECISIVE)
        return sum(self.weights[label] for label in DECISIVE)


class TunedVerifier(Agent):
    """A claim and a passage in, a verdict out; for models that `ragassay finetune` made."""

    name = "tuned_verifier"
    adapter = CompactAdapter()

    def __init__(self) -> None:
        super().__init__(CompareSentence)

    async def aforward(self, claim: str, sentences: Sequence[str]) -> Finding:
        """Compare a claim with a passage that `passage_for` has cut.

        Raises:
            ModelError: The model gave no usable reply.
        """
        if not sentences:
            return Finding("not_relevant", None, Usage())
        numbers = range(1, len(sentences) + 1)
        replies = await asyncio.gather(
            *(self.ask(context=_context(claim, sentences, n)) for n in numbers)
        )
        said = [_said(found) for found, _ in replies]
        most = max(said, key=lambda one: one.share)
        return Finding(
            most.label,
            round(most.weights[most.label], 4) if most.weights else None,
            sum((usage for _, usage in replies), Usage()),
            rounded_bits(most.weights.values() if most.weights else None),
        )

    def messages(self, claim: str, sentences: Sequence[str], n: int) -> list[dict[str, str]]:
        """The prompt for a sentence as the model sees it, for whoever trains one."""
        inputs: dict[str, Any] = {"context": _context(claim, sentences, n)}
        return self.adapter.format(self.predict.signature, [], inputs)


def _said(found: dspy.Prediction) -> _Said:
    return _Said(found.label, choice_distribution(found.get("logprobs"), "label", LABELS))


def _context(claim: str, sentences: Sequence[str], n: int) -> str:
    """The claim, and the passage up to its n-th sentence, which counts from 1."""
    words, mark = load_prompts().context, fence_mark([claim, *sentences], claim)
    passage = fenced("\n".join(sentences[:n]), mark)
    return "\n".join([words.claim, fenced(claim, mark), words.passage, passage])


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
