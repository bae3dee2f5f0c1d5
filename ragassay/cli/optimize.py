"""`ragassay optimize` and `ragassay prompts`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Option

from ragassay.cli.base import OK, choose_exit_code
from ragassay.cli.options import DryRun, Json, Quiet
from ragassay.cli.terminal import print_lines, print_rejections, print_sheets
from ragassay.extras import need
from ragassay.records import Score
from ragassay.settings import convert_judges, load_settings

if TYPE_CHECKING:
    from ragassay.optimizers.compiling.job import CompileResult
    from ragassay.prompts.compiled import PromptComparison
    from ragassay.records import Score


app = typer.Typer(
    name="prompts",
    help="List prompts, show a prompt as a model sees it, or compare a compiled prompt with the "
    "shipped one.",
    no_args_is_help=True,
)

N_CHARS = 60
"""Maximum number of characters of an instruction in the list of prompts."""


@app.command("list")
def list_prompts() -> None:
    """List all agents and their prompts.

    Agents with a star can be optimized with `ragassay optimize`.
    """
    from ragassay.optimizers.compiling.showing import list_prompt_lines
    from ragassay.reports.sheets import Sheet, build_text_columns

    rows: list[tuple[str, ...]] = []
    for line in list_prompt_lines():
        fields = f"{', '.join(line.inputs)} -> {', '.join(line.outputs)}"
        star = " *" if line.can_compile else ""
        shown = line.instruction[:N_CHARS].rstrip() + "..."
        rows.append((line.name + star, line.sha256[:12], fields, shown))
    columns = build_text_columns("agent", "SHA-256", "fields", "instruction")
    print_sheets(Sheet("", columns, tuple(rows)))


@app.command()
def show(agent: str, prompts: Annotated[Path | None, Option(metavar="PATH")] = None) -> None:
    """Print the full prompt of an agent as a model sees it.

    Angle brackets mark the parts that change with each call.

    Options:
        agent: Agent name from `ragassay prompts list`.
        prompts: File with the compiled prompt to show.
    """
    from ragassay.optimizers.compiling.showing import find_agent, render_full_prompt
    from ragassay.prompts.compiled import read_compiled

    chosen = find_agent(agent)
    if prompts is not None:
        chosen.use(read_compiled(prompts).model_copy(update={"rubrics": ()}))
    typer.echo(render_full_prompt(chosen))


@app.command()
def diff(path: Path) -> None:
    """Compare a compiled prompt with the shipped one.

    Options:
        path: Compiled prompt, written by `ragassay optimize`.
    """
    from ragassay.optimizers.compiling.showing import render_prompt_diff
    from ragassay.prompts.compiled import read_compiled

    typer.echo(render_prompt_diff(read_compiled(path)))


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
    perturbed: Annotated[int, Option(min=0)] = 0,
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
    """Optimize the prompt of an agent, and measure it on held-out data.

    The compiled prompt is written as JSON for `ragassay evaluate --prompts FILE`. A prompt that is
    not better than the shipped one on --dev is discarded.

    Strategies of --optimizer:

    bootstrap: Selects few-shot examples. Try this strategy first; it needs no model that writes
    prompts.

    gepa: Rewrites the instruction after reading the errors that it causes. Use gepa with a strong
    --reflection-model if the labels follow a rule that the instruction does not state.

    copro: Proposes instructions without seeing replies. Use copro if the wording of the instruction
    does not suit the model; a few items are enough.

    miprov2: Combines new instructions with examples. Try miprov2 last, with at least 100 items. It
    makes the most calls and produces the longest prompts.

    Use --dry-run to estimate calls and cost. docs/optimizing.md compares the strategies and
    describes the format of --data for each agent.

    Run the same command again to resume a stopped job; no call is repeated.

    For example:

      ragassay optimize verifier --data claims.jsonl --dev dev.jsonl --model openai/gpt-4.1-mini
      ragassay optimize rubric_judge --data rated.jsonl --rubric cohesion --optimizer gepa

    Exit codes: 0 a better prompt was written; 1 error, or the limit on cost or calls was reached; 2
    usage error; 3 no better prompt was found, or some of the data could not be read.

    Options:
        agent: Agent to optimize: rubric_judge, verifier, sentence_labeller, nugget_assigner,
            nugget_writer or query_writer.
        data: Training file, or reviewed run folder.
        dev: File with data on which to measure the prompt. By default, half of the questions in
            --data are held out.
        optimizer: Optimization strategy.
        model: LiteLLM name of the model that will use the prompt.
        reflection_model: Model that writes candidate prompts, optionally as NAME@URL. By default,
            --model.
        api_base: URL of the model's endpoint.
        budget: Approximate maximum number of agent calls.
        max_usd: Stop before the job exceeds this cost, in US dollars.
        max_calls: Maximum number of model calls of the job.
        seed: Random seed for splitting the data and choosing examples.
        limit: Maximum number of examples for training, and for measuring; 0 for all.
        rubric: For rubric_judge: rubric to optimize for. By default, the prompt is optimized for
            all rubrics.
        perturbed: For rubric_judge: number of answers to perturb as additional examples.
        gold: File with the labels, if --data does not contain them.
        labels: For verifier: number of verdict labels.
        corpus: For query_writer: corpus to search.
        out: Output file. By default, prompt.json in --work.
        work: Folder that stores the model's replies. By default, runs/optimize-AGENT-OPTIMIZER.
        keep_anyway: Write the new prompt even if it is not better than the shipped one.
        concurrency: Maximum number of concurrent model calls.
    """
    from ragassay.optimizers.compiling.planning import check_agent, check_optimizer

    check_agent(agent)
    check_optimizer(optimizer)
    from ragassay.runs.preflight import check_ready

    if optimizer == "miprov2":
        need("optuna")
    judges = [name for name in (model, reflection_model) if name]
    settings = load_settings(
        **convert_judges(judges[:1] if model else (), api_base), concurrency=concurrency
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
        show_job_steps,
        write_compiled,
    )
    from ragassay.optimizers.compiling.tasks import TaskOptions
    from ragassay.retrievers.opening import open_literature

    n_labels: Literal[2, 3, 4] = labels  # type: ignore[assignment]
    options = TaskOptions(tuple(rubric or ()), n_labels, gold, perturbed, seed)
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
    with show_job_steps(not quiet) as steps:
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
    return choose_exit_code(not found.prompt.is_better, found.rejections)


def _show(found: CompileResult, written: Path | None) -> None:
    from ragassay.reports.sheets import Sheet, build_number_columns, build_text_columns

    prompt = found.prompt
    columns = (
        *build_text_columns("on held-out data"),
        *build_number_columns("shipped", "compiled", "gain", "items"),
    )
    rows = tuple(
        (
            *(
                one.metric,
                _format_score(one.before),
                _format_score(one.after),
                _format_score(one.gain),
            ),
            f"{one.gain.n}" + (f", {one.gain.n_unscored} unscored" if one.gain.n_unscored else ""),
        )
        for one in prompt.comparisons
    )
    print_sheets(Sheet("", columns, rows))
    print_lines(*_describe_result(found, written), soft_wrap=True)


def _describe_result(found: CompileResult, written: Path | None) -> list[str]:
    from ragassay.optimizers.compiling.student import can_be_chance
    from ragassay.reports.provenance import describe_usage
    from ragassay.reports.text import count_text

    prompt = found.prompt
    if found.is_same:
        verdict = "The optimizer found nothing better than the shipped prompt."
    elif not prompt.is_better:
        verdict = "Discarded: the compiled prompt is not better than the shipped one."
    elif can_be_chance(prompt.comparisons[0]):
        verdict = (
            "The new prompt is better, but the interval of the gain includes 0, so the gain may be "
            "due to chance."
        )
    else:
        verdict = "The new prompt is better, and the interval of the gain is above 0."
    lines = [
        verdict,
        f"Wrote {written}" if written else "Nothing was written.",
        f"The whole job used {describe_usage(prompt.usage)}. "
        f"This command made {count_text(found.n_asked, 'call')}.",
    ]
    if found.n_shared:
        lines.append(f"Skipped {found.n_shared} examples whose questions are also in --dev.")
    return lines


def _format_score(score: Score | PromptComparison) -> str:
    if not isinstance(score, Score) or score.value is None:
        return "unscored"
    sign = "+" if score.scale[0] < 0 and score.value > 0 else ""
    span = "" if score.low is None else f" [{score.low:.3f}, {score.high:.3f}]"
    unscored = f", {score.n_unscored} unscored" if score.n_unscored else ""
    return f"{sign}{score.value:.3f}{span}{unscored}"
