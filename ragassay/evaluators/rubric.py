"""Rubric: how the answer is rated, by one judge, a panel, signals or a fine-tuned judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragassay.agents.published_prompts import words_of
from ragassay.evaluators.base import CaseFile, Evaluator, Task, Words
from ragassay.evaluators.conferring import disputed_members, others_text
from ragassay.metrics.joint import BEYOND_SENTENCES, joined
from ragassay.metrics.panel import panel_judgments, single_judgments
from ragassay.metrics.scores import rubric_scores
from ragassay.records import (
    NOTHING_TO_JUDGE,
    Case,
    Evaluation,
    Failure,
    Judgment,
    Reading,
    Score,
    Usage,
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
            for judge in tools.jury.judges or ("",)
        ]
        known = [file.verdicts.get(task.place) for task in first]
        rated = [one for one in known if isinstance(one, Judgment)]
        if not tools.jury.judges or len(rated) < len(first):
            return first
        return first + [
            Task(self.name, one.rubric, file.id, one.judge, "confer")
            for one, _ in disputed_members(rated)
            if not tools.jury.rates_tuned(one.judge, one.rubric)
            and not tools.jury.rates_published(one.judge, one.rubric)
            and (file.signals is None or tools.jury.listens(one.judge, one.rubric))
        ]

    async def ask(
        self, subject: str, task: Task, file: CaseFile, tools: Toolbox
    ) -> Sequence[Judgment]:
        """Rate the answer on a rubric."""
        judgment = await _rated(subject, task, file, tools)
        first = _first(task, file)
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
        reading, first = _reading(subject, task, file, tools), _first(task, file)
        yield from (tools.settings.rubric_set, tools.settings.strategy)
        yield tools.rubrics[subject].model_dump_json()
        yield from tools.tuned_weights
        if task.judge:
            yield from (task.judge, _others(task, file), first and first.model_dump_json())
        if file.signals is not None:
            yield tools.jury.rater.rater.digest if tools.jury.rater else ""
            yield file.signals.model_dump_json()
        yield from reading.marks if reading else ()
        if tools.jury.rates_published(task.judge, subject):
            form: Any = tools.jury.form_of(task.judge)
            yield from (form.name, words_of(form), *file.case.reference_sentences)
        if tools.jury.rates_tuned(task.judge, subject) and (papers := _papers(task, file, tools)):
            yield papers

    def settled(self, file: CaseFile, tools: Toolbox) -> Sequence[Judgment]:
        """Return one judgment a rubric: the panel's, or the judge's; none of an empty answer."""
        rubrics = rubrics_of(file.case, tools.rubrics)
        if not file.case.sentences:
            empty = Failure(reason="empty_answer", detail="the answer has no sentence")
            return [Judgment(rubric=name, failure=empty) for name in rubrics]
        own = (one for one in file.verdicts.values() if isinstance(one, Judgment))
        if tools.jury.judges:
            return panel_judgments(list(own), rubrics, tools.jury.judges)
        return super().settled(file, tools)  # type: ignore[return-value]

    def judged_by(self, tools: Toolbox) -> str:
        """Name the panel, or what rates in the judge's place."""
        if tools.jury.judges:
            return f"a panel of {', '.join(tools.jury.judges)}"
        return tools.or_second(tools.jury.rated_by)

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
        seats = tools.jury.judges or ("",)
        n_asked = sum(tools.jury.asks(judge, rubric) for rubric in rubrics for judge in seats)
        n_read = len(tools.jury.readers) * len(shown_lines(file.case)) if rubrics else 0
        return n_read + (2 * n_asked if tools.jury.judges else n_asked)


def rubrics_of(case: Case, rubrics: Iterable[str]) -> tuple[str, ...]:
    """Return the rubrics of a run that an answer is judged on."""
    return tuple(name for name in rubrics if not case.rubrics or name in case.rubrics)


async def _rated(rubric: str, task: Task, file: CaseFile, tools: Toolbox) -> Judgment:
    """Rate by signals, by a fine-tuned judge, by both, or by a judge that is told the signals."""
    import dspy

    from ragassay.agents.published_judge import rate_published
    from ragassay.instruments.signals.facts import facts_text

    rater = tools.jury.rater_of(task.judge, rubric)
    measured = rater.judge(file.signals, rubric) if rater and file.signals else None
    if measured and not tools.jury.asks(task.judge, rubric):
        return measured
    with dspy.context(lm=tools.jury.lm_for(task.judge, rubric)):
        if tools.jury.rates_tuned(task.judge, rubric):
            tuned = await _tuned(rubric, task, file, tools)
            return joined(tuned, measured) if measured else tuned
        if tools.jury.rates_published(task.judge, rubric):
            form: Any = tools.jury.form_of(task.judge)
            return await rate_published(file.case, tools.rubrics[rubric], form)
        texts = [sentence.text for sentence in file.case.sentences]
        judgment: Any = await tools.agents.judge.acall(
            case=file.case,
            rubric=tools.rubrics[rubric],
            facts=facts_text(file.signals, rubric, texts) if file.signals else "",
            others=_others(task, file),
        )
        return judgment


async def _tuned(rubric: str, task: Task, file: CaseFile, tools: Toolbox) -> Judgment:
    """Rate what a fine-tuned judge read, with what reading cost."""
    reading: Any = _reading(rubric, task, file, tools)
    reading = reading or await tools.agents.reader.acall(case=file.case)
    papers = _papers(task, file, tools)
    judgment: Any = await tools.agents.tuned_judge.acall(
        case=file.case, reading=reading, rubric=rubric, papers=papers
    )
    return judgment.model_copy(update={"usage": judgment.usage + reading.usage})


def _papers(task: Task, file: CaseFile, tools: Toolbox) -> str:
    """Return the sources that a fine-tuned judge reads; empty where it was trained without."""
    from ragassay.agents.tuned_judge import papers_shown

    return papers_shown(file.case, tools.jury.source_chars_of(task.judge))


def _reading(rubric: str, task: Task, file: CaseFile, tools: Toolbox) -> Reading | None:
    """Return what a judge read; its cost counts with the first rubric that the judge rates."""
    reading = file.readings.get(task.judge)
    chosen = file.subjects(RUBRIC, tools)
    payer = min(chosen, key=lambda name: name in BEYOND_SENTENCES, default="")
    if reading is None or rubric == payer:
        return reading
    return reading.model_copy(update={"usage": Usage()})


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
