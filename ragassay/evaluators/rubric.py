"""Rate an answer on rubrics and weighted criteria."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragassay.evaluators.base import Evaluator, Outcome, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.evaluators.display import EvaluatorDisplay
from ragassay.evaluators.own import Judge, OwnEvaluator, OwnItem
from ragassay.judges.base import RatedAnswer
from ragassay.judges.panel import format_other_ratings, list_disputed_members
from ragassay.metrics.papers.answer_scores import score_rubrics
from ragassay.metrics.stats.joint_judgments import list_single_judgments, merge_judgments
from ragassay.prompts import Criteria
from ragassay.records import (
    NOTHING_TO_JUDGE,
    Assessment,
    Case,
    Evaluation,
    Failure,
    Judgment,
    OwnVerdict,
    Score,
)


@dataclass(frozen=True)
class AskedRubric:
    """Rubric to rate the answer on.

    Attributes:
        first: Rating that the judge gave in the first round, or None during the first round.
        others: First-round ratings by the other members.
    """

    name: str
    first: Judgment | None = None
    others: tuple[Judgment, ...] = ()


class RubricEvaluator(Evaluator[AskedRubric]):
    """Have each judge in the panel rate the answer on each rubric of the run."""

    name = "rubric"
    part = "rubrics"
    record = Judgment
    needs = ("signals",)
    is_weighed = True
    display = EvaluatorDisplay(
        verdict="rubric rating",
        question="Rubric ratings",
        kind="rubric",
        group="rubric",
        title="Rubrics",
        direction="higher",
    )

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, AskedRubric]:
        """Return the rubrics, or nothing for an empty answer."""
        chosen = select_rubrics(open_case.case, run.rubrics) if open_case.case.sentences else ()
        return {name: AskedRubric(name) for name in chosen}

    @property
    def asks_panel(self) -> bool:
        """Return True, because every panel member rates the answer."""
        return True

    def build_second_round(
        self, item: AskedRubric, verdicts: Sequence[Judgment], run: Run
    ) -> Mapping[str, AskedRubric]:
        """Return a second question for each member that disagrees, with the others' ratings."""
        return {
            one.judge: AskedRubric(one.rubric, one, tuple(others))
            for one, others in list_disputed_members(verdicts)
            if run.judge.find_member(one.judge).can_deliberate(one.rubric)
        }

    def join_verdicts(self, verdicts: Sequence[Judgment]) -> Judgment:
        """Combine the members' judgments into the judgment of the panel."""
        return merge_judgments(verdicts)

    async def ask(self, item: AskedRubric, open_case: OpenCase, run: Run) -> Sequence[Judgment]:
        """Rate the answer on a rubric."""
        rubric, others = run.rubrics[item.name], format_other_ratings(item.others)
        rated = await run.judge.rate(
            rubric, _build_rated_answer(open_case, run), run.agents, others
        )
        return [rated.model_copy(update={"first": item.first})]

    def make_unscored(
        self, item: AskedRubric, open_case: OpenCase, run: Run, failure: Failure
    ) -> Sequence[Judgment]:
        """Return an unscored judgment, which contains the first-round rating if there is one."""
        name, first = item.name, item.first
        scale = first.scale if first else run.rubrics[name].bounds
        return [Judgment(rubric=name, scale=scale, first=first, failure=failure)]

    def list_dependencies(
        self, item: AskedRubric, open_case: OpenCase, run: Run
    ) -> Iterable[str | None]:
        """Return what a rating depends on, such as the rubric, the signals and earlier ratings."""
        rubric, first = run.rubrics[item.name], item.first
        yield from (run.settings.evaluation.rubric_set, run.settings.prompting.strategy)
        yield rubric.model_dump_json()
        yield from run.tuned_weights
        yield from (format_other_ratings(item.others), first and first.model_dump_json())
        yield from run.judge.list_rating_inputs(rubric, _build_rated_answer(open_case, run))

    def collect_verdicts(self, open_case: OpenCase, run: Run) -> Sequence[Judgment]:
        """Return one judgment per rubric, unscored for an empty answer."""
        rubrics = select_rubrics(open_case.case, run.rubrics)
        if not open_case.case.sentences:
            empty = Failure(reason="empty_answer", detail="the answer contains no sentences")
            return [Judgment(rubric=name, failure=empty) for name in rubrics]
        return super().collect_verdicts(open_case, run)

    def name_judge(self, run: Run) -> str:
        """Return the name of the panel or of the rating model."""
        raters = run.judge.name_raters(run.rubrics)
        return raters if run.judge.members else run.add_second_judge_name(raters)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return one score per rubric."""
        return score_rubrics(outcome.select_verdicts(Judgment), self.name_judge(outcome.run))

    def select_asked_verdicts(self, evaluation: Evaluation) -> Iterable[Judgment]:
        """Return the judgments of all answers that are not empty."""
        judgments = evaluation.judgments
        return [v for v in judgments if not v.failure or v.failure.reason not in NOTHING_TO_JUDGE]

    def split_verdict(self, verdict: Judgment) -> Iterable[Judgment]:
        """Return the judgments of the panel members."""
        return list_single_judgments([verdict])

    def count_max_calls(self, open_case: OpenCase, run: Run) -> int:
        """Count two calls per rating in a panel, which may deliberate, and none if signals decide.

        A fine-tuned judge needs one more call per sentence.
        """
        from ragassay.agents.tuned_judge import list_numbered_sentences

        rubrics = self.get_cached_items(open_case, run)
        judges = run.judge.members or (run.judge,)
        n_asked = sum(one.calls_model(rubric) for rubric in rubrics for one in judges)
        n_read = len(run.readers) * len(list_numbered_sentences(open_case.case)) if rubrics else 0
        return n_read + (2 * n_asked if run.judge.members else n_asked)


def select_rubrics(case: Case, rubrics: Iterable[str]) -> tuple[str, ...]:
    """Return the rubrics of a run that apply to an answer."""
    return tuple(name for name in rubrics if not case.rubrics or name in case.rubrics)


def _build_rated_answer(open_case: OpenCase, run: Run) -> RatedAnswer:
    chosen = tuple(RUBRIC.get_cached_items(open_case, run))
    return RatedAnswer(open_case.case, chosen, open_case.signals, open_case.readings)


RUBRIC = RubricEvaluator()


CREDITS = {"met": 1.0, "partly_met": 0.5, "not_met": 0.0}


class CriteriaEvaluator(OwnEvaluator):
    """Check the answer against each criterion. The score is the weighted share of met criteria.

    score = sum of w_i * credit_i / sum of w_i, with credit 1 if met and 0.5 if partly met.

    Raises:
        SettingsError: The name is invalid.
    """

    def __init__(self, criteria: Criteria) -> None:
        async def ask_criterion(judge: Judge) -> Assessment:
            """Ask about all criteria. Not called: `assess_item` asks about each criterion."""
            return await self.assess_item(OwnItem(), judge)

        super().__init__(
            ask_criterion,
            name=criteria.name,
            labels=tuple(CREDITS),
            version=criteria.model_dump_json(),
        )
        self.criteria = criteria

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, OwnItem]:
        """Return the criteria, or nothing for an empty answer."""
        chosen = self.criteria.criteria if open_case.case.sentences else ()
        return {one.text: OwnItem(criterion=one.text) for one in chosen}

    async def assess_item(self, item: OwnItem, judge: Judge) -> Assessment:
        """Ask the judge whether the answer meets a criterion."""
        parts = [
            self.criteria.question,
            self.criteria.reference and f"A good answer says: {self.criteria.reference}",
            f"Does the answer meet this criterion? {item.criterion}",
        ]
        return await judge.choose(" ".join(part for part in parts if part), self.labels)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the weighted share of met criteria, and its worst and best possible value."""
        weights = {one.text: one.weight for one in self.criteria.criteria}
        verdicts = [v for v in outcome.verdicts[self.name] if isinstance(v, OwnVerdict)]
        known = [(weights[v.criterion], CREDITS[v.label]) for v in verdicts if v.label]
        total, known_total = sum(weights[v.criterion] for v in verdicts), sum(w for w, _ in known)
        gained = sum(weight * credit for weight, credit in known)
        score = Score(
            value=round(gained / known_total, 4) if known else None,
            n=len(known),
            n_unscored=len(verdicts) - len(known),
            worst=round(gained / total, 4) if total else None,
            best=round((gained + total - known_total) / total, 4) if total else None,
            judge=self.name_judge(outcome.run),
        )
        return {f"{self.name}.score": score}
