"""Serve the review page on the local machine, for `ragassay review`."""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.workbench.paragraphs import is_paragraph_file
from ragassay.models.serving.server import bound, build_server, run_app
from ragassay.review.access import AccessControl
from ragassay.review.items import ReviewSource
from ragassay.review.of_bank import open_bank
from ragassay.review.of_grades import open_grades
from ragassay.review.of_run import open_run
from ragassay.review.session import ReviewSession


def open_source(path: Path, banks: Sequence[Path] = ()) -> ReviewSource:
    """Open a run folder, a file of graded passages or a file of test banks for review.

    Args:
        banks: Files of test banks with the texts of graded items.

    Raises:
        InputError: The path cannot be reviewed, or there is nothing to review.
    """
    if path.is_dir():
        source: ReviewSource = open_run(path)
    elif is_paragraph_file(path):
        source = open_grades(path, banks)
    else:
        source = open_bank(path)
    if not source.items:
        raise InputError(f"{path} has nothing to review: it contains no verdicts, grades or items")
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
    """Serve the review page until SIGTERM or SIGINT.

    Args:
        path: Run folder, file of graded passages, or file of test banks.
        banks: Files of test banks with the texts of graded items.
        who: Suggested name of the reviewer.
        port: Port to listen on, or 0 for any free port.
        opens: Whether to open the page in a browser.
        on_ready: Function that is called when the server accepts requests.

    Raises:
        InputError: There is nothing to review, or the journal is damaged.
        SettingsError: The port is in use.
    """
    from ragassay.review.app import build_app

    session = ReviewSession(open_source(path, banks))
    with bound(HOST, port) as listener:
        access = AccessControl(listener.getsockname()[1])

        def announce_page() -> None:
            on_ready(access, session)
            if opens:
                webbrowser.open(access.url)

        run_app(build_app(session, access, who), listener, GRACE_S, announce_page)


async def serve_until_done(
    source: ReviewSource,
    *,
    opens: bool = True,
    on_ready: Callable[[AccessControl, ReviewSession], None],
) -> ReviewSession:
    """Serve the review page in the running event loop until a reviewer ends the review.

    Raises:
        KeyboardInterrupt: The review was interrupted, after all reviews were saved.
    """
    from ragassay.review.app import build_app

    session, is_done = ReviewSession(source), asyncio.Event()
    with bound(HOST, 0) as listener:
        access = AccessControl(listener.getsockname()[1])

        def announce_page() -> None:
            on_ready(access, session)
            if opens:
                webbrowser.open(access.url)

        def stop_server() -> None:
            is_done.set()
            server.should_exit = True

        server = build_server(build_app(session, access, "", stop_server), GRACE_S, announce_page)
        await server.serve(sockets=[listener])
    if not is_done.is_set():  # The server also stops if a shell made the process ignore SIGINT.
        raise KeyboardInterrupt
    session.refresh()
    return session
