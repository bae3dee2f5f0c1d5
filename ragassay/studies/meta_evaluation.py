"""Compare a judge's verdicts with human labels, in tables and plots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.medaesqa import read_clusters
from ragassay.metrics.papers.rankings import Ranking, compare_rankings, relabel_answers
from ragassay.metrics.stats.alignment import Alignment, align_labels
from ragassay.metrics.stats.panel_agreement import collect_lone_ratings, correlate_pair_errors
from ragassay.records import Evaluation, HumanLabel, Manifest, PanelPair, Rejection
from ragassay.reports.display import format_decimals, format_decimals_span
from ragassay.reports.figures import can_plot, plot_confusion, plot_ranking, plot_reliability
from ragassay.reports.labels import format_label
from ragassay.reports.sheets import (
    NEEDS_BOOKTABS,
    Cell,
    Column,
    Sheet,
    Shown,
    append_column,
    build_number_column,
    build_number_columns,
    format_count_or_none,
    render_csv,
    render_sheet_csv,
    render_sheet_latex,
)
from ragassay.reports.text import count_text, find_score_title, humanise
from ragassay.runs.compare import format_file_stem, write_files
from ragassay.runs.folder import RunFolder
from ragassay.runs.pooling import Clusters, Encode, add_pooled_scores
from ragassay.studies.trust import (
    MEAN_OF_JUDGE,
    MEAN_OF_PEOPLE,
    TaskTrust,
    TrustFigure,
    measure_trust,
)


@dataclass(frozen=True)
class MetaEvaluation:
    """Comparison of a run's judge with human labels.

    Attributes:
        judge: Name of the judge, and name of the citation verifier if it is another model.
        rankings: System rankings by humans and by the judge, or empty for fewer than two systems.
        n_other: Number of human reviews that belong to no labelling task.
    """

    judge: str
    n_labels: int
    tasks: tuple[TaskTrust, ...]
    rankings: tuple[Ranking, ...]
    alignment: Alignment
    rejections: tuple[Rejection, ...] = ()
    n_other: int = 0
    panel: tuple[PanelPair, ...] = ()


def meta_evaluate(
    run: str | Path, human: str | Path, clusters: str | Path | None = None
) -> MetaEvaluation:
    """Compare the judge of a run with human labels.

    Args:
        human: Label file in a format supported by `ragassay.formats.read_labels`, or a reviewed run
            folder.
        clusters: File with MedAESQA's sentence clusters, or None to compute clusters.

    Raises:
        InputError: If the run does not exist, the labels cannot be read, or no label matches the
            run.
    """
    from ragassay.formats import read_labels
    from ragassay.model_names import MINILM
    from ragassay.models.embeddings import Embedder

    folder = RunFolder(Path(run))
    manifest = folder.read_manifest()
    result = read_labels(Path(human))
    measured = measure(
        folder.read_evaluations(),
        result.labels,
        describe_run_judges(manifest),
        lambda: Embedder(manifest.embedder or MINILM).encode,
        result.rejections,
        n_verdict_labels=int(manifest.settings.get("verdict_labels") or 4),
        clusters=read_clusters(Path(clusters)) if clusters else None,
    )
    return replace(measured, n_other=result.n_other)


def describe_run_judges(manifest: Manifest) -> str:
    """Return the name of a run's judge, and of its citation verifier if it is another model."""
    if manifest.verifier in ("", manifest.judge):
        return manifest.judge
    return f"{manifest.judge}, citations by {manifest.verifier}"


def measure(
    evaluations: Sequence[Evaluation],
    labels: Iterable[HumanLabel],
    judge: str,
    encoder: Callable[[], Encode],
    rejections: Sequence[Rejection] = (),
    n_verdict_labels: int = 4,
    clusters: Clusters | None = None,
) -> MetaEvaluation:
    """Compare the verdicts in evaluations with human labels.

    Args:
        encoder: Function that creates a sentence encoder, called only if systems can be ranked by
            recall.
        n_verdict_labels: Number of labels that the citation verifier distinguishes.

    Raises:
        InputError: If no label matches an evaluation.
    """
    labels = list(labels)
    alignment = align_labels(labels, evaluations)
    if not alignment.items:
        raise InputError(_explain_no_match(alignment, evaluations))
    both = relabel_answers(alignment, evaluations)
    human, judged = both.human, both.judge
    if len({e.system for e in human}) > 1 and any(e.labels for e in human):
        encode = encoder()
        human, judged = (
            tuple(add_pooled_scores(side, encode, clusters)) for side in (human, judged)
        )
    rated = [item for item in alignment.list_items("rubric") if item.truth is not None]
    truth = {(item.record_id, item.item): float(item.truth or 0) for item in rated}
    return MetaEvaluation(
        judge=judge,
        n_labels=len(labels),
        tasks=measure_trust(alignment, evaluations, n_verdict_labels),
        rankings=compare_rankings(human, judged, evaluations),
        alignment=alignment,
        rejections=tuple(rejections),
        panel=correlate_pair_errors(collect_lone_ratings(evaluations), truth) if truth else (),
    )


