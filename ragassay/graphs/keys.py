"""Keys of verdicts and of evaluations: hashes of all that they depend on."""

from __future__ import annotations

from ragassay.evaluators.base import Run
from ragassay.evaluators.cases import CaseFile
from ragassay.graphs.evidence_state import QueryTask, SufficiencyTask
from ragassay.model_options import noted_options
from ragassay.records import Record
from ragassay.store import hash_of


def fingerprint(run: Run, record: Record) -> str:
    """Hash everything that the evaluation of a record depends on."""
    return hash_of(run.identity, record.model_dump_json())


def question_key(run: Run, file: CaseFile, *parts: str | None) -> str:
    """Hash everything that one verdict depends on, but the endpoint: a server may move.

    Args:
        run: With the judge that is asked.
        file: The case.
        parts: Evaluator, item, the judge's role, and what the evaluator names.
    """
    return hash_of(*_asking(run), file.context_sha256, *(part or "" for part in parts))


def query_key(run: Run, node: str, task: QueryTask, context: str) -> str:
    """Hash everything that the queries for a sentence, or an agent's search, depend on."""
    bounds = run.settings.retrieval.evidence_turns, run.settings.retrieval.evidence_tokens
    return hash_of(
        *_asking(run),
        context,
        *(node, str(task.item), str(task.round), *task.tried, *task.found),
        *((run.retrieval.corpus.sha256, *map(str, bounds)) if node == "run_agent" else ()),
    )


def sufficiency_key(run: Run, task: SufficiencyTask, context: str) -> str:
    """Hash everything that the judgment of a sentence's passages depends on."""
    return hash_of(*_asking(run), context, "judge_sufficiency", str(task.item), *task.passages)


def reading_key(run: Run, judge: str, file: CaseFile) -> str:
    """Hash everything that a judge's reading of an answer depends on."""
    return hash_of(run.identity, "reading", judge, file.case_sha256)


def _asking(run: Run) -> tuple[str, ...]:
    """Return what every call depends on: the model, how it computes, what is said to it."""
    settings = run.settings
    return (
        settings.judge.model,
        settings.prompting.local_dtype,
        str(settings.prompting.max_reply_tokens),
        f"{settings.prompting.samples} samples, seed {settings.prompting.judge_seed}, "
        f"decisions {settings.prompting.decisions}",
        run.prompts_sha256,
        *noted_options(settings.judge.model_options),
    )
