"""Build the case that all agents see: the answer's sentences and one shared context.

Judged text is untrusted. It is shown between marks with a number that does not occur in it, so that
no text can close its own fence.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from ragassay.prompts import load_prompts
from ragassay.records import AnswerSentence, Case, Document, Record, Turn
from ragassay.text.faults import find_reasoning

_FENCE = re.compile(r"<data ([0-9a-f]{8})>")


def build_context(
    question: str,
    answer: str,
    sources: Sequence[Document],
    mark: str,
    turns: Sequence[Turn] = (),
) -> str:
    """Build the common beginning of all prompts of a case.

    Args:
        answer: The answer as a reader sees it.
        sources: Numbered from 1 in the order given.
        mark: From `fence_mark`.
        turns: The conversation before the question.
    """
    words = load_prompts().context
    parts: list[str] = []
    if turns:
        lines = "\n".join(f"{turn.role}: {turn.text}" for turn in turns)
        parts += [words.turns, fence_text(lines, mark)]
    parts += [words.question, fence_text(question, mark)]
    if sources:
        parts += [words.sources, fence_text(source_lines(sources), mark)]
    else:
        parts.append(words.no_sources)
    parts += [words.answer, fence_text(answer, mark)]
    return "\n".join(parts)


def sources_context(question: str, sources: Sequence[Document], mark: str) -> str:
    """Build the common beginning of prompts that write from sources: there is no answer yet."""
    words = load_prompts().context
    shown = fence_text(source_lines(sources), mark)
    return "\n".join([words.question, fence_text(question, mark), words.sources, shown])


def passage_context(case: Case) -> str:
    """Return the common beginning of all prompts that grade an answer as a passage."""
    return "\n".join(
        (load_prompts().context.passage, fence_text(case.judged_answer, mark_of(case)))
    )


def build_paper_context(shown: Sequence[Document], texts: Sequence[str]) -> str:
    """Build the common beginning of all prompts on a paper: its text alone.

    The same for all sets of its pairs, unless one of them has the mark in it.

    Args:
        shown: The paper, condensed to what fits into a prompt.
        texts: Other texts that are shown between the same marks.
    """
    paper = "\n\n".join("\n".join(filter(None, (one.title, one.text))) for one in shown)
    mark = fence_mark([paper, *texts], seed=paper)
    return "\n".join((load_prompts().context.paper, fence_text(paper, mark)))


def source_lines(sources: Sequence[Document]) -> str:
    """Return sources as a prompt lists them: numbered from 1, or by id where ids are numbers."""
    names = [str(n) for n in range(1, len(sources) + 1)]
    if not set(names).isdisjoint(source.id for source in sources):
        names = [source.id for source in sources]  # A number in the answer is an id first.
    return "\n".join(
        f"[{name}] {source.title + '. ' if source.title else ''}{source.text}"
        for name, source in zip(names, sources, strict=True)
    )


def fence_mark(texts: Sequence[str], seed: str = "") -> str:
    """Return a short number that none of the texts contains; the same for the same texts.

    Args:
        texts: The texts to show between marks.
        seed: Text to draw the number from instead of the texts, so that prompts that start with the
            same text start with the same mark.
    """
    joined = "\x00".join(texts)
    salt = 0
    while True:
        drawn = f"{salt}\x00{seed or joined}".encode("utf-8", "replace")
        mark = hashlib.sha256(drawn).hexdigest()[:8]
        if mark not in joined:
            return mark
        salt += 1


def fence_text(text: str, mark: str) -> str:
    """Return text between marks. A mark inside it, possible only by chance, becomes a space."""
    # A space, not nothing: the text around a removed mark could form another one.
    return f"<data {mark}>\n{text.replace(mark, ' ')}\n</data {mark}>"


def mark_of(case: Case) -> str:
    """Return the fence mark of a case, from its context where that is built."""
    opened = _FENCE.search(case.context)
    return opened[1] if opened else fence_mark(_texts(case))


def _texts(case: Case) -> list[str]:
    pairs = (text for pair in case.pairs for text in (pair.question, pair.answer))
    return [case.question, case.judged_answer, *pairs, *(s.title + s.text for s in case.sources)]


def build_case(
    record: Record,
    answer: str,
    sentences: Sequence[AnswerSentence],
    reference_sentences: Sequence[str],
    sources: Sequence[Document],
    shown: Sequence[Document],
) -> Case:
    """Build a case.

    Args:
        answer: Its answer as it was handed in.
        sentences: The answer's sentences, citations resolved.
        sources: All sources, in full.
        shown: The same sources, condensed to fit into a prompt.
    """
    n_all = sum(len(source.text) for source in sources)
    n_shown = sum(len(source.text) for source in shown)
    case = Case(
        record_id=record.id,
        question=record.question,
        answer=answer,
        sentences=tuple(sentences),
        reasoning=tuple(find_reasoning(answer)) if isinstance(record.answer, str) else (),
        sources=tuple(sources),
        reference_sentences=tuple(reference_sentences),
        gold=record.nuggets,
        exam=record.exam,
        pairs=record.pairs,
        rubrics=record.rubrics,
        n_source_chars_cut=max(0, n_all - n_shown),
    )
    if record.pairs:
        context = build_paper_context(shown, _texts(case))
    else:
        mark = fence_mark([*_texts(case), *(turn.text for turn in record.turns)])
        context = build_context(record.question, case.judged_answer, shown, mark, record.turns)
    return case.model_copy(update={"context": context})
