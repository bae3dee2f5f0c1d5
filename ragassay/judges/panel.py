"""Judges made of judges: a panel that deliberates, and a cascade of two."""

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
    """Two judges, of whom the second decides what the first is unsure of.

    The first judge's verdict is kept inside the second one's. Where the second gives none, the
    first stands, and the failure is kept with it.

    Attributes:
        first: Is asked everything.
        second: Is asked again what the first is unsure of.
        condition: When a verdict is unsure.
    """

    first: BaseJudge
    second: BaseJudge
    condition: Condition

    def rounds(self, question: Question) -> Rounds:
        """Ask the first judge, and the second what the first is unsure of."""
        first = yield from self.first.rounds(question)
        verdicts = {(v.evaluator, v.item): v for v in first}
        unsure = (v for v in verdicts.values() if question.is_unsure(v, self.condition))
        asked = [question.alone(verdict) for verdict in unsure]
        replies = yield [(again, self.second) for again in asked]
        for again, reply in zip(asked, replies, strict=True):
            failure = reply if isinstance(reply, Failure) else None
            for second in _verdicts_of(again, reply):
                key = second.evaluator, second.item
                verdicts[key] = self._decide(verdicts.get(key, second), second, failure)
        return list(verdicts.values())

    def _decide(
        self, first: VerdictBase, second: VerdictBase, failure: Failure | None
    ) -> VerdictBase:
        """Return the second verdict with the first in it; the first where the second failed."""
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
    """Several judges of the rubrics; the first answers all other questions.

    Args:
        members: Two or more.
    """

    def __init__(self, members: Sequence[BaseJudge]) -> None:
        self._members = tuple(members)
        self.name, self.lm = members[0].name, members[0].lm

    @property
    def members(self) -> tuple[BaseJudge, ...]:
        """The judges."""
        return self._members

    @property
    def models(self) -> tuple[JudgeLM, ...]:
        """The models of all members."""
        return tuple(dict.fromkeys(lm for one in self._members for lm in one.models))

    def rounds(self, question: Question) -> Rounds:
        """Ask each member, and those that disagree once more; return one joint verdict."""
        if not question.asks_panel:
            return (yield from super().rounds(question))
        first = yield from self._ask({one.name: question for one in self._members})
        second = yield from self._ask(question.second_round(first))
        last = {one.judge: one for one in (*first, *second)}
        return [question.join_verdicts([last[one.name] for one in self._members])]

    def _ask(self, questions: Mapping[str, Question]) -> Generator[Any, Any, list[VerdictBase]]:
        """Ask members, by their names; return their verdicts."""
        asked = [(questions[one.name], one) for one in self._members if one.name in questions]
        replies = yield asked
        return [
            _verdicts_of(question, reply)[0].model_copy(update={"judge": member.name})
            for (question, member), reply in zip(asked, replies, strict=True)
        ]

    def calls_model(self, rubric: str) -> bool:
        """Return whether one of the members asks a model."""
        return any(one.calls_model(rubric) for one in self._members)

    def rates_by_signals(self, rubric: str) -> bool:
        """Return whether signals take part in a member's rating."""
        return any(one.rates_by_signals(rubric) for one in self._members)

    def signal_rater(self, rubrics: Iterable[str]) -> str:
        """Return the name of the signal rater, if it rates for a member."""
        names = [one.signal_rater(rubrics) for one in self._members]
        return next((name for name in names if name), "")

    def rated_by(self, rubrics: Iterable[str]) -> str:
        """Name the members."""
        return f"a panel of {', '.join(one.name for one in self._members)}"


def _verdicts_of(question: Question, reply: JudgeReply) -> Sequence[VerdictBase]:
    return question.make_unscored(reply) if isinstance(reply, Failure) else reply


def disputed_members(judgments: Sequence[Judgment]) -> list[tuple[Judgment, list[Judgment]]]:
    """Return each judge that rated a disputed rubric, with what the others said of it.

    Args:
        judgments: First ratings of all judges, in any order.

    Returns:
        In the order of rubrics and judges; empty where nobody is far off.
    """
    by_rubric: dict[str, dict[str, Judgment]] = {}
    for one in judgments:
        if one.judge:
            by_rubric.setdefault(one.rubric, {})[one.judge] = one
    found: list[tuple[Judgment, list[Judgment]]] = []
    for _, members in sorted(by_rubric.items()):
        rated = [members[judge] for judge in sorted(members) if members[judge].rating is not None]
        if is_disputed(rated):
            found += [(one, [other for other in rated if other is not one]) for one in rated]
    return found


def others_text(others: Sequence[Judgment]) -> str:
    """Return what other judges said, a line each: rating, sentences, reason; never who they are.

    A name would weigh more than a reason. The text is a model's and as untrusted as what it was
    made of: the rubric judge shows it fenced.
    """
    return "\n".join(f"{n}. {_line(other)}" for n, other in enumerate(others, 1))


def _line(judgment: Judgment) -> str:
    words = load_prompts().panel
    low, high = judgment.scale
    lines = [words.rating.format(rating=judgment.rating, low=low, high=high)]
    if judgment.sentences:
        lines.append(words.sentences.format(numbers=", ".join(map(str, judgment.sentences))))
    if judgment.rationale:
        lines.append(words.reason.format(reason=" ".join(judgment.rationale.split())))
    return " ".join(lines)
