"""`ragassay compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from ragassay.cli.base import BELOW, OK, PARTIAL
from ragassay.cli.options import Clusters
from ragassay.cli.terminal import (
    print_notes,
    print_rejections,
    print_sheets,
    print_written,
    warn_without_plots,
)
from ragassay.reports.display import count_text
from ragassay.safe_text import open_console

if TYPE_CHECKING:
    from ragassay.metrics.stats.changes import Change
    from ragassay.runs.compare import SystemComparison


MOST_PAIRS = 28
"""Maximum number of pairwise tests to print: the number of pairs of eight systems."""


def compare(
    runs: Annotated[list[Path], Argument(metavar="RUN...")],
    score: Annotated[list[str] | None, Option(metavar="KEY")] = None,
    clusters: Clusters = None,
    out: Path | None = None,
    html: Annotated[Path | None, Option(metavar="FILE")] = None,
    system: Annotated[list[str] | None, Option(metavar="NAME")] = None,
    baseline: Annotated[str, Option(metavar="NAME")] = "",
    fail_if: Literal["worse"] | None = None,
    margin: Annotated[float | None, Option(min=0, max=1)] = None,
) -> int:
    """Rank systems and test which of them differ significantly.

    Pass several runs, or one run with several systems. If an answer has no system name, the name of
    its run folder is used.

    Means and bootstrap intervals are computed over questions. Each pair of systems is compared on
    the questions that both answered, with a paired permutation test and Holm's correction over all
    pairs. Systems without a significant difference are shown as tied.

    If the runs have different judges or settings, a warning is printed. For a file of answers with
    human labels (MedAESQA, nuggetizer assignments), systems are ranked by the labels, as in the
    published tables.

    For example:

      ragassay evaluate alpha.jsonl --out runs/alpha
      ragassay evaluate beta.jsonl --out runs/beta
      ragassay compare runs/alpha runs/beta --score nuggets.recall --score rubric --out comparison
      ragassay compare runs/old runs/new --html changes.html --fail-if worse --margin 0.05
      ragassay compare medaesqa_v1.json --score sentences --score citations --clusters clusters.json

    Exit codes: 0 success; 1 error; 2 usage error; 3 some answers or labels of a file could not be
    read, or, with --fail-if, a score could not be measured; 4 with --fail-if, a run is worse than
    the baseline.

    Options:
        runs: Run folders written by `ragassay evaluate`, or files of answers with human labels.
        score: Score to compare, such as nuggets.recall, a group of scores, such as rubric, or all.
            By default, the main scores of the runs are compared.
        out: Write leaderboard.csv, tests.csv, leaderboard.tex and an SVG plot per score to this
            folder.
        html: Write an HTML page that lists all changes by score and by answer, worst first.
        system: Name of a system to compare; the first one is the baseline.
        baseline: Run or system that --html and --fail-if use as the baseline. By default, the first
            one.
        fail_if: Exit with 4 if a score, or the share of answers with a serious finding, is
            significantly worse than the baseline (paired permutation test over questions, with
            Holm's correction over all scores). If nothing is worse, exit with 3 if a score covers
            less than half of the baseline's questions.
        margin: With --fail-if, also fail if a score drops by more than this share of its scale,
            even if the drop is not significant. Use this option if there are too few answers for a
            drop to be significant.
    """
    if margin is not None and fail_if is None:
        raise typer.BadParameter("--margin requires --fail-if worse")
    if html and html.is_dir():
        raise typer.BadParameter(f"--html {html} is a folder; specify a file")
    from ragassay.reports.changes import describe_outcome
    from ragassay.runs.compare import compare as compare_runs
    from ragassay.runs.compare import write_comparison
    from ragassay.runs.folder import check_writable

    warn_without_plots(out)
    for folder, option in ((out, "--out"), (html and html.parent, "--html")):
        if folder:
            check_writable(folder, option)
    found = compare_runs(runs, score or (), clusters, system or ())
    print_rejections(found.rejections)
    print_notes(*(f"warning: {warning}" for warning in found.warnings))
    changes = found.changes(baseline) if html or fail_if else ()
    if not changes:
        _print_comparison(found)
    for change in changes:
        typer.echo(describe_outcome(change))
    code = _check_gate(changes, margin) if fail_if else OK
    print_written(write_comparison(found, out) if out else ())
    if html:
        typer.echo(f"wrote {found.save_changes(changes, html)}", err=True)
    return code or PARTIAL if code or found.rejections else OK


def _check_gate(changes: Sequence[Change], margin: float | None) -> int:
    from ragassay.metrics.stats.changes import can_be_significant
    from ragassay.runs.gates import find_worse_scores

    if margin is None and not any(can_be_significant(change.scores) for change in changes):
        typer.echo(
            "note: too few questions for a significance test; pass --margin 0.1 to fail on any "
            "drop above 10 %"
        )
    verdicts = find_worse_scores(changes, margin)
    for verdict in verdicts:
        typer.echo(verdict.text)
    if not verdicts:
        typer.echo("passed: no score is worse")
    if any(verdict.is_worse for verdict in verdicts):
        return BELOW
    return PARTIAL if verdicts else 0


def _print_comparison(comparison: SystemComparison) -> None:
    from ragassay.reports.comparison import build_leaderboard_sheet, build_pair_test_sheet

    console = open_console()
    for board in comparison.boards:
        print_sheets(build_leaderboard_sheet(board))
        if 0 < len(board.tests) <= MOST_PAIRS:
            print_sheets(build_pair_test_sheet(board))
        elif board.tests:
            console.print(
                f"{count_text(len(board.tests), 'pair')} of systems were tested; --out writes the "
                f"tests to tests.csv"
            )
