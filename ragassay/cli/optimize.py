"""`ragassay optimize`, and `ragassay prompts`, which shows prompts and compares compiled ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragassay.cli.base import PARTIAL, errors_as_lines
from ragassay.cli.options import DryRun, Json, Quiet
from ragassay.extras import need

if TYPE_CHECKING:
    from ragassay.optimizers.compiling.job import CompileResult
    from ragassay.prompts.compiled import PromptComparison
    from ragassay.records import Score


app = typer.Typer(
    name="prompts",
    help="Prompts: list them, show one as a model sees it, compare a compiled one.",
    no_args_is_help=True,
)

N_CHARS = 60
"""Characters of an instruction in a list."""


@app.command("list")
def list_prompts() -> None:
    """List the agents: the first words of their prompt, its hash, its fields.

    Those with a star can be compiled by `ragassay optimize`.
    """
    with errors_as_lines():
        from ragassay.optimizers.compiling.showing import prompt_lines
        from ragassay.reports.sheets import Sheet, sheet_table, words
        from ragassay.safe_text import open_console

        rows: list[tuple[str, ...]] = []
        for line in prompt_lines():
            fields = f"{', '.join(line.inputs)} -> {', '.join(line.outputs)}"
            star = " *" if line.can_compile else ""
            said = line.instruction[:N_CHARS].rstrip() + "..."
            rows.append((line.name + star, line.sha256[:12], fields, said))
        columns = words("agent", "SHA-256", "fields", "says")
        open_console().print(sheet_table(Sheet("", columns, tuple(rows))))


@app.command()
def show(
    agent: Annotated[str, typer.Argument(help="The agent, as `ragassay prompts list` names it.")],
    prompts: Annotated[
        Path | None, typer.Option(metavar="PATH", help="With this compiled prompt.")
    ] = None,
) -> None:
    """Show the whole prompt of an agent as a model sees it.

    Angle brackets mark the parts that differ from call to call.
    """
    with errors_as_lines():
        from ragassay.optimizers.compiling.showing import agent_of, full_prompt
        from ragassay.prompts.compiled import read_compiled

        chosen = agent_of(agent)
        if prompts is not None:
            chosen.use(read_compiled(prompts).model_copy(update={"rubrics": ()}))
        typer.echo(full_prompt(chosen))


@app.command()
def diff(
    path: Annotated[Path, typer.Argument(help="A file that `ragassay optimize` wrote.")],
) -> None:
    """Compare a compiled prompt with the shipped one: a unified diff, then its examples."""
    with errors_as_lines():
        from ragassay.optimizers.compiling.showing import prompt_diff
        from ragassay.prompts.compiled import read_compiled

        typer.echo(prompt_diff(read_compiled(path)))


def optimize(
    agent: Annotated[
        str,
        typer.Argument(
            help="rubric_judge, verifier, sentence_labeller, nugget_assigner, nugget_writer or "
            "query_writer."
        ),
    ],
    data: Annotated[
        Path, typer.Option(help="What to learn from: a file, or a run folder that people reviewed.")
    ],
    dev: Annotated[
        Path | None,
        typer.Option(help="What to measure on; by default half of the questions of --data."),
    ] = None,
    optimizer: Annotated[
        str, typer.Option(metavar="bootstrap|miprov2|gepa|copro", help="What looks for a prompt.")
    ] = "bootstrap",
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="LiteLLM name of the model that the prompt is for."),
    ] = None,
    reflection_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The model that writes candidates; by default the same. NAME@URL."
        ),
    ] = None,
    api_base: Annotated[str | None, typer.Option(help="Endpoint of the model.")] = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="light|medium|heavy|N", help="About how many calls of the agent it may make."
        ),
    ] = "light",
    max_usd: Annotated[
        float | None, typer.Option(min=0, help="Stop before the job costs more.")
    ] = None,
    max_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop before the job makes more model calls.")
    ] = None,
    dry_run: DryRun = False,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is drawn.")] = 0,
    limit: Annotated[
        int, typer.Option(min=0, help="Most examples to learn from, and to measure on; 0 for all.")
    ] = 0,
    rubric: Annotated[
        list[str] | None,
        typer.Option(help="rubric_judge: for this rubric alone; repeat for more. By default all."),
    ] = None,
    damage: Annotated[
        int, typer.Option(min=0, help="rubric_judge: damage so many answers besides.")
    ] = 0,
    gold: Annotated[
        Path | None,
        typer.Option(help="Labels of the answers, where they are in a file of their own."),
    ] = None,
    labels: Annotated[
        int, typer.Option(min=2, max=4, help="verifier: how many verdicts there are.")
    ] = 4,
    corpus: Annotated[
        str | None, typer.Option(help="query_writer: what is searched, as for `ragassay evaluate`.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The file to write; by default prompt.json in --work.")
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(help="Folder of the replies; by default runs/optimize-AGENT-OPTIMIZER."),
    ] = None,
    keep_anyway: Annotated[
        bool, typer.Option("--keep-anyway", help="Write the prompt also if it is no better.")
    ] = False,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Most model calls under way at a time.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Search for a better prompt of an agent, and measure it on held-out data.

    The prompt is written as JSON, and `ragassay evaluate --prompts FILE` uses it. One that does no
    better than the shipped prompt on --dev is refused.

    The strategies of --optimizer:

    bootstrap: picks examples. Take it first: no model has to write.

    gepa: rewrites the instruction from what went wrong. Take it where the labels follow a rule that
    the instruction does not state; best with a strong --reflection-model.

    copro: proposes instructions without seeing replies. Take it where the instruction is worded
    badly for the model; a few items are enough.

    miprov2: combines written instructions with examples. Take it last, with 100 items or more: it
    searches most, and its prompts are the longest.

    --dry-run names the calls and the price. docs/optimizing.md compares the strategies.

    The form of --data depends on the agent; docs/optimizing.md shows a line of each.

    The same command again resumes a stopped job, and asks nothing twice.

    For example:

      ragassay optimize verifier --data claims.jsonl --dev dev.jsonl --model openai/gpt-4.1-mini

      ragassay optimize rubric_judge --data rated.jsonl --rubric cohesion --optimizer gepa

    Exit codes: 0 a better prompt was written; 1 error, or the money or the calls are spent; 2 wrong
    usage; 3 no better prompt was found, or some of the data could not be read.
    """
    with errors_as_lines():
        from ragassay.optimizers.compiling.planning import check_agent, check_optimizer

        check_agent(agent)
        check_optimizer(optimizer)
        from ragassay.runs.preflight import check_ready
        from ragassay.settings import load_settings, seated

        if optimizer == "miprov2":
            need("optuna")
        judges = [name for name in (model, reflection_model) if name]
        settings = load_settings(
            **seated(judges[:1] if model else (), api_base), concurrency=concurrency
        )
        if reflection_model and reflection_model != model:
            settings = settings.model_copy(update={"panel": (reflection_model,)})
        folder = work or Path("runs") / f"optimize-{agent}-{optimizer}"
        if not dry_run:
            read = {"data": data, "dev": dev, "gold": gold, "corpus": corpus}
            check_ready(settings, {"out": folder, **read}, file=out)
        from ragassay.cli.output import print_rejections
        from ragassay.optimizers.compiling.job import (
            CompileJob,
            plan_compile_job,
            run_compile_job,
            shown_steps,
            write_compiled,
        )
        from ragassay.optimizers.compiling.tasks import TaskOptions
        from ragassay.retrievers.opening import open_literature

        n_labels: Literal[2, 3, 4] = labels  # type: ignore[assignment]
        options = TaskOptions(tuple(rubric or ()), n_labels, gold, damage, seed)
        job = CompileJob(
            agent,
            data,
            dev,
            optimizer,  # type: ignore[arg-type]
            budget,
            seed,
            limit,
            max_usd,
            options,
            max_calls,
        )
        literature = open_literature(corpus, settings).literature if corpus else None
        if dry_run:
            typer.echo(plan_compile_job(job, settings, literature).text)
            return
        with shown_steps(not quiet) as steps:
            found = run_compile_job(job, settings, folder, literature, steps)
        print_rejections(found.rejections)
        target = out or folder / "prompt.json"
        is_written = found.prompt.is_better or keep_anyway
        if is_written:
            write_compiled(found.prompt, target)
        if as_json:
            typer.echo(found.prompt.model_dump_json(indent=2))
        elif not quiet:
            _show(found, target if is_written else None)
    if not found.prompt.is_better or found.rejections:
        raise typer.Exit(PARTIAL)


