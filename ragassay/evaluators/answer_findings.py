"""Findings on an answer as a whole that need no model: empty, cut off, refused, badly cited."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.evaluators.base import Outcome
from ragassay.records import AnswerSentence, Case, Finding, FindingLevel, NuggetAssignment
from ragassay.text.answer_faults import is_cut_off, languages, refuses

LEAST_CITING = 4
"""Sentences that must cite before it is said that they all cite one source."""

LEAST_WORDS = 4
"""Fewer words ("Yes.", "In short:") state nothing that needs a source."""

N_SHOWN = 5
N_SHOWN_CHARS = 100


def answer_findings(outcome: Outcome) -> list[Finding]:
    """Return what is wrong with an answer as a whole."""
    case = outcome.file.case
    if not case.sentences:
        return [Finding(kind="empty_answer", message="The answer has no sentence.")]
    found = text_findings(case)
    if "citations" in outcome.parts:
        found += citing_findings(case)
    if "nuggets" in outcome.parts:
        found += _missed(outcome)
    return found


def text_findings(case: Case) -> list[Finding]:
    """Return whether an answer is in another language than its question, a refusal, or cut off."""
    sentences = case.sentences
    texts = [one.text for one in sentences]
    found = _language(case.question, texts)
    # One that goes on and cites something has an answer after all.
    if refuses(texts) and not any(one.citations for one in sentences):
        message = f"The answer opens by saying that it has none: {_quoted(texts[0])}"
        found.append(Finding(kind="refusal", message=message))
    if is_cut_off(texts):
        message = f"The answer stops within a sentence: {_quoted(texts[-1][-N_SHOWN_CHARS:])}"
        found.append(Finding(kind="cut_off_answer", message=message, sentence=sentences[-1].index))
    return found


def _language(question: str, texts: Sequence[str]) -> list[Finding]:
    differing = languages(question, " ".join(texts))
    if differing is None:
        return []
    asked, answered = differing
    message = f"The answer is in another language ({answered}) than its question ({asked})."
    return [Finding(kind="other_language", message=message)]


def _quoted(text: str) -> str:
    shown = text if len(text) <= N_SHOWN_CHARS else f"{text[:N_SHOWN_CHARS]}\u2026"
    return f"\u201c{shown}\u201d"


def citing_findings(case: Case) -> list[Finding]:
    """Return which sentences cite nothing, and whether all others cite one source alone."""
    citing = [one for one in case.sentences if one.citations]
    if not citing:
        return []
    found: list[Finding] = []
    bare = [one for one in case.sentences if not one.citations and _states(one.text)]
    if bare:
        message = f"{len(bare)} of {len(case.sentences)} sentences cite nothing: {_listed(bare)}."
        found.append(Finding(kind="uncited_sentence", message=message, level="look"))
    cited = {citation.document for one in citing for citation in one.citations}
    is_one = len(cited) == 1 and None not in cited and len(case.sources) > 1
    if is_one and len(citing) >= LEAST_CITING:
        message = (
            f"All {len(citing)} sentences that cite anything cite one of {len(case.sources)} "
            f"sources: {cited.pop()}."
        )
        found.append(Finding(kind="one_source_cited", message=message, level="look"))
    return found


def _missed(outcome: Outcome) -> list[Finding]:
    """Say which given facts are not stated, as a judge says, or else as none of them matches."""
    judged = {v.gold: v.assignment for v in outcome.of(NuggetAssignment) if v.assignment}
    matched = {match.gold for match in outcome.matches}
    given = [(n, one) for n, one in enumerate(outcome.file.case.gold) if one.importance != "okay"]
    missed = [
        one.text
        for n, one in given
        if (judged[n] == "not_support" if n in judged else n not in matched)
    ]
    if not missed:
        return []
    shown = "; ".join(_quoted(text) for text in missed[:N_SHOWN])
    message = f"{len(missed)} of {len(given)} facts that it should state are missed: {shown}"
    level: FindingLevel = "head" if judged else "look"
    return [Finding(kind="missed_nugget", message=message, level=level)]


def _states(text: str) -> bool:
    """Return whether a sentence states something, and does not only lead to a list."""
    return len(text.split()) >= LEAST_WORDS and not text.rstrip().endswith((":", "?"))


def _listed(sentences: Sequence[AnswerSentence]) -> str:
    shown = ", ".join(str(one.index) for one in sentences[:N_SHOWN])
    return shown if len(sentences) <= N_SHOWN else f"{shown} and {len(sentences) - N_SHOWN} more"
