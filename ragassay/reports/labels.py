"""Titles and order of finding kinds, and functions that make text safe to display."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from ragassay.records import Finding, FindingLevel, Outlined
from ragassay.reports.display import format_label
from ragassay.safe_text import CONTROLS, REORDERING

Severity = Literal["serious", "caution", "note"]


class FindingDisplay(NamedTuple):
    """The singular title, plural title and severity of a kind of finding."""

    singular: str
    plural: str
    severity: Severity


REFUSAL = "refusal"

# In display order.
FINDINGS: dict[str, FindingDisplay] = {
    "other_language": FindingDisplay(
        "Answer in a different language from its question",
        "Answers in a different language from their questions",
        "serious",
    ),
    "cut_off_answer": FindingDisplay(
        "Answer that ends mid-sentence", "Answers that end mid-sentence", "serious"
    ),
    REFUSAL: FindingDisplay("Refusal to answer", "Refusals to answer", "caution"),
    "inappropriate_sentence": FindingDisplay(
        "Inappropriate sentence", "Inappropriate sentences", "serious"
    ),
    "contradicted_citation": FindingDisplay(
        "Contradicted citation", "Contradicted citations", "serious"
    ),
    "contradicted_sentence": FindingDisplay(
        "Contradicted sentence", "Contradicted sentences", "serious"
    ),
    "contradicted_evidence": FindingDisplay(
        "Sentence contradicted by the evidence",
        "Sentences contradicted by the evidence",
        "serious",
    ),
    "retracted_citation": FindingDisplay(
        "Citation of a retracted article", "Citations of retracted articles", "serious"
    ),
    "invalid_citation": FindingDisplay("Invalid citation", "Invalid citations", "serious"),
    "unresolved_citation": FindingDisplay(
        "Citation that could not be resolved", "Citations that could not be resolved", "caution"
    ),
    "ambiguous_citation": FindingDisplay(
        "Ambiguous citation number", "Ambiguous citation numbers", "caution"
    ),
    "irrelevant_citation": FindingDisplay("Off-topic citation", "Off-topic citations", "serious"),
    "number_not_in_source": FindingDisplay(
        "Sentence with a number missing from its sources",
        "Sentences with numbers missing from their sources",
        "caution",
    ),
    "missed_nugget": FindingDisplay(
        "Answer that misses facts", "Answers that miss facts", "caution"
    ),
    "one_source_cited": FindingDisplay(
        "Answer that cites only one source",
        "Answers that cite only one source",
        "caution",
    ),
    "uncited_sentence": FindingDisplay(
        "Answer with uncited sentences", "Answers with uncited sentences", "note"
    ),
    "later_citation": FindingDisplay(
        "Citation of an article published after the answer",
        "Citations of articles published after the answer",
        "serious",
    ),
    "concern_citation": FindingDisplay(
        "Citation of an article with an expression of concern",
        "Citations of articles with an expression of concern",
        "caution",
    ),
    # Not serious: the corpus may cover only part of PubMed.
    "unknown_citation": FindingDisplay("Unknown citation", "Unknown citations", "caution"),
    "corrected_citation": FindingDisplay(
        "Citation of a corrected article", "Citations of corrected articles", "note"
    ),
    "preprint_citation": FindingDisplay("Citation of a preprint", "Citations of preprints", "note"),
    "unscored": FindingDisplay("Unscored verdict", "Unscored verdicts", "caution"),
    "escalation_failed": FindingDisplay(
        "Answer with failed verdicts of the second judge",
        "Answers with failed verdicts of the second judge",
        "caution",
    ),
    "no_evidence": FindingDisplay(
        "Answer with claims that lack evidence", "Answers with claims that lack evidence", "note"
    ),
    "nowhere_to_search": FindingDisplay(
        "Answer without sources to search", "Answers without sources to search", "caution"
    ),
    "search_without_queries": FindingDisplay(
        "Search without queries written by the model",
        "Searches without queries written by the model",
        "caution",
    ),
    "search_not_judged": FindingDisplay(
        "Search whose passages were not judged",
        "Searches whose passages were not judged",
        "caution",
    ),
    "withdrawn_evidence": FindingDisplay(
        "Answer for which retracted evidence was excluded",
        "Answers for which retracted evidence was excluded",
        "note",
    ),
    "empty_answer": FindingDisplay("Empty answer", "Empty answers", "caution"),
    "source_speaks_to_judge": FindingDisplay(
        "Source that contains instructions to the judge",
        "Sources that contain instructions to the judge",
        "caution",
    ),
    "sources_cut": FindingDisplay("Truncated source list", "Truncated source lists", "caution"),
    "extractive_nugget": FindingDisplay("Extractive nugget", "Extractive nuggets", "note"),
}

CONTRADICTED = frozenset({"contradicted_citation", "contradicted_sentence"})
"""Finding kinds for sentences that a document contradicts."""

JUDGED = CONTRADICTED | frozenset(
    {
        "inappropriate_sentence",
        "contradicted_evidence",
        "irrelevant_citation",
        "number_not_in_source",
    }
)
"""Finding kinds that depend on a model's judgment, which may be wrong."""

