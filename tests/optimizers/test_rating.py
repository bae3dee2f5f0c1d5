"""The rater is fitted on damaged answers, and on none to a held-out question."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragassay.errors import InputError
from ragassay.graphs.toolbox import Toolbox
from ragassay.models.signal_rater import rater_of
from ragassay.optimizers.rating import fit_rater
from ragassay.optimizers.rating_examples import DESIRED, examples_of
from ragassay.optimizers.signal_rating import is_held_out
from ragassay.prompts import load_rubrics
from ragassay.settings import load_settings

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


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """YESciEval's pair of files: ten questions, each with a whole and a redundant answer."""
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
    for name, lines in (("t-questions.jsonl", questions), ("t-answers.jsonl", rows)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path / "t-answers.jsonl"


@pytest.mark.integration
def test_a_rater_comes_of_damaged_answers_to_questions_that_are_not_held_out(answers: Path):
    told: list[str] = []
    tools = Toolbox.of(load_settings(only=("rubrics",)))
    examples = list(examples_of([answers], tools, say=told.append))
    originals = {example.original for example in examples}
    assert originals and not any(is_held_out(name.split("/")[0]) for name in originals)
    assert len(told) == len(originals) < 10
    whole = [e for e in examples if e.kind == "whole"]
    assert all(
        set(e.ratings.values()) == {5} and set(e.ratings) == set(load_rubrics()) for e in whole
    )
    redundant = [e for e in examples if e.attack == "redundant"]
    assert len(redundant) == len(whole)
    assert all(e.ratings == {"conciseness": DESIRED["rubric", "subtle"]} for e in redundant)
    # Of the file's own damage only the redundant answers are looked at.
    assert not any("match was lost" in str(e) for e in examples)

    rater = fit_rater(examples, "made up")
    assert set(rater.rubrics) == set(load_rubrics())
    assert rater_of(rater.model_dump_json()) == rater
    assert fit_rater(examples, "made up").digest == rater.digest


def test_there_is_no_rater_of_nothing():
    with pytest.raises(InputError, match="held out"):
        fit_rater([], "nothing")
