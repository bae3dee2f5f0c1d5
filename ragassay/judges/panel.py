"""Panels and cascades of judges."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragassay.judges.base import BaseJudge, JudgeReply, Question, Rounds
from ragassay.metrics.stats.joint_judgments import is_disputed
from ragassay.metrics.stats.uncertainty import Condition
from ragassay.models.gateway import JudgeLM
from ragassay.prompts import load_prompts
from ragassay.records import Escalation, Failure, Judgment, VerdictBase


@dataclass(frozen=True)
class Cascade:
    """Two judges, of which the second decides the verdicts that the first is unsure of.

    A verdict of the second judge contains that of the first. If the second judge fails, the verdict
    of the first judge is used and records the failure.
    """

    first: BaseJudge
    second: BaseJudge
    condition: Condition

    def run_rounds(self, question: Question) -> Rounds:
        """Ask the first judge, then the second judge for uncertain verdicts."""
        first = yield from self.first.run_rounds(question)
        verdicts = {(v.evaluator, v.item): v for v in first}
        unsure = (v for v in verdicts.values() if question.is_unsure(v, self.condition))
        escalated = [question.isolate_question(verdict) for verdict in unsure]
        replies = yield [(one, self.second) for one in escalated]
        for one, reply in zip(escalated, replies, strict=True):
            failure = reply if isinstance(reply, Failure) else None
            for second in _list_verdicts(one, reply):
                key = second.evaluator, second.item
                verdicts[key] = self._decide(verdicts.get(key, second), second, failure)
        return list(verdicts.values())

    def _decide(
        self, first: VerdictBase, second: VerdictBase, failure: Failure | None
    ) -> VerdictBase:
        name = self.second.name
        if failure:
            return first.model_copy(update={"escalation": Escalation(judge=name, failure=failure)})
        changes = {
            "escalation": Escalation(judge=name, usage=second.usage),
            "escalated_from": first,
            "usage": first.usage + second.usage,
        }
        return second.model_copy(update=changes)


class Panel(BaseJudge):
    """Panel of at least two judges that rate answers. The first judge answers other questions."""

    def __init__(self, members: Sequence[BaseJudge]) -> None:
        self._members = tuple(members)
        self.name, self.lm = members[0].name, members[0].lm

    @property
    def members(self) -> tuple[BaseJudge, ...]:
        """Members of the panel, in the order of the settings."""
        return self._members

    @property
    def models(self) -> tuple[JudgeLM, ...]:
        """Models of all members."""
        return tuple(dict.fromkeys(lm for one in self._members for lm in one.models))

    def run_rounds(self, question: Question) -> Rounds:
        """Ask all members, ask them again if they disagree, and combine their verdicts."""
        if not question.asks_panel:
            return (yield from super().run_rounds(question))
        first = yield from self._ask({one.name: question for one in self._members})
        second = yield from self._ask(question.build_second_round(first))
        final = {one.judge: one for one in (*first, *second)}
        return [question.join_verdicts([final[one.name] for one in self._members])]

    def _ask(self, questions: Mapping[str, Question]) -> Generator[Any, Any, list[VerdictBase]]:
        asked = [(questions[one.name], one) for one in self._members if one.name in questions]
        replies = yield asked
        return [
            _list_verdicts(question, reply)[0].model_copy(update={"judge": member.name})
            for (question, member), reply in zip(asked, replies, strict=True)
        ]

    def calls_model(self, rubric: str) -> bool:
        """Return whether any member calls a model."""
        return any(one.calls_model(rubric) for one in self._members)

    def rates_by_signals(self, rubric: str) -> bool:
        """Return whether any member uses signals."""
        return any(one.rates_by_signals(rubric) for one in self._members)

    def name_signal_rater(self, rubrics: Iterable[str]) -> str:
        """Return the name of the first member's rater that uses signals, or "" without one."""
        names = [one.name_signal_rater(rubrics) for one in self._members]
        return next(filter(None, names), "")

    def name_raters(self, rubrics: Iterable[str]) -> str:
        """Return the names of all members."""
        return f"a panel of {', '.join(one.name for one in self._members)}"


def _list_verdicts(question: Question, reply: JudgeReply) -> Sequence[VerdictBase]:
    return question.make_unscored(reply) if isinstance(reply, Failure) else reply


def list_disputed_members(judgments: Sequence[Judgment]) -> list[tuple[Judgment, list[Judgment]]]:
    """Return each judgment on a disputed rubric, with the other members' judgments on it.

    The result is sorted by rubric and judge. Judgments that lack a judge or a rating are ignored.
    """
    by_rubric: dict[str, dict[str, Judgment]] = {}
    for one in judgments:
        if one.judge:
            by_rubric.setdefault(one.rubric, {})[one.judge] = one
    disputed: list[tuple[Judgment, list[Judgment]]] = []
    for _, members in sorted(by_rubric.items()):
        rated = [members[judge] for judge in sorted(members) if members[judge].rating is not None]
        if is_disputed(rated):
            disputed += [(one, [other for other in rated if other is not one]) for one in rated]
    return disputed


def format_other_ratings(others: Sequence[Judgment]) -> str:
    """Format the other members' ratings, sentence numbers and reasons, one line per member.

    The members' names are omitted, because they could influence a judge more than the reasons. The
    text comes from a model and is untrusted, so the rubric judge encloses it in delimiters.
    """
    return "\n".join(f"{n}. {_format_rating(other)}" for n, other in enumerate(others, 1))


def _format_rating(judgment: Judgment) -> str:
    words = load_prompts().panel
    low, high = judgment.scale
    lines = [words.rating.format(rating=judgment.rating, low=low, high=high)]
    if judgment.sentences:
        lines.append(words.sentences.format(numbers=", ".join(map(str, judgment.sentences))))
    if judgment.rationale:
        lines.append(words.reason.format(reason=" ".join(judgment.rationale.split())))
    return " ".join(lines)