def _show(found: CompileResult, written: Path | None) -> None:
    from ragassay.reports.sheets import Sheet, numbers, sheet_table, words
    from ragassay.safe_text import open_console

    prompt = found.prompt
    columns = (*words("on the measured part"), *numbers("shipped", "compiled", "gain", "items"))
    rows = tuple(
        (
            *(one.metric, _text(one.before), _text(one.after), _text(one.gain)),
            f"{one.gain.n}" + (f", {one.gain.n_unscored} unscored" if one.gain.n_unscored else ""),
        )
        for one in prompt.comparisons
    )
    console = open_console()
    console.print(sheet_table(Sheet("", columns, rows)))
    for line in (*_verdict(found, written), *_left_out(found)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _verdict(found: CompileResult, written: Path | None) -> list[str]:
    from ragassay.optimizers.compiling.student import may_be_chance
    from ragassay.reports.provenance import usage_text
    from ragassay.reports.text import count_text

    prompt = found.prompt
    said = []
    if found.is_same:
        said.append("The optimizer found nothing better than the shipped prompt.")
    elif not prompt.is_better:
        said.append("Refused: the compiled prompt is no better than the shipped one.")
    elif may_be_chance(prompt.comparisons[0]):
        said.append("Better, but the interval of the gain reaches 0: it may be chance.")
    else:
        said.append("Better, and the interval of the gain lies above 0.")
    said.append(f"Wrote {written}" if written else "Nothing was written.")
    said.append(
        f"The job took {usage_text(prompt.usage)}; "
        f"this start made {count_text(found.n_asked, 'call')}."
    )
    return said


def _left_out(found: CompileResult) -> list[str]:
    if not found.n_shared:
        return []
    n = found.n_shared
    return [f"{n} examples of --data were left out: --dev has their questions."]


def _text(score: Score | PromptComparison) -> str:
    from ragassay.records import Score

    if not isinstance(score, Score) or score.value is None:
        return "unscored"
    sign = "+" if score.scale[0] < 0 and score.value > 0 else ""
    span = "" if score.low is None else f" [{score.low:.3f}, {score.high:.3f}]"
    unscored = f", {score.n_unscored} unscored" if score.n_unscored else ""
    return f"{sign}{score.value:.3f}{span}{unscored}"
