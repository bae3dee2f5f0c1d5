"""Label how much an answer needs a sentence (BioACE, section 4.1.2)."""

from __future__ import annotations

import dspy

from ragassay.agents.base import Agent, Request
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fenced, mark_of
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.records import (
    RELEVANCE_LABELS,
    AnswerSentence,
    Case,
    RelevanceLabel,
    SentenceLabel,
    Usage,
)


class LabelSentence(dspy.Signature):
    """Label a sentence of an answer."""

    context: str = dspy.InputField()
    sentence: str = dspy.InputField()
    label: RelevanceLabel = dspy.OutputField()


class SentenceLabeller(Agent):
    """Labels a sentence."""

    name = "sentence_labeller"

    def __init__(self) -> None:
        super().__init__(LabelSentence)

    def request(self, case: Case, sentence: AnswerSentence) -> Request:
        """Label one sentence of the case's answer."""

        def read(found: dspy.Prediction, usage: Usage) -> SentenceLabel:
            weights = choice_distribution(found.get("logprobs"), "label", RELEVANCE_LABELS)
            return SentenceLabel(
                sentence=sentence.index,
                label=found.label,
                confidence=round(weights[found.label], 4) if weights else None,
                entropy_bits=rounded_bits(weights.values() if weights else None),
                usage=usage,
            )

        marked = fenced(sentence.text, mark_of(case))
        return self.asking(read, context=case.context, sentence=marked)
