"""`ragassay similarity`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ragassay.cli.base import OK, PARTIAL
from ragassay.cli.options import Json, OnlyWhere, takes
from ragassay.cli.terminal import print_matrices, print_rejections
from ragassay.extras import EXTRAS, need
from ragassay.options import EvaluateKeywords

if TYPE_CHECKING:
    from ragassay.studies.similarity import Similarity


@takes(EvaluateKeywords, "questions", "column_map")
def similarity(
    answers: Annotated[Path, typer.Argument(help="Answers of several systems.")],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="bleu, rouge1, rougeL, meteor, nist, bertscore, wer, wmd or moverscore; repeat "
            "for more. By default all.",
        ),
    ] = None,
    where: OnlyWhere = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N questions.")] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Encoder behind BERTScore, WMD and MoverScore, by its name on Hugging Face's hub "
            "or its folder; by default the installed all-MiniLM-L6-v2.",
        ),
    ] = None,
    wmd_vectors: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="Encoder behind word mover's distance alone, in place of --embedder: "
            "allenai/scibert_scivocab_uncased, allenai/specter2_base, or a folder. Repeat for "
            "more, each with a table of its own.",
        ),
    ] = None,
    wmd_words: Annotated[
        Literal["context", "alone"],
        typer.Option(
            help="What word mover's distance takes as a word's vector: that of each token in its "
            "text, or that of the word read by itself, as YESciEval's program does."
        ),
    ] = "context",
    lower_case: Annotated[
        bool,
        typer.Option(
            "--lower-case", help="Compare all texts in lower case, as YESciEval's program does."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write similarity.csv, similarity.tex, a heatmap (SVG) for each measure and a "
            "page with all of them (index.html) into this folder."
        ),
    ] = None,
    as_json: Json = False,
    **options: Any,
) -> int:
    """Show the similarity of several systems' answers.

    Each system's answers are compared with each other's to the same questions, as references and
    as candidates, by the eight measures of YESciEval (ROUGE-1 and ROUGE-L count as one there). A
    cell is a mean over questions with a bootstrap interval; the diagonal is a text against itself.
    It needs more libraries: pip install 'ragassay[similarity]'.

    For example:

      ragassay similarity answers.jsonl --out similarity
      ragassay similarity bioasq-train-answers.jsonl.gz --where variant=benign --metric rougeL
      ragassay similarity answers.jsonl --metric wmd --wmd-vectors allenai/scibert_scivocab_uncased
          --wmd-vectors allenai/specter2_base --wmd-words alone

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, the rest is compared.
    """
    from ragassay.formats.row_mapping import column_map
    from ragassay.model_names import MINILM
    from ragassay.studies.similarity import similarity as compare
    from ragassay.studies.similarity import write_similarity

    need(*EXTRAS["similarity"], *(["matplotlib"] if out else []))
    found = compare(
        answers,
        metric or (),
        where=where or (),
        limit=limit,
        questions=options.get("questions"),
        columns=column_map(options.get("column_map")),
        embedder=embedder or MINILM,
        wmd_vectors=wmd_vectors or (),
        wmd_words=wmd_words,
        lower_case=lower_case,
    )
    _print(found, as_json)
    for path in write_similarity(found, out) if out else ():
        typer.echo(f"wrote {path}", err=True)
    return PARTIAL if found.rejections else OK


def _print(found: Similarity, as_json: bool) -> None:

    notes = [f"tokens are compared by {found.embedder}"] if found.embedder else []
    for note in (*notes, *found.notes):
        typer.echo(f"note: {note}", err=True)
    print_rejections(found.rejections)
    print_matrices(found.matrices, {"embedder": found.embedder} if as_json else None)
