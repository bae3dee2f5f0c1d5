"""How evidence for a sentence was looked for."""

from __future__ import annotations

from pydantic import Field

from ragassay.records.base import EvidenceSide, Frozen, SearchEnd
from ragassay.records.verdicts import Failure, Usage


class SearchQuery(Frozen):
    """A question that a corpus was asked.

    Attributes:
        text: In plain words.
        side: Whether it looks for what bears the sentence out or for what speaks against it; None
            where an agent asked, which does not say.
        round: In which round of the search, 1-based.
        n_found: Documents that it brought up.
        n_new: Those of them that no earlier query on the same answer had brought up.
    """

    text: str
    side: EvidenceSide | None = None
    round: int = Field(ge=1)
    n_found: int = Field(default=0, ge=0)
    n_new: int = Field(default=0, ge=0)


class EvidenceSearch(Frozen):
    """The search for evidence on one sentence, from its first query to why it ended.

    Attributes:
        sentence: 1-based.
        queries: In the order in which they were asked; none where there was no corpus.
        n_documents: Documents among which the passages were chosen, the answer's sources included.
        n_withdrawn: Retracted articles that the queries brought up and that were left out.
        end: Why it ended.
        usage: What the model's part in it cost: queries, or the turns of an agent.
        failure: Why a query could not be written, or an agent broke off; what was found without
            it stands.
    """

    sentence: int = Field(ge=1)
    queries: tuple[SearchQuery, ...] = ()
    n_documents: int = Field(default=0, ge=0)
    n_withdrawn: int = Field(default=0, ge=0)
    end: SearchEnd
    usage: Usage = Usage()
    failure: Failure | None = None
