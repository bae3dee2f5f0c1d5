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


def test_a_list_mark_alone_is_no_sentence() -> None:
    assert len(split("It grew.\n\u25aa\n")) == 1
    assert split("\u25aa") == []


@pytest.mark.parametrize("opening", ["(", "[", "\u201c", '"', ") ("])
def test_a_bracket_without_its_other_half_does_not_join_half_a_paper(opening: str) -> None:
    sentences = ["It grew, as was seen by others before us." for _ in range(40)]
    found = split(f"It was tested {opening} and it held. " + " ".join(sentences))
    assert found[1:] == sentences


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
