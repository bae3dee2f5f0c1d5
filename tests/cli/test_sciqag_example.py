"""`examples/sciqag`: from a paper to pairs, ratings and a test bank."""

from __future__ import annotations

import json
from types import ModuleType

import pytest
import yaml
from walking import told, walk_of

from ragassay.formats.workbench.banks import read_test_banks
from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.integration


@pytest.fixture
def walk() -> ModuleType:
    """The script of the walk-through."""
    return walk_of("sciqag")


def test_with_a_scripted_model(walk, tmp_path, monkeypatch):
    script = yaml.safe_load((walk.HERE / "script.yaml").read_text(encoding="utf-8"))
    with ScriptedModel(walk.scripted_reply(script)) as model:
        said = told(walk.steps(tmp_path, model), monkeypatch)
    # Two of the six are written again: one names a figure, one has a number that is not there.
    assert (
        "6 pairs of 1 paper" in said["qa generate"] and "2 of them repaired" in said["qa generate"]
    )
    assert "6 pairs on 1 paper: 1 pair is rated 1 of 3." in said["qa evaluate"]
    assert "Agnosticism" in said["qa audit"]
    assert "5 pairs kept, 1 rated too low" in said["qa filter"]
    judged = tmp_path / "judged"
    page = (judged / "qa.html").read_text(encoding="utf-8")
    assert "led four of them to stop is left out" in page and "<svg" in page
    (bank,) = read_test_banks(tmp_path / "bank.jsonl.gz").banks
    assert len(bank.items) == 5
    (example,) = map(json.loads, (tmp_path / "train.jsonl").read_text().splitlines())
    assert set(example) >= {"instruction", "input", "output"}
