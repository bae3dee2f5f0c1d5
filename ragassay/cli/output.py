"""Print results on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ragassay.process import run_sync
from ragassay.records import (
    Audit,
    Evaluation,
    Manifest,
    Rejection,
    Repeats,
    Score,
    Summary,
    outlines_of,
)
from ragassay.requests import Request, folder_of
from ragassay.runs.progress import Presenter

if TYPE_CHECKING:
    from ragassay.options import Keywords
    from ragassay.runs.evaluate import Plan
    from ragassay.workbench.grading import Graded


T = TypeVar("T")

MOST_FINDINGS = 8
"""Findings that a run prints; the report has all."""


class Terminal(Presenter):
    """Shows a run on the terminal.

    Args:
        is_quiet: Whether bars and tables are left out.
        as_json: Whether what was found is printed as JSON, which `is_quiet` leaves in.
        folder: The run's folder, for the path of its report.
    """

    spelled = "flag"

    def __init__(
        self, is_quiet: bool, as_json: bool = False, folder: str | Path | None = None
    ) -> None:
        super().__init__(not is_quiet)
        self.as_json = as_json
        self.folder = Path(folder or "")

    @contextmanager
    def phase(self, what: str) -> Iterator[None]:
        """Name what is under way before there is a bar, on stderr."""
        if not self.progress:
            yield
            return
        from ragassay.safe_text import open_console

        with open_console(stderr=True).status(what):
            yield

    def note_input(self, rejections: Sequence[Rejection], note: str = "") -> None:
        """Print lines that could not be read, and how the corpus is searched."""
        import typer

        self.rejections += rejections
        print_rejections(rejections)
        if note:
            typer.echo(note, err=True)

    def show(self, found: object) -> None:
        """Print what a stage of an evaluation has found; as JSON the summary alone."""
        import typer

        from ragassay.runs.evaluate import RunResult

        if self.as_json:
            if isinstance(found, RunResult):
                typer.echo(found.summary.model_dump_json(indent=2))
        elif not self.progress:
            return
        elif isinstance(found, RunResult):
            print_run(found.manifest, found.summary, found.evaluations, self.folder)
        elif isinstance(found, Repeats):
            print_repeats(found)
        elif isinstance(found, Audit):
            print_certificate(found)

    def show_audit(self, audit: Audit) -> None:
        """Print an audit that is no stage of an evaluation."""
        import typer

        if self.as_json:
            typer.echo(audit.model_dump_json(indent=2))
        elif self.progress:
            print_audit(audit, self.folder)

    def run(self, request: Request[T], options: Keywords, dry_run: bool = False) -> T:
        """Run a request and return what it found; for a dry run print its plan, and exit."""
        import typer

        if dry_run:
            second = request.tools.settings.judge.escalated_to or ""
            print_plan(request.plan(), request.models, self.as_json, second)
            raise typer.Exit
        return run_sync(request.run(folder_of(options), self))


def print_run(
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    folder: Path,
    audit: Audit | None = None,
) -> None:
    """Print headline, tables, the judge's card, and the report's path."""
    from ragassay.reports import answer_sheet, headline, score_sheet, sheet_table, system_sheet
    from ragassay.reports.cascade_view import cascade_lines
    from ragassay.reports.findings_view import looks_text, undecided_text
    from ragassay.reports.panel_view import panel_lines
    from ragassay.reports.provenance import application_text
    from ragassay.reports.run_sheets import confidence_text
    from ragassay.reports.text import count_text
    from ragassay.safe_text import open_console

    console = open_console()
    where = f"Report: {folder / 'report.html'}"
    console.print(headline(summary), style="bold", markup=False, highlight=False)
    if summary.application is not None:
        console.print(application_text(summary.application), markup=False, highlight=False)
    for note in summary.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    if summary.judged_nothing:
        _print_cost(console, summary)
        console.print(where, markup=False, highlight=False, soft_wrap=True)
        return
    for line in _worst(evaluations):
        console.print(line, markup=False, highlight=False)
    console.print(sheet_table(score_sheet(_drop_unscored(summary))))
    if n_lost := len(summary.scores) - len(_drop_unscored(summary).scores):
        console.print(f"{count_text(n_lost, 'score')} without a value: see the report.")
    if len(summary.systems) > 1:
        console.print(sheet_table(system_sheet(summary.systems, has_intervals=False)))
    console.print(sheet_table(answer_sheet(outlines_of(evaluations))))
    open_lines = filter(
        None, (looks_text(summary, outlines_of(evaluations)), undecided_text(summary))
    )
    panel = panel_lines(summary.panel) if summary.panel else ()
    cascade = cascade_lines(summary.cascade) if summary.cascade else ()
    sure = filter(None, [confidence_text(summary.confidence_from)])
    for line in (*open_lines, *panel, *cascade, *sure):
        console.print(line, markup=False, highlight=False)
    if audit is not None:
        print_certificate(audit)
    _print_cost(console, summary)
    for line in _provenance(manifest):
        console.print(line, markup=False, highlight=False)
    _print_advice(console, manifest, summary)
    console.print(where, markup=False, highlight=False, soft_wrap=True)


def _print_cost(console: Any, summary: Summary) -> None:
    """Print the bill by part; one line where one part has cost all, or nothing cost anything."""
    from ragassay.reports.provenance import usage_text
    from ragassay.reports.run_sheets import cost_sheet, is_bill_worth_a_table
    from ragassay.reports.sheets import sheet_table

    if is_bill_worth_a_table(summary):
        console.print(sheet_table(cost_sheet(summary)))
    elif summary.usage.n_calls:
        console.print(f"Cost: {usage_text(summary.usage)}", markup=False, highlight=False)


def _provenance(manifest: Manifest) -> Iterator[str]:
    """Yield who judged, in the first sentence of each card, and with which prompts."""
    from ragassay.text.sentences import split_sentences

    cards = (
        ("Judge", manifest.card),
        ("All but the rubrics", manifest.base_card),
        ("Rater of the rubrics", manifest.rater_card),
        ("Verifier", manifest.verifier_card),
    )
    for role, card in cards:
        if card is not None:
            start, end = split_sentences(card.description)[0]
            yield f"{role}: {card.description[start:end]}"
    for stamp in manifest.prompts:
        yield f"Compiled prompt: {', '.join((stamp.agent, *stamp.rubrics))} ({stamp.optimizer})"


def _print_advice(console: Any, manifest: Manifest, summary: Summary) -> None:
    """Name a better verifier where the embedded one compared without a judge."""
    from ragassay.model_names import INSTRUMENTS, MINILM_VERIFIER
    from ragassay.models.availability import better_verifier_text
    from ragassay.settings import load_settings

    compared = any(key.startswith(("citations.", "evidence.")) for key in summary.scores)
    if compared and (manifest.judge, manifest.verifier) == (INSTRUMENTS, MINILM_VERIFIER):
        advice = better_verifier_text(load_settings().literature.cache_dir)
        console.print(advice, markup=False, highlight=False, soft_wrap=True)


def _worst(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Yield the serious findings, the worst first, as the page lists them."""
    from ragassay.reports.findings_view import view_cards
    from ragassay.reports.labels import one_line

    serious = [card for card in view_cards(evaluations) if card.severity == "serious"]
    for card in serious[:MOST_FINDINGS]:
        yield one_line(f"  {card.record}: {card.why}")
    if len(serious) > MOST_FINDINGS:
        yield f"  ... and {len(serious) - MOST_FINDINGS:,} more, in the report"


