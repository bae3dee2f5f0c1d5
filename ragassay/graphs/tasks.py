"""Which verdicts an evaluation takes: one task for each, before any model is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragassay.agents.fact_lister import fact_windows
from ragassay.agents.nugget_writer import MOST_NUGGETS
from ragassay.graphs.state import Cited, Found, State, Task
from ragassay.metrics.joint import BEYOND_SENTENCES
from ragassay.records import (
    Case,
    CitationVerdict,
    EvidenceVerdict,
    Failure,
    Reading,
    Signals,
    Usage,
    Verdict,
)
from ragassay.settings import Settings


def rubric_tasks(
    case: Case,
    rubrics: Iterable[str],
    judges: Sequence[str] = (),
    signals: Signals | None = None,
    readings: Mapping[str, Reading] | None = None,
) -> list[Task]:
    """One task for each rubric, or for each rubric and judge; none without a sentence.

    Args:
        case: The answer.
        rubrics: Names of the run's rubrics.
        judges: Names of a panel's judges; each rates every rubric. Empty for a single judge.
        signals: What was measured of the answer.
        readings: What fine-tuned judges saw in it. What reading took counts with the first rubric
            that they rate.
    """
    chosen = rubrics_of(case, rubrics) if case.sentences else ()
    paid = {judge: _paid(reading) for judge, reading in (readings or {}).items()}
    payer = min(chosen, key=lambda name: name in BEYOND_SENTENCES, default="")
    return [
        Task(
            kind="judge_rubric",
            case=case,
            rubric=name,
            judge=judge,
            signals=signals,
            reading=((readings or {}) if name == payer else paid).get(judge),
        )
        for name in chosen
        for judge in judges or ("",)
    ]


def _paid(reading: Reading) -> Reading:
    return reading.model_copy(update={"usage": Usage()})


def case_tasks(case: Case, settings: Settings) -> list[Task]:
    """The verdicts beside the rubrics that need no evidence; none without a sentence.

    Citations that are checked nugget by nugget need the answer's nuggets too. Only gold nuggets
    that were given are assigned: those of a reference answer are not known before they are
    written, and are matched by their similarity alone.
    """
    if not case.sentences:
        return []
    numbers = [sentence.index for sentence in case.sentences]
    tasks: list[Task] = []
    if settings.wants("sentences"):
        tasks += [Task(kind="label_sentence", case=case, item=n) for n in numbers]
    if settings.wants("nuggets") or settings.cites_by_nuggets:
        tasks += [Task(kind="nuggetize", case=case, item=n) for n in numbers]
    if settings.wants("nuggets"):
        gold, reference = range(1, len(case.gold) + 1), range(1, len(case.reference_sentences) + 1)
        tasks += [Task(kind="assign_nugget", case=case, item=n) for n in gold]
        if not case.gold:
            tasks += [
                Task(kind="nuggetize", case=case, item=n, origin="reference") for n in reference
            ]
    return tasks


def rubrics_of(case: Case, rubrics: Iterable[str]) -> tuple[str, ...]:
    """The rubrics of a run that an answer is judged on."""
    return tuple(name for name in rubrics if not case.rubrics or name in case.rubrics)


def claim_tasks(case: Case, found: Sequence[Found], cited: Sequence[Cited]) -> list[Task]:
    """One task for each pair of a sentence and a passage, in the order of the sentences.

    Where a passage that was found stands in a document that the sentence cites, one verdict says
    both whether the sentence is borne out and whether the citation supports it.
    """
    tasks: dict[tuple[int, str, int, int], Task] = {}
    for f in found:
        task = Task("verify_claim", case, item=f.sentence, passage=f.passage)
        tasks.setdefault(_place(f), replace(task, side=f.side, rank=f.rank))
    for c in cited:
        task = Task("verify_claim", case, item=c.sentence, passage=c.passage)
        known = tasks.get(_place(c), task)
        tasks[_place(c)] = replace(known, markers=(*known.markers, c.marker))
    return sorted(tasks.values(), key=lambda task: task.item)


def wanted_passages(
    state: State, settings: Settings
) -> tuple[tuple[Found, ...], tuple[Cited, ...]]:
    """What of the passages that were found, and of those cited, sentences are compared with."""
    found = state.found if settings.verifies_evidence else ()
    return found, () if settings.cites_by_nuggets else state.cited


def _place(place: Found | Cited) -> tuple[int, str, int, int]:
    passage = place.passage
    return place.sentence, passage.document, passage.start, passage.end


def n_most_claims(case: Case, settings: Settings, has_corpus: bool) -> int:
    """How many calls the claims can take at most: to look for evidence, and to compare with it.

    A verifier beside the judge takes no call.
    """
    turns = {"search": settings.evidence_rounds, "agent": settings.evidence_turns}
    n_asked = turns[settings.evidence] if has_corpus else 0
    n_calls = 0
    if settings.looks_for_evidence:
        n_calls += n_asked * len(case.sentences)
    if settings.cites_by_nuggets:
        sources = {source.id: source for source in case.sources}
        n_calls += sum(len(fact_windows(sources[name])) for name in set(_cited(case)))
    if settings.chosen_verifier == "judge":
        n_calls += n_most_verdicts(case, settings, has_corpus)
    return n_calls


def n_most_verdicts(case: Case, settings: Settings, has_corpus: bool) -> int:
    """How many verdicts on claims there can be at most.

    Each sentence has its passages, on both sides where there is a corpus; each citation has one,
    or as many as its sentence has nuggets.
    """
    n_verdicts = 0
    if settings.verifies_evidence:
        n_passages = settings.evidence_passages * (2 if has_corpus else 1)
        n_verdicts += n_passages * len(case.sentences)
    if settings.cites_by_nuggets:
        n_verdicts += MOST_NUGGETS * len(_cited(case))
    elif settings.wants("citations"):
        n_verdicts += len(_cited(case))
    return n_verdicts


def _cited(case: Case) -> list[str]:
    """The documents that citations point to, once for each citation."""
    return [c.document for s in case.sentences for c in s.citations if c.document]


def claim_verdicts(
    task: Task,
    *,
    verdict: Verdict | None = None,
    confidence: float | None = None,
    entropy_bits: float | None = None,
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
        "entropy_bits": entropy_bits,
        "evidence": task.passage,
        "failure": failure,
    }
    evidence: list[EvidenceVerdict] = []
    if task.side:
        place: dict[str, Any] = {"sentence": task.item, "side": task.side, "rank": task.rank}
        evidence = [EvidenceVerdict(**place, usage=booked, **outcome)]
    cited = [
        CitationVerdict(
            sentence=task.item,
            citation=citations[marker],
            usage=Usage() if task.side or n else booked,
            **outcome,
        )
        for n, marker in enumerate(task.markers)
    ]
    return {"evidence": evidence, "citations": cited}
