"""Citations checked nugget by nugget (BioACE, section 4.2.3), where the settings want it so.

list_facts -> gather -> verify_nugget -> aggregate: the facts of the cited documents are
listed while the answer's sentences are nuggetized; when both are done each nugget of a sentence is
compared with all facts of each document that it cites.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy
from langgraph.runtime import Runtime

from ragassay.agents.fact_lister import fact_windows
from ragassay.agents.verifier import Finding
from ragassay.graphs.comparing import compare
from ragassay.graphs.state import Cited, State, Task, passage_of
from ragassay.graphs.toolbox import Toolbox, toolbox
from ragassay.metrics.citations import merged_citations
from ragassay.records import (
    Case,
    CitationVerdict,
    DocumentFacts,
    Failure,
    NuggetVerdict,
    SentenceNuggets,
    Usage,
)
from ragassay.sentences import sentences_of

Update = dict[str, Any]
"""A part of the state."""


def fact_tasks(case: Case, cited: Sequence[Cited]) -> list[Task]:
    """The passages of the cited documents, each once."""
    documents = {source.id: source for source in case.sources}
    names = dict.fromkeys(c.passage.document for c in cited)
    return [
        Task(kind="list_facts", case=case, passage=window)
        for name in names
        for window in fact_windows(documents[name])
    ]


def nugget_tasks(
    case: Case,
    cited: Sequence[Cited],
    facts: Sequence[DocumentFacts],
    nuggets: Sequence[SentenceNuggets],
) -> list[Task]:
    """One task for each nugget of a sentence and each document that the sentence cites."""
    of_document: dict[str, list[DocumentFacts]] = {}
    for found in sorted(facts, key=lambda f: (f.document, f.start)):
        of_document.setdefault(found.document, []).append(found)
    of_sentence = {n.sentence: n.nuggets for n in nuggets if n.origin == "answer"}
    pairs = dict.fromkeys((c.sentence, c.passage.document) for c in cited)
    return [
        Task(
            kind="verify_nugget",
            case=case,
            item=sentence,
            document=document,
            nugget=nugget.text,
            facts=tuple(fact for found in of_document.get(document, ()) for fact in found.facts),
        )
        for sentence, document in pairs
        for nugget in of_sentence.get(sentence, ())
    ]


def citations_by_nugget(case: Case, state: State) -> list[CitationVerdict]:
    """Verdicts on the citations, merged from those on nuggets; none where there are no such."""
    citations = {(s.index, c.marker): c for s in case.sentences for c in s.citations}
    return merged_citations(
        [(c.sentence, citations[c.sentence, c.marker], c.passage) for c in state.cited],
        _settled(state.nugget_verdicts),
    )


def _settled(verdicts: Sequence[NuggetVerdict]) -> list[NuggetVerdict]:
    """Without those in whose place a second judge's stands."""
    sent = {(v.sentence, v.document, v.nugget) for v in verdicts if v.escalation is not None}
    return [
        v
        for v in verdicts
        if v.escalation is not None or (v.sentence, v.document, v.nugget) not in sent
    ]


async def list_facts(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """List the facts of a passage of a cited document."""
    tools, passage = toolbox(runtime), passage_of(task)
    with dspy.context(lm=tools.lm):
        found = await tools.fact_lister.acall(case=task.case, passage=passage.text)
    runtime.stream_writer({"done": 1, "usage": found.usage})
    place = {"document": passage.document, "start": passage.start}
    return {"facts": [DocumentFacts(**place, facts=found.facts, usage=found.usage)]}


def unlisted(task: Task, failure: Failure) -> DocumentFacts:
    """Where no model could list the facts of a passage, its sentences stand for them."""
    passage = passage_of(task)
    return DocumentFacts(
        document=passage.document,
        start=passage.start,
        facts=tuple(sentences_of(passage.text)),
        failure=failure,
    )


async def verify_nugget(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """Compare a nugget of a sentence with the facts of a document that the sentence cites."""
    tools, facts = toolbox(runtime), "\n".join(task.facts)
    found = await compare(tools, task.case, task.nugget, facts)
    runtime.stream_writer({"done": 1, "usage": found.usage})
    return {"nugget_verdicts": [nugget_verdict(task, found)]}


def nugget_verdict(
    task: Task, found: Finding | None = None, failure: Failure | None = None
) -> NuggetVerdict:
    """What was found about a nugget, or why nothing was."""
    return NuggetVerdict(
        sentence=task.item,
        document=task.document,
        nugget=task.nugget,
        verdict=found.verdict if found else None,
        confidence=found.confidence if found else None,
        entropy_bits=found.entropy_bits if found else None,
        usage=found.usage if found else Usage(),
        failure=failure,
    )
