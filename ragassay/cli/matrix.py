"""`ragassay matrix`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import OK, partial_if
from ragassay.cli.options import DryRun, Json, MaxTokens, OnlyWhere, Papers, Quiet, Words, takes
from ragassay.cli.synthesize import note_questions, print_plan
from ragassay.cli.terminal import (
    print_matrices,
    print_notes,
    print_rejections,
    print_sheets,
    print_written,
)
from ragassay.errors import InputError
from ragassay.extras import need
from ragassay.options import EvaluateKeywords, settings_of
from ragassay.process import run_sync
from ragassay.records import Score
from ragassay.runs.progress import Presenter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragassay.settings import Settings
    from ragassay.studies.matrix import JudgeMatrix
    from ragassay.studies.syntheses import GeneratedAnswers, GenerationPlan


@takes(
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
    """Show how several judges rate several systems, and whether a judge prefers its own answers.

    A cell of the matrix is the mean rating over rubrics and answers, with a bootstrap interval
    over questions; ratings that a judge could not give, or that only others gave, are
    counted as unscored. If a judge is also a system, its self-preference is measured: its mean
    for its own answers minus its mean for the others', minus the same difference by the other
    judges. Names are matched without case and without LiteLLM's provider.

    For example:

      ragassay evaluate answers.jsonl --only rubrics --model openai/gpt-4.1-mini --out runs/gpt
      ragassay evaluate answers.jsonl --only rubrics --model hosted_vllm/qwen2.5-72b --out runs/qwen
      ragassay matrix runs/gpt runs/qwen --same openai/gpt-4.1-mini=our-rag --out matrix
      ragassay matrix --ratings bioasq-train-answers.jsonl.gz --where variant=benign

    With --generate, the answers are written first: every generator writes one synthesis for each
    question, a paragraph with citations from the abstracts of its papers, and every judge rates all
    of them. answers.jsonl in the folder has the syntheses. The same command again continues where
    it stopped: nothing is written or rated twice. Answers that were written before are judged with
    `ragassay evaluate`, once by each judge; then give the run folders to this command.

      ragassay matrix --generate bioasq-train-questions.jsonl.gz --limit 20
          --generator openai/gpt-4.1-mini --generator mistral/mistral-large-latest
      ragassay matrix --generate questions.jsonl --generator hosted_vllm/qwen2.5-72b@http://gpu:8000/v1
          --judge openai/gpt-4.1-mini --dry-run

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or a run is incomplete.

    Options:
        runs: Run folders, each by another judge or by a panel.
        ratings: File of ratings on rubrics that name their judges, e.g. YESciEval's.
        rubric: Show this rubric too, or all; repeat for more.
        same: This judge wrote the answers of this system; repeat for more. Equal names are found
            without it.
        answers: The file of the answers, for --where; by default that of --ratings.
        target: Write matrix.csv, matrix.tex, favourites.csv, self_preference.csv, heatmaps (SVG)
            and a page with all of them (index.html) into this folder. With --generate also
            everything that models wrote; by default runs/QUESTIONS-matrix.
        generate: Let models answer these research questions first, from their papers, as `ragassay
            synthesize` does.
        generator: With --generate: a model that writes a synthesis for each question; NAME@URL has
            an endpoint of its own. Repeat for more.
        judge: With --generate: a model that rates every synthesis on the nine rubrics; repeat for
            more. By default the generators judge each other and themselves.
    """
    from ragassay.studies.matrix import judge_matrix, write_judge_matrix

    if generate or target:
        need("matplotlib")
    made: GeneratedAnswers | None = None
    if generate is None and (generator or judge or dry_run or options.get("corpus")):
        raise InputError("--generator, --judge, --corpus and --dry-run need --generate QUESTIONS")
    if generate is not None:
        target = target or Path("runs") / f"{generate.name.split('.')[0]}-matrix"
        models = generator or [], judge or generator or []
        asked = _Asked(generate, *models, papers, words, max_tokens, target)
        made = _generate_matrix(asked, options, dry_run, as_json, quiet)
        if made is None:
            return OK
        runs, answers = [*(runs or ()), *made.runs], answers or made.written.file
    found = judge_matrix(
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
    return partial_if(found.rejections, found.warnings, is_partial)


class _Asked(NamedTuple):
    questions: Path
    generators: Sequence[str]
    judges: Sequence[str]
    papers: int
    words: int
    max_tokens: int
    out: Path


def _generate_matrix(
    asked: _Asked, options: EvaluateKeywords, dry_run: bool, as_json: bool, quiet: bool
) -> GeneratedAnswers | None:
    """Write and rate the syntheses; None where it was only asked what that would take."""
    if len(asked.generators) < 2:
        raise InputError("a matrix needs two or more generators: give --generator NAME twice")
    if not dry_run:
        _check(asked, options)
    from ragassay.runs.resume import states_of
    from ragassay.studies.syntheses import (
        ANSWERS,
        generate_and_judge,
        plan_calls,
        prepared_questions,
        writers_of,
        writing_settings,
    )
    from ragassay.studies.synthesis_writer import Writing

    named: EvaluateKeywords = {**options, "model": asked.generators}
    settings = writing_settings(named, style="flag")
    writers = writers_of(settings, asked.words)
    judges = [_settings(name, options, only=["rubrics"]) for name in asked.judges]
    states = None if dry_run else states_of(asked.out / ANSWERS)
    bar = Presenter(not quiet).bar
    questions = run_sync(
        prepared_questions(asked.questions, options, settings, asked.papers, states=states, bar=bar)
    )
    note_questions(questions)
    if dry_run:
        plan = plan_calls(questions, writers, judges, asked.words)
        print_plan(plan, _calls_text(plan, asked), f"the folder {asked.out} has", as_json)
        return None
    how = Writing(asked.words, asked.max_tokens, bool(options.get("retry_failed")))
    made = generate_and_judge(questions, writers, judges, asked.out, how, bar)
    n_asked, n_written = len(made.written.syntheses), len(made.written.records)
    typer.echo(f"{made.written.file}: {n_written} of {n_asked} syntheses", err=True)
    return made


def _check(asked: _Asked, options: EvaluateKeywords) -> None:
    from ragassay.runs.preflight import check_ready

    for name in dict.fromkeys((*asked.generators, *asked.judges)):
        read = {"queries": asked.questions, "corpus": options.get("corpus")}
        check_ready(_settings(name, options), {"out": asked.out, **read})


def _settings(name: str, options: EvaluateKeywords, **more: object) -> Settings:
    bounds = ("concurrency", "max_rpm", "max_usd", "engine", "address", "workers")
    chosen = {key: options.get(key) for key in ("api_base", *bounds)}
    return settings_of({"model": [name]} | chosen | more, style="flag")


def _calls_text(plan: GenerationPlan, asked: _Asked) -> str:
    from ragassay.reports.text import count_text

    counts = (
        count_text(len(asked.generators), "generator"),
        count_text(len(asked.judges), "judge"),
    )
    calls = count_text(plan.n_syntheses, "call")
    return f"{', '.join(counts)}: {calls} that write and at most {plan.n_ratings} that rate"


def _print(found: JudgeMatrix, as_json: bool) -> None:

    print_notes(*(f"warning: {warning}" for warning in found.warnings))
    print_rejections(found.rejections)
    if as_json:
        print_matrices(found.matrices, _fields(found))
        return
    from ragassay.studies.matrix_tables import favourite_sheet, self_preference_sheet

    print_matrices(found.matrices, None)
    print_sheets(favourite_sheet(found.favourites))
    if found.self_preferences:
        print_sheets(self_preference_sheet(found.self_preferences))
    else:
        typer.echo("no judge is one of the systems: --same JUDGE=SYSTEM names one that is")


def _fields(found: JudgeMatrix) -> dict[str, object]:
    names = ("judge", "systems", "verdict", "own_gap", "peer_gap", "excess")
    return {
        "favourites": [
            _plain({name: getattr(one, name) for name in ("judge", "system", "second", "margin")})
            for one in found.favourites
        ],
        "self_preferences": [
            _plain({name: getattr(one, name) for name in names} | {"against": dict(one.against)})
            for one in found.self_preferences
        ],
    }


def _plain(value: Any) -> Any:
    """Return a value for JSON: of a score the value, the interval and the counts."""
    if isinstance(value, Score):
        return value.model_dump(include={"value", "low", "high", "n", "n_unscored"})
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else value
