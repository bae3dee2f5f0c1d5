"""`ragassay grade`, and the options of the commands on graded files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer

from ragassay.cli.base import PARTIAL, errors_as_lines
from ragassay.cli.options import DryRun, Json, Quiet, takes
from ragassay.options import EvaluateKeywords

if TYPE_CHECKING:
    from ragassay.runs.banks import GradedFile
    from ragassay.workbench.evaluation import SystemFiles
    from ragassay.workbench.grades import GradeFilter, GradeKind
    from ragassay.workbench.oversight import Relevance


Words = Annotated[int, typer.Option(min=1, help="Longer texts are cut at ends of sentences.")]
Depth = Annotated[
    int, typer.Option(min=0, help="Documents of a ranking that are taken; 0 for all.")
]
ItemKind = Literal["question", "nugget", "direct"]

GradesArgument = Annotated[
    Path,
    typer.Argument(metavar="GRADES", help="Graded passages, as `ragassay grade` writes them."),
]
Model = Annotated[str, typer.Option(help="Only grades of this model.")]
PromptClass = Annotated[str, typer.Option(help="Only grades of this class of prompts.")]
Items = Annotated[
    ItemKind | None, typer.Option(help="Only grades by questions, by nuggets, or direct ones.")
]
SelfRated = Annotated[
    bool | None,
    typer.Option("--self-rated/--not-self-rated", help="Only grades with ratings, or without."),
]
Banks = Annotated[
    list[Path] | None,
    typer.Option("--testbank", help="Test bank: the items' texts and facets. Repeat for more."),
]
MinRating = Annotated[
    int | None,
    typer.Option(
        min=0, max=5, help="Least rating that covers an item; by default what is marked correct."
    ),
]
Csv = Annotated[Path | None, typer.Option(help="Write all columns and rows as CSV.")]
Limit = Annotated[int, typer.Option(min=0, help="Most rows of a table shown; 0 for all.")]
OneQuery = Annotated[str | None, typer.Option("--query", help="Only this query.")]
MinRelevant = Annotated[int, typer.Option(help="Least judgment that is relevant; 2 for TREC DL.")]
RelevantFrom = Annotated[
    int | None,
    typer.Option(
        metavar="MIN", help="Take direct grades rated MIN or more as relevant, not judgments."
    ),
]
DirectClass = Annotated[
    str, typer.Option(help="The direct grades' class of prompts, for --relevant-from.")
]
Official = Annotated[
    Path | None,
    typer.Option(
        help='Official leaderboard: JSON {"system": rank}, or two columns, system and score. '
        "Prints Spearman's rho and Kendall's tau."
    ),
]
Runs = Annotated[
    list[Path] | None,
    typer.Option(
        "--runs",
        metavar="RUN",
        help="Run file of a system, named by its tag, or a folder of *.run files; repeat for more. "
        "Without it the rankings in GRADES count.",
    ),
]


Leanings = Annotated[
    bool,
    typer.Option(
        "--leanings",
        help="Count what the grader left undecided as it leant: to compare systems over many "
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


def relevance_of(min_relevant: int, relevant_from: int | None, direct_class: str) -> Relevance:
    """Return what makes a passage relevant by the options."""
    from ragassay.workbench.grades import GradeFilter
    from ragassay.workbench.oversight import Relevance

    if relevant_from is None:
        return Relevance(min_relevant)
    return Relevance(relevant_from, GradeFilter(prompt_class=direct_class, items="direct"))


def graded_file(
    path: Path,
    banks: list[Path] | None,
    chosen: GradeFilter | None,
    leanings: bool = False,
) -> GradedFile:
    """Read a graded file, report what could not be read, and whose grades count.

    Args:
        path: The file.
        banks: Test banks.
        chosen: Where given, several graders that it accepts are worth a note.
        leanings: Whether what is undecided counts as it leant.
    """
    from ragassay.cli.output import print_rejections
    from ragassay.runs.banks import read_graded
    from ragassay.workbench.evaluation import graders_of
    from ragassay.workbench.graded_files import with_leanings

    file = read_graded(path, banks or ())
    if leanings:
        file = replace(file, queries=with_leanings(file.queries))
    print_rejections(file.rejections)
    if chosen is not None:
        graders = graders_of(file, chosen)
        if len(graders) > 1:
            typer.echo(
                f"note: {len(graders)} graders; of a passage's grades the first counts, "
                f"{graders[0]}: choose with --prompt-class, --model, --items",
                err=True,
            )
    return file


def system_files(runs: list[Path] | None, qrels: Path | None, official: Path | None) -> SystemFiles:
    """Read what systems are ranked by, and report what could not be read."""
    from ragassay.cli.output import print_rejections
    from ragassay.workbench.evaluation import read_system_files

    files = read_system_files(runs or (), qrels, official)
    print_rejections(files.rejections)
    return files


def exit_code(*files: GradedFile | SystemFiles | None) -> None:
    """Exit with `PARTIAL` where some of a file could not be read."""
    if any(file is not None and file.rejections for file in files):
        raise typer.Exit(PARTIAL)


@takes(
    EvaluateKeywords,
    *("testbank", "grades", "grader", "items_per_call", "model", "api_base", "escalate", "when"),
    *("corpus", "questions", "out", "embedder", "prompts", "concurrency", "retry_failed"),
    *("max_rpm", "max_usd", "engine", "address", "workers"),
    "column_map",
    ending="-graded",
)
def grade(
    responses: Annotated[
        list[Path],
        typer.Argument(
            help="Passages: graded files of the Rubric workbench, rankings of trec_eval (with "
            "--corpus), or answers in any format that `ragassay evaluate` reads."
        ),
    ],
    *,
    words: Words = 400,
    depth: Depth = 20,
    like_original: Annotated[
        bool,
        typer.Option(
            "--like-original",
            help="Make a grade that could not be had 1 and correct, as the original does; by "
            "default it is unscored.",
        ),
    ] = False,
    as_json: Json = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> None:
    """Grade passages by the questions and nuggets of a test bank, or by their query alone.

    The grades are added to what the passages had, and written to graded.jsonl.gz in the run's
    folder, in the form of the Rubric workbench. `ragassay grades` turns them into oversight,
    qrels and leaderboards; `ragassay review` shows them to people.

    Without --model the embedded instruments grade, and leave open what they cannot tell. The same
    command again resumes a stopped run; after a change of the test bank it grades only what the
    change touches.

    For example:

      ragassay grade responses.jsonl.gz --testbank bank.jsonl.gz

      ragassay grade run-a.txt run-b.txt --corpus passages.jsonl --testbank bank.jsonl.gz

      ragassay grade answers.jsonl --testbank bank.jsonl.gz --model openai/gpt-4.1-mini
      --grade rating --grade extraction

      ragassay grade answers.jsonl --grade thomas --model openai/gpt-4.1-mini

      ragassay grade answers.jsonl --testbank bank.jsonl.gz --grader google/flan-t5-large

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 something could not be read, or a grade failed.
    """
    with errors_as_lines():
        from ragassay.cli.output import Terminal, print_graded
        from ragassay.requests import request_grading

        terminal = Terminal(quiet, as_json, options.get("out"))
        request = request_grading(
            responses,
            options,
            None,
            terminal,
            words=words,
            depth=depth,
            like_original=like_original,
        )
        graded = terminal.run(request, options, dry_run)
        if as_json:
            typer.echo(graded.run.summary.model_dump_json(indent=2))
        elif not quiet:
            bank = options.get("testbank")
            print_graded(graded, terminal.folder, bank if isinstance(bank, Path) else None)
    if graded.is_partial:
        raise typer.Exit(PARTIAL)
