"""Base class of all records, and shared label sets."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

Importance = Literal["vital", "okay"]
NuggetOrigin = Literal["gold", "answer", "reference"]
NuggetMethod = Literal["given", "model", "extractive", "clause"]
ItemKind = Literal["question", "nugget"]
"""Kind of a test bank item."""
RelevanceLabel = Literal["required", "unnecessary", "borderline", "inappropriate"]
Verdict = Literal["supports", "contradicts", "neutral", "not_relevant", "not_attributable"]
CitationLabel = Literal[
    "supports", "contradicts", "neutral", "not_relevant", "not_attributable", "invalid"
]
EvidenceSide = Literal["for", "against"]
"""Side of a search, which looks for evidence either for or against a sentence."""
SearchEnd = Literal[
    "enough",
    "closest_passages",
    "out_of_rounds",
    "out_of_tokens",
    "agent_done",
    "sources_only",
    "nowhere_to_search",
]
"""Reason why an evidence search ended.

- enough: the judge found the passages sufficient
- closest_passages: there was no judge, so the most similar passages were used
- out_of_rounds, out_of_tokens: a limit was reached
- agent_done: the agent stopped
- sources_only: there was no corpus, so only the sources of the answer were searched
- nowhere_to_search: there were neither sources nor a corpus"""
Assignment = Literal["support", "partial_support", "not_support"]
"""Degree to which an answer supports a gold nugget (arXiv 2504.15068)."""
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
"""Reason why a verdict is missing. "undecided" means that the judge was not confident enough, and
"unresolved" that a citation could not be matched to a document."""
MissingState = Literal["undecided", "unscored"]
"""State of a missing verdict: "undecided" if that is the reason, "unscored" for other reasons."""
VerdictState = Literal["decided"] | MissingState
NOTHING_TO_JUDGE: tuple[FailureReason, ...] = ("no_evidence", "unresolved", "empty_answer")
"""Reasons for a missing verdict that lie in the input data, so that a retry is useless."""

NO_FAULT: tuple[FailureReason, ...] = (*NOTHING_TO_JUDGE, "undecided")
"""Reasons for a missing verdict that do not count as failures of the run."""

CALL_FAULTS: tuple[FailureReason, ...] = (
    *("rate_limit", "timeout", "server_error", "connection"),
    *("unparsable", "cut", "refused", "too_long"),
)
"""Reasons for a missing verdict that lie in a failed model call."""

UNSCORED_KINDS = ("unscored", "escalation_failed")
"""Kinds of findings that report missing verdicts, which a retry may supply."""

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
"""Parts of an evaluation. Each user-defined evaluator adds a part."""

ASSIGNMENTS: tuple[Assignment, ...] = ("support", "partial_support", "not_support")
VERDICTS: tuple[Verdict, ...] = ("supports", "contradicts", "neutral", "not_relevant")
VERDICT_SETS: dict[int, tuple[Verdict, ...]] = {
    2: ("supports", "not_attributable"),
    3: ("supports", "contradicts", "neutral"),
    4: VERDICTS,
}
"""Labels of a verdict, keyed by their number (BioACE, section 4.2)."""


class Frozen(BaseModel):
    """Immutable model that forbids unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


SchemaVersion = Literal[2]
"""Version of the JSON format of run folders. Files of version 1 have no version field and can still
be read."""


def define_renamed_field(name: str, name_in_version_1: str, **options: Any) -> Any:
    """Return a field that can also be read under its old name, as in files of version 1."""
    return Field(validation_alias=AliasChoices(name, name_in_version_1), **options)