_SPACES = dict.fromkeys((0x09, 0x0A, 0x0D, 0x2028, 0x2029), " ")
_ONE_LINE = dict.fromkeys((*CONTROLS, *REORDERING), "\ufffd") | _SPACES
_PAGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def find_finding_title(kind: str, n: int = 2) -> str:
    """Return the title of a kind of finding, in the singular if `n` is 1."""
    known = FINDINGS.get(kind)
    if known:
        return known.singular if n == 1 else known.plural
    return format_label(kind)[:1].upper() + format_label(kind)[1:]


POSSIBLE = {
    "inappropriate_sentence": (
        "possibly inappropriate sentence",
        "possibly inappropriate sentences",
    ),
    "contradicted_citation": ("possibly contradicted citation", "possibly contradicted citations"),
    "contradicted_sentence": ("possibly contradicted sentence", "possibly contradicted sentences"),
    "contradicted_evidence": (
        "sentence possibly contradicted by the evidence",
        "sentences possibly contradicted by the evidence",
    ),
    "irrelevant_citation": ("possibly off-topic citation", "possibly off-topic citations"),
}
"""Singular and plural titles of uncertain findings by kind."""


def find_possible_title(kind: str, n: int = 2) -> str:
    """Return the title of a finding kind for secondary findings, which are uncertain.

    Example:
        >>> find_possible_title("contradicted_citation", 1), find_possible_title("missed_nugget", 1)
        ('Possibly contradicted citation', 'Answer that misses facts')
    """
    title = POSSIBLE[kind][n != 1] if kind in POSSIBLE else find_finding_title(kind, n)
    return title[:1].upper() + title[1:]


def find_severity(kind: str) -> Severity:
    """Return the severity of a finding kind, or "caution" if the kind is unknown."""
    known = FINDINGS.get(kind)
    return known.severity if known else "caution"


def describe_finding_place(finding: Finding) -> str:
    """Return a location such as "sentence 4", or "" if the message already includes it."""
    location = f"sentence {finding.sentence}" if finding.sentence else ""
    is_in_message = re.search(rf"\b{location}\b", finding.message, re.IGNORECASE)
    return "" if is_in_message else location


def is_serious(kind: str) -> bool:
    """Return whether findings of this kind appear in the headline."""
    return find_severity(kind) == "serious"


N_SECONDARY = 5
"""Maximum number of secondary findings shown per answer."""


def select_shown_findings(evaluation: Outlined, level: FindingLevel) -> tuple[Finding, ...]:
    """Return all primary findings, or the `N_SECONDARY` most likely secondary findings."""
    return (
        evaluation.primary_findings
        if level == "primary"
        else evaluation.secondary_findings[:N_SECONDARY]
    )


def rank_finding_kind(kind: str) -> tuple[int, str]:
    """Return a key that sorts finding kinds as in `FINDINGS`, and unknown kinds before notes."""
    kinds = list(FINDINGS)
    notes = sum(FINDINGS[k].severity == "note" for k in kinds)
    return (2 * kinds.index(kind) if kind in FINDINGS else 2 * (len(kinds) - notes) - 1, kind)


def flatten_text(text: str) -> str:
    """Put untrusted text on one line, and replace control and bidirectional characters."""
    return text.translate(_ONE_LINE)


def replace_controls(page: str) -> str:
    """Replace control characters, which HTML forbids, except tabs and line breaks."""
    return _PAGE.sub("\ufffd", page)
