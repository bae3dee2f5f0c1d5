"""The user's editor."""

from __future__ import annotations

import sys

from ragassay.errors import InputError


def require_terminal(way_out: str) -> None:
    """Do nothing where a person sits before a terminal.

    Raises:
        InputError: Nobody does; names the option that does without.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError(f"there is no terminal to edit in: give {way_out}")


def edit_in_editor(text: str) -> str:
    """Open the user's editor, and give back what was saved; the text itself if nothing was.

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
