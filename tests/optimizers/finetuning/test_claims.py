"""Labelled claims: how files are read, which sentences a pair has, and contrary claims."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case
from jsonl import write_jsonl

from ragassay.errors import InputError
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.claims import (
    NOT_RELEVANT,
    Example,
    LabelledClaim,
    build_claim_examples,
    contradict,
    read_claims,
    reverse_label,
)


def read(tmp_path: Path, *rows: object) -> tuple[Any, Any]:
    return read_claims(write_jsonl(tmp_path / "claims.jsonl", *rows))


def test_rows_of_several_collections_are_read(tmp_path):
    abstract = {"title": "On A", "abstract": "A helps. It is cheap.", "evidence_sentences": [0]}
    claims, rejections = read(
        tmp_path,
        {"claim": "A helps.", "label": "SUPPORT", **abstract},
        {"claim": "B helps.", "evidence": "B harms.", "label": "Refutes"},
        {"claim": "C helps.", "sentences": ["Tea.", "Milk."], "label": "not_relevant"},
    )
    assert not rejections
    assert [c.label for c in claims] == [SUPPORTS, CONTRADICTS, NOT_RELEVANT]
    assert claims[0].sentences == ("A helps.", "It is cheap.") and claims[0].rationale == (0,)
    assert claims[0].title == "On A" and claims[2].sentences == ("Tea.", "Milk.")


def test_claims_that_share_a_document_or_a_text_are_of_one_group(tmp_path):
    rows = [("A.", "One."), ("B.", "One."), ("B.", "Two."), ("C.", "Three.")]
    made = ({"claim": c, "evidence": e, "label": "neutral"} for c, e in rows)
    groups = [c.group for c in read(tmp_path, *made)[0]]
    assert len(set(groups[:3])) == 1 and groups[3] not in groups[:3]


GOOD = {"claim": "A.", "evidence": "B.", "label": "neutral"}


@each_case(
    ("row", "field"),
    [
        ({"claim": "A.", "evidence": "B.", "label": "perhaps"}, "label"),
        ({"claim": "A.", "label": "neutral"}, "evidence"),
        ({"claim": "", "evidence": "B.", "label": "neutral"}, "claim"),
        ({**GOOD, "evidence_sentences": [1]}, "evidence_sentences"),
    ],
)
def test_a_bad_row_is_named_and_the_rest_is_read(row, field, tmp_path):
    claims, rejections = read(tmp_path, row, GOOD)
    assert len(claims) == 1
    assert [rejection.field for rejection in rejections] == [field]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl"):
        read_claims(tmp_path / "none.jsonl")


def test_of_a_long_document_sentences_that_people_marked_are_read_before_others():
    words = ("Iron", "Zinc", "Alpha", "Gold", "Lead", "Tin")
    sentences = tuple(f"{word} rose{' and rose' * 55}." for word in words)  # two or three are read
    claim = LabelledClaim("Alpha rose.", "", sentences, (5,), SUPPORTS, "g")
    (found,) = build_claim_examples([claim])
    assert "Tin rose" in found.passage
    assert "Alpha rose" in found.passage and found.passage.count("\n") == 2


def test_all_of_an_abstract_that_fits_is_read_below_its_title():
    sentences = tuple(f"{word} rose." for word in ("Iron", "Zinc", "Alpha", "Gold", "Lead"))
    claim = LabelledClaim("Alpha rose.", "Metals", sentences, (), SUPPORTS, "g")
    (found,) = build_claim_examples([claim])
    assert found.passage == "\n".join(["Metals.", *sentences])


def test_a_claim_beside_a_document_of_another_subject_is_neutral():
    claim = LabelledClaim("Alpha rose.", "", ("Gold fell.",), (), NOT_RELEVANT, "g")
    assert build_claim_examples([claim]) == [Example("Alpha rose.", "\nGold fell.", NEUTRAL)]


@pytest.mark.parametrize(
    ("sentence", "possible"),
    [
        ("Alpha gave higher pressure.", {"Alpha gave lower pressure."}),
        ("Reduced intake helps.", {"Elevated intake helps."}),
        ("Alpha is safe.", {"Alpha is unsafe.", "Alpha is not safe."}),
        ("Alpha was not tested.", {"Alpha was tested."}),
        ("Alpha helped 40 people.", {f"Alpha helped {n} people." for n in (4, 20, 80, 120, 400)}),
        # A number that is part of a name is none.
        ("IL-6 and B12 rose.", {None}),
        ("Alpha helps.", {None}),
    ],
)
def test_a_sentence_is_turned_against_what_bore_it_out(sentence, possible):
    found = {contradict(sentence, random.Random(seed)) for seed in range(40)}
    assert found == possible


def test_numbers_are_left_where_they_are_to_be():
    found = {
        contradict("Alpha was safe in 40 people.", random.Random(seed), numbers=False)
        for seed in range(20)
    }
    assert found == {"Alpha was unsafe in 40 people.", "Alpha was not safe in 40 people."}
    assert contradict("Alpha helped 40 people.", random.Random(0), numbers=False) is None


@pytest.mark.parametrize(
    ("text", "label", "turned"),
    [
        ("Alpha gave higher pressure.", SUPPORTS, ("Alpha gave lower pressure.", CONTRADICTS)),
        ("Alpha gave higher pressure.", CONTRADICTS, ("Alpha gave lower pressure.", SUPPORTS)),
        # That a document contradicts it does not yet mean that it says the negation.
        ("Alpha was tested.", CONTRADICTS, None),
        ("Alpha gave higher pressure.", NEUTRAL, None),
        ("Alpha helps.", SUPPORTS, None),
    ],
)
def test_a_claim_is_turned_over_with_its_label(text, label, turned):
    claim = LabelledClaim(text, "Title", ("One.",), (0,), label, "g")
    found = reverse_label(claim, random.Random(0))
    assert (found and (found.claim, found.label)) == turned
    kept = ("g", ("One.",), (0,))
    assert found is None or (found.group, found.sentences, found.rationale) == kept
