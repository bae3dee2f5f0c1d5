"""`ragassay prompts`: list and show prompts, and compare compiled ones with the shipped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragassay.cli.exits import errors_as_lines

app = typer.Typer(
    name="prompts",
    help="Prompts: list them, show one as a model sees it, compare a compiled one.",
    no_args_is_help=True,
)

N_CHARS = 60
"""Characters of an instruction in a list."""


@app.command("list")
def list_prompts() -> None:
    """List the agents: the first words of their prompt, its hash, its fields.

    Those with a star can be compiled by `ragassay optimize`.
    """
    with errors_as_lines():
        from ragassay.optimizers.compiling.showing import prompt_lines
        from ragassay.reports.sheets import Sheet, sheet_table, words
        from ragassay.terminal import open_console

        rows: list[tuple[str, ...]] = []
        for line in prompt_lines():
            fields = f"{', '.join(line.inputs)} -> {', '.join(line.outputs)}"
            star = " *" if line.can_compile else ""
            said = line.instruction[:N_CHARS].rstrip() + "..."
            rows.append((line.name + star, line.sha256[:12], fields, said))
        columns = words("agent", "SHA-256", "fields", "says")
        open_console().print(sheet_table(Sheet("", columns, tuple(rows))))


@app.command()
def show(
    agent: Annotated[str, typer.Argument(help="The agent, as `ragassay prompts list` names it.")],
    prompts: Annotated[
        Path | None, typer.Option(metavar="PATH", help="With this compiled prompt.")
    ] = None,
) -> None:
    """Show the whole prompt of an agent as a model sees it.

    Angle brackets mark the parts that differ from call to call.
    """
    with errors_as_lines():
        from ragassay.optimizers.compiling.showing import agent_of, full_prompt
        from ragassay.prompts.compiled import read_compiled

        chosen = agent_of(agent)
        if prompts is not None:
            chosen.use(read_compiled(prompts).model_copy(update={"rubrics": ()}))
        typer.echo(full_prompt(chosen))


@app.command()
def diff(
    path: Annotated[Path, typer.Argument(help="A file that `ragassay optimize` wrote.")],
) -> None:
    """Compare a compiled prompt with the shipped one: a unified diff, then its examples."""
    with errors_as_lines():
        from ragassay.optimizers.compiling.showing import prompt_diff
        from ragassay.prompts.compiled import read_compiled

        typer.echo(prompt_diff(read_compiled(path)))
