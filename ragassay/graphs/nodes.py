"""The nodes of the evaluation graph: each calls an agent and files what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import dspy
from langgraph.runtime import Runtime

from ragassay.agents.context import build_case
from ragassay.agents.segmenter import segment as segment_record
from ragassay.errors import InputError
from ragassay.graphs.state import Passages, State, Task, cited_key
from ragassay.graphs.toolbox import Toolbox, sentence_text, toolbox
from ragassay.metrics.evaluation import evaluation_of, ordered
from ragassay.metrics.nuggets import align
from ragassay.records import (
    Case,
    Citation,
    CitationVerdict,
    Document,
    EvidenceVerdict,
    Nugget,
    NuggetMatch,
    Record,
)
from ragassay.retrievers.evidence import best_passages
from ragassay.retrievers.passages import condense
from ragassay.sentences import split_sentences

Update = dict[str, Any]
"""A part of the state."""


async def segment(state: State, runtime: Runtime[Toolbox]) -> Update:
    """Cut the record into a case."""
    tools = toolbox(runtime)
    # LangGraph's own tools hand in plain JSON.
    record = Record.model_validate(state.record)
    answer, sentences, sources = segment_record(record, tools.corpus.get)
    most = tools.settings.max_sentences
    if len(sentences) > most:
        raise InputError(
            f"the answer has {len(sentences)} sentences, more than the {most} that are allowed; "
            "raise the setting max_sentences if it is meant"
        )
    reference = record.reference or ""
    shown = condense(sources, f"{record.question} {answer}", tools.settings.source_chars)
    case = build_case(
        record,
        answer,
        sentences,
        [reference[start:end] for start, end in split_sentences(reference)][:most],
        sources,
        shown,
    )
    runtime.stream_writer({"expected": expected_calls(case, len(tools.rubrics))})
    return {"record": record, "case": case}


def expected_calls(case: Case, n_rubrics: int) -> int:
    """Model calls that a case takes when nothing is cached and evidence is found throughout."""
    n_cited = sum(1 for s in case.sentences for c in s.citations if c.document)
    if not case.sentences:
        return 0
    n_reference = 0 if case.gold else len(case.reference_sentences)
    return n_rubrics + 3 * len(case.sentences) + n_reference + n_cited


async def find_evidence(state: State, runtime: Runtime[Toolbox]) -> Update:
    """Find the passage for each sentence, and the passage of each cited document."""
    return {"passages": await asyncio.to_thread(_passages, _case(state), toolbox(runtime))}


def _passages(case: Case, tools: Toolbox) -> Passages:
    documents = {source.id: source for source in case.sources}
    claims: list[str] = []
    candidates: list[list[Document]] = []
    for sentence in case.sentences:
        found = [d for d in tools.corpus.search(sentence.text) if d.id not in documents]
        claims.append(sentence.text)
        candidates.append([*case.sources, *found])
    pairs = [
        (s.index, c.marker, s.text, documents[c.document])
        for s in case.sentences
        for c in s.citations
        if c.document
    ]
    spans = best_passages(
        [*claims, *(text for _, _, text, _ in pairs)],
        [*candidates, *([document] for *_, document in pairs)],
        tools.embedder,
    )
    least = tools.settings.evidence_threshold
    enough = [s if s and (s.relevance_score or 0.0) >= least else None for s in spans]
    cited = {
        cited_key(index, marker): span
        for (index, marker, *_), span in zip(pairs, spans[len(claims) :], strict=True)
    }
    return Passages(claims=tuple(enough[: len(claims)]), cited=cited)


async def judge_rubric(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """Rate the answer on one rubric."""
    tools = toolbox(runtime)
    with dspy.context(lm=tools.lm):
        judgment = await tools.judge.acall(case=task.case, rubric=tools.rubrics[task.rubric])
    return _filed(runtime, {"judgments": [judgment]})


async def label_sentence(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """Label one sentence."""
    tools = toolbox(runtime)
    with dspy.context(lm=tools.lm):
        label = await tools.labeller.acall(
            case=task.case, sentence=task.case.sentences[task.item - 1]
        )
    return _filed(runtime, {"labels": [label]})


async def nuggetize(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """List the facts of one sentence of the answer or of the reference."""
    tools = toolbox(runtime)
    with dspy.context(lm=tools.lm):
        nuggets = await tools.writer.acall(
            case=task.case, origin=task.origin, index=task.item, sentence=sentence_text(task)
        )
    return _filed(runtime, {"nuggets": [nuggets]})


async def verify_evidence(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """Compare a sentence with the best passage found for it."""
    tools = toolbox(runtime)
    with dspy.context(lm=tools.lm):
        found = await tools.verifier.acall(
            case=task.case, claim=sentence_text(task), passage=task.passage
        )
    verdict = EvidenceVerdict(
        sentence=task.item,
        verdict=found.verdict,
        confidence=found.confidence,
        evidence=task.passage,
        usage=found.usage,
    )
    return _filed(runtime, {"evidence": [verdict]})


async def verify_citation(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """Compare a sentence with the best passage of a document that it cites."""
    tools = toolbox(runtime)
    with dspy.context(lm=tools.lm):
        found = await tools.verifier.acall(
            case=task.case, claim=sentence_text(task), passage=task.passage
        )
    verdict = CitationVerdict(
        sentence=task.item,
        citation=citation_of(task),
        verdict=found.verdict,
        confidence=found.confidence,
        evidence=task.passage,
        usage=found.usage,
    )
    return _filed(runtime, {"citations": [verdict]})


async def aggregate(state: State, runtime: Runtime[Toolbox]) -> Update:
    """Put the verdicts in order, match the nuggets and add everything up."""
    case, tools = _case(state), toolbox(runtime)
    if tools.lm.fatal is not None:
        # LangGraph ends the step, and starts the next, before it raises what a handler raised.
        raise tools.lm.fatal
    verdicts = ordered(
        case,
        tuple(tools.rubrics),
        state.nuggets,
        state.judgments,
        state.labels,
        state.evidence,
        state.citations,
    )
    matches = await asyncio.to_thread(
        _matches, case.gold or verdicts.reference_nuggets, verdicts.answer_nuggets, tools
    )
    evaluation = evaluation_of(
        state.record, case, verdicts, matches, tools.settings.model, tools.fingerprint(state.record)
    )
    return {"evaluation": evaluation}


def _matches(
    gold: Sequence[Nugget], answer: Sequence[Nugget], tools: Toolbox
) -> tuple[NuggetMatch, ...]:
    if not gold or not answer:
        return ()
    encode = tools.embedder.encode
    similarity = encode([n.text for n in gold]) @ encode([n.text for n in answer]).T
    return align(similarity, tools.settings.nugget_threshold)


def citation_of(task: Task) -> Citation:
    """The citation that a task is about."""
    sentence = task.case.sentences[task.item - 1]
    return next(c for c in sentence.citations if c.marker == task.marker)


def _case(state: State) -> Case:
    if state.case is None:
        raise InputError("the graph was entered behind its first node: call it with a record")
    return state.case


def _filed(runtime: Runtime[Toolbox], update: Update) -> Update:
    """Report progress and hand the update on."""
    usage = next(iter(update.values()))[0].usage
    runtime.stream_writer({"done": 1, "usage": usage})
    return update
