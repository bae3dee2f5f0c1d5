"""What the cases of hostile texts share."""

from __future__ import annotations

from pathlib import Path

import pytest
from answers import answer, written_run
from damage import pairs_of
from hostile.poison import poison_folder
from reviewing import evaluations

from ragassay.records import Audit, Evaluation, Failure, RecordFailure, Rejection
from ragassay.runs.folder import write_atomically, write_lines
from ragassay.studies.audit_scores import average_variant_ratings, compute_attack_figures
from ragassay.studies.certificate import certify


def _answers(shift: float) -> list[Evaluation]:
    """Every kind of verdict, and enough scores for tables, plots and tests."""
    more = [
        answer(f"{system}-{i}", f"t{i}", system, scores={"rubric.cohesion": 1 + i % 3 + better})
        for system, better in (("alpha", shift), ("beta", 0.0))
        for i in range(8)
    ]
    return [*evaluations(), *more]


def _audit() -> Audit:
    pairs = [*pairs_of([(5.0, 1.0)] * 12), *pairs_of([(5.0, 5.0)] * 12, attack="tweet")]
    return Audit(
        judge="judge",
        n_answers=12,
        seed=0,
        pools="audit",
        n_unchanged={"swap_last": 2},
        figures=compute_attack_figures(pairs),
        ratings=average_variant_ratings(pairs),
        certificate=certify(pairs),
    )


@pytest.fixture(scope="session")
def hostile_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, `old` and `new`, of which every text is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, shift in (("old", 0.5), ("new", 1.5)):
        run = written_run(folder / name, _answers(shift))
        write_atomically(run / "audit.json", _audit().model_dump_json())
        failure = Failure(reason="timeout", detail="no reply")
        write_lines(
            run / "failures.jsonl",
            [RecordFailure(record_id="q3", stage="segment", failure=failure)],
        )
        given = {"file": "a.jsonl", "line": 4, "field": "answer", "problem": "missing"}
        rejection = Rejection.model_validate(given | {"expected": "text", "content": "{}"})
        write_lines(run / "rejected.jsonl", [rejection])
        poison_folder(run)
    return folder
