"""Call the command line as a user does."""

from __future__ import annotations

from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.testing import ScriptedModel


def call(*arguments: object, **environment: str) -> tuple[int, str, str]:
    """Run a command in this process, and return its exit code, stdout and stderr."""
    result = CliRunner(env=environment).invoke(app, [str(one) for one in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def run(*arguments: object, code: int = 0, **environment: str) -> tuple[str, str]:
    """Run a command that exits with this code, and return its stdout and stderr."""
    found, out, err = call(*arguments, **environment)
    assert found == code, out + err
    return out, err


def judged_by(model: ScriptedModel) -> tuple[str, ...]:
    """Return the options that make a scripted model the judge."""
    return "--model", model.model_name, "--api-base", model.base_url
