"""`ragassay runs`, `report`, `review` and `serve`."""

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
from ragassay.models.registry import list_served_models
from ragassay.safe_text import open_console
from ragassay.settings import load_settings

if TYPE_CHECKING:
    from ragassay.models.serving.server import Address
    from ragassay.review.access import AccessControl
    from ragassay.review.session import ReviewSession


RUNS = Path("runs")


class ListByDefault(TyperGroup):
    """Command group that runs its command `list` if no command is given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert `list` before the arguments if the first one is neither a command nor --help."""
        if not args or args[0] not in (*self.commands, "--help"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="runs",
    cls=ListByDefault,
    help="List and open past runs: `ragassay runs [FOLDER]`, `ragassay runs open latest`.",
    no_args_is_help=False,
    rich_markup_mode=None,
)


@app.command("list")
def list_runs(folder: Annotated[Path, Argument()] = RUNS, as_json: Json = False) -> None:
    """List the runs of a folder, newest first.

    `ragassay runs` without a command does the same as `ragassay runs list`.

    The list shows the number of answers, the judge, the main scores, the number of main findings,
    and the state of each run (finished, running, stopped, failed or damaged).

    For example:

      ragassay runs
      ragassay runs experiments --json

    Options:
        folder: Folder with runs, or a run folder.
    """
    from ragassay.runs.past import list_past_runs

    runs = list_past_runs(folder)
    if as_json:
        print_json([run.model_dump(mode="json") for run in runs])
        return
    if not runs:
        typer.echo(f"{folder} has no runs")
        return
    from ragassay.reports.past_runs import render_past_runs

    console = open_console()
    for line in render_past_runs(runs):
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
        run: Name or folder of a run, or latest.
        folder: Folder with runs.
        review: Open the review page instead (see `ragassay review`).
        no_open: Print the path of the report without opening it.
    """
    from ragassay.runs.past import find_report_page, find_run

    path = find_run(run, folder)
    if review:
        review_target(path, no_open=no_open)
        return
    page = find_report_page(path).resolve()
    typer.echo(page)
    if not no_open:
        webbrowser.open(page.as_uri())


def report(run: RunFolderArgument, as_json: Json = False) -> None:
    """Rewrite report.html and report.md of a run, and print its tables.

    The report of a stopped run covers the finished answers.
    """
    from ragassay.metrics.stats.summary import summarize
    from ragassay.runs.folder import RunFolder

    folder = RunFolder(run)
    manifest = folder.read_manifest()
    evaluations = folder.read_evaluations()
    if any(one.pairs for one in evaluations[:1]):
        raise InputError(
            f"{run} is a run of `ragassay qa evaluate`. Run `ragassay qa evaluate` again to "
            f"rewrite the report; finished ratings are reused"
        )
    summary = folder.read_summary() or summarize(
        evaluations,
        manifest.answers.n_items,
        len(folder.read_failures()),
        len(folder.read_rejections()),
    )
    folder.write_reports(summary)
    if as_json:
        typer.echo(summary.model_dump_json(indent=2))
        return
    from ragassay.cli.output import print_run

    print_run(manifest, summary, evaluations, run, folder.read_audit())


def review_target(
    target: Annotated[Path, Argument(metavar="RUN|BANK|GRADES")],
    who: Annotated[str, Option(metavar="NAME")] = "",
    testbank: Annotated[list[Path] | None, Option(metavar="BANK")] = None,
    port: Annotated[int, Option(min=0, max=65535)] = 0,
    no_open: bool = False,
) -> None:
    """Review verdicts, grades or a test bank in the browser.

    The page shows one verdict at a time, next to the answer, its evidence and its other verdicts.
    Main findings, undecided verdicts and disagreements between judges come first. Keyboard
    shortcuts: j and k go to the next and previous item, digits set another label or rating, a
    accepts the model's label, e edits, x rejects, u undoes, / filters and ? shows help. For a
    graded file, the key o shows tables of the grades.

    Reviews are appended to reviews.jsonl in the run folder, or to FILE.reviews.jsonl next to a
    file. The verdicts of the model are not changed. Use the reviews with `ragassay meta-evaluate
    RUN --human RUN` or `ragassay optimize ... --data RUN`. Several people can review at the same
    time if each of them runs this command.

    The page can only be opened on this machine, with the token in its URL.

    For example:

      ragassay review runs/first
      ragassay review bank.jsonl.gz --who ann
      ragassay review graded.jsonl.gz --testbank bank.jsonl.gz --no-open

    Options:
        target: Run folder, test bank file, or graded file.
        who: Your name. By default, you enter it on the page.
        testbank: For a graded file: test bank with the item texts.
        port: Port of the page; 0 chooses a free port.
        no_open: Print the URL without opening a browser.
    """
    from ragassay.review.server import serve_page

    serve_page(target, testbank or (), who, port, opens=not no_open, on_ready=_announce_page)


def _announce_page(access: AccessControl, session: ReviewSession) -> None:
    from ragassay.reports.text import count_text

    typer.echo(access.url)
    source = session.source
    typer.echo(
        f"{source.name}: {count_text(len(session.items), 'item')}. "
        f"Reviews are saved to {source.journal.path}\n"
        f"Press Ctrl-C to stop. To restore unsaved reviews, use --port {access.port} next time.",
        err=True,
    )


def serve(
    port: Annotated[int, Option(min=0, max=65535)] = 4000,
    host: str = "127.0.0.1",
    model: Annotated[list[str] | None, Option("--model", metavar="NAME")] = None,
    only: bool = False,
) -> None:
    """Serve local and hosted models through an OpenAI-compatible API.

    The models shipped with ragassay run in this process, which batches concurrent calls. Calls to
    hosted models are forwarded with LiteLLM. Clients must send the key in
    RAGASSAY_OUTPUT__SERVER_KEY. If this variable is not set, a new key is generated and printed
    once.

    GET /health/liveliness, /health/readiness and /metrics (Prometheus) require no key. On SIGTERM
    or Ctrl-C, the server finishes open requests before it exits. The server stores nothing and
    sends no telemetry.

    For example:

      ragassay serve --port 4000
      ragassay serve --host 0.0.0.0 --model openai/gpt-4.1-mini
      ragassay serve --model hosted_vllm/judge@http://gpu-machine:8000/v1

    To use the server on another machine, set LITELLM_PROXY_API_KEY to the key and run, for example:

      ragassay evaluate answers.jsonl --model litellm_proxy/ragassay/judge --api-base
          http://HOST:4000/v1

    Options:
        port: Port of the server; 0 chooses a free port.
        host: Address to listen on. 0.0.0.0 accepts unencrypted HTTP connections from other
            machines.
        model: Additional model: a LiteLLM name, ragassay/PATH, or NAME@http://HOST:PORT/v1.
        only: Serve no models except those passed with --model.
    """
    from ragassay.models.serving.server import serve as run_server

    if only and not model:
        raise SettingsError("--only requires at least one --model")
    models = (*(() if only else list_served_models()), *(model or ()))
    run_server(models, host, port, load_settings(), _announce_server)


def _announce_server(address: Address) -> None:
    typer.echo(address.url)
    lines = [f"serving {', '.join(address.models)}"]
    if address.new_key:
        lines.append(f"new API key, shown only once: {address.new_key}")
    else:
        lines.append("API key: value of RAGASSAY_OUTPUT__SERVER_KEY")
    if address.is_public:
        lines.append(
            f"warning: other machines can connect to {address.host} over unencrypted HTTP. Use a "
            "TLS proxy unless you trust the network"
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
        "Press Ctrl-C to stop.",
    ]
    typer.echo("\n".join(lines), err=True)
