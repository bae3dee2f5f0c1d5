"""The base of all records, and the label sets that several of them use."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Importance = Literal["vital", "okay"]
NuggetOrigin = Literal["gold", "answer", "reference"]
NuggetMethod = Literal["given", "model", "extractive"]
RelevanceLabel = Literal["required", "unnecessary", "borderline", "inappropriate"]
Verdict = Literal["supports", "contradicts", "neutral", "not_relevant", "not_attributable"]
CitationLabel = Literal[
    "supports", "contradicts", "neutral", "not_relevant", "not_attributable", "invalid"
]
EvidenceSide = Literal["for", "against"]
"""What evidence was looked for: what bears a sentence out, or what speaks against it."""
SearchEnd = Literal[
    "enough", "out_of_rounds", "out_of_tokens", "agent_done", "sources_only", "nowhere_to_search"
]
"""Why a search for evidence ended: a passage was close enough, the rounds or the tokens were used
up, the agent said so, there was no corpus beside the answer's sources, or neither."""
Assignment = Literal["support", "partial_support", "not_support"]
"""Whether an answer states a gold nugget (arXiv 2504.15068)."""
FailureReason = Literal[
    "rate_limit",
    "timeout",
    "server_error",
    "connection",
    "unparsable",
    "refused",
    "too_long",
    "no_evidence",
    "empty_answer",
    "error",
]
NOTHING_TO_JUDGE: tuple[FailureReason, ...] = ("no_evidence", "empty_answer")
"""Reasons that lie in the data: to ask again would not help."""

NOT_HAD = ("unscored", "escalation_failed")
"""Kinds of findings that say that a verdict could not be had; to ask again may help."""

RELEVANCE_LABELS: tuple[RelevanceLabel, ...] = (
    "required",
    "borderline",
    "unnecessary",
    "inappropriate",
)
PARTS = ("nuggets", "rubrics", "sentences", "evidence", "correctness", "citations")
"""What can be found out about an answer; a user's evaluator is a part of its own."""

ASSIGNMENTS: tuple[Assignment, ...] = ("support", "partial_support", "not_support")
VERDICTS: tuple[Verdict, ...] = ("supports", "contradicts", "neutral", "not_relevant")
VERDICT_SETS: dict[int, tuple[Verdict, ...]] = {
    2: ("supports", "not_attributable"),
    3: ("supports", "contradicts", "neutral"),
    4: VERDICTS,
}
"""The labels that a verdict is chosen from, by their number (BioACE, section 4.2)."""


class Frozen(BaseModel):
    """A value: immutable, and strict about its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)
