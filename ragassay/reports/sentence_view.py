"""Format the sentences of an answer with their verdicts and evidence searches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from ragassay.records import (
    AnswerSentence,
    Citation,
    CitationVerdict,
    Evaluation,
    EvidenceSearch,
    EvidenceSpan,
    EvidenceVerdict,
    SearchEnd,
    SearchQuery,
    SentenceCorrectness,
    VerdictBase,
)
from ragassay.reports.display import (
    NOT_JUDGED,
    UNDECIDED,
    UNSCORED,
    Tone,
    choose_label_tone,
    describe_verdict_detail,
    format_failure_reason,
    format_share,
    format_verdict_value,
)
from ragassay.reports.labels import CONTRADICTED

SUPPORTS, CONTRADICTS = "supports", "contradicts"

Compared = CitationVerdict | EvidenceVerdict
"""A verdict that compares a sentence with a document."""


@dataclass(frozen=True, slots=True)
class Chip:
    """Text of a verdict or its failure, with the judge's confidence and further details."""

    word: str
    tone: Tone
    confidence: str = ""
    detail: str = ""


def build_chip(verdict: VerdictBase | None) -> Chip:
    """Return the text of a verdict or its failure, or "not judged" for None."""
    if verdict is None:
        return Chip(NOT_JUDGED, UNSCORED)
    value = verdict.value
    return Chip(
        word=format_verdict_value(verdict),
        tone="plain"
        if isinstance(value, float | int)
        else choose_label_tone(value, verdict.failure),
        confidence="" if verdict.confidence is None else format_share(verdict.confidence),
        detail=describe_verdict_detail(verdict),
    )


ENDS: dict[SearchEnd, str] = {
    "enough": "The judge found the passages sufficient.",
    "closest_passages": "The closest passages were used. No judge checked whether they are "
    "sufficient.",
    "out_of_rounds": "The search ended after its last round without finding enough passages.",
    "out_of_tokens": "The search did not find enough passages before the answer's token "
    "budget was used up.",
    "agent_done": "The agent ended its search.",
    "sources_only": "Only the answer's own sources were searched because there is no corpus.",
    "nowhere_to_search": "There was nothing to search, neither a corpus nor a source.",
}


@dataclass(frozen=True, slots=True)
class QueryView:
    """A query and its outcome, such as "against · 10 found, 7 new"."""

    text: str
    outcome: str


@dataclass(frozen=True, slots=True)
class SearchView:
    """Queries for a sentence, with a summary of how the search ended."""

    queries: tuple[QueryView, ...]
    summary: str


def view_search(search: EvidenceSearch) -> SearchView:
    """Format an evidence search for the report."""
    is_empty = search.end == "closest_passages" and not search.n_documents
    parts = ["No documents were found." if is_empty else ENDS[search.end]]
    if n := search.n_documents:
        parts.append(f"{n} document{'' if n == 1 else 's'} read.")
    if n := search.n_withdrawn:
        parts.append(f"{n} retracted document{' was' if n == 1 else 's were'} excluded.")
    if search.failure:
        parts.append(f"The model failed ({format_failure_reason(search.failure.reason)}).")
    if search.judgment_failure:
        reason = format_failure_reason(search.judgment_failure.reason)
        parts.append(f"The judge could not assess the passages ({reason}).")
    return SearchView(tuple(map(_view_query, search.queries)), " ".join(parts))


def _view_query(query: SearchQuery) -> QueryView:
    outcome = f"{query.n_found} found, {query.n_new} new"
    return QueryView(query.text, f"{query.side} · {outcome}" if query.side else outcome)