def _drop_unscored(summary: Summary) -> Summary:
    """Return the summary without the scores that failed verdicts left without a value."""
    if not summary.unscored:
        return summary
    kept = {k: s for k, s in summary.scores.items() if s.value is not None or not s.n_unscored}
    return summary.model_copy(update={"scores": kept})


def print_graded(graded: Graded, folder: Path, testbank: Path | None) -> None:
    """Print who graded, what each system covers, and where to go on."""
    from ragassay.reports.display import UNDECIDED, count_missing
    from ragassay.reports.sheets import sheet_table
    from ragassay.safe_text import open_console
    from ragassay.workbench.evaluation_tables import cover_sheet
    from ragassay.workbench.grading import GRADED_FILE, covers

    console = open_console()
    for kind, table in covers(graded).items():
        console.print(f"By {kind}s:", style="bold")
        console.print(sheet_table(cover_sheet(table)))
    missing = count_missing(graded.n_undecided, graded.n_unscored)
    told = ", ".join((f"{graded.n_grades} given", *missing))
    console.print(f"Grades: {told}.", markup=False, highlight=False)
    if graded.n_undecided:
        advice = (
            f"What is {UNDECIDED} only a judge can tell: --escalate MODEL sends just that to one."
        )
        console.print(advice, markup=False, highlight=False)
    card = graded.run.manifest.grader_card
    if card is not None:
        console.print(f"Grader: {card.description}", markup=False, highlight=False)
    path = folder / GRADED_FILE
    beside = f" --testbank {testbank}" if testbank else ""
    for line in (f"Written to {path}", f"To look at it: ragassay review {path}{beside}"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def print_certificate(audit: Audit) -> None:
    """Print the judge's certificate."""
    from ragassay.reports.sheets import sheet_table
    from ragassay.safe_text import open_console
    from ragassay.studies.audit_report import certificate_sheet

    open_console().print(sheet_table(certificate_sheet(audit)))


def print_repeats(repeats: Repeats) -> None:
    """Print how often the judge contradicts itself."""
    from ragassay.reports.run_sheets import repeats_sheet, repeats_text
    from ragassay.reports.sheets import sheet_table
    from ragassay.safe_text import open_console

    console = open_console()
    if repeats.figures:
        console.print(sheet_table(repeats_sheet(repeats)))
    else:
        console.print(repeats_text(repeats), markup=False, highlight=False)


def print_audit(audit: Audit, folder: Path) -> None:
    """Print certificate, mean ratings, every attack, and the page's path."""
    from ragassay.reports.certificate import view_certificate
    from ragassay.reports.sheets import sheet_table
    from ragassay.safe_text import open_console
    from ragassay.studies.audit_report import ratings_sheet, short_attack_sheet

    console = open_console()
    headline = view_certificate(audit).headline
    console.print(headline, style="bold", markup=False, highlight=False)
    print_certificate(audit)
    if audit.ratings:
        console.print(sheet_table(ratings_sheet(audit, has_intervals=False)))
    console.print(sheet_table(short_attack_sheet(audit)))
    where = f"Report: {folder / 'audit.html'}"
    console.print(where, markup=False, highlight=False, soft_wrap=True)


def print_plan(plan: Plan, judges: Sequence[str], as_json: bool, second: str = "") -> None:
    """Print a run's plan, including the most that a cascade's second judge would take."""
    import dataclasses
    import json

    import typer

    from ragassay.reports.cascade_view import usd_text
    from ragassay.reports.provenance import estimate_text
    from ragassay.reports.text import count_text

    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(plan)))
        return
    typer.echo(
        f"{count_text(plan.n_records, 'answer')}, {count_text(plan.n_calls, 'call')} of "
        f"{', '.join(judges)}"
    )
    typer.echo(
        f"about {plan.n_prompt_tokens:,} prompt tokens; {plan.n_shared_tokens:,} of them "
        "are contexts that calls on one answer share"
    )
    if line := estimate_text(plan.cost):
        typer.echo(line)
    if plan.n_escalated:
        typer.echo(
            f"of {second}, were nothing sure, {plan.n_escalated} calls more, about "
            f"{plan.n_escalated_tokens:,} prompt tokens: at most {usd_text(plan.escalated_usd)}"
        )


