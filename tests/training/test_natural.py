"""Claims that people labelled are read, measured and bounded, on made-up data."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from case_tables import each_case
from fakes import WordEmbedder

from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.records import Document
from training.natural import (
    NaturalClaim,
    PairRow,
    has_other_value,
    measure,
    measure_set,
    read_expertqa,
    read_rows,
)
from training.natural_bounds import (
    LEANS,
    decided_held_out,
    fit,
    fit_support,
    halves,
    is_right,
    least_cosine_of,
    verdicts,
)

ANSWER = {
    "id": "one",
    "question": "Does alpha help?",
    "sources": [{"id": "1", "text": "Alpha lowers pressure."}, {"id": "2", "text": " "}],
    "claims": [
        {"claim": "Alpha lowers pressure [1, 2].", "markers": [1, 2], "support": "Complete"},
        {"claim": "Alpha cures all [1].", "markers": ["1"], "support": "Incomplete"},
        {"claim": "Beta helps [2].", "markers": ["2"], "support": "Complete"},
        {"claim": "Gamma helps [1].", "markers": ["1"], "support": "Unsure"},
    ],
}


class Sure:
    name, digest, bounds = "sure", "", ()

    def predict_probabilities(self, pairs):
        return np.array([[0.7, 0.2, 0.1] for _ in pairs])


@pytest.fixture
def shared(tmp_path) -> Path:
    folder = tmp_path / "data" / "expertqa"
    folder.mkdir(parents=True)
    with gzip.open(folder / "dev.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(ANSWER) + "\n")
    return tmp_path


def test_claims_with_a_label_and_a_source_with_a_text_are_read(shared):
    found = list(read_expertqa(shared))
    assert [(one.text, one.label) for one in found] == [
        ("Alpha lowers pressure .", "supports"),
        ("Alpha cures all .", "incomplete"),
    ]
    assert [source.id for source in found[0].sources] == ["1"]
    assert {one.group for one in found} == {ANSWER["question"]}


@pytest.fixture
def verifier() -> EncoderVerifier:
    return EncoderVerifier(Sure(), WordEmbedder(), by_rule=True)


def test_a_claim_is_measured_with_each_of_its_sources(verifier):
    text, found = "Alpha does lower pressure.", []
    for source in ("Beta is old. Alpha does not lower pressure.", text):
        claim = NaturalClaim("c", "q", text, (Document(id="1", text=source),), "supports")
        found += measure(claim, verifier, WordEmbedder())
    other, same = found
    # A negation differs: the verifier leans to support, and does not say so.
    assert (other.verdict, other.is_asserted, other.turned) == ("supports", False, True)
    assert (other.supports, other.words) == (0.7, 1.0)
    assert (same.is_asserted, same.turned) == (True, False)
    assert same.cosine == pytest.approx(1.0)


def test_what_is_measured_already_is_not_measured_again(shared, verifier):
    measure_set(shared, "expertqa", shared, verifier, WordEmbedder())
    first = read_rows(shared, "expertqa")
    assert [[row.label for row in rows] for rows in first] == [["supports"], ["incomplete"]]
    path = shared / "expertqa.jsonl"
    path.write_text(path.read_text("utf-8").splitlines(keepends=True)[0], encoding="utf-8")
    measure_set(shared, "expertqa", shared, verifier, WordEmbedder())
    assert read_rows(shared, "expertqa") == first


@pytest.mark.parametrize(("number", "is_other"), [("2.9", True), ("1.9", False)])
def test_another_value_of_a_number_is_found_by_rule(number, is_other):
    text, source = (f"Alpha shortened the stay by {days} days." for days in (number, "1.9"))
    assert has_other_value(LabelledClaim(text, "", (source,), (), 1, "g")) == is_other


NUMBER = "the source says 2, the answer 5"
names = itertools.count()


COMMON = {
    "confidence": 0.97,
    "is_asserted": True,
    "difference": "'more', where the source has 'less'",
    "turned": False,
    "supports": 0.9,
    "words": 0.5,
    "cosine": 0.9,
}


def row(label: str, verdict: str = "contradicts", **given: object) -> PairRow:
    """Return a row of a claim and a question of its own."""
    own = {"claim": str(next(names)), "group": str(next(names)), "label": label}
    return PairRow(**(COMMON | own | {"verdict": verdict} | given))


def claims(n_right: int, n_wrong: int, **given: object) -> list[list[PairRow]]:
    right = [[row("contradicts", **given)] for _ in range(n_right)]
    return [*right, *([row("supports", **given)] for _ in range(n_wrong))]


def test_on_expertqa_all_that_is_not_complete_is_right_against_a_claim():
    assert is_right(row("partial"), "contradicts") and is_right(row("incomplete"), "neutral")
    assert not is_right(row("partial"), "supports")
    assert is_right(row("neutral"), "neutral") and not is_right(row("neutral"), "contradicts")


def test_what_is_about_something_else_is_right_where_nothing_is_said_for_or_against():
    assert is_right(row("neutral"), "not_relevant") and is_right(row("incomplete"), "not_relevant")
    for label in ("partial", "contradicts", "supports"):
        assert not is_right(row(label), "not_relevant")


def test_a_claim_counts_once_by_its_surest_verdict_and_a_tentative_one_not_at_all():
    pair = [row("supports", confidence=0.7), row("supports", confidence=0.9)]
    open_ones = [row("supports", is_asserted=False)]
    number = [row("supports", difference=NUMBER)]
    found = verdicts([pair, open_ones, number], "contradicts", "words")
    assert [one.confidence for one in found] == [0.9]
    assert verdicts([pair, open_ones, number], "contradicts", "number") == number
    assert verdicts([pair, open_ones, number], "contradicts", "tentative") == open_ones


@each_case(
    ("n_right", "n_wrong", "leads"),
    [
        # P(Bin(40, .3) <= 2) is far below .05 / 4.
        (38, 2, True),
        # .75 right: more than .7 may be, .8 is not.
        (300, 100, False),
        # Right, but too few to be sure of more than .7: .7 ** 11 > .05 / 4.
        (11, 0, False),
        (3, 9, False),
    ],
)
def test_a_kind_of_finding_leads_only_where_it_is_right_often_enough(n_right, n_wrong, leads):
    bound = fit({"expertqa": claims(n_right, n_wrong)}, "contradicts", "words", "finding")
    assert (bound.threshold is not None, bound.is_tested) == (leads, True)
    # What was measured is said of both.
    assert bound.precision == pytest.approx(n_right / (n_right + n_wrong), abs=1e-4)
    assert bound.n_measured == n_right + n_wrong and bound.data == "ExpertQA (dev)"
    assert bound.low is not None and bound.low < bound.precision


def test_the_strictest_set_counts():
    sets = {"scifact": claims(60, 0), "expertqa": claims(4, 8)}
    bound = fit(sets, "contradicts", "words", "finding")
    assert (bound.threshold, bound.data) == (None, "ExpertQA (dev)")
    # A set with few of them decides nothing alone.
    sets["expertqa"] = claims(1, 2)
    assert fit(sets, "contradicts", "words", "finding").data == "SciFact (held out)"


def test_with_too_few_nothing_leads_or_is_decided_and_the_bound_says_so():
    few = {"expertqa": claims(3, 0, difference=NUMBER)}
    for level in ("verdict", "finding"):
        bound = fit(few, "contradicts", "number", level)
        assert (bound.threshold, bound.is_tested, bound.coverage) == (None, False, 0)
        assert (bound.n, bound.n_measured, bound.precision) == (3, 3, 1.0)
        assert not bound.admits(1.0)
    nothing = fit({"expertqa": []}, "contradicts", "number", "verdict")
    assert (nothing.threshold, nothing.precision, nothing.n) == (None, None, 0)


def answers(n: int, cosine: float, share: float) -> list[list[PairRow]]:
    labels = ["supports"] * round(n * share) + ["incomplete"] * (n - round(n * share))
    return [[row(label, "supports", cosine=cosine)] for label in labels]


def test_the_cosine_of_support_decides_a_third_without_a_look_at_labels():
    rows = [*answers(40, 0.8, 0.9), *answers(20, 0.7, 0.5), *answers(60, 0.3, 0.5)]
    bound = fit_support(rows)
    # 40 of 120 are a third: at .8, the highest step up to it, they are decided.
    assert (bound.threshold, bound.least_cosine) == (LEANS, 0.8)
    assert (bound.precision, bound.n_measured, bound.n) == (0.9, 40, 120)
    assert bound.coverage == pytest.approx(1 / 3, abs=1e-4)
    assert bound.data == "ExpertQA (dev), held out"
    bound = fit_support([*rows, *answers(10, 0.1, 1)])
    assert bound.least_cosine == 0.7


def test_the_precision_of_support_is_held_out_by_question():
    # Each question's claims are decided by the least cosine of the other questions: of two, by .8,
    # which none of the claims at .7 has, and by .7, which all of those at .8 have.
    high = [row("supports", "supports", cosine=0.8, group="a") for _ in range(3)]
    low = [row("incomplete", "supports", cosine=0.7, group="b") for _ in range(3)]
    assert decided_held_out([[one] for one in (*high, *low)]) == [True] * 3
    assert least_cosine_of([[one] for one in (*high, *low)]) == 0.8


@pytest.mark.parametrize("objection", [{"supports": LEANS - 0.01}, {"turned": True}])
def test_verifier_and_rules_can_object_to_a_close_sentence(objection):
    objected = [
        [dataclasses.replace(pair[0], **({"label": "incomplete"} | objection))]
        for pair in answers(20, 0.9, 1)
    ]
    bound = fit_support([*answers(20, 0.9, 1), *objected])
    assert (bound.precision, bound.coverage) == (1.0, 0.5)


def test_nothing_supports_where_too_few_of_a_third_are_right():
    bound = fit_support([*answers(20, 0.9, 0.8), *answers(20, 0.2, 0.5)])
    assert (bound.threshold, bound.least_cosine, bound.precision) == (None, 0.9, 0.8)
    assert not bound.admits(1.0, 1.0)


def test_claims_are_halved_by_question():
    pairs = [[row("supports", group=group)] for group in "aabbcd"]
    one, other = halves(pairs)
    assert [rows[0].group for rows in one] == list("aabb")
    assert [rows[0].group for rows in other] == list("cd")
