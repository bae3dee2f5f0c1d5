"""`ragassay nuggets`: create and assign gold nuggets, and fit a nugget matcher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer
from typer import Option

from ragassay.cli.base import choose_exit_code
from ragassay.cli.options import AnswersArgument, Quiet, add_options
from ragassay.cli.presenter import Terminal
from ragassay.cli.terminal import print_notes, print_rejections
from ragassay.extras import need
from ragassay.options import EvaluateKeywords, Keywords, create_settings
from ragassay.process import run_sync
from ragassay.reports.display import count_text
from ragassay.runs.progress import show_steps

if TYPE_CHECKING:
    from ragassay.records import NuggetMatcher
    from ragassay.runs.journal import EditRequest
    from ragassay.runs.nuggets import Reviewer, Rows, Written

app = typer.Typer(
    help="Create gold nuggets from documents or answers, assign them, and fit a nugget matcher."
)

Target = Annotated[Path, Option("--out", help="Output file.")]


@app.command()
@add_options(
    EvaluateKeywords,
    *("corpus", "model", "api_base", "max_rpm", "max_usd", "questions", "limit", "column_map"),
)
def create(
    answers: AnswersArgument,
    *,
    target: Target,
    source: Annotated[Literal["documents", "answer", "reference"], Option("--from")] = "documents",
    most: Annotated[int, Option("--max", min=1)] = 20,
    window: Annotated[int, Option(min=1)] = 10,
    min_judgment: int = 2,
    accept_all: bool = False,
    review: bool = False,
    no_open: bool = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Create gold nuggets for every question in a file.

    The model reads the documents of a question in groups and adds facts to a list. Duplicate facts
    and facts that no document supports are removed, and the others are rated vital or okay. Each
    list of nuggets then opens in your editor. The lists that you save are written in the nuggetizer
    format, for `ragassay evaluate --nuggets`. With --review, all lists open in the browser instead,
    and the command waits until you press Finish.

    Run the same command again to resume a stopped run. The state is stored in OUT.state.sqlite.

    For example:

      ragassay nuggets create answers.jsonl --from documents --out nuggets.jsonl
      ragassay nuggets create answers.jsonl --from reference --out nuggets.jsonl --accept-all
      ragassay nuggets create answers.jsonl --out nuggets.jsonl --review

    Options:
        source: Whether to create the nuggets from documents, from answers or from reference
            answers.
        most: Maximum number of nuggets per question.
        window: Number of documents per group.
        min_judgment: For nuggetizer input: minimum relevance judgment of a document to use.
        accept_all: Accept all nuggets without opening an editor.
        review: Edit the lists in the browser instead of an editor.
        no_open: With --review: print the URL only.
    """
    from ragassay.cli.terminal import edit_in_editor, require_terminal
    from ragassay.formats.nuggetizer import drop_judged_below
    from ragassay.requests import open_run, read_input

    terminal = Terminal(quiet)
    if not (accept_all or review):
        require_terminal("--accept-all, or --review")
    job, settings = read_input(answers, options, None, terminal, answered=False)
    run = open_run(settings, options, terminal, job.corpus)
    records = [drop_judged_below(record, min_judgment) for record in job.records]
    n_dropped = sum(len(a.sources) for a in job.records) - sum(len(b.sources) for b in records)
    if n_dropped:
        candidates = count_text(n_dropped, "candidate")
        print_notes(f"skipped {candidates} with a judgment below --min-judgment {min_judgment}")
    from ragassay.runs.nuggets import build_nugget_jobs, write_nuggets

    jobs = build_nugget_jobs(records, source, run, n_window=window, n_most=most)
    with terminal.show_bar(len(jobs), "writing nuggets") as listen:
        written = run_sync(
            write_nuggets(
                jobs,
                run,
                target,
                None if accept_all else edit_in_editor,
                review=_create_reviewer(target, not no_open) if review and not accept_all else None,
                tell=print_notes,
                listen=listen,
            )
        )
    complete = _report_written(written)
    return choose_exit_code(job.rejections, not complete)


