"""`ragassay run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Unpack

import typer

from ragassay.cli.base import results_code
from ragassay.cli.options import Json, Quiet, takes
from ragassay.cli.terminal import Terminal
from ragassay.options import RunKeywords

N_SHOWN = 10


@takes(RunKeywords)
def run(
    app: Annotated[
        str, typer.Argument(help="The application: module:name, or the URL of an endpoint.")
    ],
    queries: Annotated[
        Path,
        typer.Argument(metavar="QUESTIONS", help="Questions, in any format that has some."),
    ],
    *,
    qrels: Annotated[
        Path | None,
        typer.Option(help="Judged documents, by topic or record id, of trec_eval or BEIR."),
    ] = None,
    at_once: Annotated[
        int, typer.Option(min=1, help="Most questions that the application gets at once.")
    ] = 8,
    retries: Annotated[
        int, typer.Option(min=0, help="How often a question is asked again that got no answer.")
    ] = 0,
    timeout_s: Annotated[
        float, typer.Option("--timeout", min=0.001, help="Most seconds for one question.")
    ] = 300.0,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[RunKeywords],
) -> int:
    """Ask a RAG application questions, and evaluate its answers and what it retrieved.

    APP is a function, a Runnable of LangChain or a graph of LangGraph that can be imported from
    here, or an endpoint that takes {"question": ...} by POST. References, gold nuggets and topics
    of QUESTIONS are kept. Answers are kept in answers.jsonl in the folder; the same command again
    asks only what has none.

    For example:

      ragassay run my_rag:answer questions.jsonl --out runs/mine
      ragassay run https://rag.example.org/ask questions.jsonl --model openai/gpt-4.1-mini
      ragassay run my_rag:graph questions.jsonl --qrels qrels.txt --retries 2

    Exit codes: 0 done; 1 error, or nothing could be judged; 2 wrong usage; 3 some input was
    rejected, or some question, answer or verdict failed; 4 a score is below --fail-under; 5 a score
    of --fail-under could not be measured, or its range holds the bound.
    """
    from ragassay.applications.asking import Asking
    from ragassay.applications.run import ApplicationRequest
    from ragassay.reports.labels import one_line

    options["out"] = out = options.get("out") or Path("runs") / queries.name.split(".")[0]
    terminal = Terminal(quiet, as_json, out)
    how = Asking(None, at_once, retries, timeout_s)
    request = ApplicationRequest.of(app, queries, how, qrels, options, None, terminal)
    results = terminal.run(request, options)
    if not quiet:
        for one in results.failures[:N_SHOWN]:
            reason = one.failure.detail or one.failure.reason
            typer.echo(one_line(f"{one.record_id}: {reason}"), err=True)
    return results_code(results)
