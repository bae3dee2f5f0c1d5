"""The user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from ragassay.errors import InputError


def require_terminal(way_out: str) -> None:
    """Do nothing where a person sits before a terminal.

    Raises:
        InputError: Nobody does; names the option that does without.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError(f"there is no terminal to edit in: give {way_out}")


def edit_in_editor(text: str) -> str:
    """Open $VISUAL or $EDITOR, else vi, and give back what was saved.

    Raises:
        InputError: The editor cannot be started, or ends with an error.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nuggets.txt"
        path.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(command), str(path)], check=True)
            return path.read_text(encoding="utf-8")
        except (OSError, subprocess.CalledProcessError, ValueError) as error:
            raise InputError(
                f"the editor {command!r} failed ({error}): set EDITOR, or give --accept-all"
            ) from error
