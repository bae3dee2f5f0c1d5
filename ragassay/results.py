"""Results of `ragassay.evaluate`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ragassay.errors import InputError, RagassayError
from ragassay.extras import need
from ragassay.records import (
    NO_FAULT,
    UNSCORED_KINDS,
    Audit,
    CitationVerdict,
    Evaluation,
    Failure,
    Finding,
    Judgment,
    Manifest,
    Nugget,
    RecordFailure,
    Rejection,
    Repeats,
    Score,
    SentenceLabel,
    Summary,
)
from ragassay.reports.display import format_failure_reason, format_interval, format_score
from ragassay.reports.labels import find_finding_title, flatten_text, replace_controls
from ragassay.reports.text import count_text, find_score_title, summarize_run
from ragassay.runs.folder import write_atomically, write_lines, write_pieces

if TYPE_CHECKING:
    import pandas as pd

    from ragassay.runs.evaluate import RunResult
    from ragassay.runs.gates import ThresholdVerdict


@dataclass(frozen=True)
class Failed:
    """Failed verdict or answer. Undecided verdicts are not failures.

    Attributes:
        evaluator: Name of the evaluator, such as "rubric". For a whole answer, the name is
            "evaluate", or "ask" if the application returned no answer.
        item: Item of the verdict, such as "cohesion", or "" if the whole answer failed.
    """

    record_id: str
    evaluator: str
    item: str
    failure: Failure

    def __str__(self) -> str:
        name = f"{self.record_id}: {self.evaluator} {self.item}".rstrip()
        return flatten_text(
            f"{name}: {self.failure.detail or format_failure_reason(self.failure.reason)}"
        )


class Results(Sequence[Evaluation]):
    """Evaluations of several answers, in input order.

    Attributes:
        failures: Records without an evaluation.
        rejections: Rows that could not be read.
        manifest: Record of everything that affects the results.
        audit: Audit of the judge, or None if the option `audit` was not set.
        repeats: Consistency of the judge, or None if the option `repeat` was not set.
        verdicts: Outcome for each score in the option `fail_under` (reached, below or unmeasured),
            with a message.
    """

    def __init__(
        self,
        run: RunResult,
        audit: Audit | None = None,
        repeats: Repeats | None = None,
        verdicts: Sequence[ThresholdVerdict] = (),
    ) -> None:
        self.audit = audit
        self.repeats = repeats
        self.verdicts = tuple(verdicts)
        self._evaluations = run.evaluations
        self.summary: Summary = run.summary
        self.failures: tuple[RecordFailure, ...] = run.failures
        self.rejections: tuple[Rejection, ...] = run.rejections
        self.manifest: Manifest = run.manifest

    def __len__(self) -> int:
        return len(self._evaluations)

    @overload
    def __getitem__(self, index: int) -> Evaluation: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Evaluation, ...]: ...
    def __getitem__(self, index: int | slice) -> Evaluation | tuple[Evaluation, ...]:
        return self._evaluations[index]

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self._evaluations)

    @property
    def scores(self) -> dict[str, Score]:
        """Mean of each score over the answers."""
        return self.summary.scores

    @property
    def failed(self) -> tuple[Failed, ...]:
        """Failed answers, followed by failed verdicts in the order of the answers."""
        whole = [Failed(f.record_id, f.stage, "", f.failure) for f in self.failures]
        return (*whole, *(one for e in self._evaluations for one in _find_failed(e)))

    @property
    def is_partial(self) -> bool:
        """True if any input was rejected or any answer or verdict failed."""
        has_unscored = self.summary.findings.keys() & set(UNSCORED_KINDS)
        has_failed = self.failures or self.rejections or has_unscored
        return bool(has_failed or (self.audit and self.audit.is_partial))

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per answer: id, system, topic and all score values."""
        need("pandas")
        import pandas as pd

        return pd.DataFrame(self._list_rows())

    def _list_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "record_id": e.record_id,
                "system": e.system,
                "topic": e.topic,
                **{key: score.value for key, score in e.scores.items()},
                "n_findings": len(e.primary_findings),
                "n_secondary": len(e.secondary_findings),
                "n_undecided": len(e.undecided),
            }
            for e in self._evaluations
        ]

    def save(self, path: str | Path) -> Path:
        """Write the results to a file.

        Args:
            path: Path with the suffix `.jsonl` (evaluations), `.csv` (data frame), `.html` or `.md`
                (report).

        Raises:
            InputError: The suffix is not supported.
        """
        from ragassay.reports.html import render_html_pieces
        from ragassay.reports.markdown import render_markdown_pieces

        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        parts = (self.manifest, self.summary, self._evaluations, self.failures, self.rejections)
        match target.suffix:
            case ".jsonl":
                write_lines(target, self._evaluations)
            case ".csv":
                write_atomically(target, _format_csv(self._list_rows()))
            case ".html":
                write_pieces(target, render_html_pieces(*parts, repeats=self.repeats))
            case ".md":
                write_pieces(target, render_markdown_pieces(*parts, repeats=self.repeats))
            case other:
                raise InputError(f"cannot save as {other!r}; use .jsonl, .csv, .html or .md")
        return target

    @property
    def _title(self) -> str:
        return f"{summarize_run(self.summary)} Judge: {self.manifest.judge}."

    @property
    def _notes(self) -> list[str]:
        n = len(self.failed)
        return [f"{count_text(n, 'failure')}, see `.failed`"] if n else []

    def __repr__(self) -> str:
        rows = _format_rows(self.scores)
        width = max((len(row[0]) for row in rows), default=0)
        lines = [
            f"  {name:<{width}}  {value}{f' ({span})' if span else ''}, n {n}"
            for name, value, span, n in rows
        ]
        text = [f"{type(self).__name__}: {self._title}", *lines, *(f"  {n}" for n in self._notes)]
        return "\n".join(map(flatten_text, text))

    def _repr_html_(self) -> str:
        cells = (
            "".join(f"<td>{escape(cell)}</td>" for cell in row) for row in _format_rows(self.scores)
        )
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        head = "".join(f"<th>{name}</th>" for name in ("score", "value", "95 % interval", "n"))
        notes = "".join(f"<li>{escape(note)}</li>" for note in self._notes)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return replace_controls(f"<p>{escape(self._title)}</p>{table}<ul>{notes}</ul>")


