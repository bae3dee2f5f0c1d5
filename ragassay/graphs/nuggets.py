"""Nugget graph: writes gold nuggets for a question from its sources.

open windows -> write -> merge -> next window? -> rate each -> rank -> human review
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send, interrupt
from pydantic import TypeAdapter, ValidationError

from ragassay.agents.nugget_writers import Created
from ragassay.errors import FatalModelError, InputError, find_first_problem
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import choose_run, prepare_run
from ragassay.graphs.base import Update, add_call, make_drawn
from ragassay.graphs.nugget_state import (
    ImportanceTask,
    LeftOut,
    NuggetImportance,
    NuggetJob,
    NuggetList,
    NuggetState,
)
from ragassay.process import run_in_thread
from ragassay.records import Document, Failure, Frozen, Importance, Nugget, Usage
from ragassay.store import hash_parts
from ragassay.text.search import condense_documents
from ragassay.text.sentences import split_sentences

NuggetGraph = CompiledStateGraph[NuggetState, Run, NuggetJob, NuggetList]


def build_nugget_graph(
    max_attempts: int = 5, checkpointer: BaseCheckpointSaver[Any] | None = None
) -> NuggetGraph:
    """Compile the nugget graph.

    Args:
        max_attempts: Maximum number of attempts for a model call that fails with transient errors.
        checkpointer: Checkpointer. Only a served graph that waits for a reviewer needs a
            checkpointer.
    """
    builder = StateGraph(
        NuggetState, context_schema=Run, input_schema=NuggetJob, output_schema=NuggetList
    )
    builder.add_node("open_windows", open_windows, input_schema=NuggetState)
    add_call(
        builder,
        "write_nuggets",
        write_nuggets,
        skip_window,
        input_type=NuggetState,
        goto="merge_nuggets",
        max_attempts=max_attempts,
    )
    builder.add_node("merge_nuggets", merge_nuggets)
    add_call(
        builder,
        "rate_importance",
        rate_importance,
        leave_unrated,
        input_type=ImportanceTask,
        goto="rank_nuggets",
        max_attempts=max_attempts,
    )
    builder.add_node("rank_nuggets", rank_nuggets)
    builder.add_node("review", review)
    builder.add_edge(START, "open_windows")
    builder.add_edge("open_windows", "write_nuggets")
    builder.add_edge("write_nuggets", "merge_nuggets")
    builder.add_conditional_edges(
        "merge_nuggets", route_on, ["write_nuggets", "rate_importance", "rank_nuggets"]
    )
    builder.add_edge("rate_importance", "rank_nuggets")
    builder.add_edge("rank_nuggets", "review")
    builder.add_edge("review", END)
    return make_drawn(builder.compile(checkpointer=checkpointer, name="write_nuggets"))


def route_on(state: NuggetState, runtime: Runtime[Run]) -> list[Send] | str:
    """Continue with the next window or, after the last one, rate the nuggets."""
    if state.n_read < len(state.windows):
        return "write_nuggets"
    facts = tuple(nugget.text for nugget in state.listed)
    runtime.stream_writer({"expected": len(facts)})
    tasks = [ImportanceTask(state.question, facts, position) for position in range(len(facts))]
    return [Send("rate_importance", task) for task in tasks] or "rank_nuggets"


DUPLICATE_SIMILARITY = 0.9
"""Minimum cosine similarity of duplicate facts.

