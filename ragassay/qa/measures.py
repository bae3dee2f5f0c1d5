"""Measure question-answer pairs against their paper, without a judge (SciQAG, section 3.3)."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragassay.metrics.papers.sciqag import SourceNumbers, answer_numbers
from ragassay.models.embeddings import Encode
from ragassay.prompts.model_forms import TextRole
from ragassay.records import PaperSection
from ragassay.records.inputs import QAPair
from ragassay.records.qa import PROSE, SECTION_BREAK, PairMeasures, Paper, PaperMeasures
from ragassay.text.questions import context_marks
from ragassay.text.sentences import split_sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CACHED_PAPERS = 256


@dataclass(frozen=True)
class PaperSentence:
    """A sentence of a paper's abstract or body.

    Attributes:
        index: 0-based, in the paper's order.
        start: First character in `Paper.text` (0-based).
        end: One past the last character.
        text: `Paper.text[start:end]`.
        section: The section that it stands in, as `Paper.section_at(start)` gives it.
    """

    index: int
    start: int
    end: int
    text: str
    section: PaperSection


def paper_sentences(paper: Paper) -> tuple[PaperSentence, ...]:
    """Return the sentences of a paper's running text, in order; they are cut once.

    A line of a section is a paragraph, so that no sentence goes across a line's end, even where a
    unit ends the line ("for 10 min.").
    """
    return _sentences(paper.sections)


@functools.lru_cache(maxsize=_CACHED_PAPERS)
def _sentences(sections: tuple[PaperSection, ...]) -> tuple[PaperSentence, ...]:
    found: list[PaperSentence] = []
    start = 0
    for section in sections:
        if section.kind not in PROSE or not section.text:
            continue
        for line in section.text.split("\n"):
            for first, last in split_sentences(line):
                text = line[first:last]
                found.append(PaperSentence(len(found), start + first, start + last, text, section))
            start += len(line) + 1
        start += len(SECTION_BREAK) - 1
    return tuple(found)


N_CHUNKS = 10
TOP_SHARE = 0.15
"""Share of a paper's sentences that an answer counts as drawn from (section 3.3)."""

_ROUNDING = 1e-9


def top_count(n_sentences: int, share: float = TOP_SHARE) -> int:
    """Return how many sentences an answer counts as drawn from: rounded down, at least one.

    The paper says 15 % and not how it rounds; its published code rounds down.
    """
    return min(n_sentences, max(1, math.floor(n_sentences * share + _ROUNDING)))


def chunk_count(n_sentences: int) -> int:
    """Return the number of chunks: ten; of fewer sentences, one for each."""
    return min(N_CHUNKS, n_sentences)


def chunk_of(sentence: int, n_sentences: int) -> int:
    """Return the chunk of a sentence, from 1.

    The sizes of chunks differ by at most one: the chunk of sentence i (from 0) is 1 + 10 i // n.

    Example:
        >>> [chunk_of(i, 12) for i in range(12)]
        [1, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10]
    """
    return 1 + sentence * chunk_count(n_sentences) // n_sentences


def closest_sentences(similarity: Sequence[float], n: int) -> tuple[int, ...]:
    """Return the numbers (from 0) of the `n` sentences closest to an answer, the closest first.

    Similarity has shape (n_sentences,).
    """
    return tuple(sorted(range(len(similarity)), key=lambda i: (-similarity[i], i))[:n])


def covered_chunks(similarity: Sequence[float], share: float = TOP_SHARE) -> tuple[int, ...]:
    """Return the chunks, from 1, that hold one of the sentences closest to an answer.

    Similarity has shape (n_sentences,).
    """
    n = len(similarity)
    closest = closest_sentences(similarity, top_count(n, share))
    return tuple(sorted({chunk_of(sentence, n) for sentence in closest}))


