"""The rater is fitted on perturbed answers, and on none to a held-out question."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.errors import InputError
from ragassay.evaluators.build_run import build_run
from ragassay.models.fitted_raters import SignalRater
from ragassay.optimizers.finetuning.judge_replies import DESIRED, is_held_out
from ragassay.prompts import load_rubrics
from ragassay.settings import load_settings
from training.rating import fit_rater
from training.rating_examples import examples_of


@pytest.mark.integration
def test_a_rater_comes_of_damaged_answers_to_questions_that_are_not_held_out(answers: Path):
    told: list[str] = []
    run = build_run(load_settings(only=("rubrics",), signals=True))
    examples = list(examples_of([answers], run, say=told.append))
    originals = {example.original for example in examples}
    assert originals and not any(is_held_out(name.split("/")[0]) for name in originals)
    assert len(told) == len(originals) < 10
    whole = [e for e in examples if e.kind == "unperturbed"]
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
    assert SignalRater.model_validate_json(rater.model_dump_json()) == rater
    assert fit_rater(examples, "made up").digest == rater.digest


def test_there_is_no_rater_of_nothing():
    with pytest.raises(InputError, match="held out"):
        fit_rater([], "nothing")
