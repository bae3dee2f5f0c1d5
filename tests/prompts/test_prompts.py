"""Rubrics and prompts: complete, bounded, hashed."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from ragassay import prompts as surface
from ragassay.prompts import Prompts, Rubric, load_prompts, load_rubrics, prompts_sha256
from ragassay.records import ASSIGNMENTS, RELEVANCE_LABELS, VERDICTS

NAMES = (
    *("cohesion", "conciseness", "readability", "coherence", "integration", "relevancy"),
    *("correctness", "completeness", "informativeness"),
)


def test_rubrics_are_yescievals_nine_in_their_order() -> None:
    rubrics = load_rubrics()
    assert tuple(rubrics) == NAMES
    assert [r.group for r in rubrics.values()] == ["linguistic"] * 3 + ["logical"] * 3 + [
        "content"
    ] * 3


@pytest.mark.parametrize("name", NAMES)
def test_rubric_shows_its_question_and_five_levels_in_order(name: str) -> None:
    rubric = load_rubrics()[name]
    first, *levels = rubric.rendered().split("\n")
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
        *(rubric.rendered() for rubric in load_rubrics().values()),
    ]
    assert not [word for word in words if re.search(r"</?data", word)]


def test_hash_covers_prompts_and_rubrics(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = {prompts_sha256.__wrapped__()}
    for changed in ("agents.yaml", "rubrics.yaml"):
        with monkeypatch.context() as patch:
            patch.setattr("ragassay.prompts._text", lambda name, c=changed: f"{name}{name == c}")
            hashes.add(prompts_sha256.__wrapped__())
    assert len(hashes) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", found) for found in hashes)


def test_unknown_field_or_rating_is_refused() -> None:
    fields = load_rubrics()["cohesion"].model_dump()
    with pytest.raises(ValidationError):
        Rubric.model_validate(fields | {"weight": 2})
    with pytest.raises(ValidationError):
        Rubric.model_validate(fields | {"scale": fields["scale"] | {6: "Perfect."}})
    with pytest.raises(ValidationError):
        Rubric.model_validate(fields | {"scale": {1: "Bad.", 5: "Good."}})
    with pytest.raises(ValidationError):
        Prompts.model_validate(load_prompts().model_dump() | {"extra": "word"})


def test_surface_is_sorted_and_there() -> None:
    assert sorted(surface.__all__) == surface.__all__
    assert all(hasattr(surface, name) for name in surface.__all__)
