"""`ragassay meta-evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragassay.cli.base import PARTIAL, errors_as_lines
from ragassay.cli.options import Clusters, RunFolderArgument

if TYPE_CHECKING:
    from ragassay.studies.meta_evaluation import MetaEvaluation


def meta_evaluate(
    run: RunFolderArgument,
    human: Annotated[
        Path,
        typer.Option(
            help="File of labels that people gave to the answers; or the run folder, where they "
            "reviewed it."
        ),
    ],
    clusters: Clusters = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the tables (CSV, LaTeX), confusion matrices, reliability plots and "
            "rankings (SVG) into this folder."
        ),
    ] = None,
) -> None:
    """Measure the judge of a run against labels of people.

    The file contains people's labels of the same answers: which sentences are needed, which
    citations support their sentence, which gold nuggets are stated, how a rubric rates, whether an
    answer is accurate. It is ragassay's own JSONL of labels, what people said in `ragassay review`,
    MedAESQA, or assignments of the nuggetizer; the format is recognised by the content. A line of
    ragassay's own is, for instance,

      {"task": "rubric", "label": "4", "record_id": "q1", "item": "cohesion"}

    and a label names its answer by record_id, or by topic and system.

    Printed are accuracy, precision, recall and F1 (macro and weighted), Cohen's kappa,
    Krippendorff's alpha and calibration for each task; how well each score tells accurate answers
    from inaccurate ones (AUROC); and, for several systems, how alike the rankings by people and by
    the judge are (Spearman, Kendall). Intervals resample questions. Of several annotators the
    majority counts, and their agreement with each other is shown next to the judge's. Where the
    judge left items undecided, accuracy is that of what it decides; beside it stand the share
    decided and the accuracy if undecided counts as wrong. Labels without a verdict are counted and
    named.

    For example:

      ragassay evaluate answers.jsonl --out runs/first

      ragassay meta-evaluate runs/first --human labels.jsonl --out agreement

      ragassay review runs/first; ragassay meta-evaluate runs/first --human runs/first

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some label could not be read or found no verdict.
    """
    with errors_as_lines():
        from ragassay.cli.output import tell_plots_left_out
        from ragassay.studies.meta_evaluation import meta_evaluate as measure_run
        from ragassay.studies.meta_evaluation import write_meta_evaluation

        tell_plots_left_out(out)
        found = measure_run(run, human, clusters)
        _print(found)
        for path in write_meta_evaluation(found, out) if out else ():
            typer.echo(f"wrote {path}", err=True)
    if found.alignment.unaligned or found.rejections:
        raise typer.Exit(PARTIAL)


def _print(found: MetaEvaluation) -> None:
    from ragassay.cli.output import print_rejections
    from ragassay.metrics.stats.panel_agreement import effective_judges
    from ragassay.reports.labels import one_line
    from ragassay.reports.panel_view import alike_lines
    from ragassay.reports.sheets import sheet_table
    from ragassay.safe_text import open_console
    from ragassay.studies.meta_evaluation import ranking_sheet, task_sheets, unaligned_lines

    console = open_console()
    n_fitting = found.n_labels - len(found.alignment.unaligned)
    headline = f"{found.judge} against {n_fitting:,} of {found.n_labels:,} labels of people"
    console.print(one_line(headline), style="bold", markup=False, highlight=False)
    for sheet in task_sheets(found.tasks).values():
        console.print(sheet_table(sheet))
    if found.rankings:
        console.print(sheet_table(ranking_sheet(found.rankings)))
    for line in alike_lines(found.panel, effective_judges(found.panel)):
        console.print(one_line(line), markup=False, highlight=False)
    for line in unaligned_lines(found.alignment):
        typer.echo(one_line(line), err=True)
    if found.n_other:
        typer.echo(f"{found.n_other} reviews are of verdicts that have no task here", err=True)
    print_rejections(found.rejections)
