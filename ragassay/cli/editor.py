"""The user's editor."""

from __future__ import annotations

import sys

from ragassay.errors import InputError


def require_terminal(way_out: str) -> None:
    """Check that a person is at a terminal.

    Raises:
        InputError: There is no terminal; the message names the option that needs none.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError(f"there is no terminal to edit in: give {way_out}")


def edit_in_editor(text: str) -> str:
    """Open the user's editor, and return the saved text, or the text itself if unchanged.

    Raises:
        InputError: The editor cannot be started, or ends with an error.
    """
    import click

    try:
        saved = click.edit(text, extension=".txt")
    except click.ClickException as error:
        raise InputError(
            f"{error.message} Set EDITOR to your editor, or give --accept-all"
        ) from error
    return text if saved is None else saved
