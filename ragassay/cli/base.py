"""Conventions of all commands: exit codes, errors as one line, help in two sizes."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn, get_args, get_origin

import typer
import typer.core
from typer import Argument, Option

from ragassay.safe_text import safe_streams, write_red

if TYPE_CHECKING:
    from ragassay.records import Audit, Rejection
    from ragassay.results import Results


OK = 0
FAILED = 1
USAGE = 2
PARTIAL = 3
"""Some of the input was rejected, or some record or verdict failed."""

BELOW = 4
"""A score is below its `--fail-under`."""

UNMEASURED = 5
"""A score with a `--fail-under` could not be measured, or undecided verdicts leave it open."""

USUAL_CODES = "Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected."

MAX_SHOWN = 300
"""Longest name of a file in an error."""


class LazyCommands(Mapping[str, Any]):
    """Commands by name; the module of a command is imported when it is looked up."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            module, _, attribute = self._places[name].partition(":")
            found = getattr(importlib.import_module(f"ragassay.cli.{module}"), attribute)
            parent = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
            if isinstance(found, typer.Typer):
                for info in found.registered_commands:
                    info.cls, info.help = PlainCommand, describe_options(info.callback)
                parent.add_typer(found)
            else:
                cls = ShortHelp if name in LONG else PlainCommand
                parent.command(name, cls=cls, help=describe_options(found))(found)
            self._loaded[name] = typer.main.get_group(parent).commands[name]
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def describe_options(command: Any) -> str:
    """Give the options of a command the help that stands under "Options:" in its docstring.

    Returns:
        The docstring without them; of a command with an exit code that names none, with the usual.
    """
    text, _, entries = inspect.cleandoc(command.__doc__ or "").partition("\n\nOptions:\n")
    helps = dict(re.findall(r"(?m)^ {4}(\w+): (.*(?:\n {8}.*)*)", entries))
    signature, described = inspect.signature(command, eval_str=True), []
    if signature.return_annotation is int and "Exit codes:" not in text:
        text += f"\n\n{USUAL_CODES}"
    for param in signature.parameters.values():
        if param.name in helps:
            is_marked = get_origin(param.annotation) is Annotated
            kind, *marks = get_args(param.annotation) if is_marked else [param.annotation]
            is_argument = param.default is param.empty
            flags = [f"--{param.name.replace('_', '-')}"] if param.default is False else []
            info = Argument() if is_argument else Option(*flags)  # without a --no-...
            info = copy.copy(marks[0]) if marks else info
            info.help = " ".join(helps[param.name].split())
            param = param.replace(annotation=Annotated[kind, info])
        described.append(param)
    command.__signature__ = signature.replace(parameters=described)
    return text


class LazyGroup(typer.core.TyperGroup):
    """The whole command line: commands under headings, errors in our words, safe for a terminal.

    A command returns its exit code, or None for `OK`.
    """

    table: ClassVar[Mapping[str, Mapping[str, tuple[str, str]]]]
    """By heading and name: the place of a command's code, and its line in the help."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        places = {name: place for part in self.table.values() for name, (place, _) in part.items()}
        self.commands: Any = LazyCommands(places)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings."""
        width = max(map(len, self.commands))
        for heading, part in self.table.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), line) for name, (_, line) in part.items()])

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line."""
        with safe_streams():
            return super().main(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run a command, and exit with its code, or with an error in one line."""
        try:
            code = super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("stopped; the same command continues from here", err=True)
            raise typer.Exit(130) from None
        except typer.Exit:
            raise
        except Exception as error:
            _end_with(error)
            raise
        if code:
            raise typer.Exit(code)


