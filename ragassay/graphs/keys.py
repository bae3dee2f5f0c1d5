"""Keys of verdicts and of evaluations: hashes of all that they depend on."""

from __future__ import annotations

from ragassay.evaluators.base import CaseFile
from ragassay.evaluators.toolbox import Toolbox, hash_of
from ragassay.graphs.evidence_state import QueryTask, SufficiencyTask
from ragassay.model_options import noted_options
from ragassay.records import Record


def fingerprint(tools: Toolbox, record: Record) -> str:
    """Hash everything that the evaluation of a record depends on."""
    return hash_of(tools.identity, record.model_dump_json())


def question_key(tools: Toolbox, file: CaseFile, *parts: str | None) -> str:
    """Hash everything that one verdict depends on, but the endpoint: a server may move.

    Args:
        tools: With the judge that is asked.
        file: The case.
        parts: Evaluator, item, the judge's role, and what the evaluator names.
    """
    return hash_of(*_asking(tools), file.context_sha256, *(part or "" for part in parts))


def query_key(tools: Toolbox, node: str, task: QueryTask, context: str) -> str:
    """Hash everything that the queries for a sentence, or an agent's search, depend on."""
    bounds = tools.settings.retrieval.evidence_turns, tools.settings.retrieval.evidence_tokens
    return hash_of(
        *_asking(tools),
        context,
        *(node, str(task.item), str(task.round), *task.tried, *task.found),
        *((tools.retrieval.corpus.sha256, *map(str, bounds)) if node == "run_agent" else ()),
    )


def sufficiency_key(tools: Toolbox, task: SufficiencyTask, context: str) -> str:
    """Hash everything that the judgment of a sentence's passages depends on."""
    return hash_of(*_asking(tools), context, "judge_sufficiency", str(task.item), *task.passages)


def reading_key(tools: Toolbox, judge: str, file: CaseFile) -> str:
    """Hash everything that a judge's reading of an answer depends on."""
    return hash_of(tools.identity, "reading", judge, file.case_sha256)


def _asking(tools: Toolbox) -> tuple[str, ...]:
    """Return what every call depends on: the model, how it computes, what is said to it."""
    settings, asked = tools.settings, tools.settings.prompting
    return (
        settings.judge.model,
        asked.local_dtype,
        str(asked.max_reply_tokens),
        f"{asked.samples} samples, seed {asked.judge_seed}, decisions {asked.decisions}",
        tools.prompts_sha256,
        *noted_options(settings.judge.model_options),
    )
