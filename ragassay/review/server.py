"""`ragassay review`: the page on a port of this machine, for a run, grades or a test bank."""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.workbench.paragraphs import is_paragraph_file
from ragassay.models.serving.server import bound, run_app, server_of
from ragassay.review.access import AccessControl
from ragassay.review.items import ReviewSource
from ragassay.review.of_bank import open_bank
from ragassay.review.of_grades import open_grades
from ragassay.review.of_run import open_run
from ragassay.review.session import ReviewSession


def open_source(path: Path, banks: Sequence[Path] = ()) -> ReviewSource:
    """Open what is to be reviewed.

    Args:
        path: A run folder, a graded file, or a file of test banks.
        banks: Test banks with the texts of a graded file's items.

    Raises:
        InputError: It is none of these, or it has nothing to review.
    """
    if path.is_dir():
        source: ReviewSource = open_run(path)
    elif is_paragraph_file(path):
        source = open_grades(path, banks)
    else:
        source = open_bank(path)
    if not source.items:
        raise InputError(f"{path} has nothing to review: no verdict, no grade, no item")
    return source


HOST = "127.0.0.1"
GRACE_S = 5


def serve_page(
    path: Path,
    banks: Sequence[Path] = (),
    who: str = "",
    port: int = 0,
    *,
    opens: bool = True,
    on_ready: Callable[[AccessControl, ReviewSession], None],
) -> None:
    """Serve the page until SIGTERM or SIGINT.

    Args:
        path: A run folder, a graded file, or a file of test banks.
        banks: Test banks with the texts of a graded file's items.
        who: A name to suggest to whoever opens the page.
        port: 0 has the operating system choose one.
        on_ready: Called once requests are accepted.

    Raises:
        InputError: There is nothing to review, or the journal is damaged.
        SettingsError: The port is taken.
    """
    from ragassay.review.app import build_app

    session = ReviewSession(open_source(path, banks))
    with bound(HOST, port) as listener:
        access = AccessControl(listener.getsockname()[1])

        def ready() -> None:
            on_ready(access, session)
            if opens:
                webbrowser.open(access.url)

        run_app(build_app(session, access, who), listener, GRACE_S, ready)


async def serve_until_done(
    source: ReviewSource,
    *,
    opens: bool = True,
    on_ready: Callable[[AccessControl, ReviewSession], None],
) -> ReviewSession:
    """Serve the page, in a running loop, until a person says that it is done.

    Returns:
        What people said.

    Raises:
        KeyboardInterrupt: The review was broken off; what was said is kept.
    """
    from ragassay.review.app import build_app

    session, is_done = ReviewSession(source), asyncio.Event()
    with bound(HOST, 0) as listener:
        access = AccessControl(listener.getsockname()[1])

        def ready() -> None:
            on_ready(access, session)
            if opens:
                webbrowser.open(access.url)

        def end() -> None:
            is_done.set()
            server.should_exit = True

        server = server_of(build_app(session, access, "", end), GRACE_S, ready)
        await server.serve(sockets=[listener])
    if not is_done.is_set():  # Where a shell made the process ignore SIGINT, the server still ends.
        raise KeyboardInterrupt
    session.refresh()
    return session
