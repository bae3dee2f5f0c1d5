"""Rubric: how the answer is rated, by one judge, a panel, signals or a fine-tuned judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ragassay.evaluators.base import CaseFile, Evaluator, Task, Words, panel_names
from ragassay.judges.base import RatedAnswer
from ragassay.judges.panel import disputed_members, others_text
from ragassay.metrics.panel import panel_judgments, single_judgments
from ragassay.metrics.scores import rubric_scores
from ragassay.records import (
    NOTHING_TO_JUDGE,
    Case,
    Evaluation,
    Failure,
    Judgment,
    Score,
)

if TYPE_CHECKING:
    from ragassay.evaluators.outcome import Outcome
    from ragassay.evaluators.toolbox import Toolbox


class RubricEvaluator(Evaluator[str]):
    """Rate the answer on each rubric of the run, by each judge of the panel."""

    name = "rubric"
    part = "rubrics"
    record = Judgment
    needs = ("measures",)
    is_weighed = True
    words = Words(
        verdict="rubric rating",
        question="Rubric ratings",
        kind="rubric",
        group="rubric",
        title="Rubrics",
        direction="higher",
    )

    def subjects(self, file: CaseFile, tools: Toolbox) -> Mapping[str, str]:
        """Return the names of the rubrics; none for an answer without a sentence."""
        chosen = rubrics_of(file.case, tools.rubrics) if file.case.sentences else ()
        return {name: name for name in chosen}

    def tasks(self, file: CaseFile, tools: Toolbox) -> list[Task]:
        """Ask every judge; when all have rated, those who disagree hear each other once."""
        first = [
            Task(self.name, rubric, file.id, judge)
            for rubric in file.subjects(self, tools)
            for judge in panel_names(tools) or ("",)
        ]
        known = [file.verdicts.get(task.place) for task in first]
        rated = [one for one in known if isinstance(one, Judgment)]
        if not tools.judge.members or len(rated) < len(first):
            return first
        return first + [
            Task(self.name, one.rubric, file.id, one.judge, "confer")
            for one, _ in disputed_members(rated)
            if tools.judge.member(one.judge).deliberates(one.rubric)
        ]

    async def ask(
        self, subject: str, task: Task, file: CaseFile, tools: Toolbox
    ) -> Sequence[Judgment]:
        """Rate the answer on a rubric."""
        judge, first = tools.judge.member(task.judge), _first(task, file)
        judgment = await judge.rate(
            tools.rubrics[subject], _answer(file, tools), tools.agents, _others(task, file)
        )
        return [judgment.model_copy(update={"judge": task.judge, "first": first})]

    def unscored(
        self, subject: str, task: Task, file: CaseFile, tools: Toolbox, failure: Failure
    ) -> Sequence[Judgment]:
        """Return no rating; a judge that failed to answer the others keeps its first rating."""
        first = _first(task, file)
        scale = first.scale if first else tools.rubrics[subject].bounds
        return [
            Judgment(rubric=subject, scale=scale, judge=task.judge, first=first, failure=failure)
        ]

    def depends_on(
        self, subject: str, task: Task, file: CaseFile, tools: Toolbox
    ) -> Iterable[str | None]:
        """Return rubric, strategy, seat, what the others said, measurements and readings."""
        rubric, first = tools.rubrics[subject], _first(task, file)
        yield from (tools.settings.rubric_set, tools.settings.strategy)
        yield rubric.model_dump_json()
        yield from tools.tuned_weights
        if task.judge:
            yield from (task.judge, _others(task, file), first and first.model_dump_json())
        yield from tools.judge.member(task.judge).rating_inputs(rubric, _answer(file, tools))

    def settled(self, file: CaseFile, tools: Toolbox) -> Sequence[Judgment]:
        """Return one judgment a rubric: the panel's, or the judge's; none of an empty answer."""
        rubrics = rubrics_of(file.case, tools.rubrics)
        if not file.case.sentences:
            empty = Failure(reason="empty_answer", detail="the answer has no sentence")
            return [Judgment(rubric=name, failure=empty) for name in rubrics]
        own = (one for one in file.verdicts.values() if isinstance(one, Judgment))
        if tools.judge.members:
            return panel_judgments(list(own), rubrics, panel_names(tools))
        return super().settled(file, tools)  # type: ignore[return-value]

    def judged_by(self, tools: Toolbox) -> str:
        """Name the panel, or what rates in the judge's place."""
        raters = tools.judge.rated_by(tools.rubrics)
        return raters if tools.judge.members else tools.or_second(raters)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return one score a rubric."""
        return rubric_scores(outcome.of(Judgment), outcome.judged_by(self))

    def questions(self, evaluation: Evaluation) -> Iterable[Judgment]:
        """Leave out what had nothing to rate."""
        judgments = evaluation.judgments
        return [v for v in judgments if not v.failure or v.failure.reason not in NOTHING_TO_JUDGE]

    def parts_of(self, verdict: Judgment) -> Iterable[Judgment]:
        """Return the members of a panel."""
        return single_judgments([verdict])

    def n_most_calls(self, file: CaseFile, tools: Toolbox) -> int:
        """Count each rating twice where a panel may confer; signals take no call.

        A fine-tuned judge also reads each sentence.
        """
        from ragassay.agents.answer_reader import shown_lines

        rubrics = file.subjects(self, tools)
        judges = tools.judge.members or (tools.judge,)
        n_asked = sum(one.calls_model(rubric) for rubric in rubrics for one in judges)
        n_read = len(tools.readers) * len(shown_lines(file.case)) if rubrics else 0
        return n_read + (2 * n_asked if tools.judge.members else n_asked)


def rubrics_of(case: Case, rubrics: Iterable[str]) -> tuple[str, ...]:
    """Return the rubrics of a run that an answer is judged on."""
    return tuple(name for name in rubrics if not case.rubrics or name in case.rubrics)


def _answer(file: CaseFile, tools: Toolbox) -> RatedAnswer:
    chosen = tuple(file.subjects(RUBRIC, tools))
    return RatedAnswer(file.case, chosen, file.signals, file.readings)


def _first(task: Task, file: CaseFile) -> Judgment | None:
    """Return what a panel's judge said before it heard the others; None in the first turn."""
    if task.turn != "confer":
        return None
    found = file.verdict(task.evaluator, task.item, task.judge)
    return found if isinstance(found, Judgment) else None


def _others(task: Task, file: CaseFile) -> str:
    """Return what the panel's other judges said, where this one hears them."""
    if task.turn != "confer":
        return ""
    rated = [
        one
        for one in file.verdicts.values()
        if isinstance(one, Judgment) and one.rubric == task.item and one.first is None
    ]
    return next(
        (others_text(others) for one, others in disputed_members(rated) if one.judge == task.judge),
        "",
    )


RUBRIC = RubricEvaluator()
