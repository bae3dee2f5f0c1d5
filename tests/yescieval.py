"""Synthetic answers in YESciEval's format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragassay.prompts import load_rubrics

ANSWER = (
    "Drug A lowers blood pressure by 5 mmHg in adults, and the effect lasts (1). "
    "However, some patients cough because the drug irritates the throat (2). "
    "Overall, it may help most patients with hypertension (1, 2)."
)
REDUNDANT = f"{ANSWER} In other words, most patients with hypertension may be helped by it (1, 2)."
PAPERS = [
    {"title": "Trial", "abstract": "Drug A lowered blood pressure by 5 mmHg in adults. It lasted."},
    {"title": "Safety", "abstract": "Cough was seen in patients. The throat was irritated."},
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write YESciEval's pair of files: ten questions with original and redundant answers."""
    names = [f"question-{n}" for n in range(10)]
    questions = [{"id": n, "question": "Does drug A help?", "papers": PAPERS} for n in names]
    rated = {rubric.title(): {"rating": 5, "rationale": "Good."} for rubric in load_rubrics()}
    rows = [
        {"question_id": n, "generator": "g", "variant": v, "target_rubric": t, "answer": a} | extra
        for n in names
        for v, t, a, extra in (
            ("benign", None, ANSWER, {"ratings": {"judge": rated}}),
            ("subtle", "Conciseness", REDUNDANT, {}),
            ("extreme", "Relevancy", f"{ANSWER} The match was lost.", {}),
        )
    ]
    folder = tmp_path_factory.mktemp("yescieval")
    for name, lines in (("t-questions.jsonl", questions), ("t-answers.jsonl", rows)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "t-answers.jsonl"
