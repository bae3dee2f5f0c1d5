"""Compute the signals of an answer from measurements and small fitted models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.instruments.signals.features import (
    Placed,
    SourceFacts,
    extract_opening,
    find_definitions,
    find_twins,
    measure_connectives,
    measure_coverage,
    measure_geometry,
    measure_repetition,
    register_features,
)
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import CONTRADICTS, SUPPORTS, EntailmentModel
from ragassay.models.fitted_raters import SignalRater
from ragassay.records import AnswerSentence, Case, Document, SentenceSignals, Signals, SourceGap
from ragassay.text.faults import says_nothing, speaks_to_judge, states_nothing
from ragassay.text.sentences import extract_sentences

Row = dict[str, float]

N_SENTENCES = 4
"""Number of source sentences, most similar first, with which an answer sentence is compared."""

GAP_QUANTILE = 2 / 3
"""Share of the source sentences that the answer need not cover: the least similar to the
question."""

COVERED = 0.6
"""Minimum cosine with an answer sentence at which a source sentence counts as covered."""

MOST_GAPS = 3

MOST_MISSING = 5.0
"""Value at which the number of missing numbers or names in a sentence is capped."""


@dataclass(frozen=True)
class AnswerMeasurements:
    """Measurements of an answer.

    Attributes:
        sentences: Applicable measures of each sentence, keyed by name.
        vectors: Sentence vectors with shape (n_sentences, n_dimensions).
        twins: For each sentence, the number of the most similar other sentence.
        gaps: Source sentences that are similar to the question but not covered by the answer.
    """

    sentences: tuple[Row, ...]
    answer: Row
    vectors: NDArray[np.float32]
    openings: tuple[tuple[str, ...], ...]
    register: tuple[Row, ...]
    twins: tuple[int | None, ...]
    gaps: tuple[SourceGap, ...] = ()


def measure(case: Case, embedder: Embedder, verifier: EntailmentModel) -> AnswerMeasurements:
    """Measure an answer with at least one sentence.

    Source sentences that address the judge are ignored.
    """
    case = case.model_copy(update={"sources": tuple(map(_remove_injections, case.sources))})
    texts = [sentence.text for sentence in case.sentences]
    lines, owner = _list_source_lines(case.sources)
    placed = _place_sentences(case, texts, lines, owner, embedder)
    geometry = measure_geometry(placed).items()
    rows: list[Row] = [
        {name: value for name, values in geometry if (value := values[n]) is not None}
        for n in range(len(texts))
    ]
    _add_contrasts(rows)
    _add_form(rows, case.sentences)
    if lines:
        passages = _build_passages(placed, lines)
        _add_grounding(rows, case, texts, passages)
        _add_entailment(rows, texts, passages, verifier)
    return AnswerMeasurements(
        sentences=tuple(rows),
        answer=_measure_answer(case, texts, placed),
        vectors=placed.sentences,
        openings=tuple(tuple(extract_opening(text)) for text in texts),
        register=tuple(register_features(text) for text in texts),
        twins=tuple(find_twins(placed)),
        gaps=_find_gaps(case.sources, placed, lines),
    )


def _remove_injections(source: Document) -> Document:
    lines = extract_sentences(source.text)
    kept = [line for line in lines if not speaks_to_judge(line)]
    title = "" if speaks_to_judge(source.title) else source.title
    if (title, len(kept)) == (source.title, len(lines)):
        return source
    return source.model_copy(update={"title": title, "text": " ".join(kept)})


def _list_source_lines(sources: Sequence[Document]) -> tuple[list[str], list[int]]:
    lines = [
        (line, number)
        for number, source in enumerate(sources)
        for line in ([source.title] if source.title else []) + extract_sentences(source.text)
    ]
    return [line for line, _ in lines], [number for _, number in lines]


def _place_sentences(
    case: Case, texts: Sequence[str], lines: Sequence[str], owner: Sequence[int], embedder: Embedder
) -> Placed:
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


def _add_contrasts(rows: Sequence[Row]) -> None:
    for name in ("source_support", "belonging"):
        for row in rows:
            others = [other[name] for other in rows if other is not row and name in other]
            if others and name in row:
                row[f"{name}_contrast"] = row[name] - float(np.median(others))
    for row in rows:
        if "cited_support" in row:
            row["miscited"] = row["source_support"] - row["cited_support"]


def _add_form(rows: Sequence[Row], sentences: Sequence[AnswerSentence]) -> None:
    texts = [sentence.text for sentence in sentences]
    defined, used = find_definitions(texts)
    for row, text, defines, uses in zip(rows, texts, defined, used, strict=True):
        row["length"] = min(4.0, len(text) / 100)
        row["digits"] = min(2.0, sum(c.isdigit() for c in text) / 10)
        row["defines"], row["uses_defined"] = float(defines), float(uses)


def _build_passages(placed: Placed, lines: Sequence[str]) -> list[str]:
    chosen = [np.sort(np.argsort(-row, kind="stable")[:N_SENTENCES]) for row in placed.nearness]
    return [" ".join(lines[int(i)] for i in closest) for closest in chosen]


def _add_grounding(
    rows: Sequence[Row], case: Case, texts: Sequence[str], passages: Sequence[str]
) -> None:
    sources = [f"{source.title}\n{source.text}" for source in case.sources]
    anywhere = SourceFacts([case.question, *sources])
    for row, text, passage in zip(rows, texts, passages, strict=True):
        for name, facts in (("unknown", anywhere), ("unplaced", SourceFacts([passage]))):
            row[f"{name}_numbers"] = min(MOST_MISSING, float(facts.count_unknown_numbers(text)))
            row[f"{name}_names"] = min(MOST_MISSING, float(facts.count_unknown_names(text)))
            row[f"{name}_words"] = min(5 * MOST_MISSING, float(facts.count_unknown_words(text)))


def _add_entailment(
    rows: Sequence[Row], texts: Sequence[str], passages: Sequence[str], verifier: EntailmentModel
) -> None:
    shares = verifier.predict_probabilities(list(zip(texts, passages, strict=True)))
    for row, share in zip(rows, shares, strict=True):
        row["entailment"], row["contradiction"] = float(share[SUPPORTS]), float(share[CONTRADICTS])


def _find_gaps(
    sources: Sequence[Document], placed: Placed, lines: Sequence[str]
) -> tuple[SourceGap, ...]:
    nearness = np.array(measure_coverage(placed))
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


def _measure_answer(case: Case, texts: Sequence[str], placed: Placed) -> Row:
    citations = [c for sentence in case.sentences for c in sentence.citations]
    row: Row = {
        "connectives": measure_connectives(texts),
        "repeated_words": measure_repetition(texts),
        "nothing": sum(says_nothing(text) for text in texts) / len(texts),
        "cited": sum(bool(s.citations) for s in case.sentences) / len(texts),
        "n_paragraphs": float(sum(bool(p.strip()) for p in case.judged_answer.split("\n"))),
    }
    if citations:
        row["unresolved_citations"] = sum(c.document is None for c in citations) / len(citations)
    nearness = np.array(measure_coverage(placed))
    if len(nearness):
        weights = np.maximum(placed.sources @ placed.question, 1e-3)
        row["coverage"] = float((nearness * weights).sum() / weights.sum())
        sources = range(int(placed.owner.max()) + 1)
        best = [nearness[placed.owner == n].max() for n in sources if (placed.owner == n).any()]
        row["source_share"] = float(np.mean(best))
    return row


LEAST = (
    *("source_support", "cited_support", "question_relevance", "belonging", "flow"),
    *("entailment", "register"),
)
"""Sentence measures for which the lowest value in an answer is the worst."""

MOST = (
    *("redundancy", "foreign", "contradiction", "miscited"),
    *("unknown_numbers", "unknown_names", "unknown_words"),
    *("unplaced_numbers", "unplaced_names", "unplaced_words"),
)
"""Sentence measures for which the highest value in an answer is the worst."""

REDUNDANT = 0.6
"""Cosine above which two sentences of an answer count as redundant."""

LEAST_CONNECTIVES = 0.1
"""Number added to the connective rate before its logarithm, so that the last connectives count
most."""

N_DIGITS = 6
"""Number of decimal places in a signal."""


class SignalExtractor:
    """Computes the signals of a case. The models are loaded on the first call."""

    def __init__(self, embedder: Embedder, verifier: EntailmentModel, rater: SignalRater) -> None:
        self._embedder, self._verifier, self._rater = embedder, verifier, rater

    def extract_signals(self, case: Case) -> Signals:
        """Compute the signals of a case, which are empty if the answer is empty.

        Sentences without a claim ("Yes.", "Great question!") are ignored, because the models were
        not fitted on them.
        """
        kept = tuple(one for one in case.sentences if not states_nothing(one.text))
        if not case.sentences:
            return Signals()
        if not kept or len(kept) == len(case.sentences):
            return compute_signals(measure(case, self._embedder, self._verifier), self._rater)
        shorter = case.model_copy(update={"sentences": kept})
        result = compute_signals(measure(shorter, self._embedder, self._verifier), self._rater)
        numbers = [one.index for one in kept]
        own = dict(zip(numbers, result.sentences, strict=True))
        rows = (_renumber(own.get(one.index), one.index, numbers) for one in case.sentences)
        return result.model_copy(update={"sentences": tuple(rows)})


def _renumber(
    signals: SentenceSignals | None, number: int, numbers: Sequence[int]
) -> SentenceSignals:
    if signals is None:
        return SentenceSignals(sentence=number)
    twin = None if signals.twin is None else numbers[signals.twin - 1]
    return signals.model_copy(update={"sentence": number, "twin": twin})


def compute_signals(measured: AnswerMeasurements, rater: SignalRater) -> Signals:
    """Compute the signals of a measured answer with the rater's models."""
    texts = (measured.sentences, measured.vectors, measured.openings)
    place = rater.order.compute_logits(*texts)
    foreign = rater.foreign.compute_logits(measured.sentences)
    register = rater.scholarly.compute_logits(measured.register, measured.vectors)
    rows = [
        {**row, "place": float(p), "foreign": float(f), "register": float(r)}
        for row, p, f, r in zip(measured.sentences, place, foreign, register, strict=True)
    ]
    answer = dict(measured.answer)
    for name, worst in [*((n, min) for n in LEAST), *((n, max) for n in MOST)]:
        values = [row[name] for row in rows if name in row]
        if values:
            answer[f"{'least' if worst is min else 'most'}_{name}"] = worst(values)
            answer[f"mean_{name}"] = float(np.mean(values))
    answer["all_foreign"] = float(np.logaddexp.reduce(foreign))
    answer["log_connectives"] = math.log(LEAST_CONNECTIVES + answer["connectives"])
    answer["clearly_foreign"] = float(np.maximum(foreign, 0).sum())
    redundant = [row["redundancy"] - REDUNDANT for row in rows if "redundancy" in row]
    answer["all_redundancy"] = math.log1p(float(np.maximum(redundant, 0).sum()))
    if len(rows) > 1:
        answer["order"] = score_order(place)
        answer["opening"] = compute_log_share(rater.opening.compute_logits(*texts), 0)
        answer["closing"] = compute_log_share(rater.closing.compute_logits(*texts), -1)
    return Signals(
        values=_round_values(answer),
        sentences=tuple(
            SentenceSignals(sentence=number, twin=twin, values=_round_values(row))
            for number, (row, twin) in enumerate(zip(rows, measured.twins, strict=True), 1)
        ),
        gaps=measured.gaps,
    )


def score_order(place: NDArray[np.float64] | Sequence[float]) -> float:
    """Return how well the sentences follow the predicted order, at most 0.

    The score is the mean log-likelihood of the order of all pairs, minus the highest value that is
    possible for these sentences. A pair (i, j) is in order with probability sigmoid(place[j] -
    place[i]). `place` has shape (n_sentences,) with at least 2 sentences.
    """
    places = np.asarray(place, dtype=np.float64)
    return _compute_concordance(places) - _compute_concordance(np.sort(places))


def compute_log_share(logits: NDArray[np.float64] | Sequence[float], number: int) -> float:
    """Return the log-probability (softmax) of one sentence among all sentences."""
    scores = np.asarray(logits, dtype=np.float64)
    return float(scores[number] - np.logaddexp.reduce(scores))


def _compute_concordance(place: NDArray[np.float64]) -> float:
    later = place[None, :] - place[:, None]
    return float(-np.logaddexp(0, -later)[np.triu_indices(len(place), 1)].mean())


def _round_values(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, N_DIGITS) for name, value in values.items()}
