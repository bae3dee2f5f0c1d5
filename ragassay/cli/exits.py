"""Exit codes, and errors as one line for a person."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import typer
import typer.core

from ragassay.errors import plain_words
from ragassay.terminal import safe_streams, write_red

if TYPE_CHECKING:
    from ragassay.records import Audit, Rejection
    from ragassay.results import Results

OK = 0
FAILED = 1
USAGE = 2
PARTIAL = 3
"""Some of the input was rejected, or some record or verdict failed."""

BELOW = 4
"""A score is below its `--fail-under`."""

UNMEASURED = 5
"""A score with a `--fail-under` could not be measured, or undecided verdicts leave it open."""

MAX_SHOWN = 300
"""Longest name of a file in an error."""


class PlainGroup(typer.core.TyperGroup):
    """Says what is wrong with an option in our words, not in those of its validator.

    And whatever a command writes, its errors included, is safe for a terminal.
    """

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line."""
        with safe_streams():
            return super().main(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except Exception as error:  # a usage error of the click that Typer brings
            is_group = isinstance(error, ExceptionGroup)
            if not is_group and isinstance(getattr(error, "message", None), str):
                error.message = plain_words(error.message)  # type: ignore[attr-defined]
            raise


@contextmanager
def errors_as_lines() -> Iterator[None]:
    """Print an error of ours, or of a file, as one line on stderr and exit with `FAILED`.

    Where a library is to be installed first, exit with `USAGE`: nothing has begun.
    """
    from ragassay.errors import ExtraError, RagassayError

    try:
        yield
    except ExtraError as error:
        _fail(str(error), error, USAGE)
    except RagassayError as error:
        _fail(str(error), error)
    except OSError as error:
        if error.filename is None:
            raise
        _fail(f"{str(error.filename)[:MAX_SHOWN]}: {error.strerror}", error)
    except KeyboardInterrupt:
        typer.echo("stopped; the same command goes on from here", err=True)
        raise typer.Exit(130) from None


def exit_with(results: Results) -> None:
    """Print which thresholds were missed, and exit with the code of an evaluation."""
    for _, line in results.verdicts:
        if line:
            typer.echo(line, err=True)
    kinds = {kind for kind, _ in results.verdicts}
    if results.summary.judged_nothing:
        raise typer.Exit(FAILED)
    if kinds - {"reached"}:
        raise typer.Exit(BELOW if "below" in kinds else UNMEASURED)
    if results.is_partial:
        raise typer.Exit(PARTIAL)


def exit_audited(audit: Audit, strict: bool, rejections: Sequence[Rejection]) -> None:
    """Exit with the code of an audit."""
    if strict and any(line.trust == "blind" for line in audit.certificate):
        raise typer.Exit(BELOW)
    if audit.is_partial or rejections:
        raise typer.Exit(PARTIAL)


def _fail(why: str, error: Exception, code: int = FAILED) -> NoReturn:
    say = write_red if _is_colourful() else partial(typer.echo, err=True)
    say(f"error: {why}")
    raise typer.Exit(code) from error


def _is_colourful() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ
