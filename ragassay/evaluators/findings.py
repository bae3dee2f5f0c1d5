"""Findings about an answer, its sentences and its citations, and their level in a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragassay.evaluators.base import Outcome, Run
from ragassay.evaluators.comparing import find_sentence_sources
from ragassay.metrics.stats.calibration import find_bound
from ragassay.records import (
    AnswerSentence,
    Bound,
    Case,
    CitationVerdict,
    EvidenceVerdict,
    Finding,
    FindingLevel,
    NuggetAssignment,
    NuggetVerdict,
)
from ragassay.text.differences import is_other_value
from ragassay.text.faults import compare_languages, is_cut_off, is_refused_answer, lacks_stop

LEAST_CITING = 4
"""Minimum number of citing sentences to report that all of them cite the same source."""

LEAST_WORDS = 4
"""Minimum number of words in a statement that needs a source, unlike "Yes." or "In short:"."""

N_SHOWN = 5
N_SHOWN_CHARS = 100


def find_answer_problems(outcome: Outcome) -> list[Finding]:
    """Return the problems of an answer as a whole."""
    case = outcome.open_case.case
    if not case.sentences:
        message = "The answer contains no sentences."
        return [Finding(kind="empty_answer", message=message)]
    findings = find_text_problems(case)
    if "citations" in outcome.parts:
        findings += find_citing_problems(case)
    if "nuggets" in outcome.parts:
        findings += _find_missed_facts(outcome)
    return findings


def find_text_problems(case: Case) -> list[Finding]:
    """Report an answer that is a refusal, is cut off, or is not in the question's language."""
    sentences = case.sentences
    texts = [one.text for one in sentences]
    findings = _find_other_language(case.question, texts)
    # An answer that continues and cites something is not a refusal.
    if is_refused_answer(texts) and not any(one.citations for one in sentences):
        message = f"The answer starts by saying that it has no answer: {_quote_text(texts[0])}"
        findings.append(Finding(kind="refusal", message=message))
    is_cut, last = is_cut_off(texts), _quote_text(texts[-1][-N_SHOWN_CHARS:])
    if is_cut or lacks_stop(texts):
        verb = "stops" if is_cut else "may stop"
        findings.append(
            Finding(
                kind="cut_off_answer",
                message=f"The answer {verb} in the middle of a sentence: {last}",
                sentence=sentences[-1].index,
                level="primary" if is_cut else "secondary",
            )
        )
    return findings


def _find_other_language(question: str, texts: Sequence[str]) -> list[Finding]:
    differing = compare_languages(question, " ".join(texts))
    if differing is None:
        return []
    asked, answered = differing
    message = f"The answer is in a different language ({answered}) than the question ({asked})."
    return [Finding(kind="other_language", message=message)]


def _quote_text(text: str) -> str:
    shown = text if len(text) <= N_SHOWN_CHARS else f"{text[:N_SHOWN_CHARS]}\u2026"
    return f"\u201c{shown}\u201d"


def find_citing_problems(case: Case) -> list[Finding]:
    """Report sentences without citations, and answers that cite only one source."""
    citing = [one for one in case.sentences if one.citations]
    if not citing:
        return []
    findings: list[Finding] = []
    bare = [one for one in case.sentences if not one.citations and _is_statement(one.text)]
    if bare:
        message = (
            f"{len(bare)} of {len(case.sentences)} sentences cite nothing: {_list_indexes(bare)}."
        )
        findings.append(Finding(kind="uncited_sentence", message=message, level="secondary"))
    cited = {citation.document for one in citing for citation in one.citations}
    is_one = len(cited) == 1 and None not in cited and len(case.sources) > 1
    if is_one and len(citing) >= LEAST_CITING:
        message = (
            f"All {len(citing)} sentences with citations cite only one of {len(case.sources)} "
            f"sources: {cited.pop()}."
        )
        findings.append(Finding(kind="one_source_cited", message=message, level="secondary"))
    return findings


def _find_missed_facts(outcome: Outcome) -> list[Finding]:
    judged = {
        v.gold: v.assignment for v in outcome.select_verdicts(NuggetAssignment) if v.assignment
    }
    matched = {match.gold for match in outcome.matches}
    required = [
        (n, one) for n, one in enumerate(outcome.open_case.case.gold) if one.importance != "okay"
    ]
    missed = [
        one.text
        for n, one in required
        if (judged[n] == "not_support" if n in judged else n not in matched)
    ]
    if not missed:
        return []
    shown = "; ".join(_quote_text(text) for text in missed[:N_SHOWN])
    message = f"The answer misses {len(missed)} of {len(required)} required facts: {shown}"
    level: FindingLevel = "primary" if judged else "secondary"
    return [Finding(kind="missed_nugget", message=message, level=level)]


def _is_statement(text: str) -> bool:
    """Return whether a sentence makes a statement rather than only introducing a list."""
    return len(text.split()) >= LEAST_WORDS and not text.rstrip().endswith((":", "?"))


def _list_indexes(sentences: Sequence[AnswerSentence]) -> str:
    shown = ", ".join(str(one.index) for one in sentences[:N_SHOWN])
    return shown if len(sentences) <= N_SHOWN else f"{shown} and {len(sentences) - N_SHOWN} more"


