"""Read the questions that syntheses are written to, and find papers for those that have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from ragassay.errors import InputError
from ragassay.files import line_limit
from ragassay.formats import read_records
from ragassay.formats.exam_queries import read_exam_queries
from ragassay.formats.problems import require_records
from ragassay.formats.row_mapping import column_map
from ragassay.formats.yescieval import read_questions
from ragassay.models.embeddings import Embedder
from ragassay.options import Keywords
from ragassay.process import in_thread
from ragassay.records import Article, Document, Record, Rejection
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.reranked_literature import rerank_literature
from ragassay.runs.job import opened_corpus, question_rows, read_job
from ragassay.runs.progress import Event, Listener
from ragassay.settings import Settings
from ragassay.store import hash_of, opened_store, storing

if TYPE_CHECKING:
    from ragassay.options import Answers, CorpusLike

    Queries = Sequence[str] | Answers
else:
    Queries = Any

SHOWN_IDS = 5
"""Ids of questions that a line names."""

MORE = 2
"""So many times as many are searched for: the retracted, and those without a text, are left out."""


NO_PAPERS = (
    "no question has a source: give a corpus to search for some, such as --corpus abstracts.jsonl"
)


@dataclass(frozen=True)
class Questions:
    """The questions to write answers to, each a record without an answer, in the order given.

    `bare` are the ids of questions without a paper, which are left out; notes are about the search.
    """

    records: tuple[Record, ...]
    rejections: tuple[Rejection, ...] = ()
    bare: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which questions are left out, in a sentence; none where all have papers."""
        if not self.bare:
            return ()
        told = f"{len(self.bare)} ({first_ids(self.bare)})"
        return (f"questions without a paper, left out: {told}",)


def first_ids(ids: Sequence[str]) -> str:
    """Return the first ids of some, and how many more there are."""
    more = len(ids) - SHOWN_IDS
    return ", ".join(ids[:SHOWN_IDS]) + (f" and {more} more" if more > 0 else "")


def read_synthesis_questions(queries: Queries, options: Keywords, settings: Settings) -> Questions:
    """Read questions, those without a paper too.

    Args:
        queries: YESciEval's file of questions; answers, or questions, in any format, of which each
            question has the sources of all its answers; topics; or texts, rows or records.
        options: `questions` and `column_map`, as for `evaluate`.
        settings: Bound the length of a line.

    Raises:
        InputError: The file cannot be read, has no question, or two questions share an id.
    """
    with line_limit(settings.limits.max_line_bytes):
        if isinstance(queries, str | Path):
            found = _of_file(Path(queries), options)
        else:
            job = read_job(
                question_rows(queries),
                questions=options.get("questions"),
                settings=settings,
                answered=False,
                columns=column_map(options.get("column_map")),
            )
            found = Questions(_group_by_question(job.records), job.rejections)
    name, n = Counter(record.id for record in found.records).most_common(1)[0]
    if n > 1:
        raise InputError(f"{n} questions have the id {name!r}: give each one of its own")
    return found


def _of_file(path: Path, options: Keywords) -> Questions:
    given, columns = options.get("questions"), column_map(options.get("column_map"))
    # Where a file is not YESciEval's, nor anything else, the readers below say so.
    with suppress(InputError):
        known, rejected = ({}, []) if columns else read_questions(path)
        if known:
            records = (
                Record(id=i, question=q.text, answer="", sources=q.sources)
                for i, q in known.items()
            )
            return Questions(tuple(records), tuple(rejected))
    try:
        found = read_records(
            path, questions=Path(given) if given else None, columns=columns, only_questions=True
        )
    except InputError as error:
        if given or columns:
            raise
        return _of_topics(path, error)
    require_records(found.records, found.rejections, str(path))
    return Questions(_group_by_question(found.records), found.rejections)


def _of_topics(path: Path, unread: InputError) -> Questions:
    """Read topics, which have no papers; where there are none either, say what was wrong before."""
    try:
        found = read_exam_queries(path)
    except InputError:
        raise unread from None
    records = (Record(id=query.id, question=query.text, answer="") for query in found.queries)
    return Questions(tuple(records), found.rejections)


