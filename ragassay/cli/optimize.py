"""`ragassay optimize`, and `ragassay prompts`, which shows prompts and compares compiled ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Option

from ragassay.cli.base import OK, partial_if
from ragassay.cli.options import DryRun, Json, Quiet
from ragassay.cli.terminal import print_lines, print_rejections, print_sheets
from ragassay.extras import need
from ragassay.records import Score
from ragassay.settings import load_settings, with_panel

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
    """List the agents, each with the first words of its prompt, its hash and its fields.

    Those with a star can be compiled by `ragassay optimize`.
    """
    from ragassay.optimizers.compiling.showing import prompt_lines
    from ragassay.reports.sheets import Sheet, words

    rows: list[tuple[str, ...]] = []
    for line in prompt_lines():
        fields = f"{', '.join(line.inputs)} -> {', '.join(line.outputs)}"
        star = " *" if line.can_compile else ""
        shown = line.instruction[:N_CHARS].rstrip() + "..."
        rows.append((line.name + star, line.sha256[:12], fields, shown))
    columns = words("agent", "SHA-256", "fields", "says")
    print_sheets(Sheet("", columns, tuple(rows)))


@app.command()
def show(agent: str, prompts: Annotated[Path | None, Option(metavar="PATH")] = None) -> None:
    """Show the whole prompt of an agent as a model sees it.

    Angle brackets mark the parts that differ from call to call.

    Options:
        agent: The agent, as `ragassay prompts list` names it.
        prompts: Show it with this compiled prompt.
    """
    from ragassay.optimizers.compiling.showing import agent_of, full_prompt
    from ragassay.prompts.compiled import read_compiled

    chosen = agent_of(agent)
    if prompts is not None:
        chosen.use(read_compiled(prompts).model_copy(update={"rubrics": ()}))
    typer.echo(full_prompt(chosen))


@app.command()
def diff(path: Path) -> None:
    """Compare a compiled prompt with the shipped one: a unified diff, then its examples.

    Options:
        path: A file that `ragassay optimize` wrote.
    """
    from ragassay.optimizers.compiling.showing import prompt_diff
    from ragassay.prompts.compiled import read_compiled

    typer.echo(prompt_diff(read_compiled(path)))


def optimize(
    agent: str,
    data: Annotated[Path, Option()],
    dev: Path | None = None,
    optimizer: Annotated[str, Option(metavar="bootstrap|miprov2|gepa|copro")] = "bootstrap",
    model: Annotated[str | None, Option(metavar="NAME")] = None,
    reflection_model: Annotated[str | None, Option(metavar="NAME")] = None,
    api_base: str | None = None,
    budget: Annotated[str, Option(metavar="light|medium|heavy|N")] = "light",
    max_usd: Annotated[float | None, Option(min=0)] = None,
    max_calls: Annotated[int | None, Option(min=1)] = None,
    dry_run: DryRun = False,
    seed: Annotated[int, Option(min=0)] = 0,
    limit: Annotated[int, Option(min=0)] = 0,
    rubric: list[str] | None = None,
    damage: Annotated[int, Option(min=0)] = 0,
    gold: Path | None = None,
    labels: Annotated[int, Option(min=2, max=4)] = 4,
    corpus: str | None = None,
    out: Path | None = None,
    work: Path | None = None,
    keep_anyway: bool = False,
    concurrency: Annotated[int | None, Option(min=1)] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Search for a better prompt of an agent, and measure it on held-out data.

    The prompt is written as JSON, and `ragassay evaluate --prompts FILE` uses it. One that is not
    better than the shipped prompt on --dev is refused.

    The strategies of --optimizer:

    bootstrap: chooses examples. Try it first: no model has to write.

    gepa: learns from errors and rewrites the instruction. Use it if the labels follow a rule that
    the instruction does not state. Give it a strong --reflection-model.

    copro: proposes instructions without seeing replies. Use it if the instruction is worded
    badly for the model; a few items are enough.

    miprov2: combines new instructions with examples. Try it last, with 100 items or more: it
    searches most, and its prompts are the longest.

    --dry-run shows the number of calls and the price. docs/optimizing.md compares the strategies.

    The form of --data depends on the agent; docs/optimizing.md shows a line of each.

    The same command again resumes a stopped job and repeats no call.

    For example:

      ragassay optimize verifier --data claims.jsonl --dev dev.jsonl --model openai/gpt-4.1-mini
      ragassay optimize rubric_judge --data rated.jsonl --rubric cohesion --optimizer gepa

    Exit codes: 0 a better prompt was written; 1 error, or the money or the calls are spent; 2 wrong
    usage; 3 no better prompt was found, or some of the data could not be read.

    Options:
        agent: rubric_judge, verifier, sentence_labeller, nugget_assigner, nugget_writer or
            query_writer.
        data: The training data: a file, or a run folder that people reviewed.
        dev: The data to measure on; by default half of the questions of --data.
        optimizer: The strategy.
        model: LiteLLM name of the model that the prompt is for.
        reflection_model: The model that writes candidates; by default --model. NAME@URL names
            its endpoint.
        api_base: Endpoint of the model.
        budget: Approximate maximum of the agent's calls.
        max_usd: Stop before the job costs more.
        max_calls: Stop before the job makes more model calls.
        seed: Seed of the split and of the examples.
        limit: Maximum examples to learn from, and to measure on; 0 for all.
        rubric: rubric_judge: for this rubric alone; repeat for more. By default all.
        damage: rubric_judge: number of answers to damage as further examples.
        gold: Labels of the answers, if they are in a file of their own.
        labels: verifier: number of labels.
        corpus: query_writer: the corpus to search, as for `ragassay evaluate`.
        out: The file to write; by default prompt.json in --work.
        work: Folder of the replies; by default runs/optimize-AGENT-OPTIMIZER.
        keep_anyway: Write the prompt also if it is no better.
        concurrency: Maximum number of model calls at the same time.
    """
    from ragassay.optimizers.compiling.planning import check_agent, check_optimizer

    check_agent(agent)
    check_optimizer(optimizer)
    from ragassay.runs.preflight import check_ready

    if optimizer == "miprov2":
        need("optuna")
    judges = [name for name in (model, reflection_model) if name]
    settings = load_settings(
        **with_panel(judges[:1] if model else (), api_base), concurrency=concurrency
    )
    if reflection_model and reflection_model != model:
        settings = settings.model_copy(update={"panel": (reflection_model,)})
    folder = work or Path("runs") / f"optimize-{agent}-{optimizer}"
    if not dry_run:
        read = {"data": data, "dev": dev, "gold": gold, "corpus": corpus}
        check_ready(settings, {"out": folder, **read}, file=out)
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
        return OK
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
    return partial_if(not found.prompt.is_better, found.rejections)


