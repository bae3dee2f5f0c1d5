"""Print matrices and sheets on the terminal; write sheets as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ragassay.metrics.stats.aggregates import Matrix
    from ragassay.reports.sheets import Sheet


def print_matrices(matrices: Sequence[Matrix], beside: Mapping[str, object] | None) -> None:
    """Print matrices as tables, or as one JSON object.

    Args:
        matrices: The matrices.
        beside: Further fields of the JSON object; None for tables.
    """
    if beside is not None:
        import json

        from ragassay.studies.matrix_tables import matrix_fields

        found = {**beside, "matrices": [matrix_fields(matrix) for matrix in matrices]}
        typer.echo(json.dumps(found, indent=2))
        return
    from ragassay.reports.sheets import sheet_table
    from ragassay.safe_text import open_console
    from ragassay.studies.matrix_tables import matrix_sheet

    console = open_console()
    for matrix in matrices:
        console.print(sheet_table(matrix_sheet(matrix)))


def show_sheets(
    sheets: Sequence[Sheet],
    csv: Path | None,
    as_json: bool,
    limit: int,
    shown: Sequence[Sheet] | None = None,
) -> None:
    """Print sheets as tables, or as JSON; write them as CSV where a file is given.

    Args:
        sheets: What was found; may be empty.
        csv: The file; sheets of the same columns become one table, others stand below each other.
        as_json: Whether to print JSON.
        limit: Most rows of a table on the terminal; 0 for all.
        shown: Other sheets for the terminal.
    """
    from ragassay.reports.sheets import joined, sheet_csv, sheet_rows, sheet_table

    if csv is not None:
        from ragassay.runs.folder import write_whole

        is_alike = len(sheets) > 1 and len({sheet.columns for sheet in sheets}) == 1
        tables = [joined(sheets, "table")] if is_alike else sheets
        write_whole(csv, "\n".join(map(sheet_csv, tables)))
        typer.echo(f"wrote {csv}", err=True)
    if as_json:
        import json

        found = [{"title": one.title, "rows": sheet_rows(one)} for one in sheets]
        typer.echo(json.dumps(found, indent=2))
        return
    from ragassay.safe_text import open_console

    console = open_console()
    for sheet in sheets if shown is None else shown:
        console.print(sheet_table(sheet, limit or None))
    if not sheets:
        typer.echo("nothing found")
