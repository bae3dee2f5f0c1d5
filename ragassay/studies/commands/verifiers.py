"""`ragassay verifiers`: list, calibrate, measure and compare verifiers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import choose_exit_code
from ragassay.cli.options import AnswersArgument, Json, Quiet, add_options
from ragassay.cli.presenter import Terminal
from ragassay.cli.terminal import (
    print_missing,
    print_rejections,
    show_and_write,
    show_sheets,
    warn_without_plots,
)
from ragassay.errors import SettingsError
from ragassay.model_names import MINILM, MINILM_VERIFIER
from ragassay.options import EvaluateKeywords
from ragassay.runs.progress import show_steps
from ragassay.settings import load_settings

if TYPE_CHECKING:
    from ragassay.requests import Job
    from ragassay.settings import Settings
    from ragassay.studies.verifiers.claims import Claims
    from ragassay.studies.verifiers.sentences import CorrectnessModel

app = typer.Typer(
    help="List verifiers, fit their thresholds, measure them on labelled claims, and apply them to "
    "answers and documents as in BioACE."
)

ClaimsArgument = Annotated[
    list[Path],
    Argument(
        metavar="CLAIMS...",
        help="Labelled claims: rows of claim, evidence and label; SciFact files; answers with "
        "human citation labels, such as MedAESQA; or a reviewed run folder.",
    ),
]
ClaimCorpus = Annotated[
    str | None,
    Option(
        "--corpus",
        help="Corpus with the texts of the documents, if claims or answers contain "
        "only document ids.",
    ),
]
ScoredBy = Annotated[
    list[str] | None,
    Option(
        "--verifier",
        metavar="NAME",
        help="Verifier, or fitted correctness classifier (.json), to compare. Can be repeated.",
    ),
]
Cosines = Annotated[
    list[str] | None,
    Option(
        "--embedder",
        metavar="NAME",
        help="Embedding model to compare, scored by cosine similarity. Can be repeated.",
    ),
]
LabelFile = Annotated[
    Path | None,
    Option("--labels-of", help="File of citation labels, if the answers do not contain them."),
]
Out = Annotated[
    Path | None, Option("--out", help="Write tables (CSV) and plots (SVG) to this folder.")
]
Seed = Annotated[int, Option(min=0, help="Random seed for sampling.")]


@app.command()
def kinds(as_json: Json = False) -> None:
    """List the published verifiers.

    Known Hugging Face models can be used by name. Use KIND:MODEL for other models, where MODEL is a
    Hugging Face name or a folder. KIND alone selects the published model of this kind. AlignScore
    and SummaC-Conv require separate weights: KIND:WEIGHTS@MODEL, where WEIGHTS is a file or
    OWNER/REPOSITORY/FILE on the Hugging Face Hub. Run `ragassay models get NAME` to download
    MiniCheck, HHEM or LettuceDetect.

    For example:

      ragassay evaluate answers.jsonl --verifier minicheck
      ragassay evaluate answers.jsonl --verifier google/flan-t5-xxl
      ragassay evaluate answers.jsonl --verifier true:models/my-t5
      ragassay evaluate answers.jsonl --verifier summac-zs:FacebookAI/roberta-large-mnli
      ragassay evaluate answers.jsonl --verifier alignscore:AlignScore-base.ckpt@roberta-base
    """
    from ragassay.prompts.model_forms import load_verifier_kinds
    from ragassay.studies.verifiers.tables import build_kinds_sheet

    show_sheets([build_kinds_sheet(load_verifier_kinds())], None, as_json, 0)


@app.command()
def fit(
    claims: ClaimsArgument,
    *,
    verifier: Annotated[str, Option(metavar="NAME")],
    out: Annotated[Path, Option()],
    dev: list[Path] | None = None,
    labels: Annotated[int, Option(min=2, max=3)] = 2,
    corpus: ClaimCorpus = None,
    labels_of: LabelFile = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """Find the threshold with the highest F1 for a verifier.

    Models that return only a score, such as AlignScore and SummaC, need a threshold above which a
    claim is attributable. Other models may become more accurate with a fitted threshold. The
    threshold is fitted on one part of the claims and measured on the rest. No question, claim or
    document is in both parts. Use the output file with `--verifier OUT`.

    For example:

      ragassay verifiers fit claims.jsonl --verifier alignscore --out alignscore.json
      ragassay verifiers fit medaesqa.json --corpus pubmed/ --verifier summac-zs --out zs.json
      ragassay evaluate answers.jsonl --verifier alignscore.json

    Options:
        verifier: Verifier whose threshold to fit.
        out: Output file, which must end in .json.
        dev: Claims on which to measure the fitted threshold. By default, the claims of half of the
            questions are held out.
        labels: Number of labels that the verifier can give, 2 or 3. With 3, a threshold for
            contradiction is fitted too.
    """
    from ragassay.models.availability import need_verifiers
    from ragassay.runs.folder import write_atomically
    from ragassay.studies.verifiers import claims as labelled

    need_verifiers([verifier])
    if out.suffix != ".json":
        raise SettingsError(f"--out {out}: the file name must end in .json")
    read = [_read_claims(claims, corpus, labels_of)]
    if dev:
        read.append(_read_claims(dev, corpus, labels_of))
        train, test = (list(part.claims) for part in read)
    else:
        train, test = labelled.split_claims(read[0].claims, 0.5, seed)
    n_labels: Literal[2, 3] = labels  # type: ignore[assignment]
    with show_steps(len(train) + len(test), "comparing", not quiet) as step:
        found = labelled.fit(
            verifier,
            train,
            test,
            load_settings().literature.cache_dir,
            n_labels=n_labels,
            data=[path.name for path in (*claims, *(dev or ()))],
            seed=seed,
            step=step,
        )
    write_atomically(out, found.model_dump_json(indent=2))
    if not quiet:
        from ragassay.studies.verifiers.tables import describe_fitted_thresholds

        typer.echo("\n".join(describe_fitted_thresholds(found)))
    typer.echo(f"wrote {out}", err=True)
    return choose_exit_code(*(part.rejections or part.n_missing for part in read))


@app.command()
def measure(
    claims: ClaimsArgument,
    *,
    verifier: Annotated[list[str] | None, Option(metavar="NAME")] = None,
    labels: Annotated[list[int] | None, Option(min=2, max=3)] = None,
    against: Literal["document", "sentence"] = "document",
    corpus: ClaimCorpus = None,
    labels_of: LabelFile = None,
    out: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Measure verifiers on claims with human labels.

    The tables show precision, recall and F1 (for supported claims, macro and weighted), accuracy
    and AUROC, for two and for three labels, with 95 % intervals over questions. Verifiers without
    the label "contradicts" are only measured with two labels. Claims that were used to fit the
    threshold of any verifier are excluded for all verifiers.

    To measure a judge, run `ragassay evaluate` and `ragassay meta-evaluate` on the same answers.
    The section "accuracy" of the output of `ragassay meta-evaluate` shows how well the scores
    separate accurate from inaccurate answers (AUROC).

    For example:

      ragassay verifiers measure claims.jsonl
      ragassay verifiers measure claims.jsonl --verifier alignscore --verifier alignscore.json
      ragassay verifiers measure medaesqa.json --corpus pubmed/ --against sentence --out tables

    Options:
        verifier: Verifier to measure. By default, the embedded verifier is measured.
        labels: Number of verdict labels, 2 or 3. By default, both.
        against: Text to compare a claim with: the whole document (title and abstract), or its
            closest sentence.
    """
    from ragassay.models.availability import need_verifiers
    from ragassay.models.embeddings import Embedder
    from ragassay.studies.verifiers.claims import measure as measure_all
    from ragassay.studies.verifiers.tables import build_verifier_sheet

    names, label_counts = verifier or [MINILM_VERIFIER], sorted(set(labels or (2, 3)))
    need_verifiers(names)
    read = _read_claims(claims, corpus, labels_of)
    with show_steps(len(read.claims) * len(names), "comparing", not quiet) as step:
        found = measure_all(
            names,
            read.claims,
            load_settings().literature.cache_dir,
            label_counts,
            Embedder() if against == "sentence" else None,
            step,
        )
    tables = {
        f"measured-{n}-labels": build_verifier_sheet(part, n)
        for n in label_counts
        if (part := [one for one in found if one.n_labels == n])
    }
    show_and_write(tables, out, as_json=as_json, quiet=quiet)
    return choose_exit_code(read.rejections, read.n_missing)


