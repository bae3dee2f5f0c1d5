"""`examples/sciqag` and `examples/workbench`: to pairs of a paper, and to a leaderboard."""

from __future__ import annotations

import json

import pytest
import yaml
from walking import told, walk_of

from ragassay.formats.retrieval import read_qrels
from ragassay.formats.workbench.banks import read_test_banks
from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.integration


def test_pairs_of_a_paper_by_a_scripted_model(tmp_path, monkeypatch):
    walk = walk_of("sciqag")
    script = yaml.safe_load((walk.HERE / "script.yaml").read_text(encoding="utf-8"))
    with ScriptedModel(walk.scripted_reply(script)) as model:
        said = told(walk.steps(tmp_path, model), monkeypatch)
    # Two of the six are written again: one names a figure, one has a number that is not there.
    assert "6 pairs from 1 paper" in said["qa generate"]
    assert "2 of them repaired" in said["qa generate"]
    assert "6 pairs on 1 paper: 1 pair is rated 1 of 3." in said["qa evaluate"]
    assert "Agnosticism" in said["qa audit"]
    assert "5 pairs selected, 1 dropped because their ratings are too low" in said["qa filter"]
    judged = tmp_path / "judged"
    page = (judged / "qa.html").read_text(encoding="utf-8")
    assert "led four of them to stop is left out" in page and "<svg" in page
    (bank,) = read_test_banks(tmp_path / "bank.jsonl.gz").banks
    assert len(bank.items) == 5
    (example,) = map(json.loads, (tmp_path / "train.jsonl").read_text().splitlines())
    assert set(example) >= {"instruction", "input", "output"}


def test_a_leaderboard_by_a_scripted_model(tmp_path, monkeypatch):
    walk = walk_of("workbench")
    script = yaml.safe_load((walk.HERE / "script.yaml").read_text(encoding="utf-8"))
    with ScriptedModel(walk.scripted_reply(script)) as model:
        asked = ["--model", model.model_name, "--api-base", model.base_url]
        said = told(walk.steps(tmp_path, asked), monkeypatch)
        # Two queries; twelve passages, five questions, rated and extracted.
        assert model.n_requests == 2 + 12 * 5 * 2
    assert "10 items for 2 queries" in said["testbank create"]
    assert "Grades: 120 given." in said["grade"]
    assert "Elvis Presley" in said["grades verify"] and "r2" in said["grades grid"]
    # s6 is relevant and answers nothing; Roman soldiers answer a question and are not relevant.
    assert "s6" in said["grades missing"]
    assert "Who was paid in salt?" in said["grades spurious"]
    qrels, _ = read_qrels(tmp_path / "rubric.qrels")
    assert qrels["rock"] == {"r1": 4, "r2": 5, "r3": 5, "r4": 0, "r5": 0, "r6": 5}
    # By reciprocal rank, with 4 as relevant, all but the keyword search begin with a good passage.
    assert "writer" in said["grades leaderboard"] and "Kendall" in said["grades leaderboard"]


def test_a_leaderboard_without_a_model_by_the_bank_that_ships(tmp_path, monkeypatch):
    said = told(walk_of("workbench").steps(tmp_path, []), monkeypatch)
    assert "Who were the first stars" in said["testbank show"]
    assert "undecided" in said["grade"] and "--escalate MODEL" in said["grade"]
    qrels, _ = read_qrels(tmp_path / "rubric.qrels")
    assert set(qrels["rock"]) <= {"r1", "r2", "r3", "r4", "r5", "r6"}
