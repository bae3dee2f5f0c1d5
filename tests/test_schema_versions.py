"""JSON of version 1 is read under its old names, and future versions are rejected."""

from __future__ import annotations

import json
from typing import Any

import pytest
from answers import answer
from pydantic import ValidationError

from ragassay.metrics.stats.summary import summarize
from ragassay.records import (
    AttackFigure,
    Evaluation,
    Failure,
    Finding,
    SentenceCorrectness,
    Summary,
)

DOUBT = Failure.leave_open("not sure enough")
OPEN = SentenceCorrectness(sentence=1, tentative_label="correct", failure=DOUBT)
FINDINGS = tuple(
    Finding(kind="contradicted_citation", message="It may differ.", level=level)
    for level in ("primary", "secondary")
)


def in_version_1(value: Any, names: dict[str, str]) -> Any:
    """Return JSON with the keys and levels of version 1."""
    if isinstance(value, list):
        return [in_version_1(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    levels = {"primary": "head", "secondary": "look"}
    return {
        names.get(key, key): levels[one] if key == "level" else in_version_1(one, names)
        for key, one in value.items()
        if key != "schema_version"
    }


def test_an_evaluation_of_version_1_is_read():
    evaluation = answer("r1", findings=FINDINGS).model_copy(update={"verdicts": (OPEN,)})
    old = in_version_1(evaluation.model_dump(mode="json"), {"tentative_label": "leaning"})
    assert old["verdicts"][0]["leaning"] == "correct" and old["findings"][0]["level"] == "head"
    read = Evaluation.model_validate_json(json.dumps(old))
    assert read == evaluation
    assert [one.level for one in read.findings] == ["primary", "secondary"]


def test_a_summary_of_version_1_is_read():
    summary = summarize([answer("r1", findings=FINDINGS)], 1, 0, 0)
    old = in_version_1(summary.model_dump(mode="json"), {"secondary_findings": "looks"})
    assert old["looks"] == {"contradicted_citation": 1}
    assert Summary.model_validate_json(json.dumps(old)) == summary


def test_a_figure_of_an_audit_of_version_1_is_read():
    score = {"value": 0.5, "n": 2, "n_unscored": 0}
    names = ("benign", "damaged", "detection", "auroc", "lift")
    old = {"attack": "off_topic", "family": "rubric", "severity": "subtle", "target": "t"}
    read = AttackFigure.model_validate(old | dict.fromkeys(names, score))
    assert read.perturbed.value == 0.5


@pytest.mark.parametrize("kind", [Evaluation, Summary])
def test_a_later_version_is_refused_by_name(kind: type[Evaluation] | type[Summary]):
    with pytest.raises(ValidationError, match="schema_version"):
        kind.model_validate({"schema_version": 3})
