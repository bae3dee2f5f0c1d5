"""The parts of a paper that are read at a time, and rules for the pairs written from them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ragassay.graphs.qa_state import DraftPair, PairFlaw, QAJob, QAState, QATools
from ragassay.metrics.papers.sciqag import SourceNumbers, answer_numbers
from ragassay.models.litellm_library import import_litellm
from ragassay.records import PROSE, Document, Paper, QAPair, RacarRating
from ragassay.records.qa import SECTION_BREAK
from ragassay.text.grounding import find_quote
from ragassay.text.questions import context_marks, question_flaws
from ragassay.text.search import tokenize
from ragassay.text.sentences import sentences_of, split_sentences

PAIRS_A_PARAGRAPH = 5
"""Pairs that self-questioning asks of a paragraph (Wan et al. 2024, appendix D)."""

PARAGRAPH_WORDS = 40
"""Fewest words of a paragraph that is questioned."""

PROMPT_TOKENS = 1_000
"""Room for the instruction, the keywords and the questions that are known."""

_BREAK = re.compile(r"\n+")


def parts_of(paper: Paper, job: QAJob | QAState) -> list[Document]:
    """Return what is read at a time: the whole, groups of sections, or single paragraphs."""
    if job.way == "self-questioning":
        texts = _spread(
            [p for p in _paragraphs(paper) if len(p.split()) >= PARAGRAPH_WORDS],
            math.ceil(job.number / PAIRS_A_PARAGRAPH),
        )
    elif job.long == "whole":
        texts = [paper.evidence_text]
    else:
        texts = _pack_units(_units(paper, job.section_chars), job.section_chars)
    return [
        Document(id=f"{paper.id}#{n}", title=paper.title, text=text)
        for n, text in enumerate(texts, 1)
        if text.strip()
    ]


def shares_of(parts: Sequence[Document], job: QAJob | QAState) -> tuple[int, ...]:
    """Deal the pairs to the parts, by their length; of self-questioning, five a paragraph.

    Example:
        >>> parts = [Document(id=str(n), text="x" * n) for n in (60, 25, 15)]
        >>> shares_of(parts, QAJob("p", number=10))
        (6, 3, 1)
    """
    if job.way == "self-questioning":
        left = [job.number - PAIRS_A_PARAGRAPH * i for i in range(len(parts))]
        return tuple(min(PAIRS_A_PARAGRAPH, n) for n in left)
    lengths = [len(part.text) for part in parts]
    exact = [job.number * length / sum(lengths) for length in lengths]
    shares = list(map(math.floor, exact))
    order = sorted(range(len(parts)), key=lambda i: (shares[i] - exact[i], i))
    for i in order[: job.number - sum(shares)]:
        shares[i] += 1
    return tuple(shares)


def misfit(paper: Paper, parts: Sequence[Document], job: QAState, tools: QATools) -> str:
    """Return why a paper cannot be read by the writer, and what to do; "" where it can."""
    longest = max((part.text for part in parts), key=len)
    reply = tools.tools.settings.prompting.max_reply_tokens * max(job.shares)
    whole = job.long == "whole" and job.way == "pairs"
    mend = (
        "cut it: --long sections, or name a model with a longer window"
        if whole
        else "cut it finer: --section-chars"
    )
    if tools.window_tokens is None:
        if len(longest) <= tools.window_chars:
            return ""
        return (
            f"{paper.id} has {len(longest):,} characters in one prompt, about "
            f"{_n_tokens(longest):,} tokens; the window of {tools.writer.model} is not known, and "
            f"{tools.window_chars:,} characters are allowed: {mend}, or set "
            "RAGASSAY_PROMPTING__MAX_SOURCE_CHARS to what it reads"
        )
    needed = _n_tokens(longest) + PROMPT_TOKENS + reply
    if needed <= tools.window_tokens:
        return ""
    return (
        f"{paper.id} takes about {needed:,} tokens in one prompt, {reply:,} of them for the reply, "
        f"and {tools.writer.model} has {tools.window_tokens:,}: {mend}"
    )


def window_of(model: str) -> int | None:
    """Return the tokens that a model reads, by the list that LiteLLM ships; None where unknown."""
    known = import_litellm().model_cost
    names = (model, model.partition("/")[2])
    found = next((known[n].get("max_input_tokens") for n in names if n in known), None)
    return int(found) if found else None


def _n_tokens(text: str) -> int:
    """Return about how many tokens a text is: by cl100k, which LiteLLM ships."""
    return len(import_litellm().encoding.encode(text, disallowed_special=()))


def _paragraphs(paper: Paper) -> list[str]:
    sections = [section for section in paper.sections if section.kind in PROSE]
    return [p.strip() for s in sections for p in _BREAK.split(s.text) if p.strip()]


def _units(paper: Paper, n_most: int) -> list[str]:
    """Return sections; of those that are too long the paragraphs, of these the sentences."""
    units: list[str] = []
    for section in paper.sections:
        if section.kind not in PROSE:
            continue
        whole = "\n".join(filter(None, (section.title, section.text.strip())))
        if len(whole) <= n_most:
            units.append(whole)
            continue
        for paragraph in _BREAK.split(whole):
            fits = len(paragraph) <= n_most
            units += [paragraph] if fits else _pack_units(sentences_of(paragraph), n_most, " ")
    return units


def _pack_units(units: Sequence[str], n_most: int, between: str = SECTION_BREAK) -> list[str]:
    """Join neighbours as long as they fit; a unit that does not fit alone stays as it is."""
    groups: list[str] = []
    for unit in units:
        if groups and len(groups[-1]) + len(between) + len(unit) <= n_most:
            groups[-1] += between + unit
        else:
            groups.append(unit)
    return groups


def _spread(texts: Sequence[str], n: int) -> list[str]:
    """Return n of the texts, spread evenly over them."""
    n = min(n, len(texts))
    return [texts[i * len(texts) // n] for i in range(n)]


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
