"""Turn the verdicts on an answer into an evaluation, including the usage of all calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragassay.errors import RagassayError
from ragassay.evaluators.base import Outcome, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.evaluators.findings import find_answer_problems
from ragassay.evaluators.nuggets import match_nuggets
from ragassay.records import (
    NO_FAULT,
    CitationVerdict,
    Document,
    Evaluation,
    EvidenceSearch,
    Finding,
    Score,
    Usage,
)
from ragassay.text.faults import speaks_to_judge, states_nothing
from ragassay.text.sentences import extract_sentences

SEARCHES = "searches"
"""Name under which the model usage of evidence searches is reported."""

N_INJECTION_CHARS = 160
"""Maximum number of characters to show of a source sentence that addresses the judge."""


def collect_outcome(open_case: OpenCase, run: Run) -> Outcome:
    """Collect the final verdicts, and match the nuggets without calling a judge.

    Raises:
        RagassayError: The evaluation was interrupted, so a question has no verdict at all.
    """
    _check_complete(open_case, run)
    verdicts = {
        e.name: e.collect_verdicts(open_case, run) for e in run.evaluators if e.is_reported(run)
    }
    outcome = Outcome(open_case, run, verdicts)
    matches = match_nuggets(outcome.gold, outcome.nuggets, run)
    return Outcome(open_case, run, verdicts, matches)


def _check_complete(open_case: OpenCase, run: Run) -> None:
    missing = [
        f"{evaluator.name} {task.item}".strip()
        for evaluator in run.evaluators
        for task in evaluator.build_tasks(open_case, run)
        if task.key not in open_case.verdicts
    ]
    if missing:
        raise RagassayError(
            f"the evaluation was interrupted before the verdicts on {', '.join(missing)}"
        )


def build_evaluation(
    outcome: Outcome, searches: Sequence[EvidenceSearch], warnings: Sequence[Finding]
) -> Evaluation:
    """Build the evaluation of an answer.

    `warnings` are findings about the articles that it cites.
    """
    open_case, run = outcome.open_case, outcome.run
    record, case = open_case.record, open_case.case
    against = [finding for e in run.evaluators for finding in e.findings(outcome)]
    spent = sum_usage_by_part(open_case, searches, run)
    scores: dict[str, Score] = {}
    for evaluator in run.evaluators:
        if evaluator.is_reported(run):
            scores |= evaluator.scores(outcome)
    return Evaluation(
        record_id=record.id,
        question=record.question,
        answer=case.answer,
        system=record.system,
        topic=record.topic,
        judge=run.judge.answered_by,
        fingerprint=open_case.id,
        sentences=case.sentences,
        reasoning=case.reasoning,
        sources=case.sources,
        nuggets=outcome.nuggets,
        gold_nuggets=outcome.gold,
        matches=outcome.matches,
        exam=case.exam,
        pairs=case.pairs,
        signals=open_case.signals,
        verdicts=tuple(v for group in outcome.verdicts.values() for v in group),
        searches=tuple(searches),
        scores=scores,
        findings=(
            *find_answer_problems(outcome),
            *against,
            *_remove_repeats(warnings, against),
            *_collect_remarks(outcome, searches),
        ),
        usage=sum(spent.values(), Usage()),
        usage_by_part=spent,
    )


def sum_usage_by_part(
    open_case: OpenCase, searches: Sequence[EvidenceSearch], run: Run
) -> dict[str, Usage]:
    """Return the usage of all questions by part, in evaluator order.

    Usage is taken from all verdicts, including unreported ones, because merged and reported
    verdicts may omit or repeat a call.
    """
    part_of = {evaluator.name: evaluator.part for evaluator in run.registered}
    usage = {evaluator.part: Usage() for evaluator in run.evaluators}
    for key, verdict in open_case.verdicts.items():
        part = part_of[key.evaluator]
        usage[part] = usage.get(part, Usage()) + verdict.usage
    usage[SEARCHES] = sum((search.usage for search in searches), Usage())
    return {part: one for part, one in usage.items() if one.n_calls}


def _remove_repeats(warnings: Sequence[Finding], known: Sequence[Finding]) -> list[Finding]:
    """Remove warnings about unknown articles if their citation is already reported as invalid."""
    invalid = {one.item for one in known if one.kind == "invalid_citation"}
    return [one for one in warnings if one.kind != "unknown_citation" or one.item not in invalid]


def _collect_remarks(outcome: Outcome, searches: Sequence[EvidenceSearch]) -> Iterator[Finding]:
    case, nuggets = outcome.open_case.case, outcome.nuggets
    if (n := case.n_source_chars_cut) and (outcome.run.judge.lm or outcome.run.second):
        message = f"{n} characters of the sources did not fit into the prompt."
        yield Finding(kind="sources_cut", message=message)
    yield from _find_injections(case.sources)
    if n_extractive := sum(nugget.method == "extractive" for nugget in nuggets):
        message = (
            f"{n_extractive} of {len(nuggets)} nuggets are whole sentences, because the sentences "
            "did not support the nuggets that the model wrote."
        )
        yield Finding(kind="extractive_nugget", message=message)
    yield from _find_search_problems(searches)
    yield from _find_unscored_verdicts(outcome)
    yield from _find_failed_escalations(outcome)


def _find_injections(sources: Sequence[Document]) -> Iterator[Finding]:
    for source in sources:
        for line in filter(speaks_to_judge, (source.title, *extract_sentences(source.text))):
            message = (
                f"Source {source.id} addresses the judge: \u201c{line[:N_INJECTION_CHARS]}\u201d "
                "Signals ignore this sentence, but a language model still reads it."
            )
            yield Finding(kind="source_speaks_to_judge", message=message, level="secondary")


def _find_unscored_verdicts(outcome: Outcome) -> Iterator[Finding]:
    failures = [
        (one, one.failure.reason)
        for evaluator in outcome.run.evaluators
        for verdict in outcome.verdicts.get(evaluator.name, ())
        for one in evaluator.split_verdict(verdict)
        if one.failure
    ]
    texts = {one.index: one.text for one in outcome.open_case.case.sentences}
    without_passage = (one for one, reason in failures if reason == "no_evidence")
    claims = (texts.get(getattr(one, "sentence", 0), "An item.") for one in without_passage)
    if n_without := sum(not states_nothing(claim) for claim in claims):
        message = f"Claims without a passage to compare with: {n_without}."
        yield Finding(kind="no_evidence", message=message)
    if missing := [reason for _, reason in failures if reason not in NO_FAULT]:
        yield Finding(kind="unscored", message=f"Unscored verdicts: {_count(missing)}.")


def _find_failed_escalations(outcome: Outcome) -> Iterator[Finding]:
    verdicts = [v for group in outcome.verdicts.values() for v in group]
    nested = [n for v in verdicts if isinstance(v, CitationVerdict) for n in v.nuggets]
    escalations = (getattr(verdict, "escalation", None) for verdict in (*verdicts, *nested))
    if failed := [one for one in escalations if one is not None and one.failure is not None]:
        message = (
            f"Verdicts that {failed[0].judge} failed to decide: "
            f"{_count([one.failure.reason for one in failed])}. "
            "The first judge's verdicts are kept."
        )
        yield Finding(kind="escalation_failed", message=message)


def _find_search_problems(searches: Sequence[EvidenceSearch]) -> Iterator[Finding]:
    if any(search.end == "nowhere_to_search" for search in searches):
        message = "There was no search for evidence: there is neither a corpus nor a source."
        yield Finding(kind="nowhere_to_search", message=message)
    if n_withdrawn := sum(search.n_withdrawn for search in searches):
        message = f"Retracted articles excluded from the evidence: {n_withdrawn}."
        yield Finding(kind="withdrawn_evidence", message=message)
    if failed := [search.failure.reason for search in searches if search.failure]:
        message = f"Evidence searches without queries from the model: {_count(failed)}."
        yield Finding(kind="search_without_queries", message=message)
    if unjudged := [s.judgment_failure.reason for s in searches if s.judgment_failure]:
        message = (
            "Evidence searches for which the judge did not decide whether the passages are "
            "sufficient: "
            f"{_count(unjudged)}."
        )
        yield Finding(kind="search_not_judged", message=message)


def _count(reasons: Sequence[str]) -> str:
    return f"{len(reasons)} ({', '.join(sorted(set(reasons)))})"
