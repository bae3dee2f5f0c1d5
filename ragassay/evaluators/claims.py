"""Check whether evidence and citations support a sentence (BioACE, sections 4.1.3 and 4.2).

Both evaluators compare a sentence with a passage. If a retrieved passage is part of a document that
the sentence cites, the question is asked once, as evidence, and its answer also applies to the
citation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragassay.evaluators.base import Outcome, Run
from ragassay.evaluators.cases import Cited, Found, OpenCase
from ragassay.evaluators.cited_nugget import CITED_NUGGET
from ragassay.evaluators.comparing import ComparingEvaluator, choose_compared_text, compare
from ragassay.evaluators.display import EvaluatorDisplay, ScoreDisplay
from ragassay.evaluators.findings import find_citation_problems, find_evidence_problems
from ragassay.metrics.papers.answer_scores import score_evidence
from ragassay.metrics.papers.citations import merge_citations, score_citations
from ragassay.records import (
    Citation,
    CitationVerdict,
    Evaluation,
    EvidenceSide,
    EvidenceSpan,
    EvidenceVerdict,
    Failure,
    Finding,
    NuggetVerdict,
    Score,
    Usage,
    VerdictBase,
)

NO_PASSAGE = Failure(reason="no_evidence", detail="no passage was found")
UNRESOLVED = Failure(reason="unresolved", detail="the citation could not be resolved to a source")


@dataclass(frozen=True)
class Claim:
    """A sentence and a passage to compare it with.

    Attributes:
        sentence: Index of the sentence, from 1.
        side: Side of the evidence search, or None if only citations refer to the passage.
        rank: Rank of the passage among those found by the search for that side.
        markers: Markers of the sentence's citations for which this is the best passage.
    """

    sentence: int
    passage: EvidenceSpan
    side: EvidenceSide | None = None
    rank: int = 1
    markers: tuple[str, ...] = ()


def collect_claims(open_case: OpenCase, run: Run) -> list[Claim]:
    """Return the pairs of a sentence and a passage, without duplicates and in sentence order."""
    settings = run.settings
    claims: dict[tuple[int, str, int, int], Claim] = {}
    for one in open_case.found if settings.evaluation.verifies_evidence else ():
        claims.setdefault(
            _build_span_key(one), Claim(one.sentence, one.passage, one.side, one.rank)
        )
    cited = (
        open_case.cited
        if settings.evaluation.wants("citations") and not settings.cites_by_nuggets
        else ()
    )
    for one in cited:
        known = claims.get(_build_span_key(one), Claim(one.sentence, one.passage))
        claims[_build_span_key(one)] = replace(known, markers=(*known.markers, one.marker))
    return sorted(claims.values(), key=lambda claim: claim.sentence)


def _build_span_key(one: Found | Cited) -> tuple[int, str, int, int]:
    return one.sentence, one.passage.document, one.passage.start, one.passage.end


class _ClaimEvaluator(ComparingEvaluator[Claim]):
    """Methods that the evidence and citation evaluators share."""

    needs = ("passages",)
    is_weighed = True

    async def ask(self, item: Claim, open_case: OpenCase, run: Run) -> Sequence[VerdictBase]:
        """Compare a sentence with a passage."""
        passage, sentence = item.passage, open_case.case.sentences[item.sentence - 1]
        read = choose_compared_text(passage, sentence, open_case.case, run)
        comparison = await compare(
            run, open_case.case, sentence.text, read.text, passage.title, read.beside
        )
        return _build_verdicts(item, open_case, **vars(comparison))

    def make_unscored(
        self, item: Claim, open_case: OpenCase, run: Run, failure: Failure
    ) -> Sequence[VerdictBase]:
        """Return unscored verdicts on the evidence and the citations."""
        return _build_verdicts(item, open_case, failure=failure)

    def list_dependencies(self, item: Claim, open_case: OpenCase, run: Run) -> Iterable[str]:
        """Return what a verdict depends on: the passage, the text to compare, and the verifier."""
        passage = item.passage
        yield from (passage.document, passage.title, passage.text, str(passage.start))
        read = choose_compared_text(
            passage, open_case.case.sentences[item.sentence - 1], open_case.case, run
        )
        yield from (read.text, *(read.beside or ()))
        yield from (str(passage.relevance_score), *item.markers)
        yield from (str(run.settings.verification.verdict_labels), *run.verifier_identity)


def _build_verdicts(claim: Claim, open_case: OpenCase, **outcome: Any) -> list[VerdictBase]:
    """Return the evidence and citation verdicts that one comparison decides.

    Only the first verdict includes the usage, so that totals are correct.
    """
    booked = outcome.pop("usage", Usage())
    citations = {c.marker: c for c in open_case.case.sentences[claim.sentence - 1].citations}
    verdicts: list[VerdictBase] = []
    outcome["evidence"] = claim.passage
    if claim.side:
        where: dict[str, Any] = {"side": claim.side, "rank": claim.rank}
        verdicts.append(EvidenceVerdict(sentence=claim.sentence, **where, usage=booked, **outcome))
    for marker in claim.markers:
        usage = booked.unpaid if verdicts else booked
        verdicts.append(
            CitationVerdict(
                sentence=claim.sentence, citation=citations[marker], usage=usage, **outcome
            )
        )
    return verdicts


class EvidenceEvaluator(_ClaimEvaluator):
    """Compare each sentence with the passages retrieved for and against it."""

    name = "evidence"
    part = "evidence"
    record = EvidenceVerdict
    display = EvaluatorDisplay(
        verdict="evidence verdict",
        question="Sentences compared with passages",
        kind="claim",
        group="evidence",
        title="Evidence",
        scores={
            "evidence.support": ScoreDisplay("Evidence supports", "higher"),
            "evidence.contradict": ScoreDisplay("Evidence contradicts", "lower"),
        },
    )

    def is_wanted(self, run: Run) -> bool:
        """Return whether evidence, or correctness based on it, is part of the run."""
        return run.settings.evaluation.verifies_evidence

    def is_reported(self, run: Run) -> bool:
        """Return whether evidence, rather than only correctness, is part of the run."""
        return run.settings.evaluation.wants(self.part)

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, Claim]:
        """Return the retrieved passages."""
        return {
            f"{claim.sentence}/{claim.side}/{claim.rank}": claim
            for claim in collect_claims(open_case, run)
            if claim.side
        }

    def collect_verdicts(self, open_case: OpenCase, run: Run) -> Sequence[EvidenceVerdict]:
        """Return the verdicts by sentence, which are unscored for sentences without a passage."""
        by_sentence: dict[int, list[EvidenceVerdict]] = {}
        for one in super().collect_verdicts(open_case, run):
            if isinstance(one, EvidenceVerdict):
                by_sentence.setdefault(one.sentence, []).append(one)
        return [
            verdict
            for sentence in open_case.case.sentences
            for verdict in sorted(
                by_sentence.get(sentence.index)
                or [EvidenceVerdict(sentence=sentence.index, failure=NO_PASSAGE)],
                key=lambda one: (one.side != "for", one.rank),
            )
        ]

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the shares of sentences that are supported and contradicted by passages."""
        if self.part not in outcome.parts:
            return {}
        return score_evidence(
            outcome.select_verdicts(EvidenceVerdict), self.name_judge(outcome.run)
        )

    def findings(self, outcome: Outcome) -> list[Finding]:
        """Report each sentence that a passage contradicts."""
        return find_evidence_problems(outcome)

    def select_asked_verdicts(self, evaluation: Evaluation) -> Iterable[EvidenceVerdict]:
        """Return the evidence verdicts of all sentences for which a passage was found."""
        return [one for one in evaluation.evidence if one.evidence is not None]

    def count_max_questions(self, open_case: OpenCase, run: Run) -> int:
        """Count the passages per sentence, on both sides if there is a corpus."""
        sides = 2 if run.retrieval.has_corpus else 1
        return run.settings.retrieval.evidence_passages * sides * len(open_case.case.sentences)