def _group_by_question(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return one record a question: answers to the same question are one, with all sources."""
    groups: dict[tuple[str | None, str], list[Record]] = {}
    for record in records:
        by_words = record.question if record.answer else record.id
        key = (record.topic, "" if record.topic else by_words)
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
        # The tables of TREC's topics name a question's id otherwise.
        id=first.topic or first.metadata.get("topic_id") or first.id,
        question=first.question,
        answer="",
        sources=tuple(sources.values()),
        nuggets=next((record.nuggets for record in group if record.nuggets), ()),
        reference=next((record.reference for record in group if record.reference), None),
        rubrics=first.rubrics,
        # What is said of an answer is not said of its question.
        metadata={} if first.answer else first.metadata,
    )


N_PAPERS = 5
"""Papers that are found for a question, as many as ORKG Ask synthesizes (YESciEval, 4.1)."""

PAPERS = TypeAdapter(tuple[Document, ...])


@dataclass(frozen=True)
class PaperSearch:
    """A search for the papers of questions without sources, `n_papers` each."""

    literature: Literature
    n_papers: int = N_PAPERS
    rejections: tuple[Rejection, ...] = ()
    note: str = ""

    @classmethod
    def of(cls, corpus: CorpusLike, settings: Settings, n_papers: int = N_PAPERS) -> PaperSearch:
        """Open a corpus.

        Raises:
            InputError, SettingsError, CorpusError: As for `open_literature`.
        """
        with line_limit(settings.limits.max_line_bytes):
            opened = opened_corpus(corpus, settings)
        literature = rerank_literature(
            opened.literature, settings, Embedder(settings.literature.embedder)
        )
        return cls(literature, n_papers, opened.rejections, opened.note)

    def find(self, question: str) -> tuple[Document, ...]:
        """Return the best papers for a question; none is retracted, and each has a text."""
        hits = self.literature.search(question, MORE * self.n_papers)
        found = (hit.document for hit in hits if hit.document.text.strip())
        kept = [d for d in found if not (isinstance(d, Article) and "retracted" in d.notices)]
        return tuple(Document(id=d.id, text=d.text, title=d.title) for d in kept[: self.n_papers])

    def key(self, question: str) -> str:
        """Return a hash of all that the papers of a question depend on."""
        return hash_of("papers", self.literature.sha256, str(self.n_papers), question)


async def with_papers(
    questions: Questions,
    search: PaperSearch | None,
    *,
    limit: int | None = None,
    states: Path | None = None,
    listen: Listener = lambda event: None,
) -> Questions:
    """Return the questions that have papers, or for which some are found.

    Args:
        questions: From `read_synthesis_questions`.
        search: Where papers are looked for; None where they are not.
        limit: Only so many questions; None for all.
        states: The file of papers that were found before, which are not searched for again.
        listen: Receives an event for each question that is searched for.

    Raises:
        InputError: No question has a paper.
        StorageError: The disk is full.
    """
    kept: list[Record] = []
    bare: list[str] = []
    if states and search:
        with storing(states):
            states.parent.mkdir(parents=True, exist_ok=True)
    with opened_store(states if search else None) as store:
        for record in questions.records:
            if len(kept) == limit:
                break
            if search and not has_text(record.sources):
                async with store.once(search.key(record.question), PAPERS) as work:
                    if work.is_new:
                        work.result = await in_thread(search.find, record.question)
                record = record.model_copy(update={"sources": work.result})
                listen(Event(n_records=1))
            if has_text(record.sources):
                kept.append(record)
            else:
                bare.append(record.id)
    if not kept:
        none = "nothing was found for any question" if search else NO_PAPERS
        raise InputError(f"an answer is written from papers, and {none}")
    rejections = (*questions.rejections, *(search.rejections if search else ()))
    notes = (search.note,) if search and search.note else ()
    return replace(
        questions, records=tuple(kept), rejections=rejections, bare=tuple(bare), notes=notes
    )


def has_text(sources: Sequence[Document]) -> bool:
    """Return whether there is anything to write from."""
    return any(source.text.strip() for source in sources)
