"""Past runs of a folder: what each is, how far it came, what it found."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from ragassay.errors import InputError
from ragassay.records import Manifest, Summary
from ragassay.reports.certificate import view_certificate
from ragassay.reports.past_runs import PastRun
from ragassay.reports.text import RUBRIC_KEY, rubric_mean
from ragassay.runs.folder import RunFolder

LATEST = "latest"
PAGES = ("report.html", "audit.html", "qa.html")
"""Pages of a run, an audit and judged pairs; the first that there is is opened."""

MAIN = (RUBRIC_KEY, "nuggets.recall", "citations.support", "exam.cover")
"""Scores that a list of runs has room for."""


def past_runs(folder: Path) -> tuple[PastRun, ...]:
    """Return the runs in a folder, the newest first; a run's own folder is listed alone.

    A damaged one is listed with what is wrong with it; other folders are passed over.

    Raises:
        InputError: There is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; `ragassay evaluate` writes its runs to runs/")
    places = [folder] if _is_run(folder) else [p for p in folder.iterdir() if _is_run(p)]
    runs = [_past_run(RunFolder(place)) for place in places]
    return tuple(sorted(runs, key=lambda run: (run.when, run.name), reverse=True))


def find_run(name: str, folder: Path) -> Path:
    """Return the folder of a run: of this name, at this path, or the latest.

    Raises:
        InputError: There is none.
    """
    if name == LATEST:
        runs = past_runs(folder)
        if not runs:
            raise InputError(f"{folder} has no runs")
        return runs[0].path
    found = next((p for p in (folder / name, Path(name)) if _is_run(p)), None)
    if found is None:
        names = [run.name for run in past_runs(folder)] if folder.is_dir() else []
        there = f"there are {', '.join(names)}" if names else f"{folder} has none"
        raise InputError(f"there is no run {name!r}; {there}")
    return found


def page_of(run: Path) -> Path:
    """Return a run's page.

    Raises:
        InputError: It has none yet.
    """
    page = next((run / name for name in PAGES if (run / name).is_file()), None)
    if page is None:
        raise InputError(
            f"{run} has no report yet: `ragassay report {run}` writes one of what is finished"
        )
    return page


def _is_run(place: Path) -> bool:
    folder = RunFolder(place)
    return folder.manifest_file.is_file() or folder.evaluations_file.is_file()


def _past_run(folder: RunFolder) -> PastRun:
    files = (folder.manifest_file, folder.evaluations_file, folder.summary_file, folder.audit_file)
    written = max(file.stat().st_mtime for file in files if file.is_file())
    damaged = PastRun(
        name=folder.path.resolve().name,
        path=folder.path,
        when=datetime.fromtimestamp(int(written), UTC),
        state="damaged",
    )
    try:
        manifest = folder.manifest()
        known = damaged.model_copy(
            update={
                "judge": manifest.judge,
                "n_records": manifest.answers.n_items,
                "n_evaluated": _count(folder.evaluations_file),
            }
        )
        return known.model_copy(update=_outcome(folder, manifest))
    except (InputError, ValidationError, OSError, UnicodeDecodeError) as error:
        return damaged.model_copy(update={"note": _problem(error, folder)})


def _problem(error: Exception, folder: RunFolder) -> str:
    if isinstance(error, ValidationError):
        return f"{folder.summary_file.name} is damaged or of another version"
    return str(error).replace(f"{folder.path}/", "")


def _outcome(folder: RunFolder, manifest: Manifest) -> dict[str, object]:
    audit = folder.audit()
    summary = folder.summary()
    if summary is not None:
        return {
            "state": "finished" if summary.n_evaluated else "failed",
            "n_evaluated": summary.n_evaluated,
            "n_records": max(summary.n_records, summary.n_evaluated),
            **_scores(summary),
            "n_findings": sum(summary.findings.values()),
        }
    if audit is not None:
        note = f"audit: {view_certificate(audit).headline}"
        return {"state": "finished", "note": note, "judge": audit.judge}
    return {"state": "running" if _is_locked(folder.path) else "stopped"}


def _scores(summary: Summary) -> dict[str, object]:
    every = {RUBRIC_KEY: rubric_mean(summary.scores), **summary.scores}
    main = {key: found for key in MAIN if (found := every.get(key)) is not None}
    return {
        "scores": {key: score.value for key, score in main.items()},
        "ranges": {k: score.range for k, score in main.items() if score.is_open and score.range},
    }


def _count(path: Path) -> int:
    """Return the number of whole lines of a file."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(line.endswith(b"\n") for line in file)


def _is_locked(path: Path) -> bool:
    """Return whether another process is at work in a folder."""
    from filelock import FileLock, Timeout

    file = path / ".lock"
    if not file.exists():
        return False
    try:
        with FileLock(file, timeout=0):
            return False
    except (Timeout, OSError):
        return True
