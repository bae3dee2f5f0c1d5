"""Side-by-side view of two answers with their differences in text, findings and scores."""

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
    compute_gain,
    compute_word_overlap,
)
from ragassay.records import Evaluation, Finding
from ragassay.reports.display import format_difference, format_value
from ragassay.reports.findings_view import FindingCard, view_card
from ragassay.reports.labels import rank_finding_kind
from ragassay.reports.text import find_score_name

LEAST_GAIN = 0.005
"""Minimum change of a score that is listed, as a share of its scale."""

Mark = Literal["", "del", "ins"]


@dataclass(frozen=True, slots=True)
class SentenceLine:
    """A sentence split into deleted, inserted and unchanged parts, and whether it has a finding."""

    index: int
    parts: tuple[tuple[str, Mark], ...]
    is_same: bool
    state: str


@dataclass(frozen=True, slots=True)
class AnswerSide:
    """One of the two compared answers, with its marked sentences."""

    name: str
    id: str
    system: str
    sentences: tuple[SentenceLine, ...]


@dataclass(frozen=True, slots=True)
class ScoreMove:
    """A score that differs between the two answers."""

    title: str
    old: str
    new: str
    difference: str
    direction: Direction


@dataclass(frozen=True, slots=True)
class AnswerChangeView:
    """Two answers to the same question; `place` is the index of their comparison on the page."""

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
    """Compare a pair of answers for display."""
    scores, n_unchanged = _find_score_moves(answer)
    compared = {find_score_name(score.key) for score in change.scores}
    direction = "better" if answer.direction == "better" else "worse"
    moves = [m for m in scores if m.title in compared and m.direction == direction]
    old_lines, new_lines = _align_sentences(answer)
    return AnswerChangeView(
        place=place,
        direction=answer.direction,
        question=answer.new.question,
        old=_build_side(change.old, answer.old, old_lines),
        new=_build_side(change.new, answer.new, new_lines),
        appeared=_build_cards(answer.appeared, answer.new),
        gone=_build_cards(answer.gone, answer.old),
        kept=_build_cards(answer.kept, answer.new),
        scores=scores,
        n_unchanged=n_unchanged,
        most=(moves[-1] if direction == "better" else moves[0]) if moves else None,
    )


def _build_side(name: str, evaluation: Evaluation, lines: tuple[SentenceLine, ...]) -> AnswerSide:
    system = evaluation.system or ""
    return AnswerSide(name, evaluation.record_id, "" if system == name else system, lines)


def _build_cards(findings: Sequence[Finding], evaluation: Evaluation) -> tuple[FindingCard, ...]:
    ranked = sorted(findings, key=lambda finding: rank_finding_kind(finding.kind))
    return tuple(view_card(finding, 1, evaluation) for finding in ranked)


def _find_score_moves(answer: AnswerChange) -> tuple[tuple[ScoreMove, ...], int]:
    old, new = answer.old.scores, answer.new.scores
    gains = {
        key: compute_gain(key, old.get(key), new.get(key)) for key in dict.fromkeys((*old, *new))
    }
    known = {key: gain for key, gain in gains.items() if gain is not None}
    moved = sorted((gain, key) for key, gain in known.items() if abs(gain) >= LEAST_GAIN)
    moves = tuple(
        ScoreMove(
            title=find_score_name(key),
            old=format_value(old[key].value, old[key].scale),
            new=format_value(new[key].value, new[key].scale),
            difference=format_difference(
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
    old, new = (
        [(s.index, s.text) for s in e.sentences] or [(1, e.answer)]
        for e in (answer.old, answer.new)
    )
    partners = _match_sentences([text for _, text in old], [text for _, text in new])
    gone, appeared, kept = (
        _map_states(answer.gone, "gone"),
        _map_states(answer.appeared, "new"),
        _map_states(answer.kept, "kept"),
    )
    removed_parts: dict[int, tuple[tuple[str, Mark], ...]] = {}
    new_lines: list[SentenceLine] = []
    for position, (index, text) in enumerate(new):
        partner = partners.get(position)
        before = text if partner is None else old[partner][1]
        removed, added = _mark_word_changes(before, text)
        if partner is not None:
            removed_parts[partner] = removed
        is_same = partner is not None and before == text
        state = appeared.get(index) or kept.get(index, "")
        new_lines.append(SentenceLine(index, added, is_same, state))
    old_lines = [
        SentenceLine(
            index,
            removed_parts.get(position, ((text, ""),)),
            any(new[n][1] == text for n, partner in partners.items() if partner == position),
            gone.get(index, ""),
        )
        for position, (index, text) in enumerate(old)
    ]
    return tuple(old_lines), tuple(new_lines)


def _map_states(findings: Sequence[Finding], state: str) -> dict[int, str]:
    return {finding.sentence: state for finding in findings if finding.sentence}


def _match_sentences(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    unmatched = dict(enumerate(old))
    partners: dict[int, int] = {}
    for threshold in (1.0, SAME_WORDS):
        for position, text in enumerate(new):
            if position in partners or not unmatched:
                continue
            best = max(unmatched, key=lambda n: compute_word_overlap(unmatched[n], text))
            if compute_word_overlap(unmatched[best], text) >= threshold:
                partners[position] = best
                del unmatched[best]
    return partners


def _mark_word_changes(
    old: str, new: str
) -> tuple[tuple[tuple[str, Mark], ...], tuple[tuple[str, Mark], ...]]:
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
