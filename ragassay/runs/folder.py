"""Run folders, written incrementally so that an interrupted run can be resumed.

run.json            everything that the run depends on (`Manifest`)
evaluations.jsonl   evaluations, sorted in input order when the run ends
failures.jsonl      records without an evaluation, with the reason
rejected.jsonl      unreadable lines of the input
summary.json        scores and counts of the run (`Summary`)
endpoints.json      parameters that the judges' endpoints refuse
spent.json          cost of the run in USD over all starts, if prices are known
report.md, report.html
audit.json          certificate of the judge (`Audit`), with `--audit`
audit/              run folder of the perturbed answers, with `--audit`
repeats.json, .csv  consistency of repeated verdicts (`Repeats`), with `--repeat`
repeats/2, 3, ...   run folders of the repetitions, with `--repeat`
batches/            batches submitted with `--batch`, and their replies
verdicts.sqlite     finished verdicts, keyed by a hash of their dependencies (`Store`)
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from ragassay.errors import InputError, RunMismatchError, find_first_problem
from ragassay.models.batches import BatchStore
from ragassay.models.weights import compute_sha256
from ragassay.records import (
    UNSCORED_KINDS,
    Audit,
    CompactEvaluations,
    Evaluation,
    Manifest,
    RecordFailure,
    Rejection,
    Repeats,
    Summary,
)
from ragassay.safe_text import hide_secrets
from ragassay.settings import find_default
from ragassay.store import convert_storage_errors, lock_file

M = TypeVar("M", bound=BaseModel)
Setting = str | int | float | bool | None


class RunFolder:
    """A run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_file = path / "run.json"
        self.evaluations_file = path / "evaluations.jsonl"
        self.failures_file = path / "failures.jsonl"
        self.rejected_file = path / "rejected.jsonl"
        self.summary_file = path / "summary.json"
        self.spent_file = path / "spent.json"
        self.audit_file = path / "audit.json"
        self.repeats_file = path / "repeats.json"
        self.verdicts_file = path / "verdicts.sqlite"

    @contextmanager
    def open_locked(self, manifest: Manifest) -> Iterator[None]:
        """Create and lock the folder, and check that it belongs to this run.

        Raises:
            InputError: Another process has locked the folder, or it is not writable.
            RunMismatchError: The folder contains a run with different input or settings.
        """
        check_writable(self.path)
        self._check_files()
        self.path.mkdir(parents=True, exist_ok=True)
        refusal = InputError(f"another process is running in {self.path}")
        with lock_file(self.path / ".lock", refusal):
            self._claim(manifest)
            yield

    def _check_files(self) -> None:
        reports = (self.path / name for name in ("report.md", "report.html", ".lock"))
        for file in (*(path for path in vars(self).values() if path != self.path), *reports):
            if file.is_dir():
                raise InputError(f"{file} must be a file but is a folder; choose another --out")

    def _claim(self, manifest: Manifest) -> None:
        if self.manifest_file.exists():
            check_same_run(self.read_manifest(), manifest, self.path)
        else:
            write_atomically(self.manifest_file, manifest.model_dump_json(indent=2))

    def note_answered_by(self, answered_by: tuple[str, ...]) -> None:
        """Write to the manifest which models answered, at the end of a run."""
        manifest = self.read_manifest()
        if manifest.answered_by != answered_by:
            updated = manifest.model_copy(update={"answered_by": answered_by})
            write_atomically(self.manifest_file, updated.model_dump_json(indent=2))

    def read_manifest(self) -> Manifest:
        """Read the manifest of the run.

        Raises:
            InputError: There is no run in this folder, or its manifest is damaged.
        """
        manifest = _read_optional(self.manifest_file, Manifest)
        if manifest is None:
            raise InputError(f"{self.path} has no run: {self.manifest_file.name} is missing")
        return manifest

    def read_evaluations(self) -> CompactEvaluations:
        """Return all finished evaluations, in file order."""
        return CompactEvaluations(self.iter_evaluations())

    def iter_evaluations(self) -> Iterator[Evaluation]:
        """Yield all finished evaluations, in file order."""
        return iter_lines(self.evaluations_file, Evaluation)

    def read_failures(self) -> list[RecordFailure]:
        """Return all records that could not be evaluated."""
        return read_lines(self.failures_file, RecordFailure)

    def read_rejections(self) -> list[Rejection]:
        """Return all lines of the input that could not be read."""
        return read_lines(self.rejected_file, Rejection)

    def forget_failures(self) -> None:
        """Delete failed records, and evaluations with a failed verdict, from the folder.

        Verdicts that did not fail stay in the store and are not requested again.
        """
        self.failures_file.unlink(missing_ok=True)
        BatchStore(self.path).forget_collected()
        scored = CompactEvaluations(
            e
            for e in self.iter_evaluations()
            if not any(f.kind in UNSCORED_KINDS for f in e.findings)
        )
        self.write_evaluations(scored)

    def write_evaluations(self, evaluations: CompactEvaluations) -> None:
        """Write all evaluations atomically, or delete the file if there are no evaluations."""
        if evaluations:
            write_pieces(self.evaluations_file, evaluations.iter_lines())
        else:
            self.evaluations_file.unlink(missing_ok=True)

    def read_summary(self) -> Summary | None:
        """Return the summary of the run, or None if the run is not finished.

        Raises:
            InputError: The file is damaged.
        """
        return _read_optional(self.summary_file, Summary)

    @property
    def audit_folder(self) -> RunFolder:
        """Run folder of the perturbed answers of an audit."""
        return RunFolder(self.path / "audit")

    def read_audit(self) -> Audit | None:
        """Return the audit of the run's judge, or None if the run has no audit.

        Raises:
            InputError: The file is damaged.
        """
        return _read_optional(self.audit_file, Audit)

    def repeat_folder(self, time: int) -> RunFolder:
        """Return the run folder of a repetition of all verdicts.

        Repetitions are numbered from 2.
        """
        return RunFolder(self.path / "repeats" / str(time))

    def repeat_folders(self) -> list[RunFolder]:
        """Return the run folders of all repetitions that were started."""
        return [RunFolder(path) for path in sorted((self.path / "repeats").glob("[0-9]*"))]

    def read_repeats(self) -> Repeats | None:
        """Return the consistency of repeated verdicts, or None if it was not measured.

        Raises:
            InputError: The file is damaged.
        """
        return _read_optional(self.repeats_file, Repeats)

    def write_reports(
        self, summary: Summary, evaluations: Sequence[Evaluation] | None = None
    ) -> None:
        """Write report.md and report.html from the folder's contents."""
        from ragassay.reports.html import render_html_pieces
        from ragassay.reports.markdown import render_markdown_pieces

        known = self.read_evaluations() if evaluations is None else evaluations
        parts = (self.read_manifest(), summary, known, self.read_failures(), self.read_rejections())
        measured = {"audit": self.read_audit(), "repeats": self.read_repeats()}
        write_pieces(self.path / "report.md", render_markdown_pieces(*parts, **measured))
        write_pieces(self.path / "report.html", render_html_pieces(*parts, **measured))


