"""`ragassay evaluate`, `demo`, `run` and `audit`."""

from __future__ import annotations

import inspect
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import OK, audit_code, results_code
from ragassay.cli.options import AnswersArgument, DryRun, Json, Quiet, Strict, takes
from ragassay.cli.presenter import Terminal
from ragassay.options import AuditKeywords, EvaluateKeywords, RunKeywords


@takes(EvaluateKeywords, ending="")
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
    could not be measured, or its range includes that value.

    Options:
        fail_under: Exit with 4 if the mean is lower, with 5 if it is undecided; repeatable.
        audit: Then damage N of the answers, and measure which scores notice it.
        repeat: Judge each answer N times, and count how many verdicts change.
    """
    from ragassay.requests import EvaluationRequest

    terminal = Terminal(quiet, as_json, options.get("out"))
    beside: RunKeywords = {"fail_under": fail_under, "audit": audit, "repeat": repeat}
    request = EvaluationRequest.of(answers, {**options, **beside}, None, terminal)
    results = terminal.run(request, options, dry_run)
    return results_code(results)


NEXT = """
Open {report} in a browser.
The sample is invented. This file says what is wrong with each answer:
{about}

Next:
  your own answers  ragassay evaluate answers.jsonl   (ragas, DeepEval, CSV, ...)
  a hosted judge    ragassay evaluate answers.jsonl --model openai/gpt-4.1-mini
  the docs          docs/quickstart.md in the source, and ragassay evaluate --help"""


def demo(
    out: Path = Path("ragassay-demo"), limit: Annotated[int | None, Option(min=1)] = None
) -> int:
    """Evaluate the sample: eight invented answers, some of them wrong on purpose.

    No judge, no key and no network are needed.

    Options:
        out: Folder of the run.
        limit: Maximum number of answers.
    """
    with as_file(files("ragassay") / "sample") as sample:
        answers, corpus = sample / "answers.jsonl", sample / "abstracts.jsonl"
        code = inspect.unwrap(evaluate)(answers, corpus=corpus, out=out, limit=limit)
        if code == OK:
            typer.echo(NEXT.format(report=out / "report.html", about=sample / "README.md"))
    return code


N_SHOWN = 10


@takes(RunKeywords)
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
    """Ask a RAG application questions, and evaluate its answers and what it retrieved.

    APP is a function, a Runnable of LangChain or a graph of LangGraph that can be imported from
    here, or an endpoint that takes {"question": ...} by POST. References, gold nuggets and topics
    of QUESTIONS are kept. Answers are kept in answers.jsonl in the folder; the same command again
    asks only the questions that have no answer yet.

    For example:

      ragassay run my_rag:answer questions.jsonl --out runs/mine
      ragassay run https://rag.example.org/ask questions.jsonl --model openai/gpt-4.1-mini
      ragassay run my_rag:graph questions.jsonl --qrels qrels.txt --retries 2

    Exit codes: 0 done; 1 error, or nothing could be judged; 2 wrong usage; 3 some input was
    rejected, or some question, answer or verdict failed; 4 a score is below --fail-under; 5 a score
    of --fail-under could not be measured, or its range includes that value.

    Options:
        app: The application: module:name, or the URL of an endpoint.
        queries: Questions, in any format that contains questions.
        qrels: Judged documents, by topic or record id, of trec_eval or BEIR.
        at_once: Maximum number of questions at the same time.
        retries: How often to repeat a question that got no answer.
        timeout_s: Maximum seconds for one question.
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


@takes(AuditKeywords, ending="-audit")
def audit(
    answers: AnswersArgument,
    *,
    strict: Strict = False,
    as_json: Json = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **options: Unpack[AuditKeywords],
) -> int:
    """Measure what a judge notices in answers that are perturbed on purpose.

    Answers are perturbed in many ways, and each should lower certain scores: off-topic
    and informal sentences, lost or shuffled ones, repetition; a changed number, a reversed
    negation; text that addresses the judge. Then unperturbed and perturbed answers are judged, and
    for each score the judge is trusted, weak or blind.

    The folder holds audit.html, audit.md, audit.json and figures.csv. The same command again
    resumes a stopped audit, and with a larger --limit judges only what is new.

    For example:

      ragassay audit answers.jsonl --judge openai/gpt-4.1-mini
      ragassay audit answers.jsonl --attacks rubric --limit 50
      ragassay audit answers.jsonl --attacks rubric --no-signals --out runs/audit-without
      ragassay audit answers.jsonl --paraphraser openai/gpt-4.1-mini
      ragassay audit bioasq-train-answers.jsonl.gz --given --limit 0

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or some answer or
    verdict failed; 4 the judge is blind somewhere, with --strict.
    """
    from ragassay.requests import request_audit

    terminal = Terminal(quiet, as_json, options.get("out"))
    request = request_audit(answers, options, None, terminal)
    result = terminal.run(request, options, dry_run)
    terminal.show_audit(result.audit)
    return audit_code(result.audit, strict, terminal.rejections)
