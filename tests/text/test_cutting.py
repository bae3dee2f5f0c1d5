"""Long texts in passages: whole sentences, nothing lost."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragassay.text.search import PASSAGE_WORDS, cut_passages

SENTENCES = st.lists(
    st.lists(st.sampled_from(["cells", "protein", "dose", "risk"]), min_size=1, max_size=9).map(
        lambda words: " ".join(words).capitalize() + "."
    ),
    min_size=1,
    max_size=30,
)


@given(SENTENCES, st.integers(1, 25))
def test_passages_are_whole_sentences_and_all_words_are_there(sentences, most):
    text = " ".join(sentences)
    pieces = cut_passages(text, most)
    assert " ".join(pieces) == text
    for piece in pieces:
        n_words = len(piece.split())
        assert n_words <= most or piece in sentences
    # No two neighbours would have fitted into one passage.
    for first, second in pairwise(pieces):
        head = second.partition(".")[0]
        assert len(f"{first} {head}".split()) > most


def test_a_short_text_stays_as_it_is_and_so_does_one_without_a_sentence():
    assert cut_passages(" One two. \n") == (" One two. \n",)
    assert cut_passages("", 1) == ("",)
    assert PASSAGE_WORDS == 400
    assert cut_passages("... !!! ???", 1) == ("... !!! ???",)
