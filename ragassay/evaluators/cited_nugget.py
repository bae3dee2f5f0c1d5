"""Check citations nugget by nugget (BioACE, section 4.2.3), if enabled in the settings.

The judge lists the facts of the cited documents and the nuggets of the answer's sentences. Each
nugget of a sentence (or, as in BioACE, the list of all its nuggets) is then compared with all facts
of each document that the sentence cites.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragassay.evaluators.base import Evaluator, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.evaluators.comparing import ComparingEvaluator, compare, find_sentence_sources
from ragassay.evaluators.display import EvaluatorDisplay
from ragassay.records import (
    DocumentFacts,
    Evaluation,
    EvidenceSpan,
    NuggetVerdict,
    SentenceNuggets,
    VerdictBase,
)
from ragassay.text.sentences import extract_sentences


class FactsEvaluator(Evaluator[EvidenceSpan]):
    """List the facts in each passage of each cited document."""

    name = "facts"
    part = "citations"
    record = DocumentFacts
    needs = ("passages",)
    display = EvaluatorDisplay(verdict="list of facts", verdicts="lists of facts")

    def is_wanted(self, run: Run) -> bool:
        """Return whether citations are checked nugget by nugget."""
        return run.settings.cites_by_nuggets

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, EvidenceSpan]:
        """Return the passages of the cited documents, without duplicates."""
        sources = (
            s
            for c in open_case.cited
            for s in find_sentence_sources(c.sentence, open_case.case, c.marker)
        )
        return _map_windows(open_case, dict.fromkeys(source.id for source in sources))

    async def ask(
        self, item: EvidenceSpan, open_case: OpenCase, run: Run
    ) -> Sequence[DocumentFacts]:
        """List the facts in a passage. Without a judge, each sentence of the passage is a fact."""
        fields = self.build_verdict_fields(item)
        if run.judge.lm is None:
            return [DocumentFacts(**fields)]
        listed: Any = await run.judge.ask(
            run.agents.fact_lister, case=open_case.case, passage=item.text
        )
        return [DocumentFacts(**fields | {"facts": listed.facts, "usage": listed.usage})]

    def build_verdict_fields(self, item: EvidenceSpan) -> dict[str, Any]:
        """Return the passage's position and, in place of facts, its sentences."""
        facts = tuple(extract_sentences(item.text))
        return {"document": item.document, "start": item.start, "facts": facts}

    def list_dependencies(self, item: EvidenceSpan, open_case: OpenCase, run: Run) -> Sequence[str]:
        """Return what a verdict depends on: the text of the passage."""
        return [item.text]

    def collect_verdicts(self, open_case: OpenCase, run: Run) -> Sequence[DocumentFacts]:
        """Return the facts ordered by document and position."""
        return sorted(
            super().collect_verdicts(open_case, run), key=lambda one: (one.document, one.start)
        )

    def count_max_questions(self, open_case: OpenCase, run: Run) -> int:
        """Count one question for each passage of the cited documents."""
        cited = (c.document for s in open_case.case.sentences for c in s.citations if c.document)
        return len(_map_windows(open_case, cited))


def _map_windows(open_case: OpenCase, documents: Iterable[str]) -> dict[str, EvidenceSpan]:
    from ragassay.agents.nugget_writers import split_fact_windows

    sources = {source.id: source for source in open_case.case.sources}
    return {
        f"{window.document}/{window.start}": window
        for name in documents
        for window in split_fact_windows(sources[name])
    }


@dataclass(frozen=True)
class CitedNugget:
    """A nugget of a sentence (index from 1), and the facts in a document the sentence cites."""

    sentence: int
    document: str
    nugget: str
    facts: tuple[str, ...]


class CitedNuggetEvaluator(ComparingEvaluator[CitedNugget]):
    """Compare each nugget of a sentence with the facts in each document that the sentence cites."""

    name = "cited_nugget"
    part = "citations"
    record = NuggetVerdict
    needs = ("passages", "facts", "nuggets")
    is_weighed = True
    display = EvaluatorDisplay(
        verdict="verdict on a nugget",
        verdicts="verdicts on nuggets",
        question="Nuggets compared with cited documents",
        kind="cited_nugget",
    )

    def is_wanted(self, run: Run) -> bool:
        """Return whether citations are checked nugget by nugget."""
        return run.settings.cites_by_nuggets

    def is_reported(self, run: Run) -> bool:
        """Return False, because nugget verdicts are merged into citation verdicts."""
        return False

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, CitedNugget]:
        """Return each nugget of a sentence, paired with each document that the sentence cites."""
        facts: dict[str, list[str]] = {}
        for one in FACTS.collect_verdicts(open_case, run):
            facts.setdefault(one.document, []).extend(one.facts)
        nuggets: dict[int | None, list[str]] = {}
        for one in open_case.verdicts.values():
            if isinstance(one, SentenceNuggets) and one.origin == "answer":
                for nugget in one.nuggets:
                    nuggets.setdefault(nugget.sentence, []).append(nugget.text)
        if run.settings.verification.citation_evidence == "nugget-lists":
            nuggets = {sentence: ["\n".join(texts)] for sentence, texts in nuggets.items()}
        known: dict[tuple[int, str], tuple[str, ...]] = {}
        for c in open_case.cited:
            sources = find_sentence_sources(c.sentence, open_case.case, c.marker)
            own = tuple(fact for source in sources for fact in facts.get(source.id, ()))
            known[c.sentence, c.passage.document] = own
        return {
            f"{sentence}/{document}/{text}": CitedNugget(sentence, document, text, own)
            for (sentence, document), own in known.items()
            for text in nuggets.get(sentence, ())
        }

    async def ask(
        self, item: CitedNugget, open_case: OpenCase, run: Run
    ) -> Sequence[NuggetVerdict]:
        """Compare a nugget with the facts in a document."""
        comparison = await compare(run, open_case.case, item.nugget, "\n".join(item.facts))
        where = {"sentence": item.sentence, "document": item.document, "nugget": item.nugget}
        return [NuggetVerdict(**where, **vars(comparison))]

    def list_dependencies(self, item: CitedNugget, open_case: OpenCase, run: Run) -> Sequence[str]:
        """Return what a verdict depends on: the facts, the labels and the verifier."""
        labels = str(run.settings.verification.verdict_labels)
        return [*item.facts, labels, *run.verifier_identity]

    def select_asked_verdicts(self, evaluation: Evaluation) -> Iterable[VerdictBase]:
        """Return each nugget verdict once, even if a sentence cites a document with two markers."""
        nested = (nugget for citation in evaluation.citations for nugget in citation.nuggets)
        return {nugget.item: nugget for nugget in nested}.values()

    def count_max_questions(self, open_case: OpenCase, run: Run) -> int:
        """Count one question per citation if lists of nuggets are compared, or one per nugget.

        A judge that reads the whole answer may list more nuggets than are counted.
        """
        from ragassay.agents.nugget_writers import MOST_NUGGETS

        has_lists = run.settings.verification.citation_evidence == "nugget-lists"
        return (1 if has_lists else MOST_NUGGETS) * open_case.n_citations


FACTS = FactsEvaluator()
CITED_NUGGET = CitedNuggetEvaluator()
