"""Damage to question-answer pairs."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from case_tables import each_case

from ragassay.metrics.papers.sciqag import SourceNumbers, check_answer_numbers
from ragassay.perturbations import Side
from ragassay.perturbations.lexicon import load_pool
from ragassay.perturbations.numbers import WRONG
from ragassay.qa.audit import PAIR_ATTACKS, perturb_pair
from ragassay.records.inputs import QAPair
from ragassay.records.qa import RACAR
from ragassay.text.quantities import Quantity, read_quantities
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


def perturb_often(name: str, others: Sequence[QAPair] = ()) -> list[QAPair]:
    """Perturb the pair with each seed, and return the pairs that changed."""
    found = (perturb_pair(PAIR, name, seed, others) for seed in SEEDS)
    return [one for one in found if one]


@each_case("name", PAIR_ATTACKS)
def test_damage_is_seeded_and_changes_one_side_only(name: str):
    perturbed = perturb_often(name, OTHERS)
    assert len(perturbed) == len(SEEDS) and perturbed == perturb_often(name, OTHERS)
    for one in perturbed:
        assert one.id == PAIR.id and one.paper == PAIR.paper
        assert (one.question == PAIR.question) != (one.answer == PAIR.answer)


CLAUSE = "Rats that were fed zinc, which was pure, grew."


@each_case(
    ("name", "pair"),
    [
        *((name, PLAIN) for name in ("wrong_number", "points_to_paper")),
        *((name, PLAIN) for name in ("half_answer", "contradiction")),
        ("points_to_paper", PAIR.model_copy(update={"question": "What does Figure 2 show?"})),
        # A subordinate clause is not denied.
        ("contradiction", PAIR.model_copy(update={"answer": CLAUSE})),
    ],
)
def test_damage_that_cannot_apply_is_none(name: str, pair: QAPair):
    assert perturb_pair(pair, name, 0, OTHERS) is None


def test_a_wrong_number_is_not_the_answer_s():
    source = SourceNumbers.from_text(PAIR.answer)
    for perturbed in perturb_often("wrong_number"):
        assert not all(one.is_near for one in check_answer_numbers(perturbed.answer, source))


def test_a_question_that_points_to_its_paper_stays_a_question():
    questions = {one.question for one in perturb_often("points_to_paper")}
    assert len(questions) > 5
    assert all(text.endswith("?") and "zinc change the serum" in text for text in questions)
    assert all(find_context_marks(text, "") for text in questions)


@each_case(
    ("answer", "half"),
    [
        (PAIR.answer, "It raises the level from 4.4 to 6.6 mM of zinc."),
        (
            "Nausea was common; two patients stopped the drug, and no patient died.",
            "Nausea was common.",
        ),
    ],
)
def test_half_an_answer_is_its_first_sentences_or_clauses(answer: str, half: str):
    perturbed = perturb_pair(PAIR.model_copy(update={"answer": answer}), "half_answer")
    assert perturbed and perturbed.answer == half


def test_another_paper_s_question_shares_no_subject():
    questions = {one.question for one in perturb_often("foreign_question", OTHERS)}
    assert questions == {"Which alloys survive molten glass?"}


@each_case("side", ["audit", "fit"])
def test_without_other_papers_the_question_is_of_the_side_s_pool(side: Side):
    genres = [genre for genre in load_pool("questions").values() if genre.side == side]
    drawn = (perturb_pair(PAIR, "foreign_question", seed, side=side) for seed in range(200))
    texts = {text for genre in genres for text in genre.texts}
    assert {one.question for one in drawn if one} == texts


def test_a_contradiction_keeps_the_answer_and_adds_an_opposite():
    found = perturb_often("contradiction")
    added = {one.answer.removeprefix(PAIR.answer).strip() for one in found}
    assert "It changes the weight." in added
    assert all(text and text not in PAIR.answer for text in added)


def read_number(text: str) -> Quantity:
    (number,) = [one for one in read_quantities(text) if not one.is_name]
    return number


def make_wrong(way: str, text: str, seeds: Iterable[int]) -> set[str]:
    made = set()
    for seed in seeds:
        if edit := WRONG[way](text, read_number(text), random.Random(seed)):
            start, end, new = edit
            made.add(text[:start] + new + text[end:])
    return made


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
    assert make_wrong(way, text, range(200)) == allowed


def test_a_changed_digit_changes_the_value():
    for text in ("It took 1,205 days.", "It was 6.0 \u00d7 10\u22126 M.", "It took three days."):
        for seed in range(50):
            (changed,) = make_wrong("digit", text, [seed])
            assert read_number(changed).value != read_number(text).value
