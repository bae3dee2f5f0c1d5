"""Measure how much a judge's verdicts change when a run is repeated."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragassay.evaluators.base import Run
from ragassay.evaluators.registry import group_asked_verdicts
from ragassay.metrics.stats.aggregates import identify_question
from ragassay.metrics.stats.intervals import (
    Interval,
    build_score,
    compute_ratio_interval,
    compute_share_interval,
)
from ragassay.records import Evaluation, RepeatFigure, Repeats, Usage, VerdictBase
from ragassay.records.base import CALL_FAULTS
from ragassay.reports.run_sheets import build_repeats_sheet
from ragassay.reports.sheets import render_sheet_csv
from ragassay.runs.evaluate import Job, RunResult, run_job
from ragassay.runs.folder import RunFolder, write_atomically
from ragassay.runs.progress import Listener

Key = tuple[str, str, str, str]
"""Key of a verdict: kind of question, record id, item and judge."""


@dataclass(frozen=True)
class AskedVerdict:
    """Verdict of a single model, with the kind of question that the model answered."""

    kind: str
    record_id: str
    question: str
    verdict: VerdictBase

    @property
    def key(self) -> Key:
        """Key that identifies the verdict in all repetitions."""
        return self.kind, self.record_id, self.verdict.item, self.verdict.judge


def repeat_figures(times: Sequence[Iterable[AskedVerdict]]) -> tuple[RepeatFigure, ...]:
    """Return, for each kind and judge, the share of verdicts that change between repetitions.

    Numbers are rounded to the nearest possible rating before they are compared, because expected
    values always differ in their last digits.

    Args:
        times: Verdicts in each of two or more repetitions.

    Returns:
        Figures in the order of the first repetition. A verdict is unscored if it is missing in a
        repetition, for example because it is about an extracted fact that does not occur in all
        repetitions.
    """
    repetitions: list[dict[Key, AskedVerdict]] = [
        {v.key: v for v in verdicts} for verdicts in times
    ]
    groups: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in dict.fromkeys(key for repetition in repetitions for key in repetition):
        groups[key[0], key[3]].append(key)
    return tuple(_compute_figure(*group, keys, repetitions) for group, keys in groups.items())


def _compute_figure(
    kind: str, judge: str, keys: Sequence[Key], times: Sequence[Mapping[Key, AskedVerdict]]
) -> RepeatFigure:
    changed: list[float] = []
    questions: list[str] = []
    spreads: list[float] = []
    for key in keys:
        asked = [repetition[key] for repetition in times if key in repetition]
        values = [find_nearest_choice(one.verdict) for one in asked]
        if len(values) < len(times) or None in values:
            continue
        changed.append(float(len(set(values)) > 1))
        questions.append(asked[0].question)
        scores = [v for one in asked if isinstance(v := one.verdict.value, int | float)]
        spreads += [max(scores) - min(scores)] if scores else []
    value = math.fsum(changed) / len(changed) if changed else None
    n_unscored, interval = len(keys) - len(changed), change_interval(changed, questions)
    return RepeatFigure(
        kind=kind,
        judge=judge,
        changed=build_score(value, len(changed), n_unscored, interval),
        mean_spread=round(math.fsum(spreads) / len(spreads), 4) if spreads else None,
    )


def find_nearest_choice(verdict: VerdictBase) -> str | float | None:
    """Return the label of a verdict, or the possible rating that is nearest to its value."""
    chosen, choices = verdict.choice, verdict.choices
    if isinstance(chosen, str) or chosen is None:
        return chosen
    numbers = [choice for choice in choices if not isinstance(choice, str)]
    return min(numbers, key=lambda number: abs(number - chosen), default=chosen)


def change_interval(changed: Sequence[float], questions: Sequence[str]) -> Interval | None:
    """Return the 95 % interval for a share of changed verdicts.

    The interval is computed by resampling questions. If all verdicts or none changed, or if there
    is only one question, it is a Wilson interval. The result is None if there are no verdicts.
    """
    if not 0 < sum(changed) < len(changed) or len(set(questions)) < 2:
        return compute_share_interval(int(sum(changed)), len(changed))
    return compute_ratio_interval(changed, [1.0] * len(changed), questions)


async def repeat_run(
    job: Job,
    result: RunResult,
    run: Run,
    n_times: int,
    folder: RunFolder | None,
    listen: Listener = lambda event: None,
) -> Repeats:
    """Repeat a run until each answer is judged `n_times`, and report how many verdicts change.

    A run that called no model is not repeated, because instruments are deterministic.

    Raises:
        FatalModelError: If the judge is unavailable or the cost limit is reached. Finished work
            remains in the folder.
        RunMismatchError: If the folder of a repetition contains another run.
    """
    repeats = Repeats(n_times=n_times, judge=result.manifest.judge)
    if result.summary.usage.n_calls:
        times = [result]
        for time in range(2, n_times + 1):
            own = folder and folder.repeat_folder(time)
            times.append(await run_job(job, run, own, listen, has_reports=False))
        figures = repeat_figures([iter_model_verdicts(one.evaluations, run) for one in times])
        usage = sum((one.summary.usage for one in times[1:]), Usage())
        repeats = repeats.model_copy(update={"figures": figures, "usage": usage})
    if folder is not None:
        write_atomically(folder.repeats_file, repeats.model_dump_json(indent=2))
        write_atomically(
            folder.repeats_file.with_suffix(".csv"), render_sheet_csv(build_repeats_sheet(repeats))
        )
        folder.write_reports(result.summary)
    return repeats


def iter_model_verdicts(evaluations: Iterable[Evaluation], run: Run) -> Iterator[AskedVerdict]:
    """Yield the verdicts of single models, which include the members of panels."""
    for evaluation in evaluations:
        question = identify_question(evaluation)
        for kind, verdicts in group_asked_verdicts([evaluation], run.registered).items():
            for verdict in verdicts:
                for one in getattr(verdict, "members", ()) or (verdict,):
                    if one.usage.answered_by or (one.failure and one.failure.reason in CALL_FAULTS):
                        yield AskedVerdict(kind, evaluation.record_id, question, one)
