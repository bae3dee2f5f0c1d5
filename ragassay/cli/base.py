"""Shared behaviour of all commands: exit codes, one-line errors, and help formatting."""

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

from ragassay.safe_text import use_safe_streams, write_red

if TYPE_CHECKING:
    from ragassay.records import Audit, Rejection
    from ragassay.results import Results


OK = 0
FAILED = 1
USAGE = 2
PARTIAL = 3
"""Exit code if part of the input was rejected, or if a record or verdict failed."""

BELOW = 4
"""Exit code if a score is below its `--fail-under` minimum."""

UNMEASURED = 5
"""Exit code if a score in `--fail-under` could not be measured, or depends on undecided
verdicts."""

USUAL_CODES = (
    "Exit codes: 0 success; 1 error; 2 usage error; 3 some input was rejected or could not be "
    "processed."
)

MAX_SHOWN = 300
"""Maximum number of characters of a file name in an error message."""


class LazyCommands(Mapping[str, Any]):
    """Commands by name. A command's module is imported on first lookup."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        self._targets = targets
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            module, _, attribute = self._targets[name].partition(":")
            command = getattr(importlib.import_module(f"ragassay.{module}"), attribute)
            parent = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
            if isinstance(command, typer.Typer):
                for info in command.registered_commands:
                    info.cls, info.help = PlainCommand, describe_options(info.callback)
                has_callback = command.registered_callback is not None
                parent.add_typer(command, name=name, no_args_is_help=not has_callback)
            else:
                cls = ShortHelp if name in LONG else PlainCommand
                parent.command(name, cls=cls, help=describe_options(command))(command)
            self._loaded[name] = typer.main.get_group(parent).commands[name]
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets)

    def __len__(self) -> int:
        return len(self._targets)


def describe_options(command: Any) -> str:
    """Use the "Options:" section of a command's docstring as the help of its options.

    Returns:
        The docstring without the "Options:" section. If a command returns an exit code and its
        docstring lists no exit codes, the usual ones are added.
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
            info = Argument() if is_argument else Option(*flags)  # Omits the --no-... flag.
            info = copy.copy(marks[0]) if marks else info
            info.help = " ".join(helps[param.name].split())
            is_list = any(get_origin(part) is list for part in (kind, *get_args(kind)))
            info.help += " Can be repeated." * (is_list and not is_argument)
            param = param.replace(annotation=Annotated[kind, info])
        described.append(param)
    command.__signature__ = signature.replace(parameters=described)
    return text


class LazyGroup(typer.core.TyperGroup):
    """The command group of ragassay, with headings, one-line errors and escaped output.

    A command returns its exit code, or None for `OK`.
    """

    table: ClassVar[Mapping[str, Mapping[str, tuple[str, str]]]]
    """`module:function` within ragassay and summary of each command, by heading and name."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        sections = self.table.values()
        self.commands: Any = LazyCommands(
            {name: target for section in sections for name, (target, _) in section.items()}
        )

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands in help order."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings."""
        width = max(map(len, self.commands))
        for heading, commands in self.table.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(name.ljust(width), text) for name, (_, text) in commands.items()]
                )

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line, and escape control characters in its output."""
        with use_safe_streams():
            return super().main(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run a command and exit with its code, or with a one-line error."""
        try:
            code = super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("stopped; run the same command again to continue", err=True)
            raise typer.Exit(130) from None
        except typer.Exit:
            raise
        except Exception as error:
            _report_error(error)
            raise
        if code:
            raise typer.Exit(code)


def _report_error(error: Exception) -> None:
    """Print an error of ragassay or of the file system as one line on stderr, and exit.

    The exit code is `FAILED`, or `USAGE` if a library has to be installed. Typer's usage errors get
    simpler messages, and other errors are left unchanged.
    """
    from ragassay.errors import ExtraError, RagassayError, simplify_message

    if isinstance(error, RagassayError):
        _fail(str(error), error, USAGE if isinstance(error, ExtraError) else FAILED)
    if isinstance(error, OSError) and error.filename is not None:
        _fail(f"{str(error.filename)[:MAX_SHOWN]}: {error.strerror}", error)
    is_usage = not isinstance(error, ExceptionGroup)
    if is_usage and isinstance(getattr(error, "message", None), str):
        error.message = simplify_message(error.message)  # type: ignore[attr-defined]


