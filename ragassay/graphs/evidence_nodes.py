"""Nodes of the evidence graph: write queries, search, choose and judge passages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from langgraph.runtime import Runtime
from pydantic import TypeAdapter

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import choose_run
from ragassay.graphs.base import Update
from ragassay.graphs.case import find_open_case
from ragassay.graphs.evidence_state import (
    Answered,
    Draft,
    EvidenceState,
    QueryTask,
    Report,
    SufficiencyJudgment,
    SufficiencyTask,
)
from ragassay.graphs.passage_choice import choose_candidates, find_cited_spans, select_passages
from ragassay.process import run_in_thread
from ragassay.records import (
    AnswerSentence,
    Article,
    Case,
    Document,
    EvidenceSearch,
    EvidenceSide,
    Failure,
    SearchEnd,
    SearchQuery,
    Usage,
)
from ragassay.retrievers.evidence import N_CANDIDATES
from ragassay.retrievers.literature import Literature
from ragassay.tracing import open_step_span

DRAFT = TypeAdapter(Draft)
SEARCH = TypeAdapter(tuple[Report, tuple[str, ...]])
JUDGMENT = TypeAdapter(SufficiencyJudgment)

QUESTION_CHARS = 300
"""Maximum number of question characters in a query, so that the sentence has more weight."""


async def read_citations(state: EvidenceState, runtime: Runtime[Run]) -> Update:
    """Choose the part of each cited document that is compared with the citing sentence."""
    run = choose_run(runtime)
    case = find_open_case(state.case, run).case
    runtime.stream_writer({"phase": "reading sources"})
    return {"cited": await run_in_thread(find_cited_spans, case, run)}


async def write_query(task: QueryTask, runtime: Runtime[Run]) -> Update:
    """Ask the model to write queries for a sentence."""
    run = choose_run(runtime)
    case = find_open_case(task.case, run).case

    with open_step_span("write_query", item=task.item):
        async with run.store.compute_once(task.key, DRAFT) as work:
            if work.is_new:
                written = await run.judge.ask(
                    run.agents.query_writer,
                    case=case,
                    claim=case.sentences[task.item - 1].text,
                    tried=task.tried,
                    found=task.found,
                )
                queries = written.query, written.opposite
                work.result = Draft(task.item, task.round, *queries, written.usage)
    runtime.stream_writer({"done": 1, "usage": work.result.usage if work.is_new else Usage()})
    return {"drafts": [work.result]}


def leave_unasked(task: QueryTask, failure: Failure) -> Update:
    """Record that no queries were written. The sentence itself is still used as a query."""
    return {"drafts": [Draft(task.item, task.round, failure=failure)]}


async def run_agent(task: QueryTask, runtime: Runtime[Run]) -> Update:
    """Let an agent search for evidence for a sentence."""
    run = choose_run(runtime)
    case = find_open_case(task.case, run).case
    sentence = case.sentences[task.item - 1]
    notebook = _Notebook(run.retrieval.corpus, task.round, known={d.id for d in case.sources})

    async def search(query: str) -> list[Document]:
        return await notebook.ask(sentence.index, None, query)

    with open_step_span("run_agent", item=task.item):
        async with run.store.compute_once(task.key, SEARCH) as work:
            if work.is_new:
                notes = await run.agents.searcher.asearch(
                    run.judge.model,
                    case,
                    sentence.text,
                    search,
                    run.settings.retrieval.evidence_turns,
                    run.settings.retrieval.evidence_tokens // len(case.sentences),
                )
                queries = tuple(answered.query.text for answered in notebook.answered)
                work.result = Report(sentence.index, notes.cited, notes.usage), queries
        report, queries = work.result
        for query in () if work.is_new else queries:
            await search(query)
    runtime.stream_writer({"done": 1, "usage": report.usage if work.is_new else Usage()})
    return {"reports": [report], "answered": notebook.answered, "pool": notebook.pool}


def leave_unsearched(task: QueryTask, failure: Failure) -> Update:
    """Record that an agent failed. Documents found for other sentences are used instead."""
    return {"reports": [Report(task.item, failure=failure)]}


async def retrieve(state: EvidenceState, runtime: Runtime[Run]) -> Update:
    """Search the corpus with each distinct query of this round."""
    run, this_round = choose_run(runtime), state.round + 1
    case = find_open_case(state.case, run).case
    known = {*state.pool, *(source.id for source in case.sources)}
    notebook = _Notebook(run.retrieval.corpus, this_round, known)
    runtime.stream_writer({"phase": "searching"})
    asked = {answered.query.text for answered in state.answered}
    with open_step_span("retrieve"):
        for sentence, side, text in _list_round_queries(state, case, this_round):
            if text not in asked:
                asked.add(text)
                await notebook.ask(sentence, side, text)
    return {"round": this_round, "answered": notebook.answered, "pool": notebook.pool}


class _Notebook:
    """Searches a corpus and records the queries and their hits.

    Args:
        known: Ids of the documents that earlier searches found.
    """

    def __init__(self, corpus: Literature, round: int, known: Iterable[str]) -> None:
        self._corpus, self._round, self._known = corpus, round, set(known)
        self.answered: list[Answered] = []
        self.pool: dict[str, Document] = {}

    async def ask(self, sentence: int, side: EvidenceSide | None, text: str) -> list[Document]:
        """Return the documents for a query, without retracted articles."""
        hits = await asyncio.to_thread(self._corpus.search, text, N_CANDIDATES)
        documents = [hit.document for hit in hits]
        found = [d for d in documents if not (isinstance(d, Article) and "retracted" in d.notices)]
        new = [document for document in found if document.id not in self._known]
        self._known.update(document.id for document in new)
        self.pool.update((document.id, document) for document in new)
        query = SearchQuery(
            text=text, side=side, round=self._round, n_found=len(found), n_new=len(new)
        )
        ids = tuple(document.id for document in found)
        self.answered.append(Answered(sentence, query, ids, len(documents) - len(found)))
        return found


def _list_round_queries(
    state: EvidenceState, case: Case, this_round: int
) -> Iterator[tuple[int, EvidenceSide, str]]:
    drafts = {draft.sentence: draft for draft in state.drafts if draft.round == this_round}
    for sentence in case.sentences:
        if this_round == 1:
            yield sentence.index, "for", build_plain_query(sentence, case)
        draft = drafts.get(sentence.index)
        if draft and draft.query:
            yield sentence.index, "for", draft.query
        if draft and draft.opposite:
            yield sentence.index, "against", draft.opposite


def build_plain_query(sentence: AnswerSentence, case: Case) -> str:
    """Return the sentence and the question as a query. The question explains words such as "it"."""
    return f"{sentence.text} {case.question[:QUESTION_CHARS]}".strip()


async def choose_passages(state: EvidenceState, runtime: Runtime[Run]) -> Update:
    """Choose the passages for each sentence and record the searches."""
    run = choose_run(runtime)
    case = find_open_case(state.case, run).case
    done = {search.sentence: search for search in state.searches if search.end == "enough"}
    pending = [sentence for sentence in case.sentences if sentence.index not in done]
    runtime.stream_writer({"phase": "choosing passages"})
    candidates = await run_in_thread(choose_candidates, state, case, pending)
    new = await run_in_thread(select_passages, state, case, candidates, run)
    end = _choose_search_end(case, run)
    for n, documents in candidates.items():
        done[n] = _search_of(state, n, len(documents), end)
    kept = [f for f in state.found if f.sentence not in candidates]
    return {
        "found": tuple(sorted([*kept, *new], key=lambda f: f.sentence)),
        "searches": _mark_token_stops(tuple(done[n] for n in sorted(done)), run),
    }


async def judge_sufficiency(task: SufficiencyTask, runtime: Runtime[Run]) -> Update:
    """Judge whether a sentence's passages are sufficient."""
    run = choose_run(runtime)
    case = find_open_case(task.case, run).case
    with open_step_span("judge_sufficiency", item=task.item):
        async with run.store.compute_once(task.key, JUDGMENT) as work:
            if work.is_new:
                judged = await run.judge.ask(
                    run.agents.sufficiency_judge,
                    case=case,
                    claim=case.sentences[task.item - 1].text,
                    passages=task.passages,
                )
                is_enough = judged.is_enough
                work.result = SufficiencyJudgment(task.item, task.key, is_enough, judged.usage)
    runtime.stream_writer({"done": 1, "usage": work.result.usage if work.is_new else Usage()})
    return {"judgments": [work.result]}


