"""`ragassay verifiers separate`, `support` and `at-k`: what documents say of answer sentences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer

from ragassay.cli.base import PARTIAL, errors_as_lines
from ragassay.cli.options import AnswersArgument, Json, Quiet, takes
from ragassay.options import EvaluateKeywords

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ragassay.reports.sheets import Sheet

ScoredBy = Annotated[
    list[str] | None,
    typer.Option(
        "--verifier",
        metavar="NAME",
        help="What scores: a verifier, or a fitted classifier of correctness (.json). Repeat for "
        "more.",
    ),
]
Cosines = Annotated[
    list[str] | None,
    typer.Option(
        "--embedder",
        metavar="NAME",
        help="An embedding model whose cosine scores. Repeat for more.",
    ),
]
LabelFile = Annotated[
    Path | None,
    typer.Option("--labels-of", help="Labels of the answers' citations, if in another file."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="Write the tables (CSV) and plots (SVG) into this folder."),
]
Seed = Annotated[int, typer.Option(min=0, help="Of the draw.")]


@takes(EvaluateKeywords, "corpus", "questions", "limit")
def separate(
    answers: AnswersArgument,
    *,
    verifiers: ScoredBy = None,
    embedders: Cosines = None,
    labels_of: LabelFile = None,
    seed: Seed = 0,
    folder: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> None:
    """Show whether scores tell a sentence's own documents from others (BioACE, algorithm 1).

    Every answer sentence with a document that people call supporting is scored against it, as the
    best of its runs of three sentences, and against the documents of a sentence of another
    question. Printed are the mean scores of both, how often the first is higher, and the area under
    the ROC curve; the same for the evidence that people marked, where there is any. By default
    all-MiniLM-L6-v2 and the embedded verifier are compared.

    For example:

      ragassay verifiers separate medaesqa.json --corpus pubmed/

      ragassay verifiers separate medaesqa.json --corpus pubmed/ --embedder all-mpnet-base-v2
      --verifier FacebookAI/roberta-large-mnli --out separation

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected or has no document.
    """
    with errors_as_lines():
        from ragassay.cli.output import Terminal
        from ragassay.models.availability import need_verifiers
        from ragassay.requests import read_input
        from ragassay.runs.progress import shown_steps
        from ragassay.studies.verifiers.sentences import (
            check_documents,
            labelled_sentences,
            open_models,
            sample_pairs,
        )
        from ragassay.studies.verifiers.sentences import separate as separate_pairs
        from ragassay.studies.verifiers.tables import question_sheet, separation_sheet

        need_verifiers(verifiers or ())
        job, settings = read_input(answers, options, None, Terminal(quiet))
        sentences = labelled_sentences(answers, job.records, job.corpus, labels_of)
        n_missing = check_documents(sentences)
        models = open_models(*_scorers(verifiers, embedders), settings.literature.cache_dir)
        pairs = sample_pairs(sentences, seed)
        with shown_steps(len(pairs) * len(models), "scoring", not quiet) as step:
            found = [one for model in models for one in separate_pairs(pairs, model, step)]
        tables = {
            "separation": separation_sheet(found),
            "separation-by-question": question_sheet(found),
        }
        show_and_write(tables, folder, as_json=as_json, quiet=quiet, n_shown=1)
        tell_missing(n_missing)
    if job.rejections or n_missing:
        raise typer.Exit(PARTIAL)


@takes(EvaluateKeywords, "corpus", "questions", "limit")
def support(
    answers: AnswersArgument,
    *,
    verifiers: ScoredBy = None,
    embedders: Cosines = None,
    labels_of: LabelFile = None,
    folder: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> None:
    """Show how many answer sentences their cited documents bear out (BioACE, figure 7a).

    Supp(AS) is the share of sentences that any cited document bears out, Supp(CS) that of sentences
    that any of those bears out that people call supporting: the nearer to 1, the more a model
    agrees with them. A document bears a sentence out if one of its runs of three sentences scores
    at the model's threshold or above. Sentences that cite nothing are unscored. Without labels only
    Supp(AS) is printed.

    For example:

      ragassay verifiers support medaesqa.json --corpus pubmed/

      ragassay verifiers support answers.jsonl --corpus pubmed/ --embedder all-MiniLM-L6-v2

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected or has no document.
    """
    with errors_as_lines():
        from ragassay.cli.output import Terminal
        from ragassay.models.availability import need_verifiers
        from ragassay.requests import read_input
        from ragassay.runs.progress import shown_steps
        from ragassay.studies.verifiers.sentences import (
            check_documents,
            cited_sentences,
            has_citation_labels,
            labelled_sentences,
            open_models,
        )
        from ragassay.studies.verifiers.support import measure_support
        from ragassay.studies.verifiers.tables import support_sheet

        need_verifiers(verifiers or ())
        job, settings = read_input(answers, options, None, Terminal(quiet))
        has_labels = labels_of is not None or has_citation_labels(answers)
        if has_labels:
            sentences = labelled_sentences(answers, job.records, job.corpus, labels_of)
        else:
            sentences = cited_sentences(job.records, job.corpus)
        n_missing = check_documents(sentences)
        models = open_models(*_scorers(verifiers, embedders), settings.literature.cache_dir)
        with shown_steps(len(sentences) * len(models), "scoring", not quiet) as step:
            found = [
                measure_support(sentences, m, has_labels=has_labels, step=step) for m in models
            ]
        tables = {"support": support_sheet(found)}
        show_and_write(tables, folder, as_json=as_json, quiet=quiet)
        tell_missing(n_missing)
    if job.rejections or n_missing:
        raise typer.Exit(PARTIAL)


@takes(EvaluateKeywords, "corpus", "questions", "limit", "search")
def at_k(
    answers: AnswersArgument,
    *,
    k: Annotated[
        str, typer.Option("--k", help="Numbers of documents, divided by commas.")
    ] = "10,20,30,40,50,60,70,80,90,100",
    found_by: Annotated[
        Literal["question", "claim", "both"],
        typer.Option(help="Search with the question (BioACE), with each sentence, or with both."),
    ] = "question",
    depth: Annotated[
        int,
        typer.Option(min=1, help="Hits of a question that are reranked; fewer take less time."),
    ] = 1000,
    verifiers: ScoredBy = None,
    embedders: Cosines = None,
    folder: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> None:
    """Show how many answer sentences the k best documents of a search bear out (BioACE, figure 7b).

    Two scores have this form. "correctness_at_k" is BioACE's: documents are found by the question,
    --depth of them reranked. "correctness_at_k_by_claim" is that of an evaluation, whose k is
    RAGASSAY_RETRIEVAL__EVIDENCE_PASSAGES: documents are found by the sentence itself, 50 of them
    reranked. A sentence for which nothing is found is unscored. RAGASSAY_LITERATURE__RERANKER=none
    keeps the search's order.

    For example:

      ragassay verifiers at-k answers.jsonl --corpus pubmed/ --by bm25

      ragassay verifiers at-k medaesqa.json --corpus pubmed/ --k 10,50 --found-by both --out curve

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.output import Terminal, tell_plots_left_out
        from ragassay.models.availability import need_verifiers
        from ragassay.reports.figures import can_plot, curve_plot
        from ragassay.requests import read_input
        from ragassay.runs.progress import shown_steps
        from ragassay.studies.verifiers.sentences import cited_sentences, open_models
        from ragassay.studies.verifiers.support import curves_of, n_steps, parse_ks, ways_of
        from ragassay.studies.verifiers.tables import curve_sheet

        need_verifiers(verifiers or ())
        ks, ways = parse_ks(k), ways_of(found_by)
        job, settings = read_input(answers, options, None, Terminal(quiet))
        tell_plots_left_out(folder)
        sentences = cited_sentences(job.records, job.corpus)
        models = open_models(*_scorers(verifiers, embedders), settings.literature.cache_dir)
        total = n_steps(sentences, ways, len(models))
        with shown_steps(total, "searching and scoring", not quiet) as step:
            curves = curves_of(sentences, models, job.corpus, settings, ways, ks, depth, step)
        sheet = curve_sheet(curves)
        by_name = {one.title: one.points for one in curves}
        plots: dict[str, str] = {}
        if folder is not None and can_plot():
            titles = ("Correctness at k", "k documents", "share of sentences")
            plots = {"curve": curve_plot(*titles, by_name)}
        show_and_write({"curve": sheet}, folder, as_json=as_json, quiet=quiet, plots=plots)
    if job.rejections:
        raise typer.Exit(PARTIAL)


