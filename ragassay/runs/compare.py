"""Compare runs and systems with significance tests."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.medaesqa import read_clusters
from ragassay.metrics.stats.changes import Change
from ragassay.metrics.stats.leaderboard import Leaderboard, rank_systems
from ragassay.records import Evaluation, Manifest, Rejection
from ragassay.reports.changes import render_changes_html
from ragassay.reports.comparison import (
    build_leaderboard_sheet,
    build_pair_test_sheet,
    render_leaderboards_latex,
)
from ragassay.reports.figures import can_plot, plot_intervals
from ragassay.reports.sheets import render_sheet_csv
from ragassay.reports.text import count_text
from ragassay.runs.folder import RunFolder, write_atomically
from ragassay.runs.gates import ChangeVerdict, Side, compare_sides, find_worse_scores
from ragassay.runs.people import read_labelled_answers
from ragassay.runs.pooling import Clusters, add_pooled_scores

DEFAULT_KEYS = (
    "nuggets.recall",
    "nuggets.f1",
    "nuggets.strict_vital",
    "sentences.required",
    "sentences.recall",
    "evidence.support",
    "citations.support",
    "citations.document_recall",
)
"""Scores that are compared by default, if the runs have them."""


@dataclass(frozen=True)
class SystemComparison:
    """Result of comparing several systems.

    Attributes:
        keys: Scores to rank the systems by.
        warnings: Reasons why the systems may not be comparable.
        rejections: Lines of files with human labels that could not be read.
        sides: Runs, or systems of a single run, whose answers are compared one by one.
        wanted: Scores that the caller asked for. If empty, the main scores are compared.
    """

    systems: Mapping[str, Sequence[Evaluation]]
    keys: tuple[str, ...]
    warnings: tuple[str, ...]
    rejections: tuple[Rejection, ...]
    sides: tuple[Side, ...]
    wanted: tuple[str, ...]

    @functools.cached_property
    def boards(self) -> tuple[Leaderboard, ...]:
        """One leaderboard per score, with significance tests."""
        return tuple(rank_systems(self.systems, key) for key in self.keys)

    def changes(self, baseline: str = "") -> tuple[Change, ...]:
        """Compare each run or system with the baseline, score by score and answer by answer.

        Args:
            baseline: Name of the run or system to compare the others with. By default, the first
                one.

        Raises:
            InputError: The baseline is unknown, or there is only one side.
        """
        return compare_sides(self.sides, self.wanted, baseline)

    def failures(
        self, margin: float | None = None, baseline: str = ""
    ) -> tuple[ChangeVerdict, ...]:
        """Return the scores that fail the gate `ragassay compare --fail-if worse`."""
        return find_worse_scores(self.changes(baseline), margin)

    def save(self, path: str | Path, baseline: str = "") -> Path:
        """Write the answer-by-answer comparison as a self-contained HTML page.

        Raises:
            InputError: The baseline is unknown, or there is only one side.
        """
        return self.save_changes(self.changes(baseline), path)

    def save_changes(self, changes: Sequence[Change], path: str | Path) -> Path:
        """Write comparisons that are already computed as a self-contained HTML page."""
        page = render_changes_html(changes, self.warnings)
        return write_files(Path(path).parent, {Path(path).name: page})[0]


@dataclass(frozen=True)
class _ComparedRun:
    path: Path
    manifest: Manifest | None
    evaluations: tuple[Evaluation, ...]
    n_failed: int
    is_finished: bool
    rejections: tuple[Rejection, ...] = ()


def compare(
    folders: Sequence[str | Path],
    keys: Sequence[str] = (),
    clusters: str | Path | None = None,
    systems: Sequence[str] = (),
) -> SystemComparison:
    """Compare the systems of one or several runs.

    Args:
        folders: Run folders, or files of answers with human labels. For answers without a system
            name, the name of the run folder is used. If a system occurs in several runs, its runs
            are compared with each other.
        keys: Score keys, score groups such as "rubric", or "all". Default: `DEFAULT_KEYS`.
        clusters: MedAESQA's sentence clusters for files with human labels. Without clusters,
            sentences are clustered by similarity.
        systems: Names of the systems to compare, in the order of the output. Default: all systems.

    Raises:
        InputError: A folder has no run or is passed twice, there are fewer than two systems, or no
            system has a requested score.
    """
    paths = [Path(os.path.realpath(folder)) for folder in folders]
    duplicate = next((path for path, n in Counter(paths).items() if n > 1), None)
    if duplicate is not None:
        raise InputError(f"{duplicate} is passed twice; pass each run once")
    published = read_clusters(Path(clusters)) if clusters else None
    runs = _select_systems([_read_run(Path(folder), published) for folder in folders], systems)
    ranked = _group_by_system(runs)
    if not ranked or (len(ranked) < 2 and all(run.manifest for run in runs)):
        found = f"only the system {next(iter(ranked))!r}" if ranked else "no evaluated answers"
        raise InputError(
            f"there are no systems to compare ({found}); pass several runs, or a run with "
            "several systems"
        )
    chosen = tuple(_choose_keys(ranked, keys))
    return SystemComparison(
        systems=ranked,
        keys=chosen,
        warnings=tuple(_collect_warnings(runs)),
        rejections=tuple(rejection for run in runs for rejection in run.rejections),
        sides=_build_sides(runs),
        wanted=chosen if keys else (),
    )


def write_comparison(comparison: SystemComparison, out: Path) -> tuple[Path, ...]:
    """Write leaderboard.csv, tests.csv, leaderboard.tex and, with matplotlib, a plot per score.

    Returns:
        Paths of the written files.

    Raises:
        InputError: The folder cannot be created.
    """
    boards = comparison.boards
    texts = {
        "leaderboard.csv": render_sheet_csv(*map(build_leaderboard_sheet, boards)),
        "tests.csv": render_sheet_csv(*map(build_pair_test_sheet, boards)),
        "leaderboard.tex": render_leaderboards_latex(boards),
    }
    if can_plot():
        texts |= {f"{format_file_stem(board.key)}.svg": plot_intervals(board) for board in boards}
    return write_files(out, texts)


def write_files(out: Path, texts: dict[str, str]) -> tuple[Path, ...]:
    """Write files to a folder, creating it if necessary.

    Raises:
        InputError: The folder cannot be created.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(f"{out} is a file; choose a folder") from error
    for name, text in texts.items():
        write_atomically(out / name, text)
    return tuple(out / name for name in texts)


