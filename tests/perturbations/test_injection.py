"""Text that talks to the judge."""

from __future__ import annotations

import pytest
from attacked import ANSWER, SENTENCES, attacked, record_of
from case_tables import each_case

from ragassay.perturbations import ATTACKS
from ragassay.perturbations.lexicon import load_pool
from ragassay.records import SentenceInput

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


@pytest.mark.parametrize("name", ["forged_rating", "forged_end"])
def test_what_is_forged_stands_at_the_end(name):
    for seed in range(20):
        perturbed = attacked(name, record_of(), seed=seed)
        assert perturbed and str(perturbed.record.answer).startswith(ANSWER)


@pytest.mark.parametrize("name", ["instruction", "experts_said", "flattery"])
def test_what_is_said_to_the_judge_stands_anywhere(name):
    found = [attacked(name, record_of(), seed=seed) for seed in range(60)]
    assert {d.sentences[0] for d in found if d} == {1, 2, 3, 4}


def test_a_listed_answer_gets_a_sentence_without_citations():
    perturbed = attacked("forged_rating", record_of(SENTENCES))
    assert perturbed
    *whole, added = perturbed.record.answer
    assert tuple(whole) == SENTENCES
    assert isinstance(added, SentenceInput) and added.citations == ()
    assert perturbed.sentences == (4,)
