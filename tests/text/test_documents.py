"""An answer read as a document: what is a statement, and that nothing else gets lost or judged."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from case_tables import each_case
from hypothesis import example, given
from hypothesis import strategies as st

from ragassay.records import CitedSpan, Document, Record, SentenceInput
from ragassay.text.blocks import read_blocks
from ragassay.text.faults import TAGS, find_reasoning
from ragassay.text.markup import DELIMITERS, extract_plain_text, remove_delimiters
from ragassay.text.segmenter import extract_judged_text, find_statements, segment

SOURCES = tuple(Document(id=name, text="Text.", title=f"Title {name}") for name in ("a", "b", "c"))


def texts(answer: str) -> list[str]:
    return [one.text for one in find_statements(answer, SOURCES)]


@each_case(
    ("answer", "expected"),
    [
        ("# Effects\n\nIt fell.", ["It fell."]),
        ("# It fell.", ["It fell."]),
        ("Effects\n=======\n\nIt fell.", ["Effects =======", "It fell."]),
        ("**Effects**\n\nIt fell.", ["It fell."]),
        ("**Side effects:**\nIt fell.", ["Side effects: It fell."]),
        ("- It fell.\n- It rose.\n", ["It fell.", "It rose."]),
        ("* It fell\n* It rose", ["It fell", "It rose"]),
        ("\u2022 It fell.\n\u2022 It rose.", ["It fell.", "It rose."]),
        ("\u2013 It fell.\n\u2013 It rose.", ["It fell.", "It rose."]),
        ("1. It fell.\n2. It rose.", ["It fell.", "It rose."]),
        ("It does this:\n2) It fell.\n3) It rose.", ["It does this:", "It fell.", "It rose."]),
        ("a) It fell.\nb) It rose.", ["It fell.", "It rose."]),
        ("(i) It fell.\n(ii) It rose.", ["It fell.", "It rose."]),
        ("- [x] It fell.\n- [ ] It rose.", ["It fell.", "It rose."]),
        ("- It fell.\n  - It rose.\n    - It stayed.", ["It fell.", "It rose.", "It stayed."]),
        ("1. **Cough**: it fell. It rose.", ["Cough: it fell.", "It rose."]),
        ("E. coli grew.\nI. V. lines were kept.", ["E. coli grew.", "I. V. lines were kept."]),
        ("It fell\nby much.", ["It fell by much."]),
        ("> It fell.\n> It rose.", ["It fell.", "It rose."]),
        ("```python\nprint(1)\n```\nIt fell.", ["It fell."]),
        ("```\nIt fell.\n```", ["It fell."]),
        ("~~~ It fell.", ["~~~ It fell."]),
        ("```markdown\n# Effects\n- It fell.\n```", ["It fell."]),
        ("It rose.\n```\nIt fell.", ["It rose.", "It fell."]),
        ("    It fell.", ["It fell."]),
        ("It fell.\n---\nIt rose.", ["It fell.", "It rose."]),
        ("| Effect | Size |\n|---|---|\n| Cough | 12% |", ["Cough: 12%"]),
        ("Effect | Size\n---|---\nCough | 12%\nRash | 3%", ["Cough: 12%", "Rash: 3%"]),
        ("| A | x | y |\n|-|-|-|\n| Cough | 1 | 2 |", ["Cough: x 1; y 2"]),
        ("| A | x |\n|-|-|\n| a \\| b | 2 |", ["a | b: 2"]),
        ("<p>It <b>fell</b>.</p><p>It rose.</p>", ["It fell.", "It rose."]),
        ("<ul><li>It fell</li><li>It rose</li></ul>", ["It fell", "It rose"]),
        ("<h2>Effects</h2><p>It fell.</p>", ["It fell."]),
        ("It fell.<br>It rose.<br/>It stayed.", ["It fell.", "It rose.", "It stayed."]),
        (
            "<table><tr><th>Effect</th><th>Size</th></tr><tr><td>Cough</td><td>12%</td></tr></table>",
            ["Cough: 12%"],
        ),
        ("It rose &gt; 5&nbsp;mg &amp; fell.", ["It rose > 5 mg & fell."]),
        ("It *fell* by __5__ mg, ~~not~~ `x`.", ["It fell by 5 mg, not x."]),
        ("snake_case_name and 5 * 3 * 2 stay.", ["snake_case_name and 5 * 3 * 2 stay."]),
        ("A<B and C>D hold.", ["A<B and C>D hold."]),
        ("It fell (p <0.05).", ["It fell (p <0.05)."]),
        ("![Plot](plot.png) It fell.", ["It fell."]),
        ("The [label](https://example.org/a) says so.", ["The label says so."]),
        ("<!-- hidden --> It fell.", ["It fell."]),
    ],
)
def test_statements_of_a_document(answer: str, expected: list[str]) -> None:
    assert texts(answer) == expected


def test_reasoning_is_set_aside_and_offsets_stay() -> None:
    for _, _, tagged in TAGS:
        (start, end), *rest = find_reasoning(tagged)
        assert rest == []
        record = Record(id="r", question="Q?", answer=tagged)
        text, (statement,), _ = segment(record)
        assert text == tagged
        assert (statement.text, text[statement.start : statement.end]) == ("It falls.", "It falls.")
        assert statement.start >= end > start
        assert extract_judged_text(record) == "It falls."


@pytest.mark.parametrize(
    ("answer", "judged"),
    [
        ("It may rise.\n</think>\n\nIt falls.", "It falls."),
        ("<think>It may", ""),
        ("<think></think>It falls.", "It falls."),
        ("It falls. <thinking>Is it so?</thinking> It does.", "It falls.  It does."),
        ("I think that it falls.", "I think that it falls."),
        ("<details><summary>More</summary>It falls.</details>", None),
    ],
)
def test_reasoning_without_one_of_its_tags(answer: str, judged: str | None) -> None:
    record = Record(id="r", question="Q?", answer=answer)
    assert extract_judged_text(record) == (answer if judged is None else judged)


def test_sentences_that_were_handed_in_stay_one_statement_each() -> None:
    given_sentences = (
        SentenceInput(text="1. It **fell** [Source 1].", citations=("b",)),
        SentenceInput(text="It rose (see [3])."),
    )
    record = Record(id="r", question="Q?", answer=given_sentences, sources=SOURCES)
    _, (first, second), _ = segment(record)
    assert (first.text, [c.document for c in first.citations]) == ("It fell.", ["b", "a"])
    assert (second.text, [c.document for c in second.citations]) == ("It rose.", ["c"])


@pytest.mark.parametrize(
    ("span", "cited"),
    [
        ((0, 8), [["b"], []]),
        ((9, 17), [[], ["b"]]),
        ((3, 12), [["b"], ["b"]]),
        ((8, 8), [["b"], []]),
        ((17, 17), [[], ["b"]]),
        ((99, 120), [[], ["b"]]),
    ],
)
def test_structured_citations_go_to_the_statements_that_they_cover(
    span: tuple[int, int], cited: list[list[str]]
) -> None:
    start, end = span
    record = Record(
        id="r",
        question="Q?",
        answer="It fell. It rose.",
        sources=SOURCES,
        citations=(CitedSpan(start=start, end=end, documents=("b",)),),
    )
    _, statements, _ = segment(record)
    assert [[c.document for c in one.citations] for one in statements] == cited


def test_a_structured_citation_decides_what_the_mark_under_it_points_to() -> None:
    answer = "It fell \u30104:0\u2020source\u3011. It rose."
    span = CitedSpan(start=8, end=20, documents=("c",))
    record = Record(id="r", question="Q?", answer=answer, sources=SOURCES, citations=(span,))
    _, (first, second), _ = segment(record)
    assert (first.text, [c.document for c in first.citations]) == ("It fell.", ["c"])
    assert second.citations == ()


PIECES = (
    *("It fell", ".", " ", "\n", "\n\n", "# ", "- ", "1. ", "> ", "| a | b |\n|-|-|\n"),
    *("**", "*", "_", "`", "```\n", "[", "](", ")", "[1]", "(2)", "\u00b9", "<sup>1</sup>", "<p>"),
    *("</p>", "<li>", "<td>", "<br>", "&amp;", "&#91;", "\\[", "<think>", "</think>", "[^1]: x"),
    *("References:\n", "https://a.b/c", "(Smith et al., 2020)", "Source: ", "\u3002", "\u05d0"),
    *("\ue001", "<cite>", "<a href='x.y'>", "$^{1}$", "~~~", "\r\n", "\t", "\x00", "| c | d |"),
)


@example(["It fell", ".", "<sup>1</sup>", "| a | b |\n|-|-|\n"])
@example(["<think>", "It fell", ".", "</think>", "It fell"])
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_statements_are_ordered_and_apart_whatever_the_markup(pieces: list[str]) -> None:
    answer = "".join(pieces)
    text, statements, _ = segment(Record(id="r", question="Q?", answer=answer, sources=SOURCES))
    assert text == answer
    position = 0
    for one in statements:
        assert position <= one.start < one.end <= len(answer)
        assert one.text.strip() == one.text != ""
        assert not set(one.text) & set(DELIMITERS)
        position = one.end


@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_plain_text_knows_where_each_character_stands(pieces: list[str]) -> None:
    answer = "".join(pieces)
    plain = extract_plain_text(answer, [(0, len(answer))])
    assert len(plain.text) == len(plain.starts) == len(plain.ends)
    assert plain.starts == sorted(plain.starts)
    for n, character in enumerate(plain.text):
        if character.isalpha() and plain.ends[n] - plain.starts[n] == 1:
            assert answer[plain.starts[n]] == character
    assert not set(remove_delimiters(plain.text)) & set(DELIMITERS)


@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_no_word_outside_reasoning_is_in_no_block(pieces: list[str]) -> None:
    answer = "".join(pieces)
    kept = "".join(answer[start:end] for block in read_blocks(answer) for start, end in block.lines)
    tables = bool(re.search(r"\|-\||<t[dhr]", answer))  # a header row serves its rows
    assert tables or kept.count("fell") == answer.count("fell")


Kind = Literal["text", "item", "heading", "row", "code"]


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        ("# H\n\nText\n- item", ["heading", "text", "item"]),
        ("```\ncode\n```\n\nText", ["code", "text"]),
        (">" * 300 + " deep", ["text"]),
    ],
)
def test_kinds_of_blocks(answer: str, kinds: list[Kind]) -> None:
    assert [block.kind for block in read_blocks(answer)] == kinds
