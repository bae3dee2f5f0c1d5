"""Cut a paper into what is read at a time, and see whether it fits into the writer's window."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ragassay.graphs.qa_state import QAJob, QAState, QATools
from ragassay.models.litellm_library import import_litellm
from ragassay.records import PROSE, Document, Paper
from ragassay.records.papers import SECTION_BREAK
from ragassay.text.sentences import sentences_of

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
        texts = _packed(_units(paper, job.section_chars), job.section_chars)
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
            units += [paragraph] if fits else _packed(sentences_of(paragraph), n_most, " ")
    return units


def _packed(units: Sequence[str], n_most: int, between: str = SECTION_BREAK) -> list[str]:
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
