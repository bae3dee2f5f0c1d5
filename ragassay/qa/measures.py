"""Measure question-answer pairs against their paper, without a judge (SciQAG, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from ragassay.metrics.papers.sciqag import SourceNumbers, answer_numbers
from ragassay.models.embeddings import Encode
from ragassay.prompts.model_forms import TextRole
from ragassay.qa.coverage import closest_sentences, coverage_score, covered_chunks, paper_sentences
from ragassay.records.inputs import QAPair
from ragassay.records.qa import PairMeasures, Paper, PaperMeasures
from ragassay.text.questions import context_marks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
