"""Verify claims against passages with a judge, a fine-tuned model or a chat model (BioACE, 4.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import dspy

from ragassay.agents.base import Agent, AgentRequest, CompactAdapter
from ragassay.agents.context import fence_mark, fence_text, find_fence_mark
from ragassay.agents.sampling import ModelCall, SampledChoice
from ragassay.errors import UnparsableReplyError
from ragassay.metrics.stats.uncertainty import round_entropy
from ragassay.models.gateway import meter_calls
from ragassay.prompts import load_prompts
from ragassay.prompts.model_forms import load_verifier_kinds
from ragassay.prompts.texts import fill_around_passage
from ragassay.records import VERDICT_SETS, Case, Comparison, EvidenceSpan, Usage, Verdict
from ragassay.retrievers.rerankers import TextEncoder, select_closest_sentences

PROMPTS = {2: "verifier_binary", 3: "verifier_ternary", 4: "verifier"}
"""Prompt names, keyed by the number of labels."""


class VerifyClaim(dspy.Signature):
    """Compare a claim with a passage; the verdict's type is set for each number of labels."""

    context: str = dspy.InputField()
    passage: str = dspy.InputField()
    claim: str = dspy.InputField()
    verdict: str = dspy.OutputField()


class Verifier(Agent):
    """Verifies a claim against a passage, for citations and evidence.

    Args:
        n_labels: Number of possible verdicts (2, 3 or 4).
    """

    name = "verifier"

    def __init__(self, n_labels: int = 4) -> None:
        self._labels = VERDICT_SETS[n_labels]
        labels: Any = Literal[self._labels]  # pyright: ignore[reportInvalidTypeForm]
        signature = VerifyClaim.with_updated_fields("verdict", type_=labels)
        super().__init__(signature, PROMPTS[n_labels])

    def request(self, case: Case, claim: str, passage: EvidenceSpan | str) -> AgentRequest:
        """Request the comparison of a claim with a passage."""
        mark = find_fence_mark(case)
        text = passage if isinstance(passage, str) else passage.text
        return self.build_request(
            self._read_comparison,
            context=case.context,
            passage=fence_text(text, mark),
            claim=fence_text(claim, mark),
        )

    async def compare(self, case: Case, claim: str, passage: str) -> Comparison:
        """Verify a claim against a passage.

        Raises:
            ModelError: The model returned no valid reply.
        """
        return await self.ask(self.request(case, claim, passage))

    def _read_comparison(self, reply: dspy.Prediction, usage: Usage) -> Comparison:
        choice = SampledChoice.from_reply(reply, "verdict", self._labels)
        return Comparison(reply.verdict, usage=usage, **choice.sureness)


N_READ = 4
"""Number of sentences in a passage, including the title. In the SciFact training set, four
sentences include a rationale sentence for 85% of claims with a rationale, and three for 76%."""

LABELS: tuple[Verdict, ...] = VERDICT_SETS[4]

Label = Literal["supports", "contradicts", "neutral", "not_relevant"]


class CompareClaim(dspy.Signature):
    """A passage and a claim in, what the passage says of the claim out."""

    context: str = dspy.InputField()
    label: Label = dspy.OutputField()


class TunedVerifier(Agent):
    """Verifies a claim against a passage with a model trained by `ragassay finetune verifier`."""

    name = "tuned_verifier"
    signature = CompareClaim
    adapter = CompactAdapter()

    async def aforward(self, claim: str, sentences: Sequence[str]) -> Comparison:
        """Verify a claim against the sentences returned by `select_claim_passage`.

        Raises:
            ModelError: The model returned no valid reply.
        """
        if not sentences:
            return Comparison("not_relevant", None, Usage())
        return await self.ask(self.request(claim, sentences))

    def request(self, claim: str, sentences: Sequence[str]) -> AgentRequest:
        """Request the comparison of a claim with a passage of at least one sentence."""
        return self.build_request(_read_comparison, context=_build_context(claim, sentences))

    def build_messages(self, claim: str, sentences: Sequence[str]) -> list[dict[str, str]]:
        """Return the messages about a claim and a passage, which are also used for training."""
        inputs = {"context": _build_context(claim, sentences)}
        return self.adapter.format(self.predict.signature, [], inputs)


def _read_comparison(reply: dspy.Prediction, usage: Usage) -> Comparison:
    return Comparison(
        reply.label, usage=usage, **SampledChoice.from_reply(reply, "label", LABELS).sureness
    )


def _build_context(claim: str, sentences: Sequence[str]) -> str:
    words, mark = load_prompts().context, fence_mark([claim, *sentences], claim)
    passage = fence_text("\n".join(sentences), mark)
    return "\n".join([words.passage, passage, words.claim, fence_text(claim, mark)])


def select_claim_passage(
    claim: str,
    title: str,
    sentences: Sequence[str],
    embedder: TextEncoder,
    wanted: Sequence[int] = (),
) -> list[str]:
    """Return the sentences most similar to a claim, at most `N_READ`, in document order.

    Args:
        title: Title of the document, treated as a sentence. May be empty.
        sentences: Sentences of the document. May be empty.
        wanted: Indices of sentences to include before all others.
    """
    texts = [title, *sentences] if title else list(sentences)
    indices = {index + bool(title) for index in wanted}
    return select_closest_sentences(claim, texts, embedder, N_READ, indices)


N_TOKENS = 4
"""Token limit for a reply of "Yes" or "No"."""


async def check_by_chat(claim: str, passage: str) -> Comparison:
    """Ask the model configured in DSPy whether a passage supports a claim.

    Args:
        passage: The whole passage, which is not split.

    Returns:
        "supports" or "not_attributable", with a confidence if there are log-probabilities.

    Raises:
        ModelError: The call failed, or the reply is neither Yes nor No.
    """
    chat = load_verifier_kinds().facts.chat
    user = " ".join(passage.split()).join(fill_around_passage(chat.text, claim=claim))
    messages = [{"role": "system", "content": chat.system}, {"role": "user", "content": user}]
    lm = dspy.settings.lm
    with meter_calls() as meter:
        is_yes, share = await ModelCall(lm, messages, {"max_tokens": N_TOKENS}, _read_yes).draw()
    supports = is_yes if share is None else share > chat.threshold
    verdict = "supports" if supports else "not_attributable"
    if share is None:
        return Comparison(verdict, None, meter.usage)
    confidence = round(share if supports else 1 - share, 4)
    return Comparison(verdict, confidence, meter.usage, round_entropy((share, 1 - share)))


def _read_yes(reply: Mapping[str, Any]) -> tuple[bool, float | None]:
    """Return whether a reply is Yes, and the probability of Yes as the first token, if known."""
    word = reply["text"].strip().lower()
    if not word.startswith(("yes", "no")):
        raise UnparsableReplyError(f"the reply is neither Yes nor No: {reply['text'][:60]!r}")
    tokens: list[Any] = list(getattr(reply["logprobs"], "content", None) or ())
    options = (tokens[0].top_logprobs or ()) if tokens else ()
    if not options:
        return word.startswith("yes"), None
    yes = (math.exp(min(0.0, o.logprob)) for o in options if o.token.strip().lower() == "yes")
    return word.startswith("yes"), min(1.0, sum(yes))
