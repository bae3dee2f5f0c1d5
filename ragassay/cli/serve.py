"""`ragassay serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ragassay.models.serving.server import Address


def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="0 has the operating system choose one.")
    ] = 4000,
    host: Annotated[
        str,
        typer.Option(
            help="Where to listen; 0.0.0.0 lets other machines in, over HTTP without encryption."
        ),
    ] = "127.0.0.1",
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Serve this model too: a LiteLLM name, hosted or ragassay/PATH; with an endpoint "
            "as NAME@http://HOST:PORT/v1. Can be given several times.",
        ),
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Serve the models of --model alone.")
    ] = False,
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
    """
    from ragassay.errors import SettingsError
    from ragassay.models.registry import served_models
    from ragassay.models.serving.server import serve as run_server
    from ragassay.settings import load_settings

    if only and not model:
        raise SettingsError("--only needs at least one --model")
    models = (*(() if only else served_models()), *(model or ()))
    run_server(models, host, port, load_settings(), _announce)


def _announce(address: Address) -> None:
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
