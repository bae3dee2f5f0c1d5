"""Parts of a paper for prompts, and rules that check the question-answer pairs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ragassay.graphs.qa_state import DraftPair, PairFlaw, QAJob, QARun, QAState
from ragassay.metrics.papers.sciqag import SourceNumbers, check_answer_numbers
from ragassay.models.litellm_library import import_litellm
from ragassay.records import PROSE, Document, Paper, QAPair, RacarRating
from ragassay.records.qa import SECTION_BREAK
from ragassay.text.grounding import find_quote
from ragassay.text.questions import find_context_marks, find_question_flaws
from ragassay.text.search import tokenize
from ragassay.text.sentences import extract_sentences, split_sentences

PAIRS_A_PARAGRAPH = 5
"""Number of pairs per paragraph in self-questioning (Wan et al. 2024, appendix D)."""

PARAGRAPH_WORDS = 40
"""Minimum number of words in a paragraph for self-questioning."""

PROMPT_TOKENS = 1_000
"""Number of tokens reserved for the instructions, keywords and known questions."""

_BREAK = re.compile(r"\n+")


def split_paper(paper: Paper, job: QAJob | QAState) -> list[Document]:
    """Split a paper into prompt parts: the whole paper, groups of sections, or paragraphs."""
    if job.way == "self-questioning":
        texts = _sample_evenly(
            [p for p in _split_paragraphs(paper) if len(p.split()) >= PARAGRAPH_WORDS],
            math.ceil(job.number / PAIRS_A_PARAGRAPH),
        )
    elif job.long == "whole":
        texts = [paper.evidence_text]
    else:
        texts = _pack_units(_split_units(paper, job.section_chars), job.section_chars)
    return [
        Document(id=f"{paper.id}#{n}", title=paper.title, text=text)
        for n, text in enumerate(texts, 1)
        if text.strip()
    ]


def allocate_pairs(parts: Sequence[Document], job: QAJob | QAState) -> tuple[int, ...]:
    """Return how many pairs to write from each part: by length, or 5 per paragraph.

    Example:
        >>> parts = [Document(id=str(n), text="x" * n) for n in (60, 25, 15)]
        >>> allocate_pairs(parts, QAJob("p", number=10))
        (6, 3, 1)
    """
    if job.way == "self-questioning":
        return tuple(
            min(PAIRS_A_PARAGRAPH, job.number - PAIRS_A_PARAGRAPH * i) for i in range(len(parts))
        )
    lengths = [len(part.text) for part in parts]
    exact = [job.number * length / sum(lengths) for length in lengths]
    shares = list(map(math.floor, exact))
    order = sorted(range(len(parts)), key=lambda i: (shares[i] - exact[i], i))
    for i in order[: job.number - sum(shares)]:
        shares[i] += 1
    return tuple(shares)


def explain_misfit(paper: Paper, parts: Sequence[Document], job: QAState, run: QARun) -> str:
    """Return why a paper does not fit into the writer's context window, or "" if it does."""
    longest = max((part.text for part in parts), key=len)
    reply = run.run.settings.prompting.max_reply_tokens * max(job.shares)
    is_whole = job.long == "whole" and job.way == "pairs"
    fix = (
        "use --long sections or a model with a longer context window"
        if is_whole
        else "reduce --section-chars"
    )
    if run.window_tokens is None:
        if len(longest) <= run.window_chars:
            return ""
        return (
            f"{paper.id} has {len(longest):,} characters "
            f"(about {_count_tokens(longest):,} tokens) in "
            f"one prompt, but the context window of {run.writer.model} is unknown and at most "
            f"{run.window_chars:,} characters are allowed; {fix}, or set "
            "RAGASSAY_PROMPTING__MAX_SOURCE_CHARS to the limit of the model"
        )
    needed = _count_tokens(longest) + PROMPT_TOKENS + reply
    if needed <= run.window_tokens:
        return ""
    return (
        f"{paper.id} needs about {needed:,} tokens in one prompt, including {reply:,} for the "
        f"reply, but {run.writer.model} supports only {run.window_tokens:,}; {fix}"
    )


def find_context_window(model: str) -> int | None:
    """Return the context window of a model according to LiteLLM, or None if unknown."""
    known = import_litellm().model_cost
    names = (model, model.partition("/")[2])
    window = next((known[n].get("max_input_tokens") for n in names if n in known), None)
    return int(window) if window else None


def _count_tokens(text: str) -> int:
    return len(import_litellm().encoding.encode(text, disallowed_special=()))


def _split_paragraphs(paper: Paper) -> list[str]:
    sections = [section for section in paper.sections if section.kind in PROSE]
    return [p.strip() for s in sections for p in _BREAK.split(s.text) if p.strip()]


