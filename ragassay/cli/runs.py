"""`ragassay runs`, `report`, `review` and `serve`: past runs, and local pages."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from ragassay.cli.options import Json, RunFolderArgument
from ragassay.cli.terminal import print_json
from ragassay.errors import InputError, SettingsError
from ragassay.models.registry import served_models
from ragassay.safe_text import open_console
from ragassay.settings import load_settings

if TYPE_CHECKING:
    from ragassay.models.serving.server import Address
    from ragassay.review.access import AccessControl
    from ragassay.review.session import ReviewSession


RUNS = Path("runs")


class ListByDefault(TyperGroup):
    """Takes what is no command for the folder to list."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert `list` if no command and no --help is given."""
        if not args or args[0] not in (*self.commands, "--help"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="runs",
    cls=ListByDefault,
    help="List past runs, and open them: `ragassay runs [FOLDER]`, `ragassay runs open latest`.",
    no_args_is_help=False,
    rich_markup_mode=None,
)


@app.command("list")
def list_runs(folder: Annotated[Path, Argument()] = RUNS, as_json: Json = False) -> None:
    """List the runs of a folder, the newest first. `ragassay runs` alone does the same.

    Each has its answers, judge, main scores, number of main findings, and state: finished,
    running, stopped at 34 of 90, failed, damaged.

    For example:

      ragassay runs
      ragassay runs experiments --json

    Options:
        folder: The folder that holds the runs, or one run.
    """
    from ragassay.runs.past import past_runs

    runs = past_runs(folder)
    if as_json:
        print_json([run.model_dump(mode="json") for run in runs])
        return
    if not runs:
        typer.echo(f"{folder} has no runs")
        return
    from ragassay.reports.past_runs import past_run_lines

    console = open_console()
    for line in past_run_lines(runs):
        console.print(line)


@app.command("open")
def open_run(
    run: Annotated[str, Argument(metavar="NAME|latest")] = "latest",
    folder: Annotated[Path, Option("--in", metavar="FOLDER")] = RUNS,
    review: bool = False,
    no_open: bool = False,
) -> None:
    """Open a run's report in the browser.

    For example:

      ragassay runs open latest
      ragassay runs open first --review

    Options:
        run: A run's name or folder, or the newest.
        folder: The folder that holds the runs.
        review: Open it in the review page (`ragassay review`).
        no_open: Print the report's path, and open no browser.
    """
    from ragassay.runs.past import find_run, page_of

    found = find_run(run, folder)
    if not review:
        page = page_of(found).resolve()
        typer.echo(page)
        if not no_open:
            webbrowser.open(page.as_uri())
        return
    review_target(found, no_open=no_open)


def report(run: RunFolderArgument, as_json: Json = False) -> None:
    """Write report.html and report.md of a run again, and print the run.

    It also works for a stopped run: the report then covers the finished answers.
    """
    from ragassay.metrics.stats.summary import summarize
    from ragassay.runs.folder import RunFolder

    folder = RunFolder(run)
    manifest = folder.manifest()
    evaluations = folder.evaluations()
    if any(one.pairs for one in evaluations[:1]):
        raise InputError(
            f"{run} is a run of pairs, which does not keep their papers: run `ragassay qa "
            "evaluate` again. It asks no question twice and writes qa.html again"
        )
    summary = folder.summary() or summarize(
        evaluations, manifest.answers.n_items, len(folder.failures()), len(folder.rejections())
    )
    folder.write_reports(summary)
    if as_json:
        typer.echo(summary.model_dump_json(indent=2))
        return
    from ragassay.cli.output import print_run

    print_run(manifest, summary, evaluations, run, folder.audit())


