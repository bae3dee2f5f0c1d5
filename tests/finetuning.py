"""The command `ragassay finetune`."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from ragassay.cli import app


def finetune(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["finetune", *map(str, arguments)])


def check_refused(problem: str, *arguments: object) -> None:
    """Check that a command fails, and says why in one line."""
    done = finetune(*arguments)
    assert done.exit_code in (1, 2), done.output
    assert problem in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
