"""A verdict in a word, with the judge's confidence."""

from __future__ import annotations

from dataclasses import dataclass

from ragassay.records import Failure
from ragassay.reports.labels import Tone, label_text, label_tone, unscored_text
from ragassay.reports.text import format_share


@dataclass(frozen=True, slots=True)
class Chip:
    """A label, or why there is none; the judge's probability; the failure's detail or a note."""

    word: str
    tone: Tone
    confidence: str = ""
    detail: str = ""


def chip_of(
    label: str | None,
    confidence: float | None,
    failure: Failure | None,
    note: str = "",
    leaning: str | None = None,
) -> Chip:
    """Return the chip of a label, or of its failure; the note is its detail."""
    is_open = failure is not None and failure.reason == "undecided"
    return Chip(
        word=unscored_text(failure, leaning) if label is None else label_text(label),
        tone="undecided" if is_open else label_tone(label),
        confidence="" if confidence is None else format_share(confidence),
        detail=" ".join(part for part in (failure.detail if failure else "", note) if part),
    )
