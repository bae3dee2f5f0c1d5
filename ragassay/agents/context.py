"""The case that all agents look at: the answer cut into sentences, and one shared context.

What is judged is untrusted. It is shown between marks that carry a number which does not occur in
it, so that no text can close its own fence.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from ragassay.prompts import load_prompts
from ragassay.records import AnswerSentence, Case, Document, Record

_FENCE = re.compile(r"<data ([0-9a-f]{8})>")


def build_context(question: str, answer: str, sources: Sequence[Document], mark: str) -> str:
    """The part that every prompt of a case starts with.

    Args:
        question: The question.
        answer: The answer as its reader sees it.
        sources: Numbered from 1 in the order given.
        mark: From `fence_mark`.
    """
    words = load_prompts().context
    parts = [words.question, fenced(question, mark)]
    if sources:
        parts += [words.sources, fenced(source_lines(sources), mark)]
    else:
        parts.append(words.no_sources)
    parts += [words.answer, fenced(answer, mark)]
    return "\n".join(parts)


def source_lines(sources: Sequence[Document]) -> str:
    """Sources as a prompt lists them, numbered from 1."""
    return "\n".join(
        f"[{n}] {source.title + '. ' if source.title else ''}{source.text}"
        for n, source in enumerate(sources, 1)
    )


def fence_mark(texts: Sequence[str], seed: str = "") -> str:
    """A short number that none of the texts contains; the same for the same texts.

    Args:
        texts: What is shown between marks.
        seed: What the number is drawn from in place of the texts, so that prompts which start with
            the same text start with the same mark.
    """
    joined = "\x00".join(texts)
    salt = 0
    while True:
        drawn = f"{salt}\x00{seed or joined}".encode("utf-8", "replace")
        mark = hashlib.sha256(drawn).hexdigest()[:8]
        if mark not in joined:
            return mark
        salt += 1


def fenced(text: str, mark: str) -> str:
    """Text between marks. A mark inside it, which only chance could put there, becomes a space."""
    # A space, not nothing: what stands around a mark that is cut out could close up to another.
    return f"<data {mark}>\n{text.replace(mark, ' ')}\n</data {mark}>"


def mark_of(case: Case) -> str:
    """The fence mark of a case; of a built one, read off its context, which opens with it."""
    opened = _FENCE.search(case.context)
    return opened[1] if opened else fence_mark(_texts(case))


def _texts(case: Case) -> list[str]:
    return [case.question, case.answer, *(s.title + s.text for s in case.sources)]


def build_case(
    record: Record,
    answer: str,
    sentences: Sequence[AnswerSentence],
    reference_sentences: Sequence[str],
    sources: Sequence[Document],
    shown: Sequence[Document],
) -> Case:
    """Put a case together.

    Args:
        record: What was handed in.
        answer: Its answer as plain text.
        sentences: The answer's sentences, citations resolved.
        reference_sentences: The reference answer's sentences.
        sources: All sources, in full.
        shown: The same sources, condensed to what fits into a prompt.
    """
    n_all = sum(len(source.text) for source in sources)
    n_shown = sum(len(source.text) for source in shown)
    case = Case(
        record_id=record.id,
        question=record.question,
        answer=answer,
        sentences=tuple(sentences),
        sources=tuple(sources),
        reference_sentences=tuple(reference_sentences),
        gold=record.nuggets,
        rubrics=record.rubrics,
        n_source_chars_cut=max(0, n_all - n_shown),
    )
    context = build_context(record.question, answer, shown, fence_mark(_texts(case)))
    return case.model_copy(update={"context": context})
