"""Sentence boundaries in biomedical prose."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st
from text.sentence_cases import CASES

from ragassay.text.sentence_rules import JOINS, SPLITS, BoundaryRule
from ragassay.text.sentences import split_sentences


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def misread(cases: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return the cases that are split otherwise than at "|", each with its sentences."""
    pairs = [(case, split(case.replace("|", ""))) for case in cases]
    return [(c, found) for c, found in pairs if found != [part.strip() for part in c.split("|")]]


@each_case("kind", CASES)
def test_sentences_end_where_they_do(kind: str) -> None:
    assert misread(CASES[kind]) == []


@each_case("rule", [*SPLITS, *JOINS])
def test_a_rule_does_what_its_examples_show(rule: BoundaryRule) -> None:
    assert misread(rule.examples) == []


@each_case("rule", [*SPLITS, *JOINS])
def test_a_rule_is_needed(rule: BoundaryRule, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, rules in (("SPLITS", SPLITS), ("JOINS", JOINS)):
        rest = tuple(one for one in rules if one is not rule)
        monkeypatch.setattr(f"ragassay.text.sentences.{name}", rest)
    assert misread([*rule.examples, *(case for cases in CASES.values() for case in cases)])


@each_case(
    "text",
    [
        "The dose was approx. 5 mg daily.",
        "The dose was approx. Half of the old one.",
        "Vit. D was given.",
        "As Dr. Smith said, it works.",
        "The drug was given i.v. every day.",
        "Smith et al. (2015) reported this.",
        "See Fig. 2 and Figs. S1 and 3 for the data.",
        "A was better than B (A vs. B).",
        "Lactobacillus spp. were found.",
        "Case No. 5 died.",
        "E. coli grew in the medium.",
        "It was significant at p < .05 in both.",
        "It was kept at 37 \u00b0C for a day.",
        "It took 5 wk. in adults.",
        "Eq. 4 and Tab. 5 show it.",
        "Given e.g. aspirin, i.e. a salicylate, it fell.",
        "1. First item.",
    ],
)
def test_abbreviation_does_not_end_a_sentence(text: str) -> None:
    assert split(text) == [text]
    assert split(f"{text} The next one followed.") == [text, "The next one followed."]


@pytest.mark.parametrize(
    "text",
    [
        "Bacteria were Lactobacillus spp. The drug worked.",
        "It was kept at 37 \u00b0C. The cells grew.",
        "It was significant (p < .05). The other was not.",
        "He gave 5 mg. 5 patients died.",
        "They had hepatitis B. The next group had none.",
        "It grew! It shrank?",
        "p53 fell. mRNA rose.",
    ],
)
def test_two_sentences_stay_two(text: str) -> None:
    assert len(split(text)) == 2


def test_list_numbers_go_with_their_items() -> None:
    assert split("1. It grew. 2. It shrank.") == ["1. It grew.", "2. It shrank."]


def test_paragraphs_are_never_joined() -> None:
    assert split("approx.\n\n5 mg were given.") == ["approx.", "5 mg were given."]


def test_a_name_with_a_full_stop_is_one_word() -> None:
    assert len(split("The histone H2A.Z and the vaccine Ad26-S.PP were tested.")) == 1


def test_a_sentence_does_not_end_within_brackets() -> None:
    assert (
        len(split("It rose (aspirin q.i.d. Patients were old, for 5 d. Then not) and fell.")) == 1
    )


def test_a_wrapped_range_or_name_opens_no_item() -> None:
    assert len(split("It was found at 5\n- 10 mg by\nA. Smith and\nB. Jones.")) == 1


def test_a_list_mark_alone_is_no_sentence() -> None:
    assert len(split("It grew.\n\u25aa\n")) == 1
    assert split("\u25aa") == []


@pytest.mark.parametrize("opening", ["(", "[", "\u201c", '"', ") ("])
def test_a_bracket_without_its_other_half_does_not_join_half_a_paper(opening: str) -> None:
    sentences = ["It grew, as was seen by others before us." for _ in range(40)]
    found = split(f"It was tested {opening} and it held. " + " ".join(sentences))
    assert found[1:] == sentences


def test_what_stands_between_brackets_stays_in_its_sentence() -> None:
    assert len(split("It grew (as others saw. They wrote so.) and shrank.")) == 1


@pytest.mark.parametrize("text", ["", "  \n ", "...", ". . .", "-", "\x00"])
def test_text_without_words_has_no_sentence(text: str) -> None:
    assert split(text) == []


@given(st.text(max_size=300))
def test_spans_are_ordered_disjoint_and_trimmed(text: str) -> None:
    position = 0
    for start, end in split_sentences(text):
        assert position <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        position = end
