"""Compare runs: which system is better, and which differences are significant."""

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
from ragassay.metrics.stats.leaderboard import Leaderboard, leaderboard
from ragassay.records import Evaluation, Manifest, Rejection
from ragassay.reports.changes import render_changes_html
from ragassay.reports.comparison import leaderboard_sheet, leaderboards_latex, pair_test_sheet
from ragassay.reports.figures import can_plot, interval_plot
from ragassay.reports.sheets import sheet_csv
from ragassay.runs.folder import RunFolder, write_whole
from ragassay.runs.gates import ChangeVerdict, Side, changes_between, gate
from ragassay.runs.people import labelled_evaluations
from ragassay.runs.pooling import Clusters, with_pooled_scores

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
"""The scores compared by default, as far as the runs have them."""


@dataclass(frozen=True)
class SystemComparison:
    """Several systems compared.

    Attributes:
        keys: The scores that systems are ranked by.
        warnings: Why the systems may not be comparable, one sentence each.
        rejections: What could not be read of files of answers with people's labels.
        sides: What is compared answer by answer: the runs, or the systems of a single run.
        wanted: The scores that were asked for; none for the main ones.
    """

    systems: Mapping[str, Sequence[Evaluation]]
    keys: tuple[str, ...]
    warnings: tuple[str, ...]
    rejections: tuple[Rejection, ...]
    sides: tuple[Side, ...]
    wanted: tuple[str, ...]

    @functools.cached_property
    def boards(self) -> tuple[Leaderboard, ...]:
        """One for each score, with the tests behind it."""
        return tuple(leaderboard(self.systems, key) for key in self.keys)

    def changes(self, baseline: str = "") -> tuple[Change, ...]:
        """Compare each side with the baseline, score by score and answer by answer.

        Args:
            baseline: Name of a side; by default the first.

        Raises:
            InputError: There is no such side, or no other.
        """
        return changes_between(self.sides, self.wanted, baseline)

    def failures(
        self, margin: float | None = None, baseline: str = ""
    ) -> tuple[ChangeVerdict, ...]:
        """Return what fails the gate of `ragassay compare --fail-if worse`; empty for none."""
        return gate(self.changes(baseline), margin)

    def save(self, path: str | Path, baseline: str = "") -> Path:
        """Write the comparison, answer by answer, as one self-contained HTML page.

        Raises:
            InputError: As for `changes`.
        """
        return self.save_changes(self.changes(baseline), path)

    def save_changes(self, changes: Sequence[Change], path: str | Path) -> Path:
        """Write changes that are known already, as `save` does."""
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
    """Compare the systems of one run or of several.

    Args:
        folders: Run folders, and files of answers with people's labels, which count as a run whose
            judge is people. An answer without a system's name is counted under its folder's name; a
            system in several runs is compared with itself, run by run.
        keys: Keys of scores, or groups of them ("rubric"), or "all"; by default `DEFAULT_KEYS`.
        clusters: MedAESQA's clusters of the sentences that files of labels are about; else they are
            clustered here.
        systems: Names of the systems to compare, in order; by default all.

    Raises:
        InputError: A folder has no run or is given twice, there are fewer than two systems, or no
            system has a score.
    """
    paths = [Path(os.path.realpath(folder)) for folder in folders]
    twice = next((path for path, n in Counter(paths).items() if n > 1), None)
    if twice is not None:
        raise InputError(f"{twice} is given twice; give each run once")
    known = read_clusters(Path(clusters)) if clusters else None
    runs = _only([_read_run(Path(folder), known) for folder in folders], systems)
    ranked = _systems(runs)
    if not ranked or (len(ranked) < 2 and all(run.manifest for run in runs)):
        there = f"only {next(iter(ranked))!r}" if ranked else "no evaluated answer"
        raise InputError(
            f"no systems to compare: there is {there}; give a run of several systems, "
            "or several runs"
        )
    chosen = tuple(_choose_keys(ranked, keys))
    return SystemComparison(
        systems=ranked,
        keys=chosen,
        warnings=tuple(_warnings(runs)),
        rejections=tuple(rejection for run in runs for rejection in run.rejections),
        sides=_sides(runs),
        wanted=chosen if keys else (),
    )


def write_comparison(comparison: SystemComparison, out: Path) -> tuple[Path, ...]:
    """Write leaderboard.csv, tests.csv, leaderboard.tex and, with matplotlib, a plot a score.

    Returns:
        The written files.

    Raises:
        InputError: The folder cannot be created.
    """
    boards = comparison.boards
    texts = {
        "leaderboard.csv": sheet_csv(*map(leaderboard_sheet, boards)),
        "tests.csv": sheet_csv(*map(pair_test_sheet, boards)),
        "leaderboard.tex": leaderboards_latex(boards),
    }
    if can_plot():
        texts |= {f"{file_stem(board.key)}.svg": interval_plot(board) for board in boards}
    return write_files(out, texts)


