"""The base of all records, and the label sets that several of them use."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Importance = Literal["vital", "okay"]
NuggetOrigin = Literal["gold", "answer", "reference"]
NuggetMethod = Literal["given", "model", "extractive"]
RelevanceLabel = Literal["required", "unnecessary", "borderline", "inappropriate"]
Verdict = Literal["supports", "contradicts", "neutral", "not_relevant"]
CitationLabel = Literal["supports", "contradicts", "neutral", "not_relevant", "invalid"]
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

RELEVANCE_LABELS: tuple[RelevanceLabel, ...] = (
    "required",
    "borderline",
    "unnecessary",
    "inappropriate",
)
VERDICTS: tuple[Verdict, ...] = ("supports", "contradicts", "neutral", "not_relevant")


class Frozen(BaseModel):
    """A value: immutable, and strict about its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)
