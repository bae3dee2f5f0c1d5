"""Find what is wrong with the wording of an exam question. Rules only, no model is called.

Leading questions tell what the answer is: by a tag ("isn't it?"), a negated opening ("Isn't ..."),
a word that settles the matter ("obviously"), or by naming the known answer. A question that asks
for two things has two answers, of which a passage may give one. No passage answers a question to
its reader ("Have you checked ..."). And a question is graded alone: what it points to ("this acid",
"the show") it must name.

As one reader found: of DL20's 540 exam questions, in sight of which the rules were written, 23 are
named, all rightly; of SciQAG's 350, which were not in sight, 39, all rightly; of 1,867 that experts
asked (BioASQ), 3, of which 2 rightly. How many flaws the rules miss was not measured. None of these
is leading: that rule was tried on invented questions only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ragassay.text.context_marks import bare, unnamed

FlawKind = Literal["leading", "answer_told", "two_questions", "asks_reader", "out_of_context"]

_AUXILIARY = (
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|shall|may|might|must)"
)
_NEGATED = r"(?:is|are|was|were|do|does|did|has|have|had|ca|could|wo|would|should|must)n['\u2019]?t"
_WHO = r"(?:it|they|he|she|we|you|there|this|that|these|those|one)"
_ASKING = r"(?:who|whom|whose|what|when|where|why|how|which)"

_TAG = re.compile(
    rf"[,;\u2013-]\s*(?:(?:{_NEGATED}|{_AUXILIARY})\s+{_WHO}(?:\s+not)?"
    r"|right|correct|no|yes|true|agreed|don['\u2019]t you think|or not)\s*\?\s*$",
    re.IGNORECASE,
)
_NEGATED_OPENING = re.compile(
    rf"^(?:{_NEGATED}|{_AUXILIARY}\s+{_WHO}\s+not|would(?:n['\u2019]?t)?\s+you\s+(?:not\s+)?(?:agree|say))\b",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"\b(?:obvious(?:ly)?|of course|undoubtedly|undeniabl[ey]|unquestionabl[ey]"
    r"|needless to say|as (?:we|everyone|everybody) (?:all )?knows?|(?:as is|it is) well[- ]known"
    r"|it is (?:clear|true) that|everyone knows|surely|no doubt)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"]*\"|\u201c[^\u201c\u201d]*\u201d|\([^()]*\)")
_SECOND_CLAUSE = re.compile(
    rf"\b(?:and|as well as)\s++(?:then|also|in turn)?,?+\s*+{_ASKING}\b"
    rf"|,\s*and\s+(?:{_ASKING}|{_AUXILIARY})\b|\bif so,?\s+(?:{_ASKING}|{_AUXILIARY})\b"
    rf"|;\s*(?:{_ASKING}|{_AUXILIARY})\b",
    re.IGNORECASE,
)
_OPENS_ASKING = re.compile(rf"^(?:\W*+\w++\s++){{0,3}}?(?:{_ASKING}|{_AUXILIARY})\b", re.IGNORECASE)
_TO_READER = re.compile(
    r"^(?:have|do|did|are|were|will)\s+you\b|\byou\s+(?:want|plan|wish|intend)\b",
    re.IGNORECASE,
)
_NO_KEY = frozenset({"yes", "no", "true", "false", "both", "neither", "none"})
_WORD = re.compile(r"[^\W_]+(?:[.'-][^\W_]+)*")


@dataclass(frozen=True)
class Flaw:
    """A flaw of a question.

    Attributes:
        kind: What it is.
        why: The words that show it.
        mend: How to mend it.
    """

    kind: FlawKind
    why: str
    mend: str


def question_flaws(text: str, answers: Iterable[str] = ()) -> tuple[Flaw, ...]:
    """Return what is wrong with the wording of a question; nothing where no rule speaks.

    Args:
        text: The question.
        answers: Known correct answers.

    Example:
        >>> [flaw.kind for flaw in question_flaws("It began in 1951, didn't it?")]
        ['leading']
    """
    found = (_leading(text), _told(text, answers), _two(text), _to_reader(text), _pointing(text))
    return tuple(flaw for flaw in found if flaw is not None)


def _leading(text: str) -> Flaw | None:
    tag, opening, settled = _TAG.search(text), _NEGATED_OPENING.search(text), _SETTLED.search(text)
    if tag:
        mend = "ask without the tag: a question that may be answered either way"
        return Flaw("leading", f'the tag "{tag[0].strip(" ,;")}" expects one answer', mend)
    if opening:
        mend = "ask it without the negation"
        return Flaw("leading", f'the opening "{opening[0]}" expects one answer', mend)
    if settled:
        return Flaw("leading", f'"{settled[0]}" takes the answer for granted', "leave it out")
    return None


def _told(text: str, answers: Iterable[str]) -> Flaw | None:
    asked = f" {' '.join(_WORD.findall(text.casefold()))} "
    for answer in answers:
        words = " ".join(_WORD.findall(answer.casefold()))
        if (
            len(words) > 1
            and words not in _NO_KEY
            and f" {words} " in asked
            and " or " not in asked
        ):
            why = f'the known answer "{answer}" stands in the question'
            return Flaw("answer_told", why, "ask for it without naming it")
    return None


def _two(text: str) -> Flaw | None:
    bare = _QUOTED.sub(lambda found: " " * len(found[0]), text)
    mend = "make two items of it, or keep the part that matters"
    if bare.count("?") > 1:
        return Flaw("two_questions", "it has more than one question mark", mend)
    second = _SECOND_CLAUSE.search(bare)
    if second and second.start() and _OPENS_ASKING.search(bare):
        return Flaw(
            "two_questions", f'"{second[0].strip(" ,;")} ..." asks for something more', mend
        )
    return None


def _to_reader(text: str) -> Flaw | None:
    asked = _TO_READER.search(text)
    if not asked:
        return None
    mend = "ask what a text can tell: who needs it, what it takes"
    return Flaw("asks_reader", f'"{asked[0]}" asks its reader, whom no passage knows', mend)


def _pointing(text: str) -> Flaw | None:
    mend = "name it: the question is graded without the query"
    this, the = unnamed(text), bare(text)
    if this:
        return Flaw("out_of_context", f'"{this[0]}" is named nowhere in it', mend)
    if the:
        return Flaw("out_of_context", f'it does not say which {the[1]} "{the[0]}" is', mend)
    return None
