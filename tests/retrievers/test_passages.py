"""Passages with offsets, and documents cut to a budget."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.records import Document
from ragassay.text.search import CUT, condense_documents, list_windows

SENTENCES = ["Pain fell by 2 days.", "The drug was given.", "Sleep rose.", "No harm was seen."]
TEXTS = st.lists(st.sampled_from(SENTENCES), max_size=8).map(" ".join)


def documents(*texts: str) -> list[Document]:
    return [Document(id=f"d{n}", text=text, title=f"Title {n}") for n, text in enumerate(texts)]


def test_windows_are_runs_of_three():
    (document,) = documents("  " + " ".join(SENTENCES))
    found = list_windows(document)
    assert [span.text for span in found] == [
        "Pain fell by 2 days. The drug was given. Sleep rose.",
        "The drug was given. Sleep rose. No harm was seen.",
    ]
    assert [span.document for span in found] == ["d0", "d0"]


@pytest.mark.parametrize(
    ("text", "n"), [("", 0), (" \n", 0), ("Pain fell.", 1), ("A fell. B rose.", 1)]
)
def test_short_documents(text, n):
    found = list_windows(documents(text)[0])
    assert [span.text for span in found] == [text] * n


@given(st.text(max_size=200), st.integers(1, 4))
def test_offsets_give_the_text(text, size):
    for span in list_windows(documents(text)[0], size):
        assert text[span.start : span.end] == span.text == span.text.strip() != ""


def test_what_fits_is_left_alone():
    given_ = documents("Pain   fell.", "")
    assert condense_documents(given_, "pain", 12) == given_


def test_sentences_closest_to_the_query_are_kept_in_order():
    given_ = documents(" ".join(SENTENCES), "Pain rose. Blood fell.")
    first, second = condense_documents(given_, "pain", 60)
    assert first.text == f"Pain fell by 2 days. {CUT}"
    assert second.text == f"Pain rose. {CUT}"


def test_neighbouring_cuts_are_one():
    (found,) = condense_documents(documents(" ".join(SENTENCES)), "harm", 40)
    assert found.text == f"{CUT} No harm was seen."


@pytest.mark.parametrize("query", ["", "the of", "unheard"])
def test_first_sentences_are_kept_where_the_query_says_nothing(query):
    (found,) = condense_documents(documents(" ".join(SENTENCES)), query, 40)
    assert found.text == f"{SENTENCES[0]} {CUT}"


def test_no_document_is_no_document():
    assert condense_documents([], "pain", 0) == []


@given(
    st.lists(TEXTS, max_size=4), st.sampled_from(["pain", "harm sleep", ""]), st.integers(0, 200)
)
def test_budget_and_numbering_hold(texts, query, n_chars):
    given_ = documents(*texts)
    shown = condense_documents(given_, query, n_chars)
    assert [(d.id, d.title) for d in shown] == [(d.id, d.title) for d in given_]
    # The cuts themselves are never cut.
    assert sum(len(d.text) for d in shown) <= max(n_chars, len(CUT) * len(given_))
    for before, after in zip(given_, shown, strict=True):
        rest = before.text
        for piece in after.text.split(CUT):
            assert piece.strip() in rest
            rest = rest[rest.index(piece.strip()) + len(piece.strip()) :]


def test_many_documents_take_linear_time():
    many = documents(*[" ".join(SENTENCES)] * 2000)
    started = time.perf_counter()
    condense_documents(many, "harm", 1000)
    assert time.perf_counter() - started < 4
