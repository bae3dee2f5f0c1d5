"""A run folder, written line by line so that a run can be killed at any moment.

run.json            everything that the run depends on (`Manifest`)
evaluations.jsonl   one a line; appended as they end, in input order at the end
failures.jsonl      records without an evaluation, with the reason
rejected.jsonl      lines of the input that could not be read
summary.json        the run in numbers
endpoints.json      parameters that the judges' endpoints refuse, and which are left out
spent.json          what the run has spent so far in USD, all starts together; only with a price
report.md, report.html
audit.json          the certificate of the judge (`Audit`), where `--audit` was asked for
audit/              the perturbed answers and their evaluations, a folder like this one
repeats.json, .csv  how often the judge contradicts itself (`Repeats`), where `--repeat` was given
repeats/2, 3, ...   the same answers judged again, each a folder like this one
batches/            batches submitted with `--batch`, and their replies
verdicts.sqlite     finished verdicts by the hash of what they depend on (`Store`)
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

from ragassay.errors import InputError, RunMismatchError, first_problem
from ragassay.models.batches import BatchStore
from ragassay.models.weights import sha256_of
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
from ragassay.safe_text import without_secrets
from ragassay.settings import default_of
from ragassay.store import lock_file, storing

M = TypeVar("M", bound=BaseModel)
Setting = str | int | float | bool | None


class RunFolder:
    """Reads and writes a run folder.

    Args:
        path: The folder; created if missing.
    """

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
        """Lock the folder for this process, after checking that it is this run's.

        Raises:
            InputError: Another process has locked it, or nothing can be written there.
            RunMismatchError: It has a run of other input or other settings.
        """
        check_writable(self.path)
        self._check_files()
        self.path.mkdir(parents=True, exist_ok=True)
        refusal = InputError(f"another process is running in {self.path}")
        with lock_file(self.path / ".lock", refusal):
            self._claim(manifest)
            yield

    def _check_files(self) -> None:
        """Refuse a folder where one of the run's files is a folder: it could not be written."""
        reports = (self.path / name for name in ("report.md", "report.html", ".lock"))
        for file in (*(one for one in vars(self).values() if one != self.path), *reports):
            if file.is_dir():
                raise InputError(f"{file} is a folder, a file is needed: choose another --out")

    def _claim(self, manifest: Manifest) -> None:
        if self.manifest_file.exists():
            check_same_run(self.manifest(), manifest, self.path)
        else:
            write_whole(self.manifest_file, manifest.model_dump_json(indent=2))

    def note_answered_by(self, answered_by: tuple[str, ...]) -> None:
        """Add to the manifest who answered, which only the end of a run knows."""
        manifest = self.manifest()
        if manifest.answered_by != answered_by:
            noted = manifest.model_copy(update={"answered_by": answered_by})
            write_whole(self.manifest_file, noted.model_dump_json(indent=2))

    def manifest(self) -> Manifest:
        """Read the manifest of the run.

        Raises:
            InputError: There is no run in this folder.
        """
        try:
            return Manifest.model_validate_json(self.manifest_file.read_bytes())
        except OSError as error:
            raise InputError(
                f"{self.path} has no run: {self.manifest_file.name} is missing"
            ) from error
        except ValidationError as error:
            raise InputError(f"{self.manifest_file} is damaged or of another version") from error

    def evaluations(self) -> CompactEvaluations:
        """Return all finished evaluations, in the file's order."""
        return CompactEvaluations(self.iter_evaluations())

    def iter_evaluations(self) -> Iterator[Evaluation]:
        """Yield all finished evaluations, in the file's order."""
        return iter_lines(self.evaluations_file, Evaluation)

    def failures(self) -> list[RecordFailure]:
        """Return all records that failed completely."""
        return read_lines(self.failures_file, RecordFailure)

    def rejections(self) -> list[Rejection]:
        """Return all lines of the input that could not be read."""
        return read_lines(self.rejected_file, Rejection)

    def forget_failures(self) -> None:
        """Drop failed records, and evaluations with a failed verdict.

        Their other verdicts stay in the store and are not requested again.
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
        """Write all evaluations, completely or not at all; no file without one."""
        if evaluations:
            write_pieces(self.evaluations_file, evaluations.lines())
        else:
            self.evaluations_file.unlink(missing_ok=True)

    def summary(self) -> Summary | None:
        """Return the run in numbers; None while it is unfinished."""
        try:
            return Summary.model_validate_json(self.summary_file.read_text(encoding="utf-8"))
        except OSError:
            return None

    @property
    def audit_folder(self) -> RunFolder:
        """The folder of the run's perturbed answers."""
        return RunFolder(self.path / "audit")

    def audit(self) -> Audit | None:
        """Return the audit of the run's judge; None where there is none.

        Raises:
            InputError: The file is damaged.
        """
        try:
            return Audit.model_validate_json(self.audit_file.read_text(encoding="utf-8"))
        except OSError:
            return None
        except ValidationError as error:
            raise InputError(f"{self.audit_file} is damaged or of another version") from error

    def repeat_folder(self, time: int) -> RunFolder:
        """Return the folder of the run's repetition, counted from 2: the run is the first time."""
        return RunFolder(self.path / "repeats" / str(time))

    def repeat_folders(self) -> list[RunFolder]:
        """Return the folders of all repetitions that were begun."""
        return [RunFolder(path) for path in sorted((self.path / "repeats").glob("[0-9]*"))]

    def repeats(self) -> Repeats | None:
        """Return how often the judge contradicts itself; None where it was not measured.

        Raises:
            InputError: The file is damaged.
        """
        try:
            return Repeats.model_validate_json(self.repeats_file.read_text(encoding="utf-8"))
        except OSError:
            return None
        except ValidationError as error:
            raise InputError(f"{self.repeats_file} is damaged or of another version") from error

    def write_reports(
        self, summary: Summary, evaluations: Sequence[Evaluation] | None = None
    ) -> None:
        """Write report.md and report.html from the folder's content."""
        from ragassay.reports.html import html_pieces
        from ragassay.reports.markdown import markdown_pieces

        known = self.evaluations() if evaluations is None else evaluations
        parts = (self.manifest(), summary, known, self.failures(), self.rejections())
        measured = {"audit": self.audit(), "repeats": self.repeats()}
        write_pieces(self.path / "report.md", markdown_pieces(*parts, **measured))
        write_pieces(self.path / "report.html", html_pieces(*parts, **measured))


