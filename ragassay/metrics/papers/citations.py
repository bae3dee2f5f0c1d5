"""Score an answer's citations from the verdicts on them: BioACE (4.2) and ALCE (2023)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ragassay.metrics.papers.answer_scores import is_among, share, share_of_known
from ragassay.records import (
    VERDICTS,
    AnswerSentence,
    Citation,
    CitationVerdict,
    EvidenceSpan,
    NuggetVerdict,
    Score,
    Usage,
    Verdict,
)

MergeRule = Literal["all", "any"]
"""Whether all nuggets of a sentence must be supported, or any."""

RELEVANT: frozenset[str] = frozenset({"supports", "contradicts", "neutral"})
"""Verdicts on a document that is about the sentence's subject (MedAESQA: relevant)."""


NOTHING = {"value": 0.0, "decided": 0.0, "worst": 0.0, "best": 0.0}
"""The figures of a score of citations where there is none."""


def merge_nugget_verdicts(verdicts: Sequence[Verdict], rule: MergeRule = "all") -> Verdict | None:
    """Merge the verdicts on a sentence's nuggets into one on the citation (BioACE, section 4.2.3).

    A contradiction contradicts. Else "all" is the paper's rule that one nugget which is not
    supported makes the document neutral, as its figure 5 says too; "any" is the other rule of the
    same section and of the authors' code: one supported nugget supports. A document that no nugget
    is about is not relevant.

    Returns:
        None without a nugget.

    Example:
        >>> merge_nugget_verdicts(["supports", "neutral"])
        'neutral'
        >>> merge_nugget_verdicts(["supports", "neutral"], "any")
        'supports'
        >>> merge_nugget_verdicts(["supports", "contradicts"], "any")
        'contradicts'
    """
    if rule == "all" and len(set(verdicts)) > 1 and "contradicts" not in verdicts:
        return "neutral"
    order: tuple[Verdict, ...] = ("contradicts", "supports", "neutral", "not_relevant")
    return next((verdict for verdict in order if verdict in verdicts), None)


def merged_citations(
    cited: Iterable[tuple[int, Citation, EvidenceSpan]],
    verdicts: Iterable[NuggetVerdict],
    rule: MergeRule = "all",
) -> list[CitationVerdict]:
    """Return verdicts on citations from those on nuggets.

    A nugget whose comparison failed or is undecided leaves the citation unscored, unless another is
    contradicted: that decides. A failure counts before an undecided verdict.

    `cited` are numbers of sentences, their citations, and the part of the document that was
    compared.
    """
    by_pair: dict[tuple[int, str], list[NuggetVerdict]] = {}
    for verdict in verdicts:
        by_pair.setdefault((verdict.sentence, verdict.document), []).append(verdict)
    booked: set[tuple[int, str]] = set()
    found: list[CitationVerdict] = []
    for sentence, citation, evidence in cited:
        pair = sentence, evidence.document
        own = by_pair.get(pair, [])
        known: list[Verdict] = [verdict.verdict for verdict in own if verdict.verdict]
        missing = sorted((v for v in own if v.failure), key=lambda v: v.is_undecided)
        broken = [verdict.failure for verdict in missing]
        merged = merge_nugget_verdicts(known, rule)
        if merged is None and not broken:
            continue
        unscored = broken[0] if broken and merged != "contradicts" else None
        usage = Usage() if pair in booked else sum((v.usage for v in own), Usage())
        booked.add(pair)
        found.append(
            CitationVerdict(
                sentence=sentence,
                citation=citation,
                verdict=None if unscored else merged,
                evidence=evidence,
                nuggets=tuple(own),
                usage=usage,
                tentative_label=_tentative_label(own, rule)
                if unscored and unscored.is_undecided
                else None,
                failure=unscored,
            )
        )
    return found


def _tentative_label(verdicts: Sequence[NuggetVerdict], rule: MergeRule) -> Verdict | None:
    """Return what the verdicts would merge into if the undecided ones were as they lean."""
    labels = (verdict.verdict or verdict.tentative_label for verdict in verdicts)
    return merge_nugget_verdicts([one for one in labels if one in VERDICTS], rule)


