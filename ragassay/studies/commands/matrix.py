"""`ragassay matrix`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import OK, choose_exit_code
from ragassay.cli.options import (
    DryRun,
    Json,
    MaxTokens,
    OnlyWhere,
    Papers,
    Quiet,
    Words,
    add_options,
)
from ragassay.cli.terminal import (
    print_json,
    print_notes,
    print_rejections,
    print_sheets,
    print_written,
)
from ragassay.errors import InputError
from ragassay.extras import need
from ragassay.options import EvaluateKeywords, create_settings
from ragassay.process import run_sync
from ragassay.records import Score
from ragassay.reports.display import count_text
from ragassay.runs.progress import Presenter
from ragassay.studies.commands.synthesize import note_questions, print_plan

if TYPE_CHECKING:
    from ragassay.metrics.stats.aggregates import Matrix
    from ragassay.settings import Settings
    from ragassay.studies.matrix import JudgeMatrix
    from ragassay.studies.syntheses import GeneratedAnswers


@add_options(
    EvaluateKeywords,
    *("corpus", "api_base", "limit", "concurrency", "retry_failed"),
    *("max_rpm", "max_usd", "engine", "address", "workers"),
)
def matrix(
    runs: Annotated[list[Path] | None, Argument(metavar="[RUN...]")] = None,
    ratings: Path | None = None,
    rubric: Annotated[list[str] | None, Option(metavar="NAME")] = None,
    same: Annotated[list[str] | None, Option(metavar="JUDGE=SYSTEM")] = None,
    where: OnlyWhere = None,
    answers: Path | None = None,
    target: Annotated[Path | None, Option("--out")] = None,
    generate: Annotated[Path | None, Option(metavar="QUESTIONS")] = None,
    generator: Annotated[list[str] | None, Option(metavar="NAME")] = None,
    judge: Annotated[list[str] | None, Option(metavar="NAME")] = None,
    papers: Papers = 5,
    words: Words = 200,
    max_tokens: MaxTokens = 0,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Compare how several judges rate several systems, and measure self-preference.

    Each cell of the matrix is the mean rating over rubrics and answers, with a bootstrap interval
    over questions. Missing and failed ratings are excluded from the means and counted as unscored.
    If a judge is also a system, its self-preference is its mean rating of its own answers minus its
    mean rating of other answers, minus the same difference for the other judges. Judges and systems
    are matched by name, ignoring case and the LiteLLM provider.

    For example:

      ragassay evaluate answers.jsonl --only rubrics --model openai/gpt-4.1-mini --out runs/gpt
      ragassay evaluate answers.jsonl --only rubrics --model hosted_vllm/qwen2.5-72b --out runs/qwen
      ragassay matrix runs/gpt runs/qwen --same openai/gpt-4.1-mini=our-rag --out matrix
      ragassay matrix --ratings bioasq-train-answers.jsonl.gz --where variant=benign

    With --generate, every generator first writes one synthesis per question (a paragraph that
    cites the abstracts of its papers), and every judge rates all of them. The syntheses are saved
    to answers.jsonl in the output folder. Run the same command again to continue; finished work is
    reused. To compare existing answers, run `ragassay evaluate` with each judge and pass the run
    folders.

      ragassay matrix --generate bioasq-train-questions.jsonl.gz --limit 20
          --generator openai/gpt-4.1-mini --generator mistral/mistral-large-latest
      ragassay matrix --generate questions.jsonl
          --generator hosted_vllm/qwen2.5-72b@http://gpu:8000/v1
          --judge openai/gpt-4.1-mini --dry-run

    Options:
        runs: Run folders, each of a run with one judge or one panel.
        ratings: File of rubric ratings with judge names, e.g. a YESciEval file.
        rubric: Rubric for which to show a separate matrix, or all.
        same: Judge and system that are the same model under different names.
        answers: File of answers from which --where selects. By default, it is the file passed with
            --ratings.
        target: Write matrix.csv, matrix.tex, favourites.csv, self_preference.csv, SVG heatmaps and
            an overview page (index.html) to this folder. With --generate, the folder also contains
            all replies of models, and the default is runs/QUESTIONS-matrix.
        generate: File of research questions with papers. The generators first write a synthesis for
            each question, as in `ragassay synthesize`.
        generator: With --generate: model that writes syntheses, as NAME or NAME@URL.
        judge: With --generate: model that rates all syntheses on nine rubrics. By default, every
            generator is also a judge.
    """
    from ragassay.studies.matrix import compare_judges, write_judge_matrix

    if generate or target:
        need("matplotlib")
    made: GeneratedAnswers | None = None
    if generate is None and (generator or judge or dry_run or options.get("corpus")):
        raise InputError(
            "--generator, --judge, --corpus and --dry-run require --generate QUESTIONS"
        )
    if generate is not None:
        target = target or Path("runs") / f"{generate.name.split('.')[0]}-matrix"
        models = generator or [], judge or generator or []
        job = _GenerationJob(generate, *models, papers, words, max_tokens, target)
        made = _generate_matrix(job, options, dry_run, as_json, quiet)
        if made is None:
            return OK
        runs, answers = [*(runs or ()), *made.runs], answers or made.written.file
    found = compare_judges(
        runs or (),
        ratings,
        answers=answers,
        where=where or (),
        same=same or (),
        rubrics=rubric or (),
    )
    if made is not None:
        found = replace(found, warnings=(*made.written.warnings, *found.warnings))
    _print(found, as_json)
    print_written(write_judge_matrix(found, target) if target else ())
    is_partial = made is not None and made.written.is_partial
    return choose_exit_code(found.rejections, found.warnings, is_partial)