def check_same_run(found: Manifest, wanted: Manifest, folder: Path) -> None:
    """Check that two manifests belong to the same run.

    The versions of libraries may differ, so that a run can be resumed after an upgrade. The number
    of records may differ, so that a trial run with a limit can be continued without the limit.

    Raises:
        RunMismatchError: The manifests belong to different runs. The message describes the first
            difference.
    """
    for name in ("judge", "judge_digest", "embedder", "prompts_sha256"):
        old, new = getattr(found, name), getattr(wanted, name)
        if old != new:
            raise build_mismatch_error(folder, name, old, new)
    for name in ("answers", "corpus"):
        old, new = getattr(found, name), getattr(wanted, name)
        if (old and old.sha256) != (new and new.sha256):
            raise build_mismatch_error(
                folder, f"the {name} file", old and old.name, new and new.name
            )
    check_same_settings(found.settings, wanted.settings, folder)


def check_same_settings(
    found: Mapping[str, Setting], wanted: Mapping[str, Setting], folder: Path
) -> None:
    """Check that two runs have the same settings. A missing setting counts as its default.

    Raises:
        RunMismatchError: The settings differ. The message describes the first difference.
    """
    for name in sorted(found.keys() | wanted.keys()):
        old, new = found.get(name, find_default(name)), wanted.get(name)
        if old != new:
            raise build_mismatch_error(folder, _FIELD_NAMES.get(name, name), old, new)