def tell_missing(n_missing: int) -> None:
    """Say how many citations point to documents that are not here."""
    if n_missing:
        typer.echo(f"citations without a document here: {n_missing}; name --corpus", err=True)


def _scorers(
    verifiers: Sequence[str] | None, cosines: Sequence[str] | None
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the named verifiers and embedding models; the embedded ones where none is."""
    from ragassay.model_names import MINILM, MINILM_VERIFIER

    if verifiers or cosines:
        return verifiers or (), cosines or ()
    return (MINILM_VERIFIER,), (MINILM,)


def show_and_write(
    sheets: Mapping[str, Sheet],
    out: Path | None,
    *,
    as_json: bool,
    quiet: bool,
    plots: Mapping[str, str] | None = None,
    n_shown: int | None = None,
) -> None:
    """Print sheets, on the terminal the first of them, and write all into a folder.

    Args:
        sheets: By the names of their files.
        out: The folder; None writes nothing.
        as_json: Print JSON.
        quiet: Print no tables.
        plots: SVG, by the names of their files.
        n_shown: Most tables on the terminal; None for all.
    """
    from ragassay.cli.tables import show_sheets
    from ragassay.reports.sheets import sheet_csv
    from ragassay.runs.compare import write_files

    tables = list(sheets.values())
    if as_json or not quiet:
        show_sheets(tables, None, as_json, 0, tables[:n_shown])
    if out is not None:
        texts = {f"{name}.csv": sheet_csv(sheet) for name, sheet in sheets.items()}
        texts |= {f"{name}.svg": plot for name, plot in (plots or {}).items()}
        for path in write_files(out, texts):
            typer.echo(f"wrote {path}", err=True)
