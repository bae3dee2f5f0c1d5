"""Compare two questions by their words: do they ask for one thing?

Vectors alone do not tell: of the 71 pairs of DL20's exam questions on one query that are at least
0.9 alike, 4 ask for one thing ("synonyms of ..." and "antonyms of ..." are 0.95 alike).
"""

from __future__ import annotations

import re

_PLACE = r"\W*(?:(?:in|at|on|by|for|to|from|of|with)\s+)?"
_TIME = re.compile(rf"{_PLACE}(?:what|which)\s+(?:year|date|day|month|century|time)\b")
_ASKED = re.compile(
    rf"{_PLACE}(how\s+(?:many|much|old|long|often|far|fast|big|large|tall)|who|whom|whose|what"
    r"|which|when|where|why|how)\b"
)
_SAME = {"which": "what", "whom": "who"}
_FILLING = frozenset(
    """
    a an the is are was were be been being do does did has have had can could may might will would
    should shall must there any some specific particular certain main major key of in on for to by
    with at from as that it its their they this these or and if you please typically usually
    generally commonly exactly actually give provide what which who whom whose when where why how
    year date day time
    """.split()
)
_WORD = re.compile(r"[^\W_]+(?:[.-][^\W_]+)*")
_ENDING = re.compile(r"(?:ing|ed|es|s|e|ly)$")


def asked_for(question: str) -> str:
    """Return what a question asks for: "who", "when", "how many", ...; "whether" without such.

    Example:
        >>> asked_for("In which year did it begin?"), asked_for("Is it old?")
        ('when', 'whether')
    """
    folded = question.casefold()
    if _TIME.match(folded):
        return "when"
    found = _ASKED.match(folded)
    return _SAME.get(found[1], " ".join(found[1].split())) if found else "whether"


def is_one_question(first: str, second: str) -> bool:
    """Return whether two questions ask for the same with the same words, in the same order.

    Words that only fill, and endings, do not count.

    Example:
        >>> is_one_question("When was Ada born?", "In what year was Ada born?")
        True
        >>> is_one_question("How does sleep affect pain?", "How does pain affect sleep?")
        False
    """
    return asked_for(first) == asked_for(second) and _content(first) == _content(second)


def _content(question: str) -> list[str]:
    words = _WORD.findall(question.casefold().replace("'s", "").replace("\u2019s", ""))
    return [_ENDING.sub("", word) for word in words if word not in _FILLING]
