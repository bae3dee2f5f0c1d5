"""The rubric judge's compile task: ratings, and answers that were damaged on purpose."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from ragassay.agents.base import Agent
from ragassay.agents.rubric_judge import RubricJudge
from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.graphs.files import case_of
from ragassay.optimizers.compiling.items import CompileItem, ItemResult
from ragassay.optimizers.compiling.labelled import LabelledAnswers, read_labelled
from ragassay.optimizers.compiling.metrics import (
    Grade,
    ItemOutcome,
    detection_figure,
    mark_rating,
    mean_figure,
)
from ragassay.optimizers.compiling.task import CompileTask, FigureOf, about_case
from ragassay.perturbations import ATTACKS, damage_answers
from ragassay.records import DamagedAnswer, Judgment, Record
from ragassay.records.audit import DESIRED_RATING


class RatingTask(CompileTask):
    """Answers with ratings, and damaged versions of them.

    Args:
        tools: As for every task; its rubrics are the possible ones.
        rubrics: Names of the prompt's rubrics; empty for all.
        gold: The file of the ratings, if they are not in the answers' file.
        n_damaged: Number of answers to damage as well, with texts reserved for fitting.
        seed: The damage's seed.
    """

    accept = 0.85

    def __init__(
        self,
        tools: Run,
        rubrics: Sequence[str] = (),
        gold: Path | None = None,
        n_damaged: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(tools)
        unknown = [name for name in rubrics if name not in tools.rubrics]
        if unknown:
            raise InputError(f"no rubric {unknown[0]!r}; there are {', '.join(tools.rubrics)}")
        self.rubrics = tuple(rubrics)
        self.gold, self.n_damaged, self.seed = gold, n_damaged, seed

    def make_agent(self) -> Agent:
        """Return the rubric judge."""
        return RubricJudge(self.tools.settings.prompting.strategy)

    def read(self, path: Path) -> ItemResult:
        """Read answers in any known format, with ratings.

        YESciEval's damaged variants are included: each should get YESciEval's highest desired
        rating at most, on the rubric that it was damaged for.
        """
        found = read_labelled(path, self.gold, "rubric")
        whole = [r for r in found.records if r.metadata.get("variant", "benign") == "benign"]
        items = [item for record in whole for item in self._rated(record, found)]
        keys = {item.key for item in items}
        damaged = [item for item in self._damaged(found.records, whole) if item.whole in keys]
        if not items:
            raise InputError(f"{path} has no rating on {', '.join(self._names)}")
        return ItemResult((*items, *damaged), found.rejections)

    @property
    def _names(self) -> tuple[str, ...]:
        return self.rubrics or tuple(self.tools.rubrics)

    def _rated(self, record: Record, found: LabelledAnswers) -> Iterable[CompileItem]:
        ratings = {item: label for (_, item), label in found.labels.get(record.id, {}).items()}
        chosen = [name for name in self._names if name in ratings]
        if chosen:
            case = case_of(record, self.tools.settings, self.tools.retrieval.corpus)
            for name in chosen:
                yield CompileItem(
                    key=f"{record.id}/{name}",
                    group=record.topic or record.question,
                    arguments=(case, self.tools.rubrics[name]),
                    right=float(ratings[name]),
                    about=about_case(case),
                )

    def _damaged(self, records: Sequence[Record], whole: Sequence[Record]) -> list[CompileItem]:
        made = [*_given(records, whole), *self._made(whole)]
        return [
            self._damaged_item(one, name)
            for one in made
            for name in one.record.rubrics
            if name in self._names
        ]

    def _made(self, whole: Sequence[Record]) -> Sequence[DamagedAnswer]:
        if not self.n_damaged:
            return ()
        attacks = [attack for attack in ATTACKS if attack.family == "rubric"]
        found = damage_answers(whole, attacks=attacks, pools="fit", seed=self.seed).answers
        wanted = [one for one in found if set(one.record.rubrics) & set(self._names)]
        rng = random.Random(f"damage:{self.seed}")
        return rng.sample(wanted, min(self.n_damaged, len(wanted)))

    def _damaged_item(self, damaged: DamagedAnswer, name: str) -> CompileItem:
        case = case_of(damaged.record, self.tools.settings, self.tools.retrieval.corpus)
        return CompileItem(
            key=f"{damaged.record.id}/{name}",
            group=damaged.record.topic or damaged.record.question,
            arguments=(case, self.tools.rubrics[name]),
            right=DESIRED_RATING[damaged.severity],
            about=about_case(case),
            whole=f"{damaged.original}/{name}",
        )

    def mark(self, item: CompileItem, found: Judgment) -> Grade:
        """Grade by the distance from the desired rating."""
        score = float(found.rating or 0) if found.score is None else found.score
        return mark_rating(item, score, item.arguments[1].bounds)

    @property
    def figures(self) -> tuple[FigureOf, ...]:
        """Agreement with the ratings, then paired detection of damage."""

        def agreement(outcomes: Sequence[ItemOutcome]):
            return mean_figure("agreement with ratings")

        return agreement, detection_figure


def _given(records: Sequence[Record], whole: Sequence[Record]) -> Iterable[DamagedAnswer]:
    """Return the file's own damaged answers, each with the rubric that it was damaged for."""
    originals = {(record.topic, record.system): record.id for record in whole}
    for record in records:
        variant, target = record.metadata.get("variant"), record.metadata.get("target_rubric", "")
        original = originals.get((record.topic, record.system))
        if variant in DESIRED_RATING and target and original:
            yield DamagedAnswer(
                record=record.model_copy(update={"rubrics": (target.lower(),)}),
                original=original,
                attack="given",
                family="rubric",
                severity=variant,  # type: ignore[arg-type]
                targets=(f"rubric.{target.lower()}",),
            )
