"""The scripted model's made-up replies and log-probabilities, without a server."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Literal

import jsonschema
import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from ragassay.errors import InputError
from ragassay.testing import default_reply
from ragassay.testing.chat_completions import build_logprobs, tokenise
from ragassay.testing.replies import build_instance, build_sentence

QUESTION = "Does low-dose aspirin lower the risk of a first stroke in people over 70?"


class Judgement(BaseModel):
    """What a judge is usually asked for."""

    score: int = Field(ge=1, le=5)
    label: Literal["supports", "contradicts"]
    reason: str = Field(max_length=40)
    confidence: float = Field(gt=0, lt=1)
    quote: str | None = None


class Judgements(BaseModel):
    """Nested, with definitions."""

    items: list[Judgement] = Field(min_length=2, max_length=4)
    by_label: dict[str, int]
    pair: tuple[int, str]
    done: bool


class Tree(BaseModel):
    """Refers to itself."""

    name: str
    children: list[Tree]
    twin: Tree | None


SCHEMAS: dict[str, Mapping[str, object]] = {
    "judgement": Judgement.model_json_schema(),
    "nested": Judgements.model_json_schema(),
    "recursive": Tree.model_json_schema(),
    "const": {"const": {"a": [1, None]}},
    "several types": {"type": ["integer", "null"]},
    "one of": {"oneOf": [{"type": "boolean"}, {"type": "integer", "minimum": 3}]},
    "all of": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
            {"properties": {"b": {"enum": [1, "x", None]}}, "required": ["b"]},
        ]
    },
    "distinct": {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": True},
    "empty list": {"type": "array", "items": {"type": "string"}, "maxItems": 0},
    "exclusive": {"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 4},
    "negative": {"type": "integer", "maximum": -7},
    "multiple": {"type": "integer", "minimum": 10, "maximum": 31, "multipleOf": 7},
    "tenths": {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.1},
    "long string": {"type": "string", "minLength": 300, "maxLength": 310},
    "date": {"type": "string", "format": "date"},
    "named keys": {"type": "object", "minProperties": 2},
    "whole schema": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {}]}}},
    "anything": {},
}


@each_case("name", SCHEMAS)
@each_case("seed", ["a", "b", "c"])
def test_an_instance_is_valid_under_its_schema(name, seed):
    instance = build_instance(SCHEMAS[name], QUESTION, seed)
    jsonschema.validate(json.loads(json.dumps(instance)), SCHEMAS[name])


@given(low=st.integers(-50, 50), width=st.integers(0, 30), seed=st.text(max_size=5))
def test_whole_numbers_stay_within_their_bounds(low, width, seed):
    schema = {"type": "integer", "minimum": low, "maximum": low + width}
    assert low <= build_instance(schema, "", seed) <= low + width


def test_every_value_of_a_scale_comes_up():
    schema = Judgement.model_json_schema()
    seen = {build_instance(schema, QUESTION, str(seed))["score"] for seed in range(100)}
    assert seen == {1, 2, 3, 4, 5}


@each_case(
    ("schema", "complaint"),
    [
        ({"type": "string", "pattern": "^a+$"}, "pattern"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "no integer"),
        ({"type": "number", "minimum": 3, "maximum": 2}, "no number"),
        ({"$ref": "#/$defs/Missing"}, "has no target"),
        ({"$ref": "https://example.org/schema"}, "not local"),
        ({"$ref": "#"}, "infinitely recursive"),
        ({"properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "infinitely recursive"),
        ({"properties": {"a": False}}, "not a satisfiable schema"),
        ({"enum": []}, "no options to choose"),
        ({"items": {"const": 1}, "minItems": 2, "uniqueItems": True}, "cannot generate 2 items"),
    ],
)
def test_a_schema_that_cannot_be_filled_is_named(schema, complaint):
    with pytest.raises(InputError, match=complaint):
        build_instance(schema, QUESTION, "seed")


def test_a_sentence_quotes_the_text_letter_for_letter():
    quoted = build_sentence(QUESTION, "seed").split('"')[1]
    assert quoted in QUESTION
    assert len(quoted.split()) >= 4


def test_a_sentence_about_nothing_says_so():
    assert build_sentence(" ... ", "seed") == "There is nothing to quote."


def test_the_default_reply_follows_the_messages_and_the_schema():
    one = [{"role": "user", "content": QUESTION}]
    other = [{"role": "user", "content": [{"type": "text", "text": "Is zinc of any use?"}]}]
    assert default_reply(one, None) == default_reply(one, None)
    assert default_reply(one, None) != default_reply(other, None)
    assert "zinc" in default_reply(other, None)
    reply = json.loads(default_reply(one, {"type": "object"}))
    assert set(reply) == {"reply"}


def test_the_default_reply_never_changes():
    # Other test suites may rest on it: a change here is one to write into the change log.
    messages = [{"role": "user", "content": QUESTION}]
    schema = {"properties": {"score": SCHEMAS["negative"], "why": {"type": "string"}}}
    assert default_reply(messages, schema) == (
        '{"score":-9,"why":"The text says \\"the risk of a first stroke\\"."}'
    )


@given(st.text())
def test_the_tokens_joined_are_the_text(text):
    assert "".join(tokenise(text)) == text


@given(
    text=st.text(alphabet='{}":score 0123456789.é', max_size=40),
    n_top=st.integers(0, 20),
    seed=st.text(max_size=3),
)
def test_top_logprobs_are_sorted_probabilities_that_start_with_the_token(text, n_top, seed):
    for entry in build_logprobs(text, n_top, seed)["content"]:
        top = entry["top_logprobs"]
        assert len(top) == len({one["token"] for one in top}) == n_top
        logprobs = [one["logprob"] for one in top]
        assert logprobs == sorted(logprobs, reverse=True)
        assert sum(map(math.exp, logprobs)) <= 1 + 1e-9
        if top:
            assert top[0]["token"] == entry["token"]
            assert top[0]["logprob"] == entry["logprob"]


@given(rating=st.sampled_from("12345"), seed=st.text(max_size=5))
def test_a_rating_has_a_distribution_over_the_scale(rating, seed):
    (entry,) = build_logprobs(rating, 5, seed)["content"]
    probabilities = {one["token"]: math.exp(one["logprob"]) for one in entry["top_logprobs"]}
    assert set(probabilities) == set("12345")
    assert sum(probabilities.values()) == pytest.approx(1.0)
    assert max(probabilities, key=lambda token: probabilities[token]) == rating
