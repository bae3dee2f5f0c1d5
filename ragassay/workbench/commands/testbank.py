"""`ragassay testbank`: show, edit, split, merge and lint test banks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import OK, PARTIAL, choose_exit_code
from ragassay.cli.options import Json, Quiet, add_options
from ragassay.cli.terminal import (
    edit_in_editor,
    print_notes,
    print_rejections,
    print_sheets,
    require_terminal,
)
from ragassay.errors import InputError
from ragassay.options import Keywords, create_settings
from ragassay.reports.display import count_text
from ragassay.reports.labels import flatten_text
from ragassay.workbench.commands.testbank_create import Kind, Target, create, import_bank, queries

if TYPE_CHECKING:
    from ragassay.runs.banks import BankFile


def open_bank_file(path: Path) -> BankFile:
    """Read a test bank with all edits, and print rejected lines."""
    from ragassay.runs.banks import read_bank_file

    file = read_bank_file(path)
    print_rejections(file.rejections)
    if file.n_stray:
        typer.echo(f"{file.n_stray} changes refer to items that are not in {path}", err=True)
    return file


app = typer.Typer(
    help="Create, import, edit and check test banks: exam questions and nuggets for grading "
    "responses."
)
app.command()(create)
app.command("import")(import_bank)
app.command()(queries)

BankArgument = Annotated[
    Path, Argument(metavar="BANK", help="Test bank file written by `ragassay testbank`.")
]


@app.command()
def show(
    bank: BankArgument,
    *,
    query: Annotated[str, Option(metavar="ID")] = "",
    history: bool = False,
    as_json: Json = False,
) -> int:
    """Show the items of a test bank, including all edits.

    The item ids are shortened; other commands accept the short ids.

    Options:
        query: Show only the items of this query.
        history: Also show who changed what, when and why.
    """
    from ragassay.runs.banks import collect_history
    from ragassay.workbench.tables import build_history_sheet, build_items_sheet, list_bank_rows

    file = open_bank_file(bank)
    chosen = [one for one in file.banks if query in ("", one.query_id)]
    if not chosen:
        raise InputError(f"{bank} contains no query {query!r}")
    for one in chosen:
        if as_json:
            for row in list_bank_rows(one, history):
                typer.echo(json.dumps(row, ensure_ascii=False))
            continue
        print_sheets(build_items_sheet(one))
        if history and (history_rows := collect_history(one)):
            print_sheets(build_history_sheet(history_rows))
    return choose_exit_code(file.rejections)


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
    """Edit a test bank in your editor or with options.

    Item ids stay the same. BANK itself is not modified: changes are appended to
    BANK.reviews.jsonl with author, time and reason, and every command reads both files. If two
    people change the same item, the later change wins.

    For example:

      ragassay testbank edit bank.jsonl.gz --who ada
      ragassay testbank edit bank.jsonl.gz --who ada --item a4c82219 --text "Who began it?"
      ragassay testbank edit bank.jsonl.gz --who ada --add q1 "Where?" --why "p3 tells it"
      ragassay testbank edit bank.jsonl.gz --who ada --undo last

    Options:
        who: Your name.
        why: Reason for the change.
        item: Id of the item to change, or the start of its id.
        text: New text of the item.
        answer: New known answer, replacing all previous ones.
        secret: Whether to hide the item from systems.
        remove: Remove the item given by --item.
        add: Add an item to a query; can be combined with --kind, --facet and --answer.
        facet: With --add: facet of the query to which the new item belongs.
        undo: Name of the change to undo, as shown by `testbank show --history`.
        query: Edit only items of this query.
        out: Also write the edited test bank, including the history of each item, to this file.
    """
    from ragassay.runs.banks import read_bank_file, write_new_bank
    from ragassay.workbench import bank_edit
    from ragassay.workbench.tables import build_history_sheet

    changes = bank_edit.ItemChanges(item, text, answer, secret, remove, add, kind, facet, undo)
    file, author = open_bank_file(bank), bank_edit.Author(who, why)
    if changes.is_empty:
        require_terminal("--item ID with --text, --answer or --remove, or --add QUERY TEXT")
        new = bank_edit.edit_banks(file, edit_in_editor, author, print_notes, query)
    else:
        new = bank_edit.append_reviews(file, bank_edit.build_change_reviews(file, changes, author))
    if new:
        print_sheets(build_history_sheet(new))
    else:
        typer.echo("nothing changed")
    if out:
        write_new_bank(read_bank_file(file.path).banks, out)
    return choose_exit_code(file.rejections)


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
    """Split a test bank into a public and a secret part.

    If the secret part stays hidden, no system can be tuned on the whole test bank. Both parts
    contain every query and every facet. Items that are already marked as secret are put into the
    secret part.

    For example:

      ragassay testbank split bank.jsonl.gz --out public.jsonl.gz --secret-out secret.jsonl.gz

    Options:
        target: Output file for the public part.
        hidden: Output file for the secret part.
        share: Share of items to put into the secret part.
        seed: Random seed for choosing secret items.
        secret: Item to put into the secret part, instead of a random share.
    """
    from ragassay.runs.banks import write_new_bank
    from ragassay.workbench.bank_edit import find_bank_item
    from ragassay.workbench.bank_parts import split_banks

    file = open_bank_file(bank)
    names = [find_bank_item(file, name)[1].id for name in secret] if secret else None
    found = split_banks(file.banks, share=share, seed=seed, secret=names)
    write_new_bank(found.public, target)
    write_new_bank(found.secret, hidden)
    for title in found.one_sided:
        typer.echo(f"{title} is in only one of the two parts", err=True)
    return choose_exit_code(file.rejections, found.one_sided)


@app.command()
def merge(banks: Annotated[list[Path], Argument(metavar="BANK...")], *, target: Target) -> int:
    """Merge test banks.

    The known answers and histories of identical items are combined. If two test banks contradict
    each other, the first one counts, and the exit code is 3.

    Options:
        banks: Test banks to merge.
    """
    from ragassay.runs.banks import write_new_bank
    from ragassay.workbench.bank_parts import merge_banks

    files = [open_bank_file(path) for path in banks]
    found = merge_banks([file.banks for file in files])
    write_new_bank(found.banks, target)
    for conflict in found.conflicts:
        typer.echo(f"conflict: {conflict}", err=True)
    return PARTIAL if found.conflicts or any(file.rejections for file in files) else OK


@app.command()
@add_options(Keywords, "corpus", "embedder")
def lint(
    bank: BankArgument,
    *,
    query: Annotated[str, Option(metavar="ID")] = "",
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[Keywords],
) -> int:
    """Find items that are unsuitable for grading.

    The checks find leading questions ("isn't it?"), questions that contain their known answer,
    double questions, questions to the reader ("Have you ..."), questions without a clear subject
    ("the show"), and duplicates. With --corpus, the checks also flag items with no similar document
    in the corpus. A flagged item may be unanswerable, but most unanswerable items are not flagged.

    For example:

      ragassay testbank lint bank.jsonl.gz --corpus documents.jsonl

    Exit codes: 0 no flaws found; 1 error; 3 flaws were found, or some input was rejected.

    Options:
        query: Check only items of this query.
    """
    from ragassay.workbench.bank_lint import TITLES, lint_file
    from ragassay.workbench.tables import shorten_id

    file = open_bank_file(bank)
    found = lint_file(
        file,
        create_settings(options, style="flag"),
        options.get("corpus"),
        query=query,
        is_shown=not quiet,
    )
    for one in found:
        if as_json:
            typer.echo(json.dumps(dataclasses.asdict(one), ensure_ascii=False))
            continue
        typer.echo(flatten_text(f"{one.query} {shorten_id(one.item)}: {one.text}"))
        typer.echo(flatten_text(f"    {TITLES[one.kind]}: {one.why}; {one.mend}"))
    if not as_json:
        items = count_text(len({(one.query, one.item) for one in found}), "item")
        flaws = count_text(len(found), "flaw")
        typer.echo(f"{flaws} in {items}" if found else "no flaws found")
    return choose_exit_code(found, file.rejections)