def format_file_stem(key: str) -> str:
    """Turn the key of a score into a safe file name."""
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in key).strip(".") or "score"


def _read_run(path: Path, clusters: Clusters | None) -> _ComparedRun:
    if path.is_file():
        return _read_labelled(path, clusters)
    folder = RunFolder(path)
    return _ComparedRun(
        path=path,
        manifest=folder.read_manifest(),
        evaluations=tuple(folder.read_evaluations()),
        n_failed=len(folder.read_failures()),
        is_finished=folder.read_summary() is not None,
    )


def _read_labelled(path: Path, clusters: Clusters | None) -> _ComparedRun:
    from ragassay.model_names import MINILM
    from ragassay.models.embeddings import Embedder

    labelled, rejections = read_labelled_answers(path)
    pooled = add_pooled_scores(labelled, lambda texts: Embedder(MINILM).encode(texts), clusters)
    return _ComparedRun(
        path, None, tuple(pooled), n_failed=0, is_finished=True, rejections=rejections
    )


def _select_systems(runs: Sequence[_ComparedRun], systems: Sequence[str]) -> list[_ComparedRun]:
    if not systems:
        return list(runs)
    known = dict.fromkeys(e.system for run in runs for e in run.evaluations if e.system)
    for name in systems:
        if name not in known:
            raise InputError(
                f"unknown system {name!r}; the systems are {', '.join(known) or 'none'}"
            )
    names = dict.fromkeys(systems)
    return [
        replace(run, evaluations=tuple(e for n in names for e in run.evaluations if e.system == n))
        for run in runs
    ]


