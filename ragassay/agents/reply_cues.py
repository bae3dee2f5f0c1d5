"""Detect drafts, quotations, corrections and refusals from the words around a verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import Any

from ragassay.agents.reply_values import find_label, normalize_label
from ragassay.text.faults import find_reasoning

_REFUSAL = re.compile(
    r"\W{0,9}(?:unfortunately,? )?(?:(?:i['\u2019]?m |i am )?sorry|i apologi[sz]e"
    r"|as an? (?:ai|(?:large )?language model)\b|i must decline"
    r"|(?:es )?tut mir leid|(?:je suis )?d\u00e9sol\u00e9|lo siento|\u5f88?\u62b1\u6b49"
    r"|i(?: (?:cannot|can['\u2019]t|won['\u2019]t|will not)"
    r"|(?: am|['\u2019]m) (?:unable|not able) to)\W{0,3}"
    r"(?:$|(?:answer|assess|assist|comply|continue|do|engage|evaluate|fulfil+|grade|help|judge"
    r"|label|provide|rate|respond|review|score)\b(?!.{0,40}\b(?:higher|lower|above|below|full)\b)))",
    re.IGNORECASE,
)
_FENCE = re.compile(r"[`~]{3,9}\w{0,20}\s{0,99}\Z")
_DRAFT = re.compile(
    r"(?:(?:\b(?:draft|example|injected)\b|\be\.g\.)(?:\W{1,4}\w+){0,2}"
    r"|\b(?:initial|preliminary|tentative|provisional|sample|template)(?: (?:rating|score|grade"
    r"|verdict|label|assessment|evaluation|judge?ment|reply|response|output|json)\b(?: \w+)?)?"
    r"|\b(?:says|contains|reads|wrote|ends? with|(?:to|me|might|could|would) (?:inject|output"
    r"|return|reply|respond|write|print|say|get|look like))(?: (?:with|this))?"
    r"|\A\W{0,9}(?:if|had)\b.{0,99}\b(?:would|might|could)\b.{0,99})[^\w.!?]{0,9}\Z",
    re.IGNORECASE,
)
"""Words right before an object that is a draft, an example or a quotation."""
_ASIDE = re.compile(
    r"\b(?:draft|initial(?:ly)?|original(?:ly)?|previous(?:ly)?|considered|e\.g|example|at first"
    r"|before|had|if|or|alternatively|(?:would|could|might) (?:also )?(?:have|be|get)|ideal"
    r"|(?:claim|rater|judge|statement|item|answer|response) (?:\d{1,3}|[b-h]))\b",
    re.IGNORECASE,
)
"""Words before the second of two different verdicts that is not final."""

_CHANGES = (
    r"final(?:ly)?|actual(?:ly)?|revis(?:e|ed|ing|ion)|correct(?:ed|ing|ion)"
    r"|sorry|apolog\w+|oops|mistake|edit"
    r"|on (?:reflection|(?:further|closer|second) \w+)|second thoughts?|instead|wait|hmm"
    r"|(?:re-?|double[- ])(?:read|check|consider|evaluat)\w{0,5}"
    r"|chang(?:es?|ed|ing)|adjust(?:ed|ing)?|updat(?:e[ds]?|ing)"
    r"|should (?:be|get|have been)|make (?:it|that)|go(?:ing)? with|settled?|deserves|merits"
    r"|last|downgrad(?:ed|ing)|lower(?:ed|ing)?|reduced?|rais(?:e|ed|ing)|conclusion"
)
_STATES = (
    r"boxed|I(?: would| will|['\u2019](?:d|ll))? (?:rate|give|say|score)|result"
    r"|(?<!confidence )(?:ratings?|score)|grade|verdict|label|answer(?=\W{0,4}(?:[:=>]|is\b))"
)
_CHANGE = re.compile(rf"(?<![^\W_])(?:{_CHANGES})(?![^\W_])", re.IGNORECASE)
"""Words with which a text changes a verdict."""
_CUE = re.compile(rf"(?<![^\W_])(?:{_CHANGES}|{_STATES})(?![^\W_])", re.IGNORECASE)
"""Words with which a text changes or states a verdict."""
_WITHDRAWAL = re.compile(
    r"(?:^|[.!?] )\W{0,9}(?:please |so,? )?(?:(?:disregard|ignore|discard|forget|scratch|strike)"
    r" (?:that|this|the above|(?:the|my) (?:above|previous|earlier|first|initial|last))\b"
    r"|no,? wait[,.:!]|I (?:retract|withdraw|take (?:that|it) back)\b)"
    r"|\b(?:rating|score|verdict)(?: above)? (?:is|was) (?:wrong|incorrect|mistaken|too)\b"
    r"|\b(?:rating|score) should (?:be|have been) (?:lower|higher)\b"
    r"|\bth(?:at|is)(?:['\u2019]s| is| was) (?:a (?:bit|little) )?"
    r"too (?:generous|lenient|harsh|strict)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Words with which a text withdraws a verdict without naming another."""
