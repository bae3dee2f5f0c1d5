"""All verdicts on one answer: put in order, each once, complete."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ragassay.errors import RagassayError
from ragassay.records import (
    PARTS,
    Case,
    CitationVerdict,
    DocumentFacts,
    EvidenceVerdict,
    Failure,
    Judgment,
    Nugget,
    NuggetAssignment,
    Part,
    SentenceCorrectness,
    SentenceLabel,
    SentenceNuggets,
)

AnyVerdict = (
    Judgment
    | SentenceLabel
    | EvidenceVerdict
    | CitationVerdict
    | SentenceNuggets
    | NuggetAssignment
    | DocumentFacts
)


@dataclass(frozen=True)
class Verdicts:
    """All verdicts on one answer; from `ordered`, in the order of rubrics, sentences and citations.

    Attributes:
        nuggets: Of the answer's sentences and of the reference's.
        judgments: One for each rubric.
        labels: One for each sentence.
        evidence: One for each sentence and passage.
        citations: One for each citation.
        assignments: One for each gold nugget.
        correctness: One for each sentence.
        facts: Of the cited documents, where citations were checked nugget by nugget.
    """

    nuggets: Sequence[SentenceNuggets] = ()
    judgments: Sequence[Judgment] = ()
    labels: Sequence[SentenceLabel] = ()
    evidence: Sequence[EvidenceVerdict] = ()
    citations: Sequence[CitationVerdict] = ()
    assignments: Sequence[NuggetAssignment] = ()
    correctness: Sequence[SentenceCorrectness] = ()
    facts: Sequence[DocumentFacts] = ()

    @property
    def groups(self) -> tuple[Sequence[AnyVerdict], ...]:
        """All verdicts, kind by kind."""
        return (
            self.judgments,
            self.labels,
            self.evidence,
            self.citations,
            self.nuggets,
            self.assignments,
            self.facts,
        )

    @property
    def answer_nuggets(self) -> tuple[Nugget, ...]:
        """The answer's nuggets, in the order of its sentences."""
        return self._of("answer")

    @property
    def reference_nuggets(self) -> tuple[Nugget, ...]:
        """The reference's nuggets, in the order of its sentences."""
        return self._of("reference")

    def _of(self, origin: str) -> tuple[Nugget, ...]:
        return tuple(n for found in self.nuggets if found.origin == origin for n in found.nuggets)


def ordered(
    case: Case, rubrics: Sequence[str], found: Verdicts, parts: Collection[Part] = PARTS
) -> Verdicts:
    """Put verdicts in order, each once; fill in those for which no model had to be asked.

    A citation that points nowhere is invalid, a sentence without a passage has no evidence, an
    empty answer has no rating and supports no gold nugget. Where no model beside the judge was
    asked whether sentences are correct, the judge's verdicts on the evidence say so.

    Args:
        case: The answer.
        rubrics: That were to be judged.
        found: In any order, perhaps more than once.
        parts: What was to be found out; of the others nothing is filled in.

    Raises:
        RagassayError: A rubric or a gold nugget of an answer with sentences has no verdict, not
            even an unscored one: an evaluation that was broken off must not pass for a finished
            one.
    """
    gold = range(len(case.gold)) if "nuggets" in parts else range(0)
    if case.sentences:
        _refuse_broken_off(rubrics, gold, found)
    by_rubric = {judgment.rubric: judgment for judgment in found.judgments}
    by_label = {label.sentence: label for label in found.labels}
    by_nuggets = {(n.origin, n.sentence): n for n in found.nuggets}
    by_facts = {(f.document, f.start): f for f in found.facts}
    empty = Failure(reason="empty_answer", detail="the answer has no sentence")
    evidence = _evidence(case, found)
    return Verdicts(
        nuggets=tuple(by_nuggets[key] for key in sorted(by_nuggets)),
        judgments=tuple(by_rubric.get(r) or Judgment(rubric=r, failure=empty) for r in rubrics),
        labels=tuple(by_label[sentence] for sentence in sorted(by_label)),
        evidence=evidence if "evidence" in parts else (),
        citations=_citations(case, found) if "citations" in parts else (),
        assignments=_assigned(case, gold, found),
        correctness=_correctness(case, found, evidence) if "correctness" in parts else (),
        facts=tuple(by_facts[key] for key in sorted(by_facts)),
    )


NO_PASSAGE = Failure(reason="no_evidence", detail="no passage was found")


def _evidence(case: Case, found: Verdicts) -> tuple[EvidenceVerdict, ...]:
    by_sentence: dict[int, list[EvidenceVerdict]] = {}
    by_place = {(v.side != "for", v.rank, v.sentence): v for v in found.evidence}
    for place in sorted(by_place):
        by_sentence.setdefault(by_place[place].sentence, []).append(by_place[place])
    return tuple(
        verdict
        for s in case.sentences
        for verdict in by_sentence.get(s.index)
        or [EvidenceVerdict(sentence=s.index, failure=NO_PASSAGE)]
    )


def _citations(case: Case, found: Verdicts) -> tuple[CitationVerdict, ...]:
    by_citation = {(v.sentence, v.citation.marker): v for v in found.citations}
    return tuple(
        by_citation.get((s.index, c.marker))
        or CitationVerdict(
            sentence=s.index,
            citation=c,
            verdict=None if c.document else "invalid",
            failure=NO_PASSAGE if c.document else None,
        )
        for s in case.sentences
        for c in s.citations
    )


def _correctness(
    case: Case, found: Verdicts, evidence: Sequence[EvidenceVerdict]
) -> tuple[SentenceCorrectness, ...]:
    by_sentence = {c.sentence: c for c in found.correctness} or _by_judge(evidence)
    return tuple(
        by_sentence.get(s.index) or SentenceCorrectness(sentence=s.index, failure=NO_PASSAGE)
        for s in case.sentences
    )


def _by_judge(evidence: Sequence[EvidenceVerdict]) -> dict[int, SentenceCorrectness]:
    """A sentence is correct if a passage supports it, and unscored if one might have."""
    by_sentence: dict[int, list[EvidenceVerdict]] = {}
    for verdict in evidence:
        by_sentence.setdefault(verdict.sentence, []).append(verdict)
    decided: dict[int, SentenceCorrectness] = {}
    for sentence, verdicts in by_sentence.items():
        supports = [verdict for verdict in verdicts if verdict.verdict == "supports"]
        failures = [verdict.failure for verdict in verdicts if verdict.failure]
        failure = failures[0] if failures and not supports else None
        decided[sentence] = SentenceCorrectness(
            sentence=sentence,
            correct=None if failure else bool(supports),
            evidence=(supports or verdicts)[0].evidence,
            failure=failure,
        )
    return decided


def _refuse_broken_off(rubrics: Sequence[str], gold: Sequence[int], found: Verdicts) -> None:
    missing = [r for r in rubrics if r not in {j.rubric for j in found.judgments}]
    assigned = {assignment.gold for assignment in found.assignments}
    missing += [f"gold nugget {n + 1}" for n in gold if n not in assigned]
    if missing:
        raise RagassayError(f"no verdict on {', '.join(missing)}: the evaluation was broken off")


def _assigned(case: Case, gold: Sequence[int], found: Verdicts) -> tuple[NuggetAssignment, ...]:
    if not case.sentences:
        return tuple(NuggetAssignment(gold=n, assignment="not_support") for n in gold)
    by_gold = {assignment.gold: assignment for assignment in found.assignments}
    return tuple(by_gold[n] for n in gold)