def _build_sides(runs: Sequence[_ComparedRun]) -> tuple[Side, ...]:
    if len(runs) > 1:
        return tuple(
            Side(name, run.evaluations) for name, run in zip(_run_names(runs), runs, strict=True)
        )
    return tuple(
        Side(name, tuple(evaluations)) for name, evaluations in _group_by_system(runs).items()
    )


def _group_by_system(runs: Sequence[_ComparedRun]) -> dict[str, list[Evaluation]]:
    names = _run_names(runs)
    named = [
        (e.system or name, name, e)
        for run, name in zip(runs, names, strict=True)
        for e in run.evaluations
    ]
    n_runs = Counter(system for system, _ in {(system, name) for system, name, _ in named})
    systems: dict[str, list[Evaluation]] = {}
    for system, name, evaluation in named:
        unique_name = f"{system} ({name})" if n_runs[system] > 1 else system
        systems.setdefault(unique_name, []).append(evaluation)
    return systems


def _run_names(runs: Sequence[_ComparedRun]) -> list[str]:
    parts = [Path(os.path.realpath(run.path)).name for run in runs]
    if len(set(parts)) == len(parts):
        return parts
    return [str(run.path) for run in runs]


def _choose_keys(systems: dict[str, list[Evaluation]], wanted: Sequence[str]) -> list[str]:
    every = [e for evaluations in systems.values() for e in evaluations]
    known = list(dict.fromkeys(key for e in every for key in e.scores))
    if not wanted:
        return [key for key in DEFAULT_KEYS if key in known] or known
    chosen: list[str] = []
    for name in wanted:
        matching = [key for key in known if name in (key, key.partition(".")[0], "all")]
        if not matching:
            raise InputError(f"no system has the score {name!r}; the scores are {', '.join(known)}")
        chosen += matching
    return list(dict.fromkeys(chosen))


def _collect_warnings(runs: Sequence[_ComparedRun]) -> list[str]:
    warnings: list[str] = []
    for run in runs:
        if not run.is_finished:
            warnings.append(
                f"the run {run.path} is not finished, so its means do not include the "
                f"missing answers"
            )
        if run.n_failed:
            failed = count_text(run.n_failed, "answer")
            warnings.append(f"{run.path}: {failed} could not be evaluated")
        if run.rejections:
            rejected = count_text(len(run.rejections), "answer or label", "answers or labels")
            warnings.append(f"{run.path}: {rejected} could not be read")
    first = runs[0]
    for other in runs[1:]:
        if first.manifest is None or other.manifest is None:
            continue
        for name, old, new in _list_differences(first.manifest, other.manifest):
            warnings.append(f"{name} differs: {old} in {first.path}, {new} in {other.path}")
    return warnings


def _list_differences(old: Manifest, new: Manifest) -> list[tuple[str, str, str]]:
    pairs: dict[str, tuple[object, object]] = {
        "judge": (old.judge, new.judge),
        "judge weights": (old.judge_digest[:12], new.judge_digest[:12]),
        "embedding model": (old.embedder, new.embedder),
        "prompt wording": (old.prompts_sha256[:12], new.prompts_sha256[:12]),
        "corpus": (
            old.corpus and f"{old.corpus.name} ({old.corpus.sha256[:12]})",
            new.corpus and f"{new.corpus.name} ({new.corpus.sha256[:12]})",
        ),
    }
    for name in sorted((old.settings.keys() | new.settings.keys()) - {"model", "embedder"}):
        pairs[f"setting {name}"] = (old.settings.get(name), new.settings.get(name))
    return [(name, _format_value(a), _format_value(b)) for name, (a, b) in pairs.items() if a != b]


def _format_value(value: object) -> str:
    return "none" if value in (None, "") else str(value)
