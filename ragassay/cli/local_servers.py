"""Find local language model servers, and print their models."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from ragassay.cli.terminal import print_lines, print_sheets

if TYPE_CHECKING:
    from ragassay.models.local_answers import ServerModel
    from ragassay.models.local_servers import LocalServer

NOTHING = (
    "No language model server found at {urls}.",
    "To start Ollama, run `ollama serve` and `ollama pull MODEL`. For another address, run "
    "`ragassay models find --url http://HOST:PORT`.",
)

OLLAMA_HINT = (
    "Ollama silently truncates prompts that exceed its context length. Start it with "
    "OLLAMA_CONTEXT_LENGTH=16384."
)


def find(ports: Sequence[int], urls: Sequence[str]) -> tuple[tuple[str, ...], list[LocalServer]]:
    """Return the URLs that were checked, and the servers found at them.

    Args:
        ports: Local ports to check. If both arguments are empty, the default URLs are checked.

    Raises:
        InputError: One of the URLs is invalid.
    """
    from ragassay.models.local_servers import as_url, find_servers, list_default_urls

    requested = [f"http://127.0.0.1:{port}" for port in ports] + [as_url(url) for url in urls]
    checked = tuple(dict.fromkeys(requested)) or list_default_urls(os.environ)
    return checked, list(find_servers(checked))


def print_as_json(servers: Sequence[LocalServer]) -> None:
    """Print the servers as JSON, one object per server."""
    for server in servers:
        entry = {
            "server": server.kind,
            "version": server.version,
            "url": server.url,
            "judges": [_collect_fields(server, model) for model in server.models],
            "n_left_out": server.n_left_out,
            "problem": server.problem,
        }
        typer.echo(json.dumps(entry))


def print_servers(checked: Sequence[str], servers: Sequence[LocalServer]) -> None:
    """Print a table of judges and an example command for each server."""
    if not servers:
        lines = [line.format(urls=", ".join(checked)) for line in NOTHING]
        print_lines(*lines, soft_wrap=True)
    for server in servers:
        print_lines(*_describe_server(server), soft_wrap=True)
        if server.models:
            _print_judges(server)
            # Suggest a local and loaded model, if there is one.
            model = min(server.models, key=lambda m: (bool(m.remote_host), not m.is_loaded))
            command = build_judge_command(server, model)
            lines = ["", f"  {command}", ""]
            if server.kind == "ollama":
                lines.insert(0, OLLAMA_HINT)
            print_lines(*lines, soft_wrap=True)


def build_judge_command(server: LocalServer, model: ServerModel) -> str:
    """Return an evaluation command that uses a server's model as the judge."""
    name, base = shlex.quote(server.build_judge_name(model)), shlex.quote(server.api_base)
    return f"ragassay evaluate answers.jsonl --model {name} --api-base {base}"


def _describe_server(server: LocalServer) -> list[str]:
    from ragassay.models.local_servers import KINDS

    name = " ".join(filter(None, (KINDS[server.kind].name, server.version)))
    lines = [f"{name} at {server.url}"]
    if server.problem:
        lines.append(f"  {server.problem}")
    elif not server.models:
        lines.append("  No model on this server can be used as a judge.")
    else:
        lines.append(f"  Use --api-base {server.api_base} with one of these models:")
    if server.n_left_out:
        plural = "" if server.n_left_out == 1 else "s"
        lines.append(
            f"  (not shown: {server.n_left_out} other model{plural} for embeddings, reranking or "
            f"speech)"
        )
    return lines


def _print_judges(server: LocalServer) -> None:
    from ragassay.reports.sheets import Sheet, build_number_columns, build_text_columns

    rows: list[tuple[str, ...]] = []
    for model in server.models:
        is_here = not model.remote_host
        size = f"{model.n_bytes / 2**30:.1f} GiB" if model.n_bytes and is_here else ""
        context = f"{model.n_context:,}" if model.n_context else ""
        note = "loaded" if model.is_loaded else ""
        if model.remote_host:
            note = f"runs on {model.remote_host}; answers are sent there"
        parameters = " ".join(filter(None, (model.parameters, model.quantization)))
        rows.append((server.build_judge_name(model), parameters, size, context, note))
    columns = (
        *build_text_columns("--model", "parameters"),
        *build_number_columns("size", "tokens"),
        *build_text_columns(" "),
    )
    print_sheets(Sheet("", columns, tuple(rows)))


def _collect_fields(server: LocalServer, model: ServerModel) -> dict[str, object]:
    return {
        "model": server.build_judge_name(model),
        "api_base": server.api_base,
        "bytes": model.n_bytes,
        "parameters": model.parameters,
        "quantization": model.quantization,
        "context_tokens": model.n_context,
        "loaded": model.is_loaded,
        "remote_host": model.remote_host,
        "command": build_judge_command(server, model),
    }
