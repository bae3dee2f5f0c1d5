"""`ragassay run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from ragassay.cli.exits import BELOW, PARTIAL, errors_as_lines
from ragassay.cli.options import Json, Quiet, takes
from ragassay.options import RunKeywords

if TYPE_CHECKING:
    from ragassay.results import Results


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
) -> None:
    """Ask a RAG application questions, and evaluate its answers and what it retrieved.

    APP is a function, a Runnable of LangChain or a graph of LangGraph that can be imported from
    here, or an endpoint that takes {"question": ...} by POST. References, gold nuggets and topics
    of QUESTIONS are kept. Answers are kept in answers.jsonl in the folder; the same command again
    asks only what has none.

    For example:

      ragassay run my_rag:answer questions.jsonl --out runs/mine

      ragassay run https://rag.example.org/ask questions.jsonl --model openai/gpt-4.1-mini

      ragassay run my_rag:graph questions.jsonl --qrels qrels.txt --retries 2

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or some question, answer
    or verdict failed; 4 a score is below --fail-under.
    """
    import ragassay

    options["out"] = folder = Path(options.get("out") or Path("runs") / queries.name.split(".")[0])
    below = ""
    with errors_as_lines():
        try:
            results = ragassay.run(
                app,
                queries,
                qrels=qrels,
                at_once=at_once,
                retries=retries,
                timeout_s=timeout_s,
                progress=not quiet,
                **options,
            )
        except ragassay.UnjudgedError as error:
            results = error.results
        except ragassay.BelowError as error:
            results, below = error.results, str(error)
        _show(results, folder, as_json, quiet)
    if below:
        typer.echo(below, err=True)
        raise typer.Exit(BELOW)
    if results.failed or results.rejections:
        raise typer.Exit(PARTIAL)


def _show(results: Results, folder: Path, as_json: bool, quiet: bool) -> None:
    from ragassay.reports.labels import one_line

    if not quiet:
        for one in results.failures[:N_SHOWN]:
            reason = one.failure.detail or one.failure.reason
            typer.echo(one_line(f"{one.record_id}: {reason}"), err=True)
    if as_json:
        typer.echo(results.summary.model_dump_json(indent=2))
    elif not quiet:
        from ragassay.cli.output import print_certificate, print_repeats, print_run

        print_run(results.manifest, results.summary, list(results), folder)
        if results.repeats is not None:
            print_repeats(results.repeats)
        if results.audit is not None:
            print_certificate(results.audit)
