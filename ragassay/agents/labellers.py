"""Label nuggets as vital or stated, sentences as needed, and a judge's reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import build_context, fence_mark, fence_text, mark_of
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
    """A nugget's importance, with its probability; None where the model returns none."""

    importance: Importance
    confidence: float | None
    usage: Usage


class ImportanceScorer(Agent):
    """Labels the importance of one of a question's nuggets.

    One call a nugget; the nuggetizer labels ten at a time. Each call shows all nuggets as its
    shared prefix, so that one is compared with the others.
    """

    name = "importance_scorer"
    signature = ScoreImportance

    def request(self, question: str, facts: Sequence[str], position: int) -> AgentRequest:
        """Label one nugget.

        Args:
            facts: All nuggets.
            position: Its position (0-based).
        """
        mark, words = fence_mark([question, *facts]), load_prompts().context
        listed = "\n".join(f"- {fact}" for fact in facts)
        context = "\n".join(
            [words.question, fence_text(question, mark), words.facts, fence_text(listed, mark)]
        )
        return self.asking(
            _read_importance, context=context, fact=fence_text(facts[position], mark)
        )


def _read_importance(found: dspy.Prediction, usage: Usage) -> Scored:
    confidence = SampledChoice.of(found, "importance", IMPORTANCES).sureness["confidence"]
    return Scored(found.importance, confidence, usage)


class AssignNugget(dspy.Signature):
    """Say whether an answer states a nugget."""

    context: str = dspy.InputField()
    nugget: str = dspy.InputField()
    assignment: Assignment = dspy.OutputField()


class NuggetAssigner(Agent):
    """Labels whether the answer states a gold nugget.

    One call a nugget; the nuggetizer asks for ten at a time. The calls share their context as a
    prefix, so that ten cost little more than one; a small model loses count of ten labels; a failed
    reply costs one nugget, not ten; and each label has its own probability.
    """

    name = "nugget_assigner"
    signature = AssignNugget

    def request(self, case: Case, gold: int, nugget: Nugget) -> AgentRequest:
        """Label one gold nugget.

        Args:
            gold: Position of the nugget among the gold ones (0-based).
        """

        def read(found: dspy.Prediction, usage: Usage) -> NuggetAssignment:
            chosen = SampledChoice.of(found, "assignment", ASSIGNMENTS)
            return NuggetAssignment(
                gold=gold,
                assignment=found.assignment,
                usage=usage,
                **chosen.sureness,
            )

        marked = fence_text(nugget.text, mark_of(case))
        return self.asking(read, context=case.context, nugget=marked)


class LabelSentence(dspy.Signature):
    """Label a sentence of an answer."""

    context: str = dspy.InputField()
    sentence: str = dspy.InputField()
    label: RelevanceLabel = dspy.OutputField()


class SentenceLabeller(Agent):
    """Labels a sentence."""

    name = "sentence_labeller"
    signature = LabelSentence

    def request(self, case: Case, sentence: AnswerSentence) -> AgentRequest:
        """Label one sentence of the case's answer."""

        def read(found: dspy.Prediction, usage: Usage) -> SentenceLabel:
            chosen = SampledChoice.of(found, "label", RELEVANCE_LABELS)
            return SentenceLabel(
                sentence=sentence.index,
                label=found.label,
                usage=usage,
                **chosen.sureness,
            )

        marked = fence_text(sentence.text, mark_of(case))
        return self.asking(read, context=case.context, sentence=marked)


_WORDS = load_prompts().agents["rationale_auditor"]
Quote = Annotated[str, StringConstraints(max_length=_WORDS.answer_chars)]


def _signature() -> type[dspy.Signature]:
    fields: dict[str, Any] = {
        name: (str, dspy.InputField()) for name in ("context", "rubric", "rating", "reason")
    }
    for name in CRITERIA:
        fields[name] = (Literal["yes", "no"], dspy.OutputField())
        fields[f"{name}_quote"] = (Quote, dspy.OutputField())
    return dspy.make_signature(fields, _WORDS.task, signature_name="CheckReason")


@dataclass(frozen=True)
class ReasonLabels:
    """A model's labels of one reason.

    Attributes:
        labels: By criterion; None where the model saw a fault and could not show it.
        quotes: The words that show a fault, by criterion.
    """

    labels: Mapping[str, bool | None]
    quotes: Mapping[str, str]
    usage: Usage


class RationaleAuditor(Agent):
    """Labels a judge's reason by the six criteria in one call."""

    name = "rationale_auditor"
    signature = _signature()
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
        """Check a reason.

        Args:
            sources: Its sources, cut to what fits into a prompt.
            rubric: The rubric; its name where its text is not known.
            reason: The reason for it; untrusted.
        """

        def read(found: dspy.Prediction, usage: Usage) -> ReasonLabels:
            labels: dict[str, bool | None] = {}
            quotes: dict[str, str] = {}
            for name in CRITERIA:
                quote = str(found[f"{name}_quote"]).strip()
                is_shown = any(find_quote(quote, text) for text in (reason, answer))
                labels[name] = (True if is_shown else None) if found[name] == "yes" else False
                if labels[name]:
                    quotes[name] = quote
            return ReasonLabels(labels, quotes, usage)

        mark = fence_mark([question, answer, reason, *(s.title + s.text for s in sources)])
        return self.asking(
            read,
            context=build_context(question, answer, sources, mark),
            rubric=rubric if isinstance(rubric, str) else rubric.render(),
            rating=str(rating),
            reason=fence_text(reason, mark),
        )
