"""Evaluate a run's judge: compare its verdicts with people's labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.medaesqa import read_clusters
from ragassay.metrics.papers.rankings import Ranking, rankings, relabel_answers
from ragassay.metrics.stats.alignment import Alignment, align_labels
from ragassay.metrics.stats.panel_agreement import erring_pairs, ratings_alone
from ragassay.records import Evaluation, HumanLabel, Manifest, PanelPair, Rejection
from ragassay.reports.figures import can_plot, confusion_plot, ranking_plot, reliability_plot
from ragassay.runs.compare import file_stem, write_files
from ragassay.runs.folder import RunFolder
from ragassay.runs.pooling import Clusters, Encode, with_pooled_scores
from ragassay.studies.trust import MEAN_OF_JUDGE, MEAN_OF_PEOPLE, TaskTrust, judge_trust
from ragassay.studies.trust_tables import (
    classes_csv,
    confusion_csv,
    rankings_csv,
    trust_csv,
    trust_latex,
    trust_title,
    unaligned_csv,
)


@dataclass(frozen=True)
class MetaEvaluation:
    """A run's judge measured against people's labels.

    Attributes:
        judge: The model, and the separate verifier, if any.
        n_labels: Labels that were read.
        tasks: The judge on each task.
        rankings: Systems ranked by people and by the judge; empty for fewer than two systems.
        alignment: Labels and verdicts, and the labels without one.
        rejections: Lines of the label file that could not be read.
        n_other: Reviews of verdicts that no task of these is about.
        panel: How alike the errors of each two judges of a panel are; empty without a panel.
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
    """Measure the judge of a run against a file of labels.

    Args:
        run: A run folder.
        human: Labels, in any format that `ragassay.formats.read_labels` knows; or a run folder
            that people reviewed.
        clusters: MedAESQA's clusters of sentences; else they are clustered here.

    Raises:
        InputError: There is no such run, the labels cannot be read, or none fits the run.
    """
    from ragassay.formats import read_labels
    from ragassay.model_names import MINILM
    from ragassay.models.embeddings import Embedder

    folder = RunFolder(Path(run))
    manifest = folder.manifest()
    found = read_labels(Path(human))
    measured = measure(
        folder.evaluations(),
        found.labels,
        judges_text(manifest),
        lambda: Embedder(manifest.embedder or MINILM).encode,
        found.rejections,
        n_verdict_labels=int(manifest.settings.get("verdict_labels") or 4),
        clusters=read_clusters(Path(clusters)) if clusters else None,
    )
    return replace(measured, n_other=found.n_other)


def judges_text(manifest: Manifest) -> str:
    """Name the judge of a run, and the verifier where a separate one judged citations."""
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
    """Measure a judge.

    Args:
        evaluations: The run's evaluations.
        labels: People's labels.
        judge: The judge's name.
        encoder: Returns an encoder of sentences; called only if systems can be ranked by recall.
        rejections: Lines of the label file that could not be read.
        n_verdict_labels: The number of labels that the judge chose a citation's verdict from.
        clusters: Published clusters of sentences.

    Raises:
        InputError: No label fits an evaluation.
    """
    given = list(labels)
    alignment = align_labels(given, evaluations)
    if not alignment.items:
        raise InputError(_nothing_fits(alignment, evaluations))
    both = relabel_answers(alignment, evaluations)
    human, judged = both.human, both.judge
    if len({e.system for e in human}) > 1 and any(e.labels for e in human):
        encode = encoder()
        human, judged = (
            tuple(with_pooled_scores(side, encode, clusters)) for side in (human, judged)
        )
    return MetaEvaluation(
        judge=judge,
        n_labels=len(given),
        tasks=judge_trust(alignment, evaluations, n_verdict_labels),
        rankings=rankings(human, judged, evaluations),
        alignment=alignment,
        rejections=tuple(rejections),
        panel=_alike_errors(evaluations, alignment),
    )


def _alike_errors(evaluations: Sequence[Evaluation], alignment: Alignment) -> tuple[PanelPair, ...]:
    rated = [item for item in alignment.of("rubric") if item.truth is not None]
    truth = {(item.record_id, item.item): float(item.truth or 0) for item in rated}
    return erring_pairs(ratings_alone(evaluations), truth) if truth else ()


def write_meta_evaluation(found: MetaEvaluation, out: Path) -> tuple[Path, ...]:
    """Write the tables as CSV and LaTeX and, with matplotlib, the plots as SVG.

    Returns:
        agreement.csv, classes.csv, confusion.csv, rankings.csv, unaligned.csv, agreement.tex and
        plots; of RACAR also one of both means by dimension.

    Raises:
        InputError: The folder cannot be created.
    """
    texts = {
        "agreement.csv": trust_csv(found.tasks, found.rankings, found.judge),
        "classes.csv": classes_csv(found.tasks),
        "confusion.csv": confusion_csv(found.tasks),
        "agreement.tex": trust_latex(found.tasks, found.rankings, found.judge),
        "unaligned.csv": unaligned_csv(found.alignment),
    }
    if found.rankings:
        texts["rankings.csv"] = rankings_csv(found.rankings)
    return write_files(out, texts | (_plots(found) if can_plot() else {}))


def _plots(found: MetaEvaluation) -> dict[str, str]:
    texts: dict[str, str] = {}
    for task in found.tasks:
        stem, title = file_stem(f"{task.task}-{task.reading}"), trust_title(task)
        if task.agreement:
            labels, confusion = task.agreement.labels, task.agreement.confusion
            texts[f"confusion-{stem}.svg"] = confusion_plot(title, labels, confusion)
        if task.calibration:
            texts[f"reliability-{stem}.svg"] = reliability_plot(title, task.calibration.bins)
    for ranking in found.rankings:
        name = f"ranking-{file_stem(ranking.name)}.svg"
        texts[name] = ranking_plot(ranking.name, ranking.human, ranking.judge)
    if means := _racar_means(found.tasks):
        by_people, by_judge = ({name: one[side] for name, one in means.items()} for side in (0, 1))
        texts["means-racar.svg"] = ranking_plot("RACAR, means by dimension", by_people, by_judge)
    return texts


def _racar_means(tasks: Iterable[TaskTrust]) -> dict[str, tuple[float, float]]:
    """Return people's mean and the judge's by dimension (Wan et al. 2024, section 5.1)."""
    found: dict[str, tuple[float, float]] = {}
    for task in tasks:
        values = {one.metric: one.score.value for one in task.figures}
        people, judge = values.get(MEAN_OF_PEOPLE), values.get(MEAN_OF_JUDGE)
        if people is not None and judge is not None:
            found[task.reading] = people, judge
    return found


def _nothing_fits(alignment: Alignment, evaluations: Sequence[Evaluation]) -> str:
    if not alignment.unaligned:
        return "there is no label to compare the judge with"
    reasons = sorted(alignment.reasons().items(), key=lambda item: -item[1])
    why = "; ".join(f"{n} of {task}: {reason}" for (task, reason), n in reasons[:3])
    ids = ", ".join(repr(e.record_id) for e in evaluations[:3]) or "none"
    return (
        f"none of {len(alignment.unaligned)} labels fits the run ({why}); "
        f"answers of the run are {ids}: a label names its answer by record_id, "
        "or by topic and system"
    )
