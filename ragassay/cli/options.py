"""Options of the command line: those of `ragassay.options`, and those for a terminal only."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_origin

import typer

from ragassay.options import Option, options_of, settings_of, signature_with
from ragassay.process import importing
from ragassay.settings import RESULT_FIELDS

Json = Annotated[bool, typer.Option("--json", help="Print what was found as JSON on stdout.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say how many calls and tokens it would take.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with 4 if the judge is blind anywhere.")
]
Clusters = Annotated[
    Path | None, typer.Option(help="MedAESQA's clusters of sentences, for recall as published.")
]
SkipEmpty = Annotated[
    bool,
    typer.Option(
        "--skip-empty",
        help="Leave out queries without a relevant document; trec_eval counts them as 0.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar, no tables.")]
Words = Annotated[int, typer.Option(min=20, help="About how many words a synthesis has.")]
Papers = Annotated[
    int,
    typer.Option(
        "--papers",
        min=1,
        max=100,
        help="With --corpus: number of papers to find for a question that has none.",
    ),
]
MaxTokens = Annotated[
    int,
    typer.Option(
        min=0, help="Tokens of a model after which it begins no synthesis in this start; 0: any."
    ),
]
RunFolderArgument = Annotated[
    Path, typer.Argument(help="Run folder, as written by `ragassay evaluate`.")
]
AnswersArgument = Annotated[
    Path, typer.Argument(help="Answers, in any format that `ragassay evaluate` reads.")
]
OnlyWhere = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD=VALUE",
        help="Only answers with this system, topic, or other field of the file; repeat for more.",
    ),
]

Code = TypeVar("Code", int, None)
"""What a command returns: its exit code, or None for success."""


def takes(
    keywords: type, *names: str, ending: str | None = None
) -> Callable[[Callable[..., Code]], Callable[..., Code]]:
    """Give a command that takes `**options` a flag for each option.

    A command that asks a model is refused here where it cannot work, before it imports, reads or
    loads anything.

    Args:
        keywords: The class that declares the options.
        names: The command's options; none for all.
        ending: End of the name of its default folder in runs/, which begins as that of its first
            argument; None where it has none there.
    """

    def decorate(command: Callable[..., Code]) -> Callable[..., Code]:
        options = options_of(keywords)
        chosen = [options[name] for name in names] if names else list(options.values())

        @functools.wraps(command)
        def run_command(**arguments: Any) -> Code:
            unset = {o.name for o in chosen if arguments[o.name] in (None, [], ())}
            kept = {name: value for name, value in arguments.items() if name not in unset}
            if ending is not None:
                first = next(iter(inspect.signature(command).parameters))
                kept.setdefault("out", _default_folder(arguments[first], ending))
            if any(o.name == "model" for o in chosen) and not kept.get("dry_run"):
                _check(kept, is_whole=not names)
            return command(**kept)

        signature = signature_with(command, map(_parameter, chosen), eval_str=True)
        last = {p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY}
        last -= {option.name for option in chosen}
        ordered = sorted(signature.parameters.values(), key=lambda p: p.name in last)
        run_command.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
        return run_command

    return decorate


def _check(arguments: Mapping[str, Any], *, is_whole: bool) -> None:
    with importing("ragassay.runs.preflight"):
        from ragassay.runs.preflight import JUDGE_FIELDS, check_ready

    check_ready(
        settings_of(arguments, style="flag"),
        arguments,
        others=filter(None, [arguments.get("evaluator")]),
        file=arguments.get("target"),
        answers=arguments.get("answers"),
        fields=RESULT_FIELDS if is_whole else JUDGE_FIELDS,
    )


def _default_folder(argument: Path | Sequence[Path], ending: str) -> Path:
    """Return where a command keeps its run if the user names no folder."""
    first = argument if isinstance(argument, Path) else argument[0]
    return Path("runs") / f"{first.name.split('.')[0]}{ending}"


def _parameter(option: Option) -> inspect.Parameter:
    is_many = get_origin(option.kind) is list
    declared = typer.Option(
        *option.flags,
        metavar=option.metavar,
        min=option.least,
        max=option.most,
        help=f"{option.help} Repeat for more." if is_many else option.help,
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[option.kind | None, declared],
    )
