"""Attribution: whether the documents cited by a sentence jointly support the sentence (ALCE)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragassay.evaluators.base import Outcome, Run
from ragassay.evaluators.cases import Cited, OpenCase
from ragassay.evaluators.claims import CITATION
from ragassay.evaluators.comparing import ComparingEvaluator, choose_compared_text, compare
from ragassay.evaluators.display import EvaluatorDisplay, ScoreDisplay
from ragassay.metrics.papers.citations import (
    PRECISION,
    RECALL,
    CitingSentence,
    Support,
    compute_alce_scores,
)
from ragassay.records import AnswerSentence, AttributionVerdict, CitationVerdict, Score, VerdictBase


@dataclass(frozen=True)
class CitedTogether:
    """Documents that a sentence cites, to compare with the sentence as one text.

    Attributes:
        citing: The sentence.
        without: Id of the cited document that is left out (empty if all are included).
        passages: Best passage of each included document.
    """

    citing: AnswerSentence
    without: str
    passages: tuple[Cited, ...]

    @property
    def sentence(self) -> int:
        """Index of the sentence, from 1."""
        return self.citing.index


class AttributionEvaluator(ComparingEvaluator[CitedTogether]):
    """Compare each sentence with all documents it cites, and with all of them except one."""

    name = "attribution"
    part = "citations"
    record = AttributionVerdict
    needs = ("passages", "evidence", "citation")
    display = EvaluatorDisplay(
        verdict="verdict on several documents",
        verdicts="verdicts on several documents",
        group="attribution",
        title="Attribution (ALCE)",
        scores={
            RECALL: ScoreDisplay("Sentences supported by their citations", "higher"),
            PRECISION: ScoreDisplay("Citations that add support", "higher"),
        },
    )

    def is_wanted(self, run: Run) -> bool:
        """Return whether attribution is part of the run and enabled in the settings."""
        return super().is_wanted(run) and run.settings.verification.attribution

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, CitedTogether]:
        """Return the comparisons to make for each sentence that cites several documents.

        Each sentence is compared with all its documents together. If a sentence cites three or more
        documents, each document that does not support it alone is also left out once. With two
        documents, the citation verdicts already contain these results.
        """
        items: dict[str, CitedTogether] = {}
        for sentence in open_case.case.sentences:
            passages = _map_passages(sentence, open_case)
            if len(passages) < 2:
                continue
            items[f"{sentence.index}/"] = CitedTogether(sentence, "", tuple(passages.values()))
            alone = _map_support(sentence, CITATION.collect_verdicts(open_case, run))
            for name in passages if len(passages) > 2 else ():
                if not alone.get(name):
                    others = tuple(one for other, one in passages.items() if other != name)
                    items[f"{sentence.index}/{name}"] = CitedTogether(sentence, name, others)
        return items

    async def ask(
        self, item: CitedTogether, open_case: OpenCase, run: Run
    ) -> Sequence[AttributionVerdict]:
        """Compare a sentence with the joined texts of the documents that it cites."""
        text = _join_texts(item, open_case, run)
        comparison = await compare(run, open_case.case, item.citing.text, text)
        return [
            AttributionVerdict(sentence=item.sentence, without=item.without, **vars(comparison))
        ]

    def list_dependencies(
        self, item: CitedTogether, open_case: OpenCase, run: Run
    ) -> Iterable[str]:
        """Return what a verdict depends on: the documents' texts, the labels and the verifier."""
        labels = str(run.settings.verification.verdict_labels)
        return [_join_texts(item, open_case, run), labels, *run.verifier_identity]

    def name_judge(self, run: Run) -> str:
        """Return the name of the verifier."""
        return run.verifier_name

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return citation recall and precision as defined by ALCE."""
        if not self.is_wanted(outcome.run):
            return {}
        citations = outcome.select_verdicts(CitationVerdict)
        known = {
            one.item: _read_support(one) for one in outcome.select_verdicts(AttributionVerdict)
        }
        sentences = [
            _build_citing_sentence(sentence, citations, known)
            for sentence in outcome.open_case.case.sentences
        ]
        return compute_alce_scores(sentences, self.name_judge(outcome.run))

    def count_max_questions(self, open_case: OpenCase, run: Run) -> int:
        """Count 1 question for a sentence with 2 documents, and n + 1 for n > 2 documents."""
        counts = [
            len({c.document for c in s.citations if c.document}) for s in open_case.case.sentences
        ]
        return sum((n > 1) + (n if n > 2 else 0) for n in counts)


def _map_passages(sentence: AnswerSentence, open_case: OpenCase) -> dict[str, Cited]:
    passages: dict[str, Cited] = {}
    for one in open_case.cited:
        if one.sentence == sentence.index:
            passages.setdefault(one.passage.document, one)
    return passages


def _join_texts(item: CitedTogether, open_case: OpenCase, run: Run) -> str:
    texts = (
        (
            one.passage.title,
            choose_compared_text(one.passage, item.citing, open_case.case, run).text,
        )
        for one in item.passages
    )
    return "\n".join(f"{title}\n{text}" if title else text for title, text in texts)


def _read_support(verdict: VerdictBase | None) -> Support:
    if verdict is None or verdict.value is None:
        return None
    return verdict.value == "supports"


def _map_support(sentence: AnswerSentence, citations: Iterable[VerdictBase]) -> dict[str, Support]:
    """Return whether each document cited by a sentence supports the sentence on its own."""
    return {
        one.citation.document: _read_support(one)
        for one in citations
        if isinstance(one, CitationVerdict)
        and one.sentence == sentence.index
        and one.citation.document
    }


def _build_citing_sentence(
    sentence: AnswerSentence, citations: Sequence[CitationVerdict], known: Mapping[str, Support]
) -> CitingSentence:
    alone = _map_support(sentence, citations)
    names = list(alone)
    has_invalid = any(not citation.document for citation in sentence.citations)
    if len(names) == 1:
        return CitingSentence(alone, alone[names[0]], has_invalid=has_invalid)
    without = {name: known.get(f"{sentence.index}/{name}") for name in names}
    if len(names) == 2:
        without = {names[0]: alone[names[1]], names[1]: alone[names[0]]}
    return CitingSentence(alone, known.get(f"{sentence.index}/"), without, has_invalid)
