"""Check a judge's reason by six criteria (YESciEval, appendix C; Kim et al. 2023).

The prompt is ours. Each fault that is found comes with a quote, which must stand in the reason or
in the answer: what a model cannot show is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.context import build_context, fence_mark, fenced
from ragassay.metrics.rationales import CRITERIA
from ragassay.prompts import Rubric, load_prompts
from ragassay.records import Document, Usage
from ragassay.text.quotes import find_quote

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
        usage: The cost.
    """

    labels: Mapping[str, bool | None]
    quotes: Mapping[str, str]
    usage: Usage


class RationaleAuditor(Agent):
    """Labels a judge's reason by the six criteria in one call."""

    name = "rationale_auditor"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(_signature())

    def request(
        self,
        question: str,
        answer: str,
        sources: Sequence[Document],
        rubric: Rubric | str,
        rating: int,
        reason: str,
    ) -> Request:
        """Check a reason.

        Args:
            question: The question.
            answer: The answer that was rated.
            sources: Its sources, cut to what fits into a prompt.
            rubric: The rubric; its name where its text is not known.
            rating: The rating.
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
            rubric=rubric if isinstance(rubric, str) else rubric.rendered(),
            rating=str(rating),
            reason=fenced(reason, mark),
        )
