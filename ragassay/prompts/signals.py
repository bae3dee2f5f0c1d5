"""Signals: their names, the rubrics that use them, and their wording for a judge."""

from __future__ import annotations

import functools
from typing import Literal

import yaml

from ragassay.prompts.texts import prompt_text
from ragassay.records.base import Frozen

SIGNALS_FILE = "signals.yaml"


class AnswerSignal(Frozen):
    """A measure of an answer as a whole.

    Attributes:
        about: Its name in words.
        better: Whether a good answer has more or less of it.
        shown: The measure shown to a reader in its place; empty for itself.
    """

    about: str
    better: Literal["high", "low"]
    shown: str = ""


class RubricSignals(Frozen):
    """The signals of a rubric.

    Attributes:
        shown: Measures of sentences shown to a judge, the most informative first.
        rated: Measures of the answer that the embedded judge rates with.
        needs_sources: Whether the embedded judge cannot rate an answer without sources.
    """

    shown: tuple[str, ...]
    rated: tuple[str, ...]
    needs_sources: bool = False


class ReasonWords(Frozen):
    """Wording of the embedded judge's reasons.

    Attributes:
        none: Where nothing lowers a rating.
        twin: Where two sentences are alike.
        sentence: By the measure of a sentence.
        answer: By the signal of an answer that summarises no such measure.
    """

    none: str
    twin: str
    sentence: dict[str, str]
    answer: dict[str, str]


class SignalWords(Frozen):
    """All texts about signals.

    Attributes:
        sentence: Names of the measures of a sentence.
        answer: The measures of an answer.
        gap: Name for a source's sentence that the answer does not cover.
        rubrics: The signals of each rubric.
        reasons: How the embedded judge gives its reasons.
    """

    version: int
    sentence: dict[str, str]
    answer: dict[str, AnswerSignal]
    gap: str
    rubrics: dict[str, RubricSignals]
    reasons: ReasonWords


@functools.cache
def load_signals() -> SignalWords:
    """Load the signals that the package ships."""
    return SignalWords.model_validate(yaml.safe_load(prompt_text(SIGNALS_FILE)))
