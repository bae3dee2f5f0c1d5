"""Build cases and the context shared by all prompts about a case.

The judged text is untrusted. Prompts enclose it in delimiters with a number that does not occur in
the text, so that the text cannot contain the closing delimiter.
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
    """Build the context shared by all prompts about a case.

    Args:
        sources: Sources, numbered from 1.
    """
    words = load_prompts().context
    parts: list[str] = []
    if turns:
        lines = "\n".join(f"{turn.role}: {turn.text}" for turn in turns)
        parts += [words.turns, fence_text(lines, mark)]
    parts += [words.question, fence_text(question, mark)]
    if sources:
        parts += [words.sources, fence_text(render_sources(sources), mark)]
    else:
        parts.append(words.no_sources)
    parts += [words.answer, fence_text(answer, mark)]
    return "\n".join(parts)


def build_sources_context(question: str, sources: Sequence[Document], mark: str) -> str:
    """Build the context for writing a text from sources: the question and the sources."""
    words = load_prompts().context
    shown = fence_text(render_sources(sources), mark)
    return "\n".join([words.question, fence_text(question, mark), words.sources, shown])


def build_passage_context(case: Case) -> str:
    """Return the context for grading passages, with the answer as the passage."""
    return "\n".join(
        (load_prompts().context.passage, fence_text(case.judged_answer, find_fence_mark(case)))
    )


def build_paper_context(shown: Sequence[Document], texts: Sequence[str]) -> str:
    """Build the context shared by all prompts about a paper: the text of the paper.

    The context is the same for all question-answer pairs, unless a pair contains the number in the
    delimiters.

    Args:
        shown: Paper, shortened to fit into a prompt.
        texts: Other texts that the prompts enclose in the same delimiters.
    """
    paper = "\n\n".join("\n".join(filter(None, (part.title, part.text))) for part in shown)
    mark = fence_mark([paper, *texts], seed=paper)
    return "\n".join((load_prompts().context.paper, fence_text(paper, mark)))


def render_sources(sources: Sequence[Document]) -> str:
    """List sources for a prompt, labelled by number, or by id if an id equals a number."""
    names = [str(n) for n in range(1, len(sources) + 1)]
    if not set(names).isdisjoint(source.id for source in sources):
        names = [source.id for source in sources]  # Ids have priority in citations.
    return "\n".join(
        f"[{name}] {source.title + '. ' if source.title else ''}{source.text}"
        for name, source in zip(names, sources, strict=True)
    )


def fence_mark(texts: Sequence[str], seed: str = "") -> str:
    """Return a short hexadecimal number that occurs in none of the texts.

    Args:
        seed: Text to derive the number from instead of `texts`. Prompts with the same seed get the
            same number and can therefore share a cached prefix.
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
    """Enclose a text in delimiters with a number. In the text, the number becomes a space."""
    # With an empty string, the surrounding text could form another mark.
    return f"<data {mark}>\n{text.replace(mark, ' ')}\n</data {mark}>"


def find_fence_mark(case: Case) -> str:
    """Return the number in the delimiters of a case, read from its context if there is one."""
    opened = _FENCE.search(case.context)
    return opened[1] if opened else fence_mark(_collect_texts(case))


def _collect_texts(case: Case) -> list[str]:
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
    """Build a case from a record.

    Args:
        sentences: Sentences of the answer, with resolved citations.
        shown: Sources, shortened to fit into a prompt.
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
        context = build_paper_context(shown, _collect_texts(case))
    else:
        mark = fence_mark([*_collect_texts(case), *(turn.text for turn in record.turns)])
        context = build_context(record.question, case.judged_answer, shown, mark, record.turns)
    return case.model_copy(update={"context": context})
