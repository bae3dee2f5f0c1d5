"""The nodes of the evaluation graph: each calls an agent and files what it says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy
from langgraph.runtime import Runtime

from ragassay.agents.context import build_case
from ragassay.agents.segmenter import segment as segment_record
from ragassay.agents.signals.facts import facts_text
from ragassay.errors import InputError, ModelError
from ragassay.graphs.beside import beside
from ragassay.graphs.citation_nuggets import citations_by_nugget
from ragassay.graphs.comparing import compare
from ragassay.graphs.correctness import correctness_of
from ragassay.graphs.keys import fingerprint
from ragassay.graphs.panel import joint_judgments
from ragassay.graphs.state import State, Task, passage_of
from ragassay.graphs.tasks import claim_verdicts, rubrics_of
from ragassay.graphs.toolbox import Toolbox, toolbox
from ragassay.metrics.evaluation import Judges, evaluation_of
from ragassay.metrics.joint import joined
from ragassay.metrics.nuggets import align_counted, first_of_each, same_probability
from ragassay.metrics.verdicts import Verdicts, ordered
from ragassay.records import (
    Case,
    Judgment,
    Nugget,
    NuggetMatch,
    Reading,
    Record,
    Usage,
)
from ragassay.retrievers.hygiene import citation_findings
from ragassay.retrievers.passages import condense
from ragassay.sentences import sentences_of

Update = dict[str, Any]
"""A part of the state."""


async def segment(state: State, runtime: Runtime[Toolbox]) -> Update:
    """Cut the record into a case."""
    # LangGraph's own tools hand in plain JSON.
    record = Record.model_validate(state.record)
    return {"record": record, "case": await beside(case_of, record, toolbox(runtime))}


def case_of(record: Record, tools: Toolbox) -> Case:
    """What the judges look at.

    Raises:
        InputError: The answer has more sentences than the settings allow.
    """
    answer, sentences, sources = segment_record(record, tools.corpus.get)
    most = tools.settings.max_sentences
    if len(sentences) > most:
        raise InputError(
            f"the answer has {len(sentences)} sentences, more than the {most} that are allowed; "
            "raise the setting max_sentences if it is meant"
        )
    reference = record.reference or ""
    return build_case(
        record,
        answer,
        sentences,
        sentences_of(reference)[:most],
        sources,
        condense(sources, f"{record.question} {answer}", tools.settings.source_chars),
    )


async def check_citations(state: State, runtime: Runtime[Toolbox]) -> Update:
    """Look up what is known against the cited articles."""
    case, tools = _case(state), toolbox(runtime)
    if not tools.has_corpus:
        return {"notices": ()}
    written = state.record.date or ""
    return {"notices": await beside(citation_findings, case, tools.corpus, written)}


async def measure(state: State, runtime: Runtime[Toolbox]) -> Update:
    """Measure the answer, and have fine-tuned judges read it, before its rubrics are judged."""
    case, tools = _case(state), toolbox(runtime)
    readings = {
        seat: reading for seat in tools.readers if (reading := await _reading(case, seat, tools))
    }
    signals = await beside(tools.meter.signals, case) if tools.meter and tools.measures else None
    return {"signals": signals, "readings": readings}


async def _reading(case: Case, judge: str, tools: Toolbox) -> Reading | None:
    """What a judge sees in an answer; None where it could not be had.

    The ratings ask for it again then, each with its own tries, and say what is wrong.
    """
    with dspy.context(lm=tools.lm_of(judge)):
        try:
            reading: Any = await tools.reader.acall(case=case)
        except ModelError:
            return None
    return reading


async def judge_rubric(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """Rate the answer on one rubric; of a panel, as the judge that the task names."""
    judgment = await _rated(task, toolbox(runtime))
    seated = judgment.model_copy(update={"judge": task.judge, "first": task.first})
    return _filed(runtime, judgment.usage, {"judgments": [seated]})


async def _rated(task: Task, tools: Toolbox) -> Judgment:
    """By signals, by a fine-tuned judge, by both; or by a judge that is told what was measured."""
    rater = tools.rater_of(task.judge, task.rubric)
    measured = rater.judge(task.signals, task.rubric) if rater and task.signals else None
    if measured and not tools.asks(task.judge, task.rubric):
        return measured
    with dspy.context(lm=tools.lm_of(task.judge)):
        if tools.is_tuned(task.judge):
            tuned = await _tuned(task, tools)
            return joined(tuned, measured) if measured else tuned
        judgment: Any = await tools.judge.acall(
            case=task.case,
            rubric=tools.rubrics[task.rubric],
            facts=_facts(task),
            others=task.others,
        )
        return judgment


async def _tuned(task: Task, tools: Toolbox) -> Judgment:
    """A fine-tuned judge's rating of what it read, with what reading took."""
    reading: Any = task.reading or await tools.reader.acall(case=task.case)
    judgment: Any = await tools.tuned_judge.acall(
        case=task.case, reading=reading, rubric=task.rubric
    )
    return judgment.model_copy(update={"usage": judgment.usage + reading.usage})


