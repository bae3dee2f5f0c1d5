"""`ragassay testbank`: questions and nuggets for grading, printed, edited, split, merged."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import OK, PARTIAL, partial_if
from ragassay.cli.options import Json, Quiet, takes
from ragassay.cli.terminal import print_rejections, print_sheets
from ragassay.cli.testbank_made import Kind, Target, create, import_bank, queries
from ragassay.errors import InputError
from ragassay.options import Keywords, settings_of

if TYPE_CHECKING:
    from ragassay.formats import RubricBank
    from ragassay.runs.banks import BankFile
    from ragassay.workbench.bank_edit import Author, ItemChanges
    from ragassay.workbench.bank_lint import Lint


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


def opened_bank(path: Path) -> BankFile:
    """Return a bank as people left it; report unreadable lines."""
    from ragassay.runs.banks import read_bank_file

    file = read_bank_file(path)
    print_rejections(file.rejections)
    if file.n_stray:
        typer.echo(f"{file.n_stray} changes are of items that {path} does not have", err=True)
    return file


def print_banks(banks: Sequence[RubricBank], with_history: bool, as_json: bool) -> None:
    """Print items, and who changed them."""
    from ragassay.runs.banks import all_history
    from ragassay.workbench.tables import bank_rows, history_sheet, items_sheet

    if as_json:
        for row in (row for bank in banks for row in bank_rows(bank, with_history)):
            typer.echo(json.dumps(row, ensure_ascii=False))
        return
    for bank in banks:
        print_sheets(items_sheet(bank))
        if with_history and (history_rows := all_history(bank)):
            print_sheets(history_sheet(history_rows))


def print_lints(found: Sequence[Lint], as_json: bool) -> None:
    """Print what is wrong with items, a line each, and how to mend it."""
    from ragassay.reports.labels import one_line
    from ragassay.reports.text import count_text
    from ragassay.workbench.bank_lint import TITLES
    from ragassay.workbench.tables import short_id

    for one in found:
        if as_json:
            typer.echo(json.dumps(dataclasses.asdict(one), ensure_ascii=False))
            continue
        typer.echo(one_line(f"{one.query} {short_id(one.item)}: {one.text}"))
        typer.echo(one_line(f"    {TITLES[one.kind]}: {one.why}; {one.mend}"))
    if not as_json:
        n_items = len({(one.query, one.item) for one in found})
        typer.echo(
            f"{count_text(len(found), 'flaw')} of {count_text(n_items, 'item')}"
            if found
            else "nothing found"
        )


def edit_bank(file: BankFile, asked: ItemChanges, author: Author, query: str) -> BankFile:
    """Change a bank by option, or in the user's editor; print what was changed."""
    from ragassay.runs.banks import read_bank_file
    from ragassay.workbench.bank_edit import asked_reviews, edited_by_hand, keep_reviews
    from ragassay.workbench.tables import history_sheet

    if asked.is_empty:
        require_terminal("--item ID with --text, --answer or --remove, or --add QUERY TEXT")
        new = edited_by_hand(
            file, edit_in_editor, author, lambda told: typer.echo(told, err=True), query
        )
    else:
        new = keep_reviews(file, asked_reviews(file, asked, author))
    if new:
        print_sheets(history_sheet(new))
    else:
        typer.echo("nothing changed")
    return read_bank_file(file.path)


app = typer.Typer(
    name="testbank",
    help="Test banks: the exam questions and nuggets by which responses are graded. Write them, "
    "import them, edit them, check them.",
    no_args_is_help=True,
)
app.command()(create)
app.command("import")(import_bank)
app.command()(queries)

BankArgument = Annotated[
    Path, Argument(metavar="BANK", help="Test banks, as `ragassay testbank` writes them.")
]


@app.command()
def show(
    bank: BankArgument,
    *,
    query: Annotated[str, Option(metavar="ID")] = "",
    history: bool = False,
    as_json: Json = False,
) -> int:
    """Show the items of a test bank as people left them.

    An item is named by the beginning of its id, as shown.

    Options:
        query: Only this query.
        history: Who changed what, when and why.
    """
    file = opened_bank(bank)
    chosen = [one for one in file.banks if query in ("", one.query_id)]
    if not chosen:
        raise InputError(f"{bank} has no query {query!r}")
    print_banks(chosen, history, as_json)
    return partial_if(file.rejections)


