"""The BioGen example: a run of three systems with gold nuggets goes in, a leaderboard comes out."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from calls import run
from conftest import ROOT

import ragassay
from ragassay.testing import ScriptedModel
from ragassay.testing.chat_completions import JsonSchema, Message, last_user_text
from ragassay.testing.replies import build_instance

EXAMPLE = ROOT / "examples" / "biogen"
HASTY = ("raised", "No adverse", "twice the dose", "did not change", "halved", "half", "0.5 mg")
HASTY += ("more frequent", "completely", "whenever", "bedside")
"""Words of the careless system's claims."""


def judge(messages: Sequence[Message], schema: JsonSchema | None) -> str | Mapping[str, object]:
    """A judge that finds the careless system's claims contradicted and its nuggets missing."""
    asked = last_user_text(messages)
    reply = build_instance(schema or {}, asked, "judge")
    if not isinstance(reply, dict):
        return str(reply)
    answer = asked.split("Answer to assess:")[-1]
    is_hasty = any(word in answer for word in HASTY)
    if "verdict" in reply:
        return {**reply, "verdict": "contradicts" if is_hasty else "supports"}
    if "assignment" in reply:
        return {**reply, "assignment": "not_support" if is_hasty else "support"}
    return reply


@pytest.mark.integration
@pytest.mark.usefixtures("no_embedding_model")
def test_a_leaderboard_of_three_systems(tmp_path: Path):
    out, board = tmp_path / "run", tmp_path / "board"
    with ScriptedModel(judge) as model:
        run(
            *("evaluate", EXAMPLE / "runs.jsonl", "--nuggets", EXAMPLE / "nuggets.json"),
            *("--corpus", ROOT / "examples" / "sample" / "abstracts.jsonl", "--out", out),
            *("--only", "nuggets,citations,sentences", "--quiet"),
            *("--model", model.model_name, "--api-base", model.base_url),
        )
    evaluations = [json.loads(line) for line in (out / "evaluations.jsonl").open()]
    assert len(evaluations) == 12
    # Every answer to a question with three answers has the scores that need the other two.
    for evaluation in evaluations:
        assert {"sentences.recall", "citations.document_recall"} <= set(evaluation["scores"])
    shown, _ = run("compare", out, "--score", "citations.support", "--out", board)
    assert "south/hasty" in shown
    with (board / "leaderboard.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["score"] == "citations.support"]
    by_system = {row["system"]: row for row in rows}
    assert set(by_system) == {"north/steady", "north/wordy", "south/hasty"}
    assert float(by_system["south/hasty"]["value"]) < float(by_system["north/steady"]["value"])
    assert (board / "leaderboard.tex").read_text().count("south") >= 1
    assert list(board.glob("*.svg"))
    agreement = tmp_path / "agreement"
    labels = EXAMPLE / "labels.jsonl"
    shown, _ = run("meta-evaluate", out, "--human", labels, "--out", agreement)
    assert "citation" in shown.lower()
    boards = ragassay.compare([str(out)], ["citations.support"]).boards
    assert [board.key for board in boards] == ["citations.support"]
    assert ragassay.meta_evaluate(str(out), str(labels)).n_labels == 94
    assert {path.suffix for path in agreement.iterdir()} >= {".csv", ".tex", ".svg"}
