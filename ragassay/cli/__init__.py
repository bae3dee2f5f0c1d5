"""Command-line interface. Each command's module is imported when the command is called."""

from __future__ import annotations

import sys
import warnings

import typer

from ragassay.cli.base import LazyGroup
from ragassay.files import limit_line_length

COMMANDS = {
    "Evaluate": {
        "evaluate": ("cli.evaluate:evaluate", "Evaluate a file of answers."),
        "run": (
            "cli.evaluate:run",
            "Send questions to a RAG application and evaluate its answers.",
        ),
        "report": ("cli.runs:report", "Rewrite the report of a run and print its tables."),
        "compare": ("cli.compare:compare", "Rank systems and test which differ significantly."),
        "review": (
            "cli.runs:review_target",
            "Review verdicts, grades or a test bank in the browser.",
        ),
        "runs": ("cli.runs:app", "List and open past runs."),
        "demo": ("cli.evaluate:demo", "Evaluate eight sample answers; needs no judge or API key."),
    },
    "Judge quality": {
        "audit": ("studies.commands.audit:audit", "Test which errors in answers a judge notices."),
        "meta-evaluate": (
            "studies.commands.meta_evaluate:meta_evaluate",
            "Compare a judge with human labels.",
        ),
        "optimize": ("cli.optimize:optimize", "Optimize the prompt of an agent."),
        "prompts": ("cli.optimize:app", "List, show and compare prompts."),
        "finetune": ("cli.finetune:finetune", "Fine-tune a small model as a judge or verifier."),
        "models": ("cli.models:app", "Find local judges; list, check and export models."),
        "serve": ("cli.runs:serve", "Serve local models through an OpenAI-compatible API."),
    },
    "Data": {
        "corpus": ("cli.corpus:app", "Build and search a corpus, and evaluate the search."),
        "nuggets": ("cli.nuggets:app", "Create and assign gold nuggets, and fit a nugget matcher."),
        "convert": ("cli.convert:convert", "Convert answers between formats."),
    },
    "Studies": {
        "synthesize": (
            "studies.commands.synthesize:synthesize",
            "Generate answers from papers with LLMs.",
        ),
        "matrix": (
            "studies.commands.matrix:matrix",
            "Compare how several judges rate several systems.",
        ),
        "similarity": (
            "studies.commands.studies:similarity",
            "Measure how similar the answers of different systems are.",
        ),
        "strategies": (
            "studies.commands.studies:strategies",
            "Compare prompting strategies of a judge.",
        ),
        "rationales": (
            "studies.commands.studies:rationales",
            "Check the reasons that a judge gives for its ratings.",
        ),
        "verifiers": (
            "studies.commands.verifiers:app",
            "List, calibrate, measure and compare verifiers.",
        ),
    },
    "Rubric workbench": {
        "testbank": (
            "workbench.commands.testbank:app",
            "Create, import, edit and check test banks.",
        ),
        "grade": (
            "workbench.commands.grade:grade",
            "Grade passages by test bank items or by relevance.",
        ),
        "grades": (
            "workbench.commands.grades:app",
            "Analyse graded passages and use them to rank systems.",
        ),
    },
    "Question-answer pairs": {
        "qa": (
            "qa.commands.pairs:app",
            "Generate question-answer pairs from papers and evaluate them.",
        )
    },
}
"""Commands by help heading, each with `module:function` within ragassay and a summary."""


class Commands(LazyGroup):
    """The command group with all commands of ragassay."""

    table = COMMANDS


app = typer.Typer(
    name="ragassay",
    cls=Commands,
    help=(
        "Evaluate the answers of biomedical RAG systems: which facts they state or miss, whether "
        "the literature supports them, whether each citation supports its sentence, and how they "
        "score on nine rubrics."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Set the maximum line length, hide warnings of libraries, and print the version or help."""
    from ragassay.process import delay_collection, end_without_collecting

    end_without_collecting()
    context.with_resource(delay_collection())
    context.with_resource(limit_line_length(_load_line_limit))
    if not sys.warnoptions:  # Warnings of libraries are meant for their callers, not for users.
        for category in (FutureWarning, RuntimeWarning):
            context.with_resource(warnings.catch_warnings(action="ignore", category=category))
    if version:
        from ragassay import __version__

        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _load_line_limit() -> int:
    from ragassay.settings import load_settings

    return load_settings().limits.max_line_bytes


__all__ = ["app"]