The threshold is higher than for matching answers with gold facts, because all facts about a
question are similar, and a fact dropped by mistake is lost.
"""

MOST_LISTED = 30
"""Maximum number of collected facts, as in AutoNuggetizer."""


class ReviewedNugget(Frozen):
    """A nugget as returned by a human reviewer."""

    text: str
    importance: Importance | None = None


CREATED = TypeAdapter(Created)
RATED = TypeAdapter(tuple[NuggetImportance, Usage])
_REVIEWED: TypeAdapter[list[ReviewedNugget]] = TypeAdapter(list[ReviewedNugget])


async def open_windows(state: NuggetState, runtime: Runtime[Run]) -> Update:
    """Split the sources into windows that fit into a prompt."""
    # LangGraph's own tools pass plain JSON.
    sources = [Document.model_validate(source) for source in state.sources]
    sources = [source for source in sources if source.text.strip()]
    if not sources:
        raise InputError(f"topic {state.topic!r} has no source text to write nuggets from")
    if state.n_window < 1 or state.n_most < 1:
        raise InputError("n_window and n_most must be at least 1")
    run = await prepare_run(runtime)
    windows = [
        tuple(condense_documents(window, state.question, run.settings.source_chars))
        for start in range(0, len(sources), state.n_window)
        if (window := sources[start : start + state.n_window])
    ]
    runtime.stream_writer({"expected": len(windows)})
    return {"windows": tuple(windows)}


async def write_nuggets(state: NuggetState, runtime: Runtime[Run]) -> Update:
    """Write nuggets from the next window, or copy its closest sentence if none is supported."""
    run, window = choose_run(runtime), state.windows[state.n_read]
    known = [nugget.text for nugget in state.listed]

    shown = (document.model_dump_json() for document in window)
    key = hash_parts(run.identity, "write_nuggets", state.question, *known, "", *shown)
    async with run.store.compute_once(key, CREATED) as work:
        if work.is_new:
            work.result = await run.judge.ask(
                run.agents.creator, question=state.question, documents=window, known=known
            )
    created = work.result
    facts = tuple(Nugget(text=fact, method="model") for fact in created.facts)
    if created.not_carried and not facts:
        facts = await run_in_thread(_find_closest_sentence, state.question, window, run)
    runtime.stream_writer({"done": 1, "usage": created.usage if work.is_new else Usage()})
    return {
        "facts": facts,
        "n_read": state.n_read + 1,
        "left_out": [LeftOut(fact, "not_carried") for fact in created.not_carried],
        "usage": created.usage,
    }


def skip_window(state: NuggetState, failure: Failure) -> Update:
    """Record that a window failed, and continue with the next window."""
    return {"facts": (), "n_read": state.n_read + 1, "failures": [failure]}


async def merge_nuggets(state: NuggetState, runtime: Runtime[Run]) -> Update:
    """Add the facts of the last window to the list, except for duplicates."""
    _raise_fatal(runtime)
    if not state.facts:
        return {}
    return await run_in_thread(_merge_lists, state.listed, state.facts, choose_run(runtime))


async def rate_importance(task: ImportanceTask, runtime: Runtime[Run]) -> Update:
    """Rate the importance of one nugget."""
    run, position = choose_run(runtime), task.position
    key = hash_parts(run.identity, "rate_importance", task.question, str(position), *task.facts)
    async with run.store.compute_once(key, RATED) as work:
        if work.is_new:
            reply = await run.judge.ask(
                run.agents.importance_scorer,
                question=task.question,
                facts=task.facts,
                position=position,
            )
            importance = NuggetImportance(position, reply.importance, reply.confidence)
            work.result = importance, reply.usage
    importance, usage = work.result
    runtime.stream_writer({"done": 1, "usage": usage if work.is_new else Usage()})
    return {"importances": [importance], "usage": usage}


def leave_unrated(task: ImportanceTask, failure: Failure) -> Update:
    """Record that a nugget was not rated, but keep the nugget on the list."""
    return {"importances": [NuggetImportance(task.position)], "failures": [failure]}


async def rank_nuggets(state: NuggetState, runtime: Runtime[Run]) -> Update:
    """Sort the nuggets by importance and confidence, and keep the first `n_most`."""
    _raise_fatal(runtime)
    importances = {importance.position: importance for importance in state.importances}
    ranks = {"vital": 0, "okay": 1, None: 2}

    def rank(position: int) -> tuple[int, float, int]:
        rated = importances.get(position, NuggetImportance(position))
        confidence = rated.confidence or 0.0
        signed = -confidence if rated.importance == "vital" else confidence
        return ranks[rated.importance], signed, position

    order = sorted(range(len(state.listed)), key=rank)
    ranked = [
        state.listed[i].model_copy(update={"importance": importances[i].importance})
        if i in importances
        else state.listed[i]
        for i in order
    ]
    cut = [LeftOut(nugget.text, "too_many") for nugget in ranked[state.n_most :]]
    return {"nuggets": tuple(ranked[: state.n_most]), "left_out": cut}


async def review(state: NuggetState) -> Update:
    """Wait for a reviewer to change, remove or add nuggets, unless all are accepted.

    To resume the run, the reviewer sends a list of {text, importance}. If the list is invalid, the
    run stops again and reports the problem.
    """
    if state.accept_all:
        return {}
    problem = ""
    while True:
        request = {
            "topic": state.topic,
            "question": state.question,
            "nuggets": [{"text": n.text, "importance": n.importance} for n in state.nuggets],
            "left_out": [{"text": fact.text, "reason": fact.reason} for fact in state.left_out],
            "problem": problem,
        }
        try:
            return {"nuggets": apply_review(interrupt(request), state.nuggets)}
        except InputError as error:
            problem = str(error)


def apply_review(edited: object, before: Sequence[Nugget]) -> tuple[Nugget, ...]:
    """Apply a reviewer's changes to a nugget list.

    Args:
        edited: List of {text, importance}.
        before: Nuggets before the review. Nuggets with unchanged text keep their method.

    Raises:
        InputError: An item is invalid.
    """
    try:
        rows = _REVIEWED.validate_python(edited)
    except ValidationError as error:
        location, problem = find_first_problem(error)
        raise InputError(f"nugget {location or 'list'}: {problem}") from error
    known = {nugget.text: nugget for nugget in before}
    kept: dict[str, Nugget] = {}
    for number, row in enumerate(rows, 1):
        text = " ".join(row.text.split())
        if not text:
            raise InputError(f"nugget {number}: the text is empty")
        if text.casefold() in kept:
            raise InputError(f"nugget {number}: {text!r} is a duplicate")
        nugget = known.get(text, Nugget(text=text))
        kept[text.casefold()] = nugget.model_copy(update={"importance": row.importance})
    return tuple(kept.values())


def _merge_lists(listed: Sequence[Nugget], facts: Sequence[Nugget], run: Run) -> Update:
    vectors = run.models.embedder.encode([n.text for n in (*listed, *facts)])
    close = vectors @ vectors.T >= DUPLICATE_SIMILARITY
    kept, kept_positions, left_out = list(listed), list(range(len(listed))), list[LeftOut]()
    texts = {nugget.text.casefold() for nugget in listed}
    for position, fact in enumerate(facts, len(listed)):
        if fact.text.casefold() in texts or close[position, kept_positions].any():
            left_out.append(LeftOut(fact.text, "duplicate"))
        elif len(kept) >= MOST_LISTED:
            left_out.append(LeftOut(fact.text, "too_many"))
        else:
            kept.append(fact)
            kept_positions.append(position)
            texts.add(fact.text.casefold())
    return {"listed": tuple(kept), "facts": (), "left_out": left_out}


def _find_closest_sentence(
    question: str, window: Sequence[Document], run: Run
) -> tuple[Nugget, ...]:
    sentences = [d.text[start:end] for d in window for start, end in split_sentences(d.text)]
    if not sentences:
        return ()
    vectors = run.models.embedder.encode([question, *sentences])
    best = int((vectors[1:] @ vectors[0]).argmax())
    return (Nugget(text=" ".join(sentences[best].split()), method="extractive"),)


def _raise_fatal(runtime: Runtime[Run]) -> None:
    """Raise a known fatal error. LangGraph raises a handler's error only after the next step.

    Raises:
        FatalModelError: No call can succeed, for example because the API key is wrong.
    """
    fatal: FatalModelError | None = choose_run(runtime).judge.fatal
    if fatal is not None:
        raise fatal