def coverage_score(similarity: Sequence[Sequence[float]], share: float = TOP_SHARE) -> float | None:
    """Return the share of chunks that hold one of the sentences closest to some answer.

    CR = |{i : S_i and the union of topk(a) over the answers a share a sentence}| / 10   (eq. 1)

    The paper's own 68 % is another figure: see `pooled_coverage_score`.

    Args:
        similarity: shape (n_answers, n_sentences).
        share: Share of the sentences that count as close to an answer.

    Returns:
        In [0, 1]; None without an answer or without a sentence.

    Example:
        >>> coverage_score([[0.9, 0.1, 0.2, 0.1], [0.1, 0.1, 0.2, 0.8]])
        0.5
    """
    chunks = {chunk for row in similarity for chunk in covered_chunks(row, share)}
    return _share(chunks, similarity)


def pooled_coverage_score(similarity: Sequence[Sequence[float]]) -> float | None:
    """Return the share of chunks that hold one of the sentences closest to any answer, pooled.

    One list of 15 % of the sentences for all answers together, each sentence by its most similar
    answer: the published code of the paper computes this, and its 68 % is such a figure. Arguments
    and result are those of `coverage_score`.
    """
    if not similarity:
        return None
    best = [max(column) for column in zip(*similarity, strict=True)]
    return coverage_score([best])


def chunk_share(similarity: Sequence[Sequence[float]]) -> float | None:
    """Return the share of chunks that one answer draws on, as a mean over answers (section 5.3).

    Arguments and result are those of `coverage_score`.
    """
    shares = [_share(covered_chunks(row), similarity) for row in similarity]
    known = [one for one in shares if one is not None]
    return math.fsum(known) / len(known) if known else None


def chance_coverage_score(n_answers: int, n_sentences: int, n_top: int) -> float | None:
    """Return the coverage to expect of answers whose closest sentences are drawn at random.

    A chunk of c sentences escapes one answer with probability C(n - c, k) / C(n, k).

    Args:
        n_answers: At least 0.
        n_sentences: n, at least 0.
        n_top: k, the sentences drawn by each answer without replacement; at most n.

    Returns:
        In [0, 1]; None without an answer or without a sentence.

    Example:
        >>> chance_coverage_score(1, 10, 4)
        0.4
    """
    if not n_answers or not n_sentences:
        return None
    n, n_chunks = n_sentences, chunk_count(n_sentences)
    sizes = [0] * n_chunks
    for sentence in range(n):
        sizes[chunk_of(sentence, n) - 1] += 1
    escapes = (math.comb(n - size, n_top) / math.comb(n, n_top) for size in sizes)
    return math.fsum(1 - escape**n_answers for escape in escapes) / n_chunks


def _share(chunks: Collection[int], similarity: Sequence[Sequence[float]]) -> float | None:
    n_chunks = chunk_count(len(similarity[0])) if similarity else 0
    return len(chunks) / n_chunks if n_chunks else None


N_CLOSEST = 10
"""Sentences of a paper that are named for an answer (figure 5)."""

N_DIGITS = 5
"""Digits that are kept of a similarity: what is computed twice is then the same."""

N_TEXTS = 1000
"""Texts that are embedded at a time, those of several papers together: more is hardly faster."""

Compared = Literal["pair", "answer"]
"""What is compared with a paper's sentences: question and answer together, or the answer alone."""

Rows = tuple[tuple[float, ...], ...]
PaperPairs = tuple[Paper, Sequence[QAPair]]


def measure_papers(
    papers: Sequence[PaperPairs], encode: Encode, compared: Compared = "pair"
) -> list[PaperMeasures]:
    """Measure the pairs of papers: coverage, likeness of questions, numbers, context.

    An answer without a word draws on no sentence. An only pair has no nearest question.

    Args:
        papers: Papers, each with its pairs in order; both may be empty.
        encode: Embeds texts by their role, e.g. `ragassay.models.embeddings.RoleEncoder()`.
        compared: What is compared with the sentences. SciQAG's paper says the answer, its program
            embeds the question, a newline and the answer, with the paper's instruction: "pair".

    Returns:
        One for each paper, in the given order.
    """
    return [one for group in measured_groups(papers, encode, compared) for one in group]


