"""Measure a judge against itself: judge the answers of a run again, with nothing shared.

Each repetition is a run of its own in `repeats/2`, `repeats/3`, ... inside the run's folder, so it
resumes like any run, and has a store of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ragassay.evaluators.base import Run
from ragassay.evaluators.registry import questions_of
from ragassay.metrics.aggregates import question_of
from ragassay.metrics.repeats import Asked, repeat_figures
from ragassay.records import Evaluation, Repeats, Usage
from ragassay.records.base import CALL_FAULTS
from ragassay.reports.repeats import repeats_sheet
from ragassay.reports.sheets import sheet_csv
from ragassay.runs.evaluate import Job, RunResult, run
from ragassay.runs.events import Listener
from ragassay.runs.folder import RunFolder, write_whole


async def repeat_run(
    job: Job,
    result: RunResult,
    tools: Run,
    n_times: int,
    folder: RunFolder | None,
    listen: Listener = lambda event: None,
) -> Repeats:
    """Judge a run's answers again, and add what changed to the run's report.

    Args:
        job: The run's job.
        result: The run's result, which counts as the first time.
        tools: The run.
        n_times: How often each answer is judged, the run included; at least 2.
        folder: The run's folder; None for a run that has none.
        listen: Receives progress events.

    Returns:
        Without figures where the run asked no model: instruments give the same verdict each time,
        so nothing is judged again.

    Raises:
        FatalModelError: The judge is unavailable, or the money is spent; what is finished is kept.
        RunMismatchError: A repetition's folder has another run.
    """
    found = Repeats(n_times=n_times, judge=result.manifest.judge)
    if result.summary.usage.n_calls:
        times = [result]
        for time in range(2, n_times + 1):
            own = folder and folder.repeat_folder(time)
            times.append(await run(job, tools, own, listen, has_reports=False))
        found = measure_repeats(found, times, tools)
    if folder is not None:
        write_whole(folder.repeats_file, found.model_dump_json(indent=2))
        write_whole(folder.repeats_file.with_suffix(".csv"), sheet_csv(repeats_sheet(found)))
        folder.write_reports(result.summary)
    return found


def measure_repeats(blank: Repeats, times: list[RunResult], tools: Run) -> Repeats:
    """Return the figures of a run and its repetitions."""
    figures = repeat_figures([asked_verdicts(one.evaluations, tools) for one in times])
    usage = sum((one.summary.usage for one in times[1:]), Usage())
    return blank.model_copy(update={"figures": figures, "usage": usage})


def asked_verdicts(evaluations: Iterable[Evaluation], tools: Run) -> Iterator[Asked]:
    """Yield the verdicts that a model was asked for; a panel's as those of its members."""
    for evaluation in evaluations:
        question = question_of(evaluation)
        for kind, verdicts in questions_of([evaluation], tools.registered).items():
            for verdict in verdicts:
                for one in getattr(verdict, "members", ()) or (verdict,):
                    if one.usage.answered_by or (one.failure and one.failure.reason in CALL_FAULTS):
                        yield Asked(kind, evaluation.record_id, question, one)
