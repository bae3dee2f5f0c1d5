"""Attacks that repeat a sentence (YESciEval, appendix B.3, Conciseness).

In the paper a model writes the redundant sentences. Here a model may (`rephrase`); offline, rules
do: they swap clauses, replace words by synonyms, and put a frame around the sentence.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator

import yaml

from ragassay.perturbations.answer import MASK, CutAnswer, Piece
from ragassay.perturbations.attack import Attack, Damage, Material, rubrics
from ragassay.perturbations.pools import Side, data_text
from ragassay.perturbations.wording import decapitalised, like, replaced
from ragassay.perturbations.words import any_of
from ragassay.records.base import Frozen

_SYNONYM_SHARE = 0.7
"""Share of the words with a synonym that are replaced by it."""

_SUBORDINATE = re.compile(
    r"(?P<main>[^,;]+?),? (?P<joint>because|although|while|whereas|when|if|since) (?P<side>[^,;]+)"
)
_LIST = re.compile(r"(?<![\w-])([\w-]+), ([\w-]+),? (and|or) ([\w-]+)(?=[.;,]|$)")
_ADJUNCT = re.compile(r"((?:in|by|with|for|during|after|among) [^,;]+), ([^,;]+)")
_LINK = re.compile(
    r"^(?:However|Furthermore|Moreover|Additionally|In addition|Therefore|Thus|Overall|Similarly"
    r"|Finally|Also|Consequently|In contrast|For instance|For example|Specifically|In conclusion"
    r"|In summary|Hence|Nevertheless|Meanwhile|Notably|Importantly|Together|Lastly|Firstly|Secondly"
    r"|Taken together|On the other hand|Conversely|Ultimately|Subsequently|As a result), "
)


class _Rules(Frozen):
    frames: dict[Side, tuple[str, ...]]
    synonyms: dict[str, str]


@functools.cache
def _rules() -> _Rules:
    return _Rules.model_validate(yaml.safe_load(data_text("redundancy.yaml")))


@functools.cache
def _synonym_pattern() -> re.Pattern[str]:
    return any_of(_rules().synonyms)


def frames_in_turn(side: Side, rng: random.Random) -> Iterator[str]:
    """Yield the frames of a side, in a drawn order, over and over."""
    while True:
        frames = list(_rules().frames[side])
        rng.shuffle(frames)
        yield from frames


def paraphrased_by_rule(piece: Piece, frame: str, known: str, rng: random.Random) -> str:
    """Paraphrase a sentence by rule.

    Args:
        piece: The sentence; its markers are put at the end of the result.
        frame: Contains {} where the sentence goes.
        known: Text that shows which words are lower case: the answer and its sources.
        rng: Draws the synonyms.
    """
    body = piece.words.rstrip(" .!?")
    opened = _LINK.match(body)
    body = (body[opened.end() :] if opened else "") or body
    body = _swapped(_turned(decapitalised(body, known)), rng)
    framed = frame.replace("{}", body)
    return _cited(f"{framed[0].upper()}{framed[1:]}", piece)


def _cited(text: str, piece: Piece) -> str:
    """Return a sentence with the markers of another before its full stop."""
    markers = "".join(f" {marker}" for marker in piece.markers if marker != MASK)
    return f"{text.rstrip('.')}{markers}."


def _turned(body: str) -> str:
    """Return clauses and lists in another order, where that is safe."""
    clauses = _SUBORDINATE.fullmatch(body)
    if clauses:
        return f"{clauses['joint']} {clauses['side']}, {clauses['main']}"
    adjunct = _ADJUNCT.fullmatch(body)
    if adjunct:
        return f"{adjunct[2]} {adjunct[1]}"
    return _LIST.sub(r"\4, \2 \3 \1", body)


def _swapped(body: str, rng: random.Random) -> str:
    """Return a sentence with synonyms for most words that have one."""
    for match in reversed(list(_synonym_pattern().finditer(body))):
        if rng.random() < _SYNONYM_SHARE:
            other = like(match[0], _rules().synonyms[match[0].lower()])
            body = replaced(body, match.start(), match.end(), other)
    return body


def _redundant(piece: Piece, frames: Iterator[str], material: Material, known: str) -> str:
    by_model = material.rephrase(piece.words).strip() if material.rephrase else ""
    if by_model and by_model != piece.words:
        return _cited(by_model, piece)
    return paraphrased_by_rule(piece, next(frames), known, material.rng)


def _known(answer: CutAnswer, material: Material) -> str:
    texts = [piece.text for piece in answer.pieces]
    return " ".join([*texts, *(document.text for document in material.record.sources)])


def _repeat_last(answer: CutAnswer, material: Material) -> Damage | None:
    place = answer.places[-1]
    frames = frames_in_turn(material.side, material.rng)
    text = _redundant(answer.pieces[place], frames, material, _known(answer, material))
    return Damage(answer.with_text(place + 1, text, answer.pieces[place].citations))


def _repeat_inside(answer: CutAnswer, material: Material) -> Damage | None:
    places = answer.places
    if len(places) < 2:
        return None
    place = material.rng.choice(places[:-1])
    frames = frames_in_turn(material.side, material.rng)
    text = _redundant(answer.pieces[place], frames, material, _known(answer, material))
    return Damage(answer.with_text(place + 1, text, answer.pieces[place].citations))


def _repeat_all(answer: CutAnswer, material: Material) -> Damage | None:
    known, damaged = _known(answer, material), answer
    frames = frames_in_turn(material.side, material.rng)
    texts = {i: _redundant(answer.pieces[i], frames, material, known) for i in answer.places}
    for place in reversed(answer.places):
        damaged = damaged.with_text(place + 1, texts[place], answer.pieces[place].citations)
    return Damage(damaged)


_TARGETS = rubrics("conciseness")

REDUNDANCY: tuple[Attack, ...] = (
    Attack("repeat_last", "rubric", "subtle", _TARGETS, _repeat_last),
    Attack("repeat_inside", "rubric", "subtle", _TARGETS, _repeat_inside),
    Attack("repeat_all", "rubric", "extreme", _TARGETS, _repeat_all),
)