def _show(found: CompileResult, written: Path | None) -> None:
    from ragassay.reports.sheets import Sheet, numbers, words

    prompt = found.prompt
    columns = (*words("on the measured part"), *numbers("shipped", "compiled", "gain", "items"))
    rows = tuple(
        (
            *(one.metric, _text(one.before), _text(one.after), _text(one.gain)),
            f"{one.gain.n}" + (f", {one.gain.n_unscored} unscored" if one.gain.n_unscored else ""),
        )
        for one in prompt.comparisons
    )
    print_sheets(Sheet("", columns, rows))
    print_lines(*(*_verdict(found, written), *_left_out(found)), soft_wrap=True)


def _verdict(found: CompileResult, written: Path | None) -> list[str]:
    from ragassay.optimizers.compiling.student import may_be_chance
    from ragassay.reports.provenance import usage_text
    from ragassay.reports.text import count_text

    prompt = found.prompt
    shown = []
    if found.is_same:
        shown.append("The optimizer found nothing better than the shipped prompt.")
    elif not prompt.is_better:
        shown.append("Refused: the compiled prompt is no better than the shipped one.")
    elif may_be_chance(prompt.comparisons[0]):
        shown.append("Better, but the interval of the gain reaches 0: it may be chance.")
    else:
        shown.append("Better, and the interval of the gain lies above 0.")
    shown.append(f"Wrote {written}" if written else "Nothing was written.")
    shown.append(
        f"The job took {usage_text(prompt.usage)}; "
        f"this start made {count_text(found.n_asked, 'call')}."
    )
    return shown


def _left_out(found: CompileResult) -> list[str]:
    if not found.n_shared:
        return []
    n = found.n_shared
    return [f"{n} examples of --data were left out: --dev has their questions."]


def _text(score: Score | PromptComparison) -> str:

    if not isinstance(score, Score) or score.value is None:
        return "unscored"
    sign = "+" if score.scale[0] < 0 and score.value > 0 else ""
    span = "" if score.low is None else f" [{score.low:.3f}, {score.high:.3f}]"
    unscored = f", {score.n_unscored} unscored" if score.n_unscored else ""
    return f"{sign}{score.value:.3f}{span}{unscored}"
