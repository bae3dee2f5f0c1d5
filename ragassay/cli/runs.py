"""`ragassay runs` and `ragassay report`: past runs, and the report of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ragassay.cli.options import Json, RunFolderArgument

RUNS = Path("runs")


class ListByDefault(TyperGroup):
    """Takes what is no command for the folder to list."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `list` before anything but a command or --help."""
        if not args or args[0] not in (*self.commands, "--help"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="runs",
    cls=ListByDefault,
    help="List past runs, and open them: `ragassay runs [FOLDER]`, `ragassay runs open latest`.",
    no_args_is_help=False,
    rich_markup_mode=None,
)


@app.command("list")
def list_runs(
    folder: Annotated[
        Path, typer.Argument(help="The folder that holds the runs, or one run.")
    ] = RUNS,
    as_json: Json = False,
) -> None:
    """List the runs of a folder, the newest first; `list` may be left out.

    Each with its answers, judge, main scores, findings that lead its report, and state: finished,
    running, stopped at 34 of 90, failed, damaged.

    For example:

      ragassay runs
      ragassay runs experiments --json
    """
    from ragassay.runs.past import past_runs

    runs = past_runs(folder)
    if as_json:
        import json

        typer.echo(json.dumps([run.model_dump(mode="json") for run in runs], indent=2))
        return
    if not runs:
        typer.echo(f"{folder} has no runs")
        return
    from ragassay.reports.past_runs import past_run_lines
    from ragassay.safe_text import open_console

    console = open_console()
    for line in past_run_lines(runs):
        console.print(line)


@app.command("open")
def open_run(
    run: Annotated[
        str, typer.Argument(metavar="NAME|latest", help="A run's name or folder, or the newest.")
    ] = "latest",
    folder: Annotated[
        Path, typer.Option("--in", metavar="FOLDER", help="The folder that holds the runs.")
    ] = RUNS,
    review: Annotated[
        bool, typer.Option("--review", help="Open it in the review page (`ragassay review`).")
    ] = False,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the report's path, and open no browser.")
    ] = False,
) -> None:
    """Open a run's report in the browser.

    For example:

      ragassay runs open latest
      ragassay runs open first --review
    """
    from ragassay.runs.past import find_run, page_of

    found = find_run(run, folder)
    if not review:
        page = page_of(found).resolve()
        typer.echo(page)
        if not no_open:
            import webbrowser

            webbrowser.open(page.as_uri())
        return
    from ragassay.cli.review import review as open_review

    open_review(found, no_open=no_open)


def report(
    run: RunFolderArgument,
    as_json: Json = False,
) -> None:
    """Write report.html and report.md of a run again, and print its tables.

    It also works for a stopped run: the report then covers the finished answers.
    """
    from ragassay.errors import InputError
    from ragassay.metrics.stats.summary import summarize
    from ragassay.runs.folder import RunFolder

    folder = RunFolder(run)
    manifest = folder.manifest()
    evaluations = folder.evaluations()
    if any(one.pairs for one in evaluations[:1]):
        raise InputError(
            f"{run} is a run of pairs, and does not keep their papers: repeat its `ragassay qa "
            "evaluate`, which asks nothing again and writes qa.html anew"
        )
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
    from ragassay.cli.output import print_run

    print_run(manifest, summary, evaluations, run, folder.audit())
