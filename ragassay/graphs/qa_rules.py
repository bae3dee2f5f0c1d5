"""Find by rule what is wrong with a pair of a question and its answer, before a model rates it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragassay.graphs.qa_state import DraftPair, PairFlaw
from ragassay.metrics.qa.numbers import SourceNumbers, answer_numbers
from ragassay.records import Paper, QAPair, RacarRating
from ragassay.text.context_marks import context_marks
from ragassay.text.question_lint import question_flaws
from ragassay.text.quotes import find_quote
from ragassay.text.sentences import split_sentences
from ragassay.text.words import tokenize

LEAST_WORDS = 5
"""Fewest words of an answer; a shorter one is no sentence that can be understood alone."""

LEAST_SPECIFICS = 2
"""Fewest content words of the paper that an answer without a number adds to its question."""

_NUMBER = re.compile(r"\d")


class PairRules:
    """The rules for the pairs of one paper.

    Args:
        paper: The paper; numbers and words are looked for in all its evidence.
    """

    def __init__(self, paper: Paper) -> None:
        self._numbers = SourceNumbers.of(paper.evidence_text)
        self._words = frozenset(tokenize(paper.evidence_text))

    def flaws(self, pair: QAPair) -> tuple[PairFlaw, ...]:
        """Return what is wrong with a pair; nothing where no rule speaks."""
        found = [
            PairFlaw("context", f'"{mark.text}" in the {mark.part} needs the paper: name it')
            for mark in context_marks(pair.question, pair.answer)
        ]
        found += [
            PairFlaw("wording", f"the question: {flaw.why}: {flaw.mend}")
            for flaw in question_flaws(pair.question, [pair.answer])
        ]
        found += [
            PairFlaw("number", f'the paper does not say "{number.text}" so')
            for number in answer_numbers(pair.answer, self._numbers)
            if not number.is_near
        ]
        return (*found, *self._thin(pair))

    def _thin(self, pair: QAPair) -> list[PairFlaw]:
        n_words = len(pair.answer.split())
        if n_words < LEAST_WORDS:
            why = f"the answer has {n_words} words: answer in full sentences"
            return [PairFlaw("too_short", why)]
        added = set(tokenize(pair.answer)) - set(tokenize(pair.question))
        if not added:
            return [PairFlaw("answer_told", "the question has all that its answer says")]
        own = added & self._words
        if len(own) < LEAST_SPECIFICS and not any(map(_NUMBER.search, own)):
            why = "the answer adds nothing specific of the paper to its question: say what it tells"
            return [PairFlaw("no_specifics", why)]
        return []


def low_ratings(ratings: Sequence[RacarRating], least: int) -> dict[str, tuple[PairFlaw, ...]]:
    """Return the flaws that ratings below a bound tell, by the pair's id."""
    found: dict[str, tuple[PairFlaw, ...]] = {}
    for one in ratings:
        if one.rating is not None and one.rating < least:
            why = f"{one.dimension} is rated {one.rating} of {one.scale[1]}: {one.reason}"
            found[one.pair] = (*found.get(one.pair, ()), PairFlaw("rated_low", why))
    return found


def quoted_sentences(quote: str, text: str) -> tuple[str, ...]:
    """Return the sentences of a text that a quote was taken from; none where it has no such words.

    Args:
        quote: What a model says to be the text's words.
        text: The text.
    """
    place = find_quote(quote, text)
    if place is None:
        return ()
    start = text.rfind("\n", 0, place[0]) + 1
    end = text.find("\n", place[1])
    around = text[start : end if end >= 0 else len(text)]
    first, last = place[0] - start, place[1] - start
    found = tuple(
        around[a:b]
        for a, b in split_sentences(around)
        # A quote that is found by likeness may take a few characters of a neighbour.
        if min(b, last) - max(a, first) > (b - a) / 2 or (a <= first and last <= b)
    )
    return found or (text[place[0] : place[1]],)


def questions_of(drafts: Sequence[DraftPair]) -> list[str]:
    """Return the questions of pairs."""
    return [draft.pair.question for draft in drafts]