@dataclass(frozen=True, slots=True)
class PassageView:
    """A passage with its character offsets, and the URL of its article if known."""

    document: str
    title: str
    text: str
    similarity: str
    url: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class VerdictView:
    """A verdict that compares a sentence with evidence or with a cited document.

    Attributes:
        side: "for" or "against" for evidence, otherwise empty.
        marker: Citation marker. Empty for evidence.
        target: Id of the document with which the sentence is compared.
        nuggets: Nuggets of the sentence, each with its own verdict. The verdict on the sentence
            combines these.
        difference: Part of the sentence that the passage does not support.
        spans: Character spans of the sentence that a token-level verifier found unsupported.
    """

    chip: Chip
    side: str = ""
    marker: str = ""
    target: str = ""
    passage: PassageView | None = None
    nuggets: tuple[tuple[str, Chip], ...] = ()
    difference: str = ""
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class SentenceView:
    """A sentence and its verdicts. A verdict is None if its step was not run."""

    index: int
    text: str
    label: Chip | None
    evidence: tuple[VerdictView, ...] | None
    citations: tuple[VerdictView, ...]
    search: SearchView | None = None
    correctness: VerdictView | None = None

    @property
    def unsupported(self) -> tuple[tuple[int, int], ...]:
        """Character spans that all verdicts with spans mark as unsupported.

        Empty if any verdict says that the sentence is supported.
        """
        verdicts = [*(self.evidence or ()), *self.citations]
        marked = [
            {position for start, end in verdict.spans for position in range(start, end)}
            for verdict in verdicts
            if verdict.spans
        ]
        if not marked or any(verdict.chip.tone == "good" for verdict in verdicts):
            return ()
        return _join_positions(sorted(set.intersection(*marked)))


def _join_positions(positions: Iterable[int]) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    for position in positions:
        start = spans.pop()[0] if spans and spans[-1][1] == position else position
        spans.append((start, position + 1))
    return tuple(spans)


def view_sentences(evaluation: Evaluation) -> tuple[SentenceView, ...]:
    """Return all sentences in order, including sentences that exist only in a verdict."""
    titles = map_source_titles(evaluation)
    labels = {label.sentence: label for label in evaluation.labels}
    evidence: dict[int, list[EvidenceVerdict]] = defaultdict(list)
    for verdict in evaluation.evidence:
        evidence[verdict.sentence].append(verdict)
    searches = {search.sentence: view_search(search) for search in evaluation.searches}
    doubtful = _find_doubtful_items(evaluation)
    citations: dict[int, list[CitationVerdict]] = defaultdict(list)
    for verdict in evaluation.citations:
        citations[verdict.sentence].append(verdict)
    correctness = {
        verdict.sentence: VerdictView(
            _build_correctness_chip(
                verdict, (*citations[verdict.sentence], *evidence.get(verdict.sentence, ()))
            ),
            passage=view_passage(verdict.evidence, titles),
        )
        for verdict in evaluation.correctness
    }
    known = {sentence.index: sentence for sentence in evaluation.sentences}
    return tuple(
        SentenceView(
            index=index,
            text=known[index].text if index in known else "(no such sentence in this answer)",
            label=build_chip(labels.get(index)) if labels else None,
            evidence=_view_evidence(evidence.get(index, ()), titles, doubtful)
            if evidence
            else None,
            citations=_view_citations(known.get(index), citations[index], titles, doubtful),
            search=searches.get(index),
            correctness=correctness.get(index),
        )
        for index in sorted({*known, *labels, *evidence, *citations})
    )


def map_source_titles(evaluation: Evaluation) -> dict[str, str]:
    """Return the titles of an answer's sources by document id."""
    return {document.id: document.title for document in evaluation.sources}


def view_passage(span: EvidenceSpan | None, titles: Mapping[str, str]) -> PassageView | None:
    """Format a passage for the report, or return None if there is no passage."""
    if span is None:
        return None
    return PassageView(
        document=span.document,
        title=span.title or titles.get(span.document, ""),
        text=span.text,
        similarity="" if span.relevance_score is None else f"{span.relevance_score:.2f}",
        url=build_article_url(span.document),
        start=span.start,
        end=span.end,
    )