class _GenerationJob(NamedTuple):
    questions: Path
    generators: Sequence[str]
    judges: Sequence[str]
    papers: int
    words: int
    max_tokens: int
    out: Path


def _generate_matrix(
    job: _GenerationJob, options: EvaluateKeywords, dry_run: bool, as_json: bool, quiet: bool
) -> GeneratedAnswers | None:
    if len(job.generators) < 2:
        raise InputError("a matrix needs at least two generators; repeat --generator NAME")
    from ragassay.runs.preflight import check_ready

    for name in () if dry_run else dict.fromkeys((*job.generators, *job.judges)):
        read = {"queries": job.questions, "corpus": options.get("corpus")}
        check_ready(_build_settings(name, options), {"out": job.out, **read})
    from ragassay.runs.resume import build_store_path
    from ragassay.studies import syntheses
    from ragassay.studies.synthesis_writer import Writing

    settings = syntheses.build_writing_settings({**options, "model": job.generators}, style="flag")
    writers = syntheses.list_writer_settings(settings, job.words)
    judges = [_build_settings(name, options, only=["rubrics"]) for name in job.judges]
    states = None if dry_run else build_store_path(job.out / syntheses.ANSWERS)
    bar = Presenter(not quiet).show_bar
    making = syntheses.prepare_questions(
        job.questions, options, settings, job.papers, states=states, bar=bar
    )
    questions = run_sync(making)
    note_questions(questions)
    if dry_run:
        plan = syntheses.plan_calls(questions, writers, judges, job.words)
        calls = (
            f"{count_text(len(job.generators), 'generator')}, "
            f"{count_text(len(job.judges), 'judge')}: {count_text(plan.n_syntheses, 'call')} for "
            f"writing and at most {plan.n_ratings} for rating"
        )
        print_plan(plan, calls, f"in {job.out}", as_json)
        return None
    how = Writing(job.words, job.max_tokens, bool(options.get("retry_failed")))
    made = syntheses.generate_and_judge(questions, writers, judges, job.out, how, bar)
    n_asked, n_written = len(made.written.syntheses), len(made.written.records)
    typer.echo(f"{made.written.file}: {n_written} of {n_asked} syntheses", err=True)
    return made


def _build_settings(name: str, options: EvaluateKeywords, **more: object) -> Settings:
    bounds = ("concurrency", "max_rpm", "max_usd", "engine", "address", "workers")
    chosen = {key: options.get(key) for key in ("api_base", *bounds)}
    return create_settings({"model": [name]} | chosen | more, style="flag")


def _print(found: JudgeMatrix, as_json: bool) -> None:
    print_notes(*(f"warning: {warning}" for warning in found.warnings))
    print_rejections(found.rejections)
    if as_json:
        print_matrices(found.matrices, _collect_fields(found))
        return
    from ragassay.studies.matrix_tables import build_favourite_sheet, build_self_preference_sheet

    print_matrices(found.matrices, None)
    print_sheets(build_favourite_sheet(found.favourites))
    if found.self_preferences:
        print_sheets(build_self_preference_sheet(found.self_preferences))
    else:
        typer.echo(
            "no judge is also a system; if one model has different names as judge and as system, "
            "pass --same JUDGE=SYSTEM"
        )


def _collect_fields(found: JudgeMatrix) -> dict[str, object]:
    names = ("judge", "systems", "verdict", "own_gap", "peer_gap", "excess")
    return {
        "favourites": [
            _convert_scores(
                {name: getattr(one, name) for name in ("judge", "system", "second", "margin")}
            )
            for one in found.favourites
        ],
        "self_preferences": [
            _convert_scores(
                {name: getattr(one, name) for name in names} | {"against": dict(one.against)}
            )
            for one in found.self_preferences
        ],
    }


def _convert_scores(value: Any) -> Any:
    if isinstance(value, Score):
        return value.model_dump(include={"value", "low", "high", "n", "n_unscored"})
    return {k: _convert_scores(v) for k, v in value.items()} if isinstance(value, dict) else value


def print_matrices(matrices: Sequence[Matrix], beside: Mapping[str, object] | None) -> None:
    """Print matrices as tables, or as one JSON object.

    Args:
        beside: Additional fields of the JSON object. If None, tables are printed.
    """
    from ragassay.studies.matrix_tables import build_matrix_fields, build_matrix_sheet

    if beside is not None:
        print_json({**beside, "matrices": [build_matrix_fields(matrix) for matrix in matrices]})
        return
    print_sheets(*map(build_matrix_sheet, matrices))
