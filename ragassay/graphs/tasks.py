"""Which verdicts an evaluation takes: one task for each, before any model is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ragassay.graphs.state import Passages, Task, cited_key
from ragassay.records import (
    Case,
    CitationVerdict,
    EvidenceSpan,
    EvidenceVerdict,
    Failure,
    Usage,
    Verdict,
)


def case_tasks(case: Case, rubrics: Iterable[str]) -> list[Task]:
    """The verdicts that need no evidence; none for an answer without a sentence."""
    if not case.sentences:
        return []
    n_reference = 0 if case.gold else len(case.reference_sentences)
    return [
        *(Task(kind="judge_rubric", case=case, rubric=name) for name in rubrics),
        *(Task(kind="label_sentence", case=case, item=s.index) for s in case.sentences),
        *(Task(kind="nuggetize", case=case, item=s.index) for s in case.sentences),
        *(
            Task(kind="nuggetize", case=case, item=n, origin="reference")
            for n in range(1, n_reference + 1)
        ),
    ]


def claim_tasks(case: Case, passages: Passages) -> list[Task]:
    """One task for each pair of a sentence and a passage.

    Where the best passage of all stands in a document that the sentence cites, one verdict says
    both whether the sentence is borne out and whether the citation supports it.
    """
    tasks: list[Task] = []
    for sentence, best in zip(case.sentences, passages.claims, strict=True):
        best_place = _place(best) if best else None
        by_place: dict[tuple[str, int, int], tuple[EvidenceSpan, tuple[str, ...]]] = {}
        if best is not None:
            by_place[_place(best)] = (best, ())
        for citation in sentence.citations:
            passage = passages.cited.get(cited_key(sentence.index, citation.marker))
            if passage is not None:
                first, markers = by_place.get(_place(passage), (passage, ()))
                by_place[_place(passage)] = (first, (*markers, citation.marker))
        tasks += [
            Task(
                kind="verify_claim",
                case=case,
                item=sentence.index,
                passage=passage,
                is_best=place == best_place,
                markers=markers,
            )
            for place, (passage, markers) in by_place.items()
        ]
    return tasks


def _place(passage: EvidenceSpan) -> tuple[str, int, int]:
    return passage.document, passage.start, passage.end


def n_most_claims(case: Case) -> int:
    """How many claim tasks there can be: each sentence and each citation has its own passage."""
    n_cited = sum(1 for s in case.sentences for c in s.citations if c.document)
    return len(case.sentences) + n_cited


def claim_verdicts(
    task: Task,
    *,
    verdict: Verdict | None = None,
    confidence: float | None = None,
    usage: Usage | None = None,
    failure: Failure | None = None,
) -> dict[str, Any]:
    """What a finding on a claim task says of the sentence and of its citations.

    The usage is booked on the first of them, so that sums stay true.
    """
    citations = {c.marker: c for c in task.case.sentences[task.item - 1].citations}
    booked = usage or Usage()
    outcome: dict[str, Any] = {
        "verdict": verdict,
        "confidence": confidence,
        "evidence": task.passage,
        "failure": failure,
    }
    evidence = (
        [EvidenceVerdict(sentence=task.item, usage=booked, **outcome)] if task.is_best else []
    )
    cited = [
        CitationVerdict(
            sentence=task.item,
            citation=citations[marker],
            usage=Usage() if task.is_best or n else booked,
            **outcome,
        )
        for n, marker in enumerate(task.markers)
    ]
    return {"evidence": evidence, "citations": cited}