def write_meta_evaluation(found: MetaEvaluation, out: Path) -> tuple[Path, ...]:
    """Write CSV files, agreement.tex, and SVG plots if matplotlib is installed.

    Raises:
        InputError: If the folder cannot be created.
    """
    texts = {
        "agreement.csv": render_trust_csv(found.tasks, found.rankings, found.judge),
        "classes.csv": render_classes_csv(found.tasks),
        "confusion.csv": render_confusion_csv(found.tasks),
        "agreement.tex": render_trust_latex(found.tasks, found.rankings, found.judge),
        "unaligned.csv": render_unaligned_csv(found.alignment),
    }
    if found.rankings:
        texts["rankings.csv"] = render_rankings_csv(found.rankings)
    return write_files(out, texts | (_render_plots(found) if can_plot() else {}))


def _render_plots(found: MetaEvaluation) -> dict[str, str]:
    texts: dict[str, str] = {}
    for task in found.tasks:
        stem, title = format_file_stem(f"{task.task}-{task.reading}"), format_trust_title(task)
        if task.agreement:
            labels, confusion = task.agreement.labels, task.agreement.confusion
            texts[f"confusion-{stem}.svg"] = plot_confusion(title, labels, confusion)
        if task.calibration:
            texts[f"reliability-{stem}.svg"] = plot_reliability(title, task.calibration.bins)
    for ranking in found.rankings:
        name = f"ranking-{format_file_stem(ranking.name)}.svg"
        texts[name] = plot_ranking(ranking.name, ranking.human, ranking.judge)
    if means := _collect_racar_means(found.tasks):
        by_human, by_judge = ({name: one[side] for name, one in means.items()} for side in (0, 1))
        texts["means-racar.svg"] = plot_ranking("RACAR, means by dimension", by_human, by_judge)
    return texts


def _collect_racar_means(tasks: Iterable[TaskTrust]) -> dict[str, tuple[float, float]]:
    """Return the mean human and judge rating on each RACAR dimension (Wan et al. 2024, 5.1)."""
    means: dict[str, tuple[float, float]] = {}
    for task in tasks:
        values = {one.metric: one.score.value for one in task.figures}
        people, judge = values.get(MEAN_OF_PEOPLE), values.get(MEAN_OF_JUDGE)
        if people is not None and judge is not None:
            means[task.reading] = people, judge
    return means


def _explain_no_match(alignment: Alignment, evaluations: Sequence[Evaluation]) -> str:
    if not alignment.unaligned:
        return "there are no labels to compare with the judge"
    reasons = sorted(alignment.count_reasons().items(), key=lambda item: -item[1])
    shown = "; ".join(f"{n} {task}: {reason}" for (task, reason), n in reasons[:3])
    ids = ", ".join(repr(e.record_id) for e in evaluations[:3]) or "none"
    return (
        f"none of {len(alignment.unaligned)} labels matches the run ({shown}); labels need the "
        f"record_id of an answer, or its topic and system (answers of the run: {ids})"
    )


TITLES = {
    "relevance": "Sentence relevance",
    "citation": "Citations",
    "nugget": "Gold nuggets",
    "rubric": "Rubrics",
    "racar": "Question-answer pairs (RACAR)",
    "accuracy": "Answer accuracy",
    "evidence": "Sentence evidence",
    "correctness": "Sentence correctness",
    "exam_grade": "Test bank grades",
    "relevance_grade": "Passage relevance",
}


def build_task_sheets(tasks: Sequence[TaskTrust]) -> dict[str, Sheet]:
    """Return a table of agreement measures for each task."""
    sheets: dict[str, Sheet] = {}
    for task in dict.fromkeys(trust.task for trust in tasks):
        members = [trust for trust in tasks if trust.task == task]
        rows = [
            _build_row(task, trust.reading, _format_reading(trust), figure)
            for trust in members
            for figure in trust.figures
        ]
        n_disputed = max(trust.n_disputed for trust in members)
        items = count_text(n_disputed, "item")
        caption = f"{items} excluded, for lack of a human majority" if n_disputed else ""
        title = TITLES.get(task, format_label(task))
        sheets[task] = Sheet(title, _build_columns("Reading"), tuple(rows), caption)
    return sheets


def build_ranking_sheet(rankings: Sequence[Ranking]) -> Sheet:
    """Return a table of correlation coefficients between human and judge rankings."""
    rows = tuple(
        _build_row("ranking", ranking.name, humanise(ranking.name), figure)
        for ranking in rankings
        for figure in list_ranking_figures(ranking)
    )
    title = "System rankings by humans and by the judge"
    caption = "n is the number of systems. Intervals are computed by resampling questions"
    return Sheet(title, _build_columns("Score"), rows, caption)


def _build_columns(first: str) -> tuple[Column, ...]:
    return (
        *(Column("task"), Column("reading", first, is_once=True), Column("metric", "Measure")),
        *(
            build_number_column("value", "Value"),
            build_number_column("low"),
            build_number_column("high"),
            *build_number_columns("95 % interval"),
        ),
        *(build_number_column("n", "n"), build_number_column("n_unscored", "Unscored")),
    )