def _end_with(error: Exception) -> None:
    """Print an error of ours, or of a file, as one line on stderr, and exit.

    The exit code is `FAILED`; `USAGE` where a library is to be installed first.
    A usage error of Typer's gets our words; other errors are left as they are.
    """
    from ragassay.errors import ExtraError, RagassayError, plain_words

    if isinstance(error, RagassayError):
        _fail(str(error), error, USAGE if isinstance(error, ExtraError) else FAILED)
    if isinstance(error, OSError) and error.filename is not None:
        _fail(f"{str(error.filename)[:MAX_SHOWN]}: {error.strerror}", error)
    is_usage = not isinstance(error, ExceptionGroup)
    if is_usage and isinstance(getattr(error, "message", None), str):
        error.message = plain_words(error.message)  # type: ignore[attr-defined]


def results_code(results: Results) -> int:
    """Print which thresholds were missed, and return the exit code of an evaluation."""
    for _, line in results.verdicts:
        if line:
            typer.echo(line, err=True)
    kinds = {kind for kind, _ in results.verdicts}
    if results.summary.judged_nothing:
        return FAILED
    if kinds - {"reached"}:
        return BELOW if "below" in kinds else UNMEASURED
    return PARTIAL if results.is_partial else OK


def audit_code(audit: Audit, strict: bool, rejections: Sequence[Rejection]) -> int:
    """Return the exit code of an audit."""
    if strict and any(line.trust == "blind" for line in audit.certificate):
        return BELOW
    return PARTIAL if audit.is_partial or rejections else OK


def partial_if(*signs: object) -> int:
    """Return `PARTIAL` where one of these is true, or has entries; else `OK`."""
    return PARTIAL if any(signs) else OK


def _fail(why: str, error: Exception, code: int = FAILED) -> NoReturn:
    say = write_red if _is_colourful() else partial(typer.echo, err=True)
    say(f"error: {why}")
    raise typer.Exit(code) from error


def _is_colourful() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ


MOST_USED = ("corpus", "model", "only", "out", "fail_under", "audit", "dry_run")
"""Options on the one screen."""

N_EXAMPLES, N_CHARS = 3, 170
"""On the one screen: examples, and most characters of a sentence before it is cut."""

LONG = ("evaluate",)
"""Commands with so many options that `--help` shows the most used."""

EXAMPLE = "  ragassay "
REST = "Output"
"""Options of a command that are in no group of settings."""


class PlainCommand(typer.core.TyperCommand):
    """A command whose examples stand below each other in its help."""

    def most_examples(self, ctx: Any) -> int | None:
        """Return how many examples of a paragraph are shown; None for all."""
        return None

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the description."""
        for paragraph in (self.help or "").split("\n\n"):
            formatter.write_paragraph()
            for example in _examples(paragraph)[: self.most_examples(ctx)]:
                lines = textwrap.wrap(example, formatter.width - 8, break_on_hyphens=False)
                formatter.write("    " + "\n        ".join(lines) + "\n")
            if not _examples(paragraph):
                with formatter.indentation():
                    formatter.write_text(paragraph)


class ShortHelp(PlainCommand):
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

    def most_examples(self, ctx: Any) -> int | None:
        """Return how many examples of a paragraph are shown; None for all."""
        return None if _shows_all(ctx) else N_EXAMPLES

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options: the most used, in one sentence each, or all by group."""
        from ragassay.options import HEADINGS, EvaluateKeywords, options_of

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


def _examples(paragraph: str) -> list[str]:
    """Return the examples of a paragraph, a long one in one line; none of other paragraphs."""
    if not paragraph.startswith(EXAMPLE):
        return []
    return [line.strip() for line in re.sub(r"\n {3,}", " ", paragraph).splitlines()]


def first_sentence(text: str) -> str:
    """Return the first sentence of a help; of a long one what stands before its colon."""
    sentence = re.split(r"; |(?<!e\.g)\. ", text, maxsplit=1)[0]
    if len(sentence) > N_CHARS:
        sentence = sentence.partition(": ")[0]
    return sentence.removesuffix(".") + "."


def _shows_all(ctx: Any) -> bool:
    return bool(ctx.meta.get("help_all"))


def _show_all(ctx: Any, param: Any, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta["help_all"] = True
        typer.echo(ctx.get_help())
        ctx.exit()
