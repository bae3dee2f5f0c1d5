"""The kinds of findings in words and in reading order; text made safe to show."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from ragassay.records import Finding, FindingLevel, Outlined
from ragassay.reports.display import label_text
from ragassay.safe_text import CONTROLS, REORDERING

Severity = Literal["serious", "caution", "note"]


class FindingDisplay(NamedTuple):
    """Singular, plural and severity of a kind of finding."""

    singular: str
    plural: str
    severity: Severity


REFUSAL = "refusal"

# In reading order.
FINDINGS: dict[str, FindingDisplay] = {
    "other_language": FindingDisplay(
        "Answer in another language than its question",
        "Answers in another language than their questions",
        "serious",
    ),
    "cut_off_answer": FindingDisplay(
        "Answer that stops within a sentence", "Answers that stop within a sentence", "serious"
    ),
    REFUSAL: FindingDisplay(
        "Answer that gives no answer", "Answers that give no answer", "caution"
    ),
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
        "Sentence against the evidence", "Sentences against the evidence", "serious"
    ),
    "retracted_citation": FindingDisplay(
        "Citation of a retracted article", "Citations of retracted articles", "serious"
    ),
    "invalid_citation": FindingDisplay("Invalid citation", "Invalid citations", "serious"),
    "unresolved_citation": FindingDisplay(
        "Citation that could not be resolved", "Citations that could not be resolved", "caution"
    ),
    "ambiguous_citation": FindingDisplay(
        "Number of a citation with two meanings",
        "Numbers of citations with two meanings",
        "caution",
    ),
    "irrelevant_citation": FindingDisplay(
        "Citation about something else", "Citations about something else", "serious"
    ),
    "number_not_in_source": FindingDisplay(
        "Sentence with a number that its sources do not state",
        "Sentences with numbers that their sources do not state",
        "caution",
    ),
    "missed_nugget": FindingDisplay(
        "Answer that misses facts", "Answers that miss facts", "caution"
    ),
    "one_source_cited": FindingDisplay(
        "Answer that cites one source for everything",
        "Answers that cite one source for everything",
        "caution",
    ),
    "uncited_sentence": FindingDisplay(
        "Answer with sentences that cite nothing",
        "Answers with sentences that cite nothing",
        "note",
    ),
    "later_citation": FindingDisplay(
        "Citation of an article younger than the answer",
        "Citations of articles younger than the answer",
        "serious",
    ),
    "concern_citation": FindingDisplay(
        "Citation under an expression of concern",
        "Citations under an expression of concern",
        "caution",
    ),
    # A corpus may be a part of PubMed, and the answer's own sources may include the article.
    "unknown_citation": FindingDisplay("Unknown citation", "Unknown citations", "caution"),
    "corrected_citation": FindingDisplay(
        "Citation of a corrected article", "Citations of corrected articles", "note"
    ),
    "preprint_citation": FindingDisplay("Citation of a preprint", "Citations of preprints", "note"),
    "unscored": FindingDisplay("Unscored verdict", "Unscored verdicts", "caution"),
    "escalation_failed": FindingDisplay(
        "Answer with verdicts that the second judge did not give",
        "Answers with verdicts that the second judge did not give",
        "caution",
    ),
    "no_evidence": FindingDisplay(
        "Answer with claims without a passage", "Answers with claims without a passage", "note"
    ),
    "nowhere_to_search": FindingDisplay(
        "Answer without anything to search", "Answers without anything to search", "caution"
    ),
    "search_without_queries": FindingDisplay(
        "Search without the model's queries", "Searches without the model's queries", "caution"
    ),
    "search_not_judged": FindingDisplay(
        "Search whose passages were not judged",
        "Searches whose passages were not judged",
        "caution",
    ),
    "withdrawn_evidence": FindingDisplay(
        "Answer whose retracted evidence was left out",
        "Answers whose retracted evidence was left out",
        "note",
    ),
    "empty_answer": FindingDisplay("Empty answer", "Empty answers", "caution"),
    "source_speaks_to_judge": FindingDisplay(
        "Source that speaks to a judge", "Sources that speak to a judge", "caution"
    ),
    "sources_cut": FindingDisplay("Truncated source list", "Truncated source lists", "caution"),
    "extractive_nugget": FindingDisplay("Extractive nugget", "Extractive nuggets", "note"),
}

CONTRADICTED = frozenset({"contradicted_citation", "contradicted_sentence"})
"""Kinds of findings that name a sentence which a document contradicts."""

JUDGED = CONTRADICTED | frozenset(
    {
        "inappropriate_sentence",
        "contradicted_evidence",
        "irrelevant_citation",
        "number_not_in_source",
    }
)
"""Kinds of findings that somebody judged, and may be wrong about."""

_SPACES = dict.fromkeys((0x09, 0x0A, 0x0D, 0x2028, 0x2029), " ")
_ONE_LINE = dict.fromkeys((*CONTROLS, *REORDERING), "\ufffd") | _SPACES
_PAGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def finding_title(kind: str, n: int = 2) -> str:
    """Return the title of a kind of finding, in the number that fits `n`."""
    known = FINDINGS.get(kind)
    if known:
        return known.singular if n == 1 else known.plural
    return label_text(kind)[:1].upper() + label_text(kind)[1:]


POSSIBLE = {
    "inappropriate_sentence": (
        "possibly inappropriate sentence",
        "possibly inappropriate sentences",
    ),
    "contradicted_citation": ("possibly contradicted citation", "possibly contradicted citations"),
    "contradicted_sentence": ("possibly contradicted sentence", "possibly contradicted sentences"),
    "contradicted_evidence": (
        "sentence possibly against the evidence",
        "sentences possibly against the evidence",
    ),
    "irrelevant_citation": (
        "citation possibly about something else",
        "citations possibly about something else",
    ),
}
"""Singular and plural of kinds of findings that are worth a look: they may be wrong."""


def possible_title(kind: str, n: int = 2) -> str:
    """Return the title of a kind of finding that is worth a look.

    Example:
        >>> possible_title("contradicted_citation", 1), possible_title("missed_nugget", 1)
        ('Possibly contradicted citation', 'Answer that misses facts')
    """
    title = POSSIBLE[kind][n != 1] if kind in POSSIBLE else finding_title(kind, n)
    return title[:1].upper() + title[1:]


def finding_severity(kind: str) -> Severity:
    """Return the severity of a kind of finding; "caution" for an unknown kind."""
    known = FINDINGS.get(kind)
    return known.severity if known else "caution"


def place_text(finding: Finding) -> str:
    """Return the sentence that a finding is about, as "sentence 4"; "" if its message names it."""
    place = f"sentence {finding.sentence}" if finding.sentence else ""
    is_named = re.search(rf"\b{place}\b", finding.message, re.IGNORECASE)
    return "" if is_named else place


def is_serious(kind: str) -> bool:
    """Return whether a kind belongs in the headline."""
    return finding_severity(kind) == "serious"


N_SECONDARY = 5
"""Findings worth a look that are shown of an answer."""


def shown_findings(evaluation: Outlined, level: FindingLevel) -> tuple[Finding, ...]:
    """Return the findings of a level that are shown: all that lead, the likeliest `N_SECONDARY`."""
    return (
        evaluation.primary_findings
        if level == "primary"
        else evaluation.secondary_findings[:N_SECONDARY]
    )


def finding_rank(kind: str) -> tuple[int, str]:
    """Return the sort key: the order of `FINDINGS`; unknown kinds before mere notes, by name."""
    kinds = list(FINDINGS)
    notes = sum(FINDINGS[k].severity == "note" for k in kinds)
    return (2 * kinds.index(kind) if kind in FINDINGS else 2 * (len(kinds) - notes) - 1, kind)


def one_line(text: str) -> str:
    """Return untrusted text on one line of a terminal or table: no control or reordering."""
    return text.translate(_ONE_LINE)


def without_controls(page: str) -> str:
    """Return a page without control characters, which HTML forbids; tabs and line ends stay."""
    return _PAGE.sub("\ufffd", page)