@app.command()
@add_options(EvaluateKeywords, "corpus", "questions", "limit")
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
) -> int:
    """Test whether scores separate supporting documents from others.

    The command implements algorithm 1 of BioACE. Each answer sentence that has a supporting
    document according to human labels is scored against this document (the best window of three
    sentences), and against the supporting documents of a sentence from another question. The table
    shows both mean scores, how often the score of the supporting document is higher, and the AUROC.
    If people marked evidence in the documents, the table also has these values for the marked
    evidence. By default, all-MiniLM-L6-v2 and the embedded verifier are compared.

    For example:

      ragassay verifiers separate medaesqa.json --corpus pubmed/
      ragassay verifiers separate medaesqa.json --corpus pubmed/ --embedder all-mpnet-base-v2
          --verifier FacebookAI/roberta-large-mnli --out separation
    """
    from ragassay.studies.verifiers import sentences, tables

    job, _, models = _open(answers, options, quiet, verifiers, embedders)
    labelled = sentences.read_labelled_sentences(answers, job.records, job.corpus, labels_of)
    n_missing = sentences.check_documents(labelled)
    pairs = sentences.sample_pairs(labelled, seed)
    with show_steps(len(pairs) * len(models), "scoring", not quiet) as step:
        found = [one for model in models for one in sentences.separate(pairs, model, step)]
    sheets = {
        "separation": tables.build_separation_sheet(found),
        "separation-by-question": tables.build_question_sheet(found),
    }
    show_and_write(sheets, folder, as_json=as_json, quiet=quiet, n_shown=1)
    print_missing(n_missing)
    return choose_exit_code(job.rejections, n_missing)


