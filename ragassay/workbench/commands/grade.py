"""`ragassay grade`, and shared options for commands on graded files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import choose_exit_code
from ragassay.cli.options import DryRun, Json, Quiet, add_options
from ragassay.cli.presenter import Terminal
from ragassay.cli.terminal import (
    print_lines,
    print_notes,
    print_rejections,
    print_sheets,
    show_sheets,
)
from ragassay.options import EvaluateKeywords
from ragassay.reports.display import UNDECIDED, count_missing
from ragassay.reports.sheets import Sheet

if TYPE_CHECKING:
    from ragassay.records import Rejection
    from ragassay.runs.banks import GradedFile
    from ragassay.workbench.evaluation import SystemFiles
    from ragassay.workbench.grades import GradeFilter, GradeKind
    from ragassay.workbench.grading import Graded


Words = Annotated[
    int,
    Option(
        min=1, help="Maximum number of words per passage; longer texts are cut after a sentence."
    ),
]
Depth = Annotated[int, Option(min=0, help="Number of documents to grade per ranking; 0 for all.")]
ItemKind = Literal["question", "nugget", "direct"]

OptionalGrades = Annotated[Path | None, Argument(metavar="GRADES", help="Graded passages.")]
GradesArgument = Annotated[
    Path, Argument(metavar="GRADES", help="Graded passages written by `ragassay grade`.")
]
Model = Annotated[str, Option(help="Use only grades by this model.")]
PromptClass = Annotated[str, Option(help="Use only grades made with this prompt class.")]
Items = Annotated[
    ItemKind | None,
    Option(
        help="Use only grades for questions, only grades for nuggets, or only direct relevance "
        "grades."
    ),
]
Banks = Annotated[
    list[Path] | None,
    Option("--testbank", help="Test bank with item texts and facets. Can be repeated."),
]
MinRating = Annotated[
    int | None,
    Option(
        min=0,
        max=5,
        help="Minimum rating at which an item counts as covered. By default, an item "
        "counts as covered if it was graded as correct.",
    ),
]
Csv = Annotated[Path | None, Option(help="Write all rows and columns to this CSV file.")]
Limit = Annotated[int, Option(min=0, help="Maximum number of table rows to print; 0 for all.")]


TentativeRatings = Annotated[
    bool,
    Option(
        "--tentative",
        help="Use the tentative rating for undecided grades. These ratings are suitable for "
        "comparing systems across many passages, but not for judging an individual passage.",
    ),
]


def build_grade_filter(
    model: str = "",
    prompt_class: str = "",
    items: GradeKind | None = None,
    self_rated: bool | None = None,
) -> GradeFilter:
    """Return the filter for grades that the options select."""
    from ragassay.workbench.grades import GradeFilter

    return GradeFilter(model, prompt_class, items, self_rated)


def open_graded_file(
    path: Path,
    banks: list[Path] | None = None,
    chosen: GradeFilter | None = None,
    tentative_ratings: bool = False,
    takes_first: bool = True,
) -> GradedFile:
    """Read a graded file, print rejected lines, and print a note if there are several graders.

    Args:
        chosen: Filter for graders. If set, it must match at least one grader.
        takes_first: Whether to use only the grades of the first grader.
    """
    from ragassay.runs.banks import read_graded
    from ragassay.workbench.evaluation import list_accepted_graders
    from ragassay.workbench.graded_files import rate_undecided_items

    file = read_graded(path, banks or ())
    if tentative_ratings:
        file = replace(file, queries=rate_undecided_items(file.queries))
    print_rejections(file.rejections)
    if chosen is not None:
        graders = list_accepted_graders(file, chosen)
        if takes_first and len(graders) > 1:
            print_notes(
                f"note: found {len(graders)} graders and used the first ({graders[0]}); choose "
                "another with --prompt-class, --model or --items"
            )
    return file


def open_system_files(
    runs: list[Path] | None, qrels: Path | None, official: Path | None
) -> SystemFiles:
    """Read run files, qrels and official ranks, and print rejected lines."""
    from ragassay.workbench.evaluation import read_system_files

    files = read_system_files(runs or (), qrels, official)
    print_rejections(files.rejections)
    return files


@dataclass(frozen=True)
class Tables:
    """The tables that a command on a graded file prints or writes.

    Attributes:
        shown: Tables to print if they differ from the tables in `sheets`.
        rejections: Lines of other input files that were rejected.
    """

    sheets: Sequence[Sheet]
    shown: Sequence[Sheet] | None = None
    rejections: Sequence[Rejection] = ()


def add_grade_options(
    most_rows: int,
    *more: Literal["bank", "tentative_ratings"],
    takes_first: bool = True,
    is_required: bool = True,
) -> Callable[[Callable[..., Tables]], Callable[..., int]]:
    """Return a decorator that adds the shared options of commands on a graded file.

    The command gets the file and a filter for its grades, and returns tables to print or write.

    Args:
        takes_first: Whether to use only the grades of the first grader.
        is_required: Whether a graded file is required. If it is not and none is given, the command
            gets None.
    """

    def decorate(command: Callable[..., Tables]) -> Callable[..., int]:
        def run_graded(
            grades: OptionalGrades = None,
            *,
            bank: Banks = None,
            tentative_ratings: TentativeRatings = False,
            model: Model = "",
            prompt_class: PromptClass = "",
            items: Items = None,
            csv: Csv = None,
            as_json: Json = False,
            limit: Limit = most_rows,
            **own: Any,
        ) -> int:
            chosen = build_grade_filter(model, prompt_class, items)
            file = (
                open_graded_file(grades, bank, chosen, tentative_ratings, takes_first)
                if grades
                else None
            )
            found = command(file, chosen, **own)
            show_sheets(found.sheets, csv, as_json, limit, found.shown)
            return choose_exit_code(file and file.rejections, found.rejections)

        first, *shared = inspect.signature(run_graded, eval_str=True).parameters.values()
        if is_required:
            first = first.replace(annotation=GradesArgument, default=first.empty)
        left_out = {"bank", "tentative_ratings"} - {*more}
        shared = [p for p in shared if p.name not in left_out and p.kind is not p.VAR_KEYWORD]
        unloaded = {"GradedFile": Any, "GradeFilter": Any}
        signature = inspect.signature(command, eval_str=True, locals=unloaded)
        own = list(signature.parameters.values())[2:]
        run_graded.__signature__ = inspect.Signature([first, *own, *shared], return_annotation=int)  # type: ignore[attr-defined]
        run_graded.__name__, run_graded.__doc__ = command.__name__, command.__doc__
        return run_graded

    return decorate


@add_options(
    EvaluateKeywords,
    *("testbank", "grades", "grader", "items_per_call", "model", "api_base", "escalate", "when"),
    *("corpus", "questions", "out", "embedder", "prompts", "concurrency", "retry_failed"),
    *("max_rpm", "max_usd", "engine", "address", "workers"),
    "column_map",
    ending="-graded",
)
def grade(
    responses: list[Path],
    *,
    words: Words = 400,
    depth: Depth = 20,
    like_original: bool = False,
    as_json: Json = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Grade passages by the items of a test bank, or by their relevance to the query.

    New grades are added to existing ones and written to graded.jsonl.gz in the run folder, in the
    Rubric workbench format. Analyse the grades with `ragassay grades` (tables, qrels,
    leaderboards), and review them with `ragassay review`.

    Without --model, small models installed with ragassay grade the passages and leave unclear cases
    undecided. Run the same command again to resume a stopped run. If the test bank has changed,
    only the affected grades are computed again.

    For example:

      ragassay grade responses.jsonl.gz --testbank bank.jsonl.gz
      ragassay grade run-a.txt run-b.txt --corpus passages.jsonl --testbank bank.jsonl.gz
      ragassay grade answers.jsonl --testbank bank.jsonl.gz --model openai/gpt-4.1-mini
          --grade rating --grade extraction
      ragassay grade answers.jsonl --grade thomas --model openai/gpt-4.1-mini

    Options:
        responses: Graded files of the Rubric workbench, trec_eval rankings (with --corpus), or
            files of answers.
        like_original: Count a missing grade as correct with rating 1, as the original workbench
            does. By default, a missing grade is unscored.
    """
    from ragassay.requests import request_grading

    terminal = Terminal(quiet, as_json, options.get("out"))
    request = request_grading(
        responses, options, None, terminal, words=words, depth=depth, like_original=like_original
    )
    graded = terminal.run(request, options, dry_run)
    if as_json:
        typer.echo(graded.run.summary.model_dump_json(indent=2))
    elif not quiet:
        bank = options.get("testbank")
        print_graded(graded, terminal.folder, bank if isinstance(bank, Path) else None)
    return choose_exit_code(graded.is_partial)


def print_graded(graded: Graded, folder: Path, testbank: Path | None) -> None:
    """Print the coverage of each system, the grader, and the command to run next."""
    from ragassay.workbench.evaluation_tables import build_cover_sheet
    from ragassay.workbench.grading import GRADED_FILE, compute_covers

    for kind, table in compute_covers(graded).items():
        print_lines(f"By {kind}s:", style="bold")
        print_sheets(build_cover_sheet(table))
    missing = count_missing(graded.n_undecided, graded.n_unscored)
    print_lines(f"Grades: {', '.join((f'{graded.n_grades} given', *missing))}.")
    if graded.n_undecided:
        print_lines(
            f"The {UNDECIDED} grades must be decided by a judge. Use --escalate MODEL to call a "
            f"judge for these grades only."
        )
    card = graded.run.manifest.grader_card
    if card is not None:
        print_lines(f"Grader: {card.description}")
    path = folder / GRADED_FILE
    bank_option = f" --testbank {testbank}" if testbank else ""
    review = f"To review the grades: ragassay review {path}{bank_option}"
    print_lines(f"Written to {path}", review, soft_wrap=True)
