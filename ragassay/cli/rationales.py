"""`ragassay rationales`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from ragassay.cli.base import OK, PARTIAL
from ragassay.cli.options import DryRun, Json, Quiet, takes
from ragassay.cli.terminal import print_rejections
from ragassay.options import EvaluateKeywords, settings_of

if TYPE_CHECKING:
    from ragassay.studies.rationales import ReasonAudit


@takes(EvaluateKeywords, "model", "api_base", "limit", "out", "concurrency", "max_rpm", "max_usd")
def rationales(
    reasons: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|FILE",
            help="Run folder of a judge; or a file of answers whose ratings come with reasons, as "
            "YESciEval's.",
        ),
    ],
    *,
    labels: Annotated[
        Path | None,
        typer.Option(help="A sheet.csv that people filled in with yes and no."),
    ] = None,
    rubric_text: Annotated[
        Path | None,
        typer.Option(
            help="The rubrics as the judge read them, where these are not ragassay's: YAML or "
            "JSON, a text for each name. What is recited, is recited from them."
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Check the reasons that a judge gives for its ratings.

    Without a model are measured, for each rubric: how much of a reason is recited from the rubric,
    whether it names anything of the answer, and whether its sentiment goes against the rating.

    With --judge, which should be another model than the one that gave the reasons, each reason is
    also checked by the six criteria of Kim et al. 2023, as YESciEval's authors did by hand: not
    consistent with its score, too general and abstract, overly optimistic, not relevant to the
    response, overly critical, unrelated to the rubric. What the model sees it has to quote.

    The folder holds the tables (rationales.csv, rationales.md), every reason with what was found
    (reasons.csv), and sheet.csv, in which people write yes or no; --labels reads it back and shows
    their shares, and beside a model how often both agree. The same command again asks a model for
    nothing twice.

    For example:

      ragassay rationales runs/first
      ragassay rationales runs/first --judge openai/gpt-4.1-mini --limit 20
      ragassay rationales runs/first --labels runs/first/rationales/sheet.csv
      ragassay rationales bioasq-train-answers.jsonl.gz --limit 30 --out rationales

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or some reason failed.
    """
    from ragassay.process import run_sync
    from ragassay.reports.text import count_text
    from ragassay.runs.progress import shown_progress
    from ragassay.studies.rationales import audit_reasons, read_reasons, write_reason_audit

    given = read_reasons(reasons, options.get("limit"), rubric_text)
    name = f"{reasons.name.split('.')[0]}-rationales"
    default = reasons / "rationales" if reasons.is_dir() else Path("runs") / name
    folder = Path(options.get("out") or default)
    n = len(given.reasons)
    if dry_run:
        n_calls = n if options.get("model") else 0
        typer.echo(f"{count_text(n, 'reason')}: at most {count_text(n_calls, 'call')}")
        return OK
    settings = settings_of(options, spelled="flag") if options.get("model") else None
    with shown_progress(n, settings is not None and not quiet, "checking") as listen:
        found = run_sync(audit_reasons(given, settings, folder, labels, listen=listen))
    _show(found, as_json, quiet)
    for path in write_reason_audit(found, folder):
        typer.echo(f"wrote {path}", err=True)
    return PARTIAL if given.rejections or found.n_failed else OK


def _show(found: ReasonAudit, as_json: bool, quiet: bool) -> None:
    from ragassay.reports.sheets import sheet_table
    from ragassay.studies.rationale_tables import agreement_lines, rationale_sheets

    if found.given.n_without:
        typer.echo(f"ratings without a reason, left out: {found.given.n_without}", err=True)
    if found.given.note:
        typer.echo(found.given.note, err=True)
    if found.n_failed:
        typer.echo(f"reasons that could not be checked: {found.n_failed}", err=True)
    print_rejections(found.given.rejections)
    if as_json:
        typer.echo(found.to_json())
        return
    if quiet:
        return
    from ragassay.safe_text import open_console

    console = open_console()
    judges = ", ".join(dict.fromkeys(one.judge for one in found.given.reasons))
    headline = f"{len(found.given.reasons)} reasons of {judges}"
    console.print(headline, style="bold", markup=False, highlight=False)
    for sheet in rationale_sheets(found.rubrics):
        console.print(sheet_table(sheet))
    for line in agreement_lines(found.agreement):
        console.print(line, markup=False, highlight=False)
