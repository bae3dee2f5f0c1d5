"""Read questions for syntheses, and find papers for questions without sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from ragassay.errors import InputError
from ragassay.files import limit_line_length
from ragassay.formats import read_records
from ragassay.formats.exam_queries import read_exam_queries
from ragassay.formats.problems import require_records
from ragassay.formats.row_mapping import parse_column_map
from ragassay.formats.yescieval import read_questions
from ragassay.models.embeddings import Embedder
from ragassay.options import Keywords
from ragassay.process import run_in_thread
from ragassay.records import Article, Document, Record, Rejection
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.reranked_literature import rerank_literature
from ragassay.runs.job import convert_questions, open_corpus, read_job
from ragassay.runs.progress import Event, Listener
from ragassay.settings import Settings
from ragassay.store import convert_storage_errors, hash_parts, open_store

if TYPE_CHECKING:
    from ragassay.options import Answers, CorpusLike

    Queries = Sequence[str] | Answers
else:
    Queries = Any

SHOWN_IDS = 5

MORE = 2
"""Number of papers to retrieve for each paper that is needed, because some are unusable."""


NO_PAPERS = "no question has sources; pass a corpus to search, such as --corpus abstracts.jsonl"


@dataclass(frozen=True)
class Questions:
    """Questions for which to write syntheses.

    Attributes:
        records: Questions with their sources, as records without an answer.
        bare: Ids of questions that were skipped because they have no papers.
    """

    records: tuple[Record, ...]
    rejections: tuple[Rejection, ...] = ()
    bare: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warning about skipped questions, if there are any."""
        if not self.bare:
            return ()
        return (
            f"skipped questions without papers: {len(self.bare)} ({format_first_ids(self.bare)})",
        )


def format_first_ids(ids: Sequence[str]) -> str:
    """Return a text with the first ids and the number of remaining ids."""
    more = len(ids) - SHOWN_IDS
    return ", ".join(ids[:SHOWN_IDS]) + (f" and {more} more" if more > 0 else "")


def read_synthesis_questions(queries: Queries, options: Keywords, settings: Settings) -> Questions:
    """Read questions with or without papers.

    Args:
        queries: File with YESciEval's questions, topics, or questions or answers in any supported
            format. A list of texts, rows or records is also accepted. The sources of all answers to
            a question are merged.

    Raises:
        InputError: If the file cannot be read, contains no questions, or contains two questions
            with the same id.
    """
    with limit_line_length(settings.limits.max_line_bytes):
        if isinstance(queries, str | Path):
            questions = _read_file(Path(queries), options)
        else:
            job = read_job(
                convert_questions(queries),
                questions=options.get("questions"),
                settings=settings,
                answered=False,
                columns=parse_column_map(options.get("column_map")),
            )
            questions = Questions(_group_by_question(job.records), job.rejections)
    name, n = Counter(record.id for record in questions.records).most_common(1)[0]
    if n > 1:
        raise InputError(f"{n} questions have the id {name!r}; each id must be unique")
    return questions


def _read_file(path: Path, options: Keywords) -> Questions:
    file, columns = options.get("questions"), parse_column_map(options.get("column_map"))
    # Errors are reported by the other readers.
    with suppress(InputError):
        known, rejected = ({}, []) if columns else read_questions(path)
        if known:
            records = (
                Record(id=i, question=q.text, answer="", sources=q.sources)
                for i, q in known.items()
            )
            return Questions(tuple(records), tuple(rejected))
    try:
        result = read_records(
            path, questions=Path(file) if file else None, columns=columns, only_questions=True
        )
    except InputError as error:
        if file or columns:
            raise
        return _read_topics(path, error)
    require_records(result.records, result.rejections, str(path))
    return Questions(_group_by_question(result.records), result.rejections)


def _read_topics(path: Path, first_error: InputError) -> Questions:
    try:
        result = read_exam_queries(path)
    except InputError:
        raise first_error from None
    records = (Record(id=query.id, question=query.text, answer="") for query in result.queries)
    return Questions(tuple(records), result.rejections)


def _group_by_question(records: Iterable[Record]) -> tuple[Record, ...]:
    """Merge answers to the same question into one record with all sources."""
    groups: dict[tuple[str | None, str], list[Record]] = {}
    for record in records:
        fallback = record.question if record.answer else record.id
        key = (record.topic, "" if record.topic else fallback)
        groups.setdefault(key, []).append(record)
    return tuple(map(_join_group, groups.values()))


