"""All verdicts on one answer: put in order, each once, complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.errors import RagassayError
from ragassay.records import (
    Case,
    CitationVerdict,
    EvidenceVerdict,
    Failure,
    Judgment,
    Nugget,
    NuggetAssignment,
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
)


@dataclass(frozen=True)
class Verdicts:
    """All verdicts on one answer, in the order of rubrics, sentences, citations and nuggets."""

    nuggets: tuple[SentenceNuggets, ...]
    judgments: tuple[Judgment, ...]
    labels: tuple[SentenceLabel, ...]
    evidence: tuple[EvidenceVerdict, ...]
    citations: tuple[CitationVerdict, ...]
    assignments: tuple[NuggetAssignment, ...] = ()

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
    case: Case,
    rubrics: Sequence[str],
    nuggets: Sequence[SentenceNuggets],
    judgments: Sequence[Judgment],
    labels: Sequence[SentenceLabel],
    evidence: Sequence[EvidenceVerdict],
    citations: Sequence[CitationVerdict],
    assignments: Sequence[NuggetAssignment] = (),
) -> Verdicts:
    """Put verdicts in order, each once; fill in those for which no model had to be asked.

    A citation that points nowhere is invalid, a sentence without a passage has no evidence, an
    empty answer has no rating and supports no gold nugget.

    Raises:
        RagassayError: A rubric or a gold nugget of an answer with sentences has no verdict, not
            even an unscored one: an evaluation that was broken off must not pass for a finished
            one.
    """
    if case.sentences:
        _refuse_broken_off(case, rubrics, judgments, assignments)
    by_rubric = {judgment.rubric: judgment for judgment in judgments}
    by_sentence: dict[int, list[EvidenceVerdict]] = {}
    by_place = {(v.side != "for", v.rank, v.sentence): v for v in evidence}
    for place in sorted(by_place):
        by_sentence.setdefault(by_place[place].sentence, []).append(by_place[place])
    by_citation = {(v.sentence, v.citation.marker): v for v in citations}
    by_label = {label.sentence: label for label in labels}
    by_nuggets = {(n.origin, n.sentence): n for n in nuggets}
    nothing = Failure(reason="no_evidence", detail="no passage was found")
    empty = Failure(reason="empty_answer", detail="the answer has no sentence")
    return Verdicts(
        nuggets=tuple(by_nuggets[key] for key in sorted(by_nuggets)),
        judgments=tuple(by_rubric.get(r) or Judgment(rubric=r, failure=empty) for r in rubrics),
        labels=tuple(by_label[sentence] for sentence in sorted(by_label)),
        evidence=tuple(
            verdict
            for s in case.sentences
            for verdict in by_sentence.get(s.index)
            or [EvidenceVerdict(sentence=s.index, failure=nothing)]
        ),
        citations=tuple(
            by_citation.get((s.index, c.marker))
            or CitationVerdict(
                sentence=s.index,
                citation=c,
                verdict=None if c.document else "invalid",
                failure=nothing if c.document else None,
            )
            for s in case.sentences
            for c in s.citations
        ),
        assignments=_assigned(case, assignments),
    )


def _refuse_broken_off(
    case: Case,
    rubrics: Sequence[str],
    judgments: Sequence[Judgment],
    assignments: Sequence[NuggetAssignment],
) -> None:
    missing = [r for r in rubrics if r not in {j.rubric for j in judgments}]
    assigned = {assignment.gold for assignment in assignments}
    missing += [f"gold nugget {n + 1}" for n in range(len(case.gold)) if n not in assigned]
    if missing:
        raise RagassayError(f"no verdict on {', '.join(missing)}: the evaluation was broken off")


def _assigned(case: Case, assignments: Sequence[NuggetAssignment]) -> tuple[NuggetAssignment, ...]:
    if not case.sentences:
        return tuple(
            NuggetAssignment(gold=n, assignment="not_support") for n in range(len(case.gold))
        )
    by_gold = {assignment.gold: assignment for assignment in assignments}
    return tuple(by_gold[n] for n in range(len(case.gold)))
