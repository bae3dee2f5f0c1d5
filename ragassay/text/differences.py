"""Find the words in which a claim differs from a document: the witness of a contradiction.

An inference model that says "contradicts" may be wrong. It is right far more often where the
document also gives another value for a number of the claim, where the closest sentences have the
opposite direction, or where only one of the two has a negation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.text.number_comparison import ComparedNumber, compare_numbers, has_complement
from ragassay.text.number_context import word_of
from ragassay.text.search import rank, tokenize

N_CLOSEST = 2
"""Sentences of a document in which directions are looked for."""

N_AROUND, N_AROUND_COMPARED = 3, 2
"""Words on either side of a direction, or of a comparative, of which one must be the same."""

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_THAN_NUMBER = re.compile(
    r"\b(?:more|less|fewer|greater|higher|lower|longer|shorter)\sthan\s\d", re.IGNORECASE
)
"""A bound, and no direction."""

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
"""Beginnings of words, one sense and the opposite one."""

Span = tuple[int, int]
_SOURCE, _ANSWER, _FOR = "the source says ", ", the answer ", " for "
_OTHER_VALUE = re.compile(
    rf"{_SOURCE}(?P<there>[^\n]{{1,200}}?)(?:{_FOR}[^\d\n,]{{1,60}})?{_ANSWER}(?P<here>[^\n]{{1,200}})"
)
_SIDES = tuple(tuple(tuple(side.split()) for side in pair) for pair in _OPPOSITES)


@dataclass(frozen=True)
class Difference:
    """A word of a claim that its document contradicts: its kind, and the words for a reader."""

    kind: Literal["number", "direction", "negation"]
    words: str


def difference_of(
    claim: str, sentences: Sequence[str], title: str = "", beside: Sequence[str] | None = None
) -> Difference | None:
    """Return the first difference of a claim from a document; None where there is none.

    Args:
        sentences: The document's.
        title: The document's.
        beside: Other documents that the claim rests on. A number that one of them states does not
            differ, and with any, directions and negations do not count: it is unknown which
            document they are from. None where the sentences are only a part of the document, whose
            rest may state the number: then no number counts.

    Example:
        >>> difference_of("It fell by 5 mm.", ["It fell by 2 mm."], beside=[])
        Difference(kind='number', words='the source says 2 mm, the answer 5 mm')
        >>> difference_of("It raised pressure.", ["It reduced pressure."])
        Difference(kind='direction', words='"raised" here, "reduced" there')
    """
    if not sentences:
        return None
    number = None if beside is None else _other_number(claim, sentences, title, beside)
    if number or beside:
        return number
    closest = [sentences[place] for place, _ in rank(claim, sentences)[:N_CLOSEST]]
    if has_complement(claim, " ".join(closest)):
        # "80 % did not relapse" says what "20 % relapsed" does.
        return None
    return _direction(claim.lower(), " ".join(closest).lower()) or _negation(claim, closest)


def absent_numbers(
    claim: str, sentences: Sequence[str], title: str = "", beside: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the numbers of a claim, with their units, that none of its documents states.

    A number that a document gives another value for is not among them. The sentences are all of a
    document's; `beside` are the other documents that the claim rests on.

    Example:
        >>> absent_numbers("Mean age was 64 years.", ["Adults took part."])
        ('64 years',)
    """
    whole, _ = _whole(sentences, title, beside)
    compared = compare_numbers(claim, whole)
    absent = (claim[one.start : one.end] for one in compared if one.verdict == "absent")
    return tuple(dict.fromkeys(absent))


def is_other_value(words: str) -> bool:
    """Return whether the words of a difference say that a number has another value.

    Example:
        >>> is_other_value("the source says 2, the answer 5")
        True
    """
    return bool(_OTHER_VALUE.fullmatch(words))


