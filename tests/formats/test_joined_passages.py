"""A text that holds several sources is split where that is certain, and else left whole."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.formats.joined_passages import MOST_PASSAGES, split_passages
from ragassay.formats.ragassay_jsonl import read_sources
from ragassay.records import Record
from ragassay.text.segmenter import segment

A, B = "Zelcoline lowered pressure by 7 mmHg.", "Cough was reported by 12% of patients."
JOINED = (
    f"[1] {A}\n\n[2] {B}",
    f"[1] {A}\n[2] {B}\n",
    f"[1]: {A}\n\n[2]: {B}",
    f"[1]\n{A}\n\n[2]\n{B}",
    f"\n\nContext:\n\n[1] {A}\n\n[2] {B}",
    f"Search results:\n[1] {A}\n[2] {B}",
    f"**[1]** {A}\n\n**[2]** {B}",
    f"[Document 1] {A}\n---\n[Document 2] {B}",
    f"[doc1] {A}\n\n[doc2] {B}",
    f"[Source: 1] {A}\n\n[Source: 2] {B}",
    f"Document 1: {A}\n\nDocument 2: {B}",
    f"Source 1:\n{A}\n\nSource 2:\n{B}",
    f"### Passage 1\r\n{A}\r\n\r\n### Passage 2\r\n{B}\r\n",
    f"Document [1] {A}\nDocument [2] {B}",
    f"[1]. {A}\n[2]. {B}",
    f"=== Document 1 ===\n{A}\n\n=== Document 2 ===\n{B}",
    f"--- Source 1 ---\n{A}\n--- Source 2 ---\n{B}",
    f"<doc>{A}</doc>\n<doc>{B}</doc>",
    f"<documents>\n<document>\n{A}\n</document>\n<document>\n{B}\n</document>\n</documents>",
)
ONE = (
    "",
    A,
    f"{A}\n\n{B}",
    f"[1] {A}",
    # A list of references behind a text, or within a passage.
    f"{A} [1]\n\n[1] Smith 2020.\n[2] Lee 2021.",
    f"[1] {A}\n[1] Smith 2020.\n[2] Lee 2021.\n\n[2] {B}",
    # PMIDs that end a record, or stand in a list, or are one.
    f"{A}\nPMID: 31415926\n\n{B}\nPMID: 27182818",
    "PMID: 31415926\nPMID: 27182818",
    f"PMID: 31415926\n{A}\n\nPMID: 31415926\n{B}",
    # Not from 1, or with a gap.
    f"[2] {A}\n\n[3] {B}",
    f"[1] {A}\n\n[3] {B}",
    # Lists, chapters, a mark within a line.
    f"1. {A}\n2. {B}",
    f"Article 1\n{A}\n\nArticle 2\n{B}",
    f"Study 1: {A}\nStudy 2: {B}",
    f"[1] {A} [2] {B}",
    # An empty passage; text between elements; an element twice.
    f"[1]\n\n[2] {B}",
    f"<doc>{A}</doc> and <doc>{B}</doc>",
    f"<doc id='1'>{A}</doc><doc id='1'>{B}</doc>",
    f"<doc>{A}</doc>",
)


@each_case("text", JOINED)
def test_numbered_passages_are_sources_of_their_own(text: str):
    for given in (text, [text], [{"text": text}], {"contexts": [text]}):
        found = read_sources(given)
        assert isinstance(found, tuple)
        assert [(one.id, one.text) for one in found] == [("1", A), ("2", B)]


@each_case("text", ONE)
def test_in_doubt_a_text_stays_whole(text: str):
    assert split_passages(text) == []


def test_titles_and_ids_are_kept():
    for written in ("PMID: 31415926\n", "[PMID 31415926] ", "PMID 31415926: "):
        rows = split_passages(f"{written}{A}\n\n{written.replace('31415926', '27182818')}{B}")
        assert rows == [{"id": "31415926", "text": A}, {"id": "27182818", "text": B}]
    one, _ = split_passages(f"Document 1 (PMID 31415926): {A}\n\nDocument 2 (PMID 27182818): {B}")
    assert one["text"] == f"(PMID 31415926): {A}"
    alce = f"Document [1](Title: Trial A): {A}\nDocument [2](Title: Cohort (B)): {B}"
    assert [row.get("title") for row in split_passages(alce)] == ["Trial A", "Cohort (B)"]
    prompt = (
        f'<document index="1"><source>a.pdf</source><document_content>{A}</document_content>'
        f"</document><document index='2'><source>b.pdf</source>"
        f"<document_content>{B}</document_content></document>"
    )
    assert split_passages(prompt) == [
        {"id": "1", "title": "a.pdf", "text": A},
        {"id": "2", "title": "b.pdf", "text": B},
    ]
    ids = [row["id"] for row in split_passages(f"<doc id=314>{A}</doc><doc id=271>{B}</doc>")]
    assert ids == ["314", "271"]


@pytest.mark.parametrize("given", [[f"[1] {A}\n\n[2] {B}", A], [{"id": "7", "text": JOINED[0]}]])
def test_a_source_among_others_or_with_an_id_stays_whole(given: object):
    found = read_sources(given)
    assert isinstance(found, tuple)
    assert len(found) == len(given)  # pyright: ignore[reportArgumentType]


def test_too_many_passages_stay_one_text():
    text = "\n".join(f"[{n}] {A}" for n in range(1, MOST_PASSAGES + 2))
    assert split_passages(text) == []


def test_citations_point_to_the_passages():
    answer = "Zelcoline lowers pressure by 7 mmHg [1]. Cough occurs in 12% of patients [2]."
    sources = read_sources([JOINED[0]])
    assert isinstance(sources, tuple)
    _, sentences, _ = segment(Record(id="r", question="Q?", answer=answer, sources=sources))
    assert [[c.document for c in one.citations] for one in sentences] == [["1"], ["2"]]