class Result(Results):
    """Evaluation of a single answer."""

    @property
    def evaluation(self) -> Evaluation:
        """Full evaluation."""
        return self._evaluations[0]

    @property
    def scores(self) -> dict[str, Score]:
        """Scores by name."""
        return self.evaluation.scores

    @property
    def judgments(self) -> tuple[Judgment, ...]:
        """Rubric ratings, one per rubric."""
        return self.evaluation.judgments

    @property
    def nuggets(self) -> tuple[Nugget, ...]:
        """Nuggets of the answer."""
        return self.evaluation.nuggets

    @property
    def citations(self) -> tuple[CitationVerdict, ...]:
        """Citation verdicts."""
        return self.evaluation.citations

    @property
    def labels(self) -> tuple[SentenceLabel, ...]:
        """Sentence labels, one per sentence."""
        return self.evaluation.labels

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Main findings."""
        return self.evaluation.primary_findings

    @property
    def secondary_findings(self) -> tuple[Finding, ...]:
        """Findings that are not reliable enough to be main findings."""
        return self.evaluation.secondary_findings

    @property
    def _notes(self) -> list[str]:
        findings = (f"{find_finding_title(f.kind, 1)}: {f.message}" for f in self.findings)
        return [*findings, *super()._notes]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per score."""
        return super().to_frame().set_index("score")

    def _list_rows(self) -> list[dict[str, Any]]:
        return [{"score": key, **score.model_dump()} for key, score in self.scores.items()]


def _format_csv(rows: Sequence[dict[str, Any]]) -> str:
    file = io.StringIO()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


class UnjudgedError(RagassayError, RuntimeError):
    """Raised if `raise_on_failure` is set and an answer, a verdict or a row failed."""

    def __init__(self, results: Results) -> None:
        self.results = results
        failures = [str(one) for one in results.failed]
        failures += [f"{r.file}:{r.line}: {r.problem}" for r in results.rejections]
        more = f"\n  ... and {len(failures) - 10} more" if len(failures) > 10 else ""
        lines = "".join(f"\n  {line}" for line in failures[:10])
        super().__init__(f"{count_text(len(failures), 'failure')}:{lines}{more}")


class _ThresholdError(RagassayError):
    def __init__(self, message: str, results: Results) -> None:
        super().__init__(message)
        self.results = results


class BelowError(_ThresholdError, AssertionError):
    """Raised if a mean score is below its minimum in `fail_under`.

    The results are in the attribute `results`.
    """


class UnmeasuredError(_ThresholdError, RuntimeError):
    """Raised if a score in `fail_under` could not be measured.

    The results are in the attribute `results`.
    """


def _find_failed(evaluation: Evaluation) -> Iterator[Failed]:
    from ragassay.evaluators.registry import group_single_verdicts

    for evaluator, verdicts in group_single_verdicts(evaluation).items():
        for verdict in verdicts:
            if verdict.failure is not None and verdict.failure.reason not in NO_FAULT:
                yield Failed(evaluation.record_id, evaluator, verdict.item, verdict.failure)


def _format_rows(scores: dict[str, Score]) -> list[tuple[str, str, str, str]]:
    return [
        (
            find_score_title(key, score.judge),
            format_score(score),
            format_interval(score) if score.low is not None else "",
            f"{score.n}" + (f", {score.n_unscored} unscored" if score.n_unscored else ""),
        )
        for key, score in scores.items()
    ]
