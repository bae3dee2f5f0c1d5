"""Optimization tasks of all agents: data formats and grades."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.agents.evidence_search import Queries, QueryWriter
from ragassay.agents.nugget_writers import MOST_NUGGETS, NuggetWriter
from ragassay.agents.verifiers import Verifier
from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.formats.items import Item, iter_items
from ragassay.formats.problems import Problem, quote_text
from ragassay.formats.reviews import read_claim_items, read_nugget_items
from ragassay.formats.rows import IdText, Row
from ragassay.optimizers.compiling.answer_tasks import (
    AssignmentTask,
    RubricJudgeTask,
    SentenceLabelTask,
)
from ragassay.optimizers.compiling.items import CompileItem, ItemResult, read_rows
from ragassay.optimizers.compiling.metrics import (
    Grade,
    build_mean_figure,
    mark_hits,
    mark_label,
    mark_nuggets,
)
from ragassay.optimizers.compiling.planning import check_agent
from ragassay.optimizers.compiling.task import (
    CompileTask,
    build_item_key,
    build_label_figures,
    build_plain_case,
)
from ragassay.optimizers.finetuning.claims import WORDS, parse_label
from ragassay.records import VERDICT_SETS, Comparison, EvidenceSpan, SentenceNuggets


class ClaimRow(Row):
    """Row of a file, with a claim, its evidence and its label."""

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
    """Optimization task of the verifier, with labelled claims and passages as data."""

    def __init__(self, run: Run, n_labels: int = 4) -> None:
        self.n_labels, self.labels = n_labels, VERDICT_SETS[n_labels]
        super().__init__(run, partial(Verifier, n_labels), *build_label_figures(self.labels))

    def read(self, path: Path) -> ItemResult:
        """Read rows with claim, label, and evidence or sentences, or read a reviewed run folder."""
        return ItemResult(*read_rows(read_claim_items(path), ClaimRow, self._build_item))

    def _build_item(self, row: ClaimRow, item: Item) -> CompileItem | Problem:
        passage = row.evidence or " ".join(row.sentences)
        if not passage.strip():
            missing = "there is no text to compare the claim with"
            return Problem("evidence", missing, "text in `evidence` or `sentences`")
        label = self._parse_label(row.label)
        if label is None:
            found = f"found the text {quote_text(row.label)}"
            return Problem("label", found, " or ".join(self.labels))
        case = build_plain_case(
            build_item_key(item), row.question or row.claim, row.answer or row.claim
        )
        span = EvidenceSpan(document=build_item_key(item), text=passage, start=0, end=len(passage))
        return CompileItem(
            key=build_item_key(item),
            group=row.topic or row.question or row.claim,
            arguments=(case, row.claim, span),
            right=label,
            reply={"verdict": label},
        )

    def _parse_label(self, text: str) -> str | None:
        code = parse_label(text)
        label = text.strip().lower().replace(" ", "_") if code is None else WORDS[code]
        if self.n_labels == 2 and label in ("contradicts", "neutral", "not_relevant"):
            return "not_attributable"
        if self.n_labels == 3 and label == "not_relevant":
            return "neutral"
        return label if label in self.labels else None

    def mark(self, item: CompileItem, found: Comparison) -> Grade:
        """Grade a verdict: 1 if correct, else 0."""
        return mark_label(str(item.right), str(found.verdict))


Text = Annotated[str, Field(min_length=1)]


class SentenceNuggetsRow(Row):
    """Row of a file, with a sentence and its nuggets."""

    sentence: Text
    nuggets: Annotated[list[Text], Field(min_length=1)]
    question: str = ""
    answer: str = ""
    topic: IdText | None = None


class NuggetTask(CompileTask):
    """Optimization task of the nugget writer, with sentences and their nuggets as data."""

    accept = 0.75

    def __init__(self, run: Run) -> None:
        super().__init__(run, NuggetWriter, lambda outcomes: build_mean_figure("nugget F1"))

    def read(self, path: Path) -> ItemResult:
        """Read rows with a sentence and its nuggets, or the approved nuggets of a reviewed run."""
        return ItemResult(*read_rows(read_nugget_items(path), SentenceNuggetsRow, self._build_item))

    def _build_item(self, row: SentenceNuggetsRow, item: Item) -> CompileItem:
        case = build_plain_case(
            build_item_key(item), row.question or row.sentence, row.answer or row.sentence
        )
        return CompileItem(
            key=build_item_key(item),
            group=row.topic or row.question or row.sentence,
            arguments=(case, "answer", 1, row.sentence),
            right=tuple(row.nuggets),
            reply={"facts": row.nuggets[:MOST_NUGGETS]},
        )

    def mark(self, item: CompileItem, found: SentenceNuggets) -> Grade:
        """Grade nuggets by F1 after one-to-one alignment."""
        right = list(item.right) if isinstance(item.right, tuple) else []
        texts = [nugget.text for nugget in found.nuggets]
        vectors = self.run.models.embedder.encode([*right, *texts])
        similarity = vectors[: len(right)] @ vectors[len(right) :].T
        return mark_nuggets(right, texts, similarity, self.run.settings.nuggets.nugget_threshold)


N_HITS = 10
"""Number of search results to grade."""


def _take_first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else value


def _extract_pmid(value: object) -> object:
    """Return the PMID at the end of a URL, because BioASQ identifies articles by URL."""
    return value.rsplit("/", 1)[-1] if isinstance(value, str) else value


class QueryWriterRow(Row):
    """Row of a file, with a question, a claim that answers it, and the relevant articles."""

    question: str = Field(min_length=1, validation_alias=AliasChoices("question", "body"))
    claim: Annotated[str, BeforeValidator(_take_first)] = Field(
        default="", validation_alias=AliasChoices("claim", "ideal_answer")
    )
    pmids: list[Annotated[IdText, BeforeValidator(_extract_pmid)]] = Field(
        default_factory=list[str], validation_alias=AliasChoices("pmids", "documents")
    )


class QueryWriterTask(CompileTask):
    """Optimization task of the query writer, with questions and relevant articles as data."""

    accept = 0.5

    def __init__(self, run: Run) -> None:
        super().__init__(
            run, QueryWriter, lambda outcomes: build_mean_figure(f"recall at {N_HITS}")
        )

    def read(self, path: Path) -> ItemResult:
        """Read rows with a question, PMIDs and an optional claim, such as BioASQ files."""
        return ItemResult(*read_rows(iter_items(path), QueryWriterRow, self._build_item))

    def _build_item(self, row: QueryWriterRow, item: Item) -> CompileItem | Problem:
        known = tuple(p for p in row.pmids if self.run.retrieval.corpus.get(p) is not None)
        if not known:
            return Problem(
                "pmids", "none of the articles is in the corpus", "ids of articles in the corpus"
            )
        claim = row.claim or row.question
        return CompileItem(
            key=build_item_key(item),
            group=row.question,
            arguments=(build_plain_case(build_item_key(item), row.question, claim), claim, (), ()),
            right=known,
        )

    def mark(self, item: CompileItem, found: Queries) -> Grade:
        """Grade a query by recall of the relevant articles."""
        right = item.right if isinstance(item.right, tuple) else ()
        hits = self.run.retrieval.corpus.search(found.query, N_HITS) if found.query else []
        return mark_hits(right, [hit.document.id for hit in hits])


@dataclass(frozen=True)
class TaskOptions:
    """Options of an optimization task.

    Attributes:
        rubrics: For the rubric judge, the rubrics to optimize (empty for all).
        gold: For the rubric judge, sentence labeller and nugget assigner, the label file. None if
            the data contains the labels.
        n_perturbed: For the rubric judge, the number of answers to perturb.
    """

    rubrics: tuple[str, ...] = ()
    n_labels: Literal[2, 3, 4] = 4
    gold: Path | None = None
    n_perturbed: int = 0
    seed: int = 0


_TASKS: Mapping[str, Callable[[Run, TaskOptions], CompileTask]] = {
    "rubric_judge": lambda run, o: RubricJudgeTask(run, o.rubrics, o.gold, o.n_perturbed, o.seed),
    "verifier": lambda run, o: ClaimTask(run, o.n_labels),
    "sentence_labeller": lambda run, o: SentenceLabelTask(run, o.gold),
    "nugget_assigner": lambda run, o: AssignmentTask(run, o.gold),
    "nugget_writer": lambda run, o: NuggetTask(run),
    "query_writer": lambda run, o: QueryWriterTask(run),
}


def create_task(agent: str, run: Run, options: TaskOptions) -> CompileTask:
    """Return the optimization task of an agent.

    Raises:
        InputError: The agent cannot be optimized, or the query writer has no corpus.
    """
    check_agent(agent)
    if agent == "query_writer" and not run.retrieval.has_corpus:
        raise InputError("query_writer requires a corpus; set --corpus")
    return _TASKS[agent](run, options)
