"""A verdict in a word, with the judge's confidence."""

from __future__ import annotations

from dataclasses import dataclass

from ragassay.records import Failure
from ragassay.reports.labels import Tone, label_text, label_tone, unscored_text
from ragassay.reports.text import format_share


@dataclass(frozen=True, slots=True)
class Chip:
    """A label or "unscored (reason)"; the judge's probability; the failure's detail or a note."""

    word: str
    tone: Tone
    confidence: str = ""
    detail: str = ""


def chip_of(
    label: str | None, confidence: float | None, failure: Failure | None, note: str = ""
) -> Chip:
    """Return the chip of a label, or of its failure; the note is its detail."""
    return Chip(
        word=unscored_text(failure) if label is None else label_text(label),
        tone=label_tone(label),
        confidence="" if confidence is None else format_share(confidence),
        detail=" ".join(part for part in (failure.detail if failure else "", note) if part),
    )
