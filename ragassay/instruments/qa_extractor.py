"""Question-answer pairs without a language model: sentences of the paper, and rules that ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragassay.records import Paper, QAPair
from ragassay.text.context_marks import context_marks
from ragassay.text.keywords import find_keywords
from ragassay.text.papers import PaperSentence, paper_sentences
from ragassay.text.question_rules import QuestionKind, RuleQuestion, rule_question

EXTRACTOR = "sentences by rule"
"""In place of a model's name."""

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_CITATION = re.compile(
    r"\s*\((?:see (?:also )?)?(?:figs?|tables?|refs?|eqs?|sections?|schemes?|supplementary)\b"
    r"[^()]*\)|\s*\[\]|\s*\[\d[\d,\s\u2013-]*\]"
    r"|\s*\((?:[^()]*\bet al\b[^()]*|[^()]*\b(?:19|20)\d\d[a-z]?)\)",
    re.IGNORECASE,
)
_GAP = re.compile(r"\s+(?=[.,;])")
_NAME = re.compile(r"\w[A-Z]|[A-Za-z]\d")
_LEAST_CHARS = 4
_GENERIC = frozenset(
    """analysi method system process material model effect technique approach device sensor sample
    study performance property measurement application data structure time type high response
    detection determination electrode film reaction product solution membrane surface cell group
    temperature pressure current""".split()
)
_SHORT, _LONG = 8, 45


_RANKS: tuple[QuestionKind, ...] = (
    *("value", "change", "cause", "way", "relation", "rank", "use", "meaning"),
)
"""What is taken first where a stretch of the paper has more than is wanted."""


@dataclass(frozen=True)
class Candidate:
    """A sentence that makes a pair.

    Attributes:
        sentence: The sentence, as the paper has it.
        answer: Without citations.
        asked: Its question.
    """

    sentence: PaperSentence
    answer: str
    asked: RuleQuestion


def extract_pairs(paper: Paper, number: int, keywords: Sequence[str] = ()) -> tuple[QAPair, ...]:
    """Return pairs whose answers are sentences of a paper, in its order.

    Args:
        paper: The paper.
        number: Most pairs: where there are more, they are spread over the paper.
        keywords: What they are about; by default the paper's own, or those found in it.
    """
    found = _chosen(candidates(paper, keywords), number)
    return tuple(
        QAPair(
            id=f"{paper.id}/{n}",
            question=one.asked.text,
            answer=one.answer,
            paper=paper.id,
            system=EXTRACTOR,
            sources=(one.sentence.text,),
        )
        for n, one in enumerate(found, 1)
    )


def candidates(paper: Paper, keywords: Sequence[str] = ()) -> list[Candidate]:
    """Return all sentences that make a pair, each question once, in the paper's order."""
    # Frozen models can be hashed, which pydantic does not tell.
    sentences = paper_sentences(paper)  # pyright: ignore[reportArgumentType]
    is_known = _keyword_finder(keywords or paper.keywords or find_keywords(paper.text))
    is_common = _common_words(sentences)
    found: dict[tuple[str, str], Candidate] = {}
    for one in sentences:
        plain = _GAP.sub("", _CITATION.sub("", one.text)).strip()
        if not _SHORT <= len(plain.split()) <= _LONG:
            continue
        asked = rule_question(plain, is_known=is_known, is_common=is_common)
        if asked and not context_marks(asked.text, plain):
            found.setdefault((asked.kind, asked.subject.casefold()), Candidate(one, plain, asked))
    return list(found.values())


def _chosen(found: list[Candidate], number: int) -> list[Candidate]:
    """Return the best of each stretch of the paper, as many stretches as pairs are wanted."""
    if len(found) <= number:
        return found
    stretches = [
        found[i * len(found) // number : (i + 1) * len(found) // number] for i in range(number)
    ]
    return [min(stretch, key=lambda one: _RANKS.index(one.asked.kind)) for stretch in stretches]


def _common_words(sentences: tuple[PaperSentence, ...]) -> Callable[[str], bool]:
    lower = {w for one in sentences for w in _WORD.findall(one.text) if w.islower()}
    names = {w for one in sentences for w in _WORD.findall(one.text)[1:]}

    def is_common(word: str) -> bool:
        plain = word.replace("-", "")
        is_title = plain[:1].isupper() and (len(plain) == 1 or plain[1:].islower())
        return is_title and (word.lower() in lower or word not in names)

    return is_common


def _keyword_finder(keywords: Sequence[str]) -> Callable[[str], bool]:
    words = {word for keyword in keywords for word in _stems(keyword)}
    wanted = {word for word in words if len(word) >= _LEAST_CHARS} - _GENERIC

    def is_known(text: str) -> bool:
        names = (word for word in _WORD.findall(text) if _NAME.search(word))
        return not wanted.isdisjoint(_stems(text)) or any(names)

    return is_known


def _stems(text: str) -> tuple[str, ...]:
    return tuple(word.casefold().rstrip("s") for word in _WORD.findall(text))
