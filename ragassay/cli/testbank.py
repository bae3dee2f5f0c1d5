"""`ragassay testbank`: exam questions and nuggets by which responses are graded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Unpack

import typer

from ragassay.cli.exits import PARTIAL, errors_as_lines
from ragassay.cli.options import Json, Quiet, takes
from ragassay.cli.testbank_made import Kind, Target, create, import_bank, queries
from ragassay.options import Keywords, settings_of

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
    Path, typer.Argument(metavar="BANK", help="Test banks, as `ragassay testbank` writes them.")
]


@app.command()
def show(
    bank: BankArgument,
    *,
    query: Annotated[str, typer.Option(metavar="ID", help="Only this query.")] = "",
    history: Annotated[
        bool, typer.Option("--history", help="Who changed what, when and why.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the items of a test bank as people left them.

    An item is named by the beginning of its id, as shown.

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.testbank_shown import opened_bank, print_banks
        from ragassay.errors import InputError

        file = opened_bank(bank)
        chosen = [one for one in file.banks if query in ("", one.query_id)]
        if not chosen:
            raise InputError(f"{bank} has no query {query!r}")
        print_banks(chosen, history, as_json)
    if file.rejections:
        raise typer.Exit(PARTIAL)


@app.command()
def edit(
    bank: BankArgument,
    *,
    who: Annotated[str, typer.Option(metavar="NAME", help="Who changes it.")],
    why: Annotated[str, typer.Option(metavar="REASON", help="Why.")] = "",
    item: Annotated[
        str, typer.Option(metavar="ID", help="The item, by its id or the beginning of it.")
    ] = "",
    text: Annotated[str | None, typer.Option(help="Its new text.")] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(help="Its known answers, in place of those before; repeat for more."),
    ] = None,
    secret: Annotated[
        bool | None, typer.Option("--secret/--public", help="Whether systems may not see it.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Leave the item out.")] = False,
    add: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="QUERY TEXT", help="A new item; with --kind, --facet, --answer."),
    ] = None,
    kind: Kind = None,
    facet: Annotated[str, typer.Option(metavar="ID", help="Part of the query.")] = "",
    undo: Annotated[
        str, typer.Option(metavar="NAME|last", help="Take a change back: its name in --history.")
    ] = "",
    query: Annotated[str, typer.Option(metavar="ID", help="Edit only this query.")] = "",
    out: Annotated[
        Path | None,
        typer.Option(help="Write the changed bank there too, with the history in each item."),
    ] = None,
) -> None:
    """Change a test bank: in your editor, or by option.

    Ids stay though texts change. BANK itself stays as it is: what is changed is added to
    BANK.reviews.jsonl with who, when and why, and every command reads both. Where two people
    changed the same, the later word counts.

    For example:

      ragassay testbank edit bank.jsonl.gz --who ada

      ragassay testbank edit bank.jsonl.gz --who ada --item a4c82219 --text "Who began it?"

      ragassay testbank edit bank.jsonl.gz --who ada --add q1 "Where?" --why "p3 tells it"

      ragassay testbank edit bank.jsonl.gz --who ada --undo last

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.testbank_shown import edit_bank, opened_bank
        from ragassay.runs.testbank_edit import Asked, Author
        from ragassay.runs.testbanks import write_new_bank

        asked = Asked(item, text, answer, secret, remove, add, kind, facet, undo)
        file = edit_bank(opened_bank(bank), asked, Author(who, why), query)
        if out:
            write_new_bank(file.banks, out)
    if file.rejections:
        raise typer.Exit(PARTIAL)


@app.command()
def split(
    bank: BankArgument,
    *,
    target: Annotated[Path, typer.Option("--out", help="The file of the public part.")],
    hidden: Annotated[Path, typer.Option("--secret-out", help="The file of the secret part.")],
    share: Annotated[float, typer.Option(help="Fraction that becomes secret.")] = 0.5,
    seed: Annotated[int, typer.Option(min=0, help="Draws the secret items.")] = 0,
    secret: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="This item is secret, in place of a share; repeat."),
    ] = None,
) -> None:
    """Split a test bank into a public and a secret part, so that no system studies to the test.

    Each query is in both parts, and each part of a query. Secret items stay secret.

    For example:

      ragassay testbank split bank.jsonl.gz --out public.jsonl.gz --secret-out secret.jsonl.gz

    Exit codes: 0 done; 1 error; 3 some input was rejected, or one part lacks a query.
    """
    with errors_as_lines():
        from ragassay.cli.testbank_shown import opened_bank
        from ragassay.runs.testbank_edit import item_of
        from ragassay.runs.testbank_parts import split_banks
        from ragassay.runs.testbanks import write_new_bank

        file = opened_bank(bank)
        names = [item_of(file, name)[1].id for name in secret] if secret else None
        found = split_banks(file.banks, share=share, seed=seed, secret=names)
        write_new_bank(found.public, target)
        write_new_bank(found.secret, hidden)
        for title in found.one_sided:
            typer.echo(f"{title} is in one part only", err=True)
    if file.rejections or found.one_sided:
        raise typer.Exit(PARTIAL)


@app.command()
def merge(
    banks: Annotated[list[Path], typer.Argument(metavar="BANK...", help="Test banks.")],
    *,
    target: Target,
) -> None:
    """Merge test banks: each item once, with the known answers and the history of all.

    Exit codes: 0 done; 1 error; 3 some input was rejected, or banks contradict each other; then the
    first one's word is taken.
    """
    with errors_as_lines():
        from ragassay.cli.testbank_shown import opened_bank
        from ragassay.runs.testbank_parts import merged_banks
        from ragassay.runs.testbanks import write_new_bank

        files = [opened_bank(path) for path in banks]
        found = merged_banks([file.banks for file in files])
        write_new_bank(found.banks, target)
        for conflict in found.conflicts:
            typer.echo(f"conflict: {conflict}", err=True)
    if found.conflicts or any(file.rejections for file in files):
        raise typer.Exit(PARTIAL)


@app.command()
@takes(Keywords, "corpus", "embedder")
def lint(
    bank: BankArgument,
    *,
    query: Annotated[str, typer.Option(metavar="ID", help="Only this query.")] = "",
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[Keywords],
) -> None:
    """Find items that grade badly, and say how to mend them.

    Leading questions ("isn't it?") and such that tell their known answer, two questions in one,
    questions to the reader ("Have you ..."), questions that do not say what they are about ("the
    show"), and items that say what another one does. With --corpus also items to which no document
    comes close: a hint, as most of what is unanswerable looks answerable.

    For example:

      ragassay testbank lint bank.jsonl.gz --corpus documents.jsonl

    Exit codes: 0 nothing found; 1 error; 3 something was found, or some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.testbank_shown import opened_bank, print_lints
        from ragassay.runs.testbank_lint import lint_file

        file = opened_bank(bank)
        found = lint_file(
            file,
            settings_of(options, spelled="flag"),
            options.get("corpus"),
            query=query,
            is_shown=not quiet,
        )
        print_lints(found, as_json)
    if found or file.rejections:
        raise typer.Exit(PARTIAL)
