"""`ragassay models`: find and list models, show their cards, and check their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from ragassay.cli.base import choose_exit_code
from ragassay.cli.options import Json
from ragassay.cli.terminal import print_lines, print_sheets
from ragassay.errors import InputError
from ragassay.models import registry
from ragassay.reports.display import count_text
from ragassay.reports.sheets import Column, Sheet, build_number_columns, build_text_columns
from ragassay.settings import load_settings

if TYPE_CHECKING:
    from ragassay.models.registry import RegisteredModel

app = typer.Typer(help="Find judges on local servers, and list, check, download and export models.")

Name = Annotated[str, Argument(help="Model name, such as ragassay/judge, or adapter folder.")]


@app.callback(invoke_without_command=True)
def models(context: typer.Context) -> None:
    """Find judges on local servers, and list, check, download and export models.

    Without a command, the output of `find` and `list` is printed.
    """
    if context.invoked_subcommand is None:
        find_judges(None, None, as_json=False)
        typer.echo("\nShipped models (see `ragassay models --help` for more commands):")
        list_models(as_json=False)


@app.command("find")
def find_judges(
    port: Annotated[list[int] | None, Option(min=1)] = None,
    url: Annotated[list[str] | None, Option(metavar="URL")] = None,
    as_json: Json = False,
) -> None:
    """Find judges on local model servers.

    The command finds models served by Ollama, LM Studio, vLLM and llama.cpp. The ports 11434, 1234,
    8000 and 8080 are checked, and addresses in environment variables such as OLLAMA_HOST. No model
    is loaded.

    For example:

      ragassay models find --port 8001

    Options:
        port: Local port to check instead of the default ports.
        url: URL to check instead of the defaults.
    """
    from ragassay.cli.local_servers import find, print_as_json, print_servers

    checked, servers = find(port or (), url or ())
    if as_json:
        print_as_json(servers)
    else:
        print_servers(checked, servers)


@app.command("list")
def list_models(as_json: Json = False) -> None:
    """List the models that are installed, shipped with ragassay or available for download."""
    items = (
        *registry.list_registered_models(),
        *registry.list_fact_checkers(load_settings().literature.cache_dir),
    )
    rows: list[tuple[str, ...]] = []
    for item in items:
        absent = "to fetch" if item.is_fetchable else "missing"
        size = _format_size(item.n_bytes) if item.is_installed else absent
        rows.append((item.name, item.role, size, item.source))
        fields = {"name": item.name, "role": item.role, "bytes": item.n_bytes}
        fields |= {"source": item.source, "installed": item.is_installed}
        if as_json:
            typer.echo(json.dumps(fields))
    if not as_json:
        name = Column("", "model", is_unbroken=True)
        columns = (
            name,
            *build_text_columns("role"),
            *build_number_columns("size"),
            *build_text_columns("source"),
        )
        print_sheets(Sheet("", columns, tuple(rows)))


@app.command()
def show(name: Name, as_json: Json = False) -> None:
    """Show the model card: training, results and limitations.

    For example:

      ragassay models show ragassay/signals
    """
    item = registry.find_registered_model(name, load_settings().literature.cache_dir)
    if as_json:
        typer.echo(item.card.model_dump_json(indent=2) if item.card else "null")
    else:
        _print_card(item)


@app.command()
def get(name: str) -> None:
    """Download a published fact checker from the Hugging Face Hub.

    The model is stored in the Hugging Face cache, and its commit, licence and digest are recorded.
    Set HF_ENDPOINT to use another hub, or HF_HOME to use another cache.

    For example:

      ragassay models get minicheck
      ragassay evaluate answers.jsonl --verifier minicheck

    Exit codes: 0 success; 1 unknown model, or the hub cannot be reached.

    Options:
        name: Name of a published fact checker: minicheck, hhem or lettucedetect.
    """
    from ragassay.models.availability import fetch

    cache_dir = load_settings().literature.cache_dir
    note = fetch(name, cache_dir)
    item = registry.find_registered_model(note.repository, cache_dir)
    size = _format_size(item.n_bytes)
    typer.echo(f"{note.repository} at {note.revision} ({note.licence}, {size}): {note.folder}")
    typer.echo(f"SHA-256 {note.digest}")
    typer.echo(f"use the model with --verifier {item.name}")


@app.command()
def check(names: Annotated[list[str] | None, Argument()] = None) -> int:
    """Verify the SHA-256 digests of model files.

    OK means that the digest is correct. READ means that the file can be read, but its correct
    digest is unknown.

    Exit codes: 0 all files are intact; 1 unknown model; 3 a file is damaged or missing.

    Options:
        names: Model names or adapter folders. By default, all models.
    """
    cache_dir = load_settings().literature.cache_dir
    fetched = [item for item in registry.list_fact_checkers(cache_dir) if not item.is_fetchable]
    items = (
        [registry.find_registered_model(name, cache_dir) for name in names]
        if names
        else [*registry.list_registered_models(), *fetched]
    )
    labels = {"ok": "OK", "damaged": "DAMAGED", "missing": "MISSING", "unproven": "READ"}
    results = [(item, registry.check(item)) for item in items]
    for item, file in ((item, file) for item, found in results for file in found):
        typer.echo(f"{labels[file.state]:<7} {item.name}  {file.name}  {file.found}".rstrip())
        if file.state in ("damaged", "missing") and file.expected:
            typer.echo(f"{'':<7} expected {file.expected}")
    return choose_exit_code(not all(registry.is_sound(found) for _, found in results))


@app.command()
def merge(
    name: Name,
    hf: Annotated[Path | None, Option(metavar="DIR")] = None,
    gguf: Annotated[Path | None, Option(metavar="FILE")] = None,
    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16",
) -> None:
    """Merge an adapter into its base model, so that other servers can load it.

    For example:

      ragassay models merge ragassay/judge --hf merged-judge
      vllm serve merged-judge --served-model-name ragassay/judge

    Options:
        hf: Write a Hugging Face model folder, e.g. for vLLM.
        gguf: Write a GGUF file, e.g. for llama.cpp.
        dtype: Data type of the weights in the Hugging Face folder.
    """
    from ragassay.models.tuned import check_new_path, write_gguf, write_hf
    from ragassay.models.tuned import merge as merge_adapter

    if hf is None and gguf is None:
        raise InputError("no output specified; pass --hf DIR, --gguf FILE, or both")
    item = registry.find_registered_model(name)
    if item.folder is None:
        raise InputError(f"{item.name} cannot be merged because it is not an adapter")
    for path in filter(None, (hf, gguf)):
        check_new_path(path)
    merged = merge_adapter(item.folder, load_settings().literature.cache_dir)
    if gguf is not None:
        write_gguf(merged, gguf)
        typer.echo(f"wrote {gguf}")
    if hf is not None:
        write_hf(merged, hf, dtype)
        typer.echo(f"wrote {hf}")


def _format_size(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.1f} MiB" if n_bytes >= 2**20 else f"{n_bytes / 2**10:,.1f} KiB"


def _print_card(item: RegisteredModel) -> None:
    from ragassay.reports.provenance import BOUNDS_NOTE, build_bounds_sheet, build_figures_sheet

    print_lines(item.name, style="bold")
    print_lines(f"{item.role}; {item.source}, {_format_size(item.n_bytes)}")
    if card := item.card:
        print_lines("", card.description, "", "Limitations", *(f"- {text}" for text in card.limits))
        if card.figures:
            print_lines("")
            print_sheets(build_figures_sheet(card.figures, has_commands=False))
        for command in dict.fromkeys(figure.command for figure in card.figures):
            print_lines(f"reproduce with: {command}", soft_wrap=True)
        if card.bounds:
            print_lines("", BOUNDS_NOTE)
            print_sheets(build_bounds_sheet(card.bounds))
        if card.digest:
            print_lines(f"SHA-256 {card.digest}", soft_wrap=True)
    else:
        print_lines("This model has no model card.")
    if item.folder is not None:
        _print_note(item.folder)


def _print_note(folder: Path) -> None:
    from ragassay.models.tuned import read_note

    note = read_note(folder)
    data = ", ".join(note.data)
    typer.echo(
        f"trained by {note.method} on {count_text(note.n_examples, 'example')} from {data} "
        f"(SHA-256 {note.data_sha256}), seed {note.seed}"
    )
    targets = {
        "made": "trained on ratings and reasons that were generated from the known perturbations",
        "replies": "trained on ratings and reasons that judges gave in the data",
    }
    if note.targets:
        n = note.source_chars
        sources = f"up to {n:,} characters of sources" if n else "no sources"
        typer.echo(f"{targets[note.targets]}; its prompts contain {sources}")
