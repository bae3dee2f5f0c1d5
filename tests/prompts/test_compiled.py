"""Files of compiled prompts: what they hold, and what of them is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragassay.errors import SettingsError
from ragassay.prompts.compiled import (
    CompiledPredictor,
    CompiledPrompt,
    hash_all_prompts,
    read_all_compiled,
    read_compiled,
)


def compiled(
    agent: str = "verifier", rubrics: tuple[str, ...] = (), says: str = "Compare.", **more
):
    fields = {
        "agent": agent,
        "rubrics": rubrics,
        "predictors": {"predict": CompiledPredictor(instructions=says)},
        "optimizer": "copro",
        "model": "openai/gpt-4.1-mini",
        "budget": 1,
        "n_train": 1,
        "n_dev": 1,
        "data_sha256": "d",
        "dev_sha256": "e",
        "before_sha256": "b",
        "after_sha256": "a",
        "is_better": True,
        "ragassay": "0",
    }
    return CompiledPrompt.model_validate(fields | more)


def written(path: Path, prompt: CompiledPrompt) -> Path:
    path.write_text(prompt.model_dump_json(), encoding="utf-8")
    return path


def test_what_is_written_comes_back_examples_included(tmp_path):
    demo = {"case": "About.", "facts": ("One.", "Two."), "sentence": "S.", "rating": 3}
    part = CompiledPredictor(instructions="List.", demos=(demo,))
    prompt = compiled("nugget_writer", predictors={"predict": part})
    assert read_compiled(written(tmp_path / "p.json", prompt)) == prompt


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"agent": None}, "agent"),
        ({"unknown": 1}, "unknown"),
        ({"predictors": {"predict": {"instructions": ""}}}, "predictors.predict.instructions"),
        ({"predictors": {"other": {"instructions": "x"}}}, "predictors"),
        ({"format": "ragassay-prompt-9"}, "format"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(tmp_path, change, named):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(compiled().model_dump(mode="json") | change), encoding="utf-8")
    with pytest.raises(SettingsError, match=rf"p\.json, field '{named}'"):
        read_compiled(path)


def test_a_file_that_is_none_is_refused_by_name(tmp_path):
    (tmp_path / "p.json").write_text("no JSON", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"p\.json"):
        read_compiled(tmp_path / "p.json")
    with pytest.raises(SettingsError, match=r"missing\.json cannot be read"):
        read_compiled(tmp_path / "missing.json")


def test_no_two_prompts_are_for_the_same_agent_and_rubric(tmp_path):
    first = written(tmp_path / "1.json", compiled())
    second = written(tmp_path / "2.json", compiled(says="Weigh."))
    with pytest.raises(
        SettingsError, match=r"1\.json and .*2\.json are both compiled prompts for verifier"
    ):
        read_all_compiled([first, second])
    cohesion = written(tmp_path / "3.json", compiled("rubric_judge", ("cohesion",)))
    both = written(tmp_path / "4.json", compiled("rubric_judge", ("relevancy", "cohesion")))
    other = written(tmp_path / "5.json", compiled("rubric_judge", ("relevancy",)))
    with pytest.raises(SettingsError, match="cohesion"):
        read_all_compiled([cohesion, both])
    assert len(read_all_compiled([first, cohesion, other])) == 3


def test_the_hash_follows_what_is_said_and_to_whom_and_nothing_else():
    prompt = compiled()
    assert prompt.sha256 == compiled(optimizer="gepa", n_dev=9).sha256
    others = [compiled(says="Weigh."), compiled("fact_lister"), compiled(rubrics=("cohesion",))]
    assert len({prompt.sha256, *(other.sha256 for other in others)}) == 4
    demo = CompiledPredictor(instructions="Compare.", demos=({"claim": "x"},))
    assert demo.sha256 != prompt.predictor.sha256


def test_the_hash_of_all_that_is_said_is_the_shipped_one_where_nothing_is_compiled():
    one, two = compiled(), compiled("fact_lister")
    assert hash_all_prompts("shipped", ()) == "shipped"
    assert hash_all_prompts("shipped", (one, two)) == hash_all_prompts("shipped", (two, one))
    assert hash_all_prompts("shipped", (one,)) != hash_all_prompts("shipped", (two,))


def test_the_stamp_says_what_it_was_chosen_by():
    assert compiled().fingerprint.before is None
    score = {"value": 0.5, "n": 4}
    one = {"metric": "macro-F1", "before": score, "after": score, "gain": score}
    fingerprint = compiled(comparisons=[one], is_better=False).fingerprint
    assert (
        fingerprint.metric,
        fingerprint.after and fingerprint.after.value,
        fingerprint.is_better,
    ) == (
        "macro-F1",
        0.5,
        False,
    )