def tell_plots_left_out(out: Path | None) -> None:
    """Say on stderr, before the work, that no plots are written where matplotlib is missing.

    Args:
        out: The folder of tables and plots; None where nothing is written.
    """
    if out is None:
        return
    import typer

    from ragassay.errors import ExtraError
    from ragassay.extras import need

    try:
        need("matplotlib")
    except ExtraError as error:
        typer.echo(f"note: tables are written without plots: {error}", err=True)


def print_rejections(rejections: Sequence[Rejection]) -> None:
    """Print a file's first unreadable lines on stderr."""
    import typer

    from ragassay.formats.problems import rejection_line

    for rejection in rejections[:10]:
        typer.echo(f"rejected {rejection_line(rejection)}", err=True)
    if len(rejections) > 10:
        typer.echo(f"... and {len(rejections) - 10} more rejected lines", err=True)


def print_scores(scores: Mapping[str, Score], as_json: bool) -> None:
    """Print measures with their intervals."""
    import json

    import typer

    for name, score in scores.items():
        if as_json:
            typer.echo(json.dumps({"measure": name, **score.model_dump(include=_SCORE_FIELDS)}))
        elif score.value is not None:
            low, high = (
                f"{end:.3f}" if end is not None else "-" for end in (score.low, score.high)
            )
            typer.echo(f"{name:<8} {score.value:.3f}  [{low}, {high}]  n={score.n}")


_SCORE_FIELDS = {"value", "low", "high", "n"}
