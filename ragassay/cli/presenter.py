"""Show a run on the terminal: its bars, its notes, and what its stages find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from ragassay.cli.terminal import print_notes, print_rejections
from ragassay.process import run_sync
from ragassay.records import Audit, Rejection
from ragassay.runs.progress import Presenter
from ragassay.safe_text import open_console

if TYPE_CHECKING:
    from ragassay.options import Keywords
    from ragassay.requests import Request

T = TypeVar("T")


class Terminal(Presenter):
    """Shows a run on the terminal.

    Args:
        is_quiet: Whether bars and tables are left out.
        as_json: Whether what was found is printed as JSON, which `is_quiet` leaves in.
        folder: The run's folder, for the path of its report.
    """

    style = "flag"

    def __init__(
        self, is_quiet: bool, as_json: bool = False, folder: str | Path | None = None
    ) -> None:
        super().__init__(not is_quiet)
        self.as_json = as_json
        self.folder = Path(folder or "")

    @contextmanager
    def phase(self, what: str) -> Iterator[None]:
        """Name what is under way before there is a bar, on stderr."""
        if not self.progress:
            yield
            return
        with open_console(stderr=True).status(what):
            yield

    def note_input(self, rejections: Sequence[Rejection], note: str = "") -> None:
        """Print lines that could not be read, and how the corpus is searched."""
        self.rejections += rejections
        print_rejections(rejections)
        if note:
            print_notes(note)

    def show(self, found: object) -> None:
        """Print what a stage of an evaluation has found; as JSON the summary alone."""
        from ragassay.cli.output import print_stage

        if self.as_json or self.progress:
            print_stage(found, self.folder, self.as_json)

    def show_audit(self, audit: Audit) -> None:
        """Print an audit that is no stage of an evaluation."""
        from ragassay.cli.output import print_audit

        if self.as_json:
            typer.echo(audit.model_dump_json(indent=2))
        elif self.progress:
            print_audit(audit, self.folder)

    def run(self, request: Request[T], options: Keywords, dry_run: bool = False) -> T:
        """Run a request and return what it found; for a dry run print its plan, and exit."""
        from ragassay.cli.output import print_plan
        from ragassay.requests import folder_of

        if dry_run:
            second = request.tools.settings.judge.escalated_to or ""
            print_plan(request.plan(), request.models, self.as_json, second)
            raise typer.Exit
        return run_sync(request.run(folder_of(options), self))
