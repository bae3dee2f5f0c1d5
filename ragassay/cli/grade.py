"""`ragassay grade`, and the options of the commands on graded files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import partial_if
from ragassay.cli.options import DryRun, Json, Quiet, takes
from ragassay.cli.presenter import Terminal
from ragassay.cli.terminal import print_notes, print_rejections, show_sheets
from ragassay.options import EvaluateKeywords

if TYPE_CHECKING:
    from ragassay.records import Rejection
    from ragassay.reports.sheets import Sheet
    from ragassay.runs.banks import GradedFile
    from ragassay.workbench.evaluation import SystemFiles
    from ragassay.workbench.grades import GradeFilter, GradeKind


Words = Annotated[int, Option(min=1, help="Longer texts are cut at ends of sentences.")]
Depth = Annotated[int, Option(min=0, help="Documents of a ranking that are taken; 0 for all.")]
ItemKind = Literal["question", "nugget", "direct"]

OptionalGrades = Annotated[Path | None, Argument(metavar="GRADES", help="Graded passages.")]
GradesArgument = Annotated[
    Path, Argument(metavar="GRADES", help="Graded passages, as `ragassay grade` writes them.")
]
Model = Annotated[str, Option(help="Only grades of this model.")]
PromptClass = Annotated[str, Option(help="Use only grades that were made with this prompt class.")]
Items = Annotated[
    ItemKind | None, Option(help="Only grades by questions, by nuggets, or direct ones.")
]
Banks = Annotated[
    list[Path] | None,
    Option("--testbank", help="Test bank: the items' texts and facets. Repeat for more."),
]
MinRating = Annotated[
    int | None,
    Option(
        min=0, max=5, help="Least rating that covers an item; by default what is marked correct."
    ),
]
Csv = Annotated[Path | None, Option(help="Write all columns and rows as CSV.")]
Limit = Annotated[int, Option(min=0, help="Most rows of a table shown; 0 for all.")]


TentativeRatings = Annotated[
    bool,
    Option(
        "--tentative",
        help="Count an undecided grade with its tentative rating: to compare systems over many "
        "passages, not to judge one.",
    ),
]


def grade_filter(
    model: str = "",
    prompt_class: str = "",
    items: GradeKind | None = None,
    self_rated: bool | None = None,
) -> GradeFilter:
    """Return the filter that the options ask for."""
    from ragassay.workbench.grades import GradeFilter

    return GradeFilter(model, prompt_class, items, self_rated)


def graded_file(
    path: Path,
    banks: list[Path] | None = None,
    chosen: GradeFilter | None = None,
    tentative_ratings: bool = False,
    takes_first: bool = True,
) -> GradedFile:
    """Read a graded file, report what could not be read, and whose grades count.

    Args:
        chosen: Where given, it has to accept some grader.
        tentative_ratings: Whether undecided grades count with their tentative ratings.
        takes_first: Whether only the first of several graders counts, which is worth a note.
    """
    from ragassay.runs.banks import read_graded
    from ragassay.workbench.evaluation import graders_of
    from ragassay.workbench.graded_files import with_tentative_ratings

    file = read_graded(path, banks or ())
    if tentative_ratings:
        file = replace(file, queries=with_tentative_ratings(file.queries))
    print_rejections(file.rejections)
    if chosen is not None:
        graders = graders_of(file, chosen)
        if takes_first and len(graders) > 1:
            print_notes(
                f"note: {len(graders)} graders; of a passage's grades the first counts, "
                f"{graders[0]}: choose with --prompt-class, --model, --items"
            )
    return file


def system_files(runs: list[Path] | None, qrels: Path | None, official: Path | None) -> SystemFiles:
    """Read what systems are ranked by, and report what could not be read."""
    from ragassay.workbench.evaluation import read_system_files

    files = read_system_files(runs or (), qrels, official)
    print_rejections(files.rejections)
    return files


@dataclass(frozen=True)
class Tables:
    """Tables of a graded file.

    Attributes:
        shown: Other tables for the terminal.
        rejections: What could not be read of other files.
    """

    sheets: Sequence[Sheet]
    shown: Sequence[Sheet] | None = None
    rejections: Sequence[Rejection] = ()


def shows_grades(
    most_rows: int,
    *more: Literal["bank", "tentative_ratings"],
    takes_first: bool = True,
    is_required: bool = True,
) -> Callable[[Callable[..., Tables]], Callable[..., int]]:
    """Give a command the options of all that show tables of a graded file.

    The command takes the file and the filter of its grades; its tables are printed, or written.

    Args:
        most_rows: Default of --limit.
        takes_first: Whether only the first of several graders counts.
        is_required: Whether there has to be a graded file; else the command may get None.
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
            chosen = grade_filter(model, prompt_class, items)
            file = (
                graded_file(grades, bank, chosen, tentative_ratings, takes_first)
                if grades
                else None
            )
            found = command(file, chosen, **own)
            show_sheets(found.sheets, csv, as_json, limit, found.shown)
            return partial_if(file and file.rejections, found.rejections)

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


@takes(
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
    """Grade passages by the questions and nuggets of a test bank, or by their query alone.

    The grades are added to those that the passages have, and written to graded.jsonl.gz in the
    run's folder, in the form of the Rubric workbench. `ragassay grades` turns them into oversight,
    qrels and leaderboards; `ragassay review` shows them to people.

    Without --model, the embedded instruments grade, and leave unsure cases undecided. The same
    command again resumes a stopped run. After a change of the test bank, it grades only what the
    change affects.

    For example:

      ragassay grade responses.jsonl.gz --testbank bank.jsonl.gz
      ragassay grade run-a.txt run-b.txt --corpus passages.jsonl --testbank bank.jsonl.gz
      ragassay grade answers.jsonl --testbank bank.jsonl.gz --model openai/gpt-4.1-mini
          --grade rating --grade extraction
      ragassay grade answers.jsonl --grade thomas --model openai/gpt-4.1-mini
      ragassay grade answers.jsonl --testbank bank.jsonl.gz --grader google/flan-t5-large

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 something could not be read, or a grade failed.

    Options:
        responses: Passages: graded files of the Rubric workbench, rankings of trec_eval (with
            --corpus), or answers in any format that `ragassay evaluate` reads.
        like_original: Count a missing grade as 1 and correct, as the original does; by
            default it is unscored.
    """
    from ragassay.cli.output import print_graded
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
    return partial_if(graded.is_partial)