@app.command()
@add_options(EvaluateKeywords, "corpus", "questions", "limit")
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
) -> int:
    """Measure the share of sentences that the cited documents support.

    The command computes the scores in figure 7a of BioACE. Supp(AS) is the share of sentences
    supported by any cited document. Supp(CS) only considers documents that people labelled as
    supporting, so values close to 1 mean agreement with the labels. A document supports a sentence
    if any window of three sentences scores at or above the model's threshold. Sentences without
    citations are unscored. Without labels, only Supp(AS) is shown.

    For example:

      ragassay verifiers support medaesqa.json --corpus pubmed/
      ragassay verifiers support answers.jsonl --corpus pubmed/ --embedder all-MiniLM-L6-v2
    """
    from ragassay.studies.verifiers import sentences
    from ragassay.studies.verifiers.support import measure_support
    from ragassay.studies.verifiers.tables import build_support_sheet

    job, _, models = _open(answers, options, quiet, verifiers, embedders)
    has_labels = labels_of is not None or sentences.has_citation_labels(answers)
    if has_labels:
        cited = sentences.read_labelled_sentences(answers, job.records, job.corpus, labels_of)
    else:
        cited = sentences.list_cited_sentences(job.records, job.corpus)
    n_missing = sentences.check_documents(cited)
    with show_steps(len(cited) * len(models), "scoring", not quiet) as step:
        found = [measure_support(cited, m, has_labels=has_labels, step=step) for m in models]
    show_and_write({"support": build_support_sheet(found)}, folder, as_json=as_json, quiet=quiet)
    print_missing(n_missing)
    return choose_exit_code(job.rejections, n_missing)


