"""`ragassay evaluate` and `ragassay demo`."""

from __future__ import annotations

import inspect
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Unpack

import typer

from ragassay.cli.base import OK, results_code
from ragassay.cli.options import AnswersArgument, DryRun, Json, Quiet, takes
from ragassay.cli.terminal import Terminal
from ragassay.options import EvaluateKeywords, RunKeywords


@takes(EvaluateKeywords, ending="")
def evaluate(
    answers: AnswersArgument,
    *,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCORE=VALUE",
            help="Exit with 4 if the mean is below, with 5 if that cannot be told; repeatable.",
        ),
    ] = None,
    audit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Then damage N of the answers, and see which scores this judge can tell.",
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Judge each answer N times, and see how often the judge contradicts itself.",
        ),
    ] = None,
    as_json: Json = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Evaluate a file of answers.

    ANSWERS is JSONL, a table (CSV, TSV, Parquet, Excel), or of ragas, DeepEval, RAGChecker, TREC,
    MedAESQA, BioASQ, nuggetizer, Rubric workbench, YESciEval, SummEval or USR. Unreadable lines are
    set aside in rejected.jsonl. The same command again resumes a stopped run.

    For example:

      ragassay evaluate answers.jsonl --corpus abstracts.jsonl --out runs/first
      ragassay evaluate answers.jsonl --model openai/gpt-4.1-mini
      ragassay evaluate answers.jsonl --fail-under citations.support=.8
      ragassay evaluate answers.jsonl --judge openai/gpt-4.1-mini --judge mistral/mistral-small
      ragassay evaluate answers.jsonl --escalate openai/gpt-4.1-mini --when "entropy>1.5"
      ragassay evaluate answers.jsonl --only citations --citations sentence
      ragassay evaluate answers.jsonl --audit 20
      ragassay evaluate answers.jsonl --judge openai/gpt-4.1-mini --repeat 3
      ragassay evaluate answers.csv --map question=query,answer=output,sources=passages
      ragassay evaluate answers.jsonl --dry-run

    Exit codes: 0 done; 1 error, or nothing could be judged; 2 wrong usage; 3 some input was
    rejected, or some answer or verdict failed; 4 a score is below --fail-under; 5 one
    could not be measured, or its range holds it.
    """
    from ragassay.requests import EvaluationRequest

    terminal = Terminal(quiet, as_json, options.get("out"))
    beside: RunKeywords = {"fail_under": fail_under, "audit": audit, "repeat": repeat}
    request = EvaluationRequest.of(answers, {**options, **beside}, None, terminal)
    results = terminal.run(request, options, dry_run)
    return results_code(results)


NEXT = """
Open {report} in a browser: what leads it is wrong in an answer.
All of it is invented. What is wrong with each answer:
{about}

Next:
  your own answers  ragassay evaluate answers.jsonl   (ragas, DeepEval, CSV, ...)
  a hosted judge    ragassay evaluate answers.jsonl --model openai/gpt-4.1-mini
  the docs          docs/quickstart.md in the source, and ragassay evaluate --help"""


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("ragassay-demo"),
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many answers.")] = None,
) -> int:
    """Evaluate the sample: eight invented answers, some of them wrong on purpose.

    No judge, no key and no network are needed.
    """
    with as_file(files("ragassay") / "sample") as sample:
        answers, corpus = sample / "answers.jsonl", sample / "abstracts.jsonl"
        code = inspect.unwrap(evaluate)(answers, corpus=corpus, out=out, limit=limit)
        if code == OK:
            typer.echo(NEXT.format(report=out / "report.html", about=sample / "README.md"))
    return code