def places_of_difference(words: str, text: str, of: Literal["here", "there"]) -> list[Span]:
    """Return where a text has the words that a difference names.

    The `words` are those of a `Difference`. The claim is "here", its document "there".

    Example:
        >>> places_of_difference("the source says 2, the answer 5", "It fell by 5 mm.", "here")
        [(11, 12)]
        >>> places_of_difference('"raised" here, "reduced" there', "It reduced pressure.", "there")
        [(3, 10)]
    """
    named = re.findall(rf'"([^"]+)" {of}', words)
    other_value = _OTHER_VALUE.fullmatch(words)
    if other_value:
        named.append(other_value[of])
    return sorted(
        found.span()
        for word in named
        for found in re.finditer(_as_a_whole(word), text, re.IGNORECASE)
    )


def _as_a_whole(word: str) -> str:
    """Return a pattern of a word, or of a number that is no part of a longer one."""
    return rf"(?<![\w.])(?<!\d,){re.escape(word)}(?!\w|[.,]\d)"


def _whole(sentences: Sequence[str], title: str, beside: Sequence[str]) -> tuple[str, int]:
    """Return the text of a document and of others behind it, and the length of the first."""
    own = "\n\n".join([*filter(None, [title]), " ".join(sentences)])
    return "\n\n".join([own, *beside]), len(own)


def _other_number(
    claim: str, sentences: Sequence[str], title: str, beside: Sequence[str]
) -> Difference | None:
    """Return the first number of a claim that the document itself gives another value for."""
    whole, n_own = _whole(sentences, title, beside)
    for one in compare_numbers(claim, whole):
        if one.stated and one.stated[0] < n_own:
            return Difference("number", _words_of(one, claim, whole))
    return None


def _words_of(one: ComparedNumber, claim: str, whole: str) -> str:
    there, here = whole[slice(*one.stated or (0, 0))], claim[one.start : one.end]
    arm = f"{_FOR}{word_of(one.arm, claim)}" if one.arm else ""
    return " ".join(f"{_SOURCE}{there}{arm}{_ANSWER}{here}".split())


def _direction(claim: str, near: str) -> Difference | None:
    ours, theirs = (_WORD.findall(_THAN_NUMBER.sub("", text)) for text in (claim, near))
    for pair in _SIDES if _same_comparator(ours, theirs) else _SIDES[1:]:
        for side, other in (pair, pair[::-1]):
            if any(word.startswith(side) for word in theirs):
                continue
            n = N_AROUND_COMPARED if pair is _SIDES[0] else N_AROUND
            for place, against in enumerate(theirs):
                if not against.startswith(other):
                    continue
                ours_instead = _in_place_of(ours, side, _around(theirs, place, n), n)
                if ours_instead:
                    return Difference("direction", f'"{ours_instead}" here, "{against}" there')
    return None


def _same_comparator(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether "than" leads to the same: "less than A" may say what "more than B" says."""
    ends = [
        {word for n, one in enumerate(words) if one == "than" for word in words[n + 1 : n + 4]}
        for words in (ours, theirs)
    ]
    return not any(ends) or bool(
        set(tokenize(" ".join(ends[0]))) & set(tokenize(" ".join(ends[1])))
    )


def _in_place_of(
    ours: Sequence[str], side: tuple[str, ...], around: set[str], n: int
) -> str | None:
    """Return our word of a sense that stands among the same words as theirs of the opposite one."""
    for own, word in enumerate(ours):
        if word.startswith(side) and around & _around(ours, own, n):
            return word
    return None


def _around(words: Sequence[str], place: int, n: int) -> set[str]:
    near = [*words[max(0, place - n) : place], *words[place + 1 : place + 1 + n]]
    return set(tokenize(" ".join(near)))


def _negation(claim: str, closest: Sequence[str]) -> Difference | None:
    ours = _NEGATION.search(claim)
    theirs = _NEGATION.search(" ".join(closest) if ours else closest[0])
    if ours and theirs:
        return None
    found = ours or theirs
    return found and Difference("negation", f'"{found[0]}" {"here" if ours else "there"} alone')
