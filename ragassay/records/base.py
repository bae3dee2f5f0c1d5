"""The base class of all records, and shared label sets."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

Importance = Literal["vital", "okay"]
NuggetOrigin = Literal["gold", "answer", "reference"]
NuggetMethod = Literal["given", "model", "extractive", "clause"]
ItemKind = Literal["question", "nugget"]
"""The kinds of items of a test bank."""
RelevanceLabel = Literal["required", "unnecessary", "borderline", "inappropriate"]
Verdict = Literal["supports", "contradicts", "neutral", "not_relevant", "not_attributable"]
CitationLabel = Literal[
    "supports", "contradicts", "neutral", "not_relevant", "not_attributable", "invalid"
]
EvidenceSide = Literal["for", "against"]
"""The side of evidence: for the sentence, or against it."""
SearchEnd = Literal[
    "enough",
    "closest_passages",
    "out_of_rounds",
    "out_of_tokens",
    "agent_done",
    "sources_only",
    "nowhere_to_search",
]
"""Why a search for evidence ended: the judge said that the passages are enough, no judge was to say
so and the closest passages were taken, the rounds or the tokens were used up, the agent stopped,
there was no corpus besides the answer's sources, or neither."""
Assignment = Literal["support", "partial_support", "not_support"]
"""Labels of a gold nugget in an answer (arXiv 2504.15068)."""
FailureReason = Literal[
    "rate_limit",
    "timeout",
    "server_error",
    "connection",
    "unparsable",
    "cut",
    "refused",
    "too_long",
    "no_evidence",
    "unresolved",
    "empty_answer",
    "undecided",
    "error",
]
"""Why a verdict is missing; "undecided": the judge said that it cannot tell; "unresolved": nothing
tells what a citation points to."""
MissingState = Literal["undecided", "unscored"]
"""The state of a missing verdict: the judge cannot tell, or for any other reason there is none."""
VerdictState = Literal["decided"] | MissingState
NOTHING_TO_JUDGE: tuple[FailureReason, ...] = ("no_evidence", "unresolved", "empty_answer")
"""Reasons that lie in the data: asking again would not help."""

NO_FAULT: tuple[FailureReason, ...] = (*NOTHING_TO_JUDGE, "undecided")
"""Reasons that are no fault of a run."""

CALL_FAULTS: tuple[FailureReason, ...] = (
    *("rate_limit", "timeout", "server_error", "connection"),
    *("unparsable", "cut", "refused", "too_long"),
)
"""Reasons that a model's call gives."""

UNSCORED_KINDS = ("unscored", "escalation_failed")
"""Kinds of findings that report a missing verdict; asking again may help."""

RELEVANCE_LABELS: tuple[RelevanceLabel, ...] = (
    "required",
    "borderline",
    "unnecessary",
    "inappropriate",
)
PARTS = (
    *("nuggets", "rubrics", "sentences", "evidence", "correctness", "citations", "grades"),
    *("racar", "intents"),
)
"""The parts of an evaluation; a user's evaluator is a part of its own."""

ASSIGNMENTS: tuple[Assignment, ...] = ("support", "partial_support", "not_support")
VERDICTS: tuple[Verdict, ...] = ("supports", "contradicts", "neutral", "not_relevant")
VERDICT_SETS: dict[int, tuple[Verdict, ...]] = {
    2: ("supports", "not_attributable"),
    3: ("supports", "contradicts", "neutral"),
    4: VERDICTS,
}
"""The labels to choose a verdict from, by their number (BioACE, section 4.2)."""


class Frozen(BaseModel):
    """An immutable record that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


SchemaVersion = Literal[2]
"""The version of the JSON written. Files of version 1, which do not name theirs, are read."""


def renamed_field(name: str, name_in_version_1: str, **options: Any) -> Any:
    """Return a field that is also read under its name in files of version 1."""
    return Field(validation_alias=AliasChoices(name, name_in_version_1), **options)