def choose_results_exit_code(results: Results) -> int:
    """Print the scores that miss a threshold, and return the exit code of an evaluation."""
    for _, line in results.verdicts:
        if line:
            typer.echo(line, err=True)
    kinds = {kind for kind, _ in results.verdicts}
    if results.summary.judged_nothing:
        return FAILED
    if kinds - {"reached"}:
        return BELOW if "below" in kinds else UNMEASURED
    return PARTIAL if results.is_partial else OK


def choose_audit_exit_code(audit: Audit, strict: bool, rejections: Sequence[Rejection]) -> int:
    """Return the exit code of an audit."""
    if strict and any(line.trust == "blind" for line in audit.certificate):
        return BELOW
    return PARTIAL if audit.is_partial or rejections else OK


def choose_exit_code(*problems: object) -> int:
    """Return `PARTIAL` if any argument is true or not empty, else `OK`."""
    return PARTIAL if any(problems) else OK


def _fail(message: str, error: Exception, code: int = FAILED) -> NoReturn:
    has_color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    write = write_red if has_color else partial(typer.echo, err=True)
    write(f"error: {message}")
    raise typer.Exit(code) from error


MOST_USED = ("corpus", "model", "only", "out", "fail_under", "audit", "dry_run")
"""Options shown by `ragassay evaluate --help`."""

N_EXAMPLES, N_CHARS = 3, 170
"""Maximum number of examples, and maximum length of an option's text, in `--help`."""

LONG = ("evaluate",)
"""Commands whose `--help` shows only the most common options."""

EXAMPLE = "  ragassay "
REST = "Output"
"""Heading for options that have no group."""


class PlainCommand(typer.core.TyperCommand):
    """A command whose help shows each example on a separate line."""

    def choose_max_examples(self, ctx: Any) -> int | None:
        """Return the maximum number of examples to show per paragraph; None for all."""
        return None

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the description."""
        for paragraph in (self.help or "").split("\n\n"):
            formatter.write_paragraph()
            for example in _split_examples(paragraph)[: self.choose_max_examples(ctx)]:
                lines = textwrap.wrap(example, formatter.width - 8, break_on_hyphens=False)
                formatter.write("    " + "\n        ".join(lines) + "\n")
            if not _split_examples(paragraph):
                with formatter.indentation():
                    formatter.write_text(paragraph)


class ShortHelp(PlainCommand):
    """A command that shows common options with `--help`, and all options with `--help-all`."""

    @functools.cached_property
    def _help_all(self) -> Any:
        option: Any = copy.copy(self.get_help_option(typer.Context(self)))
        option.name, option.opts = "help_all", ["--help-all"]
        option.help = "Show all options by group and exit."
        option.callback = _show_all
        return option

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with `--help-all` last."""
        return [*super().get_params(ctx), self._help_all]

    def choose_max_examples(self, ctx: Any) -> int | None:
        """Return the maximum number of examples to show per paragraph; None for all."""
        return None if _is_full_help(ctx) else N_EXAMPLES

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the common options with one sentence each, or all options by group."""
        from ragassay.options import HEADINGS, EvaluateKeywords, list_options

        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        groups |= {name: [] for name in HEADINGS} if _is_full_help(ctx) else {"Options": []}
        options = list_options(EvaluateKeywords)
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if not _is_full_help(ctx):
                row = row[0], extract_first_sentence(row[1])
            if param.param_type_name == "argument":
                groups["Arguments"].append(row)
            elif _is_full_help(ctx):
                option = options.get(param.name)
                groups[option.group if option else REST].append(row)
            elif param.name in (*MOST_USED, "help", "help_all"):
                groups["Options"].append(row)
        for name, rows in groups.items():
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows)


def _split_examples(paragraph: str) -> list[str]:
    if not paragraph.startswith(EXAMPLE):
        return []
    return [line.strip() for line in re.sub(r"\n {3,}", " ", paragraph).splitlines()]


def extract_first_sentence(text: str) -> str:
    """Return the first sentence of a help text, and cut a long sentence at its colon."""
    sentence = re.split(r"; |(?<!e\.g)\. ", text, maxsplit=1)[0]
    if len(sentence) > N_CHARS:
        sentence = sentence.partition(": ")[0]
    return sentence.removesuffix(".") + "."


def _is_full_help(ctx: Any) -> bool:
    return bool(ctx.meta.get("help_all"))


def _show_all(ctx: Any, param: Any, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta["help_all"] = True
        typer.echo(ctx.get_help())
        ctx.exit()
