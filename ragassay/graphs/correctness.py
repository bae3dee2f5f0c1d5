"""Whether the passages that were found for a sentence bear it out (BioACE, section 4.1.3)."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.graphs.state import Found
from ragassay.models.correctness import CorrectnessModel
from ragassay.models.entailment import titled
from ragassay.records import Case, EvidenceSpan, SentenceCorrectness


def correctness_of(
    case: Case, found: Sequence[Found], model: CorrectnessModel
) -> tuple[SentenceCorrectness, ...]:
    """A sentence is correct if the model takes one of its passages for evidence of it.

    With the passages of k documents a sentence this is BioACE's correctness at k. Passages that
    were looked for against a sentence count too: what bears a sentence out does so wherever it
    was found. A sentence without a passage is left out.
    """
    passages: dict[int, list[EvidenceSpan]] = {}
    for one in found:
        passages.setdefault(one.sentence, []).append(one.passage)
    return tuple(
        _judged(sentence.text, sentence.index, passages[sentence.index], model)
        for sentence in case.sentences
        if sentence.index in passages
    )


def _judged(
    text: str, index: int, passages: Sequence[EvidenceSpan], model: CorrectnessModel
) -> SentenceCorrectness:
    scores = model.scores([(text, titled(p.title, p.text)) for p in passages]).tolist()
    best = max(range(len(scores)), key=scores.__getitem__)
    return SentenceCorrectness(
        sentence=index,
        correct=scores[best] >= model.threshold,
        score=round(scores[best], 4),
        evidence=passages[best],
    )