_NAMED = re.compile(
    r"(?:[]:=>{|\u2013\u2014\u2192]|\b(?:is|(?<!to )(?<!not )be|(?<!would have )been|becomes?|to|as"
    r"|at|on|(?<!not give )it|that|this|with|(?<!not )give|say|get|assign|deserves|merits|rating"
    r"|(?<!would )score|grade|verdict|label|answer|actually|finally|instead|correction|wait)\b,?)"
    r"(?:\san?\s)?[\s*_`\"']{0,9}(?!is\b)"
    r"(\d+(?:\s?(?:/|out of|of)\s?\d+)?|[^\W\d_]{1,40}(?:[ _-][^\W\d_]{1,40})?)"
    r"(?!(?<=\n\d)[.)])"  # the number of a list item
    r"(?=[\s*_`\"')}$]{0,9}(?:\Z|\n|[.,;:!<|](?!\d)"
    r"|\b(?:after|instead|because|since|as|given|rather|not|for|due|and|but|is|seems)\b))",
    re.IGNORECASE,
)
"""A value that the text presents as the verdict, such as "rating is 2" or "to a 2"."""
_ALONE = re.compile(r"^[^\w\n]{0,99}(\w+)[^\w\n]{0,99}$", re.MULTILINE)
"""A value that is a line of its own, such as "**2**"."""


def is_draft(before: str, after: str) -> bool:
    """Return whether an object is a draft, an example or a quotation.

    Args:
        before: Text before the object.
        after: At least two characters after the object.

    Example:
        >>> is_draft("For example: ", ""), is_draft("My rating: ", "")
        (True, False)
    """
    line, sentence = _read_lead(before)
    is_quoted = re.search(r"(?<!\w)[\"'\u2018\u201c\u201e\u00ab]\s?\w", line) and re.match(
        r"\s?[\"'\u2019\u201d\u00bb]", after
    )
    return bool(is_quoted or _DRAFT.search(sentence))


def is_aside(between: str) -> bool:
    """Return whether the second of two different verdicts is an aside, or an item of a list.

    Args:
        between: Text between the two verdicts.

    Example:
        >>> is_aside("It could also get:"), is_aside("My final verdict is:")
        (True, False)
    """
    lead = _read_lead(between)[1]
    return lead == "," or _ASIDE.search(lead) is not None


def _read_lead(text: str) -> tuple[str, str]:
    """Return the last line of a text before an object, and the last sentence of this line."""
    line = _FENCE.sub("", text).strip().rpartition("\n")[2]
    return line, re.split(r"[.!?]\s{1,9}(?=[A-Z])", line)[-1]


def states_other_label(rest: str, values: Set[Any], labels: Sequence[Any]) -> bool:
    """Return whether the text after a verdict states another label or rating.

    A number without a cue such as "final" or "rating" before it is ignored.

    Args:
        values: All labels or ratings of the verdict.
        labels: All possible labels or ratings.
    """
    words = _ALONE.findall(rest)
    cue = _CUE.search(rest)
    if cue:
        rest = rest[rest.rfind("\n", 0, cue.start()) + 1 :]
    if cue or not any(isinstance(label, int) for label in labels):
        words += _NAMED.findall(rest)
    named = {find_label(word, labels) for word in words} - {None}
    if cue and not named:
        long = {normalize_label(str(label)): label for label in labels if len(str(label)) > 5}
        named = {long[word] for word in map(normalize_label, rest.split()) if word in long}
        named = set() if values & named else named
    return bool(named - values)


def is_withdrawn(rest: str) -> bool:
    """Return whether the text after a verdict withdraws it or breaks off before another.

    Example:
        >>> is_withdrawn("Please disregard the above."), is_withdrawn("I hope this helps.")
        (True, False)
    """
    return bool(_WITHDRAWAL.search(rest) or (rest.rstrip().endswith(":") and _CHANGE.search(rest)))


def is_refusal(text: str) -> bool:
    """Return whether a reply, after any reasoning, is a refusal that contains no object.

    Example:
        >>> is_refusal("I'm sorry, but I can't assist with that.")
        True
        >>> is_refusal("I cannot rate it higher, because no source is named.")
        False
    """
    begin = find_reasoning_end(text)
    return "{" not in text[begin:] and _REFUSAL.match(text, begin) is not None


def find_reasoning_end(text: str) -> int:
    """Return the end offset of the reasoning at the start of a reply, or 0."""
    return max((end for _, end in find_reasoning(text)), default=0)
