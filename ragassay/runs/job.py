"""From a user's input to a job: answers, a corpus, options."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.errors import InputError
from ragassay.formats import ReadResult, read_records, records_from_rows, with_gold
from ragassay.formats.named_fields import input_notes
from ragassay.formats.objects import response_parts, rows_of, source_objects
from ragassay.formats.problems import Problem, require_records
from ragassay.formats.ragassay_jsonl import read_sources
from ragassay.formats.read import answered_records
from ragassay.formats.replies import add_reply
from ragassay.records import (
    ApplicationUse,
    Document,
    ExamItem,
    FileFingerprint,
    Nugget,
    Record,
    RecordFailure,
    Rejection,
)
from ragassay.retrievers.literature import Corpus, Literature
from ragassay.retrievers.opening import OpenedCorpus, open_literature
from ragassay.runs.banks import with_exam
from ragassay.runs.folder import digest_of
from ragassay.settings import Settings, load_settings
from ragassay.text.faults import find_reasoning

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever

    from ragassay.options import AnswerLike, Answers, CorpusLike, SourceLike

IN_MEMORY = "(in memory)"


@dataclass(frozen=True)
class Job:
    """The answers to evaluate and their corpus.

    Attributes:
        rejections: Unreadable lines of the input.
        corpus: Documents for cited ids and evidence.
        corpus_fingerprint: The corpus's fingerprint.
        note: A note for the user on how it is searched.
        failures: Questions that an application did not answer.
        application: What it took to answer, if the answers are an application's.
        notes: How the input was read.
    """

    records: tuple[Record, ...]
    rejections: tuple[Rejection, ...]
    answers: FileFingerprint
    corpus: Literature
    corpus_fingerprint: FileFingerprint | None = None
    note: str = ""
    failures: tuple[RecordFailure, ...] = ()
    application: ApplicationUse | None = None
    notes: tuple[str, ...] = ()


def read_job(
    answers: Answers,
    corpus: CorpusLike | None = None,
    *,
    limit: int | None = None,
    questions: str | Path | None = None,
    nuggets: str | Path | None = None,
    testbank: str | Path | Sequence[ExamItem] | None = None,
    settings: Settings | None = None,
    answered: bool = True,
    columns: Mapping[str, str] | None = None,
) -> Job:
    """Read the answers and the corpus of a run.

    Args:
        answers: A file in any known format, records, dictionaries, or a table: a frame of pandas
            or polars, an arrow table, a Hugging Face data set, a dictionary of columns.
        corpus: As for `open_literature`; or documents, a LangChain retriever, or any `Literature`.
        limit: Number of answers to take, from the first.
        questions: File of topics.
        nuggets: File of gold nuggets.
        testbank: File of a test bank, or items for all answers.
        settings: How the corpus is searched.
        answered: Whether answers are to be evaluated: an empty one is then rejected. Where only the
            questions are needed, it is not.
        columns: As for `read_records`.

    Raises:
        InputError: A file cannot be read.
        NoRecordError: There is no record.
    """
    questions = Path(questions) if questions is not None else None
    nuggets = Path(nuggets) if nuggets is not None else None
    if isinstance(answers, str | Path):
        path = Path(answers)
        found = read_records(
            path,
            limit=limit,
            questions=questions,
            nuggets=nuggets,
            answered=answered,
            columns=columns,
            only_questions=not answered,
        )
        records, form = found.records, found.format
        name, sha256 = path.name, digest_of(path)
    else:
        found = _from_memory(answers, questions, nuggets, answered, columns)
        records, form = found.records[:limit], "records"
        name, sha256 = IN_MEMORY, _sha256(found.records)
    require_records(records, found.rejections, name)
    fingerprint = FileFingerprint(name=name, sha256=sha256, n_items=len(records), format=form)
    if testbank is not None:
        records, rejected = with_exam(records, testbank)
        found = replace(found, rejections=(*found.rejections, *rejected))
    notes = _notes(found.fields, records)
    if corpus is None:
        return Job(records, found.rejections, fingerprint, Corpus(), notes=notes)
    opened = opened_corpus(corpus, settings or load_settings())
    rejections = (*found.rejections, *opened.rejections)
    literature = opened.literature
    return Job(
        records, rejections, fingerprint, literature, opened.fingerprint, opened.note, notes=notes
    )


def job_of(
    records: Sequence[Record], corpus: Literature, rejections: Sequence[Rejection] = ()
) -> Job:
    """Return a job from records in memory."""
    _check_ids(records)
    fingerprint = FileFingerprint(
        name=IN_MEMORY, sha256=_sha256(records), n_items=len(records), format="records"
    )
    notes = _notes({}, records)
    return Job(tuple(records), tuple(rejections), fingerprint, corpus, notes=notes)


def question_rows(queries: Any) -> Any:
    """Return texts as records without an answer, anything else as it is."""
    is_list = isinstance(queries, Sequence) and not isinstance(queries, str)
    if not (is_list and queries and all(isinstance(one, str) for one in queries)):
        return queries
    return [Record(id=f"q{n}", question=text, answer="") for n, text in enumerate(queries, 1)]


def documents_of(sources: Iterable[SourceLike]) -> tuple[Document, ...]:
    """Return documents from documents (LangChain's too), dictionaries or texts, numbered from 1.

    Those that share an id are passages of one document.

    Raises:
        InputError: One cannot be read.
    """
    found = read_sources(source_objects(sources))
    if isinstance(found, Problem):
        raise InputError(f"{found.field}: {found.text}; expected {found.expected}")
    return found


def record_of(
    answer: AnswerLike,
    question: str | Record,
    sources: Iterable[SourceLike] = (),
    nuggets: Iterable[str | Nugget | Mapping[str, str]] | None = None,
    reference: str | None = None,
) -> Record:
    """Return one answer as a record.

    Args:
        answer: Text, or a response that brings its sources.
        question: The question; or a record, whose sources, nuggets and reference count where no
            others are given.
        sources: As for `evaluate`.

    Raises:
        InputError: A part cannot be read.
    """
    if isinstance(question, str):
        asked = Record(id="answer", question=question, answer="")
    else:
        asked = question.model_copy(update={"topic": question.topic or question.id})
    parts = response_parts(answer)
    changed: dict[str, Any] = {"id": "answer", "answer": parts.text}
    given = [sources] if isinstance(sources, str) else list(sources)
    if documents := documents_of(given or parts.sources):
        changed["sources"] = documents
    if nuggets is not None:
        changed["nuggets"] = tuple(map(_nugget, nuggets))
    if reference is not None:
        changed["reference"] = reference
    record = asked.model_copy(update=changed)
    if parts.reply is None:
        return record
    for problem in parts.reply.problems:
        warnings.warn(problem, stacklevel=2)
    return add_reply(record, parts.reply)


def _nugget(nugget: str | Nugget | Mapping[str, str]) -> Nugget:
    if isinstance(nugget, Nugget):
        return nugget
    if isinstance(nugget, str):
        return Nugget(text=nugget)
    return Nugget.model_validate(dict(nugget))


def _check_ids(items: Iterable[Record]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise InputError(f"two records have the id {item.id!r}")
        seen.add(item.id)


def _from_memory(
    answers: Any,
    questions: Path | None,
    nuggets: Path | None,
    answered: bool,
    columns: Mapping[str, str] | None,
) -> ReadResult:
    rows = rows_of(answers)
    if not rows or not all(isinstance(row, Record) for row in rows):
        return records_from_rows(
            rows,
            questions=questions,
            nuggets=nuggets,
            answered=answered,
            columns=columns,
            only_questions=not answered,
        )
    if columns:
        raise InputError("records have no columns to name")
    if questions is not None:
        raise InputError("records carry their questions: give no file of them")
    _check_ids(rows)
    found = answered_records(rows) if answered else ReadResult(tuple(rows), (), "records")
    return with_gold(found, nuggets)


def _sha256(records: Sequence[Record]) -> str:
    return hashlib.sha256("".join(r.model_dump_json() for r in records).encode()).hexdigest()


def opened_corpus(corpus: CorpusLike, settings: Settings) -> OpenedCorpus:
    """Open any form of corpus, with a fingerprint that identifies it."""
    if isinstance(corpus, str | Path):
        return open_literature(corpus, settings)
    literature = corpus if isinstance(corpus, Literature) else _literature(corpus)
    fingerprint = FileFingerprint(
        name=f"({type(corpus).__name__})",
        sha256=literature.sha256,
        n_items=len(literature) if isinstance(literature, Sized) else 0,
    )
    return OpenedCorpus(literature, fingerprint)


def _literature(corpus: BaseRetriever | Iterable[SourceLike]) -> Literature:
    from langchain_core.retrievers import BaseRetriever

    from ragassay.retrievers.langchain import RetrieverLiterature

    if isinstance(corpus, BaseRetriever):
        return RetrieverLiterature(corpus)
    return Corpus(documents_of(corpus))


def _notes(fields: Mapping[str, str], records: Sequence[Record]) -> tuple[str, ...]:
    """Return what a reader of the results must know of how the input was read."""
    carriers = [r for r in records if isinstance(r.answer, str) and find_reasoning(r.answer)]
    notes = input_notes(fields, records)
    if not carriers:
        return notes
    carry = "1 answer carries" if len(carriers) == 1 else f"{len(carriers):,} answers carry"
    return (*notes, f"{carry} reasoning; it was not judged.")
