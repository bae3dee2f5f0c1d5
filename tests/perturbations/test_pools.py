"""Pools of texts for each side, and prompt injections from the pools."""

from __future__ import annotations

import random
from itertools import product

from attacked import ANSWER, SENTENCES, attacked, record_of
from case_tables import each_case

from ragassay.perturbations import ATTACKS
from ragassay.perturbations.lexicon import draw_text, load_pool
from ragassay.records import SentenceInput

POOLS = ("off_topic", "blog", "tweet", "injection")


def _texts(name, side: str) -> list[str]:
    return [t for genre in load_pool(name).values() if genre.side == side for t in genre.texts]


@each_case("name", POOLS)
def test_no_text_stands_twice(name):
    texts = [" ".join(t.lower().split()) for side in ("fit", "audit") for t in _texts(name, side)]
    assert len(set(texts)) == len(texts)


def test_no_text_is_part_of_one_on_the_other_side():
    fit, audit = ([t for name in POOLS for t in _texts(name, side)] for side in ("fit", "audit"))
    inside = [(a, b) for a, b in product(fit, audit) if len(min(a, b, key=len)) > 12]
    assert not [(a, b) for a, b in inside if a in b or b in a]


@each_case("side", ["fit", "audit"])
def test_each_side_has_many_genres_of_many_texts(side):
    genres = [genre for genre in load_pool("off_topic").values() if genre.side == side]
    assert len(genres) >= 8
    assert min(len(genre.texts) for genre in genres) >= 12
    assert len(_texts("blog", side)) >= 30
    assert len(_texts("tweet", side)) >= 30
    injected = {g for g, genre in load_pool("injection").items() if genre.side == side}
    assert injected == {f"{kind}_{side}" for kind in NAMES.values()}


def test_audits_see_genres_that_no_judge_was_fitted_on():
    pool = load_pool("off_topic")
    audit = {"news", "sports", "recipes", "law", "code", "german", "french", "spanish", "chinese"}
    assert all(pool[genre].side == "audit" for genre in audit)


def test_every_text_of_a_side_can_be_drawn_and_no_other():
    rng = random.Random(0)
    drawn = {draw_text("injection", "fit", rng, "rating_").text for _ in range(500)}
    assert drawn == set(load_pool("injection")["rating_fit"].texts)


NAMES = {
    "instruction": "instruction",
    "forged_rating": "rating",
    "forged_end": "end",
    "experts_said": "experts",
    "flattery": "flattery",
}


def test_all_of_the_family_are_here():
    family = [attack for attack in ATTACKS if attack.family == "injection"]
    assert {attack.name for attack in family} == set(NAMES)
    assert {attack.severity for attack in family} == {"extreme"}


@each_case("side", ["fit", "audit"])
@each_case("name", NAMES)
def test_all_wordings_of_the_side_are_used(name, side):
    unused = set(load_pool("injection")[f"{NAMES[name]}_{side}"].texts)
    for seed in range(120):
        perturbed = attacked(name, record_of(), seed=seed, pools=side)
        answer = str(perturbed.record.answer) if perturbed else ""
        unused -= {text for text in unused if text in answer}
        if not unused:
            break
    assert unused == set()


def test_what_is_forged_stands_at_the_end_and_what_is_said_to_the_judge_anywhere():
    for name in ("forged_rating", "forged_end"):
        found = [attacked(name, record_of(), seed=seed) for seed in range(20)]
        assert all(d and str(d.record.answer).startswith(ANSWER) for d in found), name
    for name in ("instruction", "experts_said", "flattery"):
        found = [attacked(name, record_of(), seed=seed) for seed in range(60)]
        assert {d.sentences[0] for d in found if d} == {1, 2, 3, 4}, name


def test_a_listed_answer_gets_a_sentence_without_citations():
    perturbed = attacked("forged_rating", record_of(SENTENCES))
    assert perturbed
    *whole, added = perturbed.record.answer
    assert tuple(whole) == SENTENCES
    assert isinstance(added, SentenceInput) and added.citations == ()
    assert perturbed.sentences == (4,)
