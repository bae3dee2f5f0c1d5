"""The query writer's compile task: questions with their relevant articles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.agents.base import Agent
from ragassay.agents.query_writer import Queries, QueryWriter
from ragassay.formats.items import Item, iter_items
from ragassay.formats.problems import Problem
from ragassay.formats.rows import IdText, Row
from ragassay.optimizers.compiling.items import CompileItem, ItemResult
from ragassay.optimizers.compiling.metrics import Grade, mark_hits, mean_figure
from ragassay.optimizers.compiling.task import CompileTask, FigureOf, key_of, plain_case, read_rows

N_HITS = 10
"""Number of hits to look at."""


def _first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else value


def _pmid(value: object) -> object:
    """Return the end of an address: BioASQ names articles by theirs."""
    return value.rsplit("/", 1)[-1] if isinstance(value, str) else value


class QueryWriterRow(Row):
    """A row of the data: a question, a sentence that answers it, and the relevant articles."""

    question: str = Field(min_length=1, validation_alias=AliasChoices("question", "body"))
    claim: Annotated[str, BeforeValidator(_first)] = Field(
        default="", validation_alias=AliasChoices("claim", "ideal_answer")
    )
    pmids: list[Annotated[IdText, BeforeValidator(_pmid)]] = Field(
        default_factory=list[str], validation_alias=AliasChoices("pmids", "documents")
    )


class QueryWriterTask(CompileTask):
    """Questions and their articles; the tools' corpus is searched."""

    accept = 0.5

    def make_agent(self) -> Agent:
        """Return the query writer."""
        return QueryWriter()

    def read(self, path: Path) -> ItemResult:
        """Read rows of question and pmids, perhaps with a claim; BioASQ's files have such rows."""
        return read_rows(iter_items(path), QueryWriterRow, self._item)

    def _item(self, row: QueryWriterRow, item: Item) -> CompileItem | Problem:
        known = tuple(p for p in row.pmids if self.tools.retrieval.corpus.get(p) is not None)
        if not known:
            return Problem("pmids", "the corpus has none of the articles", "ids of the corpus")
        claim = row.claim or row.question
        return CompileItem(
            key=key_of(item),
            group=row.question,
            arguments=(plain_case(key_of(item), row.question, claim), claim, (), ()),
            right=known,
        )

    def mark(self, item: CompileItem, found: Queries) -> Grade:
        """Grade by recall among the first hits."""
        right = item.right if isinstance(item.right, tuple) else ()
        hits = self.tools.retrieval.corpus.search(found.query, N_HITS) if found.query else []
        return mark_hits(right, [hit.document.id for hit in hits])

    @property
    def figures(self) -> tuple[FigureOf, ...]:
        """The mean recall."""
        return (lambda outcomes: mean_figure(f"recall at {N_HITS}"),)
