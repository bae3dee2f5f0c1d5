"""Attribution: whether the documents that a sentence cites support it together (ALCE)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragassay.evaluators.base import Outcome, Run
from ragassay.evaluators.cases import Cited, OpenCase
from ragassay.evaluators.claims import CITATION
from ragassay.evaluators.comparing import ComparingEvaluator, compare, read_of
from ragassay.evaluators.display import EvaluatorDisplay, ScoreDisplay
from ragassay.metrics.papers.citations import (
    PRECISION,
    RECALL,
    CitingSentence,
    Support,
    alce_scores,
)
from ragassay.records import (
    AnswerSentence,
    AttributionVerdict,
    CitationVerdict,
    Score,
    VerdictBase,
)


@dataclass(frozen=True)
class CitedTogether:
    """Documents that a sentence cites.

    Attributes:
        citing: The sentence.
        without: The document that is left out; empty for all of them.
        passages: Of each of the others its best passage.
    """

    citing: AnswerSentence
    without: str
    passages: tuple[Cited, ...]

    @property
    def sentence(self) -> int:
        """The sentence's number."""
        return self.citing.index


class AttributionEvaluator(ComparingEvaluator[CitedTogether]):
    """Compare each sentence with all documents that it cites, and with all but one."""

    name = "attribution"
    part = "citations"
    record = AttributionVerdict
    needs = ("passages", "evidence", "citation")
    display = EvaluatorDisplay(
        verdict="verdict on documents together",
        verdicts="verdicts on documents together",
        group="attribution",
        title="Attribution (ALCE)",
        scores={
            RECALL: ScoreDisplay("Sentences that their citations support", "higher"),
            PRECISION: ScoreDisplay("Citations that are needed", "higher"),
        },
    )

    def is_wanted(self, run: Run) -> bool:
        """Return whether the settings want it."""
        return super().is_wanted(run) and run.settings.verification.attribution

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, CitedTogether]:
        """Return all documents of each sentence with several, and all but one that fails alone.

        Of two documents, the other alone is what the citation itself is judged by.
        """
        found: dict[str, CitedTogether] = {}
        for sentence in open_case.case.sentences:
            passages = _passages(sentence, open_case)
            if len(passages) < 2:
                continue
            found[f"{sentence.index}/"] = CitedTogether(sentence, "", tuple(passages.values()))
            alone = _alone(sentence, CITATION.final_verdicts(open_case, run))
            for name in passages if len(passages) > 2 else ():
                if not alone.get(name):
                    others = tuple(one for other, one in passages.items() if other != name)
                    found[f"{sentence.index}/{name}"] = CitedTogether(sentence, name, others)
        return found

    async def ask(
        self, item: CitedTogether, open_case: OpenCase, run: Run
    ) -> Sequence[AttributionVerdict]:
        """Compare a sentence with the texts of several documents."""
        text = _text(item, open_case, run)
        found = await compare(run, open_case.case, item.citing.text, text)
        return [AttributionVerdict(sentence=item.sentence, without=item.without, **vars(found))]

    def depends_on(self, item: CitedTogether, open_case: OpenCase, run: Run) -> Iterable[str]:
        """Return the texts, and what compares."""
        labels = str(run.settings.verification.verdict_labels)
        return [_text(item, open_case, run), labels, *run.verifier_identity]

    def judged_by(self, run: Run) -> str:
        """Name what compares."""
        return run.verifier_name

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return ALCE's citation recall and precision."""
        if not self.is_wanted(outcome.run):
            return {}
        citations = outcome.of(CitationVerdict)
        known = {one.item: _supports(one) for one in outcome.of(AttributionVerdict)}
        sentences = [
            _citing(sentence, citations, known) for sentence in outcome.open_case.case.sentences
        ]
        return alce_scores(sentences, self.judged_by(outcome.run))

    def n_most_questions(self, open_case: OpenCase, run: Run) -> int:
        """Each sentence with several documents has one, and with three one for each."""
        counts = [
            len({c.document for c in s.citations if c.document}) for s in open_case.case.sentences
        ]
        return sum((n > 1) + (n if n > 2 else 0) for n in counts)


def _passages(sentence: AnswerSentence, open_case: OpenCase) -> dict[str, Cited]:
    """Return what is compared of each document that a sentence cites."""
    found: dict[str, Cited] = {}
    for one in open_case.cited:
        if one.sentence == sentence.index:
            found.setdefault(one.passage.document, one)
    return found


def _text(item: CitedTogether, open_case: OpenCase, run: Run) -> str:
    read = (
        (one.passage.title, read_of(one.passage, item.citing, open_case.case, run).text)
        for one in item.passages
    )
    return "\n".join(f"{title}\n{text}" if title else text for title, text in read)


def _supports(verdict: VerdictBase | None) -> Support:
    if verdict is None or verdict.value is None:
        return None
    return verdict.value == "supports"


def _alone(sentence: AnswerSentence, citations: Iterable[VerdictBase]) -> dict[str, Support]:
    """Return whether each document that a sentence cites supports it alone."""
    return {
        one.citation.document: _supports(one)
        for one in citations
        if isinstance(one, CitationVerdict)
        and one.sentence == sentence.index
        and one.citation.document
    }


def _citing(
    sentence: AnswerSentence,
    citations: Sequence[CitationVerdict],
    known: Mapping[str, Support],
) -> CitingSentence:
    alone = _alone(sentence, citations)
    names = list(alone)
    has_invalid = any(not citation.document for citation in sentence.citations)
    if len(names) == 1:
        return CitingSentence(alone, alone[names[0]], has_invalid=has_invalid)
    without = {name: known.get(f"{sentence.index}/{name}") for name in names}
    if len(names) == 2:
        without = {names[0]: alone[names[1]], names[1]: alone[names[0]]}
    return CitingSentence(alone, known.get(f"{sentence.index}/"), without, has_invalid)