CONTRADICTS = "contradicts"
N_SHOWN_MARKS = 5
MOST_POSITION_DIGITS = 5
"""Number of digits from which a citation number counts as a PMID, not as a list position."""


@dataclass(frozen=True)
class Weight:
    """Weight of a contradiction.

    Attributes:
        level: Level at which the report shows the finding.
        is_asserted: Whether the verdict is decided, not only tentative.
        measured: Bound that states the measured precision of findings of this kind, if any.
        is_bounded: Whether the verdict met a confidence bound. Bounds exist only for cited
            documents.
    """

    level: FindingLevel
    is_asserted: bool = True
    measured: Bound | None = None
    is_bounded: bool = False

    @property
    def rank(self) -> tuple[bool, bool]:
        """Sort key: primary findings first, then decided verdicts, then tentative verdicts."""
        return self.level != "primary", not self.is_asserted

    @property
    def beside_others(self) -> Weight:
        """Weight for a document that the sentence does not cite, for which there is no bound."""
        return replace(self, level="secondary", measured=None) if self.is_bounded else self

    @property
    def word(self) -> str:
        """Verb of the finding: "contradicts" or "may contradict"."""
        return "contradicts" if self.level == "primary" else "may contradict"

    def build_finding(
        self, kind: str, message: str, verdict: EvidenceVerdict | CitationVerdict
    ) -> Finding:
        """Return a finding with this weight for a verdict."""
        finding = Finding(
            kind=kind,
            sentence=verdict.sentence,
            message=message,
            level=self.level,
            evaluator=verdict.evaluator,
            item=verdict.item,
        )
        known = self.measured
        if known is None or known.precision is None:
            return finding
        measured = {
            "precision": known.precision,
            "precision_low": known.low,
            "precision_high": known.high,
            "n_measured": known.n_measured,
            "data": known.data,
        }
        return finding.model_copy(update=measured)


def weigh_contradiction(verdict: EvidenceVerdict | CitationVerdict, run: Run) -> Weight | None:
    """Return the weight of a verdict of contradiction, or None for any other verdict.

    A contradiction found by a judge, or by a verifier without confidence bounds, is a primary
    finding. If the verifier has bounds, the contradiction must meet the bound for findings. If a
    citation was checked nugget by nugget, the nugget with the highest weight counts.
    """
    parts = getattr(verdict, "nuggets", ()) or (verdict,)
    if verdict.value == CONTRADICTS:
        contradicted = [_weigh(one, run) for one in parts if one.value == CONTRADICTS]
        return min(contradicted, key=lambda one: one.rank)
    if verdict.tentative_label != CONTRADICTS:
        return None
    return replace(_weigh(verdict, run), level="secondary", is_asserted=False, is_bounded=False)


def weigh_irrelevance(verdict: CitationVerdict, run: Run) -> Weight:
    """Return the weight of a "not relevant" verdict on a citation."""
    return _weigh(verdict, run, "not_relevant")


def _weigh(
    verdict: EvidenceVerdict | CitationVerdict | NuggetVerdict, run: Run, label: str = CONTRADICTS
) -> Weight:
    encoder, second = run.models.encoder, verdict.escalation
    if encoder is None or not encoder.bounds or (second and second.failure is None):
        return Weight("primary")
    bound = find_bound(encoder.bounds, label, "finding", _classify_difference(verdict.difference))
    if bound is None or not bound.admits(verdict.confidence):
        never = bound is not None and bound.threshold is None
        return Weight("secondary", measured=bound if never else None)
    return Weight("primary", measured=bound, is_bounded=True)


def _classify_difference(difference: str) -> str:
    if not difference:
        return "tentative"
    return "number" if is_other_value(difference) else "words"


def find_evidence_problems(outcome: Outcome) -> list[Finding]:
    """Report each sentence that a passage contradicts, and whether another passage supports it."""
    evidence = outcome.select_verdicts(EvidenceVerdict)
    supported = {one.sentence for one in evidence if one.verdict == "supports"}
    against: dict[int, list[tuple[Weight, EvidenceVerdict]]] = {}
    for one in evidence:
        weight = weigh_contradiction(one, outcome.run)
        # Citation findings already cover cited documents.
        is_cited = _get_document(one) in {
            s.id for s in find_sentence_sources(one.sentence, outcome.open_case.case)
        }
        if weight and not ("citations" in outcome.parts and is_cited):
            weight = weight if is_cited else weight.beside_others
            against.setdefault(one.sentence, []).append((weight, one))
    findings: list[Finding] = []
    for n, weighed in against.items():
        weight, one = min(weighed, key=lambda pair: pair[0].rank)
        other = "; another supports it." if n in supported else "."
        place = f"{_format_place(one)}{_format_difference(one)}"
        message = f"A passage {weight.word} sentence {n}{place}{other}"
        findings.append(weight.build_finding("contradicted_sentence", message, one))
    return findings