def _build_row(task: str, reading: str, title: str, figure: TrustFigure) -> tuple[Cell, ...]:
    score = figure.score
    style = "missing" if score.value is None else "strong"
    return (
        *(task, Shown(title, reading), figure.metric),
        *(Shown(format_decimals(score.value), score.value, style), score.low, score.high),
        *(
            format_decimals_span(score),
            score.n,
            Shown(format_count_or_none(score.n_unscored), score.n_unscored),
        ),
    )


def list_ranking_figures(ranking: Ranking) -> tuple[TrustFigure, ...]:
    """Return the correlation coefficients between a human and a judge ranking."""
    correlation = ranking.correlation
    pairs = (
        ("Spearman's rho", correlation.spearman),
        ("Kendall's tau-b", correlation.kendall),
        ("AP correlation", correlation.tau_ap),
    )
    return tuple(TrustFigure(name, score) for name, score in pairs if score is not None)


def format_trust_title(trust: TaskTrust) -> str:
    """Return a title with a task and its set of labels, such as "Citations: three labels"."""
    return f"{TITLES.get(trust.task, format_label(trust.task))}: {_format_reading(trust)}"


def render_trust_csv(tasks: Sequence[TaskTrust], rankings: Sequence[Ranking], judge: str) -> str:
    """Return all measures as CSV, in which undefined values are empty."""
    sheets = (*build_task_sheets(tasks).values(), build_ranking_sheet(rankings))
    return render_sheet_csv(*(append_column(sheet, "judge", judge) for sheet in sheets))


def render_classes_csv(tasks: Sequence[TaskTrust]) -> str:
    """Return precision, recall and F1 of each label as CSV."""
    rows = [
        (
            *(trust.task, trust.reading, c.label, c.n_truth, c.n_predicted),
            *(c.precision.value, c.recall.value, c.f1.value, c.f1.low, c.f1.high),
        )
        for trust in tasks
        if trust.agreement
        for c in trust.agreement.classes
    ]
    columns = ("task", "reading", "label", "n_people", "n_judge", "precision", "recall", "f1")
    return render_csv((*columns, "f1_low", "f1_high"), rows)


def render_confusion_csv(tasks: Sequence[TaskTrust]) -> str:
    """Return the confusion matrices as CSV: counts of pairs of a human and a judge label."""
    rows = [
        (trust.task, trust.reading, people, judge, n)
        for trust in tasks
        if trust.agreement
        for people, counts in zip(trust.agreement.labels, trust.agreement.confusion, strict=True)
        for judge, n in zip(trust.agreement.labels, counts, strict=True)
    ]
    return render_csv(("task", "reading", "people", "judge", "n"), rows)


def render_rankings_csv(rankings: Sequence[Ranking]) -> str:
    """Return each system's mean scores from human and from judge labels as CSV."""
    rows = [
        (ranking.name, ranking.key, system, ranking.human[system], ranking.judge[system])
        for ranking in rankings
        for system in ranking.human
    ]
    return render_csv(("ranking", "score", "system", "people", "judge"), rows)


def render_unaligned_csv(alignment: Alignment) -> str:
    """Return the labels that match no verdict as CSV, with the reasons."""
    columns = ("reason", "task", "label", "record_id", "topic", "system", "sentence", "item")
    rows = [
        (
            *(u.reason, u.label.task, u.label.label, u.label.record_id, u.label.topic),
            *(u.label.system, u.label.sentence, u.label.item, u.label.annotator),
        )
        for u in alignment.unaligned
    ]
    return render_csv((*columns, "annotator"), rows)


def render_trust_latex(tasks: Sequence[TaskTrust], rankings: Sequence[Ranking], judge: str) -> str:
    r"""Return all measures as a LaTeX table per task, which requires \usepackage{booktabs}."""
    sheets = build_task_sheets(tasks)
    if rankings:
        sheets["ranking"] = build_ranking_sheet(rankings)
    tables = (
        render_sheet_latex(sheet, f"tab:{task}", f"{sheet.title}: {judge} compared with humans.")
        for task, sheet in sheets.items()
    )
    return NEEDS_BOOKTABS + "\n".join(tables)


def describe_unaligned(alignment: Alignment) -> tuple[str, ...]:
    """Return a line for each task and reason with the number of labels that match no verdict."""
    lines: list[str] = []
    for (task, reason), n in sorted(alignment.count_reasons().items()):
        first = next(
            u.label for u in alignment.unaligned if (u.label.task, u.reason) == (task, reason)
        )
        example = first.record_id or f"topic {first.topic}, system {first.system}"
        example += f", sentence {first.sentence}" if first.sentence else ""
        example += f", {first.item}" if first.item else ""
        lines.append(f"{count_text(n, f'{task} label')} excluded: {reason} (e.g. {example})")
    return tuple(lines)


def _format_reading(trust: TaskTrust) -> str:
    return (find_score_title if trust.task == "accuracy" else format_label)(trust.reading)
