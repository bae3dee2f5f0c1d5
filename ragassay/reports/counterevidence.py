"""Say beside a rating what verdicts on sentences have against it.

Signals rate an answer from other measurements than those that a verifier decides by. Both stand in
the report; where a reader would see a contradiction, the words beside the rating name it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.prompts.texts import load_signals
from ragassay.records import Evaluation, Finding, Judgment
from ragassay.reports.labels import CONTRADICTED
from ragassay.reports.sentence_view import CONTRADICTS, SUPPORTS, Compared
from ragassay.reports.text import join_words

ABOUT_SOURCES = "correctness"
"""The rubric that sources decide."""

_UNSUPPORTED = ("contradiction", "entailment", "source_support", "cited_support")
"""Signals whose reason says that sources do not support a sentence."""


def otherwise_text(judgment: Judgment, evaluation: Evaluation) -> str:
    """Say what verdicts on sentences have against a rating and its reason; "" where nothing.

    Only of the rubric that sources decide: "Yet a source may contradict sentence 1."
    """
    if judgment.rubric != ABOUT_SOURCES or judgment.rating is None:
        return ""
    return " ".join(
        filter(
            None, (_contradicted_text(judgment, evaluation), _supported_text(judgment, evaluation))
        )
    )


def _contradicted_text(judgment: Judgment, evaluation: Evaluation) -> str:
    """Name the contradicted sentences that the highest rating does not know of."""
    is_clear = judgment.rationale == load_signals().reasons.none
    if not is_clear and judgment.rating != judgment.scale[1]:
        return ""
    found = [
        one
        for one in evaluation.findings
        if one.kind in CONTRADICTED and one.sentence and one.sentence not in judgment.sentences
    ]
    leading = [one for one in found if one.level == "primary"]
    return _yet("a source contradicts" if leading else "a source may contradict", leading or found)


def _supported_text(judgment: Judgment, evaluation: Evaluation) -> str:
    """Name the supported sentences that the reason calls unsupported."""
    reasons = load_signals().reasons.sentence
    compared: Sequence[Compared] = (*evaluation.citations, *evaluation.evidence)
    named = [
        n
        for n in judgment.sentences
        if any(reasons[name].format(n=n) in judgment.rationale for name in _UNSUPPORTED)
        and (values := {one.value for one in compared if one.sentence == n})
        and SUPPORTS in values
        and CONTRADICTS not in values
    ]
    return _sentence("a passage supports", named)


def _yet(words: str, findings: Sequence[Finding]) -> str:
    return _sentence(words, sorted({one.sentence for one in findings if one.sentence}))


def _sentence(words: str, numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    noun = "sentence" if len(numbers) == 1 else "sentences"
    return f"Yet {words} {noun} {join_words(map(str, numbers))}."