def measured_groups(
    papers: Sequence[PaperPairs], encode: Encode, compared: Compared = "pair"
) -> Iterator[list[PaperMeasures]]:
    """Yield what `measure_papers` returns, in groups of about `N_TEXTS` texts."""
    group: list[_Texts] = []
    for place, (paper, pairs) in enumerate(papers, 1):
        group.append(_Texts(paper, pairs, compared))
        # Long enough to sort by length.
        if place == len(papers) or sum(texts.n for texts in group) >= N_TEXTS:
            yield list(_measure_group(group, encode, compared))
            group = []


class _Texts:
    """Texts of one paper to embed."""

    def __init__(self, paper: Paper, pairs: Sequence[QAPair], compared: Compared) -> None:
        self.paper, self.pairs = paper, pairs
        self.of: dict[TextRole, list[str]] = {
            # A frozen record can be hashed, which its base class does not tell.
            "sentence": [one.text for one in paper_sentences(paper)],  # pyright: ignore[reportArgumentType]
            compared: [_text_of(pair, compared) for pair in pairs if pair.answer.strip()],
            "question": [pair.question for pair in pairs],
        }
        self.n = sum(map(len, self.of.values()))


def _text_of(pair: QAPair, compared: Compared) -> str:
    return pair.answer if compared == "answer" else f"{pair.question}\n{pair.answer}"


def _measure_group(
    group: Sequence[_Texts], encode: Encode, compared: Compared
) -> Iterator[PaperMeasures]:
    roles: tuple[TextRole, ...] = ("sentence", compared, "question")
    vectors = {role: encode([t for texts in group for t in texts.of[role]], role) for role in roles}
    starts = dict.fromkeys(roles, 0)
    for texts in group:
        own: dict[TextRole, NDArray[np.float32]] = {}
        for role in roles:
            end = starts[role] + len(texts.of[role])
            own[role] = vectors[role][starts[role] : end]
            starts[role] = end
        yield _measures(
            texts,
            _cosines(own[compared], own["sentence"]),
            _cosines(own["question"], own["question"]),
        )


def _cosines(rows: NDArray[np.float32], columns: NDArray[np.float32]) -> Rows:
    """Return cosines of vectors of length 1, shape (n_rows, n_columns)."""
    if not len(rows) or not len(columns):
        return tuple(() for _ in rows)
    # Rounded as double precision: as single, .1 would be .10000000149 in a file.
    cosines = (rows.astype(float) @ columns.astype(float).T).clip(-1, 1).round(N_DIGITS)
    return tuple(tuple(row) for row in cosines.tolist())


def _measures(texts: _Texts, similarity: Rows, questions: Rows) -> PaperMeasures:
    paper, pairs = texts.paper, texts.pairs
    n_sentences = len(texts.of["sentence"])
    rows = iter(similarity)
    own = [next(rows) if pair.answer.strip() else () for pair in pairs]
    answered = [row for row in own if row]
    coverage = coverage_score(answered)
    numbers = SourceNumbers.of(paper.evidence_text)
    return PaperMeasures(
        paper=paper.id,
        title=paper.title,
        n_sentences=n_sentences,
        coverage=0.0 if coverage is None and pairs and n_sentences else coverage,
        question_similarity=questions,
        pairs=tuple(
            _pair_measures(pairs, place, row, questions[place], numbers)
            for place, row in enumerate(own)
        ),
    )


def _pair_measures(
    pairs: Sequence[QAPair],
    place: int,
    similarity: Sequence[float],
    questions: Sequence[float],
    source: SourceNumbers,
) -> PairMeasures:
    pair = pairs[place]
    others = [other for other in range(len(pairs)) if other != place]
    nearest = max(others, key=lambda other: (questions[other], -other), default=None)
    return PairMeasures(
        pair=pair.id,
        numbers=answer_numbers(pair.answer, source),
        context=context_marks(pair.question, pair.answer),
        chunks=covered_chunks(similarity),
        closest=closest_sentences(similarity, N_CLOSEST),
        similarity=tuple(similarity),
        nearest_question=None if nearest is None else pairs[nearest].id,
        nearest_similarity=None if nearest is None else questions[nearest],
    )
