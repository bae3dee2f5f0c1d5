"""View of two answers side by side: what differs in words, findings and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from ragassay.metrics.stats.changes import (
    SAME_WORDS,
    AnswerChange,
    Change,
    Direction,
    gain_of,
    words_shared,
)
from ragassay.records import Evaluation, Finding
from ragassay.reports.display import difference_text, format_value
from ragassay.reports.findings_view import FindingCard, view_card
from ragassay.reports.labels import finding_rank
from ragassay.reports.text import score_name

LEAST_GAIN = 0.005
"""Share of its scale by which a score changes before it is listed."""

Mark = Literal["", "del", "ins"]


@dataclass(frozen=True, slots=True)
class SentenceLine:
    """A sentence in parts, each with what became of its words; `state` is its worst finding's."""

    index: int
    parts: tuple[tuple[str, Mark], ...]
    is_same: bool
    state: str


@dataclass(frozen=True, slots=True)
class AnswerSide:
    """One of the two answers."""

    name: str
    id: str
    system: str
    sentences: tuple[SentenceLine, ...]


@dataclass(frozen=True, slots=True)
class ScoreMove:
    """A score of the two answers that changed."""

    title: str
    old: str
    new: str
    difference: str
    direction: Direction


@dataclass(frozen=True, slots=True)
class AnswerChangeView:
    """Two answers to one question; `place` is that of their comparison."""

    place: int
    direction: Direction
    question: str
    old: AnswerSide
    new: AnswerSide
    appeared: tuple[FindingCard, ...]
    gone: tuple[FindingCard, ...]
    kept: tuple[FindingCard, ...]
    scores: tuple[ScoreMove, ...]
    n_unchanged: int
    most: ScoreMove | None


def view_answer_change(answer: AnswerChange, change: Change, place: int = 0) -> AnswerChangeView:
    """Return the view of a pair of answers."""
    scores, n_unchanged = _moves(answer)
    compared = {score_name(score.key) for score in change.scores}
    moved = [move for move in scores if move.title in compared]
    way = "better" if answer.direction == "better" else "worse"
    moved = [move for move in moved if move.direction == way]
    old_lines, new_lines = _align_sentences(answer)
    return AnswerChangeView(
        place=place,
        direction=answer.direction,
        question=answer.new.question,
        old=_side(change.old, answer.old, old_lines),
        new=_side(change.new, answer.new, new_lines),
        appeared=_cards(answer.appeared, answer.new),
        gone=_cards(answer.gone, answer.old),
        kept=_cards(answer.kept, answer.new),
        scores=scores,
        n_unchanged=n_unchanged,
        most=(moved[-1] if way == "better" else moved[0]) if moved else None,
    )


def _side(name: str, evaluation: Evaluation, lines: tuple[SentenceLine, ...]) -> AnswerSide:
    system = evaluation.system or ""
    return AnswerSide(name, evaluation.record_id, "" if system == name else system, lines)


def _cards(findings: Sequence[Finding], evaluation: Evaluation) -> tuple[FindingCard, ...]:
    ranked = sorted(findings, key=lambda finding: finding_rank(finding.kind))
    return tuple(view_card(finding, 1, evaluation) for finding in ranked)


def _moves(answer: AnswerChange) -> tuple[tuple[ScoreMove, ...], int]:
    """Return the scores that changed, the largest loss first, and how many did not."""
    old, new = answer.old.scores, answer.new.scores
    gains = {key: gain_of(key, old.get(key), new.get(key)) for key in dict.fromkeys((*old, *new))}
    known = {key: gain for key, gain in gains.items() if gain is not None}
    moved = sorted((gain, key) for key, gain in known.items() if abs(gain) >= LEAST_GAIN)
    moves = tuple(
        ScoreMove(
            title=score_name(key),
            old=format_value(old[key].value, old[key].scale),
            new=format_value(new[key].value, new[key].scale),
            difference=difference_text(
                (new[key].value or 0.0) - (old[key].value or 0.0), new[key].scale
            ),
            direction="worse" if gain < 0 else "better",
        )
        for gain, key in moved
    )
    return moves, len(known) - len(moves)


def _align_sentences(
    answer: AnswerChange,
) -> tuple[tuple[SentenceLine, ...], tuple[SentenceLine, ...]]:
    """Return the sentences of both answers, with the words that went or came."""
    old, new = (
        [(1, e.answer)] if not e.sentences else list(_texts(e)) for e in (answer.old, answer.new)
    )
    partners = _partners([text for _, text in old], [text for _, text in new])
    states = _states((*answer.gone,), "gone"), _states(answer.appeared, "new")
    kept = _states(answer.kept, "kept")
    lost: dict[int, tuple[tuple[str, Mark], ...]] = {}
    lines: list[SentenceLine] = []
    for place, (index, text) in enumerate(new):
        partner = partners.get(place)
        before = text if partner is None else old[partner][1]
        removed, added = _word_changes(before, text)
        if partner is not None:
            lost[partner] = removed
        same = partner is not None and before == text
        state = states[1].get(index) or kept.get(index, "")
        lines.append(SentenceLine(index, added, same, state))
    earlier = [
        SentenceLine(
            index,
            lost.get(place, ((text, ""),)),
            any(new[at][1] == text for at, was in partners.items() if was == place),
            states[0].get(index, ""),
        )
        for place, (index, text) in enumerate(old)
    ]
    return tuple(earlier), tuple(lines)


def _texts(evaluation: Evaluation) -> list[tuple[int, str]]:
    return [(sentence.index, sentence.text) for sentence in evaluation.sentences]


def _states(findings: Sequence[Finding], state: str) -> dict[int, str]:
    return {finding.sentence: state for finding in findings if finding.sentence}


def _partners(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Pair each new sentence with the old one that it is, word for word or reworded."""
    free = dict(enumerate(old))
    partners: dict[int, int] = {}
    for least in (1.0, SAME_WORDS):
        for place, text in enumerate(new):
            if place in partners or not free:
                continue
            best = max(free, key=lambda at: words_shared(free[at], text))
            if words_shared(free[best], text) >= least:
                partners[place] = best
                del free[best]
    return partners


def _word_changes(
    old: str, new: str
) -> tuple[tuple[tuple[str, Mark], ...], tuple[tuple[str, Mark], ...]]:
    """Return both texts in parts: what only the old one has, and what only the new one has."""
    first, second = old.split(), new.split()
    removed: list[tuple[str, Mark]] = []
    added: list[tuple[str, Mark]] = []
    steps = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    for step, a, b, c, d in steps:
        if b > a:
            removed.append((" ".join(first[a:b]), "" if step == "equal" else "del"))
        if d > c:
            added.append((" ".join(second[c:d]), "" if step == "equal" else "ins"))
    return tuple(removed), tuple(added)
