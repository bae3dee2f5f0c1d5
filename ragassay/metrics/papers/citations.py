"""Compute citation scores from verdicts, as in BioACE (section 4.2) and ALCE (2023)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ragassay.metrics.papers.answer_scores import is_among, score_known, score_share
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
"""Whether a citation must support all nuggets or any nugget of its sentence."""

RELEVANT: frozenset[str] = frozenset({"supports", "contradicts", "neutral"})
"""Verdicts that make a document relevant to a sentence, as in MedAESQA."""


NOTHING = {"value": 0.0, "decided": 0.0, "worst": 0.0, "best": 0.0}
"""Values of a citation score for an answer without citations."""


def merge_nugget_verdicts(verdicts: Sequence[Verdict], rule: MergeRule = "all") -> Verdict | None:
    """Merge nugget verdicts into a citation verdict (BioACE 4.2.3), or return None if none exist.

    One contradicted nugget makes the verdict "contradicts". If no nugget is contradicted, the rule
    "all" (BioACE's figure 5) returns "neutral" unless all verdicts are equal, and the rule "any"
    (BioACE's section 4.2.3 and code) returns "supports" if any nugget is supported.

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


def merge_citations(
    cited: Iterable[tuple[int, Citation, EvidenceSpan]],
    verdicts: Iterable[NuggetVerdict],
    rule: MergeRule = "all",
) -> list[CitationVerdict]:
    """Merge nugget verdicts into citation verdicts.

    A failed or undecided nugget makes the citation unscored, unless another nugget is contradicted.
    If one nugget failed and another is undecided, the failure is reported.

    Args:
        cited: Number of the citing sentence, the citation, and the part of the document that was
            compared with the sentence.
    """
    by_pair: dict[tuple[int, str], list[NuggetVerdict]] = {}
    for verdict in verdicts:
        by_pair.setdefault((verdict.sentence, verdict.document), []).append(verdict)
    # Usage is counted once per sentence and document.
    counted: set[tuple[int, str]] = set()
    merged_verdicts: list[CitationVerdict] = []
    for sentence, citation, evidence in cited:
        pair = sentence, evidence.document
        own = by_pair.get(pair, [])
        known: list[Verdict] = [verdict.verdict for verdict in own if verdict.verdict]
        missing = sorted((v for v in own if v.failure), key=lambda v: v.is_undecided)
        merged = merge_nugget_verdicts(known, rule)
        if merged is None and not missing:
            continue
        failure = missing[0].failure if missing and merged != "contradicts" else None
        usage = Usage() if pair in counted else sum((v.usage for v in own), Usage())
        counted.add(pair)
        merged_verdicts.append(
            CitationVerdict(
                sentence=sentence,
                citation=citation,
                verdict=None if failure else merged,
                evidence=evidence,
                nuggets=tuple(own),
                usage=usage,
                tentative_label=_merge_tentative_labels(own, rule)
                if failure and failure.is_undecided
                else None,
                failure=failure,
            )
        )
    return merged_verdicts


def _merge_tentative_labels(verdicts: Sequence[NuggetVerdict], rule: MergeRule) -> Verdict | None:
    labels = (verdict.verdict or verdict.tentative_label for verdict in verdicts)
    return merge_nugget_verdicts([one for one in labels if one in VERDICTS], rule)


def score_citations(
    sentences: Sequence[AnswerSentence], citations: Sequence[CitationVerdict], judge: str
) -> dict[str, Score]:
    """Score an answer's citations with the measures of MedAESQA.

    - citations.support: share of citations that support their sentence. Invalid citations do not
      count as support.
    - citations.contradict: share of citations that contradict their sentence, omitted if the
      verifier has only two labels.
    - citations.coverage: share of sentences with a supporting citation.
    - citations.document_precision: share of distinct cited documents that are relevant to a
      sentence that cites them. Invalid citations count as irrelevant documents.
    - citations.cited: share of sentences with a valid citation, computed without a model. A
      sentence is unscored if none of its citations could be resolved.

    If all verdicts on valid citations failed, all scores except `citations.cited` are unscored. An
    answer without citations scores 0 with n = 0, as in MedAESQA, and is left out of pooled scores.
    See `compute_alce_scores` for ALCE's measures.
    """
    known = [verdict.verdict for verdict in citations if verdict.verdict is not None]
    n_unscored = len(citations) - len(known)
    has_verdict = any(v.verdict is not None for v in citations if v.citation.document)
    n_cited = sum(1 for s in sentences if any(c.document for c in s.citations))
    n_open = sum(1 for s in sentences if _is_open(s))
    keys = (("citations.support", "supports"), ("citations.contradict", "contradicts"))
    scores = {
        key: score_share(
            key, known.count(verdict), len(known), n_unscored, judge, has_verdict=has_verdict
        )
        for key, verdict in keys
    } | {
        "citations.coverage": _score_coverage(sentences, citations, judge, has_verdict),
        "citations.document_precision": _score_document_precision(citations, judge, has_verdict),
        "citations.cited": score_share(
            "citations.cited", n_cited, len(sentences) - n_open, n_open, ""
        ),
    }
    if "not_attributable" in known:
        del scores["citations.contradict"]
    if citations or not sentences:
        return scores
    return {key: one if one.n else one.model_copy(update=NOTHING) for key, one in scores.items()}


def _is_open(sentence: AnswerSentence) -> bool:
    citations = sentence.citations
    return any(c.is_unresolved for c in citations) and not any(c.document for c in citations)


def _score_coverage(
    sentences: Sequence[AnswerSentence],
    citations: Sequence[CitationVerdict],
    judge: str,
    has_verdict: bool,
) -> Score:
    """Score coverage. Unsupported sentences with a failed verdict are unscored."""
    supported = {v.sentence for v in citations if v.verdict == "supports"}
    unscored = {v.sentence for v in citations if v.verdict is None} - supported
    n = len(sentences) - len(unscored)
    return score_share(
        "citations.coverage", len(supported), n, len(unscored), judge, has_verdict=has_verdict
    )


def _score_document_precision(
    citations: Sequence[CitationVerdict], judge: str, has_verdict: bool
) -> Score:
    by_document: dict[str, list[str | None]] = {}
    for verdict in citations:
        # Invalid citations are distinguished by their markers.
        name = verdict.citation.document or f"\n{verdict.citation.marker}"
        by_document.setdefault(name, []).append(verdict.verdict)
    is_relevant = [is_among(verdicts, RELEVANT) for verdicts in by_document.values()]
    return score_known("citations.document_precision", is_relevant, judge, has_verdict=has_verdict)


RECALL, PRECISION = "attribution.recall", "attribution.precision"

Support = bool | None
"""Whether documents support a sentence, or None if the verdict is missing."""


@dataclass(frozen=True)
class CitingSentence:
    """Support of one sentence by its cited documents.

    Attributes:
        alone: Whether each document supports the sentence on its own.
        together: Whether all documents together support the sentence.
        without: For each document that does not support the sentence on its own, whether the other
            documents support it.
        has_invalid: Whether the sentence also has an invalid citation.
    """

    alone: Mapping[str, Support] = field(default_factory=dict[str, Support])
    together: Support = None
    without: Mapping[str, Support] = field(default_factory=dict[str, Support])
    has_invalid: bool = False

    @property
    def is_recalled(self) -> Support:
        """True if the citations together support the sentence and all of them are valid."""
        return False if self.has_invalid or not self.alone else self.together

    @property
    def has_verdict(self) -> bool:
        """True if any verdict is known."""
        verdicts = (*self.alone.values(), self.together, *self.without.values())
        return any(value is not None for value in verdicts)

    def is_precise(self, document: str) -> Support:
        """Return whether a citation is precise: sufficient alone, or needed by the others."""
        if not self.is_recalled or len(self.alone) == 1 or self.alone[document]:
            return self.is_recalled
        others_suffice = self.without.get(document)
        if others_suffice is False:
            return True
        return None if others_suffice is None or self.alone[document] is None else False


def compute_alce_scores(sentences: Sequence[CitingSentence], judge: str) -> dict[str, Score]:
    """Return the citation recall and precision of an answer as defined by ALCE.

    Recall is the share of sentences that their citations together support. Sentences without
    citations or with an invalid citation are not supported. A citation is precise if all citations
    together support the sentence, and the citation does so on its own or the other citations fail
    to do so without it. Precision is the share of precise citations. Recall and precision are 0 for
    an answer without citations.

    If a sentence has an invalid citation, all its citations count as imprecise, whereas ALCE's
    program excludes them from precision.

    Returns:
        The scores "attribution.recall" and "attribution.precision". A sentence or citation is
        unscored if its score depends on a missing verdict. If all verdicts are missing, all
        sentences and citations are unscored.
    """
    recalled = [one.is_recalled for one in sentences]
    precise: list[Support] = [one.is_precise(name) for one in sentences for name in one.alone]
    precise += [False for one in sentences if one.has_invalid]
    has_verdict = any(one.has_verdict for one in sentences)
    scores = {
        RECALL: score_known(RECALL, recalled, judge, has_verdict=has_verdict),
        PRECISION: score_known(PRECISION, precise, judge, has_verdict=has_verdict),
    }
    if sentences and not precise:
        scores[PRECISION] = scores[PRECISION].model_copy(update=NOTHING)
    return scores
