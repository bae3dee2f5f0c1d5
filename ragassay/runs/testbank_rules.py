"""Nuggets without a judge: the clauses of the sources that are closest to the query."""

from __future__ import annotations

from ragassay.evaluators.base import Run
from ragassay.graphs.exams import ExamItems, ExamJob
from ragassay.records import Usage
from ragassay.retrievers.passages import condense
from ragassay.runs.testbank_meaning import repeats
from ragassay.text.clauses import clauses_of
from ragassay.text.sentences import sentences_of

BY_RULE = "clauses by rule"
"""In place of a model's name."""


def clause_nuggets(job: ExamJob, tools: Run) -> ExamItems:
    """Return the clauses that are closest to a query, none twice; they are longer than a model's.

    Args:
        job: Its sources are read as far as a prompt would be.
        tools: Has the embedder.
    """
    asked = f"{job.text} {job.facet_text}".strip()
    sources = condense(job.sources, asked, tools.settings.source_chars)
    sentences = (sentence for source in sources for sentence in sentences_of(source.text))
    clauses = list(dict.fromkeys(c for sentence in sentences for c in clauses_of(sentence)))
    vectors = tools.models.embedder.encode([asked, *clauses])
    closeness = vectors[1:] @ vectors[0]
    order = sorted(range(len(clauses)), key=lambda i: -closeness[i])
    ranked = [clauses[i] for i in order[: 3 * job.number]]
    again = repeats(ranked, "nuggets", tools.models.embedder.encode)
    texts = [text for i, text in enumerate(ranked) if i not in again][: job.number]
    return ExamItems(tuple(texts), ("",) * len(texts), 0, [], Usage())
