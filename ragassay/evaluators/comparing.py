"""Compare a claim with the passages that its citation stands for, by a run's verifier."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ragassay.evaluators.base import Evaluator, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.process import in_thread
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
from ragassay.text.search import ALL_WORDS, passage_of
from ragassay.text.sentences import sentences_of

S = TypeVar("S")


class ComparingEvaluator(Evaluator[S]):
    """An evaluator that has the run's verifier compare texts."""

    def judged_by(self, run: Run) -> str:
        """Name what compares."""
        return run.or_second(run.verifier_name)

    def n_most_calls(self, open_case: OpenCase, run: Run) -> int:
        """A verifier other than the judge takes no call."""
        is_judge = run.settings.chosen_verifier == "judge"
        return self.n_most_questions(open_case, run) if is_judge else 0


_NUMBER = re.compile(r"\d{1,9}")


def cited_sources(citation: Citation, sources: Sequence[Document]) -> tuple[Document, ...]:
    """Return the sources that a citation is checked against, in their order.

    A citation that names a document by its id is checked against all its passages. A citation by
    position, such as [2], is checked against that passage only.

    Args:
        citation: The citation; one that points nowhere has no source.
        sources: The case's sources.
    """
    own = next((one for one in sources if one.id == citation.document), None)
    if own is None:
        return ()
    if not own.part_of or own.id != own.part_of or _is_position(citation.marker, own, sources):
        return (own,)
    return tuple(one for one in sources if one.part_of == own.part_of)


def _is_position(marker: str, own: Document, sources: Sequence[Document]) -> bool:
    """Return whether a marker counts to a source, and does not name it."""
    position = str(sources.index(own) + 1)
    is_named = own.part_of.lower() in marker.lower()
    return not is_named and position in _NUMBER.findall(marker)


def joined_text(documents: Sequence[Document]) -> str:
    """Return the texts of several passages as one."""
    return "\n\n".join(document.text for document in documents)


def sources_of(sentence: int, case: Case, marker: str | None = None) -> tuple[Document, ...]:
    """Return the sources that the citations of a sentence are checked against, each once.

    Args:
        sentence: 1-based.
        marker: The only citation to look at; None for all of the sentence.
    """
    citations = case.sentences[sentence - 1].citations
    chosen = (c for c in citations if marker is None or c.marker == marker)
    found = {s.id: s for citation in chosen for s in cited_sources(citation, case.sources)}
    return tuple(found.values())


@dataclass(frozen=True)
class Read:
    """The text that a sentence is compared with, for a passage.

    Attributes:
        text: The whole document, all of its passages among the sources, or the passage.
        beside: The other documents that the sentence cites; None for a passage alone.
    """

    text: str
    beside: tuple[str, ...] | None = None


def read_of(passage: EvidenceSpan, sentence: AnswerSentence, case: Case, run: Run) -> Read:
    """Return what is read for a passage.

    An encoder reads all of a document that came with the answer or is cited in it, so that a
    sentence may rest on several of its passages; others read the passage, and an encoder what
    `citation_evidence` names.
    """
    wanted = run.settings.verification.citation_evidence in ("passage", "document")
    whole = [source for source in case.sources if source.id == passage.document]
    if run.models.encoder is None or not wanted or not whole:
        return Read(passage.text)
    cited = [cited_sources(citation, case.sources) for citation in sentence.citations]
    with_passage = [documents for documents in cited if whole[0] in documents]
    read = max(with_passage, key=len, default=tuple(whole))
    others = {source.id for documents in cited for source in documents}
    others -= {source.id for source in read}
    beside = (f"{s.title}\n{s.text}" for s in case.sources if s.id in others)
    return Read(joined_text(read), tuple(beside))


async def compare(
    run: Run,
    case: Case,
    claim: str,
    text: str,
    title: str = "",
    beside: Sequence[str] | None = None,
) -> Comparison:
    """Compare a claim with a text, by an encoder, a verifier that writes, or the judge.

    Args:
        run: Know who verifies.
        case: Whose claim it is; the judge sees it.
        claim: A sentence, or a fact of one.
        title: Of the passage's document.
        beside: See `EncoderVerifier.compare`.

    Raises:
        ModelError: A model gave no usable reply.
    """
    import dspy

    from ragassay.agents.verifiers import check_by_chat, passage_for

    if run.models.encoder is not None:
        return await asyncio.to_thread(run.models.encoder.compare, claim, text, title, beside)
    if run.models.verifier_lm is None:
        with dspy.context(lm=run.judge.model):
            return await run.agents.verifier.compare(case, claim, text)
    if load_verifier_kinds().facts.is_chat(run.settings.chosen_verifier):
        with dspy.context(lm=run.models.verifier_lm):
            return await check_by_chat(claim, passage_of(claim, text, title, ALL_WORDS))
    read = await in_thread(passage_for, claim, title, sentences_of(text), run.models.embedder)
    with dspy.context(lm=run.models.verifier_lm):
        found: Any = await run.agents.tuned_verifier.acall(claim=claim, sentences=read)
    return replace(found, verdict=_among(found.verdict, run.settings.verification.verdict_labels))


def _among(verdict: Verdict | None, n_labels: int) -> Verdict | None:
    """The verdict in a smaller set of labels."""
    if verdict is None or verdict in VERDICT_SETS[n_labels]:
        return verdict
    return "neutral" if n_labels == 3 else "not_attributable"
