"""Print the results and notes of a command.

Libraries for tables are imported only when they are needed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import typer

from ragassay.errors import InputError
from ragassay.records import Rejection, Score
from ragassay.reports.sheets import (
    Sheet,
    join_sheets,
    list_sheet_rows,
    render_sheet_csv,
    render_sheet_table,
)
from ragassay.safe_text import open_console


def print_lines(*lines: str, style: str = "", soft_wrap: bool = False) -> None:
    """Print lines without markup; with `soft_wrap`, only the terminal breaks long lines."""
    console = open_console()
    for line in lines:
        console.print(line, style=style, markup=False, highlight=False, soft_wrap=soft_wrap)


def print_sheets(*sheets: Sheet, limit: int | None = None) -> None:
    """Print sheets as tables with at most `limit` rows (None for all)."""
    console = open_console()
    for sheet in sheets:
        console.print()
        console.print(render_sheet_table(sheet, limit))


def print_json(found: object) -> None:
    """Print an object as indented JSON."""
    typer.echo(json.dumps(found, indent=2))


def print_notes(*notes: str) -> None:
    """Print lines on stderr."""
    for note in notes:
        typer.echo(note, err=True)


def print_written(paths: Iterable[Path]) -> None:
    """Print the paths of written files on stderr."""
    print_notes(*(f"wrote {path}" for path in paths))


def print_rejections(rejections: Sequence[Rejection]) -> None:
    """Print the first ten rejected lines on stderr."""
    from ragassay.formats.problems import format_rejection

    print_notes(*(f"rejected {format_rejection(rejection)}" for rejection in rejections[:10]))
    if len(rejections) > 10:
        print_notes(f"... and {len(rejections) - 10} more rejected lines")


def print_missing(n_missing: int) -> None:
    """Print on stderr how many citations refer to a document that is missing."""
    if n_missing:
        print_notes(f"documents missing for {n_missing} citations; add them with --corpus")


def warn_without_plots(out: Path | None) -> None:
    """Print a note on stderr if plots cannot be written because matplotlib is missing.

    Args:
        out: Folder for tables and plots; None if nothing is written.
    """
    if out is None:
        return
    from ragassay.errors import ExtraError
    from ragassay.extras import need

    try:
        need("matplotlib")
    except ExtraError as error:
        print_notes(f"note: no plots will be written: {error}")


def print_scores(scores: Mapping[str, Score], as_json: bool) -> None:
    """Print scores with their intervals, as text or as one JSON object per line."""
    for name, score in scores.items():
        if as_json:
            fields = score.model_dump(include={"value", "low", "high", "n"})
            typer.echo(json.dumps({"measure": name, **fields}))
        elif score.value is not None:
            ends = ("-" if end is None else f"{end:.3f}" for end in (score.low, score.high))
            typer.echo(f"{name:<8} {score.value:.3f}  [{', '.join(ends)}]  n={score.n}")


def show_sheets(
    sheets: Sequence[Sheet],
    csv: Path | None,
    as_json: bool,
    limit: int,
    shown: Sequence[Sheet] | None = None,
) -> None:
    """Print sheets as tables or JSON, and optionally write them as CSV.

    Args:
        csv: CSV file to write, or None. Sheets with the same columns are joined into one table.
        limit: Maximum number of rows per printed table; 0 for all.
        shown: Sheets to print if they differ from the sheets to write.
    """
    if csv is not None:
        from ragassay.runs.folder import write_atomically

        can_join = len(sheets) > 1 and len({sheet.columns for sheet in sheets}) == 1
        tables = [join_sheets(sheets, "table")] if can_join else sheets
        write_atomically(csv, "\n".join(map(render_sheet_csv, tables)))
        print_written([csv])
    if as_json:
        print_json([{"title": one.title, "rows": list_sheet_rows(one)} for one in sheets])
        return
    print_sheets(*(sheets if shown is None else shown), limit=limit or None)
    if not sheets:
        typer.echo("no results")


def show_and_write(
    sheets: Mapping[str, Sheet],
    out: Path | None,
    *,
    as_json: bool,
    quiet: bool,
    plots: Mapping[str, str] | None = None,
    n_shown: int | None = None,
) -> None:
    """Print sheets, and write them to a folder.

    Args:
        sheets: Sheets to print and write, by file name without suffix.
        out: Folder for CSV files and plots. If None, nothing is written.
        plots: SVG plots to write, by file name without suffix.
        n_shown: Number of tables to print; None prints all.
    """
    from ragassay.runs.compare import write_files

    tables = list(sheets.values())
    if as_json or not quiet:
        show_sheets(tables, None, as_json, 0, tables[:n_shown])
    if out is not None:
        texts = {f"{name}.csv": render_sheet_csv(sheet) for name, sheet in sheets.items()}
        texts |= {f"{name}.svg": plot for name, plot in (plots or {}).items()}
        print_written(write_files(out, texts))


def require_terminal(alternative: str) -> None:
    """Raise an error if the command does not run in a terminal.

    Args:
        alternative: Options that the error message suggests instead.

    Raises:
        InputError: The command does not run in a terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError(f"an editor requires a terminal; use {alternative} instead")


def edit_in_editor(text: str) -> str:
    """Open the text in the user's editor, and return the saved text.

    Raises:
        InputError: The editor cannot be started, or fails.
    """
    import click

    try:
        saved = click.edit(text, extension=".txt")
    except click.ClickException as error:
        raise InputError(
            f"{error.message} Set EDITOR to your editor, or use --accept-all"
        ) from error
    return text if saved is None else saved
