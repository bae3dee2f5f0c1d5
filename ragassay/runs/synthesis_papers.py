"""Find papers for the questions that bring none: the best that a search for evidence finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from ragassay.errors import InputError
from ragassay.limits import line_limit
from ragassay.models.embeddings import Embedder
from ragassay.records import Article, Document, Record, Rejection
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.reranked import reranked
from ragassay.runs.events import Event, Listener
from ragassay.runs.job import opened_corpus
from ragassay.runs.synthesis_questions import Questions
from ragassay.settings import Settings
from ragassay.storage import storing
from ragassay.store import Store, hash_of, opened_store
from ragassay.threads import in_thread

if TYPE_CHECKING:
    from ragassay.options import CorpusLike

N_PAPERS = 5
"""Papers that are found for a question, as many as ORKG Ask synthesizes (YESciEval, 4.1)."""

MORE = 2
"""So many times as many are searched for: the retracted, and those without a text, are left out."""

PAPERS = TypeAdapter(tuple[Document, ...])

NO_PAPERS = (
    "no question has a source: give a corpus to search for some, such as --corpus abstracts.jsonl"
)


@dataclass(frozen=True)
class PaperSearch:
    """A search for the papers of questions without sources.

    Attributes:
        literature: Searched by words, or as the settings say, its best hits reranked.
        n_papers: Papers of a question.
        rejections: Lines of the corpus that could not be read.
        note: What the user should know about the search.
    """

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
        literature = reranked(opened.literature, settings, Embedder(settings.literature.embedder))
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
    with _opened(states if search else None) as store:
        for record in questions.records:
            if len(kept) == limit:
                break
            if search and not has_text(record.sources):
                record = record.model_copy(update={"sources": await _found(record, search, store)})
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


async def _found(record: Record, search: PaperSearch, store: Store) -> tuple[Document, ...]:
    async def find() -> tuple[Document, ...]:
        return await in_thread(search.find, record.question)

    return (await store.once(search.key(record.question), find, PAPERS))[0]


def has_text(sources: Sequence[Document]) -> bool:
    """Return whether there is anything to write from."""
    return any(source.text.strip() for source in sources)


@contextmanager
def _opened(states: Path | None) -> Iterator[Store]:
    if states is not None:
        with storing(states):
            states.parent.mkdir(parents=True, exist_ok=True)
    with opened_store(states) as store:
        yield store
