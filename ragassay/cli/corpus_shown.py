"""Print corpora, and what a search finds in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.records import Article

if TYPE_CHECKING:
    from ragassay.retrievers.disk.corpus import DiskCorpus
    from ragassay.retrievers.literature import Hit


def print_corpus(folder: Path) -> None:
    """Print a corpus's contents and its source files."""
    from ragassay.reports.sheets import Sheet, numbers, sheet_table, words
    from ragassay.reports.text import count_text
    from ragassay.retrievers.disk.corpus import DiskCorpus
    from ragassay.terminal import open_console

    corpus = DiskCorpus(folder)
    n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    columns = (*words("file"), *numbers("articles", "deletions", "rejected"), *words("complete"))
    rows = tuple(
        (file.name, file.n_articles, file.n_deleted, file.n_rejected, file.is_complete)
        for file in corpus.ledger.files
    )
    console = open_console()
    size = f"{n_bytes / 2**20:,.1f} MiB"
    console.print(f"{folder}: {count_text(len(corpus), 'article')}, {size}", markup=False)
    console.print(sheet_table(Sheet("", columns, rows)))


def print_vectors(corpus: DiskCorpus, url: str) -> None:
    """Print the models of a corpus's vectors, and whether the vectors are up to date.

    Args:
        corpus: The corpus.
        url: Address of the Chroma server that stores them; empty if the corpus does.
    """
    import typer

    from ragassay.retrievers.dense.index import vector_states

    words = {
        "complete": "up to date",
        "stale": "older than the corpus: embed again",
        "unfinished": "not finished: embed again",
    }
    states = vector_states(corpus.folder, url)
    for state in states:
        status = words[state.status(corpus)]
        typer.echo(f"vectors by {state.embedder}: {state.n_vectors:,}, {status}")
    if not states:
        typer.echo(f"no vectors; `ragassay corpus embed {corpus.folder}` makes them")


def print_hits(hits: Sequence[Hit], as_json: bool) -> None:
    """Print the hits of a search, best first."""
    import json

    import typer

    for rank, hit in enumerate(hits, 1):
        document = hit.document
        if as_json:
            found = document.model_dump(mode="json", exclude_defaults=True)
            typer.echo(json.dumps({"rank": rank, "score": round(hit.score, 4), **found}))
            continue
        known = ""
        if isinstance(document, Article):
            marks = (*document.notices, document.journal, document.published)
            known = "; ".join(mark for mark in marks if mark)
        typer.echo(f"{rank:>3}. {hit.score:8.4f}  {document.id}  {document.title}")
        if known:
            typer.echo(f"{'':15}{known}")
    if not hits and not as_json:
        typer.echo("nothing found")
