"""View of an answer's sentences, each with its verdicts and its search for evidence."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    detail_text,
    format_share,
    label_tone,
    reason_text,
    value_text,
)
from ragassay.reports.labels import CONTRADICTED

SUPPORTS, CONTRADICTS = "supports", "contradicts"

Compared = CitationVerdict | EvidenceVerdict
"""A verdict on a sentence by a document."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A label, or why there is none; the judge's probability; the failure's detail or a note."""

    word: str
    tone: Tone
    confidence: str = ""
    detail: str = ""


def chip_of(verdict: VerdictBase | None) -> Chip:
    """Return the chip of a verdict, or of its failure; None was not judged."""
    if verdict is None:
        return Chip(NOT_JUDGED, UNSCORED)
    value = verdict.value
    return Chip(
        word=value_text(verdict),
        tone="plain" if isinstance(value, float | int) else label_tone(value, verdict.failure),
        confidence="" if verdict.confidence is None else format_share(verdict.confidence),
        detail=detail_text(verdict),
    )


ENDS: dict[SearchEnd, str] = {
    "enough": "The judge said that the passages are enough.",
    "closest_passages": "The closest passages were used; no judge said whether they are enough.",
    "out_of_rounds": "The judge did not say that the passages are enough before the last round.",
    "out_of_tokens": "The judge did not say that the passages are enough, and the answer's tokens "
    "were used up.",
    "agent_done": "The agent ended its search.",
    "sources_only": "Only the answer's own sources were searched: there was no corpus.",
    "nowhere_to_search": "There was neither a corpus nor a source to search.",
}


@dataclass(frozen=True, slots=True)
class QueryView:
    """A query and its result: "against · 10 found, 7 new"."""

    text: str
    outcome: str


@dataclass(frozen=True, slots=True)
class SearchView:
    """The queries for a sentence, and one line on how the search ended."""

    queries: tuple[QueryView, ...]
    summary: str


def view_search(search: EvidenceSearch) -> SearchView:
    """Return a search in words."""
    took_nothing = search.end == "closest_passages" and not search.n_documents
    parts = ["No document was found." if took_nothing else ENDS[search.end]]
    if search.n_documents:
        n = search.n_documents
        parts.append(f"{n} document{'' if n == 1 else 's'} read.")
    if search.n_withdrawn:
        n = search.n_withdrawn
        parts.append(f"{n} retracted {'one was' if n == 1 else 'ones were'} left out.")
    if search.failure:
        parts.append(f"The model failed ({reason_text(search.failure.reason)}).")
    if search.judgment_failure:
        reason = reason_text(search.judgment_failure.reason)
        parts.append(f"The judge failed on the passages ({reason}).")
    return SearchView(tuple(map(_query, search.queries)), " ".join(parts))


def _query(query: SearchQuery) -> QueryView:
    found = f"{query.n_found} found, {query.n_new} new"
    return QueryView(query.text, f"{query.side} · {found}" if query.side else found)


@dataclass(frozen=True, slots=True)
class PassageView:
    """A passage and its place in characters; with its article's address if the id gives it."""

    document: str
    title: str
    text: str
    similarity: str
    url: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class VerdictView:
    """A verdict on a sentence: by evidence for or against it, or by a document that it cites.

    Attributes:
        side: "for" or "against" for evidence; else empty.
        marker: The citation's marker; empty for evidence.
        target: The cited document's id.
        nuggets: The sentence's nuggets that the verdict merges, each with its own verdict.
        difference: The sentence's words that the passage does not support.
        spans: The places of the sentence's parts that the passage does not support, from a verifier
            of tokens.
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
    """A sentence and its verdicts; None for a step that was not run."""

    index: int
    text: str
    label: Chip | None
    evidence: tuple[VerdictView, ...] | None
    citations: tuple[VerdictView, ...]
    search: SearchView | None = None
    correctness: VerdictView | None = None

    @property
    def unsupported(self) -> tuple[tuple[int, int], ...]:
        """The places that no passage supports: those that all marked verdicts have in common.

        None where some verdict says that its passage supports the sentence.
        """
        verdicts = [*(self.evidence or ()), *self.citations]
        marked = [set(_characters(one.spans)) for one in verdicts if one.spans]
        if not marked or any(one.chip.tone == "good" for one in verdicts):
            return ()
        return _runs(sorted(set.intersection(*marked)))


def _characters(spans: Iterable[tuple[int, int]]) -> Iterator[int]:
    for start, end in spans:
        yield from range(start, end)


def _runs(places: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Join neighbouring characters, in their order, to (start, end)."""
    runs: list[tuple[int, int]] = []
    for place in places:
        start = runs.pop()[0] if runs and runs[-1][1] == place else place
        runs.append((start, place + 1))
    return tuple(runs)


def view_sentences(evaluation: Evaluation) -> tuple[SentenceView, ...]:
    """Return every sentence in order, and every verdict, even on a sentence that does not exist."""
    titles = titles_of(evaluation)
    labels = {label.sentence: label for label in evaluation.labels}
    evidence: dict[int, list[EvidenceVerdict]] = defaultdict(list)
    for verdict in evaluation.evidence:
        evidence[verdict.sentence].append(verdict)
    searches = {search.sentence: view_search(search) for search in evaluation.searches}
    doubtful = _doubtful_items(evaluation)
    citations: dict[int, list[CitationVerdict]] = defaultdict(list)
    for verdict in evaluation.citations:
        citations[verdict.sentence].append(verdict)
    correctness = {
        one.sentence: _correctness(
            one, (*citations[one.sentence], *evidence.get(one.sentence, ())), titles
        )
        for one in evaluation.correctness
    }
    known = {sentence.index: sentence for sentence in evaluation.sentences}
    return tuple(
        SentenceView(
            index=index,
            text=known[index].text if index in known else "(no such sentence in this answer)",
            label=chip_of(labels.get(index)) if labels else None,
            evidence=_evidence(evidence.get(index, ()), titles, doubtful) if evidence else None,
            citations=_citations(known.get(index), citations[index], titles, doubtful),
            search=searches.get(index),
            correctness=correctness.get(index),
        )
        for index in sorted({*known, *labels, *evidence, *citations})
    )