def review_target(
    target: Annotated[Path, Argument(metavar="RUN|BANK|GRADES")],
    who: Annotated[str, Option(metavar="NAME")] = "",
    testbank: Annotated[list[Path] | None, Option(metavar="BANK")] = None,
    port: Annotated[int, Option(min=0, max=65535)] = 0,
    no_open: bool = False,
) -> None:
    """Review verdicts, grades or a test bank in the browser.

    The page shows one verdict at a time beside the answer, its evidence and all other
    verdicts on it. The most useful come first: main findings, undecided verdicts,
    disagreements of judges. All works by keys: j and k: next and previous; digits: another label or
    rating, a accepts the model's, e edits, x rejects, u takes back, / filters, ? helps; of a
    graded file, o shows the tables that oversee its grades.

    Your labels are added to reviews.jsonl in the run folder, or to FILE.reviews.jsonl beside a
    file; the model's verdicts stay unchanged. `ragassay meta-evaluate RUN --human RUN` and
    `ragassay optimize ... --data RUN` read it as it is. Several people may review at once, each
    with a page of their own.

    Only this machine can reach the page, and only with the token in its address.

    For example:

      ragassay review runs/first
      ragassay review bank.jsonl.gz --who ann
      ragassay review graded.jsonl.gz --testbank bank.jsonl.gz --no-open

    Options:
        target: A run folder of `ragassay evaluate`, a file of test banks, or a graded file.
        who: Your name; by default the page asks for it.
        testbank: For a graded file: the test bank with the texts of its items. Repeat for more.
        port: Port of the page; 0 for a free one.
        no_open: Print the address, and open no browser.
    """
    from ragassay.review.server import serve_page

    serve_page(target, testbank or (), who, port, opens=not no_open, on_ready=_announce_page)


def _announce_page(access: AccessControl, session: ReviewSession) -> None:
    """Print the address on stdout, for programs too, and the rest on stderr."""
    from ragassay.reports.text import count_text

    typer.echo(access.url)
    source = session.source
    typer.echo(
        f"{source.name}: {count_text(len(session.items), 'item')}; "
        f"what is said goes to {source.journal.path}\n"
        f"Ctrl-C ends it. --port {access.port} later finds what the browser could not save yet.",
        err=True,
    )


def serve(
    port: Annotated[int, Option(min=0, max=65535)] = 4000,
    host: str = "127.0.0.1",
    model: Annotated[list[str] | None, Option("--model", metavar="NAME")] = None,
    only: bool = False,
) -> None:
    """Serve the local models, and others, to any OpenAI client.

    Every model of ragassay runs in this process; concurrent calls are answered in one batch.
    LiteLLM asks the hosted ones. Clients must send a key: that of RAGASSAY_OUTPUT__SERVER_KEY, or a
    new one that is printed once.

    GET /health/liveliness, /health/readiness and /metrics (Prometheus) need no key. SIGTERM and
    Ctrl-C finish open requests first. Nothing is stored, nor any telemetry sent.

    For example:

      ragassay serve --port 4000
      ragassay serve --host 0.0.0.0 --model openai/gpt-4.1-mini
      ragassay serve --model hosted_vllm/judge@http://gpu-machine:8000/v1

    And on another machine, with the key in LITELLM_PROXY_API_KEY:

      ragassay evaluate answers.jsonl --model litellm_proxy/ragassay/judge --api-base
          http://HOST:4000/v1

    Options:
        port: Port of the server; 0 for a free one.
        host: Address to listen on; 0.0.0.0 lets other machines connect, over HTTP without
            encryption.
        model: Serve this model too: a LiteLLM name, hosted or ragassay/PATH; with an endpoint as
            NAME@http://HOST:PORT/v1. Can be given several times.
        only: Serve the models of --model alone.
    """
    from ragassay.models.serving.server import serve as run_server

    if only and not model:
        raise SettingsError("--only needs at least one --model")
    models = (*(() if only else served_models()), *(model or ()))
    run_server(models, host, port, load_settings(), _announce_server)


def _announce_server(address: Address) -> None:
    """Print the address on stdout, for programs too, and the rest on stderr."""
    typer.echo(address.url)
    lines = [f"serving {', '.join(address.models)}"]
    if address.new_key:
        lines.append(f"key, made for this run and not shown again: {address.new_key}")
    else:
        lines.append("key: that of RAGASSAY_OUTPUT__SERVER_KEY")
    if address.is_public:
        lines.append(
            f"warning: {address.host} can be reached by other machines, and keys and texts travel "
            "unencrypted: put a proxy with TLS before it where the network is not yours"
        )
    first = address.models[0]
    lines += [
        "",
        f'curl {address.url}/chat/completions -H "Authorization: Bearer $KEY" \\',
        "  -H 'Content-Type: application/json' \\",
        f'  -d \'{{"model": "{first}", "messages": [{{"role": "user", "content": "Hi"}}]}}\'',
        f'openai.OpenAI(base_url="{address.url}", api_key=KEY)',
        f"LITELLM_PROXY_API_KEY=$KEY ragassay evaluate ANSWERS --model litellm_proxy/{first} "
        f"--api-base {address.url}",
        "",
        "Ctrl-C ends it.",
    ]
    typer.echo("\n".join(lines), err=True)
