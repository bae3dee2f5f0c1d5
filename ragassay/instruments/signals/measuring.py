"""Measure an answer, without fitted models of ours except the verifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.instruments.signals.geometry import Placed, sentence_geometry, source_coverage, twins
from ragassay.instruments.signals.grounded import SourceFacts
from ragassay.instruments.signals.style import (
    connective_rate,
    definitions,
    opening,
    register_features,
    repeated_runs,
)
from ragassay.models.entailment import CONTRADICTS, SUPPORTS
from ragassay.records import AnswerSentence, Case, Document, SourceGap
from ragassay.text.answer_faults import says_nothing
from ragassay.text.pleas import speaks_to_judge
from ragassay.text.sentences import sentences_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.embeddings import Embedder
    from ragassay.models.entailment import EntailmentModel

Row = dict[str, float]

N_SENTENCES = 4
"""Source sentences that a sentence is compared with: those closest to it."""

GAP_QUANTILE = 2 / 3
"""Quantile of closeness to the question from which a source sentence can be a gap."""

COVERED = 0.6
"""Cosine of a source's sentence and one of the answer from which it counts as covered."""

MOST_GAPS = 3

MOST_MISSING = 5.0
"""Missing numbers or names of a sentence beyond which more make no difference."""


@dataclass(frozen=True)
class Measured:
    """The measurements of an answer.

    Attributes:
        sentences: The measures of each sentence by name; inapplicable ones are left out.
        answer: Measures of the answer as a whole.
        vectors: The sentences' vectors, shape (n_sentences, n_dimensions).
        openings: The first words of each sentence.
        register: The features of each sentence's register, from its spelling.
        twins: For each sentence, the number of the most similar one.
        gaps: The source sentences that the answer covers least.
    """

    sentences: tuple[Row, ...]
    answer: Row
    vectors: NDArray[np.float32]
    openings: tuple[tuple[str, ...], ...]
    register: tuple[Row, ...]
    twins: tuple[int | None, ...]
    gaps: tuple[SourceGap, ...] = ()


def measure(case: Case, embedder: Embedder, verifier: EntailmentModel) -> Measured:
    """Measure an answer of at least one sentence.

    Sentences of sources that speak to a judge are no evidence: they are left out.
    """
    case = case.model_copy(update={"sources": tuple(map(_without_pleas, case.sources))})
    texts = [sentence.text for sentence in case.sentences]
    lines, owner = _source_lines(case.sources)
    placed = _placed(case, texts, lines, owner, embedder)
    rows: list[Row] = [{} for _ in texts]
    for name, values in sentence_geometry(placed).items():
        _add(rows, name, values)
    _add_contrasts(rows)
    _add_form(rows, case.sentences)
    if lines:
        passages = _passages(placed, lines)
        _add_grounding(rows, case, texts, passages)
        _add_entailment(rows, texts, passages, verifier)
    return Measured(
        sentences=tuple(rows),
        answer=_answer_row(case, texts, placed),
        vectors=placed.sentences,
        openings=tuple(tuple(opening(text)) for text in texts),
        register=tuple(register_features(text) for text in texts),
        twins=tuple(twins(placed)),
        gaps=_gaps(case.sources, placed, lines),
    )


def _without_pleas(source: Document) -> Document:
    lines = sentences_of(source.text)
    kept = [line for line in lines if not speaks_to_judge(line)]
    title = "" if speaks_to_judge(source.title) else source.title
    if (title, len(kept)) == (source.title, len(lines)):
        return source
    return source.model_copy(update={"title": title, "text": " ".join(kept)})


def _source_lines(sources: Sequence[Document]) -> tuple[list[str], list[int]]:
    """Return titles and sentences of all sources, and the source of each (0-based)."""
    lines = [
        (line, number)
        for number, source in enumerate(sources)
        for line in ([source.title] if source.title else []) + sentences_of(source.text)
    ]
    return [line for line, _ in lines], [number for _, number in lines]


def _placed(
    case: Case, texts: Sequence[str], lines: Sequence[str], owner: Sequence[int], embedder: Embedder
) -> Placed:
    import numpy as np

    number = {source.id: n for n, source in enumerate(case.sources)}
    return Placed(
        sentences=embedder.encode(texts),
        question=embedder.encode([case.question])[0],
        sources=embedder.encode(lines),
        owner=np.array(owner, dtype=np.intp),
        cited=[
            [number[c.document] for c in sentence.citations if c.document in number]
            for sentence in case.sentences
        ],
    )


def _add(rows: Sequence[Row], name: str, values: Sequence[float | None]) -> None:
    for row, value in zip(rows, values, strict=True):
        if value is not None:
            row[name] = value


