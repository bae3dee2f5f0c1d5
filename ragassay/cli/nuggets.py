"""`ragassay nuggets`: write gold nuggets, assign them, and fit when two of them are one fact."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer
from typer import Option

from ragassay.cli.base import partial_if
from ragassay.cli.options import AnswersArgument, Quiet, takes
from ragassay.cli.presenter import Terminal
from ragassay.cli.terminal import print_rejections
from ragassay.extras import need
from ragassay.options import EvaluateKeywords, Keywords, settings_of
from ragassay.process import run_sync
from ragassay.runs.progress import shown_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragassay.records import NuggetMatcher
    from ragassay.runs.journal import EditRequest
    from ragassay.runs.nuggets import Reviewer, Rows, Written

app = typer.Typer(
    name="nuggets",
    help="Gold nuggets: write them from documents or answers, and fit how they are matched.",
    no_args_is_help=True,
)

Target = Annotated[Path, Option("--out", help="The file to write.")]


@app.command()
@takes(
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
    """Write the gold nuggets of every question of a file.

    The documents of a question are read in groups. Facts that no sentence supports are
    left out, as are repeats. Each fact is rated as vital or okay. Then your editor opens, question
    by question, and what you save is written in the nuggetizer's form, which `ragassay evaluate
    --nuggets` reads. With --review the lists open together in the page of `ragassay review`: the
    run waits, and continues when you press Finish there.

    The same command again resumes a stopped run; its state is in OUT.state.sqlite.

    For example:

      ragassay nuggets create answers.jsonl --from documents --out nuggets.jsonl
      ragassay nuggets create answers.jsonl --from reference --out nuggets.jsonl --accept-all
      ragassay nuggets create answers.jsonl --out nuggets.jsonl --review

    Exit codes: 0 done; 1 error; 3 some input was rejected, some question has no nuggets, or a
    call failed.

    Options:
        source: The texts from which the nuggets are written.
        most: Maximum number of nuggets of a question.
        window: Documents that are read at a time.
        min_judgment: Leave out candidates of the nuggetizer's input that were judged below this
            grade.
        accept_all: Do not open an editor; accept all nuggets.
        review: Edit all lists in the browser, not in an editor.
        no_open: With --review: print the address, open no browser.
    """
    from ragassay.cli.testbank import edit_in_editor, require_terminal
    from ragassay.formats.nuggetizer import drop_judged_below
    from ragassay.reports.text import count_text
    from ragassay.requests import open_tools, read_input

    terminal = Terminal(quiet)
    if not (accept_all or review):
        require_terminal("--accept-all, or --review")
    job, settings = read_input(answers, options, None, terminal, answered=False)
    tools = open_tools(settings, options, terminal, job.corpus)
    records = [drop_judged_below(record, min_judgment) for record in job.records]
    n_dropped = sum(len(a.sources) for a in job.records) - sum(len(b.sources) for b in records)
    if n_dropped:
        told = f"{count_text(n_dropped, 'candidate')} judged below {min_judgment} left out"
        typer.echo(f"{told} (--min-judgment)", err=True)
    from ragassay.runs.nuggets import nugget_jobs, write_nuggets

    jobs = nugget_jobs(records, source, tools, n_window=window, n_most=most)
    with terminal.bar(len(jobs), "writing nuggets") as listen:
        written = run_sync(
            write_nuggets(
                jobs,
                tools,
                target,
                None if accept_all else edit_in_editor,
                review=_page(target, not no_open) if review and not accept_all else None,
                tell=lambda message: typer.echo(message, err=True),
                listen=listen,
            )
        )
    complete = _report_written(written)
    return partial_if(job.rejections, not complete)


@app.command()
@takes(
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
    """Assign every gold nugget to each answer: supported in full, in part, or not.

    Writes the nuggetizer's form: the assignments, and the four scores with their means on a line
    "all". A failed assignment is "failed", and left out of the scores.

    Exit codes: 0 done; 1 error; 3 some input was rejected, or an assignment failed.

    Options:
        metrics: The scores; by default OUT.metrics.jsonl.
    """
    from ragassay.reports.text import count_text
    from ragassay.requests import open_tools, read_input

    terminal = Terminal(quiet)
    job, settings = read_input(answers, options, None, terminal)
    tools = open_tools(settings, options, terminal, job.corpus)
    from ragassay.runs.nugget_matching import assign_nuggets

    scores = metrics or target.with_name(f"{target.name}.metrics.jsonl")
    with terminal.bar(len(job.records), "assigning nuggets") as listen:
        found = run_sync(assign_nuggets(job.records, tools, target, scores, listen))
    typer.echo(
        f"{target}: {count_text(len(found.answers), 'answer')}, "
        f"{count_text(found.n_unscored, 'nugget')} unscored"
    )
    typer.echo(f"{scores}: their scores")
    n_without = len(job.records) - len(found.answers)
    if n_without:
        typer.echo(f"answers without gold nuggets: {n_without}", err=True)
    return partial_if(job.rejections, found.n_unscored)


@app.command()
@takes(Keywords, "embedder")
def fit(
    file: Path,
    *,
    target: Target,
    trials: Annotated[int, Option(min=1)] = 200,
    seed: Annotated[int, Option(min=0)] = 0,
    quiet: Quiet = False,
    **options: Unpack[Keywords],
) -> int:
    """Fit the rule for when two nuggets are the same fact, as BioACE does.

    A Bayesian Gaussian mixture separates similar pairs from others; Optuna searches the probability
    that is best for F1, similarity and number of alignments, on held-out folds. Of equally good
    thresholds, it takes the middle. These need no labels and do not measure the truth: if FILE
    names known matches, the agreement with them decides and is printed.

    Use the result with RAGASSAY_NUGGETS__NUGGET_MATCHER=OUT.

    Options:
        file: JSON lines {"gold": [text], "nuggets": [text]}, with "matches": [[0, 2]] if the
            pairs with the same fact are known; or a run folder.
        trials: Number of thresholds to try.
        seed: Seed of the mixture and of the search.
    """
    from ragassay.models.embeddings import Embedder
    from ragassay.runs.nugget_matching import fit_file, read_match_file

    need("optuna")
    settings = settings_of(options, style="flag")
    found = read_match_file(file)
    print_rejections(found.rejections)
    if found.n_one_sided:
        typer.echo(f"answers without nuggets on one side: {found.n_one_sided}", err=True)
    with shown_steps(len(found.cases) + trials, "fitting", not quiet) as on_step:
        matcher = fit_file(
            found,
            Embedder(settings.literature.embedder),
            target,
            n_trials=trials,
            seed=seed,
            on_step=on_step,
        )
    _print_matcher(matcher, target)
    return partial_if(found.rejections)


def _page(target: Path, opens: bool) -> Reviewer:
    """Return what shows the lists in a page, and waits."""
    from ragassay.review.of_lists import open_lists, rows_of
    from ragassay.review.server import serve_until_done
    from ragassay.runs.journal import journal_of

    async def review(asked: Sequence[EditRequest]) -> list[Rows]:
        source = open_lists(asked, journal_of(target))
        session = await serve_until_done(
            source, opens=opens, on_ready=lambda access, session: typer.echo(access.url)
        )
        return [rows_of(one, session) for one in asked]

    return review


def _report_written(written: Sequence[Written]) -> bool:
    """Print one line per question; return whether all succeeded."""
    from ragassay.reports.text import count_text

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
            parts.append(f"{n_extractive} are sentences of the sources")
        reasons = Counter(left.reason for left in one.found.left_out)
        words = {
            "not_carried": "not carried by a source",
            "duplicate": "told before",
            "too_many": "too many",
        }
        parts += [f"{reasons[key]} left out: {text}" for key, text in words.items() if reasons[key]]
        if one.found.failures:
            failed = sorted({failure.reason for failure in one.found.failures})
            parts.append(f"failed calls {len(one.found.failures)}: {', '.join(failed)}")
            complete = False
        typer.echo(f"{one.job.topic}: {'; '.join(parts)}")
    return complete


def _print_matcher(matcher: NuggetMatcher, out: Path) -> None:
    from ragassay.reports.text import count_text

    found, known = matcher.objectives, matcher.agreement
    typer.echo(
        f"{out}: the same fact from a probability of {matcher.probability_threshold:.3f} on, "
        f"which is a similarity of {matcher.similarity_threshold:.3f} by {matcher.embedder}"
    )
    typer.echo(
        f"{count_text(matcher.n_pairs, 'pair')} of {count_text(matcher.n_questions, 'answer')}: "
        f"average F1 {found.f1:.3f}, "
        f"similarity {found.similarity:.3f}, {found.n_alignments:.2f} alignments an answer"
    )
    if known is None:
        typer.echo("No known matches: how many of the alignments are right is not known.")
        return
    shares = [
        f"{name} {value:.3f}"
        for name, value in (
            ("accuracy", known.accuracy),
            ("precision", known.precision),
            ("recall", known.recall),
        )
        if value is not None
    ]
    held = f", in {matcher.n_folds} held-out folds" if matcher.n_folds else ""
    typer.echo(f"Against {known.n_known} known matches of the same data{held}: {', '.join(shares)}")