def build_article_url(document: str) -> str:
    """Return the PubMed URL of a PMID or the resolver URL of a DOI, otherwise "".

    Only numbers in the usual range of PMIDs are accepted.
    """
    if re.fullmatch(r"[1-9]\d{6,7}", document) and int(document) < 60_000_000:
        return f"https://pubmed.ncbi.nlm.nih.gov/{document}/"
    if re.fullmatch(r"10\.\d{4,9}/\S+", document):
        return f"https://doi.org/{quote(document, safe='/')}"
    return ""


def _view_evidence(
    verdicts: Sequence[EvidenceVerdict],
    titles: Mapping[str, str],
    doubtful: Collection[tuple[str, str]],
) -> tuple[VerdictView, ...]:
    return tuple(
        VerdictView(
            chip=_build_compared_chip(verdict, doubtful),
            side=verdict.side,
            passage=view_passage(verdict.evidence, titles),
            difference=verdict.difference,
            spans=tuple((span.start, span.end) for span in verdict.spans),
        )
        for verdict in verdicts
    ) or (VerdictView(build_chip(None)),)


def _find_doubtful_items(evaluation: Evaluation) -> frozenset[tuple[str, str]]:
    """Return evaluator and item of each contradiction that is only a secondary finding."""
    return frozenset(
        (finding.evaluator, finding.item)
        for finding in evaluation.secondary_findings
        if finding.kind in CONTRADICTED
    )


def _build_compared_chip(verdict: Compared, doubtful: Collection[tuple[str, str]]) -> Chip:
    """Return the text of a verdict, which is "may contradict" for a doubtful contradiction."""
    chip = build_chip(verdict)
    is_doubtful = (verdict.evaluator, verdict.item) in doubtful
    if verdict.value != CONTRADICTS or not is_doubtful:
        return chip
    return replace(chip, word="may contradict", tone=UNDECIDED)


def _build_correctness_chip(verdict: SentenceCorrectness, compared: Sequence[Compared]) -> Chip:
    """Return the text of a correctness verdict, given the other verdicts on the sentence.

    If the verdicts disagree, a tentative label is hidden, and a final label gets a note.
    """
    score = "" if verdict.score is None else f"{verdict.score:.2f}"
    chip = replace(build_chip(verdict), confidence=score)
    label = verdict.value or verdict.tentative_label
    is_correct = label == SentenceCorrectness.labels[0]
    values = {other.value for other in compared}
    tentative_labels = {other.tentative_label for other in compared if other.value is None}
    if is_correct:
        differs = CONTRADICTS in values or (
            verdict.value is None and CONTRADICTS in tentative_labels
        )
    else:
        differs = label is not None and SUPPORTS in values
    if not differs:
        return chip
    if verdict.value is None:
        return replace(chip, word=UNDECIDED, confidence="")
    detail = " ".join(filter(None, (chip.detail, "Another verdict on this sentence differs.")))
    return replace(chip, detail=detail)


def _view_citations(
    sentence: AnswerSentence | None,
    verdicts: Sequence[CitationVerdict],
    titles: Mapping[str, str],
    doubtful: Collection[tuple[str, str]],
) -> tuple[VerdictView, ...]:
    judged = [verdict.citation for verdict in verdicts]
    missing: Sequence[Citation] = () if sentence is None else sentence.citations
    views = [
        VerdictView(
            chip=_build_compared_chip(verdict, doubtful),
            marker=verdict.citation.marker,
            target=verdict.citation.document or "",
            passage=view_passage(verdict.evidence, titles),
            nuggets=tuple((n.nugget, build_chip(n)) for n in verdict.nuggets),
            difference=verdict.difference,
            spans=tuple((span.start, span.end) for span in verdict.spans),
        )
        for verdict in verdicts
    ]
    views += [
        VerdictView(build_chip(None), marker=citation.marker, target=citation.document or "")
        for citation in missing
        if citation not in judged
    ]
    return tuple(views)