def _split_units(paper: Paper, n_most: int) -> list[str]:
    units: list[str] = []
    for section in paper.sections:
        if section.kind not in PROSE:
            continue
        text = "\n".join(filter(None, (section.title, section.text.strip())))
        if len(text) <= n_most:
            units.append(text)
            continue
        for paragraph in _BREAK.split(text):
            fits = len(paragraph) <= n_most
            units += [paragraph] if fits else _pack_units(extract_sentences(paragraph), n_most, " ")
    return units


def _pack_units(units: Sequence[str], n_most: int, between: str = SECTION_BREAK) -> list[str]:
    groups: list[str] = []
    for unit in units:
        if groups and len(groups[-1]) + len(between) + len(unit) <= n_most:
            groups[-1] += between + unit
        else:
            groups.append(unit)
    return groups


def _sample_evenly(texts: Sequence[str], n: int) -> list[str]:
    n = min(n, len(texts))
    return [texts[i * len(texts) // n] for i in range(n)]


LEAST_WORDS = 5
"""Minimum number of words in an answer that can be understood on its own."""

LEAST_SPECIFICS = 2
"""Minimum number of the paper's words that an answer without numbers must add to its question."""

_NUMBER = re.compile(r"\d")


class PairRules:
    """Rules that check the pairs of one paper."""

    def __init__(self, paper: Paper) -> None:
        self._numbers = SourceNumbers.from_text(paper.evidence_text)
        self._words = frozenset(tokenize(paper.evidence_text))

    def find_flaws(self, pair: QAPair) -> tuple[PairFlaw, ...]:
        """Return the flaws of a pair."""
        flaws = [
            PairFlaw("context", f'"{mark.text}" in the {mark.part} needs the paper: name it')
            for mark in find_context_marks(pair.question, pair.answer)
        ]
        flaws += [
            PairFlaw("wording", f"the question: {flaw.why}: {flaw.mend}")
            for flaw in find_question_flaws(pair.question, [pair.answer])
        ]
        flaws += [
            PairFlaw("number", f'the paper does not say "{number.text}" so')
            for number in check_answer_numbers(pair.answer, self._numbers)
            if not number.is_near
        ]
        return (*flaws, *self._find_content_flaws(pair))

    def _find_content_flaws(self, pair: QAPair) -> list[PairFlaw]:
        n_words = len(pair.answer.split())
        if n_words < LEAST_WORDS:
            why = f"the answer has {n_words} words: answer in full sentences"
            return [PairFlaw("too_short", why)]
        added = set(tokenize(pair.answer)) - set(tokenize(pair.question))
        if not added:
            return [PairFlaw("answer_told", "the question has all that its answer says")]
        specific = added & self._words
        if len(specific) < LEAST_SPECIFICS and not any(map(_NUMBER.search, specific)):
            why = "the answer adds nothing specific of the paper to its question: say what it tells"
            return [PairFlaw("no_specifics", why)]
        return []


def find_low_ratings(
    ratings: Sequence[RacarRating], min_rating: int
) -> dict[str, tuple[PairFlaw, ...]]:
    """Return flaws for ratings below a minimum, keyed by pair id."""
    flaws: dict[str, tuple[PairFlaw, ...]] = {}
    for rating in ratings:
        if rating.rating is not None and rating.rating < min_rating:
            why = (
                f"{rating.dimension} is rated {rating.rating} of {rating.scale[1]}: {rating.reason}"
            )
            flaws[rating.pair] = (*flaws.get(rating.pair, ()), PairFlaw("rated_low", why))
    return flaws


def find_quoted_sentences(quote: str, text: str) -> tuple[str, ...]:
    """Return the sentences of a text that contain a quote, or () if the quote is not found.

    Args:
        quote: Text that a model claims to quote from the paper.
    """
    span = find_quote(quote, text)
    if span is None:
        return ()
    start = text.rfind("\n", 0, span[0]) + 1
    end = text.find("\n", span[1])
    line = text[start : end if end >= 0 else len(text)]
    first, last = span[0] - start, span[1] - start
    sentences = tuple(
        line[a:b]
        for a, b in split_sentences(line)
        # A fuzzy match may include a few characters of an adjacent sentence.
        if min(b, last) - max(a, first) > (b - a) / 2 or (a <= first and last <= b)
    )
    return sentences or (text[span[0] : span[1]],)


def list_questions(drafts: Sequence[DraftPair]) -> list[str]:
    """Return the questions of the drafts."""
    return [draft.pair.question for draft in drafts]