@app.command()
def edit(
    bank: BankArgument,
    *,
    who: Annotated[str, Option(metavar="NAME")],
    why: Annotated[str, Option(metavar="REASON")] = "",
    item: Annotated[str, Option(metavar="ID")] = "",
    text: str | None = None,
    answer: list[str] | None = None,
    secret: Annotated[bool | None, Option("--secret/--public")] = None,
    remove: bool = False,
    add: Annotated[tuple[str, str] | None, Option(metavar="QUERY TEXT")] = None,
    kind: Kind = None,
    facet: Annotated[str, Option(metavar="ID")] = "",
    undo: Annotated[str, Option(metavar="NAME|last")] = "",
    query: Annotated[str, Option(metavar="ID")] = "",
    out: Path | None = None,
) -> int:
    """Change a test bank: in your editor, or by option.

    Items keep their ids. BANK itself stays as it is: changes are added to
    BANK.reviews.jsonl with who, when and why, and every command reads both. If two people
    changed the same item, the later change counts.

    For example:

      ragassay testbank edit bank.jsonl.gz --who ada
      ragassay testbank edit bank.jsonl.gz --who ada --item a4c82219 --text "Who began it?"
      ragassay testbank edit bank.jsonl.gz --who ada --add q1 "Where?" --why "p3 tells it"
      ragassay testbank edit bank.jsonl.gz --who ada --undo last

    Options:
        who: Your name.
        why: The reason for the change.
        item: The item's id, or the beginning of it.
        text: Its new text.
        answer: Its known answers, in place of those before; repeat for more.
        secret: Whether systems may not see it.
        remove: Leave the item out.
        add: A new item; with --kind, --facet, --answer.
        facet: Part of the query.
        undo: Take a change back: its name in --history.
        query: Edit only this query.
        out: Write the changed bank there too, with the history in each item.
    """
    from ragassay.runs.banks import write_new_bank
    from ragassay.workbench.bank_edit import Author, ItemChanges

    asked = ItemChanges(item, text, answer, secret, remove, add, kind, facet, undo)
    file = edit_bank(opened_bank(bank), asked, Author(who, why), query)
    if out:
        write_new_bank(file.banks, out)
    return partial_if(file.rejections)


@app.command()
def split(
    bank: BankArgument,
    *,
    target: Annotated[Path, Option("--out")],
    hidden: Annotated[Path, Option("--secret-out")],
    share: float = 0.5,
    seed: Annotated[int, Option(min=0)] = 0,
    secret: Annotated[list[str] | None, Option(metavar="ID")] = None,
) -> int:
    """Split a test bank into a public and a secret part, so that systems cannot be tuned to it.

    Each query is in both parts, and each part of a query. Secret items stay secret.

    For example:

      ragassay testbank split bank.jsonl.gz --out public.jsonl.gz --secret-out secret.jsonl.gz

    Exit codes: 0 done; 1 error; 3 some input was rejected, or one part lacks a query.

    Options:
        target: The file of the public part.
        hidden: The file of the secret part.
        share: Fraction that becomes secret.
        seed: Draws the secret items.
        secret: This item is secret, in place of a share; repeat.
    """
    from ragassay.runs.banks import write_new_bank
    from ragassay.workbench.bank_edit import item_of
    from ragassay.workbench.bank_parts import split_banks

    file = opened_bank(bank)
    names = [item_of(file, name)[1].id for name in secret] if secret else None
    found = split_banks(file.banks, share=share, seed=seed, secret=names)
    write_new_bank(found.public, target)
    write_new_bank(found.secret, hidden)
    for title in found.one_sided:
        typer.echo(f"{title} is in one part only", err=True)
    return partial_if(file.rejections, found.one_sided)


@app.command()
def merge(banks: Annotated[list[Path], Argument(metavar="BANK...")], *, target: Target) -> int:
    """Merge test banks: each item once, with the known answers and the history of all.

    Exit codes: 0 done; 1 error; 3 some input was rejected, or banks contradict each other; then the
    first one's word is taken.

    Options:
        banks: Test banks.
    """
    from ragassay.runs.banks import write_new_bank
    from ragassay.workbench.bank_parts import merged_banks

    files = [opened_bank(path) for path in banks]
    found = merged_banks([file.banks for file in files])
    write_new_bank(found.banks, target)
    for conflict in found.conflicts:
        typer.echo(f"conflict: {conflict}", err=True)
    return PARTIAL if found.conflicts or any(file.rejections for file in files) else OK


@app.command()
@takes(Keywords, "corpus", "embedder")
def lint(
    bank: BankArgument,
    *,
    query: Annotated[str, Option(metavar="ID")] = "",
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[Keywords],
) -> int:
    """Find items that are bad for grading, and say how to improve them.

    Leading questions ("isn't it?"), questions that contain their known answer, two questions in
    one, questions to the reader ("Have you ..."), questions without a clear subject ("the show"),
    and items that repeat another one. With --corpus also items to which no document is similar.
    This is only a hint: most unanswerable items look answerable.

    For example:

      ragassay testbank lint bank.jsonl.gz --corpus documents.jsonl

    Exit codes: 0 nothing found; 1 error; 3 something was found, or some input was rejected.

    Options:
        query: Only this query.
    """
    from ragassay.workbench.bank_lint import lint_file

    file = opened_bank(bank)
    found = lint_file(
        file,
        settings_of(options, style="flag"),
        options.get("corpus"),
        query=query,
        is_shown=not quiet,
    )
    print_lints(found, as_json)
    return partial_if(found, file.rejections)
