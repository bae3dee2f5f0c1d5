"""The file of a case: opened from its record, brought up to date from the graph's state."""

from __future__ import annotations

from dataclasses import replace

from ragassay.agents.context import build_case
from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.evaluators.cases import CaseFile
from ragassay.graphs.keys import fingerprint
from ragassay.graphs.state import State
from ragassay.records import Case, Record
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.memory import can_look_up
from ragassay.retrievers.passages import condense
from ragassay.settings import Settings
from ragassay.text.segmenter import judged_text, segment
from ragassay.text.sentences import sentences_of
from ragassay.threads import in_thread


def case_of(record: Record, settings: Settings, corpus: Literature) -> Case:
    """Cut a record into what the judges look at.

    Args:
        record: The record.
        settings: How many sentences an answer may have, and how much of its sources is shown.
        corpus: Where cited documents that the record does not bring are looked up.

    Raises:
        InputError: The answer has more sentences than the settings allow.
    """
    lookup = corpus.get if can_look_up(corpus) else None
    answer, sentences, sources = segment(record, lookup)
    most = settings.evaluation.max_sentences
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
        condense(sources, f"{record.question} {judged_text(record)}", settings.source_chars),
    )


def file_of(record: Record, run: Run) -> CaseFile:
    """Return a new file."""
    case = case_of(record, run.settings, run.retrieval.corpus)
    return CaseFile(fingerprint(run, record), record, case)


async def open_file(record: Record, run: Run) -> CaseFile:
    """Open the file of a record.

    Raises:
        InputError: The answer has too many sentences.
    """
    return run.files.open(await in_thread(file_of, record, run))


def opened_file(case: str, run: Run) -> CaseFile:
    """Return the file of a case.

    Raises:
        InputError: It is not open.
    """
    file = run.files.get(case)
    if file is None:
        raise InputError(
            "this evaluation was begun in another process: call the graph with its record again"
        )
    return file


def updated_file(state: State, run: Run) -> CaseFile:
    """Bring the file of a case up to date, and return it."""
    known = {name: getattr(state, name) for name in _FROM_STATE}
    return run.files.open(replace(opened_file(state.case, run), **known))


_FROM_STATE = ("found", "cited", "signals", "readings", "verdicts")
