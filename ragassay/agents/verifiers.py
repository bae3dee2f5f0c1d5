"""Verify a claim against a passage: a judge, a fine-tuned model, a chat checker (BioACE, 4.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import dspy

from ragassay.agents.base import Agent, AgentRequest, CompactAdapter
from ragassay.agents.context import fence_mark, fence_text, mark_of
from ragassay.agents.sampling import ModelCall, SampledChoice
from ragassay.errors import UnparsableReplyError
from ragassay.metrics.stats.uncertainty import rounded_bits
from ragassay.models.gateway import meter_calls
from ragassay.prompts import load_prompts
from ragassay.prompts.model_forms import load_verifier_kinds
from ragassay.prompts.texts import around_passage
from ragassay.records import VERDICT_SETS, Case, Comparison, EvidenceSpan, Usage, Verdict
from ragassay.retrievers.rerankers import TextEncoder, closest_sentences

PROMPTS = {2: "verifier_binary", 3: "verifier_ternary", 4: "verifier"}
"""Keys of the prompts, by the number of labels."""


class VerifyClaim(dspy.Signature):
    """Compare a claim with a passage; the verdict's type is set for each number of labels."""

    context: str = dspy.InputField()
    passage: str = dspy.InputField()
    claim: str = dspy.InputField()
    verdict: str = dspy.OutputField()


class Verifier(Agent):
    """Verifies a claim against a passage; used for citations and evidence.

    Args:
        n_labels: The number of verdicts to choose from: 2, 3 or 4.
    """

    name = "verifier"

    def __init__(self, n_labels: int = 4) -> None:
        self._labels = VERDICT_SETS[n_labels]
        # A computed type: pyright cannot follow.
        labels: Any = Literal[self._labels]  # pyright: ignore[reportInvalidTypeForm]
        signature = VerifyClaim.with_updated_fields("verdict", type_=labels)
        super().__init__(signature, PROMPTS[n_labels])

    def request(self, case: Case, claim: str, passage: EvidenceSpan | str) -> AgentRequest:
        """Compare a sentence of the case's answer, or any other claim, with a passage."""
        mark = mark_of(case)
        text = passage if isinstance(passage, str) else passage.text
        return self.asking(
            self._finding,
            context=case.context,
            passage=fence_text(text, mark),
            claim=fence_text(claim, mark),
        )

    async def compare(self, case: Case, claim: str, passage: str) -> Comparison:
        """Verify any claim against any text.

        Raises:
            ModelError: The model gave no usable reply.
        """
        return await self.ask(self.request(case, claim, passage))

    def _finding(self, found: dspy.Prediction, usage: Usage) -> Comparison:
        chosen = SampledChoice.of(found, "verdict", self._labels)
        return Comparison(found.verdict, usage=usage, **chosen.sureness)


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
    signature = CompareClaim
    adapter = CompactAdapter()

    async def aforward(self, claim: str, sentences: Sequence[str]) -> Comparison:
        """Verify a claim against a passage cut by `passage_for`.

        Raises:
            ModelError: The model gave no usable reply.
        """
        if not sentences:
            return Comparison("not_relevant", None, Usage())
        return await self.ask(self.request(claim, sentences))

    def request(self, claim: str, sentences: Sequence[str]) -> AgentRequest:
        """Compare a claim with a passage of at least one sentence."""
        return self.asking(_finding, context=_context(claim, sentences))

    def messages(self, claim: str, sentences: Sequence[str]) -> list[dict[str, str]]:
        """Return the prompt as the model sees it, for training."""
        inputs = {"context": _context(claim, sentences)}
        return self.adapter.format(self.predict.signature, [], inputs)


def _finding(found: dspy.Prediction, usage: Usage) -> Comparison:
    return Comparison(found.label, usage=usage, **SampledChoice.of(found, "label", LABELS).sureness)


def _context(claim: str, sentences: Sequence[str]) -> str:
    words, mark = load_prompts().context, fence_mark([claim, *sentences], claim)
    passage = fence_text("\n".join(sentences), mark)
    return "\n".join([words.passage, passage, words.claim, fence_text(claim, mark)])


def passage_for(
    claim: str,
    title: str,
    sentences: Sequence[str],
    embedder: TextEncoder,
    wanted: Sequence[int] = (),
) -> list[str]:
    """Return the part of a document that a tuned verifier reads: its closest sentences and title.

    Args:
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


N_TOKENS = 4
"""Longest reply: "Yes" or "No"."""


async def check_by_chat(claim: str, passage: str) -> Comparison:
    """Ask the model of DSPy's settings whether a passage supports a claim.

    Args:
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
    with meter_calls() as meter:
        is_yes, share = await ModelCall(lm, messages, {"max_tokens": N_TOKENS}, _read_yes).draw()
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
