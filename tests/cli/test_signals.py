"""`ragassay evaluate` with signals: what rates is named in the run and on its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calls import run as cli

from ragassay.model_names import EMBEDDED_BASE, TUNED_JUDGE
from ragassay.models.cards import load_card
from ragassay.models.fitted_raters import load_shipped_rater
from ragassay.records import Evaluation

pytestmark = pytest.mark.integration


def evaluate(sample: Path, out: Path, *options: str) -> dict:
    given = (sample / "answers.jsonl", "--limit", "2", "--only", "rubrics")
    given += ("--corpus", sample / "abstracts.jsonl", "--out", out, "--quiet")
    cli("evaluate", *given, *options)
    return json.loads((out / "run.json").read_text(encoding="utf-8"))


def test_the_run_and_its_report_name_what_rated(sample: Path, tmp_path: Path):
    run = evaluate(sample, tmp_path / "run", "--signals", "--judge", "ragassay/smollm2-135m")
    rater = load_shipped_rater()
    assert (run["rater"], run["rater_digest"]) == (rater.model, rater.digest)
    assert run["settings"]["signals"] is True
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Rubrics were rated" in page and rater.model in page
    assert "0 model calls" in page
    lines = (tmp_path / "run" / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()
    for line in lines:
        judgments = Evaluation.model_validate_json(line).judgments
        assert len(judgments) == 9 and all(j.rating and j.rationale for j in judgments)


def test_the_fine_tuned_judge_rates_with_signals(sample: Path, tmp_path: Path):
    one = ("--limit", "1", "--rubric", "cohesion")
    run = evaluate(sample, tmp_path / "run", "--signals", "--judge", TUNED_JUDGE, *one)
    assert (run["judge"], run["base"]) == (TUNED_JUDGE, EMBEDDED_BASE)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    for name in (TUNED_JUDGE, EMBEDDED_BASE, load_shipped_rater().model):
        assert name in page
    card = load_card(TUNED_JUDGE)
    assert card is not None and card.digest == run["judge_digest"]
    assert all(figure.task in page for figure in card.figures)
