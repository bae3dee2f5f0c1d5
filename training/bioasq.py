"""Read BioASQ's questions with their ideal answers and expert-marked snippets."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from ragassay.records import Document
from ragassay.text.search import list_windows
from ragassay.text.sentences import split_sentences
from training.reranking import Bm25Search

N_CHARS = (40, 300)
"""Minimum and maximum length of a sentence. Others are fragments or lists."""

DEPTH = 50
"""Number of hits in which to look for a fragment of another question's documents."""

_OPENING = re.compile(r"^(?:yes|no)\b[,.:;]?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class BioasqAnswer:
    """A question with its ideal answer and marked snippets.

    Attributes:
        sentences: Answer sentences of ordinary length, without a leading "Yes,".
        documents: Gold snippets joined by PMID, with PMIDs as ids.
        group: Question id.
    """

    question: str
    sentences: tuple[str, ...]
    documents: tuple[Document, ...]
    group: str


def read_bioasq(shared: Path) -> list[BioasqAnswer]:
    """Read the questions that have at least one answer sentence and one document."""
    folder = shared / "data" / "bioasq"
    with gzip.open(folder / "snippet_documents.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts: dict[str, str] = {row["pmid"]: row["text"] for row in map(json.loads, lines)}
    found: list[BioasqAnswer] = []
    with gzip.open(folder / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            sentences = _statements(row["ideal_answer"][0]) if row["ideal_answer"] else ()
            known = [Document(id=p, text=texts[p]) for p in row["pmids"] if p in texts]
            if sentences and known:
                answer = BioasqAnswer(row["question"], sentences, tuple(known), row["id"])
                found.append(answer)
    return found


def _statements(text: str) -> tuple[str, ...]:
    least, most = N_CHARS
    sentences = (_OPENING.sub("", text[start:end]) for start, end in split_sentences(text))
    return tuple(sentence for sentence in sentences if least <= len(sentence) <= most)


class FragmentSearch:
    """BM25 search over three-sentence fragments of documents.

    Args:
        documents: Documents to index. Repeated ids are indexed once.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        fragments = {
            f"{document.id}:{span.start}": Document(id=document.id, text=span.text)
            for document in documents
            for span in list_windows(document)
        }
        self._search = Bm25Search(fragments)

    def best(self, query: str, without: Collection[str]) -> str:
        """Return the best fragment outside the excluded documents, or "" if none."""
        hits = self._search.search(query, DEPTH)
        return next((h.document.text for h in hits if h.document.id not in without), "")
