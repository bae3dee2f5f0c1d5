"""Results of `ragassay.evaluate`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ragassay.errors import InputError
from ragassay.extras import need
from ragassay.records import (
    CitationVerdict,
    Evaluation,
    Finding,
    Judgment,
    Manifest,
    Nugget,
    RecordFailure,
    Rejection,
    Score,
    SentenceLabel,
    Summary,
)
from ragassay.runs.folder import write_lines, write_whole

if TYPE_CHECKING:
    import pandas as pd

    from ragassay.runs.evaluate import RunResult


class Results(Sequence[Evaluation]):
    """The evaluations of several answers, in input order.

    Attributes:
        summary: The run in numbers.
        failures: Records without an evaluation.
        rejections: Rows that could not be read.
        manifest: Everything that the result depends on.
    """

    def __init__(self, run: RunResult) -> None:
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
        """Means over the answers."""
        return self.summary.scores

    def to_frame(self) -> pd.DataFrame:
        """Return one row an answer: its id, system, topic, and the value of each score."""
        need("pandas")
        import pandas as pd

        return pd.DataFrame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "record_id": e.record_id,
                "system": e.system,
                "topic": e.topic,
                **{key: score.value for key, score in e.scores.items()},
                "n_findings": len(e.heads),
                "n_looks": len(e.looks),
                "n_undecided": len(e.undecided),
            }
            for e in self._evaluations
        ]

    def save(self, path: str | Path) -> Path:
        """Write the results; the file's ending selects the format.

        Args:
            path: `.jsonl` (evaluations), `.csv` (the frame), `.html` or `.md` (the report).

        Raises:
            InputError: Another ending.
        """
        from ragassay.reports import render_html, render_markdown

        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        parts = (self.manifest, self.summary, self._evaluations, self.failures, self.rejections)
        match target.suffix:
            case ".jsonl":
                write_lines(target, self._evaluations)
            case ".csv":
                write_whole(target, _csv(self._rows()))
            case ".html":
                write_whole(target, render_html(*parts))
            case ".md":
                write_whole(target, render_markdown(*parts))
            case other:
                raise InputError(f"cannot save as {other!r}: use .jsonl, .csv, .html or .md")
        return target

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} evaluations by {self.manifest.judge}>"


class Result(Results):
    """The evaluation of one answer."""

    @property
    def evaluation(self) -> Evaluation:
        """The full evaluation."""
        return self._evaluations[0]

    @property
    def scores(self) -> dict[str, Score]:
        """The answer's scores, by key."""
        return self.evaluation.scores

    @property
    def judgments(self) -> tuple[Judgment, ...]:
        """The judgments, one a rubric."""
        return self.evaluation.judgments

    @property
    def nuggets(self) -> tuple[Nugget, ...]:
        """The facts that the answer states."""
        return self.evaluation.nuggets

    @property
    def citations(self) -> tuple[CitationVerdict, ...]:
        """The verdicts on citations."""
        return self.evaluation.citations

    @property
    def labels(self) -> tuple[SentenceLabel, ...]:
        """The labels, one a sentence."""
        return self.evaluation.labels

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that a reader must not miss."""
        return self.evaluation.heads

    @property
    def looks(self) -> tuple[Finding, ...]:
        """The findings that are worth a look: the judge is not sure enough of them."""
        return self.evaluation.looks

    def to_frame(self) -> pd.DataFrame:
        """Return one row a score: value, interval, n, unscored count, bounds and judge."""
        need("pandas")
        import pandas as pd

        return pd.DataFrame(self._rows()).set_index("score")

    def _rows(self) -> list[dict[str, Any]]:
        return [{"score": key, **score.model_dump()} for key, score in self.scores.items()]


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    file = io.StringIO()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()