def find_citation_problems(outcome: Outcome) -> list[Finding]:
    """Report citations whose document contradicts the sentence, is irrelevant, or is unknown."""
    citations = outcome.select_verdicts(CitationVerdict)
    supported = {one.sentence for one in citations if one.verdict == "supports"}
    findings = [*_find_ambiguous_citations(citations), *_find_unresolved_citations(outcome)]
    for one in citations:
        n, cites = one.sentence, f"Sentence {one.sentence} cites {one.citation.marker!r}, which"
        if one.verdict == "invalid":
            message = _explain_invalid(one, outcome)
            findings.append(Weight("primary").build_finding("invalid_citation", message, one))
        elif weight := weigh_contradiction(one, outcome.run):
            weight = weight.beside_others if n in supported else weight
            message = f"{cites} {weight.word} it{_format_difference(one)}."
            findings.append(weight.build_finding("contradicted_citation", message, one))
        elif one.verdict == "not_relevant":
            weight = weigh_irrelevance(one, outcome.run)
            verb = "is" if weight.level == "primary" else "may be"
            message = f"{cites} {verb} about something else."
            findings.append(weight.build_finding("irrelevant_citation", message, one))
    worse = {one.sentence for one in findings if one.level == "primary"}
    return [
        *findings,
        *find_number_problems([one for one in citations if one.sentence not in worse]),
    ]


def find_number_problems(citations: Sequence[CitationVerdict]) -> list[Finding]:
    """Report the numbers in each sentence that do not occur in its cited sources."""
    by_sentence: dict[int, list[CitationVerdict]] = {}
    for one in citations:
        if one.verdict != "invalid":
            by_sentence.setdefault(one.sentence, []).append(one)
    findings: list[Finding] = []
    for n, verdicts in sorted(by_sentence.items()):
        absent = [
            number
            for number in verdicts[0].absent_numbers
            if all(number in one.absent_numbers for one in verdicts)
        ]
        if absent:
            verb = "is" if len(absent) == 1 else "are"
            source = "cited source" if len(verdicts) == 1 else "cited sources"
            message = f"Sentence {n}: {_join_words(absent)} {verb} not in the {source}."
            weight = Weight("secondary")
            findings.append(weight.build_finding("number_not_in_source", message, verdicts[0]))
    return findings


def _join_words(words: Sequence[str]) -> str:
    return " and ".join([*filter(None, [", ".join(words[:-1])]), words[-1]])


def _find_ambiguous_citations(citations: Sequence[CitationVerdict]) -> list[Finding]:
    """Report each citation number that is both the id of a source and the position of another."""
    first = {one.citation: one.sentence for one in reversed(citations) if one.citation.other}
    return [
        Finding(
            kind="ambiguous_citation",
            sentence=n,
            message=f"Sentence {n} cites {one.marker!r}, which is the id of one source and the "
            f"position of another ({one.other}). The citation was resolved as an id.",
            level="secondary",
        )
        for one, n in sorted(first.items(), key=lambda pair: pair[1])
    ]


def _explain_invalid(verdict: CitationVerdict, outcome: Outcome) -> str:
    marker, n_sources = verdict.citation.marker, len(outcome.open_case.record.sources)
    counted = f"{n_sources} source" if n_sources == 1 else f"{n_sources} sources"
    if not n_sources:
        return f"Sentence {verdict.sentence} cites {marker!r}, which is not in the corpus."
    if marker.isdigit() and len(marker) < MOST_POSITION_DIGITS:
        return f"Sentence {verdict.sentence} cites [{marker}], but the answer has {counted}."
    corpus = ", nor in the corpus" if outcome.run.retrieval.has_corpus else ""
    return (
        f"Sentence {verdict.sentence} cites {marker!r}, which is not among the answer's "
        f"{counted}{corpus}."
    )


def _find_unresolved_citations(outcome: Outcome) -> list[Finding]:
    """Report unresolved citations, in one finding if the answer has no sources."""
    verdicts = [v for v in outcome.select_verdicts(CitationVerdict) if v.citation.is_unresolved]
    if not verdicts:
        return []
    kind = "unresolved_citation"
    if not outcome.open_case.record.sources and not outcome.run.retrieval.has_corpus:
        shown = ", ".join(dict.fromkeys(repr(v.citation.marker) for v in verdicts[:N_SHOWN_MARKS]))
        more = ", \u2026" if len(verdicts) > N_SHOWN_MARKS else ""
        message = (
            f"The answer has citation marks ({shown}{more}) but no sources, so the marks "
            "cannot be resolved."
        )
        return [Finding(kind=kind, message=message, level="secondary")]
    return [
        Weight("secondary").build_finding(
            kind,
            f"Sentence {one.sentence} cites {one.citation.marker!r}, which is not a known source.",
            one,
        )
        for one in verdicts
    ]


def _format_difference(verdict: EvidenceVerdict | CitationVerdict) -> str:
    return f": {verdict.difference}" if verdict.difference else ""


def _get_document(verdict: EvidenceVerdict) -> str:
    return verdict.evidence.document if verdict.evidence else ""


def _format_place(verdict: EvidenceVerdict) -> str:
    return f" (in {_get_document(verdict)})" if verdict.evidence else ""