def write_files(out: Path, texts: dict[str, str]) -> tuple[Path, ...]:
    """Write files into a folder, which is created if missing.

    Raises:
        InputError: The folder cannot be created.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(f"{out} is a file, a folder is needed") from error
    for name, text in texts.items():
        write_whole(out / name, text)
    return tuple(out / name for name in texts)


def file_stem(key: str) -> str:
    """Turn a score's key into a file name, whatever characters it has."""
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in key).strip(".") or "score"


def _read_run(path: Path, clusters: Clusters | None) -> _ComparedRun:
    if path.is_file():
        return _by_people(path, clusters)
    folder = RunFolder(path)
    return _ComparedRun(
        path=path,
        manifest=folder.manifest(),
        evaluations=tuple(folder.evaluations()),
        n_failed=len(folder.failures()),
        is_finished=folder.summary() is not None,
    )


def _by_people(path: Path, clusters: Clusters | None) -> _ComparedRun:
    from ragassay.model_names import MINILM
    from ragassay.models.embeddings import Embedder

    labelled, rejections = labelled_evaluations(path)
    pooled = with_pooled_scores(labelled, lambda texts: Embedder(MINILM).encode(texts), clusters)
    return _ComparedRun(
        path, None, tuple(pooled), n_failed=0, is_finished=True, rejections=rejections
    )


def _only(runs: Sequence[_ComparedRun], systems: Sequence[str]) -> list[_ComparedRun]:
    """Return the runs with the answers of these systems alone, in this order; all without any."""
    if not systems:
        return list(runs)
    known = dict.fromkeys(e.system for run in runs for e in run.evaluations if e.system)
    for name in systems:
        if name not in known:
            raise InputError(f"there is no system {name!r}; there are {', '.join(known) or 'none'}")
    order = list(systems)
    return [
        replace(
            run,
            evaluations=tuple(
                sorted(
                    (e for e in run.evaluations if e.system in order),
                    key=lambda e: order.index(e.system or ""),
                )
            ),
        )
        for run in runs
    ]


def _sides(runs: Sequence[_ComparedRun]) -> tuple[Side, ...]:
    """Return the runs, each with all its answers; of a single run, its systems."""
    if len(runs) > 1:
        return tuple(
            Side(name, run.evaluations) for name, run in zip(_run_names(runs), runs, strict=True)
        )
    return tuple(Side(name, tuple(found)) for name, found in _systems(runs).items())


def _systems(runs: Sequence[_ComparedRun]) -> dict[str, list[Evaluation]]:
    """Return evaluations by system; a name used in several runs is made distinct by its run."""
    names = _run_names(runs)
    labelled = [
        (e.system or name, name, e)
        for run, name in zip(runs, names, strict=True)
        for e in run.evaluations
    ]
    n_runs = Counter(system for system, _ in {(system, name) for system, name, _ in labelled})
    systems: dict[str, list[Evaluation]] = {}
    for system, name, evaluation in labelled:
        told_apart = f"{system} ({name})" if n_runs[system] > 1 else system
        systems.setdefault(told_apart, []).append(evaluation)
    return systems


def _run_names(runs: Sequence[_ComparedRun]) -> list[str]:
    """Name folders by their last part, or by their whole path where that is the same."""
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
        found = [key for key in known if name in (key, key.partition(".")[0], "all")]
        if not found:
            raise InputError(f"no system has the score {name!r}; there are {', '.join(known)}")
        chosen += found
    return list(dict.fromkeys(chosen))


def _warnings(runs: Sequence[_ComparedRun]) -> list[str]:
    """Return differences between the runs besides the answers, and what they lack."""
    found: list[str] = []
    for run in runs:
        if not run.is_finished:
            found.append(f"{run.path} is not finished: what is missing is left out of its means")
        if run.n_failed:
            found.append(f"{run.path}: answers that could not be evaluated: {run.n_failed}")
        if run.rejections:
            found.append(
                f"{run.path}: answers or labels that could not be read: {len(run.rejections)}"
            )
    first = runs[0]
    for other in runs[1:]:
        if first.manifest is None or other.manifest is None:
            continue
        for what, one, two in _differences(first.manifest, other.manifest):
            found.append(f"{what} differs: {one} in {first.path}, {two} in {other.path}")
    return found


def _differences(one: Manifest, two: Manifest) -> list[tuple[str, str, str]]:
    pairs: dict[str, tuple[object, object]] = {
        "judge": (one.judge, two.judge),
        "weights of the judge": (one.judge_digest[:12], two.judge_digest[:12]),
        "embedding model": (one.embedder, two.embedder),
        "wording of prompts": (one.prompts_sha256[:12], two.prompts_sha256[:12]),
        "corpus": (
            one.corpus and f"{one.corpus.name} ({one.corpus.sha256[:12]})",
            two.corpus and f"{two.corpus.name} ({two.corpus.sha256[:12]})",
        ),
    }
    told = {"model", "embedder"}
    for name in sorted((one.settings.keys() | two.settings.keys()) - told):
        pairs[f"setting {name}"] = (one.settings.get(name), two.settings.get(name))
    return [(what, _show_value(a), _show_value(b)) for what, (a, b) in pairs.items() if a != b]


def _show_value(value: object) -> str:
    return "none" if value in (None, "") else str(value)