def titles_of(evaluation: Evaluation) -> dict[str, str]:
    """Return the titles of an answer's sources, by their ids."""
    return {document.id: document.title for document in evaluation.sources}


def view_passage(span: EvidenceSpan | None, titles: Mapping[str, str]) -> PassageView | None:
    """Return the view of a passage; None without one."""
    if span is None:
        return None
    return PassageView(
        document=span.document,
        title=span.title or titles.get(span.document, ""),
        text=span.text,
        similarity="" if span.relevance_score is None else f"{span.relevance_score:.2f}",
        url=article_url(span.document),
        start=span.start,
        end=span.end,
    )


def article_url(document: str) -> str:
    """Return an article's address: of a PMID on PubMed, of a DOI by its resolver, else "".

    A shorter number may be anything, and PubMed has not reached sixty million yet.
    """
    if re.fullmatch(r"[1-9]\d{6,7}", document) and int(document) < 60_000_000:
        return f"https://pubmed.ncbi.nlm.nih.gov/{document}/"
    if re.fullmatch(r"10\.\d{4,9}/\S+", document):
        return f"https://doi.org/{quote(document, safe='/')}"
    return ""


def _evidence(
    verdicts: Sequence[EvidenceVerdict],
    titles: Mapping[str, str],
    doubtful: Collection[tuple[str, str]],
) -> tuple[VerdictView, ...]:
    """Return the verdicts in order; if nobody judged, one that says so."""
    return tuple(
        VerdictView(
            chip=_compared_chip(verdict, doubtful),
            side=verdict.side,
            passage=view_passage(verdict.evidence, titles),
            difference=verdict.difference,
            spans=tuple((span.start, span.end) for span in verdict.spans),
        )
        for verdict in verdicts
    ) or (VerdictView(chip_of(None)),)


def _correctness(
    found: SentenceCorrectness, compared: Sequence[Compared], titles: Mapping[str, str]
) -> VerdictView:
    chip = _correctness_chip(found, compared)
    return VerdictView(chip, passage=view_passage(found.evidence, titles))


def _doubtful_items(evaluation: Evaluation) -> frozenset[tuple[str, str]]:
    """Return evaluator and item of each contradiction that is too unsure to lead."""
    return frozenset(
        (one.evaluator, one.item)
        for one in evaluation.secondary_findings
        if one.kind in CONTRADICTED
    )


def _compared_chip(verdict: Compared, doubtful: Collection[tuple[str, str]]) -> Chip:
    """Return the chip of a verdict; of a doubtful contradiction as its finding has it."""
    chip = chip_of(verdict)
    is_doubtful = (verdict.evaluator, verdict.item) in doubtful
    if verdict.value != CONTRADICTS or not is_doubtful:
        return chip
    return replace(chip, word="may contradict", tone=UNDECIDED)


def _correctness_chip(found: SentenceCorrectness, compared: Sequence[Compared]) -> Chip:
    """Return the chip of a sentence's correctness beside the other verdicts on the sentence.

    A tentative label against them is not named; a verdict against them says that another differs.
    """
    score = "" if found.score is None else f"{found.score:.2f}"
    chip = replace(chip_of(found), confidence=score)
    label = found.value or found.tentative_label
    is_correct = label == SentenceCorrectness.labels[0]
    values = {one.value for one in compared}
    tentative_ratings = {one.tentative_label for one in compared if one.value is None}
    if is_correct:
        differs = CONTRADICTS in values or (
            found.value is None and CONTRADICTS in tentative_ratings
        )
    else:
        differs = label is not None and SUPPORTS in values
    if not differs:
        return chip
    if found.value is None:
        return replace(chip, word=UNDECIDED, confidence="")
    detail = " ".join(filter(None, (chip.detail, "Another verdict on this sentence differs.")))
    return replace(chip, detail=detail)


def _citations(
    sentence: AnswerSentence | None,
    verdicts: Sequence[CitationVerdict],
    titles: Mapping[str, str],
    doubtful: Collection[tuple[str, str]],
) -> tuple[VerdictView, ...]:
    """Return the verdicts in order, then the citations that nobody judged."""
    judged = [verdict.citation for verdict in verdicts]
    missing: Sequence[Citation] = () if sentence is None else sentence.citations
    views = [
        VerdictView(
            chip=_compared_chip(verdict, doubtful),
            marker=verdict.citation.marker,
            target=verdict.citation.document or "",
            passage=view_passage(verdict.evidence, titles),
            nuggets=tuple((n.nugget, chip_of(n)) for n in verdict.nuggets),
            difference=verdict.difference,
            spans=tuple((span.start, span.end) for span in verdict.spans),
        )
        for verdict in verdicts
    ]
    views += [
        VerdictView(chip_of(None), marker=citation.marker, target=citation.document or "")
        for citation in missing
        if citation not in judged
    ]
    return tuple(views)
