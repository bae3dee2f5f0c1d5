"""Training data of a generator of question-answer pairs (Wan et al. 2024, section 3.2).

An example is the writer's own prompt on a paper, with the paper's pairs as the reply. A paper that
is longer than a row is cut into groups of sections, and each pair goes to the group that it was
taken from: so a small model learns to read the parts that `qa generate --long sections` shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragassay.agents.base import ADAPTER
from ragassay.agents.qa_writer import QAWriter, generator_reply
from ragassay.errors import InputError
from ragassay.formats.papers import read_pairs, read_papers
from ragassay.graphs.qa_parts import parts_of
from ragassay.graphs.qa_state import QAJob
from ragassay.optimizers.finetuning.examples import ChatExample, as_messages, as_reply
from ragassay.records import Document, Paper, QAPair, Rejection
from ragassay.text.keywords import find_keywords
from ragassay.text.words import tokenize

PROMPT_TOKENS = 900
"""About what the instruction, the keywords and the reply take of a row."""

CHARS_A_TOKEN = 3
"""Fewer than English has on average, so that most groups fit."""

LEAST_CHARS = 1_000


def qa_examples(
    paths: Sequence[Path], papers: Path | None, row_tokens: int
) -> tuple[list[ChatExample], list[Rejection]]:
    """Read pairs with their papers, and return an example a paper, or a part of it.

    Args:
        paths: Files of pairs; SciQAG's bring their papers.
        papers: The papers of the others.
        row_tokens: Longest example.

    Returns:
        The examples, in the papers' order, and what could not be read.

    Raises:
        InputError: A file cannot be read, or no pair has its paper.
    """
    known = read_papers(papers) if papers else None
    given = known.papers if known else ()
    rejections = list(known.rejections if known else ())
    by_paper: dict[str, tuple[Paper, list[QAPair]]] = {}
    for path in paths:
        found = read_pairs(path, given)
        rejections += found.rejections
        texts = {paper.id: paper for paper in found.papers}
        for pair in found.pairs:
            if pair.paper in texts:
                by_paper.setdefault(pair.paper, (texts[pair.paper], []))[1].append(pair)
    if not by_paper:
        raise InputError("no pair has its paper: name the file of papers, --papers")
    n_chars = max(LEAST_CHARS, (row_tokens - PROMPT_TOKENS) * CHARS_A_TOKEN)
    examples = [
        one for paper, pairs in by_paper.values() for one in _examples(paper, pairs, n_chars)
    ]
    return examples, rejections


def _examples(paper: Paper, pairs: Sequence[QAPair], n_chars: int) -> list[ChatExample]:
    is_whole = len(paper.evidence_text) <= n_chars
    job = QAJob(long="whole" if is_whole else "sections", section_chars=n_chars)
    parts = parts_of(paper, job)
    keywords = paper.keywords or find_keywords(paper.text)
    dealt: list[list[QAPair]] = [[] for _ in parts]
    for pair in pairs if parts else ():
        dealt[_home(pair, parts)].append(pair)
    return [
        _example(paper.id, part, keywords, own)
        for part, own in zip(parts, dealt, strict=True)
        if own
    ]


def _example(
    group: str, part: Document, keywords: Sequence[str], pairs: Sequence[QAPair]
) -> ChatExample:
    asked = _WRITER.request(part, keywords, len(pairs))
    return ChatExample(
        messages=as_messages(ADAPTER.format(asked.signature, [], asked.inputs)),
        reply=as_reply(generator_reply(pairs)),
        group=group,
        kind=f"{len(pairs)} pairs",
    )


def _home(pair: QAPair, parts: Sequence[Document]) -> int:
    """Return the number of the part that has most words of a pair's sources, or of its answer."""
    words = set(tokenize(" ".join(pair.sources) or pair.answer))
    shared = [len(words & set(tokenize(part.text))) for part in parts]
    return shared.index(max(shared))


_WRITER = QAWriter()
