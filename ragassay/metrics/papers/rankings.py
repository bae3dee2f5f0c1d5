"""Compare rankings of systems by people's labels and by a judge's (BioACE, tables 6, 7 and 9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ragassay.metrics.papers.answer_scores import sentence_scores
from ragassay.metrics.papers.citations import citation_scores
from ragassay.metrics.papers.pooled import DOCUMENT_RECALL, SENTENCE_RECALL
from ragassay.metrics.stats.aggregates import values_by_question
from ragassay.metrics.stats.alignment import AlignedItem, Alignment
from ragassay.metrics.stats.correlation import RankCorrelation, correlate_systems
from ragassay.records import CitationVerdict, Evaluation, SentenceLabel

RANKED: Mapping[str, str] = {
    "sentences.required": "precision",
    "sentences.unnecessary": "redundancy",
    "sentences.inappropriate": "harmfulness",
    SENTENCE_RECALL: "recall",
    "sentences.recall_required": "recall of required",
    "sentences.recall_supported": "recall of required and supported",
    "citations.coverage": "citation coverage",
    "citations.support": "citation support",
    "citations.contradict": "citation contradiction",
    "citations.document_precision": "document precision",
    DOCUMENT_RECALL: "document recall",
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


def relabel_answers(alignment: Alignment, evaluations: Sequence[Evaluation]) -> Relabelled:
    """Return answers with people's labels and with the judge's, and the scores computed from each.

    An item without a majority or a verdict is left out, and an answer without a system or a label.
    """
    answers = _labelled_answers(alignment, evaluations, lambda item: item.predicted is not None)
    return Relabelled(
        tuple(one.by("people", lambda item: item.truth) for one in answers),
        tuple(one.by(one.evaluation.judge, lambda item: item.predicted) for one in answers),
    )


def by_people(alignment: Alignment, evaluations: Sequence[Evaluation]) -> tuple[Evaluation, ...]:
    """Return answers with all that people said of them, and the scores computed from it.

    An item without a majority is left out. The answers need a verdict for all that can be labelled.
    """
    answers = _labelled_answers(alignment, evaluations, lambda item: True)
    return tuple(one.by("people", lambda item: item.truth) for one in answers)


@dataclass(frozen=True)
class _LabelledAnswer:
    """An answer of a system, the items to score, and which tasks people labelled at all.

    Attributes:
        n_unlabelled: Sentences that people gave no label while they labelled others.
        has_citations: Whether people labelled the citations of any answer.
    """

    evaluation: Evaluation
    items: tuple[AlignedItem, ...]
    n_unlabelled: int
    has_citations: bool

    def by(self, judge: str, label_of: Callable[[AlignedItem], str | None]) -> Evaluation:
        """Return the answer with the labels of one side."""
        by_place = {(item.task, item.sentence, item.item): label_of(item) for item in self.items}
        labels = tuple(
            _label(verdict, by_place)
            for verdict in self.evaluation.labels
            if ("relevance", verdict.sentence, "") in by_place
        )
        citations = tuple(
            _verdict(verdict, by_place)
            for verdict in self.evaluation.citations
            if ("citation", verdict.sentence, verdict.citation.marker) in by_place
        )
        scores = sentence_scores(labels, judge, self.n_unlabelled) if labels else {}
        if citations or (self.has_citations and not self.evaluation.citations):
            cited = {verdict.sentence for verdict in citations}
            known = [s for s in self.evaluation.sentences if s.index in cited or not s.citations]
            scores |= citation_scores(known, citations, judge)
        kinds = SentenceLabel | CitationVerdict
        others = [one for one in self.evaluation.verdicts if not isinstance(one, kinds)]
        update = {"verdicts": (*others, *labels, *citations), "scores": scores, "judge": judge}
        return self.evaluation.model_copy(update=update)


def _labelled_answers(
    alignment: Alignment,
    evaluations: Sequence[Evaluation],
    is_wanted: Callable[[AlignedItem], bool],
) -> list[_LabelledAnswer]:
    by_record: dict[str, list[AlignedItem]] = {}
    labelled: dict[str, set[int | None]] = {}
    for item in alignment.items:
        if item.task == "relevance":
            labelled.setdefault(item.record_id, set()).add(item.sentence)
        if item.truth is not None and is_wanted(item):
            by_record.setdefault(item.record_id, []).append(item)
    return [
        _LabelledAnswer(
            evaluation,
            tuple(by_record[evaluation.record_id]),
            len(evaluation.sentences) - len(labelled.get(evaluation.record_id, ())),
            bool(alignment.of("citation")),
        )
        for evaluation in evaluations
        if evaluation.system and evaluation.record_id in by_record
    ]


def rankings(
    human: Sequence[Evaluation], judge: Sequence[Evaluation], run: Sequence[Evaluation]
) -> tuple[Ranking, ...]:
    """Compare rankings, score by score; empty for fewer than two systems.

    `human` and `judge` are from `relabel_answers`, with or without the pooled scores. `run` are the
    run's own evaluations, whose nugget recall is compared with people's recall, as in BioACE's
    table 6.
    """
    pairs = [(key, name, human, judge, key) for key, name in RANKED.items()]
    pairs.append((NUGGET_RECALL, "nugget recall and recall", human, run, SENTENCE_RECALL))
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


LabelByPlace = Mapping[tuple[str, int | None, str], str | None]


def _label(verdict: SentenceLabel, by_place: LabelByPlace) -> SentenceLabel:
    label = by_place["relevance", verdict.sentence, ""]
    return SentenceLabel.model_validate({"sentence": verdict.sentence, "label": label})


def _verdict(verdict: CitationVerdict, by_place: LabelByPlace) -> CitationVerdict:
    label = by_place["citation", verdict.sentence, verdict.citation.marker]
    found = {"sentence": verdict.sentence, "citation": verdict.citation, "verdict": label}
    return CitationVerdict.model_validate(found)
