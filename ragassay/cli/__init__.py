"""The command line: one module per command, no logic. Heavy imports wait for the command."""

from __future__ import annotations

import sys
import warnings

import typer

from ragassay.cli.audit import audit
from ragassay.cli.base import PlainGroup, ShortHelp
from ragassay.cli.compare import compare
from ragassay.cli.convert import convert
from ragassay.cli.corpus import app as corpus_app
from ragassay.cli.evaluate import demo, evaluate
from ragassay.cli.finetune import finetune
from ragassay.cli.grade import grade
from ragassay.cli.grades import app as grades_app
from ragassay.cli.matrix import matrix
from ragassay.cli.meta_evaluate import meta_evaluate
from ragassay.cli.models import app as models_app
from ragassay.cli.nuggets import app as nuggets_app
from ragassay.cli.optimize import app as prompts_app
from ragassay.cli.optimize import optimize
from ragassay.cli.qa import app as qa_app
from ragassay.cli.rationales import rationales
from ragassay.cli.review import review
from ragassay.cli.run import run
from ragassay.cli.runs import app as runs_app
from ragassay.cli.runs import report
from ragassay.cli.serve import serve
from ragassay.cli.similarity import similarity
from ragassay.cli.strategies import strategies
from ragassay.cli.synthesize import synthesize
from ragassay.cli.testbank import app as testbank_app
from ragassay.cli.verifiers import app as verifiers_app
from ragassay.files import line_limit
from ragassay.process import end_without_collecting, patient_collector

app = typer.Typer(
    name="ragassay",
    cls=PlainGroup,
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
app.command()(demo)
app.command(cls=ShortHelp)(evaluate)
app.command()(run)
app.command()(audit)
app.command()(grade)
app.command()(report)
app.command()(review)
app.command()(compare)
app.command()(meta_evaluate)
app.command()(synthesize)
app.command()(matrix)
app.command()(similarity)
app.command()(strategies)
app.command()(rationales)
app.command()(convert)
app.command()(optimize)
app.command()(finetune)
app.command()(serve)
app.add_typer(runs_app)
app.add_typer(corpus_app)
app.add_typer(nuggets_app)
app.add_typer(grades_app)
app.add_typer(testbank_app)
app.add_typer(qa_app)
app.add_typer(models_app)
app.add_typer(prompts_app)
app.add_typer(verifiers_app)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Options of every command."""
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
