"""`examples/workbench`: from queries to a leaderboard, with a scripted model and without one."""

from __future__ import annotations

from types import ModuleType

import pytest
import yaml
from walking import told, walk_of

from ragassay.formats.retrieval import read_qrels
from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.integration


@pytest.fixture
def walk() -> ModuleType:
    """The script of the walk-through."""
    return walk_of("workbench")


def test_with_a_scripted_model(walk, tmp_path, monkeypatch):
    script = yaml.safe_load((walk.HERE / "script.yaml").read_text(encoding="utf-8"))
    with ScriptedModel(walk.scripted_reply(script)) as model:
        asked = ["--model", model.model_name, "--api-base", model.base_url]
        said = told(walk.steps(tmp_path, asked), monkeypatch)
        # Two queries; twelve passages, five questions, rated and extracted.
        assert model.n_requests == 2 + 12 * 5 * 2
    assert "10 items of 2 queries" in said["testbank create"]
    assert "Grades: 120 given." in said["grade"]
    assert "Elvis Presley" in said["grades verify"] and "r2" in said["grades grid"]
    # s6 is relevant and answers nothing; Roman soldiers answer a question and are not relevant.
    assert "s6" in said["grades missing"]
    assert "Who was paid in salt?" in said["grades spurious"]
    qrels, _ = read_qrels(tmp_path / "rubric.qrels")
    assert qrels["rock"] == {"r1": 4, "r2": 5, "r3": 5, "r4": 0, "r5": 0, "r6": 5}
    # By reciprocal rank, with 4 as relevant, all but the keyword search begin with a good passage.
    assert "writer" in said["grades leaderboard"] and "Kendall" in said["grades leaderboard"]


def test_without_a_model_by_the_bank_that_ships(walk, tmp_path, monkeypatch):
    said = told(walk.steps(tmp_path, []), monkeypatch)
    assert "Who were the first stars" in said["testbank show"]
    assert "undecided" in said["grade"] and "--escalate MODEL" in said["grade"]
    qrels, _ = read_qrels(tmp_path / "rubric.qrels")
    assert set(qrels["rock"]) <= {"r1", "r2", "r3", "r4", "r5", "r6"}
