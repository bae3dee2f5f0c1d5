"""The answers of a test session: each is evaluated once and kept; all go into one report."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from anyio.from_thread import start_blocking_portal

from ragassay.errors import InputError, RagassayError
from ragassay.graphs.case import fingerprint
from ragassay.metrics.stats.summary import summarize
from ragassay.options import (
    AnswerLike,
    EvaluateKeywords,
    RunKeywords,
    SourceLike,
    check_options,
)
from ragassay.records import (
    UNSCORED_KINDS,
    CompactEvaluations,
    Evaluation,
    Failure,
    FileFingerprint,
    Manifest,
    Nugget,
    Record,
    RecordFailure,
)
from ragassay.reports.text import count_text, headline
from ragassay.requests import EvaluationRequest
from ragassay.results import Result
from ragassay.runs.evaluate import RunResult, manifest_of
from ragassay.runs.folder import RunFolder, append_line, read_lines, write_lines, write_whole
from ragassay.runs.job import read_job, record_of
from ragassay.runs.progress import Presenter
from ragassay.safe_text import without_secrets

OF_MANY = ("out", "limit", "questions", "column_map", "retry_failed")
"""Options of `evaluate` that mean nothing for one answer of a session."""


class Answers:
    """Evaluates the answers of one process of a test session.

    All evaluations share one event loop in a thread, and the models of equal options.

    Args:
        cache: Folder of evaluations, by judge and settings, and by what was judged.
        notes: Folder in which this process notes its evaluations for the session's report.
    """

    def __init__(self, cache: Path, notes: Path) -> None:
        self._cache, self._notes = cache, notes
        self._opened: dict[str, tuple[Mapping[str, Any], EvaluationRequest]] = {}
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())

    def evaluate(self, name: str, record: Record, options: Mapping[str, Any]) -> Result:
        """Return the evaluation of an answer, from the cache where nothing has changed.

        Args:
            name: Its name in the report.
            record: The answer; its id is not looked at.
            options: Those of `ragassay.evaluate`.

        Raises:
            RagassayError: It could not be evaluated.
        """
        opened = self._open(record, {k: v for k, v in options.items() if k != "testbank"})
        tools = opened.tools
        job = read_job([record], testbank=options.get("testbank"), settings=tools.settings)
        job = replace(
            job, corpus=opened.job.corpus, corpus_fingerprint=opened.job.corpus_fingerprint
        )
        (record,), judge = job.records, tools.identity[:16]
        kept = self._cache / judge / f"{fingerprint(tools, record)}.jsonl"
        manifest_file = self._notes / f"{judge}.json"
        if not manifest_file.exists():
            write_whole(manifest_file, manifest_of(job, tools).model_dump_json())
        manifest = Manifest.model_validate_json(manifest_file.read_text(encoding="utf-8"))
        found = next(iter(read_lines(kept, Evaluation)), None)
        source = "cached" if found else "judged"
        if found is None:
            found = self._judge_answer(name, replace(opened, job=job))
            if not any(finding.kind in UNSCORED_KINDS for finding in found.findings):
                kept.parent.mkdir(parents=True, exist_ok=True)
                write_whole(kept, found.model_dump_json() + "\n")
        named = found.model_copy(update={"record_id": name})
        append_line(self._notes / f"{judge}.{source}.{os.getpid()}.jsonl", named)
        return Result(
            RunResult(summarize([named], 1, 0, 0), CompactEvaluations([named]), (), (), manifest)
        )

    def close(self) -> None:
        """End the thread."""
        self._stack.close()

    def _open(self, record: Record, options: Mapping[str, Any]) -> EvaluationRequest:
        key = repr(sorted(options.items(), key=lambda item: item[0]))
        if key not in self._opened:
            keywords = cast("RunKeywords", options)
            request = EvaluationRequest.of([record], keywords, options.get("settings"), Presenter())
            # The options live on with it, so no other object gets an id that is in the key.
            self._opened[key] = options, request
        return self._opened[key][1]

    def _judge_answer(self, name: str, request: EvaluationRequest) -> Evaluation:
        try:
            found = self._portal.call(request.run, None, Presenter())
            if found.failures:
                raise RagassayError(found.failures[0].failure.detail)
        except RagassayError as error:
            failure = Failure(
                reason=getattr(error, "reason", "error"), detail=without_secrets(str(error))[:400]
            )
            failed = RecordFailure(record_id=name, stage="evaluate", failure=failure)
            append_line(self._notes / f"failures.{os.getpid()}.jsonl", failed)
            raise
        return found[0]


@dataclass
class Assay:
    """The fixture `assay` of one test.

    Attributes:
        answers: The session's.
        test: The test's id; the report names its answers by it.
        options: Those for all answers.
        n: How many answers the test has evaluated.
    """

    answers: Answers = field(repr=False)
    test: str
    options: Mapping[str, Any] = field(repr=False)
    n: int = field(default=0, repr=False)

    def __call__(
        self,
        answer: AnswerLike,
        *,
        question: str | Record,
        sources: Iterable[SourceLike] = (),
        nuggets: Iterable[str | Nugget | Mapping[str, str]] | None = None,
        reference: str | None = None,
        **options: Any,
    ) -> Result:
        """Evaluate an answer.

        Args:
            answer: The answer, as for `ragassay.evaluate`.
            question: The question; or a record, whose nuggets and reference then count too.
            sources: The documents that the answer was written from, as for `ragassay.evaluate`.
            reference: A reference answer.
            options: Further options of `ragassay.evaluate`.

        Raises:
            InputError: The arguments cannot be used.
            RagassayError: The answer could not be evaluated.
        """
        __tracebackhide__ = True
        keywords: dict[str, Any] = dict(self.options) | options
        check_options({k: v for k, v in keywords.items() if k != "settings"}, EvaluateKeywords)
        self.n += 1
        name = f"{self.test}#{self.n}" if self.n > 1 else self.test
        try:
            for unknown in (one for one in OF_MANY if keywords.get(one) is not None):
                raise InputError(f"`{unknown}=` is for files of answers, and this is one answer")
            record = record_of(answer, question, sources, nuggets, reference)
            return self.answers.evaluate(name, record, keywords)
        except RagassayError as error:
            # Frames of graphs, and the notes that they add, say nothing to a user.
            error.__dict__.pop("__notes__", None)
            raise error.with_traceback(None) from None


def write_report(notes: Path, out: Path) -> list[str]:
    """Write the folder of a session, in place of that of an earlier one.

    Args:
        notes: What the processes noted: a manifest for each judge and settings, evaluations,
            failures. An answer that a repeated test evaluated twice counts once.

    Returns:
        Lines for the terminal: what the answers came to, and by which judge.
    """
    found: dict[str, tuple[str, Evaluation]] = {}
    for file in sorted(notes.glob("*.*.*.jsonl")):
        judge = file.name.partition(".")[0]
        found |= {e.record_id: (judge, e) for e in read_lines(file, Evaluation)}
    n_cached = sum(len(read_lines(file, Evaluation)) for file in notes.glob("*.cached.*.jsonl"))
    failed = [f for file in notes.glob("failures.*.jsonl") for f in read_lines(file, RecordFailure)]
    failures = {f.record_id: f for f in failed if f.record_id not in found}
    evaluations = [evaluation for _, (_, evaluation) in sorted(found.items())]
    judges = Counter(judge for judge, _ in found.values())
    names = [judge for judge, _ in judges.most_common()] or [
        file.stem for file in sorted(notes.glob("*.json"))
    ]
    read = (notes / f"{names[0]}.json").read_text(encoding="utf-8")
    content = "".join(evaluation.fingerprint for evaluation in evaluations)
    fingerprint = FileFingerprint(
        name="pytest",
        sha256=hashlib.sha256(content.encode()).hexdigest(),
        n_items=len(evaluations) + len(failures),
        format="pytest",
    )
    manifest = Manifest.model_validate_json(read).model_copy(update={"answers": fingerprint})
    folder = RunFolder(out)
    out.mkdir(parents=True, exist_ok=True)
    summary = summarize(evaluations, fingerprint.n_items, len(failures), 0)
    write_whole(folder.manifest_file, manifest.model_dump_json(indent=2))
    write_lines(folder.evaluations_file, evaluations)
    write_lines(folder.failures_file, [failures[name] for name in sorted(failures)])
    write_whole(folder.summary_file, summary.model_dump_json(indent=2))
    folder.write_reports(summary)
    of = count_text(fingerprint.n_items, "answer")
    lines = [headline(summary), f"Judge: {manifest.judge}; {n_cached} of {of} from the cache"]
    others = sum(judges.values()) - judges[names[0]]
    if others:
        lines.append(
            f"{count_text(others, 'answer')} with other settings than those that the report names"
        )
    return lines
