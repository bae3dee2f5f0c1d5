"""Rubrics and prompts: complete, bounded, hashed."""

from __future__ import annotations

import re

import pytest
from case_tables import each_case
from pydantic import ValidationError

from ragassay import prompts as surface
from ragassay.prompts import (
    RUBRIC_SETS,
    STRATEGIES,
    Prompts,
    Rubric,
    hash_prompts,
    load_prompts,
    load_rubrics,
)
from ragassay.prompts.rubrics import RUBRIC_FILES
from ragassay.records import ASSIGNMENTS, RELEVANCE_LABELS, VERDICTS

NAMES = (
    *("cohesion", "conciseness", "readability", "coherence", "integration", "relevancy"),
    *("correctness", "completeness", "informativeness"),
)

ALL_RUBRICS = {
    f"{name}.{rubric.name}": rubric
    for name in RUBRIC_SETS
    for rubric in load_rubrics(name).values()
}


def test_rubrics_are_yescievals_nine_in_their_order() -> None:
    rubrics = load_rubrics()
    assert tuple(rubrics) == NAMES
    assert [r.group for r in rubrics.values()] == ["linguistic"] * 3 + ["logical"] * 3 + [
        "content"
    ] * 3


@each_case("name", NAMES)
def test_rubric_shows_its_question_and_five_levels_in_order(name: str) -> None:
    rubric = load_rubrics()[name]
    first, *levels = rubric.render().split("\n")
    assert rubric.name == name
    assert first == f"{name}. {rubric.question}"
    assert [level[:3] for level in levels] == ["1: ", "2: ", "3: ", "4: ", "5: "]
    assert len({level[3:] for level in levels}) == 5


@pytest.mark.parametrize(
    ("agent", "labels"),
    [
        ("sentence_labeller", RELEVANCE_LABELS),
        ("verifier", VERDICTS),
        ("nugget_assigner", ASSIGNMENTS),
        ("importance_scorer", ("vital", "okay")),
    ],
)
def test_every_label_is_defined_where_it_is_asked_for(agent: str, labels: tuple[str, ...]) -> None:
    task = load_prompts().agents[agent].task
    assert all(f"{label}:" in task for label in labels)


def test_no_word_of_ours_looks_like_a_fence() -> None:
    prompts = load_prompts()
    words = [
        *prompts.context.model_dump().values(),
        *(agent.task for agent in prompts.agents.values()),
        *(word for agent in prompts.agents.values() for word in agent.additions.values()),
        *(r.render(s) for r in ALL_RUBRICS.values() for s in STRATEGIES),
        *(rubric.render_examples() for rubric in ALL_RUBRICS.values()),
    ]
    assert not [word for word in words if re.search(r"</?data", word)]


def test_hash_covers_prompts_and_rubrics(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = {hash_prompts.__wrapped__()}
    files = ("agents.yaml", *RUBRIC_FILES.values())
    for changed in files:
        with monkeypatch.context() as patch:
            patch.setattr(
                "ragassay.prompts.read_prompt_file", lambda name, c=changed: f"{name}{name == c}"
            )
            hashes.add(hash_prompts.__wrapped__())
    assert len(hashes) == 1 + len(files) == 5
    assert all(re.fullmatch("[0-9a-f]{64}", found) for found in hashes)


def test_sets_have_their_rubrics_and_scales() -> None:
    assert {name: rubric.bounds for name, rubric in load_rubrics("summeval").items()} == {
        "coherence": (1, 5),
        "consistency": (1, 5),
        "fluency": (1, 5),
        "relevance": (1, 5),
    }
    assert {name: rubric.bounds for name, rubric in load_rubrics("usr").items()} == {
        "understandable": (0, 1),
        "natural": (1, 3),
        "maintains_context": (1, 3),
        "interesting": (1, 3),
        "uses_knowledge": (0, 1),
        "overall": (1, 5),
    }
    assert all(rubric.bounds == (1, 5) for rubric in load_rubrics().values())


@each_case("key", ALL_RUBRICS)
def test_examples_are_one_of_the_highest_and_one_of_the_lowest_rating(key: str) -> None:
    rubric = ALL_RUBRICS[key]
    high, low = rubric.render_examples().split("\n\n")
    assert f"rating: {rubric.bounds[1]}\nreason: " in high
    assert f"rating: {rubric.bounds[0]}\nreason: " in low
    assert high.partition("rating: ")[0] != low.partition("rating: ")[0]


@each_case("key", ALL_RUBRICS)
def test_zero_shot_shows_name_and_range_and_no_definition(key: str) -> None:
    rubric = ALL_RUBRICS[key]
    low, high = rubric.bounds
    shown = rubric.render("zero_shot")
    assert shown.startswith(f"{rubric.title}.")
    assert shown.endswith(f"\n{low}: lowest\n{high}: highest")
    assert rubric.question not in shown
    assert not [text for text in rubric.scale.values() if text in shown]
    assert rubric.about in shown


def test_unknown_field_or_rating_is_refused() -> None:
    fields = load_rubrics()["cohesion"].model_dump()
    with pytest.raises(ValidationError):
        Rubric.model_validate(fields | {"weight": 2})
    with pytest.raises(ValidationError):
        Rubric.model_validate(fields | {"scale": fields["scale"] | {6: "Perfect."}})
    with pytest.raises(ValidationError):
        Rubric.model_validate(fields | {"examples": fields["examples"][::-1]})
    with pytest.raises(ValidationError):
        Rubric.model_validate(fields | {"scale": {1: "Bad.", 5: "Good."}})
    with pytest.raises(ValidationError):
        Prompts.model_validate(load_prompts().model_dump() | {"extra": "word"})


def test_surface_is_sorted_and_there() -> None:
    # Constants come first, as ruff sorts.
    names = sorted(surface.__all__, key=lambda name: (not name.isupper(), name))
    assert names == surface.__all__
    assert all(hasattr(surface, name) for name in surface.__all__)