def _add_contrasts(rows: Sequence[Row]) -> None:
    """Add how far a sentence deviates from the median of the others, and from what it cites."""
    import numpy as np

    for name in ("source_support", "belonging"):
        for row in rows:
            others = [other[name] for other in rows if other is not row and name in other]
            if others and name in row:
                row[f"{name}_contrast"] = row[name] - float(np.median(others))
    for row in rows:
        if "cited_support" in row:
            row["miscited"] = row["source_support"] - row["cited_support"]


def _add_form(rows: Sequence[Row], sentences: Sequence[AnswerSentence]) -> None:
    """Add length, digits, and abbreviations that are defined or used."""
    texts = [sentence.text for sentence in sentences]
    defined, used = definitions(texts)
    for row, text, defines, uses in zip(rows, texts, defined, used, strict=True):
        row["length"] = min(4.0, len(text) / 100)
        row["digits"] = min(2.0, sum(c.isdigit() for c in text) / 10)
        row["defines"], row["uses_defined"] = float(defines), float(uses)


def _passages(placed: Placed, lines: Sequence[str]) -> list[str]:
    """Return the closest source sentences of each sentence, in their order."""
    import numpy as np

    chosen = [np.sort(np.argsort(-row, kind="stable")[:N_SENTENCES]) for row in placed.nearness]
    return [" ".join(lines[int(i)] for i in closest) for closest in chosen]


def _add_grounding(
    rows: Sequence[Row], case: Case, texts: Sequence[str], passages: Sequence[str]
) -> None:
    """Add what of a sentence no source has, and what its closest passage does not have."""
    sources = [f"{source.title}\n{source.text}" for source in case.sources]
    anywhere = SourceFacts([case.question, *sources])
    for row, text, passage in zip(rows, texts, passages, strict=True):
        for name, facts in (("unknown", anywhere), ("unplaced", SourceFacts([passage]))):
            row[f"{name}_numbers"] = min(MOST_MISSING, float(facts.unknown_numbers(text)))
            row[f"{name}_names"] = min(MOST_MISSING, float(facts.unknown_names(text)))
            row[f"{name}_words"] = min(5 * MOST_MISSING, float(facts.unknown_words(text)))


def _add_entailment(
    rows: Sequence[Row], texts: Sequence[str], passages: Sequence[str], verifier: EntailmentModel
) -> None:
    """Add the verifier's verdict on each sentence and its closest passage."""
    shares = verifier.probabilities(list(zip(texts, passages, strict=True)))
    for row, share in zip(rows, shares, strict=True):
        row["entailment"], row["contradiction"] = float(share[SUPPORTS]), float(share[CONTRADICTS])


def _gaps(
    sources: Sequence[Document], placed: Placed, lines: Sequence[str]
) -> tuple[SourceGap, ...]:
    """Return the source sentences that are closest to the question and covered least."""
    import numpy as np

    nearness = np.array(source_coverage(placed))
    if not len(nearness):
        return ()
    relevance = placed.sources @ placed.question
    asked = np.flatnonzero(relevance >= np.quantile(relevance, GAP_QUANTILE))
    least = asked[np.argsort(nearness[asked], kind="stable")][:MOST_GAPS]
    return tuple(
        SourceGap(
            document=sources[int(placed.owner[i])].id,
            text=lines[int(i)],
            nearness=round(float(nearness[i]), 6),
        )
        for i in least
        if nearness[i] < COVERED
    )


def _answer_row(case: Case, texts: Sequence[str], placed: Placed) -> Row:
    import numpy as np

    citations = [c for sentence in case.sentences for c in sentence.citations]
    row: Row = {
        "connectives": connective_rate(texts),
        "repeated_words": repeated_runs(texts),
        "nothing": sum(says_nothing(text) for text in texts) / len(texts),
        "cited": sum(bool(s.citations) for s in case.sentences) / len(texts),
        "n_paragraphs": float(sum(bool(p.strip()) for p in case.judged_answer.split("\n"))),
    }
    if citations:
        row["unresolved_citations"] = sum(c.document is None for c in citations) / len(citations)
    nearness = np.array(source_coverage(placed))
    if len(nearness):
        weights = np.maximum(placed.sources @ placed.question, 1e-3)
        row["coverage"] = float((nearness * weights).sum() / weights.sum())
        sources = range(int(placed.owner.max()) + 1)
        best = [nearness[placed.owner == n].max() for n in sources if (placed.owner == n).any()]
        row["source_share"] = float(np.mean(best))
    return row
