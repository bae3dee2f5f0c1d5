"""Build a corpus in a folder or in a cluster, showing progress and the result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from ragassay.extras import need
from ragassay.settings import Settings


def build_in_folder(sources: Sequence[Path], out: Path, quiet: bool) -> tuple[int, str]:
    """Build a corpus on disk; return how many records were rejected, and where they are named."""
    from ragassay.cli.corpus_shown import print_corpus
    from ragassay.retrievers.disk.build import REJECTED, build_corpus
    from ragassay.runs.progress import shown_build

    need("tantivy")
    with shown_build(enabled=not quiet) as listen:
        ledger = build_corpus(sources, out, listen)
    print_corpus(out)
    return sum(file.n_rejected for file in ledger.files), f": see {out / REJECTED}"


def build_in_index(
    sources: Sequence[Path], where: Path, settings: Settings, vectors: bool, quiet: bool
) -> int:
    """Load files into an index; return how many records were rejected."""
    from ragassay.cli.corpus_shown import print_index
    from ragassay.models.embeddings import Embedder
    from ragassay.retrievers.cluster.build import build_in_cluster
    from ragassay.retrievers.cluster.opening import host_and_index, open_index
    from ragassay.runs.progress import shown_build

    embedder = Embedder(settings.embedder) if vectors else None
    with open_index(where, settings) as corpus:
        with shown_build(enabled=not quiet) as listen:
            kept = build_in_cluster(sources, corpus.cluster, listen, embedder)
        print_index("/".join(host_and_index(where)), corpus, kept.ledger)
    for loaded in kept.files.values():
        for line in loaded.rejected:
            typer.echo(f"rejected {line}", err=True)
    return sum(file.n_rejected for file in kept.ledger.files)