def check_same_run(found: Manifest, wanted: Manifest, folder: Path) -> None:
    """Refuse to mix runs.

    Library versions may differ: they are recorded, and a run killed before an upgrade may finish
    after it. So may the number of records: a trial with a limit can be continued without it.

    Raises:
        RunMismatchError: Names the first difference.
    """
    for name in ("judge", "judge_digest", "embedder", "prompts_sha256"):
        old, new = getattr(found, name), getattr(wanted, name)
        if old != new:
            raise mismatch(folder, name, old, new)
    for name in ("answers", "corpus"):
        old, new = getattr(found, name), getattr(wanted, name)
        if (old and old.sha256) != (new and new.sha256):
            raise mismatch(folder, f"the file of {name}", old and old.name, new and new.name)
    check_same_settings(found.settings, wanted.settings, folder)


def check_same_settings(
    found: Mapping[str, Setting], wanted: Mapping[str, Setting], folder: Path
) -> None:
    """Refuse a run's folder for one of other settings; a setting that it lacks had its default.

    Raises:
        RunMismatchError: Names the first difference.
    """
    for name in sorted(found.keys() | wanted.keys()):
        old, new = found.get(name, default_of(name)), wanted.get(name)
        if old != new:
            raise mismatch(folder, _FIELD_NAMES.get(name, name), old, new)


