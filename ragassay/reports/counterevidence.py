"""Write notes on ratings that conflict with verdicts on sentences.

Signals and the verifier use different measurements, so they may disagree. If they disagree, the
report explains the disagreement next to the rating.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.prompts.texts import load_signals
from ragassay.records import Evaluation, Judgment
from ragassay.reports.labels import CONTRADICTED
from ragassay.reports.sentence_view import CONTRADICTS, SUPPORTS, Compared
from ragassay.reports.text import join_words

ABOUT_SOURCES = "correctness"
"""The only rubric that compares the answer with the sources."""

_UNSUPPORTED = ("contradiction", "entailment", "source_support", "cited_support")
"""Signals that lower a rating because the sources do not support the answer."""


def describe_conflicts(judgment: Judgment, evaluation: Evaluation) -> str:
    """Describe the verdicts on sentences that conflict with a rating, or return "" if none do.

    Only the correctness rubric is checked. Example: "However, a source may contradict sentence 1."
    """
    if judgment.rubric != ABOUT_SOURCES or judgment.rating is None:
        return ""
    texts = (
        _describe_contradicted(judgment, evaluation),
        _describe_supported(judgment, evaluation),
    )
    return " ".join(filter(None, texts))


def _describe_contradicted(judgment: Judgment, evaluation: Evaluation) -> str:
    is_uncritical = judgment.rationale == load_signals().reasons.none
    if not is_uncritical and judgment.rating != judgment.scale[1]:
        return ""
    findings = [
        f
        for f in evaluation.findings
        if f.kind in CONTRADICTED and f.sentence and f.sentence not in judgment.sentences
    ]
    primary = [finding for finding in findings if finding.level == "primary"]
    numbers = {finding.sentence for finding in primary or findings if finding.sentence}
    verb = "contradicts" if primary else "may contradict"
    return _format_conflict(f"a source {verb}", sorted(numbers))


def _describe_supported(judgment: Judgment, evaluation: Evaluation) -> str:
    reasons = load_signals().reasons.sentence
    compared: Sequence[Compared] = (*evaluation.citations, *evaluation.evidence)
    numbers = [
        n
        for n in judgment.sentences
        if any(reasons[name].format(n=n) in judgment.rationale for name in _UNSUPPORTED)
        and (values := {verdict.value for verdict in compared if verdict.sentence == n})
        and SUPPORTS in values
        and CONTRADICTS not in values
    ]
    return _format_conflict("a passage supports", numbers)


def _format_conflict(clause: str, numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    noun = "sentence" if len(numbers) == 1 else "sentences"
    return f"However, {clause} {noun} {join_words(map(str, numbers))}."
