"""`ragassay grade`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Unpack

import typer

from ragassay.cli.exits import PARTIAL, errors_as_lines
from ragassay.cli.grade_options import Depth, Words
from ragassay.cli.options import DryRun, Json, Quiet, takes
from ragassay.options import EvaluateKeywords


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
