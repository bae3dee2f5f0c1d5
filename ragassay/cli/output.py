"""What a run came to, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragassay.records import Evaluation, Manifest, Summary


def print_run(
    manifest: Manifest, summary: Summary, evaluations: Sequence[Evaluation], folder: Path
) -> None:
    """Print headline, tables, what is known of the judge, and where the report is."""
    from rich.console import Console

    from ragassay.reports import answer_table, headline, score_table, system_table

    console = Console()
    console.print(headline(summary), style="bold", markup=False, highlight=False)
    console.print(score_table(summary))
    if len(summary.systems) > 1:
        console.print(system_table(summary))
    console.print(answer_table(evaluations))
    if manifest.card is not None:
        console.print(f"Judge: {manifest.card.description}", markup=False, highlight=False)
    where = f"Report: {folder / 'report.html'}"
    console.print(where, markup=False, highlight=False, soft_wrap=True)
