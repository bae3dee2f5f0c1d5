"""Matrices on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ragassay.metrics.matrices import Matrix
    from ragassay.records import Rejection

SHOWN_REJECTIONS = 10


def print_matrices(matrices: Sequence[Matrix], beside: Mapping[str, object] | None) -> None:
    """Print matrices as tables, or as one JSON object.

    Args:
        matrices: What to print.
        beside: Further fields of the JSON object; None for tables.
    """
    if beside is not None:
        import json

        from ragassay.reports.matrices import matrix_fields

        found = {**beside, "matrices": [matrix_fields(matrix) for matrix in matrices]}
        typer.echo(json.dumps(found, indent=2))
        return
    from rich.console import Console

    from ragassay.reports.matrices import matrix_table

    console = Console()
    for matrix in matrices:
        console.print(matrix_table(matrix))


def print_rejections(rejections: Sequence[Rejection]) -> None:
    """Name the first lines that could not be read, and count the others, on stderr."""
    from ragassay.reports.labels import one_line

    for rejection in rejections[:SHOWN_REJECTIONS]:
        where = f"{rejection.file}:{rejection.line}"
        typer.echo(one_line(f"rejected {where}: {rejection.problem}"), err=True)
    if len(rejections) > SHOWN_REJECTIONS:
        more = len(rejections) - SHOWN_REJECTIONS
        typer.echo(f"... and {more} more rejected lines", err=True)
