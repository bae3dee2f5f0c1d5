"""Print matrices on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ragassay.metrics.matrices import Matrix


def print_matrices(matrices: Sequence[Matrix], beside: Mapping[str, object] | None) -> None:
    """Print matrices as tables, or as one JSON object.

    Args:
        matrices: The matrices.
        beside: Further fields of the JSON object; None for tables.
    """
    if beside is not None:
        import json

        from ragassay.reports.matrices import matrix_fields

        found = {**beside, "matrices": [matrix_fields(matrix) for matrix in matrices]}
        typer.echo(json.dumps(found, indent=2))
        return
    from ragassay.reports.matrices import matrix_sheet
    from ragassay.reports.sheets import sheet_table
    from ragassay.terminal import open_console

    console = open_console()
    for matrix in matrices:
        console.print(sheet_table(matrix_sheet(matrix)))
