"""`ragassay verifiers`: the verifiers there are, fitted, measured, and set on answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import partial_if
from ragassay.cli.options import AnswersArgument, Json, Quiet, takes
from ragassay.cli.presenter import Terminal
from ragassay.cli.terminal import (
    print_missing,
    print_rejections,
    show_and_write,
    show_sheets,
    tell_plots_left_out,
)
from ragassay.errors import SettingsError
from ragassay.model_names import MINILM, MINILM_VERIFIER
from ragassay.options import EvaluateKeywords
from ragassay.runs.progress import shown_steps
from ragassay.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragassay.requests import Job
    from ragassay.settings import Settings
    from ragassay.studies.verifiers.claims import Claims
    from ragassay.studies.verifiers.sentences import CorrectnessModel

app = typer.Typer(
    name="verifiers",
    help="Verifiers: which there are, how well they do on labelled claims, at which threshold, and "
    "what they find in the documents behind answers (BioACE).",
    no_args_is_help=True,
)

ClaimsArgument = Annotated[
    list[Path],
    Argument(
        metavar="CLAIMS...",
        help="Labelled claims: rows of claim, evidence and label; SciFact's published files; "
        "answers whose citations people labelled, such as MedAESQA; or a run folder that people "
        "reviewed.",
    ),
]
ClaimCorpus = Annotated[
    str | None,
    Option("--corpus", help="The documents, where the claims or answers name them by id."),
]
ScoredBy = Annotated[
    list[str] | None,
    Option(
        "--verifier",
        metavar="NAME",
        help="What scores: a verifier, or a fitted classifier of correctness (.json). Repeat for "
        "more.",
    ),
]
Cosines = Annotated[
    list[str] | None,
    Option(
        "--embedder",
        metavar="NAME",
        help="An embedding model whose cosine scores. Repeat for more.",
    ),
]
LabelFile = Annotated[
    Path | None, Option("--labels-of", help="Labels of the answers' citations, if in another file.")
]
Out = Annotated[
    Path | None, Option("--out", help="Write the tables (CSV) and plots (SVG) into this folder.")
]
Seed = Annotated[int, Option(min=0, help="Of the draw.")]


@app.command()
def kinds(as_json: Json = False) -> None:
    """List the verifiers that write a label or a score, besides inference models and judges.

    A model of the hub is known by its name; any other is named KIND:MODEL, where MODEL is a name on
    the hub or a folder. A kind alone stands for its published model. AlignScore and SummaC-Conv
    have weights of their own and need a model beside them: KIND:WEIGHTS@MODEL, where WEIGHTS is a
    file or OWNER/REPOSITORY/FILE on the hub. `ragassay models get NAME` fetches MiniCheck, HHEM or
    LettuceDetect.

    For example:

      ragassay evaluate answers.jsonl --verifier minicheck
      ragassay evaluate answers.jsonl --verifier google/flan-t5-xxl
      ragassay evaluate answers.jsonl --verifier true:models/my-t5
      ragassay evaluate answers.jsonl --verifier summac-zs:FacebookAI/roberta-large-mnli
      ragassay evaluate answers.jsonl --verifier alignscore:AlignScore-base.ckpt@roberta-base
    """
    from ragassay.prompts.model_forms import load_verifier_kinds
    from ragassay.studies.verifiers.tables import kinds_sheet

    show_sheets([kinds_sheet(load_verifier_kinds())], None, as_json, 0)


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
    """Find the threshold at which a verifier has the highest F1.

    Models that give scores, such as AlignScore and SummaC, need a threshold for "attributable";
    others have a best threshold too. It is fitted to some claims and measured on others: no
    question, claim or document is on both sides. `--verifier OUT` then uses the file as a verifier.

    For example:

      ragassay verifiers fit claims.jsonl --verifier alignscore --out alignscore.json
      ragassay verifiers fit medaesqa.json --corpus pubmed/ --verifier summac-zs --out zs.json
      ragassay evaluate answers.jsonl --verifier alignscore.json

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some claims could not be read or have no document.

    Options:
        verifier: The verifier to fit.
        out: The file to write, ending in .json.
        dev: Claims to measure on; by default half of the questions of CLAIMS. Repeat for more.
        labels: 2 fits one threshold, 3 also one of contradiction.
    """
    from ragassay.models.availability import need_verifiers
    from ragassay.runs.folder import write_whole
    from ragassay.studies.verifiers.claims import fit as fit_thresholds
    from ragassay.studies.verifiers.claims import split_claims

    need_verifiers([verifier])
    if out.suffix != ".json":
        raise SettingsError(f"--out {out}: a file of thresholds ends in .json")
    read = [_claims(claims, corpus, labels_of)]
    if dev:
        read.append(_claims(dev, corpus, labels_of))
        learnt, held = (list(part.claims) for part in read)
    else:
        learnt, held = split_claims(read[0].claims, 0.5, seed)
    n_labels: Literal[2, 3] = labels  # type: ignore[assignment]
    with shown_steps(len(learnt) + len(held), "comparing", not quiet) as step:
        found = fit_thresholds(
            verifier,
            learnt,
            held,
            load_settings().literature.cache_dir,
            n_labels=n_labels,
            data=[path.name for path in (*claims, *(dev or ()))],
            seed=seed,
            step=step,
        )
    write_whole(out, found.model_dump_json(indent=2))
    if not quiet:
        from ragassay.studies.verifiers.tables import fitted_lines

        for line in fitted_lines(found):
            typer.echo(line)
    typer.echo(f"wrote {out}", err=True)
    return partial_if(*(part.rejections or part.n_missing for part in read))


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
    """Measure verifiers on claims that people labelled.

    Precision, recall and F1 (of the supported claims, macro, weighted), accuracy, and the area
    under the ROC curve of a verifier's share or score, for two labels and for three, with 95 %
    intervals over questions. A verifier without the label "contradicts" has no table of three
    labels. Claims on which thresholds were fitted are left out for all verifiers.

    A judge is measured by `ragassay evaluate` and `ragassay meta-evaluate` on the same answers.
    There, under "accuracy", is also the area under the ROC curve of an evaluation's scores against
    whether people call an answer accurate.

    For example:

      ragassay verifiers measure claims.jsonl
      ragassay verifiers measure claims.jsonl --verifier alignscore --verifier alignscore.json
      ragassay verifiers measure medaesqa.json --corpus pubmed/ --against sentence --out tables

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some claims could not be read or have no document.

    Options:
        verifier: A verifier, as for `ragassay evaluate`; by default the embedded one. Repeat for
            more.
        labels: Only the table of two, or of three labels.
        against: Compare a claim with title and abstract, or with the closest sentence.
    """
    from ragassay.models.availability import need_verifiers
    from ragassay.models.embeddings import Embedder
    from ragassay.studies.verifiers.claims import measure as measure_all
    from ragassay.studies.verifiers.tables import measured_sheet

    names, wanted = verifier or [MINILM_VERIFIER], sorted(set(labels or (2, 3)))
    need_verifiers(names)
    read = _claims(claims, corpus, labels_of)
    with shown_steps(len(read.claims) * len(names), "comparing", not quiet) as step:
        found = measure_all(
            names,
            read.claims,
            load_settings().literature.cache_dir,
            wanted,
            Embedder() if against == "sentence" else None,
            step,
        )
    tables = {
        f"measured-{n}-labels": measured_sheet(part, n)
        for n in wanted
        if (part := [one for one in found if one.n_labels == n])
    }
    show_and_write(tables, out, as_json=as_json, quiet=quiet)
    return partial_if(read.rejections, read.n_missing)


@app.command()
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
) -> int:
    """Show whether scores separate a sentence's own documents from others (BioACE, algorithm 1).

    Every answer sentence with a document that people call supporting is scored against it, as the
    best of its runs of three sentences, and against the documents of a sentence of another
    question. The command prints the mean scores of both, how often the first is higher, and the
    area under the ROC curve; the same for the evidence that people marked, if there is any. By
    default all-MiniLM-L6-v2 and the embedded verifier are compared.

    For example:

      ragassay verifiers separate medaesqa.json --corpus pubmed/
      ragassay verifiers separate medaesqa.json --corpus pubmed/ --embedder all-mpnet-base-v2
          --verifier FacebookAI/roberta-large-mnli --out separation

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected or has no document.
    """
    from ragassay.studies.verifiers.sentences import (
        check_documents,
        labelled_sentences,
        sample_pairs,
    )
    from ragassay.studies.verifiers.sentences import separate as separate_pairs
    from ragassay.studies.verifiers.tables import question_sheet, separation_sheet

    job, _, models = _open(answers, options, quiet, verifiers, embedders)
    sentences = labelled_sentences(answers, job.records, job.corpus, labels_of)
    n_missing = check_documents(sentences)
    pairs = sample_pairs(sentences, seed)
    with shown_steps(len(pairs) * len(models), "scoring", not quiet) as step:
        found = [one for model in models for one in separate_pairs(pairs, model, step)]
    tables = {
        "separation": separation_sheet(found),
        "separation-by-question": question_sheet(found),
    }
    show_and_write(tables, folder, as_json=as_json, quiet=quiet, n_shown=1)
    print_missing(n_missing)
    return partial_if(job.rejections, n_missing)


@app.command()
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
) -> int:
    """Show how many answer sentences their cited documents support (BioACE, figure 7a).

    Supp(AS) is the share of sentences that any cited document supports, Supp(CS) that of sentences
    that any of those supports that people call supporting: the nearer to 1, the more a model
    agrees with them. A document supports a sentence if one of its runs of three sentences scores
    at the model's threshold or above. Sentences that cite nothing are unscored. Without labels only
    Supp(AS) is printed.

    For example:

      ragassay verifiers support medaesqa.json --corpus pubmed/
      ragassay verifiers support answers.jsonl --corpus pubmed/ --embedder all-MiniLM-L6-v2

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected or has no document.
    """
    from ragassay.studies.verifiers.sentences import (
        check_documents,
        cited_sentences,
        has_citation_labels,
        labelled_sentences,
    )
    from ragassay.studies.verifiers.support import measure_support
    from ragassay.studies.verifiers.tables import support_sheet

    job, _, models = _open(answers, options, quiet, verifiers, embedders)
    has_labels = labels_of is not None or has_citation_labels(answers)
    if has_labels:
        sentences = labelled_sentences(answers, job.records, job.corpus, labels_of)
    else:
        sentences = cited_sentences(job.records, job.corpus)
    n_missing = check_documents(sentences)
    with shown_steps(len(sentences) * len(models), "scoring", not quiet) as step:
        found = [measure_support(sentences, m, has_labels=has_labels, step=step) for m in models]
    show_and_write({"support": support_sheet(found)}, folder, as_json=as_json, quiet=quiet)
    print_missing(n_missing)
    return partial_if(job.rejections, n_missing)


@app.command("at-k")
@takes(EvaluateKeywords, "corpus", "questions", "limit", "search")
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
    """Show how many answer sentences the k best documents of a search support (BioACE, figure 7b).

    Two scores have this form. "correctness_at_k" is BioACE's: documents are found by the question,
    --depth of them reranked. "correctness_at_k_by_claim" is that of an evaluation, whose k is
    RAGASSAY_RETRIEVAL__EVIDENCE_PASSAGES: documents are found by the sentence itself, 50 of them
    reranked. A sentence for which nothing is found is unscored. RAGASSAY_LITERATURE__RERANKER=none
    keeps the search's order.

    For example:

      ragassay verifiers at-k answers.jsonl --corpus pubmed/ --by bm25
      ragassay verifiers at-k medaesqa.json --corpus pubmed/ --k 10,50 --found-by both --out curve

    Options:
        k: Numbers of documents, separated by commas.
        found_by: Search with the question (BioACE), with each sentence, or with both.
        depth: Hits of a question that are reranked; fewer take less time.
    """
    from ragassay.reports.figures import can_plot, curve_plot
    from ragassay.studies.verifiers.sentences import cited_sentences
    from ragassay.studies.verifiers.support import curves_of, n_steps, parse_ks, ways_of
    from ragassay.studies.verifiers.tables import curve_sheet

    ks, ways = parse_ks(k), ways_of(found_by)
    job, settings, models = _open(answers, options, quiet, verifiers, embedders)
    tell_plots_left_out(folder)
    sentences = cited_sentences(job.records, job.corpus)
    total = n_steps(sentences, ways, len(models))
    with shown_steps(total, "searching and scoring", not quiet) as step:
        curves = curves_of(sentences, models, job.corpus, settings, ways, ks, depth, step)
    sheet = curve_sheet(curves)
    plots: dict[str, str] = {}
    if folder is not None and can_plot():
        titles = ("Correctness at k", "k documents", "share of sentences")
        plots = {"curve": curve_plot(*titles, {one.title: one.points for one in curves})}
    show_and_write({"curve": sheet}, folder, as_json=as_json, quiet=quiet, plots=plots)
    return partial_if(job.rejections)


def _claims(paths: Sequence[Path], corpus: str | None, labels: Path | None) -> Claims:
    """Read claims; report what could not be read."""
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
    """Read answers, and open the named models; the embedded ones where none is named."""
    from ragassay.models.availability import need_verifiers
    from ragassay.requests import read_input
    from ragassay.studies.verifiers.sentences import open_models

    need_verifiers(verifiers or ())
    job, settings = read_input(answers, options, None, Terminal(quiet))
    if not (verifiers or cosines):
        verifiers, cosines = (MINILM_VERIFIER,), (MINILM,)
    models = open_models(verifiers or (), cosines or (), settings.literature.cache_dir)
    return job, settings, models
