"""Compare system rankings by human and judge labels (BioACE, tables 6, 7 and 9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ragassay.metrics.papers.answer_scores import score_sentences
from ragassay.metrics.papers.citations import score_citations
from ragassay.metrics.papers.pooled import DOCUMENT_RECALL, SENTENCE_RECALL
from ragassay.metrics.stats.aggregates import average_by_question
from ragassay.metrics.stats.alignment import AlignedItem, Alignment
from ragassay.metrics.stats.correlation import RankCorrelation, correlate_systems
from ragassay.records import CitationVerdict, Evaluation, SentenceLabel

RANKED: Mapping[str, str] = {
    "sentences.required": "precision",
    "sentences.unnecessary": "redundancy",
    "sentences.inappropriate": "harmfulness",
    SENTENCE_RECALL: "recall",
    "sentences.recall_required": "recall of required",
    "sentences.recall_supported": "recall of required and of supported sentences",
    "citations.coverage": "citation coverage",
    "citations.support": "citation support",
    "citations.contradict": "citation contradiction",
    "citations.document_precision": "document precision",
    DOCUMENT_RECALL: "document recall",
}
"""MedAESQA's names for the scores used to rank systems."""

NUGGET_RECALL = "nuggets.recall"


@dataclass(frozen=True)
class Relabelled:
    """Two copies of the same answers, one with human labels and one with judge labels.

    Both copies contain only the items that humans and the judge labelled, so that rankings differ
    only because of the labels.
    """

    human: tuple[Evaluation, ...]
    judge: tuple[Evaluation, ...]


@dataclass(frozen=True)
class Ranking:
    """Human and judge rankings of systems.

    Attributes:
        name: Name of the score in MedAESQA.
        key: Key of the score in the judge's evaluations.
        human: Mean score of each system over questions, from human labels.
        judge: Mean score of each system over questions, from judge labels.
    """

    name: str
    key: str
    human: dict[str, float]
    judge: dict[str, float]
    correlation: RankCorrelation


def relabel_answers(alignment: Alignment, evaluations: Sequence[Evaluation]) -> Relabelled:
    """Return answers with scores, once from human labels and once from judge labels.

    Items that lack a human majority or a verdict are left out, as are answers that lack a system or
    labels.
    """
    answers = _collect_labelled_answers(
        alignment, evaluations, lambda item: item.predicted is not None
    )
    return Relabelled(
        tuple(one.apply_labels("people", lambda item: item.truth) for one in answers),
        tuple(
            one.apply_labels(one.evaluation.judge, lambda item: item.predicted) for one in answers
        ),
    )


def apply_human_labels(
    alignment: Alignment, evaluations: Sequence[Evaluation]
) -> tuple[Evaluation, ...]:
    """Return answers with all their human labels, and the scores computed from these labels.

    Items without a majority are left out. The answers must contain a verdict for each item.
    """
    answers = _collect_labelled_answers(alignment, evaluations, lambda item: True)
    return tuple(one.apply_labels("people", lambda item: item.truth) for one in answers)


@dataclass(frozen=True)
class _LabelledAnswer:
    """Answer of a system, with the items to score.

    Attributes:
        has_citations: Whether any answer has human labels for its citations.
    """

    evaluation: Evaluation
    items: tuple[AlignedItem, ...]
    n_unlabelled: int
    has_citations: bool

    def apply_labels(self, judge: str, label_of: Callable[[AlignedItem], str | None]) -> Evaluation:
        """Return the answer with the labels from `label_of`, and scores based on these labels."""
        by_item: dict[tuple[str, int | None, str], str | None] = {
            (item.task, item.sentence, item.item): label_of(item) for item in self.items
        }
        labels = tuple(
            SentenceLabel.model_validate({"sentence": one.sentence, "label": by_item[key]})
            for one in self.evaluation.labels
            if (key := ("relevance", one.sentence, "")) in by_item
        )
        citations = tuple(
            CitationVerdict.model_validate(
                {"sentence": one.sentence, "citation": one.citation, "verdict": by_item[key]}
            )
            for one in self.evaluation.citations
            if (key := ("citation", one.sentence, one.citation.marker)) in by_item
        )
        scores = score_sentences(labels, judge, self.n_unlabelled) if labels else {}
        if citations or (self.has_citations and not self.evaluation.citations):
            cited = {verdict.sentence for verdict in citations}
            known = [s for s in self.evaluation.sentences if s.index in cited or not s.citations]
            scores |= score_citations(known, citations, judge)
        kinds = SentenceLabel | CitationVerdict
        others = [one for one in self.evaluation.verdicts if not isinstance(one, kinds)]
        update = {"verdicts": (*others, *labels, *citations), "scores": scores, "judge": judge}
        return self.evaluation.model_copy(update=update)


def _collect_labelled_answers(
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
            bool(alignment.list_items("citation")),
        )
        for evaluation in evaluations
        if evaluation.system and evaluation.record_id in by_record
    ]


def compare_rankings(
    human: Sequence[Evaluation], judge: Sequence[Evaluation], run: Sequence[Evaluation]
) -> tuple[Ranking, ...]:
    """Compare human and judge rankings of at least two systems, for each score.

    Args:
        human: Answers with human labels from `relabel_answers`, with or without pooled scores.
        run: Evaluations with the judge's nugget recall, which is compared with the sentence recall
            from human labels, as in BioACE's table 6.
    """
    pairs = [(key, name, judge, key) for key, name in RANKED.items()]
    pairs.append((NUGGET_RECALL, "nugget recall and recall", run, SENTENCE_RECALL))
    compared = (
        _compare_ranking(
            name, key, average_by_system(human, human_key), average_by_system(judged, key)
        )
        for key, name, judged, human_key in pairs
    )
    return tuple(ranking for ranking in compared if ranking is not None)


def average_by_system(evaluations: Sequence[Evaluation], key: str) -> dict[str, dict[str, float]]:
    """Return mean scores, keyed by system and question. Systems without values are left out."""
    systems: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        if evaluation.system:
            systems.setdefault(evaluation.system, []).append(evaluation)
    values = {name: average_by_question(answers, key) for name, answers in sorted(systems.items())}
    return {name: by_question for name, by_question in values.items() if by_question}


def _compare_ranking(
    name: str,
    key: str,
    human: Mapping[str, Mapping[str, float]],
    judge: Mapping[str, Mapping[str, float]],
) -> Ranking | None:
    shared = [system for system in human if human[system].keys() & judge.get(system, {}).keys()]
    if len(shared) < 2:
        return None

    def average_shared(
        own: Mapping[str, Mapping[str, float]], other: Mapping[str, Mapping[str, float]]
    ) -> dict[str, float]:
        common = {s: [own[s][q] for q in own[s] if q in other[s]] for s in shared}
        return {system: sum(values) / len(values) for system, values in common.items()}

    correlation = correlate_systems(human, judge)
    return Ranking(
        name, key, average_shared(human, judge), average_shared(judge, human), correlation
    )
