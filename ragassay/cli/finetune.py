"""`ragassay finetune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ragassay.cli.exits import PARTIAL, errors_as_lines


def finetune(
    task: Annotated[
        Literal["judge", "verifier", "labeller"], typer.Argument(help="What the model is for.")
    ],
    data: Annotated[list[Path], typer.Option(help="What it learns from; repeat for more files.")],
    out: Annotated[Path, typer.Option(help="Folder of the adapter.")],
    method: Annotated[
        Literal["sft", "cpo"],
        typer.Option(
            help="sft learns the replies that are wanted; cpo learns from pairs of a wanted and an "
            "unwanted one, after sft (--start)."
        ),
    ] = "sft",
    base: Annotated[
        str,
        typer.Option(help="The model that is adapted: smollm2-135m, a Hugging Face id, a folder."),
    ] = "smollm2-135m",
    start: Annotated[
        Path | None, typer.Option(help="Folder of an adapter to begin with, as cpo does.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Labels of the answers, where they are in another file.")
    ] = None,
    systems: Annotated[
        int, typer.Option(min=1, help="Of a judge's data: systems learnt from, of each question.")
    ] = 4,
    limit: Annotated[int, typer.Option(min=0, help="Only the first N examples; 0 for all.")] = 0,
    epochs: Annotated[float, typer.Option(min=0.01, help="How often each is seen.")] = 1.0,
    steps: Annotated[int, typer.Option(min=0, help="End after so many steps; 0 for all.")] = 0,
    learning_rate: Annotated[
        float | None, typer.Option(min=0, help="By default 2e-3 for sft and 5e-5 for cpo.")
    ] = None,
    rank: Annotated[int, typer.Option(min=1, max=256, help="Of the low-rank factors.")] = 16,
    layers: Annotated[
        float, typer.Option(min=0.01, max=1, help="Share of the layers, the upper ones.")
    ] = 2 / 3,
    row_tokens: Annotated[
        int,
        typer.Option(min=64, help="Longest example; on a row so long those on an answer share."),
    ] = 1024,
    cap: Annotated[
        int, typer.Option(min=0, help="Of cpo: most pairs of a rubric and severity; 0 for all.")
    ] = 100,
    seed: Annotated[int, typer.Option(help="Of all draws.")] = 0,
    work: Annotated[
        Path | None, typer.Option(help="Folder of checkpoints; by default OUT/checkpoints.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Fine-tune a small model, as a low-rank adapter of a few MiB.

    A judge learns from YESciEval files: whole answers as others rated them, and what damage makes
    of them, with texts of many origins. Questions are held out by a hash of their ids (four of
    ten); `ragassay audit` on their answers says what the judge can tell. A verifier learns from
    claims with evidence and label, a labeller from answers whose sentences people labelled.

    The same command again goes on from the last checkpoint. Needs `pip install 'ragassay[train]'`;
    on a GPU with bitsandbytes the base is loaded in four bits.

    For example:

      ragassay finetune judge --data bioasq-answers.jsonl.gz --out adapters/judge

      ragassay finetune judge --data bioasq-answers.jsonl.gz --method cpo --start adapters/judge
      --out adapters/judge-cpo

      ragassay audit answers.jsonl --judge ragassay/adapters/judge

      ragassay models check adapters/judge
    """
    with errors_as_lines():
        from ragassay.optimizers.finetuning.job import FinetuneJob, finetune
        from ragassay.optimizers.finetuning.training import LEARNING_RATES, Recipe

        recipe = Recipe(
            method=method,
            epochs=epochs,
            learning_rate=LEARNING_RATES[method] if learning_rate is None else learning_rate,
            rank=rank,
            share_of_layers=layers,
            row_tokens=row_tokens,
            cap=cap,
            seed=seed,
            steps=steps,
        )
        job = FinetuneJob(
            task=task,
            data=tuple(data),
            out=out,
            base=base,
            recipe=recipe,
            start=start,
            labels=labels,
            n_systems=systems,
            limit=limit,
            work=work,
        )

        def say(text: str) -> None:
            if not quiet:
                typer.echo(text, err=True)

        found = finetune(job, say)
    say(
        f"{out}: {found.n_bytes / 2**20:.1f} MiB, {found.note.n_examples} examples, SHA-256 "
        f"{found.note.weights_sha256[:12]}; use it as ragassay/{out}"
    )
    if found.n_rejected:
        n = found.n_rejected
        say(f"{n} {'line' if n == 1 else 'lines'} of the data could not be read")
        raise typer.Exit(PARTIAL)
