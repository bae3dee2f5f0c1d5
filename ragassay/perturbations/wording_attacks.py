"""Attacks that remove connectives or repeat sentences (YESciEval, appendix B.3)."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import yaml

from ragassay.perturbations.attack import (
    MASK,
    AnswerPiece,
    Attack,
    CutAnswer,
    Material,
    Perturbation,
    rubrics,
)
from ragassay.perturbations.lexicon import (
    Side,
    any_of,
    data_text,
    decapitalise,
    like,
    replace_words,
)
from ragassay.records.base import Frozen


@functools.cache
def _pattern() -> re.Pattern[str]:
    words = sorted(yaml.safe_load(data_text("connectives.yaml")), key=len, reverse=True)
    # Neither "and/or" nor a part of a compound: "follow-up", "if-then".
    return re.compile(rf"(?<![\w/-])(?:{'|'.join(words)})(?![\w/-])", re.IGNORECASE)


def _find(text: str) -> list[re.Match[str]]:
    # "OR 1.4" is an odds ratio.
    return [m for m in _pattern().finditer(text) if len(m[0]) > 3 or not m[0].isupper()]


def without_connectives(text: str, *, first_only: bool = False) -> str:
    """Return a sentence without its connectives, or the first, capital letter and commas repaired.

    A sentence of nothing else is unchanged.

    Example:
        >>> without_connectives("However, it fell, and then rose (1).")
        'It fell, rose (1).'
    """
    found = _find(text)[: 1 if first_only else None]
    for place in reversed(found):
        shorter = _remove_match(text, place)
        text = shorter if re.search(r"[^\W\d_]", shorter) else text
    return text


def _remove_match(text: str, found: re.Match[str]) -> str:
    left, right = text[: found.start()], text[found.end() :]
    opens = not re.search(r"\w", left)
    closed = left.rstrip()
    if opens or closed.endswith((",", ";", ":")):
        right = right.removeprefix(",")
    if right.lstrip()[:1] in tuple(".,;:)") or not right.strip():
        return closed.removesuffix(",") + right.lstrip()
    right = right.lstrip()
    if opens:
        return left + _capitalise(right)
    return left + right if left.endswith((" ", "(", "\n")) else f"{left} {right}"


def _capitalise(text: str) -> str:
    """Capitalise a sentence, unless its first word has its own spelling ("mRNA")."""
    word = re.match(r"[^\W\d_]+", text)
    return text[0].upper() + text[1:] if word and word[0].islower() else text


def _drop_connectives(
    answer: CutAnswer, material: Material, *, first_only: bool
) -> Perturbation | None:
    perturbed = answer
    for place in answer.places:
        piece = answer.pieces[place]
        text = without_connectives(piece.text, first_only=first_only)
        if text != piece.text:
            perturbed = perturbed.with_piece(place, piece.with_text(text))
            if first_only:
                break
    return Perturbation(perturbed)


_INTEGRATED = rubrics("integration")

_first_connective = partial(_drop_connectives, first_only=True)
_all_connectives = partial(_drop_connectives, first_only=False)

CONNECTIVES: tuple[Attack, ...] = (
    Attack("first_connective", "rubric", "subtle", _INTEGRATED, _first_connective),
    Attack("all_connectives", "rubric", "extreme", _INTEGRATED, _all_connectives),
)


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


def paraphrased_by_rule(piece: AnswerPiece, frame: str, known: str, rng: random.Random) -> str:
    """Paraphrase a sentence by rule, with drawn synonyms; its markers are put at the end.

    The frame contains {} where the sentence goes. The text `known`, of the answer and its sources,
    shows which words are lower case.
    """
    body = piece.words.rstrip(" .!?")
    opened = _LINK.match(body)
    body = (body[opened.end() :] if opened else "") or body
    body = _swap_synonyms(_reorder_clauses(decapitalise(body, known)), rng)
    framed = frame.replace("{}", body)
    return _add_markers(f"{framed[0].upper()}{framed[1:]}", piece)


def _add_markers(text: str, piece: AnswerPiece) -> str:
    """Return a sentence with the markers of another before its full stop."""
    markers = "".join(f" {marker}" for marker in piece.markers if marker != MASK)
    return f"{text.rstrip('.')}{markers}."


def _reorder_clauses(body: str) -> str:
    """Return clauses and lists in another order, where that is safe."""
    clauses = _SUBORDINATE.fullmatch(body)
    if clauses:
        return f"{clauses['joint']} {clauses['side']}, {clauses['main']}"
    adjunct = _ADJUNCT.fullmatch(body)
    if adjunct:
        return f"{adjunct[2]} {adjunct[1]}"
    return _LIST.sub(r"\4, \2 \3 \1", body)


def _swap_synonyms(body: str, rng: random.Random) -> str:
    """Return a sentence with synonyms for most words that have one."""
    for match in reversed(list(_synonym_pattern().finditer(body))):
        if rng.random() < _SYNONYM_SHARE:
            other = like(match[0], _rules().synonyms[match[0].lower()])
            body = replace_words(body, match.start(), match.end(), other)
    return body


def _redundant(piece: AnswerPiece, frames: Iterator[str], material: Material, known: str) -> str:
    by_model = material.rephrase(piece.words).strip() if material.rephrase else ""
    if by_model and by_model != piece.words:
        return _add_markers(by_model, piece)
    return paraphrased_by_rule(piece, next(frames), known, material.rng)


def _repeat(
    choose: Callable[[list[int], random.Random], Sequence[int]],
    answer: CutAnswer,
    material: Material,
) -> Perturbation | None:
    """Say some sentences again, each behind itself; none where none is chosen."""
    chosen = choose(answer.places, material.rng)
    if not chosen:
        return None
    texts = [piece.text for piece in answer.pieces]
    known = " ".join([*texts, *(document.text for document in material.record.sources)])
    frames = frames_in_turn(material.side, material.rng)
    again = {i: _redundant(answer.pieces[i], frames, material, known) for i in chosen}
    perturbed = answer
    for place in reversed(chosen):
        perturbed = perturbed.with_text(place + 1, again[place], answer.pieces[place].citations)
    return Perturbation(perturbed)


def _inside(places: list[int], rng: random.Random) -> Sequence[int]:
    return [rng.choice(places[:-1])] if len(places) > 1 else []


_CONCISE = rubrics("conciseness")

_repeat_last = partial(_repeat, lambda places, rng: places[-1:])
_repeat_inside = partial(_repeat, _inside)
_repeat_all = partial(_repeat, lambda places, rng: places)

REDUNDANCY: tuple[Attack, ...] = (
    Attack("repeat_last", "rubric", "subtle", _CONCISE, _repeat_last),
    Attack("repeat_inside", "rubric", "subtle", _CONCISE, _repeat_inside),
    Attack("repeat_all", "rubric", "extreme", _CONCISE, _repeat_all),
)
