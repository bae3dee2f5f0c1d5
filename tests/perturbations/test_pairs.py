"""Damage to question-answer pairs."""

from __future__ import annotations

import random

import pytest
from case_tables import each_case

from ragassay.metrics.papers.sciqag import SourceNumbers, check_answer_numbers
from ragassay.perturbations.lexicon import load_pool
from ragassay.perturbations.numbers import WRONG
from ragassay.qa.audit import PAIR_ATTACKS, perturb_pair
from ragassay.records.inputs import QAPair
from ragassay.records.qa import RACAR
from ragassay.text.quantities import read_quantities
from ragassay.text.questions import find_context_marks

PAIR = QAPair(
    id="a.1",
    paper="a",
    question="How does zinc change the serum of rats?",
    answer="It raises the level from 4.4 to 6.6 mM of zinc. It does not change the weight. The "
    "rats were fed 5 mg for 120 min.",
)
PLAIN = QAPair(id="a.2", paper="a", question="Name a metal.", answer="Zinc.")
OTHERS = [
    QAPair(id="a.3", paper="a", question="Which bees dance in spring?", answer="Most."),
    QAPair(id="b.1", paper="b", question="How does zinc harm the serum?", answer="Not at all."),
    QAPair(id="c.1", paper="c", question="Which alloys survive molten glass?", answer="Few."),
]
SEEDS = range(20)


def test_every_dimension_has_an_attack():
    assert {attack.dimension for attack in PAIR_ATTACKS.values()} == set(RACAR)


@pytest.mark.parametrize("name", PAIR_ATTACKS)
def test_damage_is_seeded_and_changes_one_side_only(name: str):
    perturbed = [perturb_pair(PAIR, name, seed, OTHERS) for seed in SEEDS]

    assert perturbed == [perturb_pair(PAIR, name, seed, OTHERS) for seed in SEEDS]
    for one in perturbed:
        assert one is not None and one.id == PAIR.id and one.paper == PAIR.paper
        assert (one.question == PAIR.question) != (one.answer == PAIR.answer)


@pytest.mark.parametrize(
    "name", ["wrong_number", "points_to_paper", "half_answer", "contradiction"]
)
def test_damage_that_cannot_apply_is_none(name: str):
    assert perturb_pair(PLAIN, name, 0, OTHERS) is None


def test_a_wrong_number_is_not_the_answer_s():
    source = SourceNumbers.from_text(PAIR.answer)
    for seed in SEEDS:
        perturbed = perturb_pair(PAIR, "wrong_number", seed)
        assert perturbed is not None
        assert sum(not one.is_near for one in check_answer_numbers(perturbed.answer, source)) >= 1


def test_a_question_that_points_to_its_paper_stays_a_question():
    questions = {
        one.question for seed in SEEDS if (one := perturb_pair(PAIR, "points_to_paper", seed))
    }

    assert len(questions) > 5
    assert all(text.endswith("?") and "zinc change the serum" in text for text in questions)
    assert all(find_context_marks(text, "") for text in questions)


def test_a_question_that_points_to_its_paper_already_is_left():
    pointing = PAIR.model_copy(update={"question": "What does Figure 2 show?"})

    assert perturb_pair(pointing, "points_to_paper") is None


def test_half_an_answer_is_its_first_sentences_or_clauses():
    perturbed = perturb_pair(PAIR, "half_answer")
    single = PAIR.model_copy(
        update={"answer": "Nausea was common; two patients stopped the drug, and no patient died."}
    )
    halved = perturb_pair(single, "half_answer")

    assert perturbed and perturbed.answer == "It raises the level from 4.4 to 6.6 mM of zinc."
    assert halved and halved.answer == "Nausea was common."


def test_another_paper_s_question_shares_no_subject():
    questions = {
        one.question
        for seed in SEEDS
        if (one := perturb_pair(PAIR, "foreign_question", seed, OTHERS))
    }

    assert questions == {"Which alloys survive molten glass?"}


def test_without_other_papers_the_question_is_of_the_side_s_pool():
    for side in ("audit", "fit"):
        texts = {
            text
            for genre in load_pool("questions").values()
            if genre.side == side
            for text in genre.texts
        }
        drawn = {
            one.question
            for seed in range(200)
            if (one := perturb_pair(PAIR, "foreign_question", seed, side=side))
        }
        assert drawn == texts


def test_a_contradiction_keeps_the_answer_and_adds_an_opposite():
    added = {
        one.answer.removeprefix(PAIR.answer).strip()
        for seed in SEEDS
        if (one := perturb_pair(PAIR, "contradiction", seed))
    }

    assert "It changes the weight." in added
    assert all(text and text not in PAIR.answer for text in added)


def test_a_subordinate_clause_is_not_denied():
    pair = PAIR.model_copy(update={"answer": "Rats that were fed zinc, which was pure, grew."})

    assert perturb_pair(pair, "contradiction") is None


@each_case(
    ("way", "text", "allowed"),
    [
        ("scale", "It took 20 min.", {"It took 200 min.", "It took 2 min."}),
        ("scale", "It weighed 0.7 g.", {"It weighed 7 g.", "It weighed 0.07 g."}),
        ("scale", "It weighed 4.5 g.", {"It weighed 45 g.", "It weighed 0.45 g."}),
        ("exponent", "It was 10\u22122 M.", {f"It was 10\u2212{n} M." for n in (1, 3, 4, 5)}),
        ("exponent", "It was 5 g.", set()),
        ("unit", "It took 20 min.", {"It took 20 h.", "It took 20 s."}),
        ("unit", "It was 5 mM.", {"It was 5 \u00b5M."}),
        ("unit", "It was 5 mice.", set()),
        ("digit", "It was 0.7 g.", {f"It was 0.{n} g." for n in range(10) if n != 7}),
    ],
)
def test_a_number_is_made_wrong_as_named(way: str, text: str, allowed: set[str]):
    (one,) = [q for q in read_quantities(text) if not q.is_name]
    made = set()
    for seed in range(200):
        edit = WRONG[way](text, one, random.Random(seed))
        if edit:
            start, end, new = edit
            made.add(text[:start] + new + text[end:])

    assert made == allowed


def test_a_changed_digit_changes_the_value():
    for text in ("It took 1,205 days.", "It was 6.0 \u00d7 10\u22126 M.", "It took three days."):
        (one,) = [q for q in read_quantities(text) if not q.is_name]
        for seed in range(50):
            edit = WRONG["digit"](text, one, random.Random(seed))
            assert edit is not None
            start, end, new = edit
            (changed,) = [
                q for q in read_quantities(text[:start] + new + text[end:]) if not q.is_name
            ]
            assert changed.value != one.value
