"""The nugget writer's compile task: sentences with reference nuggets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from ragassay.agents.base import Agent
from ragassay.agents.nugget_writer import MOST_NUGGETS, NuggetWriter
from ragassay.formats.items import Item
from ragassay.formats.reviews import nugget_items
from ragassay.formats.rows import IdText, Row
from ragassay.optimizers.compiling.items import CompileItem, ItemResult
from ragassay.optimizers.compiling.metrics import Grade, mark_nuggets, mean_figure
from ragassay.optimizers.compiling.task import CompileTask, FigureOf, key_of, plain_case, read_rows
from ragassay.records import SentenceNuggets

Text = Annotated[str, Field(min_length=1)]


class SentenceNuggetsRow(Row):
    """A sentence with its facts."""

    sentence: Text
    nuggets: Annotated[list[Text], Field(min_length=1)]
    question: str = ""
    answer: str = ""
    topic: IdText | None = None


class NuggetTask(CompileTask):
    """Sentences and their facts."""

    accept = 0.75

    def make_agent(self) -> Agent:
        """Return the nugget writer."""
        return NuggetWriter()

    def read(self, path: Path) -> ItemResult:
        """Read rows of sentence and nuggets, or the lists of a run that people found right."""
        return read_rows(nugget_items(path), SentenceNuggetsRow, self._item)

    def _item(self, row: SentenceNuggetsRow, item: Item) -> CompileItem:
        case = plain_case(key_of(item), row.question or row.sentence, row.answer or row.sentence)
        return CompileItem(
            key=key_of(item),
            group=row.topic or row.question or row.sentence,
            arguments=(case, "answer", 1, row.sentence),
            right=tuple(row.nuggets),
            # An example has no more facts than a reply may have.
            reply={"facts": row.nuggets[:MOST_NUGGETS]},
        )

    def mark(self, item: CompileItem, found: SentenceNuggets) -> Grade:
        """Grade by F1 with one-to-one alignment."""
        right = list(item.right) if isinstance(item.right, tuple) else []
        said = [nugget.text for nugget in found.nuggets]
        vectors = self.tools.models.embedder.encode([*right, *said])
        similarity = vectors[: len(right)] @ vectors[len(right) :].T
        return mark_nuggets(right, said, similarity, self.tools.settings.nuggets.nugget_threshold)

    @property
    def figures(self) -> tuple[FigureOf, ...]:
        """The mean F1."""
        return (lambda outcomes: mean_figure("nugget F1"),)
