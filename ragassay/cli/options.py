"""Command-line options built from `ragassay.options`, and options without a Python keyword."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_origin

import typer

from ragassay.options import Option, create_settings, extend_signature, list_options
from ragassay.process import speed_up_import
from ragassay.settings import RESULT_FIELDS

Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON on stdout.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Estimate the number of calls and tokens, and exit.")
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Exit with 4 if the judge is rated blind (no better than chance) for any score.",
    ),
]
Clusters = Annotated[
    Path | None,
    typer.Option(
        help="File of MedAESQA sentence clusters, used to compute recall as in the "
        "published evaluation."
    ),
]
SkipEmpty = Annotated[
    bool,
    typer.Option(
        "--skip-empty",
        help="Skip queries without a relevant document; trec_eval counts them as 0.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Hide the progress bar and tables.")]
Words = Annotated[int, typer.Option(min=20, help="Approximate length of a synthesis, in words.")]
Papers = Annotated[
    int,
    typer.Option(
        "--papers",
        min=1,
        max=100,
        help="With --corpus: number of papers to retrieve for a question without papers.",
    ),
]
MaxTokens = Annotated[
    int,
    typer.Option(min=0, help="Maximum number of tokens per model in this run; 0 for no limit."),
]
RunFolderArgument = Annotated[
    Path, typer.Argument(help="Run folder written by `ragassay evaluate`.")
]
AnswersArgument = Annotated[Path, typer.Argument(help="File of answers in any supported format.")]
OnlyWhere = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD=VALUE",
        help="Use only answers in which a field, such as system or topic, has this value. Can be "
        "repeated.",
    ),
]

Code = TypeVar("Code", int, None)
"""Return type of a command: its exit code, or None for success."""


def add_options(
    keywords: type, *names: str, ending: str | None = None
) -> Callable[[Callable[..., Code]], Callable[..., Code]]:
    """Return a decorator that adds flags to a command with `**options`.

    If the command calls a model, its options and files are checked before any large library or
    model is loaded.

    Args:
        names: Options that the command accepts. If empty, it accepts all options.
        ending: End of the name of the default run folder, runs/STEM + ending. STEM comes from the
            first argument. If None, there is no default folder.
    """

    def decorate(command: Callable[..., Code]) -> Callable[..., Code]:
        available = list_options(keywords)
        chosen = [available[name] for name in names] if names else list(available.values())

        @functools.wraps(command)
        def run_command(**arguments: Any) -> Code:
            unset = {o.name for o in chosen if arguments[o.name] in (None, [], ())}
            options = {name: value for name, value in arguments.items() if name not in unset}
            if ending is not None:
                first = arguments[next(iter(inspect.signature(command).parameters))]
                path = first if isinstance(first, Path) else first[0]
                options.setdefault("out", Path("runs") / f"{path.name.split('.')[0]}{ending}")
            if any(o.name == "model" for o in chosen) and not options.get("dry_run"):
                _check(options, has_all=not names)
            return command(**options)

        signature = extend_signature(command, map(_build_parameter, chosen), eval_str=True)
        last = {p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY}
        last -= {option.name for option in chosen}
        ordered = sorted(signature.parameters.values(), key=lambda p: p.name in last)
        run_command.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
        return run_command

    return decorate


def _check(arguments: Mapping[str, Any], *, has_all: bool) -> None:
    with speed_up_import("ragassay.runs.preflight"):
        from ragassay.runs.preflight import JUDGE_FIELDS, check_ready

    check_ready(
        create_settings(arguments, style="flag"),
        arguments,
        others=filter(None, [arguments.get("evaluator")]),
        file=arguments.get("target"),
        answers=arguments.get("answers"),
        fields=RESULT_FIELDS if has_all else JUDGE_FIELDS,
    )


def _build_parameter(option: Option) -> inspect.Parameter:
    is_many = get_origin(option.kind) is list
    declared = typer.Option(
        *option.flags,
        metavar=option.metavar,
        min=option.least,
        max=option.most,
        help=f"{option.help} Can be repeated." if is_many else option.help,
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[option.kind | None, declared],
    )
