"""Help in two sizes: `--help` on one screen, `--help-all` with every option by group."""

from __future__ import annotations

import copy
import functools
import re
from typing import Any

import typer
import typer.core

from ragassay.options import HEADINGS, EvaluateKeywords, options_of

MOST_USED = ("corpus", "model", "only", "out", "fail_under", "audit", "dry_run")
"""Options on the one screen."""

N_EXAMPLES, LONG = 3, 170
"""On the one screen: examples, and most characters of a sentence before it is cut."""

EXAMPLE = "  ragassay "
REST = "Output"
"""Options of a command that are in no group of settings."""


class ShortHelp(typer.core.TyperCommand):
    """A command with many options, of which `--help` shows those that people use most."""

    @functools.cached_property
    def _help_all(self) -> Any:
        """The option `--help-all`, which is made of `--help`."""
        option: Any = copy.copy(self.get_help_option(typer.Context(self)))
        option.name, option.opts = "help_all", ["--help-all"]
        option.help = "Show every option, by group, and exit."
        option.callback = _show_all
        return option

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, `--help-all` last."""
        return [*super().get_params(ctx), self._help_all]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the description; on the one screen with the first examples alone."""
        command: Any = copy.copy(self)
        if not _shows_all(ctx):
            command.help = shortened(self.help or "")
        typer.core.TyperCommand.format_help_text(command, ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options: the most used, in one sentence each, or all by group."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        groups |= {name: [] for name in HEADINGS} if _shows_all(ctx) else {"Options": []}
        options = options_of(EvaluateKeywords)
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if not _shows_all(ctx):
                row = row[0], first_sentence(row[1])
            if param.param_type_name == "argument":
                groups["Arguments"].append(row)
            elif _shows_all(ctx):
                option = options.get(param.name)
                groups[option.group if option else REST].append(row)
            elif param.name in (*MOST_USED, "help", "help_all"):
                groups["Options"].append(row)
        for name, rows in groups.items():
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows)


def shortened(text: str) -> str:
    """Return a description without its examples after the first few."""
    paragraphs = text.split("\n\n")
    examples = [one for one in paragraphs if one.startswith(EXAMPLE)]
    left_out = examples[N_EXAMPLES:]
    return "\n\n".join(one for one in paragraphs if one not in left_out)


def first_sentence(text: str) -> str:
    """Return the first sentence of a help; of a long one what stands before its colon."""
    sentence = re.split(r"; |(?<!e\.g)\. ", text, maxsplit=1)[0]
    if len(sentence) > LONG:
        sentence = sentence.partition(": ")[0]
    return sentence.removesuffix(".") + "."


def _shows_all(ctx: Any) -> bool:
    return bool(ctx.meta.get("help_all"))


def _show_all(ctx: Any, param: Any, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta["help_all"] = True
        typer.echo(ctx.get_help())
        ctx.exit()
