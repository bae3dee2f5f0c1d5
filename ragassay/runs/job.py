"""Read the answers and the corpus of a run from the user's input."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.errors import InputError
from ragassay.formats import ReadResult, add_gold_nuggets, read_records, read_records_from_rows
from ragassay.formats.named_fields import describe_input
from ragassay.formats.objects import convert_sources, extract_rows, split_response
from ragassay.formats.problems import Problem, require_records
from ragassay.formats.ragassay_jsonl import read_sources
from ragassay.formats.read import reject_unanswered
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
from ragassay.runs.banks import add_exam_items
from ragassay.runs.folder import hash_files
from ragassay.settings import Settings, load_settings
from ragassay.text.faults import find_reasoning

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever

    from ragassay.options import AnswerLike, Answers, CorpusLike, SourceLike

IN_MEMORY = "(in memory)"


@dataclass(frozen=True)
class Job:
    """The answers to evaluate, and the corpus to search.

    Attributes:
        rejections: Lines of the input that could not be read.
        corpus: Documents in which to look up cited ids and to search for evidence.
        note: Message for the user on how the corpus is searched.
        failures: Questions that the RAG application did not answer.
        application: Latency and cost of the RAG application, if the run called it.
        notes: Messages for the user on how the input was read.
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
        answers: File in any known format, records, dictionaries, or a table: a pandas or polars
            data frame, an Arrow table, a Hugging Face dataset or a dictionary of columns.
        corpus: Any corpus that `open_literature` accepts, documents, a LangChain retriever or any
            `Literature`.
        limit: Maximum number of answers, counted from the first.
        testbank: File of a test bank, or items with which to grade all answers.
        answered: Whether to reject empty answers.
        columns: Column names, as for `read_records`.

    Raises:
        InputError: A file cannot be read.
        NoRecordError: There are no records.
    """
    read, fingerprint = _read_answers(answers, limit, questions, nuggets, answered, columns)
    records, rejections = read.records, read.rejections
    if testbank is not None:
        records, bank_rejections = add_exam_items(records, testbank)
        rejections = (*rejections, *bank_rejections)
    job = Job(records, rejections, fingerprint, Corpus(), notes=_list_notes(read.fields, records))
    if corpus is None:
        return job
    opened = open_corpus(corpus, settings or load_settings())
    return replace(
        job,
        rejections=(*rejections, *opened.rejections),
        corpus=opened.literature,
        corpus_fingerprint=opened.fingerprint,
        note=opened.note,
    )


def _read_answers(
    answers: Answers,
    limit: int | None,
    questions: str | Path | None,
    nuggets: str | Path | None,
    answered: bool,
    columns: Mapping[str, str] | None,
) -> tuple[ReadResult, FileFingerprint]:
    questions = Path(questions) if questions is not None else None
    nuggets = Path(nuggets) if nuggets is not None else None
    if isinstance(answers, str | Path):
        path = Path(answers)
        read = read_records(
            path,
            limit=limit,
            questions=questions,
            nuggets=nuggets,
            answered=answered,
            columns=columns,
            only_questions=not answered,
        )
        name, sha256 = path.name, hash_files(path)
    else:
        every = _from_memory(answers, questions, nuggets, answered, columns)
        read = replace(every, records=every.records[:limit], format="records")
        name, sha256 = IN_MEMORY, _hash_records(every.records)
    require_records(read.records, read.rejections, name)
    n = len(read.records)
    return read, FileFingerprint(name=name, sha256=sha256, n_items=n, format=read.format)


def build_job(
    records: Sequence[Record], corpus: Literature, rejections: Sequence[Rejection] = ()
) -> Job:
    """Build a job from records in memory."""
    _check_ids(records)
    fingerprint = FileFingerprint(
        name=IN_MEMORY, sha256=_hash_records(records), n_items=len(records), format="records"
    )
    notes = _list_notes({}, records)
    return Job(tuple(records), tuple(rejections), fingerprint, corpus, notes=notes)


def convert_questions(queries: Any) -> Any:
    """Turn a list of texts into records without answers. Any other input is returned unchanged."""
    is_list = isinstance(queries, Sequence) and not isinstance(queries, str)
    if not (is_list and queries and all(isinstance(query, str) for query in queries)):
        return queries
    return [Record(id=f"q{n}", question=text, answer="") for n, text in enumerate(queries, 1)]


def build_documents(sources: Iterable[SourceLike]) -> tuple[Document, ...]:
    """Convert texts, dictionaries, and documents of ragassay or LangChain to documents.

    Documents without an id are numbered from 1. Documents with the same id are passages of one
    document.

    Raises:
        InputError: A source cannot be read.
    """
    documents = read_sources(convert_sources(sources))
    if isinstance(documents, Problem):
        raise InputError(f"{documents.field}: {documents.text}; expected {documents.expected}")
    return documents


def build_record(
    answer: AnswerLike,
    question: str | Record,
    sources: Iterable[SourceLike] = (),
    nuggets: Iterable[str | Nugget | Mapping[str, str]] | None = None,
    reference: str | None = None,
) -> Record:
    """Build a record from one answer.

    Args:
        answer: Text, or a response that includes its sources.
        question: Question text, or a record that provides defaults for the sources, nuggets and
            reference.
        sources: Sources, as for `evaluate`.

    Raises:
        InputError: The answer, the question or a source cannot be read.
    """
    if isinstance(question, str):
        base = Record(id="answer", question=question, answer="")
    else:
        base = question.model_copy(update={"topic": question.topic or question.id})
    parts = split_response(answer)
    updates: dict[str, Any] = {"id": "answer", "answer": parts.text}
    source_list = [sources] if isinstance(sources, str) else list(sources)
    if documents := build_documents(source_list or parts.sources):
        updates["sources"] = documents
    if nuggets is not None:
        updates["nuggets"] = tuple(map(_convert_nugget, nuggets))
    if reference is not None:
        updates["reference"] = reference
    record = base.model_copy(update=updates)
    if parts.reply is None:
        return record
    for problem in parts.reply.problems:
        warnings.warn(problem, stacklevel=2)
    return add_reply(record, parts.reply)


def _convert_nugget(nugget: str | Nugget | Mapping[str, str]) -> Nugget:
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
    rows = extract_rows(answers)
    if not rows or not all(isinstance(row, Record) for row in rows):
        return read_records_from_rows(
            rows,
            questions=questions,
            nuggets=nuggets,
            answered=answered,
            columns=columns,
            only_questions=not answered,
        )
    if columns:
        raise InputError("columns cannot be used with records; pass rows or a table instead")
    if questions is not None:
        raise InputError("questions cannot be used with records, which contain their questions")
    _check_ids(rows)
    read = reject_unanswered(rows) if answered else ReadResult(tuple(rows), (), "records")
    return add_gold_nuggets(read, nuggets)


def _hash_records(records: Sequence[Record]) -> str:
    return hashlib.sha256("".join(r.model_dump_json() for r in records).encode()).hexdigest()


def open_corpus(corpus: CorpusLike, settings: Settings) -> OpenedCorpus:
    """Open a corpus of any supported type and compute its fingerprint."""
    if isinstance(corpus, str | Path):
        return open_literature(corpus, settings)
    literature = corpus if isinstance(corpus, Literature) else _wrap_corpus(corpus)
    fingerprint = FileFingerprint(
        name=f"({type(corpus).__name__})",
        sha256=literature.sha256,
        n_items=len(literature) if isinstance(literature, Sized) else 0,
    )
    return OpenedCorpus(literature, fingerprint)


def _wrap_corpus(corpus: BaseRetriever | Iterable[SourceLike]) -> Literature:
    from langchain_core.retrievers import BaseRetriever

    from ragassay.retrievers.langchain import RetrieverLiterature

    if isinstance(corpus, BaseRetriever):
        return RetrieverLiterature(corpus)
    return Corpus(build_documents(corpus))


def _list_notes(fields: Mapping[str, str], records: Sequence[Record]) -> tuple[str, ...]:
    n = sum(isinstance(r.answer, str) and bool(find_reasoning(r.answer)) for r in records)
    notes = describe_input(fields, records)
    if not n:
        return notes
    subject = "1 answer contains" if n == 1 else f"{n:,} answers contain"
    return (*notes, f"{subject} reasoning, which was not judged.")
