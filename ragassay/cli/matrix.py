"""`ragassay matrix`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragassay.cli.exits import PARTIAL, errors_as_lines
from ragassay.cli.options import Json, OnlyWhere

if TYPE_CHECKING:
    from ragassay.runs.matrix import JudgeMatrix


def matrix(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN...]", help="Run folders, each of another judge or a panel."),
    ] = None,
    ratings: Annotated[
        Path | None,
        typer.Option(help="File of ratings on rubrics that name their judges, e.g. YESciEval's."),
    ] = None,
    rubric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Show this rubric too, or all; repeat for more."),
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JUDGE=SYSTEM",
            help="This judge wrote the answers of this system; repeat for more. Equal names are "
            "found without it.",
        ),
    ] = None,
    where: OnlyWhere = None,
    answers: Annotated[
        Path | None,
        typer.Option(help="The file of the answers, for --where; by default that of --ratings."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write matrix.csv, matrix.tex, favourites.csv, self_preference.csv, heatmaps "
            "(SVG) and a page with all of them (index.html) into this folder."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show how several judges rate several systems, and whether a judge prefers its own answers.

    A cell of the matrix is the mean rating over rubrics and answers, with a bootstrap interval
    over questions; ratings that a judge could not give, or that others gave and it did not, are
    counted as unscored. A judge that is a system too has its self-preference measured: its mean
    for its own answers minus its mean for the others', minus the same difference by the other
    judges. Names are matched without case and without LiteLLM's provider.

    For example:

      ragassay evaluate answers.jsonl --only rubrics --model openai/gpt-4.1-mini --out runs/gpt

      ragassay evaluate answers.jsonl --only rubrics --model hosted_vllm/qwen2.5-72b --out runs/qwen

      ragassay matrix runs/gpt runs/qwen --same openai/gpt-4.1-mini=our-rag --out matrix

      ragassay matrix --ratings bioasq-train-answers.jsonl.gz --where variant=benign

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or a run is incomplete.
    """
    with errors_as_lines():
        from ragassay.runs.matrix import judge_matrix, write_judge_matrix

        found = judge_matrix(
            runs or (),
            ratings,
            answers=answers,
            where=where or (),
            same=same or (),
            rubrics=rubric or (),
        )
        _print(found, as_json)
        for path in write_judge_matrix(found, out) if out else ():
            typer.echo(f"wrote {path}", err=True)
    if found.rejections or found.warnings:
        raise typer.Exit(PARTIAL)


def _print(found: JudgeMatrix, as_json: bool) -> None:
    from ragassay.cli.matrices import print_matrices
    from ragassay.cli.output import print_rejections

    for warning in found.warnings:
        typer.echo(f"warning: {warning}", err=True)
    print_rejections(found.rejections)
    if as_json:
        print_matrices(found.matrices, _fields(found))
        return
    from rich.console import Console

    from ragassay.reports.self_preference import favourite_table, self_preference_table

    print_matrices(found.matrices, None)
    console = Console()
    console.print(favourite_table(found.favourites))
    if found.self_preferences:
        console.print(self_preference_table(found.self_preferences))
    else:
        typer.echo("no judge is one of the systems: --same JUDGE=SYSTEM names one that is")


def _fields(found: JudgeMatrix) -> dict[str, object]:
    kept = {"value", "low", "high", "n", "n_unscored"}
    return {
        "favourites": [
            {
                "judge": one.judge,
                "system": one.system,
                "second": one.second,
                "margin": one.margin.model_dump(include=kept),
            }
            for one in found.favourites
        ],
        "self_preferences": [
            {
                "judge": one.judge,
                "systems": one.systems,
                "verdict": one.verdict,
                "own_gap": one.own_gap.model_dump(include=kept),
                "peer_gap": one.peer_gap.model_dump(include=kept),
                "excess": one.excess.model_dump(include=kept),
                "against": {s: e.model_dump(include=kept) for s, e in one.against},
            }
            for one in found.self_preferences
        ],
    }
