"""Progress of a compile job on stderr: the current step, calls, tokens, cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ragassay.optimizers.compiling.job import Steps
from ragassay.optimizers.compiling.pricing import JobPlan
from ragassay.records import Usage


@contextmanager
def shown_steps(enabled: bool) -> Iterator[Steps]:
    """Show a line on stderr; yield the callbacks that update it.

    Args:
        enabled: Whether to show it.
    """
    if not enabled:
        yield Steps()
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from ragassay.safe_text import open_console

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    # Keep this stream: optimizers' own output to stderr goes to a file meanwhile.
    console = open_console(stderr=True)
    with Progress(
        *columns, console=console, redirect_stdout=False, redirect_stderr=False
    ) as progress:
        line = progress.add_task("reading", detail="")

        def phase(text: str) -> None:
            progress.update(line, description=text)
            if not console.is_terminal:
                console.print(text, highlight=False)

        n_planned = 0

        def planned(plan: JobPlan) -> None:
            nonlocal n_planned
            n_planned = plan.calls.n_calls
            console.print(plan.text, highlight=False, markup=False, soft_wrap=True)

        def paid(usage: Usage) -> None:
            progress.update(line, detail=_detail(usage, n_planned))

        yield Steps(planned, phase, paid)


def _detail(usage: Usage, n_planned: int) -> str:
    """Return the calls so far, of the most that there may be, with their tokens and cost."""
    cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    n_tokens = usage.n_prompt_tokens + usage.n_completion_tokens
    return f"{usage.n_calls:,} of at most {n_planned:,} calls, {n_tokens:,} tokens, {cost}"
