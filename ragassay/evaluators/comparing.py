"""Compare a claim with the passages that it cites, using the run's verifier."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ragassay.evaluators.base import Evaluator, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.process import run_in_thread
from ragassay.prompts.model_forms import load_verifier_kinds
from ragassay.records import (
    VERDICT_SETS,
    AnswerSentence,
    Case,
    Citation,
    Comparison,
    Document,
    EvidenceSpan,
    Verdict,
)
from ragassay.text.search import ALL_WORDS, extract_passage
from ragassay.text.sentences import extract_sentences

S = TypeVar("S")


class ComparingEvaluator(Evaluator[S]):
    """An evaluator that uses the run's verifier to compare texts."""

    def name_judge(self, run: Run) -> str:
        """Return the name of the verifier."""
        return run.add_second_judge_name(run.verifier_name)

    def count_max_calls(self, open_case: OpenCase, run: Run) -> int:
        """Return 0 unless the judge is the verifier."""
        is_judge = run.settings.chosen_verifier == "judge"
        return self.count_max_questions(open_case, run) if is_judge else 0


_NUMBER = re.compile(r"\d{1,9}")


def find_cited_sources(citation: Citation, sources: Sequence[Document]) -> tuple[Document, ...]:
    """Return the sources to check a citation against, in order.

    A citation by document id is checked against all passages of the document. A citation by
    position, such as [2], is checked against the passage at that position only. An unresolved
    citation has no sources.
    """
    cited = next((one for one in sources if one.id == citation.document), None)
    if cited is None:
        return ()
    is_document = bool(cited.part_of) and cited.id == cited.part_of
    if is_document and not _is_position(citation.marker, cited, sources):
        return tuple(one for one in sources if one.part_of == cited.part_of)
    return (cited,)


def _is_position(marker: str, cited: Document, sources: Sequence[Document]) -> bool:
    position = str(sources.index(cited) + 1)
    is_named = cited.part_of.lower() in marker.lower()
    return not is_named and position in _NUMBER.findall(marker)


def join_passages(documents: Sequence[Document]) -> str:
    """Join the texts of several passages."""
    return "\n\n".join(document.text for document in documents)


def find_sentence_sources(
    sentence: int, case: Case, marker: str | None = None
) -> tuple[Document, ...]:
    """Return the sources to check a sentence's citations against, without duplicates.

    `sentence` is an index from 1. If `marker` is set, only that citation is used.
    """
    citations = case.sentences[sentence - 1].citations
    chosen = (c for c in citations if marker is None or c.marker == marker)
    sources = {s.id: s for citation in chosen for s in find_cited_sources(citation, case.sources)}
    return tuple(sources.values())


@dataclass(frozen=True)
class Read:
    """Text to compare a sentence with.

    Attributes:
        text: A whole document, all passages of a document in the sources, or a single passage.
        beside: Texts of the other documents that the sentence cites, or None for a single passage.
    """

    text: str
    beside: tuple[str, ...] | None = None


def choose_compared_text(
    passage: EvidenceSpan, sentence: AnswerSentence, case: Case, run: Run
) -> Read:
    """Return the text to compare with a sentence: a retrieved passage, or its whole document.

    An encoder reads the whole document if the document is one of the answer's sources, because a
    sentence may depend on several of its passages. In all other cases, only the passage is read.
    """
    reads_documents = run.settings.verification.citation_evidence in ("passage", "document")
    document = [source for source in case.sources if source.id == passage.document]
    if run.models.encoder is None or not reads_documents or not document:
        return Read(passage.text)
    cited = [find_cited_sources(citation, case.sources) for citation in sentence.citations]
    with_passage = [documents for documents in cited if document[0] in documents]
    whole = max(with_passage, key=len, default=tuple(document))
    others = {source.id for documents in cited for source in documents}
    others -= {source.id for source in whole}
    beside = (f"{s.title}\n{s.text}" for s in case.sources if s.id in others)
    return Read(join_passages(whole), tuple(beside))


async def compare(
    run: Run,
    case: Case,
    claim: str,
    text: str,
    title: str = "",
    beside: Sequence[str] | None = None,
) -> Comparison:
    """Compare a claim with a text, using an encoder, a fine-tuned verifier or the judge.

    Args:
        case: Case of the claim, shown to the judge.
        claim: A sentence, or a fact from a sentence.
        beside: See `EncoderVerifier.compare`.

    Raises:
        ModelError: A model returned no usable reply.
    """
    import dspy

    from ragassay.agents.verifiers import check_by_chat, select_claim_passage

    if run.models.encoder is not None:
        return await asyncio.to_thread(run.models.encoder.compare, claim, text, title, beside)
    if run.models.verifier_lm is None:
        with dspy.context(lm=run.judge.model):
            return await run.agents.verifier.compare(case, claim, text)
    if load_verifier_kinds().facts.is_chat(run.settings.chosen_verifier):
        with dspy.context(lm=run.models.verifier_lm):
            return await check_by_chat(claim, extract_passage(claim, text, title, ALL_WORDS))
    passage = await run_in_thread(
        select_claim_passage, claim, title, extract_sentences(text), run.models.embedder
    )
    with dspy.context(lm=run.models.verifier_lm):
        reply: Any = await run.agents.tuned_verifier.acall(claim=claim, sentences=passage)
    n_labels = run.settings.verification.verdict_labels
    return replace(reply, verdict=_map_verdict(reply.verdict, n_labels))


def _map_verdict(verdict: Verdict | None, n_labels: int) -> Verdict | None:
    if verdict is None or verdict in VERDICT_SETS[n_labels]:
        return verdict
    return "neutral" if n_labels == 3 else "not_attributable"
