"""`ragassay synthesize`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import OK, choose_exit_code
from ragassay.cli.options import DryRun, Json, MaxTokens, Papers, Quiet, Words, add_options
from ragassay.cli.terminal import print_json, print_notes, print_rejections
from ragassay.options import EvaluateKeywords
from ragassay.process import run_sync
from ragassay.reports.display import count_text
from ragassay.reports.labels import flatten_text
from ragassay.runs.progress import Presenter

if TYPE_CHECKING:
    from ragassay.studies.syntheses import GenerationPlan, Syntheses
    from ragassay.studies.synthesis_questions import Questions


@add_options(
    EvaluateKeywords,
    *("corpus", "search", "embedder", "questions", "column_map"),
    *("limit", "concurrency", "retry_failed"),
    *("max_rpm", "max_usd", "engine", "address", "workers"),
)
def synthesize(
    queries: Annotated[Path, Argument(metavar="QUESTIONS")],
    *,
    models: Annotated[list[str] | None, Option("--model", metavar="NAME")] = None,
    endpoint: Annotated[str | None, Option("--api-base", metavar="URL")] = None,
    target: Annotated[Path | None, Option("--out")] = None,
    papers: Papers = 5,
    words: Words = 200,
    max_tokens: MaxTokens = 0,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Generate answers to questions from papers with several models, for comparison.

    Each --model writes one paragraph with numbered citations for each question, from the same
    papers (LLMgen of YESciEval). The papers of a question are its sources in QUESTIONS. If a
    question has no sources, the best results of a search in --corpus are used, except retracted
    articles. Gold nuggets and reference answers in QUESTIONS are copied to the output.

    The output file contains one answer per line, with the model as its system and the papers as its
    sources. Use the output file with `ragassay evaluate`, `similarity` and, after evaluations with
    several judges, `matrix`.

    Run the same command again to resume a stopped run, or to add models or questions; existing
    answers are reused. The state is stored in OUT.state.sqlite. Failed answers are listed;
    --retry-failed retries them.

    With --engine ray, the workers of a Ray cluster write the answers, and this process searches for
    the papers. A stopped run can be resumed with another engine.

    For example:

      ragassay synthesize questions.jsonl --model openai/gpt-4.1-mini --model mistral/mistral-small
          --out answers.jsonl
      ragassay synthesize topics.json --corpus pubmed --papers 5 --model openai/gpt-4.1-mini
      ragassay synthesize questions.jsonl --model hosted_vllm/qwen2.5-72b@http://gpu:8000/v1
          --model openai/gpt-4.1-mini --limit 20 --dry-run
      ragassay synthesize questions.jsonl --model openai/gpt-4.1-mini --engine ray --workers 4

    Options:
        queries: Questions, answers or topics in any supported format, including YESciEval.
        models: LiteLLM name of a model that writes answers. ragassay/ORG/NAME is loaded in this
            process, and NAME@URL sets an endpoint.
        endpoint: URL of the first --model, and of other models of the same provider.
        target: Output file, compressed if its name ends in .jsonl.gz. By default,
            runs/QUESTIONS-answers.jsonl.
    """
    from ragassay.runs.preflight import check_ready
    from ragassay.studies import syntheses
    from ragassay.studies.synthesis_writer import Writing

    named: EvaluateKeywords = {**options, "model": models or (), "api_base": endpoint}
    settings = syntheses.build_writing_settings(named, style="flag")
    file = target or Path("runs") / f"{queries.name.split('.')[0]}-answers.jsonl"
    how = Writing(words, max_tokens, bool(options.get("retry_failed")))
    bar = Presenter(not quiet).show_bar
    if dry_run:
        writers = syntheses.list_writer_settings(settings, words)
        questions = run_sync(
            syntheses.prepare_questions(queries, options, settings, papers, bar=bar)
        )
        note_questions(questions)
        plan = syntheses.plan_calls(questions, writers)
        n_calls = count_text(plan.n_syntheses, "call")
        calls = f"{count_text(len(writers), 'model')}: at most {n_calls}"
        print_plan(plan, calls, "in the output file", as_json)
        return OK
    check_ready(settings, {**options, "queries": queries}, file=file)
    found = run_sync(syntheses.make_syntheses(queries, file, settings, options, how, papers, bar))
    _print(found, as_json, quiet)
    return choose_exit_code(found.is_partial)


def note_questions(questions: Questions) -> None:
    """Print rejected lines, notes about the search, and questions without papers."""
    print_rejections(questions.rejections)
    print_notes(*(*questions.notes, *questions.warnings))


def print_plan(plan: GenerationPlan, calls: str, where: str, as_json: bool) -> None:
    """Print the estimated number of calls and tokens."""
    if as_json:
        print_json(asdict(plan))
        return
    typer.echo(
        f"{count_text(plan.n_questions, 'question')}, {calls}, about {plan.n_prompt_tokens:,} "
        f"prompt tokens. Results already {where} are reused."
    )


def _print(found: Syntheses, as_json: bool, quiet: bool) -> None:
    from ragassay.reports.provenance import describe_usage

    note_questions(found.questions)
    for warning in found.warnings:
        typer.echo(flatten_text(warning), err=True)
    if as_json:
        print_json(found.fields)
    elif not quiet:
        n_questions = len(found.questions.records)
        typer.echo(
            f"{found.file}: {count_text(len(found.records), 'answer')} to "
            f"{count_text(n_questions, 'question')} by {count_text(len(found.models), 'model')}"
        )
        typer.echo(describe_usage(found.usage))