_FIELD_NAMES = {
    "model": "judge",
    "panel_names": "the additional judges",
    "escalated_to": "escalate",
    "escalated_when": "when",
    "chosen_verifier": "verifier",
    "chosen_grader": "grader",
    "source_chars": "max_source_chars",
    "nugget_matcher_sha256": "the nugget_matcher file",
}
"""Names of recorded settings in error messages, if they differ from the names of the options."""


def check_writable(folder: Path, option: str = "--out") -> None:
    """Check that a folder is writable, without creating any file or folder permanently.

    Raises:
        InputError: The folder is not writable, or it is a URL.
    """
    if re.match(r"[a-z][a-z0-9+.-]+:/", str(folder)):  # pathlib turns "//" into "/"
        raise InputError(
            f"{hide_secrets(str(folder))} is a URL; choose a local folder for {option} and copy "
            "it with a sync tool"
        )
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(
            f"{folder} must be a folder but is a file; choose another {option}"
        ) from error
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"cannot write to {folder} ({why}); choose another {option}") from error
    finally:
        for path in missing:
            with suppress(OSError):
                path.rmdir()


def build_mismatch_error(folder: Path, what: str, old: object, new: object) -> RunMismatchError:
    """Return the error for a folder that contains another run."""
    before, now = ("none" if value in (None, "") else value for value in (old, new))
    return RunMismatchError(
        f"{folder} contains another run: {what} was {before} and is now {now}; choose another --out"
    )


def _read_optional(file: Path, kind: type[M]) -> M | None:
    try:
        return kind.model_validate_json(file.read_bytes())
    except OSError:
        return None
    except ValidationError as error:
        raise InputError(f"{file} is damaged or was written by another version") from error


def hash_files(path: Path) -> str:
    """Return the SHA-256 of a file, or of all files in a folder."""
    if not path.is_dir():
        return compute_sha256(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return hashlib.sha256("".join(map(compute_sha256, files)).encode()).hexdigest()


def append_line(path: Path, record: BaseModel, *, is_synced: bool = True) -> None:
    """Append a record as one line.

    Args:
        is_synced: Whether to wait until the line is on disk, so that it survives a machine crash.
            Waiting takes some milliseconds.

    Raises:
        StorageError: The disk is full, or the file cannot be written.
    """
    with convert_storage_errors(path), path.open("ab") as file:
        file.write(record.model_dump_json().encode() + b"\n")
        if is_synced:
            file.flush()
            os.fsync(file.fileno())


def read_lines(path: Path, kind: type[M]) -> list[M]:
    """Return the records in a file, one per line. See `iter_lines`."""
    return list(iter_lines(path, kind))


def iter_lines(path: Path, kind: type[M]) -> Iterator[M]:
    """Yield the records in a file, and delete its last line if it is incomplete.

    Raises:
        InputError: The file is damaged.
    """
    if not path.exists():
        return
    n_whole = 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n") and line.startswith(b"{"):  # left by a killed process
                break
            n_whole += len(line)
            if line != b"\n":
                yield _read_line(path, line, kind)
        else:
            return
    with convert_storage_errors(path):
        os.truncate(path, n_whole)


def _read_line(path: Path, line: bytes, kind: type[M]) -> M:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise InputError(
            f"{path} is damaged: {find_first_problem(error)[1]}; "
            "move the file away and run the same command to recreate it"
        ) from error


def write_lines(path: Path, records: Sequence[BaseModel]) -> None:
    """Write records atomically, one per line, or delete the file if there are no records."""
    if records:
        write_pieces(path, (record.model_dump_json() + "\n" for record in records))
    else:
        path.unlink(missing_ok=True)


def write_atomically(path: Path, text: str, *, is_synced: bool = True) -> None:
    """Write a file atomically. See `write_pieces`."""
    write_pieces(path, [text], is_synced=is_synced)


def write_pieces(path: Path, pieces: Iterable[str], *, is_synced: bool = True) -> None:
    """Write a file atomically from pieces of text.

    Args:
        is_synced: Whether to wait for the disk, so that the file survives a machine crash.

    Raises:
        InputError: The file cannot be written. If a file exists already, it is left unchanged.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        why = "it is a folder" if path.is_dir() else error.strerror or error
        raise InputError(f"{path} cannot be written: {why}") from error
    finally:
        with suppress(OSError):
            partial.unlink()