def leave_unjudged(task: SufficiencyTask, failure: Failure) -> Update:
    """Record that the judgment on a sentence's passages failed, so that its search continues."""
    return {"judgments": [SufficiencyJudgment(task.item, task.key, failure=failure)]}


async def end_searches(state: EvidenceState, runtime: Runtime[Run]) -> Update:
    """End the searches that found sufficient passages, and update the usage."""
    ends: dict[int, SearchEnd] = {j.sentence: "enough" for j in state.judgments if j.is_enough}
    searches = (
        _search_of(state, s.sentence, s.n_documents, ends.get(s.sentence, s.end))
        for s in state.searches
    )
    return {"searches": _mark_token_stops(tuple(searches), choose_run(runtime))}


def _choose_search_end(case: Case, run: Run) -> SearchEnd:
    if not run.retrieval.has_corpus:
        return "sources_only" if case.sources else "nowhere_to_search"
    if run.settings.retrieval.evidence == "agent":
        return "agent_done"
    return "out_of_rounds" if run.settings.judges_sufficiency else "closest_passages"


def _search_of(state: EvidenceState, n: int, n_documents: int, end: SearchEnd) -> EvidenceSearch:
    answered = [a for a in state.answered if a.sentence == n]
    asked = [step for step in (*state.drafts, *state.reports) if step.sentence == n]
    judged = [judgment for judgment in state.judgments if judgment.sentence == n]
    failures = [step.failure for step in asked if step.failure]
    return EvidenceSearch(
        sentence=n,
        queries=tuple(a.query for a in answered),
        n_documents=n_documents,
        n_withdrawn=sum(a.n_withdrawn for a in answered),
        end=end,
        n_judgments=sum(not judgment.failure for judgment in judged),
        usage=sum((step.usage for step in (*asked, *judged)), Usage()),
        failure=failures[-1] if failures else None,
        judgment_failure=judged[-1].failure if judged else None,
    )


def _mark_token_stops(searches: tuple[EvidenceSearch, ...], run: Run) -> tuple[EvidenceSearch, ...]:
    if count_search_tokens(searches) < run.settings.retrieval.evidence_tokens:
        return searches
    spent: dict[str, SearchEnd] = {"end": "out_of_tokens"}
    return tuple(s.model_copy(update=spent) if s.end == "out_of_rounds" else s for s in searches)


def count_search_tokens(searches: tuple[EvidenceSearch, ...]) -> int:
    """Return the number of tokens used by the searches for one answer."""
    return sum(s.usage.n_prompt_tokens + s.usage.n_completion_tokens for s in searches)
