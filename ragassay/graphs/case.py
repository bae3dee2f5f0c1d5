"""Cases of the evaluation graph, and questions about cases, with answers cached in the store."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from langgraph.channels import UntrackedValue
from pydantic import TypeAdapter

from ragassay.agents.context import build_case
from ragassay.errors import InputError
from ragassay.evaluators.base import Evaluator, Run
from ragassay.evaluators.cases import Cited, Found, OpenCase, VerdictKey
from ragassay.graphs.base import build_failure, pause_before_retry
from ragassay.graphs.evidence_state import QueryTask, SufficiencyTask
from ragassay.judges import BaseJudge, JudgeReply, Question
from ragassay.metrics.stats.uncertainty import Condition
from ragassay.model_names import remove_secret_options
from ragassay.process import run_in_thread
from ragassay.records import (
    Case,
    Evaluation,
    EvidenceSearch,
    Failure,
    Finding,
    Reading,
    Record,
    Signals,
    Usage,
    VerdictBase,
)
from ragassay.records.evaluation import AnyVerdict
from ragassay.retrievers.literature import Literature, can_look_up
from ragassay.settings import Settings
from ragassay.store import hash_parts
from ragassay.text.search import condense_documents
from ragassay.text.segmenter import extract_judged_text, segment
from ragassay.text.sentences import extract_sentences
from ragassay.tracing import open_step_span


def merge_verdicts(
    known: Mapping[VerdictKey, VerdictBase], new: Mapping[VerdictKey, VerdictBase]
) -> dict[VerdictKey, VerdictBase]:
    """Merge verdicts. New verdicts replace known verdicts with the same key."""
    return {**known, **new}


@dataclass
class State:
    """State of one evaluation. The case itself is stored in the runtime context.

    Attributes:
        case: Id of the open case.
        prepared: Names of the preparations that have started, such as "passages".
        found: Passages that were found for and against sentences, in sentence order.
        cited: Passages of cited documents, in citation order.
        citation_warnings: Findings about cited articles, such as retractions.
        signals: Measurements of the answer, or None if there are none.
        readings: Sentence marks by fine-tuned judges, keyed by judge name.
        verdicts: All verdicts, keyed by evaluator and item.
    """

    case: str = ""
    prepared: Annotated[list[str], operator.add] = field(default_factory=list)
    found: tuple[Found, ...] = ()
    cited: tuple[Cited, ...] = ()
    searches: tuple[EvidenceSearch, ...] = ()
    citation_warnings: tuple[Finding, ...] = ()
    signals: Signals | None = None
    readings: dict[str, Reading] = field(default_factory=dict)
    verdicts: Annotated[dict[VerdictKey, VerdictBase], merge_verdicts] = field(default_factory=dict)
    evaluation: Evaluation | None = None


@dataclass(frozen=True)
class Input:
    """Input of the evaluation graph: a record, or the id of a case that the caller opened.

    The record is not stored in the state.
    """

    record: Annotated[Record | None, UntrackedValue] = None
    case: str = ""


@dataclass(frozen=True)
class Output:
    """Output of the evaluation graph."""

    evaluation: Evaluation


def hash_record(run: Run, record: Record) -> str:
    """Return a hash of everything that the evaluation of a record depends on."""
    return hash_parts(run.identity, record.model_dump_json())


def hash_question(run: Run, open_case: OpenCase, *parts: str | None) -> str:
    """Return a hash of everything that one verdict depends on, except the endpoint URL.

    Args:
        run: Copy of the run whose judge is asked.
        parts: Evaluator name, item name, role of the judge, and the result of `list_dependencies`.
    """
    return hash_parts(
        *_list_dependencies(run), open_case.context_sha256, *(part or "" for part in parts)
    )


def hash_query_task(run: Run, node: str, task: QueryTask, context: str) -> str:
    """Return a hash of everything that a sentence's queries or agent search depend on."""
    bounds = run.settings.retrieval.evidence_turns, run.settings.retrieval.evidence_tokens
    return hash_parts(
        *_list_dependencies(run),
        context,
        *(node, str(task.item), str(task.round), *task.tried, *task.found),
        *((run.retrieval.corpus.sha256, *map(str, bounds)) if node == "run_agent" else ()),
    )


def hash_sufficiency_task(run: Run, task: SufficiencyTask, context: str) -> str:
    """Return a hash of everything that a judgment on whether passages suffice depends on."""
    return hash_parts(
        *_list_dependencies(run), context, "judge_sufficiency", str(task.item), *task.passages
    )


def hash_reading(run: Run, judge: str, open_case: OpenCase) -> str:
    """Return a hash of everything that a judge's sentence marks for an answer depend on."""
    return hash_parts(run.identity, "reading", judge, open_case.case_sha256)


def _list_dependencies(run: Run) -> tuple[str, ...]:
    """Return everything that every reply depends on: the model, its options and the prompts."""
    settings = run.settings
    return (
        settings.judge.model,
        settings.prompting.local_dtype,
        str(settings.prompting.max_reply_tokens),
        f"{settings.prompting.samples} samples, seed {settings.prompting.judge_seed}, "
        f"decisions {settings.prompting.decisions}",
        run.prompts_sha256,
        *remove_secret_options(settings.judge.model_options),
    )


