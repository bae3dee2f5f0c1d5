"""Graph that writes question-answer pairs from a paper (Wan et al. 2024, section 3)."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import dspy
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from pydantic import TypeAdapter

from ragassay.agents.qa_writer import FaultyPair, WrittenPair, WrittenPairs
from ragassay.graphs.base import (
    Update,
    build_failure,
    make_drawn,
    pause_before_retry,
    retry_policies,
)
from ragassay.graphs.qa_parts import (
    PairRules,
    allocate_pairs,
    explain_misfit,
    find_low_ratings,
    find_quoted_sentences,
    list_questions,
    split_paper,
)
from ragassay.graphs.qa_state import (
    DraftPair,
    PairFlaw,
    QAEnd,
    QAJob,
    QAPairs,
    QARun,
    QAState,
    RatingTask,
)
from ragassay.process import run_in_thread
from ragassay.records import RACAR, Failure, Paper, QAPair, RacarRating, Usage
from ragassay.store import hash_parts
from ragassay.text.keywords import find_keywords

STATE = TypeAdapter(QAState)
TASK = TypeAdapter(RatingTask)
WRITTEN = TypeAdapter(WrittenPairs)
RATINGS = TypeAdapter(list[RacarRating])


def build_qa_key(run: QARun, paper: Paper, node: str, state: bytes) -> str:
    """Return a hash of everything that the pairs of a paper, or one call, depend on.

    Args:
        state: The job, or the input of the call, as JSON.
    """
    return build_qa_key_prefix(run, paper) + hash_parts(node, state.decode())


def build_qa_key_prefix(run: QARun, paper: Paper) -> str:
    """Return the prefix that all keys for a paper share."""
    windows = str((run.window_tokens, run.window_chars))
    return hash_parts(run.run.identity, run.rater, windows, paper.model_dump_json()) + "/"


async def open_paper(state: QAState, runtime: Runtime[QARun]) -> Update:
    """Choose keywords, split the paper, assign pairs to parts, and check the context window."""
    run, paper = _run_and_paper(state, runtime)
    parts = split_paper(paper, state)
    if not parts:
        detail = f"{paper.id} has no running text to write pairs from"
        return {"failures": [Failure(reason="no_evidence", detail=detail)], "end": "done"}
    keywords = state.keywords or paper.keywords
    if not keywords and state.way == "pairs":
        keywords = await run_in_thread(find_keywords, paper.text)
    shares = allocate_pairs(parts, state)
    state = replace(state, shares=shares)
    if problem := await run_in_thread(explain_misfit, paper, parts, state, run):
        failure = Failure(reason="too_long", detail=problem)
        return {"failures": [failure], "end": "does_not_fit"}
    queue = tuple((part, n) for part, n in enumerate(shares) if n)
    runtime.stream_writer({"expected": len(queue)})
    return {"keywords": tuple(keywords), "shares": shares, "queue": queue}


async def write_pairs(state: QAState, runtime: Runtime[QARun]) -> Update:
    """Write pairs from the next part of the paper."""
    run, paper = _run_and_paper(state, runtime)
    part, number = state.queue[0]
    shown, agents = split_paper(paper, state)[part], run.run.agents
    known = list_questions((*state.kept, *state.open))

    key = build_qa_key(run, paper, "write_pairs", STATE.dump_json(state))
    async with run.run.store.compute_once(key, WRITTEN) as work:
        if work.is_new:
            with dspy.context(lm=run.writer):
                call: Any
                if state.way == "self-questioning":
                    call = agents.self_questioner.acall(paragraph=shown.text, number=number)
                else:
                    call = agents.qa_writer.acall(
                        paper=shown, keywords=state.keywords, number=number, known=known
                    )
                work.result = await call
    written = work.result
    runtime.stream_writer({"done": 1, "usage": written.usage if work.is_new else Usage()})
    pairs = [pair for pair in written.pairs if pair is not None]
    drafts = [
        DraftPair(_build_pair(pair, paper, run, n), n, part)
        for n, pair in enumerate(pairs, state.n_drafted)
    ]
    return {
        "queue": state.queue[1:],
        "open": (*state.open, *drafts),
        "n_drafted": state.n_drafted + len(drafts),
        "n_empty": written.n_empty,
        "usage": written.usage,
    }


def skip_part(state: QAState, failure: Failure) -> Update:
    """Record that writing failed, and request no more pairs from this part of the paper."""
    return {"queue": state.queue[1:], "closed": [state.queue[0][0]], "failures": [failure]}


async def check_pairs(state: QAState, runtime: Runtime[QARun]) -> Update:
    """Drop duplicates and check the other pairs with the rules."""
    if state.way == "self-questioning" or not state.open:
        return {}  # The baseline keeps the pairs unchanged.
    run, paper = _run_and_paper(state, runtime)
    drafts = (*state.kept, *sorted(state.open, key=lambda draft: draft.place))
    duplicates = await run_in_thread(run.fold, list_questions(drafts))
    rules = await run_in_thread(PairRules, paper)
    checked, dropped = list[DraftPair](), list[DraftPair]()
    for position, draft in list(enumerate(drafts))[len(state.kept) :]:
        if position in duplicates:
            earlier = drafts[duplicates[position]].pair.question
            flaw = PairFlaw("duplicate", f'it asks what "{earlier}" does')
            dropped.append(replace(draft, flaws=(flaw,)))
        else:
            checked.append(replace(draft, flaws=rules.find_flaws(draft.pair)))
    return {"open": tuple(checked), "dropped": dropped}


async def rate_pairs(task: RatingTask, runtime: Runtime[QARun]) -> Update:
    """Rate question-answer pairs on one dimension with a second model."""
    run, paper = runtime.context, runtime.context.papers[task.paper]

    key = build_qa_key(run, paper, "rate_pairs", TASK.dump_json(task))
    async with run.run.store.compute_once(key, RATINGS) as work:
        if work.is_new:
            rate = run.rate
            work.result = [*await rate(paper, task.dimension, task.pairs)] if rate else []
    usage = sum((rating.usage for rating in work.result), Usage())
    runtime.stream_writer({"done": 1, "usage": usage if work.is_new else Usage()})
    return {"ratings": work.result, "usage": usage}


def leave_unrated(task: RatingTask, failure: Failure) -> Update:
    """Record that rating failed, so that the pairs have no rating on this dimension."""
    return {"failures": [failure]}


async def sort_pairs(state: QAState, runtime: Runtime[QARun]) -> Update:
    """Accept the pairs without flaws, and plan the repair of flawed pairs and the missing pairs."""
    low = find_low_ratings(state.ratings, state.min_rating)
    judged = [replace(d, flaws=d.flaws or low.get(d.pair.id, ())) for d in state.open]
    kept = (*state.kept, *(draft for draft in judged if not draft.flaws))
    flawed = tuple(draft for draft in judged if draft.flaws)
    queue = _count_missing_pairs(state, kept, flawed) if state.way == "pairs" else ()
    end: QAEnd | None = None
    if not flawed and not queue:
        end = "done"
    elif not state.has_tokens:
        end = "out_of_tokens"
    elif state.round >= state.rounds:
        end = "out_of_rounds"
    if end:
        kept = tuple(sorted(kept, key=lambda draft: (draft.part, draft.place)))
        return {"kept": kept, "open": (), "queue": (), "dropped": list(flawed), "end": end}
    n_calls = len({draft.part for draft in flawed}) + len(queue)
    runtime.stream_writer({"expected": n_calls})
    return {"kept": kept, "open": flawed, "queue": queue, "round": state.round + 1}


async def mend_pairs(state: QAState, runtime: Runtime[QARun]) -> Update:
    """Repair the flawed pairs of one part of the paper in a single call."""
    run, paper = _run_and_paper(state, runtime)
    part, flawed = _find_next_flawed(state)
    faulty = [
        FaultyPair(d.pair.question, d.pair.answer, tuple(f.why for f in d.flaws)) for d in flawed
    ]

    key = build_qa_key(run, paper, "mend_pairs", STATE.dump_json(state))
    async with run.run.store.compute_once(key, WRITTEN) as work:
        if work.is_new:
            mend: Any = run.run.agents.qa_mender.acall
            with dspy.context(lm=run.writer):
                work.result = await mend(paper=split_paper(paper, state)[part], pairs=faulty)
    written = work.result
    runtime.stream_writer({"done": 1, "usage": written.usage if work.is_new else Usage()})
    repaired, dropped = list[DraftPair](), list[DraftPair]()
    for n, (draft, new) in enumerate(zip(flawed, written.pairs, strict=True), state.n_drafted):
        if new is None:
            given_up = PairFlaw("given_up", "the model had no better one")
            dropped.append(replace(draft, flaws=(*draft.flaws, given_up)))
            continue
        pair = _build_pair(new, paper, run, n)
        repaired.append(replace(draft, pair=pair, n_mended=draft.n_mended + 1, flaws=()))
    others = [draft for draft in state.open if draft not in flawed]
    return {
        "open": (*others, *repaired),
        "dropped": dropped,
        "n_drafted": state.n_drafted + len(flawed),
        "usage": written.usage,
    }


def leave_flawed(state: QAState, failure: Failure) -> Update:
    """Record that a repair failed, and drop the pairs that it should repair."""
    _, flawed = _find_next_flawed(state)
    others = tuple(draft for draft in state.open if draft not in flawed)
    return {"open": others, "dropped": flawed, "failures": [failure]}


def choose_next_call(state: QAState) -> str:
    """Return the next node of a round: repair flawed pairs, write missing ones, or check all."""
    if state.has_tokens and any(draft.flaws for draft in state.open):
        return "mend_pairs"
    return "write_pairs" if state.has_tokens and state.queue else "check_pairs"


def _find_next_flawed(state: QAState) -> tuple[int, list[DraftPair]]:
    part = min(draft.part for draft in state.open if draft.flaws)
    return part, [draft for draft in state.open if draft.flaws and draft.part == part]


def _count_missing_pairs(
    state: QAState, kept: tuple[DraftPair, ...], flawed: tuple[DraftPair, ...]
) -> tuple[tuple[int, int], ...]:
    drafted = [draft.part for draft in (*kept, *flawed)]
    missing = ((part, share - drafted.count(part)) for part, share in enumerate(state.shares))
    return tuple((part, n) for part, n in missing if n > 0 and part not in state.closed)


def _build_pair(written: WrittenPair, paper: Paper, run: QARun, number: int) -> QAPair:
    return QAPair(
        id=f"{paper.id}/{number + 1}",
        question=written.question,
        answer=written.answer,
        paper=paper.id,
        system=run.writer.model,
        sources=find_quoted_sentences(written.quote, paper.evidence_text),
    )


def _run_and_paper(state: QAState, runtime: Runtime[QARun]) -> tuple[QARun, Paper]:
    run = runtime.context
    return run, run.papers[state.paper]


QAGraph = CompiledStateGraph[QAState, QARun, QAJob, QAPairs]


def build_qa_graph(max_attempts: int = 5) -> QAGraph:
    """Compile the graph that writes question-answer pairs.

    Args:
        max_attempts: Maximum number of attempts for a model call that fails with transient errors.
    """
    builder = StateGraph(QAState, context_schema=QARun, input_schema=QAJob, output_schema=QAPairs)
    add = functools.partial(_add_call, builder, max_attempts)
    builder.add_node("open_paper", open_paper, input_schema=QAState)
    add("write_pairs", write_pairs, skip_part, QAState)
    builder.add_node("check_pairs", check_pairs)
    add("rate_pairs", rate_pairs, leave_unrated, RatingTask)
    builder.add_node("sort_pairs", sort_pairs)
    add("mend_pairs", mend_pairs, leave_flawed, QAState)
    calls = ["mend_pairs", "write_pairs", "check_pairs"]
    builder.add_edge(START, "open_paper")
    builder.add_conditional_edges("open_paper", route_opened, ["write_pairs", END])
    builder.add_conditional_edges("write_pairs", choose_next_call, calls)
    builder.add_conditional_edges("mend_pairs", choose_next_call, calls)
    builder.add_conditional_edges("check_pairs", route_rating, ["rate_pairs", "sort_pairs"])
    builder.add_edge("rate_pairs", "sort_pairs")
    builder.add_conditional_edges("sort_pairs", route_round, [*calls, END])
    return make_drawn(builder.compile(name="write_qa_pairs"))


def _add_call(
    builder: StateGraph[QAState, QARun, QAJob, QAPairs],
    max_attempts: int,
    name: str,
    ask: Callable[[Any, Runtime[QARun]], Awaitable[Update]],
    on_failure: Callable[[Any, Failure], Update],
    input_type: type[QAState] | type[RatingTask],
) -> None:
    async def ask_or_fail(state: Any, runtime: Runtime[QARun]) -> Update:
        try:
            return await ask(state, runtime)
        except Exception as error:  # boundary of a unit of work
            info = runtime.execution_info
            attempt = info.node_attempt if info else max_attempts
            if pause_before_retry(error, attempt, max_attempts) is not None:
                raise
            runtime.stream_writer({"done": 1, "failed": 1})
            return on_failure(state, build_failure(error))

    node: Any = ask_or_fail  # LangGraph's types do not support two input types.
    builder.add_node(name, node, input_schema=input_type, retry_policy=retry_policies(max_attempts))


def route_opened(state: QAState) -> str:
    """Write pairs, or end the work if the paper cannot be used."""
    return END if state.end else "write_pairs"


def route_rating(state: QAState, runtime: Runtime[QARun]) -> list[Send] | str:
    """Rate the pairs without flaws on all dimensions in parallel."""
    clean = tuple(draft.pair for draft in state.open if not draft.flaws)
    if runtime.context.rate is None or state.way != "pairs" or not (clean and state.has_tokens):
        return "sort_pairs"
    runtime.stream_writer({"expected": len(RACAR)})
    return [Send("rate_pairs", RatingTask(state.paper, clean, dimension)) for dimension in RACAR]


def route_round(state: QAState) -> str:
    """Continue with the next round, or end the work on the paper."""
    return END if state.end else choose_next_call(state)
