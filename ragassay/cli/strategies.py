"""`ragassay strategies`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer

from ragassay.cli.base import OK, PARTIAL
from ragassay.cli.options import AnswersArgument, Json, Quiet, takes
from ragassay.cli.terminal import print_rejections
from ragassay.options import EvaluateKeywords, settings_of

if TYPE_CHECKING:
    from ragassay.studies.strategies import StrategyStudy


@takes(
    EvaluateKeywords,
    *("model", "api_base", "rubric_set", "rubrics", "questions", "limit", "out", "concurrency"),
    *("column_map", "max_rpm", "max_usd", "engine", "address", "workers"),
    ending="-strategies",
)
def strategies(
    answers: AnswersArgument,
    *,
    human: Annotated[
        Path | None,
        typer.Option(help="Ratings of people; by default those that the file of answers holds."),
    ] = None,
    inversion: Annotated[
        Literal["extreme", "mirror"],
        typer.Option(
            help="How people's usual rating is turned over to mislead the judge: to the opposite "
            "end of the scale (extreme), or to its mirror image (mirror: of 1 to 5, 2 becomes 4 "
            "and 3 stays). The paper's equation is not in its published text."
        ),
    ] = "extreme",
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Ask a judge in four ways, mislead it, and measure how stable its ratings are.

    Each answer is rated five times: by the judge's own understanding of a rubric (zero-shot), with
    what the rubric means (knowledge), with two examples besides (few-shot), thinking step by step
    (chain-of-thought), and with knowledge and a made-up rating of an expert that is the opposite of
    what people said (perturbed). Shown are, for each rubric,

    1. agreement of people and the judge (Krippendorff's alpha), by the way of asking;

    2. how well people agree with each other, and the judge with itself;

    3. the share of ratings that the made-up one did not change;

    4. the sentiment of the justifications.

    The two examples are the answers to other questions that people rated best and worst on the
    rubric; where there are none, the rubric's own.

    One judge is asked; for a fine-tuned one, its base model. By default the rubrics are those of
    the file's ratings. Without people's ratings the judge is misled by the opposite of its own
    usual rating.

    The folder has one run for each way of asking, and the tables as CSV, LaTeX and Markdown; the
    same command again resumes a stopped run.

    For example:

      ragassay strategies topical_chat.json --limit 60
      ragassay strategies answers.jsonl --judge openai/gpt-4.1-mini --human labels.jsonl

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or some rating failed.
    """
    from ragassay.formats.row_mapping import column_map
    from ragassay.runs.progress import shown_progress
    from ragassay.studies.strategies import (
        N_WAYS,
        default_rubric_set,
        read_strategy_job,
        study_strategies,
        write_strategies,
    )

    given = read_strategy_job(
        answers,
        human,
        limit=options.get("limit"),
        questions=options.get("questions"),
        columns=column_map(options.get("column_map")),
    )
    options.setdefault("rubric_set", default_rubric_set(given.job.answers.format))
    settings = settings_of(options, spelled="flag")
    folder = Path(options.get("out") or "")
    n_steps = N_WAYS * len(given.job.records)
    with shown_progress(n_steps, enabled=not quiet) as listen:
        study = study_strategies(given, settings, folder, listen, inversion)
    written = write_strategies(study, folder)
    _show(study, written, as_json, quiet)
    return PARTIAL if study.failures or study.rejections or study.n_unscored else OK


def _show(study: StrategyStudy, written: tuple[Path, ...], as_json: bool, quiet: bool) -> None:
    from ragassay.reports.labels import one_line

    for note in (*study.how, *study.notes):
        typer.echo(one_line(note), err=True)
    if as_json:
        typer.echo(study.to_json())
    elif not quiet:
        _print(study)
    for path in written:
        typer.echo(f"wrote {path}", err=True)


def _print(study: StrategyStudy) -> None:
    from ragassay.reports.sheets import sheet_table
    from ragassay.reports.text import count_text
    from ragassay.safe_text import open_console
    from ragassay.studies.strategy_tables import strategies_headline, strategy_sheets

    console = open_console()
    headline = strategies_headline(study.judge, study.n_answers, study.n_labels)
    console.print(headline, style="bold", markup=False, highlight=False)
    for sheet in strategy_sheets(study.rubrics):
        console.print(sheet_table(sheet))
    if study.n_unscored:
        console.print(f"{count_text(study.n_unscored, 'rating')} failed", highlight=False)
    print_rejections(study.rejections)