def _facts(task: Task) -> str:
    """What a judge is told of what was measured; nothing where nothing was."""
    if task.signals is None:
        return ""
    return facts_text(task.signals, task.rubric, [s.text for s in task.case.sentences])


async def label_sentence(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """Label one sentence."""
    tools = toolbox(runtime)
    with dspy.context(lm=tools.lm):
        label = await tools.labeller.acall(
            case=task.case, sentence=task.case.sentences[task.item - 1]
        )
    return _filed(runtime, label.usage, {"labels": [label]})


async def nuggetize(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """List the facts of one sentence of the answer or of the reference."""
    tools = toolbox(runtime)
    with dspy.context(lm=tools.lm):
        nuggets = await tools.writer.acall(
            case=task.case, origin=task.origin, index=task.item, sentence=task.text
        )
    return _filed(runtime, nuggets.usage, {"nuggets": [nuggets]})


async def assign_nugget(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """Say whether the answer states one gold nugget."""
    tools, gold = toolbox(runtime), task.item - 1
    with dspy.context(lm=tools.lm):
        found = await tools.assigner.acall(case=task.case, gold=gold, nugget=task.case.gold[gold])
    return _filed(runtime, found.usage, {"assignments": [found]})


async def verify_claim(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """Compare a sentence with a passage."""
    passage = passage_of(task)
    found = await compare(toolbox(runtime), task.case, task.text, passage.text, passage.title)
    verdicts = claim_verdicts(
        task,
        verdict=found.verdict,
        confidence=found.confidence,
        entropy_bits=found.entropy_bits,
        usage=found.usage,
    )
    return _filed(runtime, found.usage, verdicts)


async def check_correctness(state: State, runtime: Runtime[Toolbox]) -> Update:
    """Ask the model of correctness about every sentence with the passages found for it."""
    tools = toolbox(runtime)
    if tools.correctness is None:
        return {}
    return {
        "correctness": await beside(correctness_of, _case(state), state.found, tools.correctness)
    }


async def hold(state: State) -> Update:
    """Keep deferred nodes waiting: LangGraph defers them behind nodes, and not behind a `Send`."""
    return {}


async def gather(state: State) -> Update:
    """Wait until the verdicts that others are made of are there."""
    return {}


async def aggregate(state: State, runtime: Runtime[Toolbox]) -> Update:
    """Put the verdicts in order, match the nuggets and add everything up."""
    case, tools = _case(state), toolbox(runtime)
    if tools.fatal is not None:
        # LangGraph ends the step, and starts the next, before it raises what a handler raised.
        raise tools.fatal
    parts, rubrics = tools.settings.parts, rubrics_of(case, tools.rubrics)
    found = Verdicts(
        nuggets=state.nuggets,
        judgments=joint_judgments(state, rubrics, tools),
        labels=state.labels,
        evidence=state.evidence,
        citations=[*state.citations, *citations_by_nugget(case, state)],
        assignments=state.assignments,
        correctness=state.correctness,
        facts=state.facts,
    )
    verdicts = ordered(case, rubrics, found, parts)
    gold = case.gold or verdicts.reference_nuggets
    matches = await beside(_matches, gold, verdicts.answer_nuggets, tools)
    evaluation = evaluation_of(
        state.record,
        case,
        verdicts,
        matches,
        state.searches,
        state.notices,
        Judges(
            tools.lm.model,
            tools.verifier_name,
            tools.correctness_name,
            tools.judges,
            tools.rated_by,
            tools.settings.escalated_to or "",
        ),
        fingerprint(tools, state.record),
        parts,
    )
    return {"evaluation": evaluation.model_copy(update={"signals": state.signals})}


def _matches(
    gold: Sequence[Nugget], answer: Sequence[Nugget], tools: Toolbox
) -> tuple[NuggetMatch, ...]:
    if not gold or not answer:
        return ()
    encode = tools.embedder.encode
    similarity = encode([n.text for n in gold]) @ encode([n.text for n in answer]).T
    if tools.matcher is None:
        counts = similarity >= tools.settings.nugget_threshold
    else:
        same = same_probability(similarity, tools.matcher.components)
        counts = same >= tools.matcher.probability_threshold
    return align_counted(similarity, counts & first_of_each([n.text for n in answer]))


def _case(state: State) -> Case:
    if state.case is None:
        raise InputError("the graph was entered behind its first node: call it with a record")
    return state.case


def _filed(runtime: Runtime[Toolbox], usage: Usage, update: Update) -> Update:
    """Report progress and hand the update on."""
    runtime.stream_writer({"done": 1, "usage": usage})
    return update
