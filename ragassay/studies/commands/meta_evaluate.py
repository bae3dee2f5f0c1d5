"""`ragassay meta-evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ragassay.cli.base import choose_exit_code
from ragassay.cli.options import Clusters, RunFolderArgument
from ragassay.cli.terminal import (
    print_lines,
    print_rejections,
    print_sheets,
    print_written,
    warn_without_plots,
)
from ragassay.reports.labels import flatten_text

if TYPE_CHECKING:
    from ragassay.studies.meta_evaluation import MetaEvaluation


def meta_evaluate(
    run: RunFolderArgument,
    human: Annotated[Path, Option()],
    clusters: Clusters = None,
    out: Path | None = None,
) -> int:
    """Compare the judge of a run with human labels.

    The labels can be ratings on rubrics, or say which sentences are required, which citations
    support their sentence, which gold nuggets are stated, or whether an answer is accurate.
    Supported formats are MedAESQA, nuggetizer assignments, reviews from `ragassay review`, and
    JSONL in which each line identifies an answer by record_id, or by topic and system:

      {"task": "rubric", "label": "4", "record_id": "q1", "item": "cohesion"}

    For each kind of label, the command prints accuracy, precision, recall, F1, Cohen's kappa,
    Krippendorff's alpha and calibration. It also prints how well each score separates accurate from
    inaccurate answers (AUROC), and, if there are several systems, the rank correlation between
    their ranking by people and by the judge. Intervals are bootstrapped over questions. With
    several annotators, the majority label is used, and inter-annotator agreement is shown too.
    Undecided items are excluded from accuracy. The command also shows the share of undecided items,
    and the accuracy if they are counted as wrong.

    For example:

      ragassay evaluate answers.jsonl --out runs/first
      ragassay meta-evaluate runs/first --human labels.jsonl --out agreement
      ragassay review runs/first; ragassay meta-evaluate runs/first --human runs/first

    Options:
        human: File of human labels, or a reviewed run folder.
        out: Write tables (CSV, LaTeX), confusion matrices, reliability plots and rankings (SVG) to
            this folder.
    """
    from ragassay.studies.meta_evaluation import meta_evaluate as measure_run
    from ragassay.studies.meta_evaluation import write_meta_evaluation

    warn_without_plots(out)
    found = measure_run(run, human, clusters)
    _print_measured(found)
    print_written(write_meta_evaluation(found, out) if out else ())
    return choose_exit_code(found.alignment.unaligned, found.rejections)


def _print_measured(found: MetaEvaluation) -> None:
    from ragassay.metrics.stats.panel_agreement import estimate_effective_judges
    from ragassay.reports.panel_view import describe_redundancy
    from ragassay.studies.meta_evaluation import (
        build_ranking_sheet,
        build_task_sheets,
        describe_unaligned,
    )

    n_fitting = found.n_labels - len(found.alignment.unaligned)
    headline = f"{found.judge} compared with {n_fitting:,} of {found.n_labels:,} human labels"
    print_lines(flatten_text(headline), style="bold")
    print_sheets(*build_task_sheets(found.tasks).values())
    if found.rankings:
        print_sheets(build_ranking_sheet(found.rankings))
    for line in describe_redundancy(found.panel, estimate_effective_judges(found.panel)):
        print_lines(flatten_text(line))
    for line in describe_unaligned(found.alignment):
        typer.echo(flatten_text(line), err=True)
    if found.n_other:
        typer.echo(f"{found.n_other} reviews of other kinds of verdicts were ignored", err=True)
    print_rejections(found.rejections)