@app.command()
@add_options(
    EvaluateKeywords,
    *("nuggets", "corpus", "model", "api_base", "max_rpm", "max_usd"),
    *("questions", "limit", "column_map"),
)
def assign(
    answers: AnswersArgument,
    *,
    target: Target,
    metrics: Path | None = None,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Determine which gold nuggets each answer supports.

    The labels are "supported", "partially supported" and "not supported". The assignments and
    scores are written in the nuggetizer format. The file of scores has four scores per answer, and
    their means in a line named "all". Failed assignments are labelled "failed" and do not count in
    the scores.

    Options:
        metrics: Output file for the scores. By default, OUT.metrics.jsonl.
    """
    from ragassay.requests import open_run, read_input

    terminal = Terminal(quiet)
    job, settings = read_input(answers, options, None, terminal)
    run = open_run(settings, options, terminal, job.corpus)
    from ragassay.runs.nugget_matching import assign_nuggets

    scores = metrics or target.with_name(f"{target.name}.metrics.jsonl")
    with terminal.show_bar(len(job.records), "assigning nuggets") as listen:
        found = run_sync(assign_nuggets(job.records, run, target, scores, listen))
    typer.echo(
        f"{target}: {count_text(len(found.answers), 'answer')}, "
        f"{count_text(found.n_unscored, 'nugget')} unscored"
    )
    typer.echo(f"{scores}: scores")
    n_without = len(job.records) - len(found.answers)
    if n_without:
        typer.echo(f"answers without gold nuggets: {n_without}", err=True)
    return choose_exit_code(job.rejections, found.n_unscored)


@app.command()
@add_options(Keywords, "embedder")
def fit(
    file: Path,
    *,
    target: Target,
    trials: Annotated[int, Option(min=1)] = 200,
    seed: Annotated[int, Option(min=0)] = 0,
    quiet: Quiet = False,
    **options: Unpack[Keywords],
) -> int:
    """Fit a model that matches nuggets, as in BioACE.

    The model decides whether two nuggets state the same fact. A Bayesian Gaussian mixture separates
    pairs of similar nuggets from other pairs. Optuna searches for the probability threshold with
    the best F1, similarity and number of alignments on held-out folds; among equally good
    thresholds, the middle one is used. These objectives need no labels and do not measure
    correctness. If FILE contains known matches, agreement with the known matches is optimized and
    printed instead.

    To use the result, set RAGASSAY_NUGGETS__NUGGET_MATCHER=OUT.

    Options:
        file: JSON lines {"gold": [text], "nuggets": [text]}, optionally with known matches
            "matches": [[0, 2]], or a run folder.
        trials: Number of thresholds to try.
        seed: Random seed for the mixture and the search.
    """
    from ragassay.models.embeddings import Embedder
    from ragassay.runs.nugget_matching import fit_file, read_match_file

    need("optuna")
    settings = create_settings(options, style="flag")
    found = read_match_file(file)
    print_rejections(found.rejections)
    if found.n_one_sided:
        typer.echo(f"answers without gold or system nuggets: {found.n_one_sided}", err=True)
    with show_steps(len(found.cases) + trials, "fitting", not quiet) as on_step:
        matcher = fit_file(
            found,
            Embedder(settings.literature.embedder),
            target,
            n_trials=trials,
            seed=seed,
            on_step=on_step,
        )
    _print_matcher(matcher, target)
    return choose_exit_code(found.rejections)


def _create_reviewer(target: Path, opens: bool) -> Reviewer:
    from ragassay.review.of_lists import collect_edited_rows, open_lists
    from ragassay.review.server import serve_until_done
    from ragassay.runs.journal import open_journal

    async def review(requests: Sequence[EditRequest]) -> list[Rows]:
        source = open_lists(requests, open_journal(target))
        session = await serve_until_done(
            source, opens=opens, on_ready=lambda access, session: typer.echo(access.url)
        )
        return [collect_edited_rows(request, session) for request in requests]

    return review


def _report_written(written: Sequence[Written]) -> bool:
    complete = True
    for one in written:
        if one.found is None:
            typer.echo(f"{one.job.topic}: no nuggets: {one.problem}", err=True)
            complete = False
            continue
        n_vital = sum(nugget.importance == "vital" for nugget in one.found.nuggets)
        n_extractive = sum(nugget.method == "extractive" for nugget in one.found.nuggets)
        parts = [f"{count_text(len(one.found.nuggets), 'nugget')}, vital {n_vital}"]
        if n_extractive:
            parts.append(f"{n_extractive} extracted from the sources")
        reasons = Counter(left.reason for left in one.found.left_out)
        labels = {
            "not_carried": "not supported by a source",
            "duplicate": "duplicates",
            "too_many": "above the limit",
        }
        parts += [f"{reasons[key]} removed: {text}" for key, text in labels.items() if reasons[key]]
        if one.found.failures:
            failed = sorted({failure.reason for failure in one.found.failures})
            parts.append(f"{len(one.found.failures)} failed calls: {', '.join(failed)}")
            complete = False
        typer.echo(f"{one.job.topic}: {'; '.join(parts)}")
    return complete


def _print_matcher(matcher: NuggetMatcher, out: Path) -> None:
    found, known = matcher.objectives, matcher.agreement
    typer.echo(
        f"{out}: probability threshold {matcher.probability_threshold:.3f}, "
        f"similarity threshold {matcher.similarity_threshold:.3f} with {matcher.embedder}"
    )
    typer.echo(
        f"{count_text(matcher.n_pairs, 'pair')} in {count_text(matcher.n_questions, 'answer')}: "
        f"mean F1 {found.f1:.3f}, similarity {found.similarity:.3f}, "
        f"{found.n_alignments:.2f} alignments per answer"
    )
    if known is None:
        typer.echo("There are no known matches, so the accuracy of the alignments is unknown.")
        return
    values = [(name, getattr(known, name)) for name in ("accuracy", "precision", "recall")]
    shares = ", ".join(f"{name} {value:.3f}" for name, value in values if value is not None)
    folds = f", in {matcher.n_folds} held-out folds" if matcher.n_folds else ""
    typer.echo(f"Agreement with {known.n_known} known matches of the same data{folds}: {shares}")