def citation_scores(
    sentences: Sequence[AnswerSentence], citations: Sequence[CitationVerdict], judge: str
) -> dict[str, Score]:
    """Score an answer's citations; per answer, as MedAESQA's evaluation defines the measures.

    - citations.support: share of citations that support their sentence. An invalid citation does
      not.
    - citations.contradict: share of citations that contradict their sentence; not for verdicts with
      two labels only.
    - citations.coverage: share of sentences that have a supporting citation.
    - citations.document_precision: share of the distinct cited documents that are relevant to a
      sentence that cites them. An invalid citation counts as a document that is not.
    - citations.cited: share of sentences with a citation that resolves; no model is asked. One with
      nothing but marks that could not be resolved is unscored.

    Where every verdict that was asked for failed, the others are unscored, whatever else is known
    without asking: a sentence that cites nothing, a citation that points nowhere.

    An answer that cites nothing has 0 of each, with n 0, as in MedAESQA; the pooled scores of a run
    leave it out. ALCE's measures are others: `alce_scores`.
    """
    given = [verdict.verdict for verdict in citations if verdict.verdict is not None]
    n_unscored = len(citations) - len(given)
    is_told = any(v.verdict is not None for v in citations if v.citation.document)
    n_cited = sum(1 for s in sentences if any(c.document for c in s.citations))
    n_open = sum(1 for s in sentences if _is_open(s))
    of_verdict = (("citations.support", "supports"), ("citations.contradict", "contradicts"))
    scores = {
        key: share(key, given.count(verdict), len(given), n_unscored, judge, is_told=is_told)
        for key, verdict in of_verdict
    } | {
        "citations.coverage": _coverage(sentences, citations, judge, is_told),
        "citations.document_precision": _document_precision(citations, judge, is_told),
        "citations.cited": share("citations.cited", n_cited, len(sentences) - n_open, n_open, ""),
    }
    if "not_attributable" in given:
        del scores["citations.contradict"]
    if citations or not sentences:
        return scores
    return {key: one if one.n else one.model_copy(update=NOTHING) for key, one in scores.items()}


def _is_open(sentence: AnswerSentence) -> bool:
    """Return whether a sentence has citation marks and none could be resolved."""
    citations = sentence.citations
    return any(c.is_unresolved for c in citations) and not any(c.document for c in citations)


def _coverage(
    sentences: Sequence[AnswerSentence],
    citations: Sequence[CitationVerdict],
    judge: str,
    is_told: bool,
) -> Score:
    """Score coverage; a sentence without support is unscored where one of its verdicts failed."""
    supported = {v.sentence for v in citations if v.verdict == "supports"}
    unscored = {v.sentence for v in citations if v.verdict is None} - supported
    n = len(sentences) - len(unscored)
    return share("citations.coverage", len(supported), n, len(unscored), judge, is_told=is_told)


def _document_precision(citations: Sequence[CitationVerdict], judge: str, is_told: bool) -> Score:
    """Score precision; a document is relevant if it is so to one of the sentences that cite it."""
    by_document: dict[str, list[str | None]] = {}
    for verdict in citations:
        # Citations that resolve to nothing are told apart by their text.
        name = verdict.citation.document or f"\n{verdict.citation.marker}"
        by_document.setdefault(name, []).append(verdict.verdict)
    is_relevant = [is_among(found, RELEVANT) for found in by_document.values()]
    return share_of_known("citations.document_precision", is_relevant, judge, is_told=is_told)


RECALL, PRECISION = "attribution.recall", "attribution.precision"

Support = bool | None
"""Whether documents support a sentence; None where nobody could tell."""


@dataclass(frozen=True)
class CitingSentence:
    """The documents that one sentence cites, and whether they support it.

    Attributes:
        alone: By document, whether it supports the sentence alone.
        together: Whether all of them do.
        without: By document, whether the others do without it; only of those that do not support
            alone it is asked.
        has_invalid: Whether another citation points nowhere.
    """

    alone: Mapping[str, Support] = field(default_factory=dict[str, Support])
    together: Support = None
    without: Mapping[str, Support] = field(default_factory=dict[str, Support])
    has_invalid: bool = False

    @property
    def is_recalled(self) -> Support:
        """True if its citations support it together; an invalid one spoils them."""
        return False if self.has_invalid or not self.alone else self.together

    @property
    def is_told(self) -> bool:
        """True where anything that was asked of it could be told."""
        asked = (*self.alone.values(), self.together, *self.without.values())
        return any(value is not None for value in asked)

    def is_precise(self, document: str) -> Support:
        """Return whether a citation is needed: alone it supports, or the others fail without it."""
        if not self.is_recalled or len(self.alone) == 1 or self.alone[document]:
            return self.is_recalled
        spared = self.without.get(document)
        if spared is False:
            return True
        return None if spared is None or self.alone[document] is None else False


def alce_scores(sentences: Sequence[CitingSentence], judge: str) -> dict[str, Score]:
    """Score an answer's citations.

    Recall is the share of sentences that their citations support together; one without citations,
    or with an invalid one, is not. Precision is the share of citations that are of such a sentence
    and support it alone, or without which the others do not support it. An answer that cites
    nothing has 0 of both.

    ALCE's program leaves the citations of a sentence with an invalid one out of precision; here
    they count as not precise, the invalid one too.

    Returns:
        Keyed "attribution.recall" and "attribution.precision"; an unscored sentence or citation is
        left out, counted and bounded. Where nothing that was asked could be told, all are.
    """
    recalled = [one.is_recalled for one in sentences]
    precise: list[Support] = [one.is_precise(name) for one in sentences for name in one.alone]
    precise += [False for one in sentences if one.has_invalid]
    is_told = any(one.is_told for one in sentences)
    found = {
        RECALL: share_of_known(RECALL, recalled, judge, is_told=is_told),
        PRECISION: share_of_known(PRECISION, precise, judge, is_told=is_told),
    }
    if sentences and not precise:
        found[PRECISION] = found[PRECISION].model_copy(update=NOTHING)
    return found
