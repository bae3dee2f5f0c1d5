"""The command line. The module of a command is loaded when the command is called."""

from __future__ import annotations

import sys
import warnings

import typer

from ragassay.cli.base import LazyGroup
from ragassay.files import line_limit

COMMANDS = {
    "Evaluate": {
        "evaluate": ("evaluate:evaluate", "Evaluate a file of answers."),
        "run": ("evaluate:run", "Ask a RAG application questions, evaluate its answers."),
        "report": ("runs:report", "Write the report of a run again, print its tables."),
        "compare": ("compare:compare", "Rank systems, and tell which of them differ."),
        "review": ("runs:review_target", "Review verdicts, grades or a test bank in the browser."),
        "runs": ("runs:app", "List past runs, and open them."),
        "demo": ("evaluate:demo", "Evaluate eight invented answers; needs no judge, no key."),
    },
    "Trust in judges": {
        "audit": ("evaluate:audit", "Measure what a judge notices in perturbed answers."),
        "meta-evaluate": ("compare:meta_evaluate", "Measure a judge against people's labels."),
        "optimize": ("optimize:optimize", "Search for a better prompt of an agent."),
        "prompts": ("optimize:app", "List prompts, show one, compare a compiled one."),
        "finetune": ("finetune:finetune", "Fine-tune a small model as a judge or verifier."),
        "models": ("models:app", "Find judges on this machine; list and check models."),
        "serve": ("runs:serve", "Serve the local models to any OpenAI client."),
    },
    "Data": {
        "corpus": ("corpus:app", "Build a corpus, search it, measure the search."),
        "nuggets": ("nuggets:app", "Write gold nuggets, assign them, fit their matching."),
        "convert": ("convert:convert", "Convert answers from any known format into another."),
    },
    "Studies": {
        "synthesize": ("synthesize:synthesize", "Have models answer questions from papers."),
        "matrix": ("matrix:matrix", "Show how several judges rate several systems."),
        "similarity": ("studies:similarity", "Show how alike several systems' answers are."),
        "strategies": ("studies:strategies", "Ask a judge in four ways, and mislead it."),
        "rationales": ("studies:rationales", "Check the reasons that a judge gives."),
        "verifiers": ("verifiers:app", "Fit verifiers, measure them, set them on answers."),
    },
    "Rubric workbench": {
        "testbank": ("testbank:app", "Write, import, edit and check test banks."),
        "grade": ("grade:grade", "Grade passages by a test bank, or by their query alone."),
        "grades": ("grades:app", "Oversee graded passages, evaluate systems by them."),
    },
    "Question-answer pairs": {
        "qa": ("qa:app", "Write question-answer pairs from papers, and rate them.")
    },
}
"""Commands under their headings, each with the place of its code and its line in the help."""


class Commands(LazyGroup):
    """All commands of ragassay."""

    table = COMMANDS


app = typer.Typer(
    name="ragassay",
    cls=Commands,
    help=(
        "Find out what the answers of a biomedical RAG system really contain: which facts they "
        "state, which they miss, whether the literature supports them, whether each citation "
        "supports its sentence, and how nine rubrics rate them."
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
    """Options of every command."""
    from ragassay.process import end_without_collecting, patient_collector

    end_without_collecting()
    context.with_resource(patient_collector())
    context.with_resource(line_limit(_line_limit))
    if not sys.warnoptions:  # What libraries say to those who call them is no news to a reader.
        for category in (FutureWarning, RuntimeWarning):
            context.with_resource(warnings.catch_warnings(action="ignore", category=category))
    if version:
        from ragassay import __version__

        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _line_limit() -> int:
    from ragassay.settings import load_settings

    return load_settings().limits.max_line_bytes


__all__ = ["app"]
