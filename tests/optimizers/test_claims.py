"""How the sets of labelled claims are read."""

from __future__ import annotations

import pytest

from ragassay.optimizers.claims import without_citations


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # What follows a mark is the sentence, whether or not a bracket comes later.
        ("<|cit|> In a trial (n = 40), it fell.", "In a trial (n = 40), it fell."),
        ("It fell.<|cit|> Liu et al. show why.", "It fell. Liu et al. show why."),
        ("It fell,<|other_cit|> rose<|multi_cit|> and fell.", "It fell, rose and fell."),
        # The brackets around a mark hold other citations.
        ("It fell [<|cit|>].", "It fell."),
        ("It fell (Lee et al., <|other_cit|>; Ito, <|cit|>) again.", "It fell again."),
        ("It fell (by 2%) (<|multi_cit|>).", "It fell (by 2%)."),
        ("Nothing is cited (here).", "Nothing is cited (here)."),
        ("<|cit|>", ""),
    ],
)
def test_citations_are_left_out_and_the_sentence_stays(text: str, wanted: str):
    assert without_citations(text) == wanted
