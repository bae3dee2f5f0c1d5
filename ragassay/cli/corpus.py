"""`ragassay corpus`: build, inspect, search and evaluate a corpus."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ragassay.cli.base import FAILED, OK, PARTIAL, choose_exit_code
from ragassay.cli.options import Json, Quiet, SkipEmpty, add_options
from ragassay.cli.terminal import print_rejections, print_scores, print_sheets
from ragassay.extras import need
from ragassay.options import Keywords, create_settings
from ragassay.records import Article
from ragassay.runs.progress import show_build, show_embedding, track
from ragassay.safe_text import open_console
from ragassay.settings import load_settings

if TYPE_CHECKING:
    from ragassay.retrievers.disk.corpus import DiskCorpus
    from ragassay.retrievers.literature import Hit, Literature


def print_corpus(folder: Path) -> None:
    """Print the size and the source files of a corpus."""
    from ragassay.reports.sheets import Sheet, build_number_columns, build_text_columns
    from ragassay.reports.text import count_text
    from ragassay.retrievers.disk.corpus import DiskCorpus

    corpus = DiskCorpus(folder)
    n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    columns = (
        *build_text_columns("file"),
        *build_number_columns("articles", "deletions", "rejected"),
        *build_text_columns("complete"),
    )
    rows = tuple(
        (file.name, file.n_articles, file.n_deleted, file.n_rejected, file.is_complete)
        for file in corpus.ledger.files
    )
    console = open_console()
    size = f"{n_bytes / 2**20:,.1f} MiB"
    console.print(f"{folder}: {count_text(len(corpus), 'article')}, {size}", markup=False)
    print_sheets(Sheet("", columns, rows))


def print_vectors(corpus: DiskCorpus, url: str) -> None:
    """Print the embedding models of a corpus and whether their vectors are up to date.

    Args:
        url: URL of the Chroma server that stores the vectors; empty if the corpus folder does.
    """
    from ragassay.retrievers.dense.index import describe_vectors

    labels = {
        "complete": "up to date",
        "stale": "older than the corpus; run `ragassay corpus embed` again",
        "unfinished": "incomplete; run `ragassay corpus embed` again",
    }
    states = describe_vectors(corpus.folder, url)
    for state in states:
        status = labels[state.check_status(corpus)]
        typer.echo(f"vectors by {state.embedder}: {state.n_vectors:,}, {status}")
    if not states:
        typer.echo(f"no vectors; create them with `ragassay corpus embed {corpus.folder}`")


def print_hits(hits: Sequence[Hit], as_json: bool) -> None:
    """Print search results, best first."""
    for rank, hit in enumerate(hits, 1):
        document = hit.document
        if as_json:
            fields = document.model_dump(mode="json", exclude_defaults=True)
            typer.echo(json.dumps({"rank": rank, "score": round(hit.score, 4), **fields}))
            continue
        typer.echo(f"{rank:>3}. {hit.score:8.4f}  {document.id}  {document.title}")
        if isinstance(document, Article):
            details = (*document.notices, document.journal, document.published)
            if text := "; ".join(filter(None, details)):
                typer.echo(f"{'':15}{text}")
    if not hits and not as_json:
        typer.echo("no results")


app = typer.Typer(
    name="corpus",
    help="Build a corpus from PubMed files or other articles, search it, and evaluate the search.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Where = Annotated[
    str, Argument(help="Corpus folder, file of documents, or `pubmed` for PubMed itself.")
]
Rerank = Annotated[
    str,
    Option(
        metavar="NAME",
        help="Rerank the best 50 results with `embedded` or a sentence-transformers cross-encoder, "
        "e.g. cross-encoder/ms-marco-MiniLM-L6-v2. Reranking takes a second or more per query.",
    ),
]


@app.command()
def build(sources: list[Path], out: Annotated[Path, Option()], quiet: Quiet = False) -> int:
    """Build a corpus, or add files to it.

    PubMed baseline and update files are read in the order of their numbers, and the revisions and
    deletions in them are applied. Run the same command again to add new update files or to resume a
    stopped build; files that are already in the corpus are skipped. Records that cannot be read are
    written to rejected.jsonl.

    For example:

      ragassay corpus build ftp/baseline ftp/updatefiles --out pubmed-corpus
      ragassay corpus build abstracts.jsonl export.nbib --out my-corpus

    Options:
        sources: PubMed XML (.xml, .xml.gz), .nbib or JSONL files, or folders with XML files.
        out: Corpus folder.
    """
    from ragassay.reports.text import count_text
    from ragassay.retrievers.disk.build import REJECTED, build_corpus
    from ragassay.retrievers.opening import require_local_path

    need("tantivy")
    require_local_path(out)
    with show_build(enabled=not quiet) as listen:
        ledger = build_corpus(sources, out, listen)
    print_corpus(out)
    if n_rejected := sum(file.n_rejected for file in ledger.files):
        records = count_text(n_rejected, "record")
        typer.echo(f"{records} could not be read; see {out / REJECTED}", err=True)
        return PARTIAL
    return OK


@app.command()
@add_options(Keywords, "embedder")
def embed(corpus: Path, tokens: bool = False, quiet: Quiet = False, **options: Any) -> None:
    """Compute or update the vectors of a corpus for semantic search.

    Each article gets one vector for its title and abstract (most models read only the first 256 to
    512 tokens). Run the command again to resume it, or, after `corpus build`, to embed new and
    changed articles and to remove the vectors of deleted articles. A corpus can contain vectors
    from several models.

    Vectors are stored in the corpus (about 3 KB per article), or on a Chroma server (1.5 or later)
    if RAGASSAY_LITERATURE__CHROMA_URL is set to its URL, e.g. http://HOST:8000.

    For example:

      ragassay corpus embed my-corpus --tokens
      ragassay corpus search my-corpus "drugs that keep the heart from failing" --by hybrid

    Options:
        corpus: Corpus folder.
        tokens: Also store token vectors (about 230 KB per article), which makes reranking much
            faster.
    """
    from ragassay.models.embeddings import Embedder
    from ragassay.retrievers.dense.embed import embed_corpus, embed_tokens
    from ragassay.retrievers.disk.corpus import DiskCorpus

    need("chromadb")
    settings = create_settings(options, style="flag")
    opened = DiskCorpus(corpus)
    with show_embedding(len(opened), enabled=not quiet) as listen:
        embedder = Embedder(settings.literature.embedder)
        embed_corpus(opened, embedder, settings.literature.chroma_url, listen)
    if tokens:
        with show_embedding(len(opened), enabled=not quiet) as listen:
            embed_tokens(opened, embedder, listen)
    print_vectors(opened, settings.literature.chroma_url)


@app.command()
def info(corpus: Path, as_json: Json = False) -> None:
    """Show the size, source files and vectors of a corpus.

    Options:
        corpus: Corpus folder.
    """
    from ragassay.retrievers.disk.corpus import DiskCorpus, read_ledger

    if as_json:
        typer.echo(read_ledger(corpus).model_dump_json(indent=2))
    else:
        print_corpus(corpus)
        print_vectors(DiskCorpus(corpus), load_settings().literature.chroma_url)


@app.command()
def get(corpus: Where, identifiers: list[str]) -> int:
    """Print articles as JSON, one per line.

    Exit codes: 0 success; 1 error, or the corpus lacks an article; 2 usage error.

    Options:
        identifiers: PMIDs or DOIs.
    """
    from ragassay.retrievers.opening import open_literature

    literature = open_literature(corpus, load_settings()).literature
    missing = False
    for identifier in identifiers:
        document = literature.get(identifier)
        if document is None:
            typer.echo(f"{identifier} is not in {corpus}", err=True)
            missing = True
        else:
            typer.echo(document.model_dump_json(exclude_defaults=True))
    return FAILED if missing else OK


@app.command()
@add_options(Keywords, "search", "embedder")
def search(
    corpus: Where,
    query: str,
    k: Annotated[int, Option("--k", min=1)] = 10,
    since: str = "",
    until: str = "",
    kind: Annotated[list[str] | None, Option("--type")] = None,
    no_retracted: bool = False,
    rerank: Rerank = "",
    as_json: Json = False,
    **options: Any,
) -> None:
    """Search a corpus and print the best articles.

    For example:

      ragassay corpus search my-corpus "aspirin and colorectal adenoma" --since 2015 --no-retracted
      ragassay corpus search my-corpus "does aspirin prevent polyps?" --by hybrid --rerank embedded

    Options:
        query: Question or claim to search for.
        k: Number of articles to print.
        since: Earliest publication date, e.g. 2020 or 2020-03-09.
        until: Latest publication date.
        kind: Publication type, e.g. 'Randomized Controlled Trial'.
        no_retracted: Skip retracted articles.
    """
    from ragassay.retrievers.literature import Filters

    literature = _open_literature(corpus, rerank, options)
    filters = Filters(since, until, tuple(kind or ()), no_retracted)
    print_hits(literature.search(query, k, filters), as_json)


@app.command()
@add_options(Keywords, "search", "embedder")
def evaluate(
    corpus: Where,
    queries: Annotated[Path, Option()],
    qrels: Annotated[Path, Option()],
    k: Annotated[int, Option("--k", min=10)] = 1000,
    rerank: Rerank = "",
    skip_empty: SkipEmpty = False,
    as_json: Json = False,
    **options: Any,
) -> int:
    """Evaluate the search on queries with relevance judgments.

    The command computes nDCG@10, R@100, MRR and MAP, with 95 % intervals over queries.

    For example, to test whether vectors improve the search:

      ragassay corpus evaluate my-corpus --queries q.tsv --qrels qrels.txt --by bm25
      ragassay corpus evaluate my-corpus --queries q.tsv --qrels qrels.txt --by hybrid

    Options:
        queries: Queries as JSONL with the fields id and text (or claim, or question), or as TSV.
        qrels: Relevance judgments in trec_eval format or BEIR's TSV.
        k: Number of results to retrieve per query.
    """
    from ragassay.formats.retrieval import read_qrels, read_queries
    from ragassay.metrics.papers.retrieval import score_retrieval

    literature = _open_literature(corpus, rerank, options)
    judgments, rejected_judgments = read_qrels(qrels)
    texts, rejected_queries = read_queries(queries)
    rejections = [*rejected_judgments, *rejected_queries]
    print_rejections(rejections)
    judged = {q: text for q, text in texts.items() if q in judgments}
    ranking = {
        q: {hit.document.id: hit.score for hit in literature.search(text, k)}
        for q, text in track(judged.items(), "searching")
    }
    print_scores(score_retrieval(judgments, ranking, skips_empty=skip_empty), as_json)
    return choose_exit_code(rejections)


def _open_literature(corpus: str, rerank: str, options: Mapping[str, object]) -> Literature:
    from ragassay.models.embeddings import Embedder
    from ragassay.retrievers.opening import open_literature
    from ragassay.retrievers.reranked_literature import rerank_literature

    base = load_settings(reranker=rerank or "none")
    settings = create_settings(options, base, style="flag")
    model = Embedder(settings.literature.embedder)
    opened = open_literature(corpus, settings, model)
    if opened.note:
        typer.echo(opened.note, err=True)
    return rerank_literature(opened.literature, settings, model)
