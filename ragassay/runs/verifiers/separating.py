"""BioACE's algorithm 1: does a score tell a sentence's own documents from others?"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.errors import InputError
from ragassay.metrics.correctness import Separation, separation
from ragassay.models.correctness import CorrectnessModel
from ragassay.records import Document
from ragassay.runs.verifiers.scoring import best_of, best_score
from ragassay.runs.verifiers.sentences import CitedSentence

Source = Literal["documents", "evidence"]


@dataclass(frozen=True)
class Pair:
    """A sentence with what supports it, and with what supports a sentence of another question."""

    sentence: CitedSentence
    other: CitedSentence


@dataclass(frozen=True)
class Separated:
    """The separation by one model.

    Attributes:
        model: Its name.
        source: "documents" in runs of three sentences, or the "evidence" that people marked.
        result: None where no sentence has any.
        n_unscored: Sentences left out, as the model did not score one of the two sides.
    """

    model: str
    source: Source
    result: Separation | None
    n_unscored: int


def sample_pairs(sentences: Sequence[CitedSentence], seed: int = 0) -> list[Pair]:
    """Pair sentences that a document supports with the first such one of another question.

    BioACE takes the first sentence of the other row; here the first one that has a supporting
    document, so that there is something to compare with. A row is an answer.

    Args:
        sentences: In their order; those without a supporting document are left out.
        seed: Of the draw, which does not depend on the order of the questions.

    Raises:
        InputError: Fewer than two questions have such a sentence.
    """
    supported = [one for one in sentences if supporting(one)]
    first: dict[str, CitedSentence] = {}
    for one in supported:
        first.setdefault(one.record, one)
    rows = [first[name] for name in sorted(first)]
    if len({row.topic for row in rows}) < 2:
        raise InputError(
            f"{len({row.topic for row in rows})} question has a sentence with a document that "
            "people call supporting and whose text is here: two are needed"
        )
    pairs: list[Pair] = []
    for one in supported:
        rng = random.Random(f"{seed}:{one.record}:{one.number}")
        others = [row for row in rows if row.topic != one.topic]
        pairs.append(Pair(one, rng.choice(others)))
    return pairs


def supporting(sentence: CitedSentence) -> list[Document]:
    """Return the cited documents that people call supporting and whose text is here."""
    cited = (one for one in sentence.documents if one.label == "supports")
    return [one.document for one in cited if one.document is not None]


def separate(
    pairs: Sequence[Pair], model: CorrectnessModel, step: Callable[[], None] = lambda: None
) -> list[Separated]:
    """Score sentences against their own documents and another question's (algorithm 1).

    A document's score is that of its best run of three sentences, a sentence's that of its best
    document. Where people marked evidence, the same is done with it instead of the runs.

    Args:
        pairs: From `sample_pairs`.
        model: The model.
        step: Called after each pair.

    Returns:
        One for documents, and one for evidence where there is any.
    """
    rows: dict[Source, dict[str, list[tuple[float, float]]]] = {"documents": {}, "evidence": {}}
    n_unscored: dict[Source, int] = {"documents": 0, "evidence": 0}
    for pair in pairs:
        text, topic = pair.sentence.text, pair.sentence.topic
        sides = (pair.sentence, pair.other)
        by_source: dict[Source, list[float | None]] = {
            "documents": [_best_document(model, text, side) for side in sides]
        }
        marked = [_evidence(side) for side in sides]
        if all(marked):
            by_source["evidence"] = [best_of(model, text, texts) for texts in marked]
        for source, (positive, negative) in by_source.items():
            if positive is None or negative is None:
                n_unscored[source] += 1
                continue
            rows[source].setdefault(topic, []).append((positive, negative))
        step()
    return [
        Separated(model.name, source, separation(found), n_unscored[source])
        for source, found in rows.items()
        if found or source == "documents"
    ]


def _best_document(model: CorrectnessModel, text: str, side: CitedSentence) -> float | None:
    scores = [best_score(model, text, document) for document in supporting(side)]
    return max((score for score in scores if score is not None), default=None)


def _evidence(side: CitedSentence) -> list[str]:
    cited = (one for one in side.documents if one.label == "supports")
    return [text for one in cited for text in one.evidence]
