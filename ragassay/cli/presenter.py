"""Show the progress, notes and results of a run on the terminal."""

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
    """Shows the progress, notes and results of a run on the terminal.

    Args:
        is_quiet: Whether to hide progress bars and tables.
        as_json: Whether to print results as JSON, even if `is_quiet`.
        folder: Run folder, used to print the path of the report.
    """

    style = "flag"

    def __init__(
        self, is_quiet: bool, as_json: bool = False, folder: str | Path | None = None
    ) -> None:
        super().__init__(not is_quiet)
        self.as_json = as_json
        self.folder = Path(folder or "")

    @contextmanager
    def announce_phase(self, what: str) -> Iterator[None]:
        """Show a spinner with a message on stderr."""
        if not self.progress:
            yield
            return
        with open_console(stderr=True).status(what):
            yield

    def note_input(self, rejections: Sequence[Rejection], note: str = "") -> None:
        """Print rejected input lines, and a note about the corpus search."""
        self.rejections += rejections
        print_rejections(rejections)
        if note:
            print_notes(note)

    def show(self, found: object) -> None:
        """Print the result of one stage of a run."""
        from ragassay.cli.output import print_stage

        if self.as_json or self.progress:
            print_stage(found, self.folder, self.as_json)

    def show_audit(self, audit: Audit) -> None:
        """Print the result of a standalone audit."""
        from ragassay.cli.output import print_audit

        if self.as_json:
            typer.echo(audit.model_dump_json(indent=2))
        elif self.progress:
            print_audit(audit, self.folder)

    def run(self, request: Request[T], options: Keywords, dry_run: bool = False) -> T:
        """Run a request and return its result; in a dry run, print its plan and exit."""
        from ragassay.cli.output import print_plan
        from ragassay.requests import prepare_run_folder

        if dry_run:
            second = request.run.settings.judge.escalated_to or ""
            print_plan(request.plan(), request.models, self.as_json, second)
            raise typer.Exit
        return run_sync(request.execute(prepare_run_folder(options), self))
