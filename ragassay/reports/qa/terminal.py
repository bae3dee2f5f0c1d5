"""Findings on question-answer pairs, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragassay.reports.qa.view import QAReport, view_report
from ragassay.reports.tables import cell_text, plain_table, value_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

N_WORST = 5


def qa_lines(report: QAReport) -> Iterator[Text | Table]:
    """Yield the headline, the scores, and the worst pairs with what is wrong with them."""
    view = view_report(report)
    yield cell_text(view.headline, "bold")
    scores = plain_table("Scores", ("Score",), ("Mean", "95 % interval", "n", "Unscored", "Chance"))
    for line in view.scores:
        unscored = str(line.n_unscored) if line.n_unscored else "none"
        value = value_text(line.value, line.scored)
        scores.add_row(
            cell_text(line.title), value, line.interval, str(line.n), unscored, line.chance
        )
    yield scores
    if view.worst:
        worst = plain_table("The worst pairs", ("Pair", "What is wrong"), ())
        for pair in view.worst[:N_WORST]:
            worst.add_row(cell_text(pair.id), cell_text(pair.faults[0].message))
        yield worst
