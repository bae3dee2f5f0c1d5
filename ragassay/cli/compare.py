"""`ragassay compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragassay.cli.exits import PARTIAL, errors_as_lines
from ragassay.cli.options import Clusters

if TYPE_CHECKING:
    from ragassay.runs.compare import SystemComparison

MOST_PAIRS = 28
"""Most pairs whose tests are printed too: those of eight systems."""


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Run folders, as written by `ragassay evaluate`; or files of answers with labels "
            "of people.",
        ),
    ],
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help="Compare by this score (nuggets.recall), by a group of scores (rubric), or by "
            "all; repeat for more. By default the main scores that the runs have.",
        ),
    ] = None,
    clusters: Clusters = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write leaderboard.csv, tests.csv, leaderboard.tex and a plot (SVG) for each "
            "score into this folder."
        ),
    ] = None,
) -> None:
    """Rank systems, and report which of them differ significantly.

    RUN is a run of several systems, or one of several runs. An answer without a system's name
    counts for the folder that it is in.

    A mean is over questions, with a bootstrap interval over questions. Each pair of systems is
    compared on the questions that both have, by a paired permutation test with Holm's correction
    over all pairs; systems without a significant difference are shown as tied.

    Runs by different judges or settings are compared too, with a warning. A file of answers with
    people's labels (MedAESQA, the nuggetizer's assignments) ranks its systems by these labels, as
    the published tables do.

    For example:

      ragassay evaluate alpha.jsonl --out runs/alpha

      ragassay evaluate beta.jsonl --out runs/beta

      ragassay compare runs/alpha runs/beta --score nuggets.recall --score rubric --out comparison

      ragassay compare medaesqa_v1.json --score sentences --score citations --clusters clusters.json

    Exit codes: 0 done; 1 error; 3 some answers or labels of a file could not be read.
    """
    with errors_as_lines():
        from ragassay.cli.output import print_rejections
        from ragassay.runs.compare import compare as compare_runs
        from ragassay.runs.compare import write_comparison

        found = compare_runs(runs, score or (), clusters)
        print_rejections(found.rejections)
        for warning in found.warnings:
            typer.echo(f"warning: {warning}", err=True)
        _print(found)
        for path in write_comparison(found, out) if out else ():
            typer.echo(f"wrote {path}", err=True)
    if found.rejections:
        raise typer.Exit(PARTIAL)


def _print(comparison: SystemComparison) -> None:
    from rich.console import Console

    from ragassay.reports.comparison import leaderboard_table, pair_test_table

    console = Console()
    for board in comparison.boards:
        console.print(leaderboard_table(board))
        if 0 < len(board.tests) <= MOST_PAIRS:
            console.print(pair_test_table(board))
        elif board.tests:
            console.print(f"{len(board.tests)} pairs were tested; --out writes them to tests.csv")
