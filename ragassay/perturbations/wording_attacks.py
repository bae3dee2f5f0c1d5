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
    build_rubric_keys,
)
from ragassay.perturbations.lexicon import (
    Side,
    build_word_pattern,
    copy_capitals,
    decapitalise,
    read_data_file,
    replace_words,
)
from ragassay.records.base import Frozen


@functools.cache
def _build_pattern() -> re.Pattern[str]:
    words = sorted(yaml.safe_load(read_data_file("connectives.yaml")), key=len, reverse=True)
    # Excludes "and/or" and compounds such as "follow-up" and "if-then".
    return re.compile(rf"(?<![\w/-])(?:{'|'.join(words)})(?![\w/-])", re.IGNORECASE)


def remove_connectives(text: str, *, first_only: bool = False) -> str:
    """Remove all connectives, or only the first, and adjust commas and capitalization.

    A sentence is not changed if no letter would remain.

    Example:
        >>> remove_connectives("However, it fell, and then rose (1).")
        'It fell, rose (1).'
    """
    # Short capitals such as the "OR" of "OR 1.4" are odds ratios.
    matches = [m for m in _build_pattern().finditer(text) if len(m[0]) > 3 or not m[0].isupper()]
    for match in reversed(matches[: 1 if first_only else None]):
        shorter = _remove_match(text, match)
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
        return left + _capitalize(right)
    return left + right if left.endswith((" ", "(", "\n")) else f"{left} {right}"


def _capitalize(text: str) -> str:
    """Capitalize a sentence, unless its first word is spelled like "mRNA"."""
    word = re.match(r"[^\W\d_]+", text)
    return text[0].upper() + text[1:] if word and word[0].islower() else text


def _drop_connectives(
    answer: CutAnswer, material: Material, *, first_only: bool
) -> Perturbation | None:
    perturbed = answer
    for index in answer.places:
        piece = answer.pieces[index]
        text = remove_connectives(piece.text, first_only=first_only)
        if text != piece.text:
            perturbed = perturbed.with_piece(index, piece.with_text(text))
            if first_only:
                break
    return Perturbation(perturbed)


_INTEGRATED = build_rubric_keys("integration")

_first_connective = partial(_drop_connectives, first_only=True)
_all_connectives = partial(_drop_connectives, first_only=False)

CONNECTIVES: tuple[Attack, ...] = (
    Attack("first_connective", "rubric", "subtle", _INTEGRATED, _first_connective),
    Attack("all_connectives", "rubric", "extreme", _INTEGRATED, _all_connectives),
)


_SYNONYM_SHARE = 0.7
"""Probability that a word is replaced if it has a synonym."""

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
def _load_rules() -> _Rules:
    return _Rules.model_validate(yaml.safe_load(read_data_file("redundancy.yaml")))


@functools.cache
def _build_synonym_pattern() -> re.Pattern[str]:
    return build_word_pattern(_load_rules().synonyms)


def iter_frames(side: Side, rng: random.Random) -> Iterator[str]:
    """Yield the frames of a side in random order, and start again after the last one."""
    while True:
        frames = list(_load_rules().frames[side])
        rng.shuffle(frames)
        yield from frames


def paraphrase_by_rule(piece: AnswerPiece, frame: str, known: str, rng: random.Random) -> str:
    """Paraphrase a sentence by rule and move its markers to the end.

    Args:
        frame: Text to put around the sentence, with {} as the placeholder of the sentence.
        known: Text of the answer and its sources, used to distinguish names from other words.
    """
    body = piece.words.rstrip(" .!?")
    link = _LINK.match(body)
    body = (body[link.end() :] if link else "") or body
    body = _swap_synonyms(_reorder_clauses(decapitalise(body, known)), rng)
    framed = frame.replace("{}", body)
    return _add_markers(f"{framed[0].upper()}{framed[1:]}", piece)


def _add_markers(text: str, piece: AnswerPiece) -> str:
    markers = "".join(f" {marker}" for marker in piece.markers if marker != MASK)
    return f"{text.rstrip('.')}{markers}."


def _reorder_clauses(body: str) -> str:
    clauses = _SUBORDINATE.fullmatch(body)
    if clauses:
        return f"{clauses['joint']} {clauses['side']}, {clauses['main']}"
    adjunct = _ADJUNCT.fullmatch(body)
    if adjunct:
        return f"{adjunct[2]} {adjunct[1]}"
    return _LIST.sub(r"\4, \2 \3 \1", body)


def _swap_synonyms(body: str, rng: random.Random) -> str:
    for match in reversed(list(_build_synonym_pattern().finditer(body))):
        if rng.random() < _SYNONYM_SHARE:
            other = copy_capitals(match[0], _load_rules().synonyms[match[0].lower()])
            body = replace_words(body, match.start(), match.end(), other)
    return body


def _paraphrase(piece: AnswerPiece, frames: Iterator[str], material: Material, known: str) -> str:
    by_model = material.rephrase(piece.words).strip() if material.rephrase else ""
    if by_model and by_model != piece.words:
        return _add_markers(by_model, piece)
    return paraphrase_by_rule(piece, next(frames), known, material.rng)


def _repeat(
    choose: Callable[[list[int], random.Random], Sequence[int]],
    answer: CutAnswer,
    material: Material,
) -> Perturbation | None:
    chosen = choose(answer.places, material.rng)
    if not chosen:
        return None
    texts = [piece.text for piece in answer.pieces]
    known = " ".join([*texts, *(document.text for document in material.record.sources)])
    frames = iter_frames(material.side, material.rng)
    # In reading order, because each paraphrase advances the random generator.
    texts = [_paraphrase(answer.pieces[i], frames, material, known) for i in chosen]
    perturbed = answer
    for i, text in reversed(list(zip(chosen, texts, strict=True))):
        perturbed = perturbed.with_text(i + 1, text, answer.pieces[i].citations)
    return Perturbation(perturbed)


def _choose_inside(places: list[int], rng: random.Random) -> Sequence[int]:
    return [rng.choice(places[:-1])] if len(places) > 1 else []


_CONCISE = build_rubric_keys("conciseness")

_repeat_last = partial(_repeat, lambda places, rng: places[-1:])
_repeat_inside = partial(_repeat, _choose_inside)
_repeat_all = partial(_repeat, lambda places, rng: places)

REDUNDANCY: tuple[Attack, ...] = (
    Attack("repeat_last", "rubric", "subtle", _CONCISE, _repeat_last),
    Attack("repeat_inside", "rubric", "subtle", _CONCISE, _repeat_inside),
    Attack("repeat_all", "rubric", "extreme", _CONCISE, _repeat_all),
)
