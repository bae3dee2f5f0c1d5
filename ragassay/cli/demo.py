"""`ragassay demo`."""

from __future__ import annotations

import inspect
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from ragassay.cli.evaluate import evaluate

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
) -> None:
    """Evaluate the sample: eight invented answers, some of them wrong on purpose.

    No judge, no key and no network are needed.
    """
    with as_file(files("ragassay") / "sample") as sample:
        answers, corpus = sample / "answers.jsonl", sample / "abstracts.jsonl"
        inspect.unwrap(evaluate)(answers, corpus=corpus, out=out, limit=limit)
        typer.echo(NEXT.format(report=out / "report.html", about=sample / "README.md"))
