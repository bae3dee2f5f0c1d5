"""`ragassay report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragassay.cli.exits import errors_as_lines


def report(
    run: Annotated[Path, typer.Argument(help="Run folder, as written by `ragassay evaluate`.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON on stdout.")
    ] = False,
) -> None:
    """Write report.html and report.md of a run again, and print its tables.

    Also of a run that was stopped: the report then covers what is finished.
    """
    with errors_as_lines():
        from ragassay.metrics.summary import summarize
        from ragassay.runs.folder import RunFolder

        folder = RunFolder(run)
        manifest = folder.manifest()
        evaluations = folder.evaluations()
        summary = folder.summary() or summarize(
            evaluations,
            manifest.answers.n_items,
            len(folder.failures()),
            len(folder.rejections()),
        )
        folder.write_reports(summary)
        if as_json:
            typer.echo(summary.model_dump_json(indent=2))
            return
        from rich.console import Console

        from ragassay.reports import answer_table, headline, score_table, system_table

        console = Console()
        console.print(headline(summary), style="bold", markup=False, highlight=False)
        console.print(score_table(summary))
        if len(summary.systems) > 1:
            console.print(system_table(summary))
        console.print(answer_table(evaluations))
        console.print(
            f"Report: {run / 'report.html'}", markup=False, highlight=False, soft_wrap=True
        )
