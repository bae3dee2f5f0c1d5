"""Measure question-answer pairs against their papers without a judge (SciQAG, section 3.3)."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragassay.metrics.papers.sciqag import SourceNumbers, check_answer_numbers
from ragassay.models.embeddings import Encode
from ragassay.prompts.model_forms import TextRole
from ragassay.records import PaperSection
from ragassay.records.inputs import QAPair
from ragassay.records.qa import PROSE, SECTION_BREAK, PairMeasures, Paper, PaperMeasures
from ragassay.text.questions import find_context_marks
from ragassay.text.sentences import split_sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CACHED_PAPERS = 256


@dataclass(frozen=True)
class PaperSentence:
    """A sentence of a paper's abstract or body.

    Attributes:
        index: Number of the sentence in the paper, starting at 0.
        start: Start offset in `Paper.text`.
        end: End offset in `Paper.text`, exclusive.
        section: Section of the sentence, `Paper.section_at(start)`.
    """

    index: int
    start: int
    end: int
    text: str
    section: PaperSection


def list_paper_sentences(paper: Paper) -> tuple[PaperSentence, ...]:
    """Return the sentences of a paper's abstract and body. Results are cached.

    Each line of the text is one paragraph, so no sentence spans two lines.
    """
    return _split_sections(paper.sections)


@functools.lru_cache(maxsize=_CACHED_PAPERS)
def _split_sections(sections: tuple[PaperSection, ...]) -> tuple[PaperSentence, ...]:
    sentences: list[PaperSentence] = []
    start = 0
    for section in sections:
        if section.kind not in PROSE or not section.text:
            continue
        for line in section.text.split("\n"):
            for first, last in split_sentences(line):
                text = line[first:last]
                sentences.append(
                    PaperSentence(len(sentences), start + first, start + last, text, section)
                )
            start += len(line) + 1
        start += len(SECTION_BREAK) - 1
    return tuple(sentences)


N_CHUNKS = 10
TOP_SHARE = 0.15
"""Share of a paper's sentences assumed to be the source of an answer (section 3.3)."""

_ROUNDING = 1e-9


def count_top_sentences(n_sentences: int, share: float = TOP_SHARE) -> int:
    """Return the number of source sentences per answer, rounded down but at least one.

    The SciQAG paper does not say how to round, but its published code rounds down.
    """
    return min(n_sentences, max(1, math.floor(n_sentences * share + _ROUNDING)))


def count_chunks(n_sentences: int) -> int:
    """Return the number of chunks: ten, or one per sentence if there are fewer sentences."""
    return min(N_CHUNKS, n_sentences)


def find_chunk(sentence: int, n_sentences: int) -> int:
    """Return the number of the chunk that contains a sentence, starting at 1.

    Chunk sizes differ by at most one. The chunk of sentence i (from 0) is 1 + 10 i // n.

    Example:
        >>> [find_chunk(i, 12) for i in range(12)]
        [1, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10]
    """
    return 1 + sentence * count_chunks(n_sentences) // n_sentences


def find_top_sentences(similarity: Sequence[float], n: int) -> tuple[int, ...]:
    """Return the indices of the `n` sentences with the highest similarity, best first.

    `similarity` has shape (n_sentences,).
    """
    return tuple(sorted(range(len(similarity)), key=lambda i: (-similarity[i], i))[:n])


def find_covered_chunks(similarity: Sequence[float], share: float = TOP_SHARE) -> tuple[int, ...]:
    """Return the chunks that contain one of an answer's closest sentences, numbered from 1.

    `similarity` has shape (n_sentences,).
    """
    n = len(similarity)
    closest = find_top_sentences(similarity, count_top_sentences(n, share))
    return tuple(sorted({find_chunk(sentence, n) for sentence in closest}))


def coverage_score(similarity: Sequence[Sequence[float]], share: float = TOP_SHARE) -> float | None:
    """Return the share of chunks that contain one of the closest sentences of any answer.

    CR = |{i : S_i and the union of topk(a) over the answers a share a sentence}| / 10   (eq. 1)

    The 68 % in the SciQAG paper is the score that `pooled_coverage_score` returns.

    Args:
        similarity: Array of shape (n_answers, n_sentences).
        share: Share of sentences that count as closest to an answer.

    Returns:
        Value in [0, 1], or None if there are no answers or sentences.

    Example:
        >>> coverage_score([[0.9, 0.1, 0.2, 0.1], [0.1, 0.1, 0.2, 0.8]])
        0.5
    """
    chunks = {chunk for row in similarity for chunk in find_covered_chunks(row, share)}
    return _compute_share(chunks, similarity)


def pooled_coverage_score(similarity: Sequence[Sequence[float]]) -> float | None:
    """Return the share of chunks that contain one of the closest sentences of the pooled answers.

    The similarity of a sentence is its similarity to the most similar answer. All answers share one
    list of the closest 15 % of sentences. SciQAG's published code computes this score, and the
    SciQAG paper reports a value of 68 %. See `coverage_score` for the arguments and the result.
    """
    if not similarity:
        return None
    best = [max(column) for column in zip(*similarity, strict=True)]
    return coverage_score([best])


def average_chunk_share(similarity: Sequence[Sequence[float]]) -> float | None:
    """Return the share of chunks that an answer covers, averaged over answers (section 5.3).

    See `coverage_score` for the arguments and the result.
    """
    shares = [_compute_share(find_covered_chunks(row), similarity) for row in similarity]
    known = [share for share in shares if share is not None]
    return math.fsum(known) / len(known) if known else None


