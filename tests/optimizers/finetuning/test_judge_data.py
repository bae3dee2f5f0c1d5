"""What a judge learns from: whole answers as rated, perturbed ones as they deserve it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragassay.agents.tuned_judge import find_named_sentences
from ragassay.optimizers.finetuning.examples import ChatExample
from ragassay.optimizers.finetuning.judge_data import N_UNPERTURBED, UNSEEN, build_judge_examples
from ragassay.optimizers.finetuning.judge_replies import HELD_OUT_PERCENT, is_held_out
from ragassay.perturbations import ATTACKS
from ragassay.prompts import load_rubrics
from ragassay.prompts.texts import list_sentence_numbers, load_rationales
from ragassay.records import MARKS
from ragassay.settings import load_settings


@pytest.fixture(scope="module")
def examples(answers) -> list[ChatExample]:
    """Return the examples of seed 0."""
    return build_judge_examples([answers], load_settings(evidence_rounds=0))


def reply(example: ChatExample) -> dict[str, Any]:
    return json.loads(example.reply)


@pytest.fixture(scope="module")
def ratings(examples) -> list[ChatExample]:
    return [example for example in examples if "rating" in reply(example)]


@pytest.fixture(scope="module")
def marks(examples) -> list[ChatExample]:
    return [example for example in examples if "mark" in reply(example)]


def named(example: ChatExample) -> tuple[int, ...]:
    return find_named_sentences(reply(example)["rationale"], {})


def test_no_answer_to_a_held_out_question_is_learnt_from(examples):
    held = [is_held_out(f"question-{n}") for n in range(2000)]
    assert abs(100 * sum(held) / 2000 - HELD_OUT_PERCENT) < 4
    assert held == [is_held_out(f"question-{n}") for n in range(2000)]
    groups = {example.group for example in examples}
    assert groups == {f"question-{n}" for n in range(10) if not is_held_out(f"question-{n}")}


def test_whole_answers_keep_the_rating_that_others_gave(ratings):
    whole = [e for e in ratings if e.kind.endswith("unperturbed")]
    assert len(whole) == N_UNPERTURBED * len({e.group for e in ratings})
    for example in whole:
        assert reply(example)["rating"] == 5 and not named(example)
        assert json.loads(example.rejected)["rating"] == 1


def test_damaged_answers_get_the_desired_rating_and_a_reason_that_names_sentences(ratings):
    damaged = [e for e in ratings if not e.kind.endswith("unperturbed")]
    extreme = [e for e in damaged if e.kind.endswith("extreme")]
    assert extreme and all(reply(e)["rating"] == 1 for e in extreme)
    assert all(reply(e)["rating"] <= 3 for e in damaged)
    assert all(json.loads(e.rejected)["rating"] == 5 for e in damaged)
    for example in damaged:
        for number in named(example):
            assert f"\n{number}. " in example.messages[-1][1]
    assert sum(bool(named(example)) for example in damaged) > len(damaged) / 2


def test_each_sentence_of_an_answer_is_marked_once(marks):
    prompts = [(example.group, example.messages) for example in marks]
    assert len(prompts) == len(set(prompts))
    said = {reply(example)["mark"] for example in marks}
    assert {"fine", "subject", "again", "judge"} <= said <= set(MARKS)
    for example in marks:
        worse = json.loads(example.rejected)["mark"]
        assert worse != reply(example)["mark"]
        if example.kind.endswith("unperturbed"):
            assert reply(example)["mark"] == "fine"


def test_a_rating_of_damage_is_told_what_was_seen(ratings):
    told = [
        example.messages[-1][1].split("\nmarks: ")[1]
        for example in ratings
        if "another subject" in reply(example)["rationale"]
    ]
    assert told and all(" subject" in marks for marks in told)


def test_what_leaves_no_trace_and_the_files_own_damage_are_not_learnt_from(examples, ratings):
    words = load_rationales().perturbed
    said = {reply(example)["rationale"] for example in ratings}
    assert not said & {words[attack] for attack in UNSEEN}
    assert not any("match was lost" in example.messages[-1][1] for example in examples)


def test_the_same_seed_draws_the_same_examples(answers, examples):
    settings = load_settings(evidence_rounds=0)
    again, other = (build_judge_examples([answers], settings, seed=seed) for seed in (0, 1))
    assert examples == again != other


def test_there_are_words_for_every_rubric_and_every_attack_that_is_learnt_from():
    words = load_rationales()
    assert set(words.unperturbed) == set(load_rubrics())
    learnt = {attack.name for attack in ATTACKS if attack.name != "retracted"}
    assert learnt <= set(words.perturbed)
    for attack in learnt:
        for sentences in ((3,), (3, 5), ()):
            assert "{" not in words.explain_perturbed(attack, sentences)


def test_sentences_are_named_in_words():
    words = load_rationales()
    assert list_sentence_numbers([8]) == "Sentence 8"
    assert list_sentence_numbers([3, 5, 6]) == "Sentences 3, 5 and 6"
    assert list_sentence_numbers([3, 5, 6, 9]) == "Sentences 3, 5, 6 and others"
    assert words.explain_perturbed("off_topic", [8]).startswith("Sentence 8 is ")
    assert words.explain_perturbed("repeat_all", [2, 4]).startswith("Sentences 2 and 4 say ")
    assert ": sentence 8 is " in words.explain_perturbed("drop_last_off_topic", [8])
    assert [words.explain_unperturbed("relevancy", rating) for rating in (5, 3, 2)] == [
        words.unperturbed["relevancy"].high,
        words.unperturbed["relevancy"].middle,
        words.unperturbed["relevancy"].low,
    ]
