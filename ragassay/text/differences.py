"""Find the words in which a claim and a document differ, as evidence for a contradiction.

When an inference model answers "contradicts", it is far more often right if the document gives
another value for a number in the claim, if the document's closest sentences state the opposite
direction, or if only one of the texts contains a negation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.text.number_comparison import compare_numbers, has_complement
from ragassay.text.number_context import find_word
from ragassay.text.search import rank_texts, tokenize

N_CLOSEST = 2
"""Number of sentences of a document, closest to the claim, that are searched for opposite words."""

N_AROUND, N_AROUND_COMPARED = 3, 2
"""Numbers of words that are compared on each side of a direction word and of a comparative."""

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_THAN_NUMBER = re.compile(
    r"\b(?:more|less|fewer|greater|higher|lower|longer|shorter)\sthan\s\d", re.IGNORECASE
)
"""Matches a bound such as "more than 5", which does not state a direction."""

_NEGATION = re.compile(
    r"\b(?:not|no|never|cannot|without|nor|neither|fail(?:s|ed)?|unable|absence|avoid(?:s|ed)?"
    r"|contraindicated|(?:advis|recommend)\w*\sagainst)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_COMPARED = (
    "higher highest greater more longer larger stronger better",
    "lower lowest fewer less shorter smaller weaker worse",
)
_OPPOSITES = (
    _COMPARED,
    (
        "increas rais rise rising rose elevat enhanc improv upregulat up-regulat prolonged gain "
        "accelerat promot stimulat activat overexpress majority above",
        "decreas reduc declin fall fell drop diminish impair worsen downregulat down-regulat loss "
        "shorten delay suppress inhibit block underexpress minority below",
    ),
    ("effectiv beneficial protect", "ineffectiv harmful"),
    ("superior", "inferior"),
    ("positiv", "negativ"),
    ("sensitiv", "resistan"),
    ("common widespread frequent", "rare infrequent uncommon"),
    ("early earlier", "late later"),
    ("before", "after"),
    ("high strong", "low weak"),
    ("safe well-tolerated", "unsafe poorly-tolerated"),
    ("presence", "absence"),
    ("mild", "severe"),
    ("agonist", "antagonist"),
)
"""Pairs of word stems with opposite meanings."""

Span = tuple[int, int]
_SOURCE, _ANSWER, _FOR = "the source says ", ", the answer ", " for "
_OTHER_VALUE = re.compile(
    rf"{_SOURCE}(?P<there>[^\n]{{1,200}}?)(?:{_FOR}[^\d\n,]{{1,60}})?{_ANSWER}(?P<here>[^\n]{{1,200}})"
)
_SIDES = tuple(tuple(tuple(side.split()) for side in pair) for pair in _OPPOSITES)


@dataclass(frozen=True)
class Difference:
    """A difference between a claim and a document, with words that explain it to readers."""

    kind: Literal["number", "direction", "negation"]
    words: str


def find_difference(
    claim: str, sentences: Sequence[str], title: str = "", beside: Sequence[str] | None = None
) -> Difference | None:
    """Return the first difference between a claim and a document, or None if there is none.

    Args:
        beside: Texts of the other documents cited for the claim. A number that another document
            states is not a difference. If there are other documents, directions and negations are
            ignored, because the claim may take them from another document. Pass None if `sentences`
            is only part of the document. Numbers are then ignored, because the rest of the document
            may state them.

    Example:
        >>> find_difference("It fell by 5 mm.", ["It fell by 2 mm."], beside=[])
        Difference(kind='number', words='the source says 2 mm, the answer 5 mm')
        >>> find_difference("It raised pressure.", ["It reduced pressure."])
        Difference(kind='direction', words='"raised" here, "reduced" there')
    """
    if not sentences:
        return None
    number = None if beside is None else _find_other_number(claim, sentences, title, beside)
    if number or beside:
        return number
    closest = [sentences[index] for index, _ in rank_texts(claim, sentences)[:N_CLOSEST]]
    if has_complement(claim, " ".join(closest)):
        # "80 % did not relapse" means the same as "20 % relapsed".
        return None
    return _compare_directions(claim.lower(), " ".join(closest).lower()) or _compare_negations(
        claim, closest
    )


def find_absent_numbers(
    claim: str, sentences: Sequence[str], title: str = "", beside: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the numbers in a claim, with units, that no document states.

    Numbers for which a document gives another value are left out. `sentences` are all sentences of
    a document, and `beside` are the texts of the other documents cited for the claim.

    Example:
        >>> find_absent_numbers("Mean age was 64 years.", ["Adults took part."])
        ('64 years',)
    """
    text, _ = _join_texts(sentences, title, beside)
    compared = compare_numbers(claim, text)
    absent = (claim[one.start : one.end] for one in compared if one.verdict == "absent")
    return tuple(dict.fromkeys(absent))