def chance_coverage_score(n_answers: int, n_sentences: int, n_top: int) -> float | None:
    """Return the coverage to expect if each answer's closest sentences were drawn at random.

    An answer misses a chunk of c sentences with probability C(n - c, k) / C(n, k).

    Args:
        n_top: Number of sentences drawn per answer without replacement, k. At most n.

    Returns:
        Value in [0, 1], or None if there are no answers or sentences.

    Example:
        >>> chance_coverage_score(1, 10, 4)
        0.4
    """
    if not n_answers or not n_sentences:
        return None
    n, n_chunks = n_sentences, count_chunks(n_sentences)
    sizes = [0] * n_chunks
    for sentence in range(n):
        sizes[find_chunk(sentence, n) - 1] += 1
    misses = (math.comb(n - size, n_top) / math.comb(n, n_top) for size in sizes)
    return math.fsum(1 - miss**n_answers for miss in misses) / n_chunks


def _compute_share(chunks: Collection[int], similarity: Sequence[Sequence[float]]) -> float | None:
    n_chunks = count_chunks(len(similarity[0])) if similarity else 0
    return len(chunks) / n_chunks if n_chunks else None


N_CLOSEST = 10
"""Number of closest sentences that are stored for each answer (figure 5)."""

N_DIGITS = 5
"""Similarities are rounded to this number of digits, so that results are reproducible."""

N_TEXTS = 1000
"""Number of texts to embed in one batch; larger batches are barely faster."""

Compared = Literal["pair", "answer"]
"""Text to compare with a paper's sentences: question and answer together, or only the answer."""

Rows = tuple[tuple[float, ...], ...]
PaperPairs = tuple[Paper, Sequence[QAPair]]


def measure_papers(
    papers: Sequence[PaperPairs], encode: Encode, compared: Compared = "pair"
) -> list[PaperMeasures]:
    """Measure coverage, question similarity, numbers and context of question-answer pairs.

    Empty answers cover no sentences. If a paper has only one pair, the nearest question is None.

    Args:
        papers: Papers with their pairs; a paper may have no pairs.
        encode: Function that embeds texts by role, such as
            `ragassay.models.embeddings.RoleEncoder()`.
        compared: Text to compare with a paper's sentences: "answer", as Wan et al. describe, or
            "pair" (question and answer), as their published code does.

    Returns:
        Measures of each paper, in input order.
    """
    groups = measure_paper_groups(papers, encode, compared)
    return [measures for group in groups for measures in group]


def measure_paper_groups(
    papers: Sequence[PaperPairs], encode: Encode, compared: Compared = "pair"
) -> Iterator[list[PaperMeasures]]:
    """Yield the results of `measure_papers` for groups of papers with about `N_TEXTS` texts."""
    group: list[_Texts] = []
    for number, (paper, pairs) in enumerate(papers, 1):
        group.append(_Texts(paper, pairs, compared))
        if number == len(papers) or sum(texts.n for texts in group) >= N_TEXTS:
            yield list(_measure_group(group, encode, compared))
            group = []


class _Texts:
    """Texts of one paper to embed: sentences, questions and answers."""

    def __init__(self, paper: Paper, pairs: Sequence[QAPair], compared: Compared) -> None:
        self.paper, self.pairs = paper, pairs
        self.of: dict[TextRole, list[str]] = {
            "sentence": [sentence.text for sentence in list_paper_sentences(paper)],
            compared: [
                pair.answer if compared == "answer" else f"{pair.question}\n{pair.answer}"
                for pair in pairs
                if pair.answer.strip()
            ],
            "question": [pair.question for pair in pairs],
        }
        self.n = sum(map(len, self.of.values()))


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
        yield _measure_paper(
            texts,
            _compute_cosines(own[compared], own["sentence"]),
            _compute_cosines(own["question"], own["question"]),
        )


def _compute_cosines(rows: NDArray[np.float32], columns: NDArray[np.float32]) -> Rows:
    """Return the cosines of all pairs of unit vectors, shape (n_rows, n_columns)."""
    if not len(rows) or not len(columns):
        return tuple(() for _ in rows)
    # In single precision, 0.1 would be written to files as 0.10000000149.
    cosines = (rows.astype(float) @ columns.astype(float).T).clip(-1, 1).round(N_DIGITS)
    return tuple(tuple(row) for row in cosines.tolist())


def _measure_paper(texts: _Texts, similarity: Rows, questions: Rows) -> PaperMeasures:
    paper, pairs = texts.paper, texts.pairs
    n_sentences = len(texts.of["sentence"])
    rows = iter(similarity)
    own = [next(rows) if pair.answer.strip() else () for pair in pairs]
    answered = [row for row in own if row]
    coverage = coverage_score(answered)
    numbers = SourceNumbers.from_text(paper.evidence_text)
    return PaperMeasures(
        paper=paper.id,
        title=paper.title,
        n_sentences=n_sentences,
        coverage=0.0 if coverage is None and pairs and n_sentences else coverage,
        question_similarity=questions,
        pairs=tuple(
            _measure_pair(pairs, index, row, questions[index], numbers)
            for index, row in enumerate(own)
        ),
    )


def _measure_pair(
    pairs: Sequence[QAPair],
    index: int,
    similarity: Sequence[float],
    questions: Sequence[float],
    source: SourceNumbers,
) -> PairMeasures:
    pair = pairs[index]
    others = [other for other in range(len(pairs)) if other != index]
    nearest = max(others, key=lambda other: (questions[other], -other), default=None)
    return PairMeasures(
        pair=pair.id,
        numbers=check_answer_numbers(pair.answer, source),
        context=find_context_marks(pair.question, pair.answer),
        chunks=find_covered_chunks(similarity),
        closest=find_top_sentences(similarity, N_CLOSEST),
        similarity=tuple(similarity),
        nearest_question=None if nearest is None else pairs[nearest].id,
        nearest_similarity=None if nearest is None else questions[nearest],
    )
