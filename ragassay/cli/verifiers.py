"""`ragassay verifiers`: the verifiers there are, fitted, measured, and set on answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragassay.cli.base import PARTIAL, errors_as_lines
from ragassay.cli.options import Json, Quiet
from ragassay.cli.verifier_answers import (
    LabelFile,
    Out,
    Seed,
    at_k,
    separate,
    show_and_write,
    support,
    tell_missing,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragassay.studies.verifiers.claims import Claims

app = typer.Typer(
    name="verifiers",
    help="Verifiers: which there are, how well they do on labelled claims, at which threshold, and "
    "what they find in the documents behind answers (BioACE).",
    no_args_is_help=True,
)

ClaimsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="CLAIMS...",
        help="Labelled claims: rows of claim, evidence and label; SciFact's published files; "
        "answers whose citations people labelled, such as MedAESQA; or a run folder that people "
        "reviewed.",
    ),
]
Verifiers = Annotated[
    list[str] | None,
    typer.Option(
        "--verifier",
        metavar="NAME",
        help="A verifier, as for `ragassay evaluate`; by default the embedded one. Repeat for "
        "more.",
    ),
]
ClaimCorpus = Annotated[
    str | None,
    typer.Option("--corpus", help="The documents, where the claims or answers name them by id."),
]


@app.command()
def kinds(as_json: Json = False) -> None:
    """List the verifiers that write a label or score, beside inference models and judges.

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
    with errors_as_lines():
        from ragassay.cli.tables import show_sheets
        from ragassay.prompts.model_forms import load_verifier_kinds
        from ragassay.studies.verifiers.tables import kinds_sheet

        show_sheets([kinds_sheet(load_verifier_kinds())], None, as_json, 0)


@app.command()
def fit(
    claims: ClaimsArgument,
    *,
    verifier: Annotated[str, typer.Option(metavar="NAME", help="The verifier to fit.")],
    out: Annotated[Path, typer.Option(help="The file to write, ending in .json.")],
    dev: Annotated[
        list[Path] | None,
        typer.Option(
            help="Claims to measure on; by default half of the questions of CLAIMS. Repeat for "
            "more."
        ),
    ] = None,
    labels: Annotated[
        int, typer.Option(min=2, max=3, help="2 fits one threshold, 3 also one of contradiction.")
    ] = 2,
    corpus: ClaimCorpus = None,
    labels_of: LabelFile = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Find the threshold at which a verifier has the highest F1.

    Models that score, such as AlignScore and SummaC, need a threshold to say "attributable"; others
    have one at which they do best. It is fitted to some claims and measured on others: no question,
    claim or document is on both sides. `--verifier OUT` uses the file wherever a verifier is named.

    For example:

      ragassay verifiers fit claims.jsonl --verifier alignscore --out alignscore.json

      ragassay verifiers fit medaesqa.json --corpus pubmed/ --verifier summac-zs --out zs.json

      ragassay evaluate answers.jsonl --verifier alignscore.json

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some claims could not be read or have no document.
    """
    with errors_as_lines():
        from ragassay.errors import SettingsError
        from ragassay.models.availability import need_verifiers
        from ragassay.runs.folder import write_whole
        from ragassay.runs.progress import shown_steps
        from ragassay.settings import load_settings
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
    if any(part.rejections or part.n_missing for part in read):
        raise typer.Exit(PARTIAL)


@app.command()
def measure(
    claims: ClaimsArgument,
    *,
    verifier: Verifiers = None,
    labels: Annotated[
        list[int] | None,
        typer.Option(min=2, max=3, help="Only the table of two, or of three labels."),
    ] = None,
    against: Annotated[
        Literal["document", "sentence"],
        typer.Option(help="Compare a claim with title and abstract, or with the closest sentence."),
    ] = "document",
    corpus: ClaimCorpus = None,
    labels_of: LabelFile = None,
    out: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure verifiers on claims that people labelled.

    Precision, recall and F1 (of the supported claims, macro, weighted), accuracy, and the area
    under the ROC curve of a verifier's share or score, for two labels and for three, with 95 %
    intervals over questions. A verifier that tells no contradiction has no table of three labels.
    Claims to which some file's thresholds were fitted are left out for all.

    A judge is measured by `ragassay evaluate` and `ragassay meta-evaluate` on the same answers.
    There, under "accuracy", is also the area under the ROC curve of an evaluation's scores against
    whether people call an answer accurate.

    For example:

      ragassay verifiers measure claims.jsonl

      ragassay verifiers measure claims.jsonl --verifier alignscore --verifier alignscore.json

      ragassay verifiers measure medaesqa.json --corpus pubmed/ --against sentence --out tables

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some claims could not be read or have no document.
    """
    with errors_as_lines():
        from ragassay.model_names import MINILM_VERIFIER
        from ragassay.models.availability import need_verifiers
        from ragassay.models.embeddings import Embedder
        from ragassay.runs.progress import shown_steps
        from ragassay.settings import load_settings
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
    if read.rejections or read.n_missing:
        raise typer.Exit(PARTIAL)


app.command()(separate)
app.command()(support)
app.command("at-k")(at_k)


def _claims(paths: Sequence[Path], corpus: str | None, labels: Path | None) -> Claims:
    """Read claims; report what could not be read."""
    from ragassay.cli.output import print_rejections
    from ragassay.retrievers.opening import open_literature
    from ragassay.settings import load_settings
    from ragassay.studies.verifiers.claims import read_labelled

    literature = open_literature(corpus, load_settings()).literature if corpus else None
    found = read_labelled(paths, literature, labels)
    print_rejections(found.rejections)
    tell_missing(found.n_missing)
    return found