def has_number_of_others(
    claim: str, sentences: Sequence[str], title: str, beside: Sequence[str]
) -> bool:
    """Return whether a number in a claim is in another cited document, but not in this one.

    Such a claim combines several documents, and each of them confirms only part of it.

    Example:
        >>> claim = "Mortality was 12% in men and 8% in women."
        >>> has_number_of_others(claim, ["12% of men died."], "", ["8% of women died."])
        True
    """
    own = compare_numbers(claim, _join_texts(sentences, title, ())[0])
    missing = [n for n, one in enumerate(own) if one.verdict != "same"]
    others = (compare_numbers(claim, text) for text in (beside if missing else ()))
    return any(other[n].verdict == "same" for other in others for n in missing)


def is_other_value(words: str) -> bool:
    """Return whether the words of a difference say that the document gives another value.

    Example:
        >>> is_other_value("the source says 2, the answer 5")
        True
    """
    return bool(_OTHER_VALUE.fullmatch(words))


def find_difference_spans(words: str, text: str, of: Literal["here", "there"]) -> list[Span]:
    """Return the spans in a claim or document of the words that a difference quotes from it.

    `words` come from a `Difference`. `of` is "here" for a claim and "there" for a document.

    Example:
        >>> find_difference_spans("the source says 2, the answer 5", "It fell by 5 mm.", "here")
        [(11, 12)]
        >>> find_difference_spans('"raised" here, "reduced" there', "It reduced pressure.", "there")
        [(3, 10)]
    """
    quoted = re.findall(rf'"([^"]+)" {of}', words)
    other_value = _OTHER_VALUE.fullmatch(words)
    if other_value:
        quoted.append(other_value[of])
    return sorted(
        match.span()
        for word in quoted
        for match in re.finditer(_build_word_pattern(word), text, re.IGNORECASE)
    )


def _build_word_pattern(word: str) -> str:
    """Return a pattern for a word, or for a number that is not part of a longer number."""
    return rf"(?<![\w.])(?<!\d,){re.escape(word)}(?!\w|[.,]\d)"


def _join_texts(sentences: Sequence[str], title: str, beside: Sequence[str]) -> tuple[str, int]:
    own = "\n\n".join([*filter(None, [title]), " ".join(sentences)])
    return "\n\n".join([own, *beside]), len(own)


def _find_other_number(
    claim: str, sentences: Sequence[str], title: str, beside: Sequence[str]
) -> Difference | None:
    text, n_own = _join_texts(sentences, title, beside)
    for one in compare_numbers(claim, text):
        if one.stated and one.stated[0] < n_own:
            there, here = text[slice(*one.stated)], claim[one.start : one.end]
            arm = f"{_FOR}{find_word(one.arm, claim)}" if one.arm else ""
            words = f"{_SOURCE}{there}{arm}{_ANSWER}{here}"
            return Difference("number", " ".join(words.split()))
    return None


def _compare_directions(claim: str, near: str) -> Difference | None:
    ours, theirs = (_WORD.findall(_THAN_NUMBER.sub("", text)) for text in (claim, near))
    for pair in _SIDES if _has_same_comparator(ours, theirs) else _SIDES[1:]:
        for side, other in (pair, pair[::-1]):
            if any(word.startswith(side) for word in theirs):
                continue
            n = N_AROUND_COMPARED if pair is _SIDES[0] else N_AROUND
            for against in (i for i, word in enumerate(theirs) if word.startswith(other)):
                if word := _find_opposite(ours, side, _collect_neighbours(theirs, against, n), n):
                    return Difference("direction", f'"{word}" here, "{theirs[against]}" there')
    return None


def _has_same_comparator(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether comparisons with "than" are with the same thing, or there are none."""
    ends = [
        {word for n, one in enumerate(words) if one == "than" for word in words[n + 1 : n + 4]}
        for words in (ours, theirs)
    ]
    return not any(ends) or bool(
        set(tokenize(" ".join(ends[0]))) & set(tokenize(" ".join(ends[1])))
    )


def _find_opposite(
    ours: Sequence[str], side: tuple[str, ...], around: set[str], n: int
) -> str | None:
    return next(
        (
            w
            for i, w in enumerate(ours)
            if w.startswith(side) and around & _collect_neighbours(ours, i, n)
        ),
        None,
    )


def _collect_neighbours(words: Sequence[str], index: int, n: int) -> set[str]:
    near = [*words[max(0, index - n) : index], *words[index + 1 : index + 1 + n]]
    return set(tokenize(" ".join(near)))


def _compare_negations(claim: str, closest: Sequence[str]) -> Difference | None:
    ours = _NEGATION.search(claim)
    theirs = _NEGATION.search(" ".join(closest) if ours else closest[0])
    if ours and theirs:
        return None
    match = ours or theirs
    return match and Difference("negation", f'"{match[0]}" {"here" if ours else "there"} alone')
