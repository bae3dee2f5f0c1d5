"""`ragassay review`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ragassay.review.access import Door
    from ragassay.review.session import Desk


def review(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|BANK|GRADES",
            help="A run folder of `ragassay evaluate`, a file of test banks, or a graded file.",
        ),
    ],
    who: Annotated[
        str, typer.Option(metavar="NAME", help="Your name; without, the page asks for it.")
    ] = "",
    testbank: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="BANK",
            help="Of a graded file: the test bank that has the texts of its items. Repeat for "
            "more.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the page; 0 takes a free one.")
    ] = 0,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address, and open no browser.")
    ] = False,
) -> None:
    """Review verdicts, grades or a test bank in the browser.

    The page shows one verdict at a time beside the answer, its evidence and everything else that
    was said of it; what is most worth a look comes first: what leads the report, what is undecided,
    what judges differ on. Keys do it all: j and k go on and back, digits say another label or
    rating, a accepts the model's, e edits, x rejects, u takes back, / filters, ? helps; of a
    graded file, o shows the tables that oversee its grades.

    What you say is added to reviews.jsonl in the run folder, or to FILE.reviews.jsonl beside a
    file; nothing that the model said is changed. `ragassay meta-evaluate RUN --human RUN` and
    `ragassay optimize ... --data RUN` read it as it is. Several people may review at once, each
    with a page of their own.

    Only this machine can reach the page, and only with the token in its address.

    For example:

      ragassay review runs/first
      ragassay review bank.jsonl.gz --who ann
      ragassay review graded.jsonl.gz --testbank bank.jsonl.gz --no-open
    """
    from ragassay.review.server import serve_page

    serve_page(target, testbank or (), who, port, opens=not no_open, on_ready=_announce)


def _announce(door: Door, desk: Desk) -> None:
    """Print the address on stdout, for programs too, and the rest on stderr."""
    from ragassay.reports.text import count_text

    typer.echo(door.url)
    source = desk.source
    typer.echo(
        f"{source.name}: {count_text(len(desk.items), 'item')}; "
        f"what is said goes to {source.journal.path}\n"
        f"Ctrl-C ends it. --port {door.port} later finds what the browser could not save yet.",
        err=True,
    )
