"""The sentences of an answer, each beside what was said of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.records import (
    AnswerSentence,
    Citation,
    CitationVerdict,
    Evaluation,
    EvidenceSpan,
    EvidenceVerdict,
    Failure,
    SentenceLabel,
)
from ragassay.reports.labels import Tone, label_text, label_tone, unscored_text
from ragassay.reports.text import format_share


@dataclass(frozen=True, slots=True)
class Chip:
    """A label, or "unscored (reason)"; the judge's probability; the failure's detail."""

    word: str
    tone: Tone
    confidence: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PassageView:
    """A passage and where it stands."""

    document: str
    title: str
    text: str
    similarity: str


@dataclass(frozen=True, slots=True)
class VerdictView:
    """A verdict on a sentence: by the evidence, or by a document that it cites."""

    chip: Chip
    marker: str = ""
    target: str = ""
    passage: PassageView | None = None


@dataclass(frozen=True, slots=True)
class SentenceView:
    """A sentence and everything said of it; None where that step was not run at all."""

    index: int
    text: str
    label: Chip | None
    evidence: VerdictView | None
    citations: tuple[VerdictView, ...]


def view_sentences(evaluation: Evaluation) -> tuple[SentenceView, ...]:
    """Every sentence in order, and every verdict, also one on a sentence that does not exist."""
    titles = {document.id: document.title for document in evaluation.sources}
    labels = {label.sentence: label for label in evaluation.labels}
    evidence = {verdict.sentence: verdict for verdict in evaluation.evidence}
    citations: dict[int, list[CitationVerdict]] = defaultdict(list)
    for verdict in evaluation.citations:
        citations[verdict.sentence].append(verdict)
    known = {sentence.index: sentence for sentence in evaluation.sentences}
    return tuple(
        SentenceView(
            index=index,
            text=known[index].text if index in known else "(no such sentence in this answer)",
            label=_label(labels.get(index)) if labels else None,
            evidence=_evidence(evidence.get(index), titles) if evidence else None,
            citations=_citations(known.get(index), citations[index], titles),
        )
        for index in sorted({*known, *labels, *evidence, *citations})
    )


def _chip(label: str | None, confidence: float | None, failure: Failure | None) -> Chip:
    return Chip(
        word=unscored_text(failure) if label is None else label_text(label),
        tone=label_tone(label),
        confidence="" if confidence is None else format_share(confidence),
        detail=failure.detail if failure else "",
    )


def _passage(span: EvidenceSpan | None, titles: Mapping[str, str]) -> PassageView | None:
    if span is None:
        return None
    similarity = "" if span.relevance_score is None else f"{span.relevance_score:.2f}"
    return PassageView(span.document, titles.get(span.document, ""), span.text, similarity)


def _label(label: SentenceLabel | None) -> Chip:
    if label is None:
        return _chip(None, None, None)
    return _chip(label.label, label.confidence, label.failure)


def _evidence(verdict: EvidenceVerdict | None, titles: Mapping[str, str]) -> VerdictView:
    if verdict is None:
        return VerdictView(_chip(None, None, None))
    chip = _chip(verdict.verdict, verdict.confidence, verdict.failure)
    return VerdictView(chip, passage=_passage(verdict.evidence, titles))


def _citations(
    sentence: AnswerSentence | None,
    verdicts: Sequence[CitationVerdict],
    titles: Mapping[str, str],
) -> tuple[VerdictView, ...]:
    """The verdicts in their order, then the citations that nobody judged."""
    judged = [verdict.citation for verdict in verdicts]
    missing: Sequence[Citation] = () if sentence is None else sentence.citations
    views = [
        VerdictView(
            chip=_chip(verdict.verdict, verdict.confidence, verdict.failure),
            marker=verdict.citation.marker,
            target=verdict.citation.document or "",
            passage=_passage(verdict.evidence, titles),
        )
        for verdict in verdicts
    ]
    views += [
        VerdictView(_chip(None, None, None), citation.marker, citation.document or "")
        for citation in missing
        if citation not in judged
    ]
    return tuple(views)
