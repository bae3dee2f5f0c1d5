"""Choose the part of a cited document to compare with the citing sentence (BioACE, 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.evaluators.base import Run
from ragassay.evaluators.cases import Cited
from ragassay.evaluators.cited_passages import cited_sources, joined_text
from ragassay.records import Case, Document, EvidenceSpan
from ragassay.retrievers.evidence import Wanted, find_passages
from ragassay.retrievers.passages import WINDOW


def cited_of(case: Case, run: Run) -> tuple[Cited, ...]:
    """Return, for each citation that resolves, the spans to compare by the settings.

    These are the passage of three sentences closest to the sentence, the closest single sentence
    (BioACE's maxSimSentence), or the whole document, from which nuggets are also listed. Where a
    citation names a document that several sources are passages of, all of them are searched.
    """
    pairs = [
        (sentence, citation.marker, cited_sources(citation, case.sources))
        for sentence in case.sentences
        for citation in sentence.citations
        if citation.document
    ]
    spans = _spans([(sentence.text, documents) for sentence, _, documents in pairs], run)
    return tuple(
        Cited(sentence.index, marker, span)
        for (sentence, marker, _), found in zip(pairs, spans, strict=True)
        for span in found
    )


def _spans(
    pairs: Sequence[tuple[str, Sequence[Document]]], run: Run
) -> Sequence[tuple[EvidenceSpan, ...]]:
    """Return at most one span for each claim and its documents; none for empty documents."""
    if run.settings.citation_evidence == "document" or run.settings.cites_by_nuggets:
        return [_whole(documents) for _, documents in pairs]
    size = 1 if run.settings.citation_evidence == "sentence" else WINDOW
    wanted = [Wanted(claim, documents) for claim, documents in pairs]
    least = run.settings.evidence_threshold
    return [
        tuple(span for span in found if (span.relevance_score or 0.0) >= least)
        for found in find_passages(wanted, None, run.models.embedder, size)
    ]


def _whole(documents: Sequence[Document]) -> tuple[EvidenceSpan, ...]:
    """Return the text of a document, its passages one after the other, as one span."""
    text = joined_text(documents)
    if not text.strip():
        return ()
    first = documents[0]
    return (EvidenceSpan(document=first.id, start=0, end=len(text), text=text, title=first.title),)
