"""The verifier's compile task: claims with passages and people's verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import AliasChoices, Field

from ragassay.agents.base import Agent
from ragassay.agents.verifier import Verifier
from ragassay.evaluators.base import Run
from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, found_text
from ragassay.formats.reviews import claim_items
from ragassay.formats.rows import IdText, Row
from ragassay.optimizers.compiling.items import CompileItem, ItemResult
from ragassay.optimizers.compiling.metrics import Grade, macro_f1_figure, mark_label, mean_figure
from ragassay.optimizers.compiling.task import CompileTask, FigureOf, key_of, plain_case, read_rows
from ragassay.records import VERDICT_SETS, Comparison, EvidenceSpan

_OTHER_WORDS: Mapping[str, str] = {
    "support": "supports",
    "contradict": "contradicts",
    "refute": "contradicts",
    "refutes": "contradicts",
    "nei": "neutral",
    "not relevant": "not_relevant",
    "not attributable": "not_attributable",
}
"""Labels of other collections (SciFact, HealthVer, FEVER)."""


class ClaimRow(Row):
    """A row of the data: a claim, its evidence and the label."""

    claim: str = Field(min_length=1)
    evidence: str | None = Field(
        default=None, validation_alias=AliasChoices("evidence", "passage", "abstract")
    )
    sentences: list[str] = Field(default_factory=list[str])
    label: str
    question: str = ""
    answer: str = ""
    topic: IdText | None = None


class ClaimTask(CompileTask):
    """Claims and passages.

    Args:
        tools: As for every task.
        n_labels: Number of possible verdicts: 2, 3 or 4.
    """

    def __init__(self, tools: Run, n_labels: int = 4) -> None:
        super().__init__(tools)
        self.n_labels = n_labels
        self.labels = VERDICT_SETS[n_labels]

    def make_agent(self) -> Agent:
        """Return the verifier."""
        return Verifier(self.n_labels)

    def read(self, path: Path) -> ItemResult:
        """Read rows of claim, evidence (or sentences) and label, or the reviews of a run."""
        return read_rows(claim_items(path), ClaimRow, self._item)

    def _item(self, row: ClaimRow, item: Item) -> CompileItem | Problem:
        passage = row.evidence or " ".join(row.sentences)
        if not passage.strip():
            return Problem(
                "evidence", "no text to compare the claim with", "evidence, or sentences"
            )
        label = self._label(row.label)
        if label is None:
            return Problem(
                "label", f"found the text {found_text(row.label)}", " or ".join(self.labels)
            )
        case = plain_case(key_of(item), row.question or row.claim, row.answer or row.claim)
        span = EvidenceSpan(document=key_of(item), text=passage, start=0, end=len(passage))
        return CompileItem(
            key=key_of(item),
            group=row.topic or row.question or row.claim,
            arguments=(case, row.claim, span),
            right=label,
            reply={"verdict": label},
        )

    def _label(self, text: str) -> str | None:
        plain = text.strip().lower()
        label = _OTHER_WORDS.get(plain, plain)
        if self.n_labels == 2 and label in ("contradicts", "neutral", "not_relevant"):
            return "not_attributable"
        if self.n_labels == 3 and label == "not_relevant":
            return "neutral"
        return label if label in self.labels else None

    def mark(self, item: CompileItem, found: Comparison) -> Grade:
        """Return 1 for the right verdict, else 0."""
        return mark_label(str(item.right), str(found.verdict))

    @property
    def figures(self) -> tuple[FigureOf, ...]:
        """Macro-F1, then accuracy."""
        return (
            lambda outcomes: macro_f1_figure(self.labels),
            lambda outcomes: mean_figure("accuracy"),
        )
