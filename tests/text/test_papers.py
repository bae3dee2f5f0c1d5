"""Sentences of a paper."""

from __future__ import annotations

from ragassay.qa.measures import list_paper_sentences
from ragassay.records import Paper, PaperSection

PAPER = Paper(
    id="p",
    sections=(
        PaperSection(title="Abstract", kind="abstract", text="Sleep was short. It lasted 5 h."),
        PaperSection(title="Empty", text=""),
        PaperSection(title="Table 1", kind="table", text="a\tb"),
        PaperSection(
            title="Methods", text="Rats ran for 10 min.\nAddition of salt helped. Then 3.5 mg."
        ),
        PaperSection(title="Notes", kind="back", text="We thank all."),
        PaperSection(title="Results", text="A list without a stop\nNext (Fig. 2) it rose."),
    ),
)


def test_sentences_stand_at_their_place_in_the_running_text():
    sentences = list_paper_sentences(PAPER)
    assert [one.index for one in sentences] == list(range(7))
    for one in sentences:
        assert PAPER.text[one.start : one.end] == one.text
        assert one.text in one.section.text


def test_a_line_ends_a_sentence_whatever_stands_there():
    assert [one.text for one in list_paper_sentences(PAPER)] == [
        "Sleep was short.",
        "It lasted 5 h.",
        "Rats ran for 10 min.",
        "Addition of salt helped.",
        "Then 3.5 mg.",
        "A list without a stop",
        "Next (Fig. 2) it rose.",
    ]


def test_sections_that_are_no_running_text_have_none():
    table = Paper(id="p", sections=(PaperSection(kind="table", text="1\t2"),))
    assert list_paper_sentences(table) == ()
    assert list_paper_sentences(Paper(id="p", sections=())) == ()


def test_they_are_cut_once():
    assert list_paper_sentences(PAPER) is list_paper_sentences(PAPER.model_copy())
