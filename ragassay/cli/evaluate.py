"""`ragassay evaluate`, `demo` and `run`."""

from __future__ import annotations

import inspect
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import OK, choose_results_exit_code
from ragassay.cli.options import AnswersArgument, DryRun, Json, Quiet, add_options
from ragassay.cli.presenter import Terminal
from ragassay.options import EvaluateKeywords, RunKeywords


@add_options(EvaluateKeywords, ending="")
def evaluate(
    answers: AnswersArgument,
    *,
    fail_under: Annotated[list[str] | None, Option(metavar="SCORE=VALUE")] = None,
    audit: Annotated[int | None, Option(min=1, metavar="N")] = None,
    repeat: Annotated[int | None, Option(min=2, metavar="N")] = None,
    as_json: Json = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Evaluate a file of answers.

    ANSWERS is JSONL, a table (CSV, TSV, Parquet, Excel), or a file from ragas, DeepEval,
    RAGChecker, TREC, MedAESQA, BioASQ, nuggetizer, Rubric workbench, YESciEval, SummEval or USR.
    Lines that cannot be read are written to rejected.jsonl. Run the same command again to resume a
    stopped run.

    For example:

      ragassay evaluate answers.jsonl --corpus abstracts.jsonl --out runs/first
      ragassay evaluate answers.jsonl --model openai/gpt-4.1-mini
      ragassay evaluate answers.jsonl --fail-under citations.support=.8
      ragassay evaluate answers.jsonl --judge openai/gpt-4.1-mini --judge mistral/mistral-small
      ragassay evaluate answers.jsonl --escalate openai/gpt-4.1-mini --when "entropy>1.5"
      ragassay evaluate answers.jsonl --audit 20
      ragassay evaluate answers.jsonl --judge openai/gpt-4.1-mini --repeat 3
      ragassay evaluate answers.csv --map question=query,answer=output,sources=passages

    Exit codes: 0 success; 1 error, or nothing could be judged; 2 usage error; 3 some input was
    rejected, or an answer or verdict failed; 4 a score is below --fail-under; 5 it is unclear
    whether a score is below --fail-under.

    Options:
        fail_under: Exit with 4 if the mean of a score is below this value, or with 5 if that is
            unclear.
        audit: Also perturb N answers and measure which scores drop, to test the judge.
        repeat: Judge each answer N times and count the verdicts that change.
    """
    from ragassay.requests import EvaluationRequest

    terminal = Terminal(quiet, as_json, options.get("out"))
    extra: RunKeywords = {"fail_under": fail_under, "audit": audit, "repeat": repeat}
    request = EvaluationRequest.from_answers(answers, {**options, **extra}, None, terminal)
    results = terminal.run(request, options, dry_run)
    return choose_results_exit_code(results)


NEXT = """
Open {report} in a browser.
The sample answers are made up. This file lists the errors in each of them:
{about}

Next:
  your own answers  ragassay evaluate answers.jsonl   (ragas, DeepEval, CSV, ...)
  a hosted judge    ragassay evaluate answers.jsonl --model openai/gpt-4.1-mini
  the docs          docs/quickstart.md in the source, and ragassay evaluate --help"""


def demo(
    out: Path = Path("ragassay-demo"), limit: Annotated[int | None, Option(min=1)] = None
) -> int:
    """Evaluate eight sample answers, some of them with deliberate errors.

    The demo needs no judge, API key or network.

    Options:
        out: Run folder.
        limit: Maximum number of answers to evaluate.
    """
    with as_file(files("ragassay") / "sample") as sample:
        answers, corpus = sample / "answers.jsonl", sample / "abstracts.jsonl"
        code = inspect.unwrap(evaluate)(answers, corpus=corpus, out=out, limit=limit)
        if code == OK:
            typer.echo(NEXT.format(report=out / "report.html", about=sample / "README.md"))
    return code


N_SHOWN = 10


@add_options(RunKeywords)
def run(
    app: str,
    queries: Annotated[Path, Argument(metavar="QUESTIONS")],
    *,
    qrels: Path | None = None,
    at_once: Annotated[int, Option(min=1)] = 8,
    retries: Annotated[int, Option(min=0)] = 0,
    timeout_s: Annotated[float, Option("--timeout", min=0.001)] = 300.0,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[RunKeywords],
) -> int:
    """Send questions to a RAG application, and evaluate its answers and the documents it retrieves.

    APP is a function, LangChain Runnable or LangGraph graph that can be imported from the current
    folder, or the URL of an endpoint that accepts {"question": ...} by POST. If QUESTIONS contains
    reference answers, gold nuggets or topics, the evaluation uses them. Answers are saved to
    answers.jsonl in the run folder. Run the same command again to send only the unanswered
    questions.

    For example:

      ragassay run my_rag:answer questions.jsonl --out runs/mine
      ragassay run https://rag.example.org/ask questions.jsonl --model openai/gpt-4.1-mini
      ragassay run my_rag:graph questions.jsonl --qrels qrels.txt --retries 2

    Exit codes: 0 success; 1 error, or nothing could be judged; 2 usage error; 3 some input was
    rejected, or a question, answer or verdict failed; 4 a score is below --fail-under; 5 it is
    unclear whether a score is below --fail-under.

    Options:
        app: Application as module:name, or the URL of an endpoint.
        queries: Questions, in any supported format.
        qrels: Relevance judgments by topic or record id, in trec_eval or BEIR format.
        at_once: Maximum number of questions to send to the application at a time.
        retries: Number of times to resend a question that got no answer.
        timeout_s: Maximum time that the application may take for an answer, in seconds.
    """
    from ragassay.applications.asking import Asking
    from ragassay.applications.run import ApplicationRequest
    from ragassay.reports.labels import flatten_text

    options["out"] = out = options.get("out") or Path("runs") / queries.name.split(".")[0]
    terminal = Terminal(quiet, as_json, out)
    how = Asking(None, at_once, retries, timeout_s)
    request = ApplicationRequest.create_request(app, queries, how, qrels, options, None, terminal)
    results = terminal.run(request, options)
    if not quiet:
        for one in results.failures[:N_SHOWN]:
            reason = one.failure.detail or one.failure.reason
            typer.echo(flatten_text(f"{one.record_id}: {reason}"), err=True)
    return choose_results_exit_code(results)
