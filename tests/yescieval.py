"""Synthetic answers in YESciEval's format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from jsonl import write_jsonl

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
    """Return ten questions with original and redundant answers, as a judge rated the original."""
    rated = {rubric.title(): {"rating": 5, "rationale": "Good."} for rubric in load_rubrics()}
    return write_answers(tmp_path_factory.mktemp("yescieval"), {"benign": {"judge": rated}})


def write_answers(folder: Path, ratings: Mapping[str, object]) -> Path:
    """Write YESciEval's pair of files with the judges' ratings of each variant."""
    names = [f"question-{n}" for n in range(10)]
    questions = [{"id": n, "question": "Does drug A help?", "papers": PAPERS} for n in names]
    write_jsonl(folder / "t-questions.jsonl", *questions)
    rows = [
        {"question_id": n, "generator": "g", "variant": v, "target_rubric": t, "answer": a}
        | ({"ratings": ratings[v]} if v in ratings else {})
        for n in names
        for v, t, a in (
            ("benign", None, ANSWER),
            ("subtle", "Conciseness", REDUNDANT),
            ("extreme", "Relevancy", f"{ANSWER} The match was lost."),
        )
    ]
    return write_jsonl(folder / "t-answers.jsonl", *rows)