class CitationEvaluator(_ClaimEvaluator):
    """Compare each sentence with the documents it cites."""

    name = "citation"
    part = "citations"
    record = CitationVerdict
    needs = ("passages", "citation_warnings", "cited_nugget")
    display = EvaluatorDisplay(
        verdict="citation verdict",
        question="Sentences compared with passages",
        kind="claim",
        group="citations",
        title="Citations",
        scores={
            "citations.support": ScoreDisplay("Citations support", "higher"),
            "citations.contradict": ScoreDisplay("Citations contradict", "lower"),
            "citations.cited": ScoreDisplay("Sentences that cite", "higher"),
            "citations.coverage": ScoreDisplay("Citation coverage", "higher"),
            "citations.document_precision": ScoreDisplay(
                "Cited documents that are relevant", "higher"
            ),
            "citations.document_recall": ScoreDisplay(
                "Relevant documents that are cited", "higher"
            ),
        },
    )

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, Claim]:
        """Return the passages of cited documents, except passages that are also evidence."""
        return {
            f"{claim.sentence}/{claim.markers[0]}": claim
            for claim in collect_claims(open_case, run)
            if not claim.side
        }

    def collect_verdicts(self, open_case: OpenCase, run: Run) -> Sequence[CitationVerdict]:
        """Return one verdict per citation, which is invalid if no source matches the citation."""
        known = {
            (one.sentence, one.citation.marker): one for one in self._list_verdicts(open_case, run)
        }
        return [
            known.get((sentence.index, citation.marker))
            or _build_sourceless_verdict(sentence.index, citation)
            for sentence in open_case.case.sentences
            for citation in sentence.citations
        ]

    def _list_verdicts(self, open_case: OpenCase, run: Run) -> Iterable[CitationVerdict]:
        if not run.settings.cites_by_nuggets:
            return [one for one in open_case.verdicts.values() if isinstance(one, CitationVerdict)]
        citations = {(s.index, c.marker): c for s in open_case.case.sentences for c in s.citations}
        verdicts = CITED_NUGGET.collect_verdicts(open_case, run)
        return merge_citations(
            [(c.sentence, citations[c.sentence, c.marker], c.passage) for c in open_case.cited],
            [one for one in verdicts if isinstance(one, NuggetVerdict)],
            run.settings.verification.nugget_support,
        )

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the citation scores. With two labels, there is no score for contradiction."""
        sentences, verdicts = (
            outcome.open_case.case.sentences,
            outcome.select_verdicts(CitationVerdict),
        )
        scores = score_citations(sentences, verdicts, self.name_judge(outcome.run))
        if outcome.run.settings.verification.verdict_labels == 2:
            scores.pop("citations.contradict", None)
        return {key: score for key, score in scores.items() if score.n or score.n_unscored}

    def findings(self, outcome: Outcome) -> list[Finding]:
        """Report citations of contradicting, irrelevant and unknown documents."""
        return find_citation_problems(outcome)

    def select_asked_verdicts(self, evaluation: Evaluation) -> Iterable[VerdictBase]:
        """Return one verdict per question that was asked only because of a citation.

        Verdicts that also answer an evidence question, or were merged from nugget verdicts, are
        left out. Citations with the same passage count as one question.
        """
        asked = {_build_question_key(one) for one in evaluation.evidence}
        own: dict[tuple[int, str, int, int], CitationVerdict] = {}
        for one in evaluation.citations:
            question = _build_question_key(one)
            if question and question not in asked and not one.nuggets:
                own.setdefault(question, one)
        return own.values()

    def count_max_questions(self, open_case: OpenCase, run: Run) -> int:
        """Count one passage per citation, or none if citations are checked nugget by nugget."""
        return 0 if run.settings.cites_by_nuggets else open_case.n_citations


def _build_sourceless_verdict(sentence: int, citation: Citation) -> CitationVerdict:
    verdict, failure = None, NO_PASSAGE
    if citation.is_unresolved:
        failure = UNRESOLVED
    elif citation.document is None:
        verdict, failure = "invalid", None
    return CitationVerdict(sentence=sentence, citation=citation, verdict=verdict, failure=failure)


def _build_question_key(
    verdict: EvidenceVerdict | CitationVerdict,
) -> tuple[int, str, int, int] | None:
    span = verdict.evidence
    return (verdict.sentence, span.document, span.start, span.end) if span else None


EVIDENCE = EvidenceEvaluator()
CITATION = CitationEvaluator()