_FIELD_NAMES = {
    "model": "judge",
    "panel_names": "the further judges",
    "escalated_to": "escalate",
    "escalated_when": "when",
    "chosen_verifier": "verifier",
    "chosen_grader": "grader",
    "source_chars": "max_source_chars",
    "nugget_matcher_sha256": "the file of nugget_matcher",
}
"""Noted settings that a user gives by another name."""


def check_writable(folder: Path, option: str = "--out") -> None:
    """Try to write into a folder; leave nothing behind.

    Raises:
        InputError: That is not possible, or it is an address.
    """
    if re.match(r"[a-z][a-z0-9+.-]+:/", str(folder)):  # a path makes "//" into "/"
        raise InputError(
            f"{without_secrets(str(folder))} is an address, a folder is needed: choose another "
            f"{option}, and copy it with a sync tool"
        )
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(
            f"{folder} is a file, a folder is needed: choose another {option}"
        ) from error
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{folder} cannot be written ({why}): choose another {option}") from error
    finally:
        for path in missing:
            with suppress(OSError):
                path.rmdir()


def mismatch(folder: Path, what: str, old: object, new: object) -> RunMismatchError:
    """Return the error for a folder of another run: what differs, and how."""
    was, now = ("none" if value in (None, "") else value for value in (old, new))
    return RunMismatchError(
        f"{folder} has another run: {what} was {was}, now is {now}; choose another --out"
    )


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder, that of its files."""
    if not path.is_dir():
        return sha256_of(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return hashlib.sha256("".join(map(sha256_of, files)).encode()).hexdigest()


def append_line(path: Path, record: BaseModel, *, is_synced: bool = True) -> None:
    """Append a record as one line that survives the death of the process.

    Args:
        is_synced: Whether it also survives a crash of the machine, at some milliseconds a line.

    Raises:
        StorageError: The disk is full, or the file cannot be written.
    """
    with storing(path), path.open("ab") as file:
        file.write(record.model_dump_json().encode() + b"\n")
        if is_synced:
            file.flush()
            os.fsync(file.fileno())


def read_lines(path: Path, kind: type[M]) -> list[M]:
    """Read the records of our own file; a last line cut off by a kill is removed from the file."""
    return list(iter_lines(path, kind))


def iter_lines(path: Path, kind: type[M]) -> Iterator[M]:
    """Yield the records of our own file; a last line cut off by a kill is removed from the file.

    Raises:
        InputError: The file is damaged.
    """
    if not path.exists():
        return
    n_whole = 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n") and line.startswith(b"{"):  # a kill leaves nothing else
                break
            n_whole += len(line)
            if line != b"\n":
                yield _read_line(path, line, kind)
        else:
            return
    with storing(path):
        os.truncate(path, n_whole)


def _read_line(path: Path, line: bytes, kind: type[M]) -> M:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise InputError(
            f"{path} is damaged: {first_problem(error)[1]}; move it away, and the same command "
            "makes it again"
        ) from error


def write_lines(path: Path, records: Sequence[BaseModel]) -> None:
    """Write records, one a line, completely or not at all; no file without a record."""
    if records:
        write_pieces(path, (record.model_dump_json() + "\n" for record in records))
    else:
        path.unlink(missing_ok=True)


def write_whole(path: Path, text: str, *, is_synced: bool = True) -> None:
    """Write a file completely or not at all; see `write_pieces`."""
    write_pieces(path, [text], is_synced=is_synced)


def write_pieces(path: Path, pieces: Iterable[str], *, is_synced: bool = True) -> None:
    """Write a file piece by piece, completely or not at all; of two processes the last one stays.

    Args:
        path: The file.
        pieces: Its content.
        is_synced: Whether to wait for the disk, so that it outlives a crash of the machine.

    Raises:
        InputError: It cannot be written; what stood there is as it was.
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
