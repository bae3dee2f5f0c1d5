"""Plain text, and the JSON forms of papers."""

from __future__ import annotations

import json

import pytest
from case_tables import each_case

from ragassay.formats.papers import read_papers, write_papers
from ragassay.formats.papers.prose import classify_heading, normalize_id, read_heading, read_prose
from ragassay.records import Paper, PaperSection

WRAPPED = """A trial of sleep in rats
and what came of it

Ann Author, Somewhere

Abstract
Sleep was short in all of the rats that were kept awake by the new inter-
vention. It was long-
term sleep.

Keywords: sleep; rats, old; sodium.

1. Introduction

Rats that are kept awake sleep less than others do, as long-term studies have
shown again and again.
The next paragraph begins on a line of its own, since the line above was short
- a list item

2 Methods
2.1 Animals
We used 20 rats.
2.2 Analysis of the data

Means were compared.

Figure 1. Sleep by day.

Acknowledgments
We thank all.
References
1. Doe J. Sleep. 2010.
2. Roe B. Rats. 2011.
"""


def test_wrapped_text_is_cut_at_headings_and_joined_into_paragraphs():
    read = read_prose(WRAPPED, may_have_title=True)
    assert read.title == "A trial of sleep in rats and what came of it"
    assert read.keywords == ("sleep", "rats, old", "sodium")
    assert [(s.kind, s.title, s.text) for s in read.sections] == [
        ("back", "", "Ann Author, Somewhere"),
        (
            "abstract",
            "Abstract",
            "Sleep was short in all of the rats that were kept awake by the new intervention. "
            "It was long-term sleep.",
        ),
        (
            "body",
            "Introduction",
            "Rats that are kept awake sleep less than others do, as long-term studies have shown "
            "again and again.\nThe next paragraph begins on a line of its own, since the line "
            "above was short\n- a list item",
        ),
        ("body", "Methods / Animals", "We used 20 rats."),
        ("body", "Methods / Analysis of the data", "Means were compared."),
        ("caption", "Figure 1", "Sleep by day."),
        ("back", "Acknowledgments", "We thank all."),
        ("reference", "References", "1. Doe J. Sleep. 2010.\n2. Roe B. Rats. 2011."),
    ]


@each_case(
    ("end", "start", "joined"),
    [
        ("matched by age-", "and sex", "age- and sex"),
        ("by cross-", "linking of", "cross-linking of"),
        ("by inter-", "vention of", "by intervention of"),
        ("of type-2-", "related ill", "type-2-related"),
        ("from 10\u2013", "20 up", "10\u201320 up"),
        ("by inter\u00ad", "vention\u200b of", "by intervention of"),
        ("from 10-", "20 of them", "10-20 of"),
        ("Sleep-", "Study of it", "Sleep-Study"),
    ],
)
def test_words_that_a_line_breaks(end, start, joined):
    more = "linking is a word here, as in the linking of many and many and more of the\nother"
    text = f"This is a line of ordinary length that stops {end}\n{start} {more} words"
    (section,) = read_prose(text).sections
    assert joined in section.text


def test_a_number_in_brackets_begins_a_line_by_chance_only():
    text = "Ethanol becomes acetaldehyde on the surface of the oxide, as in Eq.\n(3) shows it to\n"
    text += "(4) follow as one more of the many steps of the whole of this reaction, and\nends."
    (section,) = read_prose(text).sections
    assert section.text.count("\n") == 1


def test_a_line_is_a_paragraph_where_lines_are_long(put):
    lines = ["First paragraph " + "of many words " * 20 + ".", "Second one.", "A third, 10 min."]
    (paper,) = read_papers(put("p.txt", "\n".join(lines))).papers
    assert paper.id == "p"
    assert paper.title == ""
    assert paper.text == "\n".join(" ".join(line.split()) for line in lines)


def test_markdown_and_an_abstract_on_one_line(put):
    parts = [
        "# The Title",
        "Abstract: All was well.",
        "## Methods",
        "### Rats",
        "Two.",
        "## Odd one",
    ]
    text = "\n\n".join([*parts, "X."])
    (paper,) = read_papers(put("p.md", text)).papers
    assert paper.title == "The Title"
    assert [(s.kind, s.title, s.text) for s in paper.sections] == [
        ("abstract", "Abstract", "All was well."),
        ("body", "Methods / Rats", "Two."),
        ("body", "Odd one", "X."),
    ]


@each_case(
    ("line", "kind"),
    [
        ("References", "reference"),
        ("REFERENCES:", "reference"),
        ("Acknowledgements", "back"),
        ("Conflicts of Interest", "back"),
        ("Declaration of Competing Interest", "back"),
        ("Data availability statement", "back"),
        ("Author contributions", "back"),
        ("5. Funding", "back"),
        ("Abstract", "abstract"),
        ("Materials and Methods", "body"),
        ("4 Results and Discussion", "body"),
    ],
)
def test_headings_by_their_words(line, kind):
    heading = read_heading(line)
    assert heading is not None and heading.kind == kind


@each_case(
    "line",
    [
        "results",
        "The results were clear.",
        "3.5 mg of salt was given",
        "12 Rats were used.",
        "2010 was dry",
        "A line without any number before it",
        "Methods are described by Doe",
        "1.2 3.4 5.6 7.8",
        "",
    ],
)
def test_what_is_no_heading(line):
    assert read_heading(line) is None


def test_words_that_name_no_kind():
    assert classify_heading("Sleep of rats") is None


def test_sciqag_and_our_own_lines(put):
    sciqag = {
        "doi": "10.1016-j.ab.2008.07.041.json",
        "journal": "Chem",
        "keywords": ["a b", "c."],
        "Q&A": [{"Q": "Why?", "A": "So."}],
        "txt": "One paragraph.\nTwo.",
    }
    (paper,) = read_papers(put("s.json", json.dumps(sciqag, indent=1))).papers
    assert (paper.id, paper.keywords) == ("10.1016/j.ab.2008.07.041", ("a b", "c"))
    assert paper.text == "One paragraph.\nTwo."
    (same,) = read_papers(put("s.jsonl", json.dumps([sciqag]))).papers
    assert same == paper


def test_papers_are_written_and_read_back(tmp_path):
    papers = (
        Paper(
            id="10.1/a",
            title="T\u2028t",
            sections=(
                PaperSection(title="A", text="x\ny", kind="abstract"),
                PaperSection(title="Table 1", text="a\tb\n\tc", kind="table"),
            ),
            keywords=("k", "l"),
            journal="J",
            licence="CC0",
        ),
        Paper(id="b", sections=(PaperSection(text="Text."),)),
    )
    for name in ("p.jsonl", "p.jsonl.gz"):
        write_papers(papers, tmp_path / name)
        assert read_papers(tmp_path / name).papers == papers
        assert read_papers(tmp_path / name).rejections == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("10.1016-S0003-2670(02)00549-4.json", "10.1016/S0003-2670(02)00549-4"),
        ("https://doi.org/10.5555/ab", "10.5555/ab"),
        ("doi: 10.5555/ab", "10.5555/ab"),
        ("10.5555/a-b", "10.5555/a-b"),
        ("PMC12", "PMC12"),
        ("10.12-a", "10.12-a"),
    ],
)
def test_ids_as_they_are_compared(name, expected):
    assert normalize_id(name) == expected