def _join_group(group: Sequence[Record]) -> Record:
    first = group[0]
    sources: dict[tuple[str, str], Document] = {}
    for source in (source for record in group for source in record.sources):
        sources.setdefault((source.title, source.text), source)
    if len({source.id for source in sources.values()}) < len(sources):
        sources = {
            key: source.model_copy(update={"id": str(n)})
            for n, (key, source) in enumerate(sources.items(), 1)
        }
    return Record(
        # Tables of TREC topics have the question id in another column.
        id=first.topic or first.metadata.get("topic_id") or first.id,
        question=first.question,
        answer="",
        sources=tuple(sources.values()),
        nuggets=next((record.nuggets for record in group if record.nuggets), ()),
        reference=next((record.reference for record in group if record.reference), None),
        rubrics=first.rubrics,
        # The metadata of an answer does not apply to its question.
        metadata={} if first.answer else first.metadata,
    )


N_PAPERS = 5
"""Default number of papers per question, as in ORKG Ask (YESciEval, section 4.1)."""

PAPERS = TypeAdapter(tuple[Document, ...])


@dataclass(frozen=True)
class PaperSearch:
    """Search in a corpus that finds papers for questions without sources."""

    literature: Literature
    n_papers: int = N_PAPERS
    rejections: tuple[Rejection, ...] = ()
    note: str = ""

    @classmethod
    def open_search(
        cls, corpus: CorpusLike, settings: Settings, n_papers: int = N_PAPERS
    ) -> PaperSearch:
        """Open a corpus.

        Raises:
            InputError, SettingsError, CorpusError: If the corpus cannot be opened.
        """
        with limit_line_length(settings.limits.max_line_bytes):
            opened = open_corpus(corpus, settings)
        literature = rerank_literature(
            opened.literature, settings, Embedder(settings.literature.embedder)
        )
        return cls(literature, n_papers, opened.rejections, opened.note)

    def find(self, question: str) -> tuple[Document, ...]:
        """Return the best papers for a question.

        Papers without text or with a retraction are skipped.
        """
        hits = self.literature.search(question, MORE * self.n_papers)
        papers = (hit.document for hit in hits if hit.document.text.strip())
        usable = [d for d in papers if not (isinstance(d, Article) and "retracted" in d.notices)]
        return tuple(Document(id=d.id, text=d.text, title=d.title) for d in usable[: self.n_papers])

    def compute_key(self, question: str) -> str:
        """Return a hash of everything that determines which papers are found for a question."""
        return hash_parts("papers", self.literature.sha256, str(self.n_papers), question)


async def find_missing_papers(
    questions: Questions,
    search: PaperSearch | None,
    *,
    limit: int | None = None,
    states: Path | None = None,
    listen: Listener = lambda event: None,
) -> Questions:
    """Find papers for questions without sources, and skip questions for which none are found.

    Args:
        states: File in which the papers that were found are stored, so that they can be reused.
        listen: Function that receives a progress event after the search for each question.

    Raises:
        InputError: If no question has papers.
        StorageError: If the disk is full.
    """
    records: list[Record] = []
    bare: list[str] = []
    if states and search:
        with convert_storage_errors(states):
            states.parent.mkdir(parents=True, exist_ok=True)
    with open_store(states if search else None) as store:
        for record in questions.records:
            if len(records) == limit:
                break
            if search and not has_text(record.sources):
                async with store.compute_once(search.compute_key(record.question), PAPERS) as work:
                    if work.is_new:
                        work.result = await run_in_thread(search.find, record.question)
                record = record.model_copy(update={"sources": work.result})
                listen(Event(n_records=1))
            if has_text(record.sources):
                records.append(record)
            else:
                bare.append(record.id)
    if not records:
        reason = "nothing was found for any question" if search else NO_PAPERS
        raise InputError(f"no synthesis can be written without papers: {reason}")
    rejections = (*questions.rejections, *(search.rejections if search else ()))
    notes = (search.note,) if search and search.note else ()
    return replace(
        questions, records=tuple(records), rejections=rejections, bare=tuple(bare), notes=notes
    )


def has_text(sources: Sequence[Document]) -> bool:
    """Return whether at least one source has text."""
    return any(source.text.strip() for source in sources)
