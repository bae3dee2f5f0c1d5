"""PDF."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfReader, PdfWriter

from ragassay.formats.papers import pdf, read_papers
from ragassay.formats.papers.pdf import remove_running_heads

PAGES = (
    [
        "J. Nowhere 12 (2024) 101",
        "Abstract",
        "Sleep was short in all of the rats that were kept awake by the new inter-",
        "vention, which lasted for 10 min in each of the experiments that we have",
        "1",
    ],
    [
        "J. Nowhere 12 (2024) 102",
        "done so far.",
        "1. Introduction",
        "Rats sleep (5.5 h a day).",
        "2",
    ],
    [
        "J. Nowhere 12 (2024) 103",
        "References",
        "1. Doe J. Sleep. 2010.",
        "3",
    ],
)


def test_pages_become_sections_without_running_heads_and_page_numbers(put, to_pdf):
    (paper,) = read_papers(put("p.pdf", to_pdf(*PAGES, title="Sleep of rats awake"))).papers
    assert (paper.id, paper.title) == ("p", "Sleep of rats awake")
    assert [(s.kind, s.title, s.text) for s in paper.sections] == [
        (
            "abstract",
            "Abstract",
            "Sleep was short in all of the rats that were kept awake by the new intervention, "
            "which lasted for 10 min in each of the experiments that we have done so far.",
        ),
        ("body", "Introduction", "Rats sleep (5.5 h a day)."),
        ("reference", "References", "1. Doe J. Sleep. 2010."),
    ]


RAISED = b"(4.2 x 10) Tj /F1 7 Tf 45 4 Td (-5) Tj /F1 10 Tf 10 -4 Td ( cells.) Tj -55 0 Td T*"
LOWERED = b"(of CO) Tj /F1 7 Tf 26 -3 Td (2) Tj /F1 10 Tf 4 3 Td ( gas.) Tj -30 0 Td T*"


def test_raised_digits_keep_their_height(put, to_pdf):
    lines = ["There were about", RAISED, LOWERED, "100 of them in a", "5 mL tube."]
    (paper,) = read_papers(put("p.pdf", to_pdf(lines))).papers
    assert " ".join(paper.text.split()) == (
        "There were about 4.2 x 10^-5 cells. of CO2 gas. 100 of them in a 5 mL tube."
    )


@pytest.mark.parametrize("title", ["", "paper_final.docx", "Microsoft Word - a b c", "Untitled"])
def test_a_title_that_is_none_is_left_out(put, to_pdf, title):
    (paper,) = read_papers(put("p.pdf", to_pdf(*PAGES, title=title))).papers
    assert paper.title == ""


def rejection(path):
    found = read_papers(path)
    assert found.papers == ()
    (one,) = found.rejections
    assert one.expected
    return one.problem


def test_a_scanned_pdf_and_one_without_pages_have_no_text(put, to_pdf):
    assert "2 pages without text" in rejection(put("p.pdf", to_pdf([], [])))
    assert "0 pages without text" in rejection(put("p.pdf", to_pdf()))


@pytest.mark.parametrize("password", ["secret", ""])
def test_a_password_is_needed_only_where_one_was_set(put, to_pdf, password):
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(to_pdf(*PAGES))))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    path = put("p.pdf", out.getvalue())
    if password:
        assert "encrypted with a password" in rejection(path)
    else:
        assert "Rats sleep" in read_papers(path).papers[0].text


@pytest.mark.parametrize("cut", [12, 60, 300])
def test_a_damaged_pdf_is_named_or_read_as_far_as_it_goes(put, to_pdf, cut):
    found = read_papers(put("p.pdf", to_pdf(*PAGES)[:cut]))
    assert found.papers == ()
    assert len(found.rejections) == 1


@pytest.mark.parametrize(
    ("limit", "most", "problem"),
    [("MAX_PAGES", 2, "has 3 pages"), ("MAX_CHARS", 100, "more than 100 characters")],
)
def test_a_pdf_that_is_too_long_is_named(put, to_pdf, monkeypatch, limit, most, problem):
    monkeypatch.setattr(pdf, limit, most)
    assert problem in rejection(put("p.pdf", to_pdf(*PAGES)))


def test_lines_that_repeat_inside_a_page_stay():
    pages = [f"Head\na\nb\nc {i}\nsame\nd\ne {i}\nf {i}x\n{i}" for i in range(4)]
    kept = remove_running_heads(pages)
    assert all("same" in page and "Head" not in page for page in kept)
    assert remove_running_heads(["One page\nonly", "Another\npage"]) == [
        "One page\nonly",
        "Another\npage",
    ]
