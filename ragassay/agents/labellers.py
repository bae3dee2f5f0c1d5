"""Agents that label nuggets, sentences and judges' rationales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import build_context, fence_mark, fence_text, find_fence_mark
from ragassay.agents.sampling import SampledChoice
from ragassay.metrics.papers.rationales import CRITERIA
from ragassay.prompts import Rubric, load_prompts
from ragassay.records import (
    ASSIGNMENTS,
    RELEVANCE_LABELS,
    AnswerSentence,
    Assignment,
    Case,
    Document,
    Importance,
    Nugget,
    NuggetAssignment,
    RelevanceLabel,
    SentenceLabel,
    Usage,
)
from ragassay.text.grounding import find_quote

IMPORTANCES: tuple[Importance, ...] = get_args(Importance)


class ScoreImportance(dspy.Signature):
    """Say how important a fact is."""

    context: str = dspy.InputField()
    fact: str = dspy.InputField()
    importance: Importance = dspy.OutputField()


@dataclass(frozen=True)
class Scored:
    """Importance of a nugget and its probability, or None if the probability is unknown."""

    importance: Importance
    confidence: float | None
    usage: Usage


class ImportanceScorer(Agent):
    """Labels the importance of a nugget.

    Each call labels one nugget, while AutoNuggetizer labels ten. The prompt shows all nuggets for
    comparison.
    """

    name = "importance_scorer"
    signature = ScoreImportance

    def request(self, question: str, facts: Sequence[str], position: int) -> AgentRequest:
        """Request the importance of one nugget."""
        mark, words = fence_mark([question, *facts]), load_prompts().context
        listed = "\n".join(f"- {fact}" for fact in facts)
        context = "\n".join(
            [words.question, fence_text(question, mark), words.facts, fence_text(listed, mark)]
        )
        return self.build_request(
            _read_importance, context=context, fact=fence_text(facts[position], mark)
        )


def _read_importance(reply: dspy.Prediction, usage: Usage) -> Scored:
    confidence = SampledChoice.from_reply(reply, "importance", IMPORTANCES).sureness["confidence"]
    return Scored(reply.importance, confidence, usage)


class AssignNugget(dspy.Signature):
    """Say whether an answer states a nugget."""

    context: str = dspy.InputField()
    nugget: str = dspy.InputField()
    assignment: Assignment = dspy.OutputField()


class NuggetAssigner(Agent):
    """Labels whether the answer states a gold nugget.

    Each call labels one nugget, while AutoNuggetizer labels ten. With one nugget per call, each
    label has a probability, small models do not lose count, and a failed reply affects a single
    nugget. The prompts for an answer start with the same text, which providers can cache.
    """

    name = "nugget_assigner"
    signature = AssignNugget

    def request(self, case: Case, gold: int, nugget: Nugget) -> AgentRequest:
        """Request the label of one gold nugget."""

        def read(reply: dspy.Prediction, usage: Usage) -> NuggetAssignment:
            choice = SampledChoice.from_reply(reply, "assignment", ASSIGNMENTS)
            return NuggetAssignment(
                gold=gold, assignment=reply.assignment, usage=usage, **choice.sureness
            )

        fenced = fence_text(nugget.text, find_fence_mark(case))
        return self.build_request(read, context=case.context, nugget=fenced)


class LabelSentence(dspy.Signature):
    """Label a sentence of an answer."""

    context: str = dspy.InputField()
    sentence: str = dspy.InputField()
    label: RelevanceLabel = dspy.OutputField()


class SentenceLabeller(Agent):
    """Labels whether the answer needs a sentence."""

    name = "sentence_labeller"
    signature = LabelSentence

    def request(self, case: Case, sentence: AnswerSentence) -> AgentRequest:
        """Request the label of one sentence in the answer."""

        def read(reply: dspy.Prediction, usage: Usage) -> SentenceLabel:
            choice = SampledChoice.from_reply(reply, "label", RELEVANCE_LABELS)
            return SentenceLabel(
                sentence=sentence.index, label=reply.label, usage=usage, **choice.sureness
            )

        fenced = fence_text(sentence.text, find_fence_mark(case))
        return self.build_request(read, context=case.context, sentence=fenced)


_WORDS = load_prompts().agents["rationale_auditor"]
Quote = Annotated[str, StringConstraints(max_length=_WORDS.answer_chars)]


def _build_signature() -> type[dspy.Signature]:
    fields: dict[str, Any] = {
        name: (str, dspy.InputField()) for name in ("context", "rubric", "rating", "reason")
    }
    for name in CRITERIA:
        fields[name] = (Literal["yes", "no"], dspy.OutputField())
        fields[f"{name}_quote"] = (Quote, dspy.OutputField())
    return dspy.make_signature(fields, _WORDS.task, signature_name="CheckReason")


@dataclass(frozen=True)
class ReasonLabels:
    """Labels of one rationale.

    Attributes:
        labels: Whether the rationale has a fault, keyed by criterion, or None if the model found a
            fault but its quote is in neither the rationale nor the answer.
        quotes: Quotes that show a fault, keyed by criterion.
    """

    labels: Mapping[str, bool | None]
    quotes: Mapping[str, str]
    usage: Usage


class RationaleAuditor(Agent):
    """Labels a judge's rationale on six criteria in one call."""

    name = "rationale_auditor"
    signature = _build_signature()
    wants_logprobs = False

    def request(
        self,
        question: str,
        answer: str,
        sources: Sequence[Document],
        rubric: Rubric | str,
        rating: int,
        reason: str,
    ) -> AgentRequest:
        """Request the labels of a rationale.

        Args:
            sources: Sources, shortened to fit into a prompt.
            rubric: Rubric, or only the rubric's name if the text is unknown.
            reason: Rationale written by the judge (untrusted text).
        """

        def read(reply: dspy.Prediction, usage: Usage) -> ReasonLabels:
            labels: dict[str, bool | None] = {}
            quotes: dict[str, str] = {}
            for name in CRITERIA:
                quote = str(reply[f"{name}_quote"]).strip()
                is_quoted = any(find_quote(quote, text) for text in (reason, answer))
                labels[name] = (is_quoted or None) if reply[name] == "yes" else False
                if labels[name]:
                    quotes[name] = quote
            return ReasonLabels(labels, quotes, usage)

        mark = fence_mark([question, answer, reason, *(s.title + s.text for s in sources)])
        return self.build_request(
            read,
            context=build_context(question, answer, sources, mark),
            rubric=rubric if isinstance(rubric, str) else rubric.render(),
            rating=str(rating),
            reason=fence_text(reason, mark),
        )
