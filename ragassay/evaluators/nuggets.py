"""List the nuggets in sentences, and assign gold nuggets to the answer (BioACE, 4.1.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ragassay.evaluators.base import Evaluator, Outcome, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.evaluators.display import EvaluatorDisplay, ScoreDisplay
from ragassay.metrics.papers.answer_scores import score_nuggets
from ragassay.metrics.papers.nuggets import (
    align_greedily,
    align_optimally,
    compute_same_probability,
    mask_repeats,
    score_assignments,
)
from ragassay.records import (
    Failure,
    Nugget,
    NuggetAssignment,
    NuggetMatch,
    NuggetOrigin,
    Score,
    SentenceNuggets,
)
from ragassay.text.clauses import split_clauses

if TYPE_CHECKING:
    from ragassay.agents.base import Agent


BY_RULE = "clauses, by rule"
"""Name reported for nuggets that were written by rules."""


@dataclass(frozen=True)
class OriginText:
    """One sentence of the answer or the reference, or all sentences of one of these texts.

    Attributes:
        sentence: Index of the first sentence, from 1.
        sentences: One sentence, or all sentences of the text.
    """

    origin: NuggetOrigin
    sentence: int
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences, joined into one text."""
        return " ".join(self.sentences)


class NuggetsEvaluator(Evaluator[OriginText]):
    """List the facts in the answer's sentences, and in the reference if there is no gold nugget."""

    name = "nuggets"
    part = "nuggets"
    record = SentenceNuggets
    display = EvaluatorDisplay(
        verdict="list of nuggets",
        verdicts="lists of nuggets",
        group="nuggets",
        title="Nuggets",
        direction="higher",
        scores={
            "nuggets.precision": ScoreDisplay("Nugget precision", "higher"),
            "nuggets.recall": ScoreDisplay("Nugget recall", "higher"),
            "nuggets.f1": ScoreDisplay("Nugget F1", "higher"),
            "nuggets.vital_recall": ScoreDisplay("Vital nugget recall", "higher"),
        },
    )

    def is_wanted(self, run: Run) -> bool:
        """Return whether nuggets are requested, or citations are checked nugget by nugget."""
        return super().is_wanted(run) or run.settings.cites_by_nuggets

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, OriginText]:
        """Return the sentences of the answer, and of the reference if there are no gold nuggets."""
        case = open_case.case
        if not case.sentences:
            return {}
        texts: dict[NuggetOrigin, Sequence[str]] = {"answer": [s.text for s in case.sentences]}
        if run.settings.evaluation.wants(self.part) and not case.gold:
            texts["reference"] = case.reference_sentences
        items = (
            [OriginText(origin, 1, tuple(sentences))]
            if _reads_whole(run) and sentences
            else [OriginText(origin, n, (text,)) for n, text in enumerate(sentences, 1)]
            for origin, sentences in texts.items()
        )
        return {f"{one.origin}/{one.sentence}": one for of_origin in items for one in of_origin}

    async def ask(
        self, item: OriginText, open_case: OpenCase, run: Run
    ) -> Sequence[SentenceNuggets]:
        """List the facts in one or all sentences. Without a judge, each clause becomes a nugget."""
        if run.judge.lm is None:
            return [_build_clause_nuggets(item)]
        inputs: dict[str, Any] = {"case": open_case.case, "origin": item.origin}
        if _reads_whole(run):
            agent: Agent = run.agents.answer_nuggetizer
            inputs["sentences"] = item.sentences
        else:
            agent = run.agents.writer
            inputs |= {"index": item.sentence, "sentence": item.text}
        return [await run.judge.ask(agent, **inputs)]

    def list_dependencies(self, item: OriginText, open_case: OpenCase, run: Run) -> Sequence[str]:
        """Return what the nuggets depend on: the sentences, and the unit to read at a time."""
        return [*item.sentences, run.settings.nuggets.nugget_unit]

    def collect_verdicts(self, open_case: OpenCase, run: Run) -> Sequence[SentenceNuggets]:
        """Return the lists of nuggets, ordered by origin and sentence."""
        return sorted(
            super().collect_verdicts(open_case, run), key=lambda one: (one.origin, one.sentence)
        )

    def name_judge(self, run: Run) -> str:
        """Return the name of the judge, which is never a second judge, or of the rule."""
        return run.judge.answered_by if run.judge.lm else BY_RULE

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return precision, recall and F1 of the nuggets, and the recall of vital nuggets."""
        if self.part not in outcome.parts:
            return {}
        n_unwritten, n_gold_unwritten = (
            sum(
                1
                for one in outcome.select_verdicts(SentenceNuggets)
                if one.failure and one.origin == origin
            )
            for origin in ("answer", "reference")
        )
        return score_nuggets(
            outcome.nuggets,
            outcome.gold,
            outcome.matches,
            n_unwritten,
            self.name_judge(outcome.run),
            n_gold_unwritten,
        )


def _reads_whole(run: Run) -> bool:
    return run.judge.lm is not None and run.settings.nuggets.nugget_unit == "answer"


def _build_clause_nuggets(item: OriginText) -> SentenceNuggets:
    where: Any = {"origin": item.origin, "sentence": item.sentence}
    nuggets = (Nugget(text=text, method="clause", **where) for text in split_clauses(item.text))
    return SentenceNuggets(nuggets=tuple(nuggets), **where)


def match_nuggets(
    gold: Sequence[Nugget], answer: Sequence[Nugget], run: Run
) -> tuple[NuggetMatch, ...]:
    """Match gold nuggets with the answer's nuggets, using a threshold or a fitted matcher."""
    if not gold or not answer:
        return ()
    encode = run.models.embedder.encode
    similarity = encode([n.text for n in gold]) @ encode([n.text for n in answer]).T
    if run.models.matcher is None:
        counts = similarity >= run.settings.nuggets.nugget_threshold
    else:
        same = compute_same_probability(similarity, run.models.matcher.components)
        counts = same >= run.models.matcher.probability_threshold
    align = align_greedily if run.settings.nuggets.nugget_alignment == "greedy" else align_optimally
    return align(similarity, counts & mask_repeats([n.text for n in answer]))