def convert_to_case(record: Record, settings: Settings, corpus: Literature) -> Case:
    """Split a record into sentences and sources for the judges.

    Args:
        settings: Limits for the number of sentences and the length of the sources.
        corpus: Corpus in which to look up cited documents that the record does not contain.

    Raises:
        InputError: The answer has more sentences than the settings allow.
    """
    lookup = corpus.get if can_look_up(corpus) else None
    answer, sentences, sources = segment(record, lookup)
    most = settings.evaluation.max_sentences
    if len(sentences) > most:
        raise InputError(
            f"the answer has {len(sentences)} sentences, but at most {most} are allowed; "
            "to evaluate it anyway, increase the setting max_sentences"
        )
    reference = record.reference or ""
    return build_case(
        record,
        answer,
        sentences,
        extract_sentences(reference)[:most],
        sources,
        condense_documents(
            sources, f"{record.question} {extract_judged_text(record)}", settings.source_chars
        ),
    )


def create_open_case(record: Record, run: Run) -> OpenCase:
    """Build an open case from a record and its parsed case."""
    case = convert_to_case(record, run.settings, run.retrieval.corpus)
    return OpenCase(hash_record(run, record), record, case)


async def start_case(record: Record, run: Run) -> OpenCase:
    """Build the case of a record and open it.

    Raises:
        InputError: The answer has too many sentences.
    """
    return run.open_cases.open(await run_in_thread(create_open_case, record, run))


def find_open_case(case: str, run: Run) -> OpenCase:
    """Return an open case.

    Raises:
        InputError: The case is not open.
    """
    open_case = run.open_cases.get(case)
    if open_case is None:
        raise InputError(
            "this evaluation was started in another process; call the graph again with the record"
        )
    return open_case


def update_open_case(state: State, run: Run) -> OpenCase:
    """Update an open case from the state and return it."""
    updates = {name: getattr(state, name) for name in _FROM_STATE}
    return run.open_cases.open(replace(find_open_case(state.case, run), **updates))


_FROM_STATE = ("found", "cited", "signals", "readings", "verdicts")


VERDICTS: TypeAdapter[Sequence[VerdictBase]] = TypeAdapter(Sequence[AnyVerdict])


@dataclass(frozen=True)
class CaseQuestion(Question):
    """A question that an evaluator asks about an answer.

    Attributes:
        item: Name of the item, as in its verdict.
        content: Object to pass to the evaluator's `ask`, such as a sentence.
        tell: Function that reports progress: the number of expected and finished calls, and their
            usage.
    """

    evaluator: Evaluator[Any]
    item: str
    content: Any
    open_case: OpenCase
    run: Run
    tell: Callable[[dict[str, Any]], None]

    @property
    def asks_panel(self) -> bool:
        """Return whether to ask each member of a panel."""
        return self.evaluator.asks_panel

    def compute_key(self, judge: BaseJudge) -> str:
        """Return the hash of everything that a judge's verdicts on the question depend on."""
        run = self.run.with_judge(judge)
        return hash_question(
            run,
            self.open_case,
            *(self.evaluator.name, self.item, self._find_role(judge)),
            *self.evaluator.list_dependencies(self.content, self.open_case, run),
        )

    def _find_role(self, judge: BaseJudge) -> str:
        if self.run.second is not None and judge is self.run.second.judge:
            return "second"
        return judge.name if judge in self.run.judge.members else ""

    async def ask(self, judge: BaseJudge) -> JudgeReply:
        """Ask one judge, and return its verdicts or the reason why it failed.

        Raises:
            FatalModelError, InputError, CorpusError, StorageError: The error must not be recorded
                as a failed question.
        """
        evaluator, run = self.evaluator, self.run.with_judge(judge)
        key, role = self.compute_key(judge), self._find_role(judge)
        self.tell({"expected": 1, "phase": f"judging {evaluator.part}"})

        n_attempts = 0
        while True:
            n_attempts += 1
            try:
                async with self.run.store.compute_once(key, VERDICTS) as work:
                    if work.is_new:
                        with open_step_span("ask", evaluator.name, self.item, role):
                            work.result = await evaluator.ask(self.content, self.open_case, run)
            except Exception as error:
                pause_s = pause_before_retry(error, n_attempts, run.settings.judge.max_attempts)
                if pause_s is None:
                    failure = build_failure(error)
                    self.tell({"done": 1, "failed": 1})
                    return failure
                await asyncio.sleep(pause_s)
            else:
                usages = (verdict.usage for verdict in work.result if work.is_new)
                self.tell({"done": 1, "usage": sum(usages, Usage())})
                return work.result

    def make_unscored(self, failure: Failure) -> Sequence[VerdictBase]:
        """Return unscored verdicts for a question that failed."""
        return self.evaluator.make_unscored(self.content, self.open_case, self.run, failure)

    def build_second_round(self, verdicts: Sequence[VerdictBase]) -> dict[str, Question]:
        """Return questions for a second round, in which members see each other's verdicts."""
        contents = self.evaluator.build_second_round(self.content, verdicts, self.run)
        return {name: replace(self, content=content) for name, content in contents.items()}

    def join_verdicts(self, verdicts: Sequence[VerdictBase]) -> VerdictBase:
        """Combine the verdicts of a panel."""
        return self.evaluator.join_verdicts(verdicts)

    def is_unsure(self, verdict: VerdictBase, condition: Condition) -> bool:
        """Return whether to ask a second judge about a verdict of this question."""
        is_own = self.evaluator.is_weighed and verdict.evaluator == self.evaluator.name
        is_item = is_own and verdict.item in self.evaluator.get_cached_items(
            self.open_case, self.run
        )
        return is_item and condition.is_unsure(verdict)

    def isolate_question(self, verdict: VerdictBase) -> Question:
        """Return a question about a single item of a batch, the item of the verdict."""
        content = self.evaluator.isolate_item(
            self.evaluator.get_cached_items(self.open_case, self.run)[verdict.item]
        )
        return replace(self, item=verdict.item, content=content)
