"""List the runs in a folder, with their state and main scores."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ragassay.errors import InputError
from ragassay.records import Summary
from ragassay.reports.certificate import view_certificate
from ragassay.reports.past_runs import PastRun
from ragassay.reports.text import RUBRIC_KEY, average_rubrics
from ragassay.runs.folder import RunFolder

LATEST = "latest"
PAGES = ("report.html", "audit.html", "qa.html")
"""File names of the report pages of evaluations, audits and `qa` runs, in order of preference."""

MAIN = (RUBRIC_KEY, "nuggets.recall", "citations.support", "exam.cover")
"""Scores shown in the list of runs."""


def list_past_runs(folder: Path) -> tuple[PastRun, ...]:
    """Return the runs in a folder, newest first. If the folder is a run itself, return only it.

    Damaged runs are included, with a note on the problem. Folders that contain no run are skipped.

    Raises:
        InputError: The folder does not exist.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; `ragassay evaluate` writes runs to runs/")
    paths = [folder] if _is_run(folder) else [p for p in folder.iterdir() if _is_run(p)]
    runs = [_read_past_run(RunFolder(path)) for path in paths]
    return tuple(sorted(runs, key=lambda run: (run.when, run.name), reverse=True))


def find_run(name: str, folder: Path) -> Path:
    """Return the folder of a run, given its name, its path or "latest".

    Raises:
        InputError: The run does not exist.
    """
    if name == LATEST:
        runs = list_past_runs(folder)
        if not runs:
            raise InputError(f"{folder} has no runs")
        return runs[0].path
    path = next((p for p in (folder / name, Path(name)) if _is_run(p)), None)
    if path is None:
        names = [run.name for run in list_past_runs(folder)] if folder.is_dir() else []
        available = f"the runs are {', '.join(names)}" if names else f"{folder} has no runs"
        raise InputError(f"unknown run {name!r}; {available}")
    return path


def find_report_page(run: Path) -> Path:
    """Return the path of a run's report page.

    Raises:
        InputError: The run has no report yet.
    """
    page = next((run / name for name in PAGES if (run / name).is_file()), None)
    if page is None:
        raise InputError(
            f"{run} has no report yet; run `ragassay report {run}` to write one for the finished "
            "answers"
        )
    return page


def _is_run(path: Path) -> bool:
    folder = RunFolder(path)
    return folder.manifest_file.is_file() or folder.evaluations_file.is_file()


def _read_past_run(folder: RunFolder) -> PastRun:
    files = (folder.manifest_file, folder.evaluations_file, folder.summary_file, folder.audit_file)
    written = max(file.stat().st_mtime for file in files if file.is_file())
    damaged = PastRun(
        name=folder.path.resolve().name,
        path=folder.path,
        when=datetime.fromtimestamp(int(written), UTC),
        state="damaged",
    )
    try:
        manifest = folder.read_manifest()
        progress = {
            "judge": manifest.judge,
            "n_records": manifest.answers.n_items,
            "n_evaluated": _count_lines(folder.evaluations_file),
        }
        return damaged.model_copy(update={**progress, **_describe_outcome(folder)})
    except (InputError, OSError) as error:
        return damaged.model_copy(update={"note": str(error).replace(f"{folder.path}/", "")})


def _describe_outcome(folder: RunFolder) -> dict[str, object]:
    audit = folder.read_audit()
    summary = folder.read_summary()
    if summary is not None:
        return {
            "state": "finished" if summary.n_evaluated else "failed",
            "n_evaluated": summary.n_evaluated,
            "n_records": max(summary.n_records, summary.n_evaluated),
            **_select_main_scores(summary),
            "n_findings": sum(summary.findings.values()),
        }
    if audit is not None:
        note = f"audit: {view_certificate(audit).headline}"
        return {"state": "finished", "note": note, "judge": audit.judge}
    return {"state": "running" if _is_locked(folder.path) else "stopped"}


def _select_main_scores(summary: Summary) -> dict[str, object]:
    scores = {RUBRIC_KEY: average_rubrics(summary.scores), **summary.scores}
    main = {key: score for key in MAIN if (score := scores.get(key)) is not None}
    return {
        "scores": {key: score.value for key, score in main.items()},
        "ranges": {k: score.range for k, score in main.items() if score.is_open and score.range},
    }


def _count_lines(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(line.endswith(b"\n") for line in file)


def _is_locked(path: Path) -> bool:
    from filelock import FileLock, Timeout

    file = path / ".lock"
    if not file.exists():
        return False
    try:
        with FileLock(file, timeout=0):
            return False
    except (Timeout, OSError):
        return True