NO_JUDGE = Failure.leave_open("this needs a judge, but no judge is configured")


class GoldNugget(NamedTuple):
    """A gold nugget and its position among the gold nuggets of the answer."""

    gold: int
    nugget: Nugget


class AssignmentEvaluator(Evaluator[GoldNugget]):
    """Decide whether the answer states each gold nugget fully, partly or not at all.

    Nuggets of a reference are not assigned, because they are only written during the run.
    """

    name = "assignment"
    part = "nuggets"
    record = NuggetAssignment
    is_weighed = True
    display = EvaluatorDisplay(
        verdict="nugget assignment",
        question="Gold nuggets in the answer",
        kind="gold_nugget",
        scores={
            "nuggets.strict_vital": ScoreDisplay("Vital nuggets, fully stated", "higher"),
            "nuggets.strict_all": ScoreDisplay("All nuggets, fully stated", "higher"),
            "nuggets.vital": ScoreDisplay("Vital nuggets, half credit if partly stated", "higher"),
            "nuggets.all": ScoreDisplay("All nuggets, half credit if partly stated", "higher"),
        },
    )

    def is_wanted(self, run: Run) -> bool:
        """Return whether nuggets are requested and there is a judge to assign them."""
        judges = (run.judge.lm, run.second)
        return super().is_wanted(run) and any(one is not None for one in judges)

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, GoldNugget]:
        """Return the gold nuggets and their positions, or nothing for an empty answer."""
        gold = open_case.case.gold if open_case.case.sentences else ()
        return {str(position): GoldNugget(position, nugget) for position, nugget in enumerate(gold)}

    async def ask(
        self, item: GoldNugget, open_case: OpenCase, run: Run
    ) -> Sequence[NuggetAssignment]:
        """Ask the judge whether the answer states one gold nugget."""
        position, nugget = item
        if run.judge.lm is None:
            return [NuggetAssignment(gold=position, failure=NO_JUDGE)]
        assignment: Any = await run.judge.ask(
            run.agents.assigner, case=open_case.case, gold=position, nugget=nugget
        )
        return [assignment]

    def list_dependencies(self, item: GoldNugget, open_case: OpenCase, run: Run) -> Sequence[str]:
        """Return what a verdict depends on: the text of the nugget."""
        return [item.nugget.text]

    def collect_verdicts(self, open_case: OpenCase, run: Run) -> Sequence[NuggetAssignment]:
        """Return one assignment per gold nugget. An empty answer states no nuggets."""
        if open_case.case.sentences:
            return super().collect_verdicts(open_case, run)
        gold = range(len(open_case.case.gold))
        return [NuggetAssignment(gold=n, assignment="not_support") for n in gold]

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return AutoNuggetizer's scores: for vital or all nuggets, in full or with half credit."""
        return score_assignments(
            [one.assignment for one in outcome.select_verdicts(NuggetAssignment)],
            [nugget.importance for nugget in outcome.open_case.case.gold],
            self.name_judge(outcome.run),
        )
