"""Parts of `ragassay testbank`: open a bank, print it, let a person edit it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ragassay.formats import RubricBank
    from ragassay.runs.testbank_edit import Asked, Author
    from ragassay.runs.testbank_lint import Lint
    from ragassay.runs.testbanks import BankFile


def opened_bank(path: Path) -> BankFile:
    """Return a bank as people left it; report unreadable lines."""
    from ragassay.cli.output import print_rejections
    from ragassay.runs.testbanks import read_bank_file

    file = read_bank_file(path)
    print_rejections(file.rejections)
    if file.n_stray:
        typer.echo(f"{file.n_stray} changes are of items that {path} does not have", err=True)
    return file


def print_banks(banks: Sequence[RubricBank], with_history: bool, as_json: bool) -> None:
    """Print items, and who changed them."""
    from ragassay.reports.sheets import sheet_table
    from ragassay.reports.testbanks import bank_rows, history_sheet, items_sheet
    from ragassay.runs.testbanks import all_history
    from ragassay.terminal import open_console

    if as_json:
        for row in (row for bank in banks for row in bank_rows(bank, with_history)):
            typer.echo(json.dumps(row, ensure_ascii=False))
        return
    console = open_console()
    for bank in banks:
        console.print(sheet_table(items_sheet(bank)))
        if with_history and (said := all_history(bank)):
            console.print(sheet_table(history_sheet(said)))


def print_lints(found: Sequence[Lint], as_json: bool) -> None:
    """Print what is wrong with items, a line each, and how to mend it."""
    from ragassay.reports.labels import one_line
    from ragassay.reports.testbanks import short_id
    from ragassay.reports.text import count_text
    from ragassay.runs.testbank_lint import TITLES

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


def edit_bank(file: BankFile, asked: Asked, author: Author, query: str) -> BankFile:
    """Change a bank by option, or in the user's editor; print what was changed."""
    from ragassay.cli.editor import edit_in_editor, require_terminal
    from ragassay.reports.sheets import sheet_table
    from ragassay.reports.testbanks import history_sheet
    from ragassay.runs.testbank_edit import asked_reviews, kept
    from ragassay.runs.testbank_text import edited_by_hand
    from ragassay.runs.testbanks import read_bank_file
    from ragassay.terminal import open_console

    if asked.is_empty:
        require_terminal("--item ID with --text, --answer or --remove, or --add QUERY TEXT")
        new = edited_by_hand(
            file, edit_in_editor, author, lambda told: typer.echo(told, err=True), query
        )
    else:
        new = kept(file, asked_reviews(file, asked, author))
    if new:
        open_console().print(sheet_table(history_sheet(new)))
    else:
        typer.echo("nothing changed")
    return read_bank_file(file.path)
