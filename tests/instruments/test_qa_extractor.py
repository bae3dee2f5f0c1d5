"""Pairs without a model: sentences of a paper, spread over it, with abbreviations spelled out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from ragassay.instruments.qa_extractor import EXTRACTOR, candidates, extract_pairs
from ragassay.records import Paper, PaperSection
from ragassay.text.context_marks import context_marks

TEXT = (
    "Cartridges of solid-phase extraction (SPE) are widely used for cleaning raw milk [3, 4]. "
    "However, SPE cartridges can cause losses of volatile phthalates (Smith et al., 2004). "
    "XYZ cartridges are widely used for other things that nobody names. "
    "We found that phthalates are widely used as plasticizers. "
    "Phthalates in toys are regarded as a risk for young children (Table 2)."
)


def paper(text: str = TEXT, **given: object) -> Paper:
    given = {"keywords": ("phthalates", "SPE cartridges"), **given}
    return Paper(id="p", sections=(PaperSection(text=text),), **given)  # type: ignore[arg-type]


def test_pairs_are_sentences_without_what_points_out_of_them():
    pairs = extract_pairs(paper(), 10)
    assert [pair.question for pair in pairs] == [
        "What are cartridges of solid-phase extraction (SPE) widely used for?",
        "What can solid-phase extraction (SPE) cartridges cause?",
        "What are phthalates in toys regarded as?",
    ]
    assert pairs[1].answer == "SPE cartridges can cause losses of volatile phthalates."
    assert pairs[2].answer == ("Phthalates in toys are regarded as a risk for young children.")
    assert {pair.system for pair in pairs} == {EXTRACTOR} and pairs[0].id == "p/1"
    assert all(source in TEXT for pair in pairs for source in pair.sources)


def test_fewer_pairs_are_spread_over_the_paper():
    sentence = "Phthalates of kind {} are regarded as a risk for young children."
    long = paper(" ".join(sentence.format(letter) for letter in "BCDEFGHJ"))
    assert len(extract_pairs(long, 10)) == 8
    first, last = extract_pairs(long, 2)
    assert "kind B" in first.question and "kind F" in last.question


def test_keywords_given_or_found_decide_what_is_asked():
    assert [p.question for p in extract_pairs(paper(), 9, ("toys",))] == [
        pair.question for pair in extract_pairs(paper(keywords=("toys",)), 9)
    ]
    assert extract_pairs(paper(keywords=()), 9), "found by TopicRank"


def test_a_paper_without_a_fitting_sentence_gets_none():
    assert extract_pairs(paper("We did it. It was good."), 10) == ()
    assert extract_pairs(Paper(id="p", sections=()), 10) == ()


def test_what_is_made_of_real_papers_needs_no_paper(shared: Path):
    file = shared / "data" / "sciqag" / "papers.jsonl.gz"
    rows = [json.loads(line) for line in gzip.open(file, "rt", encoding="utf-8")]
    papers = [
        Paper(
            id=row["doi"],
            sections=(PaperSection(text=row["txt"]),),
            keywords=tuple(word.strip(" .") for word in row["keywords"]),
        )
        for row in rows
    ]
    found = [one for each in papers for one in candidates(each)]
    assert 35 <= len(found) <= 60
    assert not [one for one in found if context_marks(one.asked.text, one.answer)]
    assert all(one.asked.text.endswith("?") and one.answer.endswith(".") for one in found)