@app.command("at-k")
@add_options(EvaluateKeywords, "corpus", "questions", "limit", "search")
def at_k(
    answers: AnswersArgument,
    *,
    k: Annotated[str, Option("--k")] = "10,20,30,40,50,60,70,80,90,100",
    found_by: Literal["question", "claim", "both"] = "question",
    depth: Annotated[int, Option(min=1)] = 1000,
    verifiers: ScoredBy = None,
    embedders: Cosines = None,
    folder: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Measure the share of sentences that the top search results support.

    The command computes the scores in figure 7b of BioACE, with the top k documents of a search.
    "correctness_at_k" follows BioACE: the question is the search query, and the first --depth
    results are reranked. "correctness_at_k_by_claim" searches like `ragassay evaluate`: the
    sentence is the search query, the first 50 results are reranked, and k is
    RAGASSAY_RETRIEVAL__EVIDENCE_PASSAGES. Sentences without search results are unscored. Set
    RAGASSAY_LITERATURE__RERANKER=none to disable reranking.

    For example:

      ragassay verifiers at-k answers.jsonl --corpus pubmed/ --by bm25
      ragassay verifiers at-k medaesqa.json --corpus pubmed/ --k 10,50 --found-by both --out curve

    Options:
        k: Numbers of top search results to use, separated by commas.
        found_by: Text to search for: the question (as in BioACE), each sentence (claim), or both.
        depth: Number of results per question to rerank.
    """
    from ragassay.reports.figures import can_plot, plot_curves
    from ragassay.studies.verifiers import support
    from ragassay.studies.verifiers.sentences import list_cited_sentences
    from ragassay.studies.verifiers.tables import build_curve_sheet

    ks, ways = support.parse_ks(k), support.parse_ways(found_by)
    job, settings, models = _open(answers, options, quiet, verifiers, embedders)
    warn_without_plots(folder)
    cited = list_cited_sentences(job.records, job.corpus)
    total = support.count_steps(cited, ways, len(models))
    with show_steps(total, "searching and scoring", not quiet) as step:
        curves = support.compute_curves(cited, models, job.corpus, settings, ways, ks, depth, step)
    plots: dict[str, str] = {}
    if folder is not None and can_plot():
        titles = ("Correctness at k", "k documents", "share of sentences")
        plots = {"curve": plot_curves(*titles, {one.title: one.points for one in curves})}
    sheets = {"curve": build_curve_sheet(curves)}
    show_and_write(sheets, folder, as_json=as_json, quiet=quiet, plots=plots)
    return choose_exit_code(job.rejections)


def _read_claims(paths: Sequence[Path], corpus: str | None, labels: Path | None) -> Claims:
    from ragassay.retrievers.opening import open_literature
    from ragassay.studies.verifiers.claims import read_labelled

    literature = open_literature(corpus, load_settings()).literature if corpus else None
    found = read_labelled(paths, literature, labels)
    print_rejections(found.rejections)
    print_missing(found.n_missing)
    return found


def _open(
    answers: Path,
    options: EvaluateKeywords,
    quiet: bool,
    verifiers: Sequence[str] | None,
    cosines: Sequence[str] | None,
) -> tuple[Job, Settings, Sequence[CorrectnessModel]]:
    from ragassay.models.availability import need_verifiers
    from ragassay.requests import read_input
    from ragassay.studies.verifiers.sentences import open_models

    need_verifiers(verifiers or ())
    job, settings = read_input(answers, options, None, Terminal(quiet))
    if not (verifiers or cosines):
        verifiers, cosines = (MINILM_VERIFIER,), (MINILM,)
    models = open_models(verifiers or (), cosines or (), settings.literature.cache_dir)
    return job, settings, models
