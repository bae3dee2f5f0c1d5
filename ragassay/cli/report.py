"""`ragassay report`."""

from __future__ import annotations

import typer

from ragassay.cli.exits import errors_as_lines
from ragassay.cli.options import Json, RunFolderArgument


def report(
    run: RunFolderArgument,
    as_json: Json = False,
) -> None:
    """Write report.html and report.md of a run again, and print its tables.

    It also works for a stopped run: the report then covers the finished answers.
    """
    with errors_as_lines():
        from ragassay.errors import InputError
        from ragassay.metrics.summary import summarize
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
