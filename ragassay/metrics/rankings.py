"""Compare rankings of systems by people's labels and by a judge's (BioACE, tables 6, 7 and 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.metrics.aggregates import values_by_question
from ragassay.metrics.alignment import AlignedItem, Alignment
from ragassay.metrics.citations import citation_scores
from ragassay.metrics.correlation import RankCorrelation, correlate_systems
from ragassay.metrics.pooled import COMPLETENESS
from ragassay.metrics.scores import sentence_scores
from ragassay.records import CitationVerdict, Evaluation, SentenceLabel

RANKED: Mapping[str, str] = {
    "sentences.required": "precision",
    "sentences.unnecessary": "redundancy",
    "sentences.inappropriate": "harmfulness",
    COMPLETENESS: "completeness",
    "citations.coverage": "citation coverage",
    "citations.support": "citation support",
    "citations.contradict": "citation contradiction",
}
"""MedAESQA's names of the scores that rank systems."""

NUGGET_RECALL = "nuggets.recall"


@dataclass(frozen=True)
class Relabelled:
    """The same answers with people's labels and with the judge's.

    Both contain only what both labelled, so that two rankings differ by labels only.
    """

    human: tuple[Evaluation, ...]
    judge: tuple[Evaluation, ...]


@dataclass(frozen=True)
class Ranking:
    """Two rankings of the systems.

    Attributes:
        name: MedAESQA's name of the score.
        key: The judge's score.
        human: People's mean for each system, macro over questions.
        judge: The judge's.
        correlation: The correlation of the two.
    """

    name: str
    key: str
    human: dict[str, float]
    judge: dict[str, float]
    correlation: RankCorrelation


def relabelled(alignment: Alignment, evaluations: Sequence[Evaluation]) -> Relabelled:
    """Return answers with people's labels and with the judge's, and the scores computed from each.

    Args:
        alignment: From `align_labels`; an item without a majority or a verdict is left out.
        evaluations: The run's evaluations; an answer without a system or a label is left out.
    """
    both = [i for i in alignment.items if i.truth is not None and i.predicted is not None]
    by_record: dict[str, list[AlignedItem]] = {}
    for item in both:
        by_record.setdefault(item.record_id, []).append(item)
    chosen = [e for e in evaluations if e.system and e.record_id in by_record]
    return Relabelled(
        tuple(_with(e, by_record[e.record_id], is_human=True) for e in chosen),
        tuple(_with(e, by_record[e.record_id], is_human=False) for e in chosen),
    )


def rankings(
    human: Sequence[Evaluation], judge: Sequence[Evaluation], run: Sequence[Evaluation]
) -> tuple[Ranking, ...]:
    """Compare rankings, score by score; empty for fewer than two systems.

    Args:
        human: From `relabelled`, with or without the scores of `ragassay.metrics.pooled`.
        judge: The same.
        run: The run's own evaluations. Their nugget recall is compared with people's completeness,
            as in BioACE's table 6.
    """
    pairs = [(key, name, human, judge, key) for key, name in RANKED.items()]
    pairs.append((NUGGET_RECALL, "nugget recall and completeness", human, run, COMPLETENESS))
    found = (
        _ranking(name, key, by_systems(ours, own), by_systems(theirs, key))
        for key, name, ours, theirs, own in pairs
    )
    return tuple(ranking for ranking in found if ranking is not None)


def by_systems(evaluations: Sequence[Evaluation], key: str) -> dict[str, dict[str, float]]:
    """Return system to question to the mean of a score; systems without a value are left out."""
    systems: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        if evaluation.system:
            systems.setdefault(evaluation.system, []).append(evaluation)
    values = {name: values_by_question(found, key) for name, found in sorted(systems.items())}
    return {name: of_system for name, of_system in values.items() if of_system}


def _ranking(
    name: str,
    key: str,
    human: Mapping[str, Mapping[str, float]],
    judge: Mapping[str, Mapping[str, float]],
) -> Ranking | None:
    shared = [system for system in human if human[system].keys() & judge.get(system, {}).keys()]
    if len(shared) < 2:
        return None

    def means(
        own: Mapping[str, Mapping[str, float]], other: Mapping[str, Mapping[str, float]]
    ) -> dict[str, float]:
        kept = {s: [own[s][q] for q in own[s] if q in other[s]] for s in shared}
        return {system: sum(values) / len(values) for system, values in kept.items()}

    correlation = correlate_systems(human, judge)
    return Ranking(name, key, means(human, judge), means(judge, human), correlation)


def _with(evaluation: Evaluation, items: Sequence[AlignedItem], *, is_human: bool) -> Evaluation:
    by_place = {
        (item.task, item.sentence, item.item): item.truth if is_human else item.predicted
        for item in items
    }
    judge = "people" if is_human else evaluation.judge
    labels = tuple(
        _label(verdict, by_place)
        for verdict in evaluation.labels
        if ("relevance", verdict.sentence, "") in by_place
    )
    citations = tuple(
        _verdict(verdict, by_place)
        for verdict in evaluation.citations
        if ("citation", verdict.sentence, verdict.citation.marker) in by_place
    )
    scores = sentence_scores(labels, judge) if labels else {}
    if citations:
        cited = {verdict.sentence for verdict in citations}
        sentences = [s for s in evaluation.sentences if s.index in cited or not s.citations]
        scores |= citation_scores(sentences, citations, judge)
    kinds = SentenceLabel | CitationVerdict
    others = [verdict for verdict in evaluation.verdicts if not isinstance(verdict, kinds)]
    update = {"verdicts": (*others, *labels, *citations), "scores": scores, "judge": judge}
    return evaluation.model_copy(update=update)


LabelByPlace = Mapping[tuple[str, int | None, str], str | None]


def _label(verdict: SentenceLabel, by_place: LabelByPlace) -> SentenceLabel:
    label = by_place["relevance", verdict.sentence, ""]
    return SentenceLabel.model_validate({"sentence": verdict.sentence, "label": label})


def _verdict(verdict: CitationVerdict, by_place: LabelByPlace) -> CitationVerdict:
    label = by_place["citation", verdict.sentence, verdict.citation.marker]
    found = {"sentence": verdict.sentence, "citation": verdict.citation, "verdict": label}
    return CitationVerdict.model_validate(found)
