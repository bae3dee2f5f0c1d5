"""Evaluate the answers of a test session, cache the evaluations, and write one report."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from anyio.from_thread import start_blocking_portal

from ragassay.errors import InputError, RagassayError
from ragassay.graphs.case import hash_record
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
    Summary,
)
from ragassay.reports.text import count_text, summarize_run
from ragassay.requests import EvaluationRequest
from ragassay.results import Result
from ragassay.runs.evaluate import RunResult, build_manifest
from ragassay.runs.folder import RunFolder, append_line, read_lines, write_atomically, write_lines
from ragassay.runs.job import build_record, read_job
from ragassay.runs.progress import Presenter
from ragassay.safe_text import hide_secrets

OF_MANY = ("out", "limit", "questions", "column_map", "retry_failed")
"""Options of `evaluate` that do not apply to a single answer."""


class Answers:
    """Evaluator for the answers in one pytest process, which runs an event loop in a thread.

    Args:
        cache: Folder of the evaluation cache, whose keys depend on judge, settings and input.
        notes: Temporary folder for the evaluations of this session, from which the report is made.
    """

    def __init__(self, cache: Path, notes: Path) -> None:
        self._cache, self._notes = cache, notes
        self._opened: dict[str, tuple[Mapping[str, Any], EvaluationRequest]] = {}
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())

    def evaluate(self, name: str, record: Record, options: Mapping[str, Any]) -> Result:
        """Evaluate an answer, or return its evaluation from the cache.

        Args:
            record: Answer to evaluate. The record id is replaced by `name`.

        Raises:
            RagassayError: The answer could not be evaluated.
        """
        opened = self._open(record, {k: v for k, v in options.items() if k != "testbank"})
        run = opened.run
        job = read_job([record], testbank=options.get("testbank"), settings=run.settings)
        job = replace(
            job, corpus=opened.job.corpus, corpus_fingerprint=opened.job.corpus_fingerprint
        )
        (record,), judge = job.records, run.identity[:16]
        cache_file = self._cache / judge / f"{hash_record(run, record)}.jsonl"
        manifest_file = self._notes / f"{judge}.json"
        if not manifest_file.exists():
            write_atomically(manifest_file, build_manifest(job, run).model_dump_json())
        manifest = Manifest.model_validate_json(manifest_file.read_text(encoding="utf-8"))
        evaluation = next(iter(read_lines(cache_file, Evaluation)), None)
        source = "cached" if evaluation else "judged"
        if evaluation is None:
            evaluation = self._judge_answer(name, replace(opened, job=job))
            if not any(finding.kind in UNSCORED_KINDS for finding in evaluation.findings):
                cache_file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(cache_file, evaluation.model_dump_json() + "\n")
        named = evaluation.model_copy(update={"record_id": name})
        append_line(self._notes / f"{judge}.{source}.{os.getpid()}.jsonl", named)
        return Result(
            RunResult(summarize([named], 1, 0, 0), CompactEvaluations([named]), (), (), manifest)
        )

    def close(self) -> None:
        """Stop the event loop thread."""
        self._stack.close()

    def _open(self, record: Record, options: Mapping[str, Any]) -> EvaluationRequest:
        key = repr(sorted(options.items(), key=lambda item: item[0]))
        if key not in self._opened:
            keywords = cast("RunKeywords", options)
            request = EvaluationRequest.from_answers(
                [record], keywords, options.get("settings"), Presenter()
            )
            # Keeping the options alive prevents new objects from reusing an id that is in the key.
            self._opened[key] = options, request
        return self._opened[key][1]

    def _judge_answer(self, name: str, request: EvaluationRequest) -> Evaluation:
        try:
            found = self._portal.call(request.execute, None, Presenter())
            if found.failures:
                raise RagassayError(found.failures[0].failure.detail)
        except RagassayError as error:
            failure = Failure(
                reason=getattr(error, "reason", "error"), detail=hide_secrets(str(error))[:400]
            )
            failed = RecordFailure(record_id=name, stage="evaluate", failure=failure)
            append_line(self._notes / f"failures.{os.getpid()}.jsonl", failed)
            raise
        return found[0]


@dataclass
class Assay:
    """Fixture `assay`, which evaluates the answers of one test.

    Attributes:
        test: Test id, used as the name of its answers in the report.
        n: Number of answers evaluated by the test.
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
            answer: Answer in any form that `ragassay.evaluate` accepts.
            question: Question, or a record whose nuggets and reference are also used.
            sources: Sources of the answer, as in `ragassay.evaluate`.
            options: Options of `ragassay.evaluate`.

        Raises:
            InputError: An argument is invalid.
            RagassayError: The answer could not be evaluated.
        """
        __tracebackhide__ = True
        keywords: dict[str, Any] = dict(self.options) | options
        check_options({k: v for k, v in keywords.items() if k != "settings"}, EvaluateKeywords)
        self.n += 1
        name = f"{self.test}#{self.n}" if self.n > 1 else self.test
        try:
            for option in (name for name in OF_MANY if keywords.get(name) is not None):
                raise InputError(f"`{option}=` cannot be used with a single answer")
            record = build_record(answer, question, sources, nuggets, reference)
            return self.answers.evaluate(name, record, keywords)
        except RagassayError as error:
            # Stack frames and notes from graphs do not help users.
            error.__dict__.pop("__notes__", None)
            raise error.with_traceback(None) from None


def write_report(notes: Path, out: Path) -> list[str]:
    """Write the run folder of a session, replacing the previous one.

    Args:
        notes: Folder that contains a manifest for each combination of judge and settings, and the
            evaluations and failures of all processes. An answer that was evaluated repeatedly
            counts once.

    Returns:
        Summary lines for the terminal.
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
    manifest_json = (notes / f"{names[0]}.json").read_text(encoding="utf-8")
    content = "".join(evaluation.fingerprint for evaluation in evaluations)
    fingerprint = FileFingerprint(
        name="pytest",
        sha256=hashlib.sha256(content.encode()).hexdigest(),
        n_items=len(evaluations) + len(failures),
        format="pytest",
    )
    manifest = Manifest.model_validate_json(manifest_json).model_copy(
        update={"answers": fingerprint}
    )
    summary = summarize(evaluations, fingerprint.n_items, len(failures), 0)
    _write_folder(
        out, manifest, summary, evaluations, [failures[name] for name in sorted(failures)]
    )
    total = count_text(fingerprint.n_items, "answer")
    lines = [
        summarize_run(summary),
        f"Judge: {manifest.judge}; {n_cached} of {total} from the cache",
    ]
    if n_others := sum(judges.values()) - judges[names[0]]:
        lines.append(
            f"{count_text(n_others, 'answer')} used settings that the report does not show"
        )
    return lines


def _write_folder(
    out: Path,
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    failures: Sequence[RecordFailure],
) -> None:
    folder = RunFolder(out)
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(folder.manifest_file, manifest.model_dump_json(indent=2))
    write_lines(folder.evaluations_file, evaluations)
    write_lines(folder.failures_file, failures)
    write_atomically(folder.summary_file, summary.model_dump_json(indent=2))
    folder.write_reports(summary)
