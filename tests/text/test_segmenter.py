"""Answers cut into sentences, with what each cites."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from case_tables import each_case
from hypothesis import example, given
from hypothesis import strategies as st

from ragassay.records import AnswerSentence, Article, Document, Record, SentenceInput
from ragassay.retrievers.literature import Corpus
from ragassay.text.markup import DELIMITERS, MASK
from ragassay.text.segmenter import find_statements, segment

SAMPLE = Path(__file__).parents[2] / "examples" / "sample"
SOURCES = tuple(Document(id=f"9900010{n}", text="Text.") for n in range(1, 6))
CORPUS = {i: Document(id=i, text="Text.") for i in ("99000201", "123")}
LANCET = "10.1016/S0140-6736(20)31180-6"
SICI = "10.1002/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-SIM968>3.0.CO;2-2"
ESA = "10.1890/0012-9658(2006)87[1910:TFAT]2.0.CO;2"
SHOWN = str.maketrans(dict.fromkeys(DELIMITERS + MASK, "\ufffd"))
"""Characters of private use that the cutter needs itself are shown as U+FFFD."""
DOIS = (LANCET, SICI, ESA, "10.1000/abc", "10.1016/0370-2693(90)", "10.1000/\u00e4\u05d0;x,y")


def cut(
    answer: str | tuple[SentenceInput, ...], sources: tuple[Document, ...] = SOURCES
) -> list[AnswerSentence]:
    text, sentences, _ = segment(
        Record(id="r", question="Q?", answer=answer, sources=sources), CORPUS.get
    )
    position = 0
    for n, sentence in enumerate(sentences, 1):
        assert sentence.index == n
        assert position <= sentence.start < sentence.end <= len(text)
        position = sentence.end
    return sentences


def cited(sentence: AnswerSentence) -> list[str]:
    return [citation.marker for citation in sentence.citations]


@each_case(
    ("marker", "found"),
    [
        ("[1]", ["1"]),
        ("[1, 2]", ["1", "2"]),
        ("[1;2]", ["1", "2"]),
        ("[1-3]", ["1", "2", "3"]),
        ("[1\u20133]", ["1", "2", "3"]),
        ("(1, 2)", ["1", "2"]),
        ("(1)", ["1"]),
        ("[PMID 123]", ["PMID 123"]),
        ("[PMID: 123; PMID 456]", ["PMID 123", "PMID 456"]),
        ("[PMIDs 123, 456]", ["PMID 123", "PMID 456"]),
        ("(pmid 123)", ["PMID 123"]),
        ("[99000101, 99000102]", ["99000101", "99000102"]),
        ("[1][3]", ["1", "3"]),
        ("[1] [1]", ["1"]),
        ("[0]", ["0"]),
        ("[7]", ["7"]),
        ("[99999999999999]", ["99999999999999"]),
        ("[doi:10.1000/abc]", ["10.1000/abc"]),
        ("[DOI 10.1000/abc]", ["10.1000/abc"]),
        ("[DOI: 10.1000/abc.]", ["10.1000/abc"]),
        ("[ 10.1000/abc ]", ["10.1000/abc"]),
        ("[https://doi.org/10.1000/abc]", ["10.1000/abc"]),
        ("[http://dx.doi.org/10.1000/ABC]", ["10.1000/ABC"]),
        ("[doi:https://doi.org/10.1000/abc]", ["10.1000/abc"]),
        ("(doi:10.1000/abc)", ["10.1000/abc"]),
        ("(https://doi.org/10.1000/abc)", ["10.1000/abc"]),
        ("(10.1000/abc)", ["10.1000/abc"]),
        ("[PMID 123; doi:10.1000/abc]", ["PMID 123"]),
        ("[doi:10.1000/abc, PMID 123, 456]", ["10.1000/abc", "PMID 123", "PMID 456"]),
        ("(doi:10.1000/abc; PMID: 123)", ["PMID 123"]),
        ("[10.1000/abc;doi:10.1000/d,10.1000/e]", ["10.1000/abc", "10.1000/d", "10.1000/e"]),
        ("[10.1000/abc;31180123]", ["10.1000/abc", "31180123"]),
        ("[1, 10.1000/abc]", ["1", "10.1000/abc"]),
        ("[10.1000/abc](https://doi.org/10.1000/ABC)", ["10.1000/abc"]),
        (f"[{SICI}; {LANCET}]", [SICI, LANCET]),
        (f"(doi:{SICI}, {ESA})", [SICI, ESA]),
        ("[https://doi.org/10.1000/a%3C1::b%3E2;3-4]", ["10.1000/a<1::b>2;3-4"]),
        ("[10.1000/a%3Cb]", ["10.1000/a%3Cb"]),
        ("[\uff11]", ["1"]),
        ("[\u0661]", ["1"]),
        ("(see 10.1000/abc)", ["10.1000/abc"]),
        ("[https://example.org/10.1000/abc]", ["https://example.org/10.1000/abc"]),
    ],
)
def test_marker_is_read_and_leaves_the_sentence(marker: str, found: list[str]) -> None:
    (sentence,) = cut(f"The tumour grew {marker}.")
    assert cited(sentence) == found
    assert sentence.text == "The tumour grew."


@each_case(
    "text",
    [
        "The tumour grew (n = 5).",
        "The tumour grew (95).",
        "The tumour grew (2015).",
        "The tumour grew with (1.5 mg).",
        "The tumour grew [see below].",
        "The tumour grew [3-1].",
        "The tumour grew [1-900].",
        "The tumour grew [" + "9" * 5000 + "].",
        "The tumour [ grew.",
        "Steps are: (1) rest, (2) ice, and (3) walking.",
        "The tumour grew [10.1000].",
        "The tumour grew [10.5/3].",
        "The tumour grew [10.1000/].",
        "The tumour grew [doi:].",
        "The tumour grew [10.1000/abc and more].",
        "The tumour grew [10.1000/a(bc].",
        "The tumour grew [10.1000/abc; 3-1].",
        "The follow-up was 2 [1, 3] months.",
        "The stay was 2 [1; 3] days, or 2 (1-3) days.",
        "The score had a range [1, 3], on a scale [1-3].",
        "The score is [0, 100].",
        "The mean age was 66 (1) years, in 3 (1) patients.",
        "Take one (1) tablet for three (3) days.",
        "Criteria were (1) age over 65, (2) diabetes, and (3) hypertension.",
        "Two outcomes fell, namely (1) death and (2) admission.",
        "FEV$_{1}$ fell by $\\frac{1}{3}$.",
        "Carriers of CYP2C9*2 and CYP2C9*3 bleed.",
        "Levels of [E2] rise.",
    ],
)
def test_what_is_no_marker_stays(text: str) -> None:
    (sentence,) = cut(text)
    assert (sentence.text, sentence.citations) == (text, ())


@each_case(
    ("answer", "found"),
    [
        ("It fell (PMID: 31535829).", [("PMID 31535829", "a")]),
        ("It rose [doi:10.1056/NEJMoa1].", [("10.1056/NEJMoa1", "b")]),
        ("It fell (PMID: 31535829; DOI: 10.1000/none).", [("PMID 31535829", "a")]),
        ("It fell (PMID 31535829, PMC6123456, 2019).", [("PMID 31535829", "a")]),
        ("It fell (Care Standards, 2024).", [("Care Standards", "c")]),
        ("It rose (World Health Organization, 2021).", [("World Health Organization, 2021", "c")]),
        ("It rose [doc_id=2, source id: 3].", [("doc_id=2", "b"), ("source id: 3", "c")]),
        ("It rose [1: Smith 2020].", [("1: Smith 2020", "a")]),
        ("It fell (vgl. [1]).", [("1", "a")]),
    ],
)
def test_a_source_is_known_by_what_it_says_of_itself(answer, found) -> None:
    sources = (
        Document(id="a", text="PMID: 31535829\nTitle: A trial\nIt fell."),
        Document(id="b", text="doi:10.1056/NEJMoa1. It rose."),
        Document(id="c", title="Care Standards", text="World Health Organization, 2021."),
    )
    (sentence,) = cut(answer, sources)
    assert [(c.marker, c.document) for c in sentence.citations] == found
    assert sentence.text in ("It fell.", "It rose.")


def test_an_identifier_is_invalid_only_beside_sources_with_one_of_its_kind() -> None:
    texts, articles = (Document(id="1", text="T"),), (Article(id="99000301", text="T"),)
    for sources, is_unresolved in ((texts, True), (articles, False)):
        record = Record(id="r", question="Q?", answer="It fell (PMID: 31535829).", sources=sources)
        _, (sentence,), _ = segment(record)
        assert [c.is_unresolved for c in sentence.citations] == [is_unresolved]


def test_positions_from_zero_count_from_zero_beside_plain_texts() -> None:
    sources = tuple(Document(id=str(n), text="T") for n in (1, 2, 3))
    found = cut("It fell [0]. It rose [1]. It stayed [2].", sources)
    assert [(c.document, c.other) for s in found for c in s.citations] == [
        ("1", None),
        ("2", None),
        ("3", None),
    ]


def test_number_in_parentheses_is_no_citation_beside_square_brackets() -> None:
    (sentence,) = cut("It grew in two mice (2) and in five rats [3].")
    assert cited(sentence) == ["3"]
    assert sentence.text == "It grew in two mice (2) and in five rats."


def test_number_in_parentheses_needs_sources() -> None:
    (sentence,) = cut("It grew in two mice (2).", sources=())
    assert sentence.citations == ()


def test_number_beyond_the_sources_points_nowhere() -> None:
    first, second = cut("It grew [7]. It shrank [0].")
    assert [c.document for c in (*first.citations, *second.citations)] == [None, None]


def test_positions_pmids_and_the_corpus_resolve() -> None:
    record = Record(
        id="r",
        question="Q?",
        answer="It grew [2]. It shrank [PMID 99000104; PMID 99000201]. It stayed [99000201].",
        sources=SOURCES,
    )
    _, sentences, documents = segment(record, CORPUS.get)
    found = [[c.document for c in s.citations] for s in sentences]
    assert found == [["99000102"], ["99000104", "99000201"], ["99000201"]]
    assert [d.id for d in documents] == [*(s.id for s in SOURCES), "99000201"]


@each_case("doi", DOIS)
@each_case("form", ["[{}]", "[doi:{}]", "(DOI {})", "[PMID 77; {}]", "({}, PMID 9)"])
def test_doi_is_cut_out_whole_and_what_follows_stays(doi: str, form: str) -> None:
    first, second = cut(f"It grew {form.format(doi)} (n = 5), [see] 10.1000/z). It shrank (a;2-2).")
    assert doi in cited(first)
    assert first.text == "It grew (n = 5), [see] 10.1000/z)."
    assert (second.text, second.citations) == ("It shrank (a;2-2).", ())


@each_case("doi", DOIS)
@each_case("form", ["{}", "doi:{}", "DOI: {}", "https://doi.org/{}"])
def test_doi_resolves_to_a_source_and_to_the_corpus_however_it_is_spelt(
    doi: str, form: str
) -> None:
    spelt = form.format(doi)
    by_id = Document(id=spelt, text="T")
    by_doi = Article(id="99000301", text="T", doi=doi.lower())
    for source in (by_id, by_doi):
        (marked,) = cut(f"It grew [{doi.upper()}].", (source,))
        (listed,) = cut((SentenceInput(text="It grew.", citations=(spelt,)),), (source,))
        assert [c.document for c in (*marked.citations, *listed.citations)] == [source.id] * 2
    record = Record(id="r", question="Q?", answer=f"It grew [{spelt}]. It shrank [99000301].")
    _, sentences, documents = segment(record, Corpus([by_doi]).get)
    assert [c.document for s in sentences for c in s.citations] == ["99000301"] * 2
    assert [d.id for d in documents] == ["99000301"]


def test_doi_that_nobody_knows_points_nowhere() -> None:
    (sentence,) = cut("It grew [doi:10.1000/none].")
    assert [(c.marker, c.document) for c in sentence.citations] == [("10.1000/none", None)]


def test_source_with_the_doi_as_id_comes_before_the_article_that_has_it() -> None:
    article = Article(id="99000301", text="T", doi="10.1000/abc")
    (sentence,) = cut("It grew [10.1000/abc].", (article, Document(id="10.1000/ABC", text="T")))
    assert sentence.citations[0].document == "10.1000/ABC"


def test_doi_in_a_sentence_is_cited_once() -> None:
    (sentence,) = cut("It grew [doi:10.1000/ABC] a lot [https://doi.org/10.1000/abc].")
    assert cited(sentence) == ["10.1000/ABC"]


def test_source_id_with_a_prefix_is_found() -> None:
    (sentence,) = cut("It grew [PMID 77].", sources=(Document(id="PMID:77", text="T"),))
    assert sentence.citations[0].document == "PMID:77"


def test_marker_behind_the_full_stop_belongs_to_the_sentence_before() -> None:
    first, second = cut("It grew. [3] The next one shrank.")
    assert (first.text, cited(first)) == ("It grew.", ["3"])
    assert (second.text, cited(second)) == ("The next one shrank.", [])


def test_marker_that_opens_a_line_belongs_to_that_line() -> None:
    first, second, third = cut("It grew [1].\n[2] It shrank.\n[4]\nIt stayed.")
    assert (cited(first), cited(second), cited(third)) == (["1"], ["2", "4"], [])


def test_marker_at_the_very_start_belongs_to_the_first_sentence() -> None:
    first, second = cut("[1] It grew. It shrank.")
    assert (first.text, cited(first), first.start) == ("It grew.", ["1"], 0)
    assert second.citations == ()


def test_markers_in_mid_sentence_close_up() -> None:
    (sentence,) = cut(
        "It grew [1], shrank [2] and, at p < .05 [3] , stayed at .5 mm (see text [4])."
    )
    assert sentence.text == "It grew, shrank and, at p < .05, stayed at .5 mm (see text)."
    assert cited(sentence) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("answer", ["", " \n\t ", "[1]", "[1][2]. [3]", "...", "[", ()])
def test_answer_without_words_has_no_sentence(answer: str | tuple[SentenceInput, ...]) -> None:
    assert cut(answer) == []


@pytest.mark.parametrize(
    "word",
    [
        *("\u05d2\u05d3\u05dc", "caf\u0065\u0301", "a\x00b", "\u202etxt"),
        "\U0001f9ea\U0001f469\u200d\U0001f52c",
    ],
)
def test_offsets_count_characters_whatever_the_script(word: str) -> None:
    answer = f"{word} one grew [1]. Then {word} shrank [2]."
    first, second = cut(answer)
    assert answer[first.start : first.end] == f"{word} one grew [1]."
    assert answer[second.start : second.end] == f"Then {word} shrank [2]."


def test_listed_sentences_keep_their_places_and_citations() -> None:
    answer = (
        SentenceInput(text="It grew [2].", citations=("1", "99000103")),
        SentenceInput(text="  "),
        SentenceInput(text="It shrank.", citations=("PMID: 123", "[4]", "1-2", "X9")),
    )
    text, (first, second), _ = segment(
        Record(id="r", question="Q?", answer=answer, sources=SOURCES), CORPUS.get
    )
    assert text == "It grew [2]. It shrank."
    assert (first.text, text[first.start : first.end]) == ("It grew.", "It grew [2].")
    assert [(c.marker, c.document) for c in first.citations] == [
        ("1", "99000101"),
        ("99000103", "99000103"),
        ("2", "99000102"),
    ]
    assert [(c.marker, c.document) for c in second.citations] == [
        ("PMID 123", "123"),
        ("4", "99000104"),
        ("1", "99000101"),
        ("2", "99000102"),
        ("X9", None),
    ]


def test_listed_dois_keep_their_spelling_and_lists_of_them_are_taken_apart() -> None:
    listed = ("https://doi.org/10.1000/ABC", f"[doi:{LANCET}; PMID 123]", "10.1000/(x)", "[10.1/x]")
    (sentence,) = cut((SentenceInput(text="It grew [10.1000/abc].", citations=listed),))
    assert cited(sentence) == [listed[0], LANCET, "PMID 123", "10.1000/(x)", "10.1/x"]
    assert sentence.text == "It grew."


def test_number_is_an_id_before_it_is_a_position_and_the_other_source_is_kept() -> None:
    sources = tuple(Document(id=i, text="T") for i in ("2", "1", "x"))
    (listed,) = cut((SentenceInput(text="It grew.", citations=("1",)),), sources)
    (marked,) = cut("It grew [1, 3].", sources)
    assert listed.citations == marked.citations[:1]
    assert [(c.document, c.other) for c in marked.citations] == [("1", "2"), ("x", None)]


def test_ids_that_are_the_positions_are_not_ambiguous() -> None:
    sources = tuple(Document(id=i, text="T") for i in ("1", "2"))
    (sentence,) = cut("It grew [1, 2].", sources)
    assert [(c.document, c.other) for c in sentence.citations] == [("1", None), ("2", None)]


def test_documents_of_the_corpus_do_not_take_the_numbers_of_sources() -> None:
    known = Document(id="1", text="T")
    sources = (Document(id="a", text="T"),)
    answer = "It grew [PMID 1]. It shrank [1]."
    record = Record(id="r", question="Q?", answer=answer, sources=sources)
    _, sentences, _ = segment(record, lambda name: known if name == "1" else None)
    assert [c.document for s in sentences for c in s.citations] == ["1", "a"]


def test_citations_of_a_wordless_listed_sentence_go_to_its_neighbour() -> None:
    first, second = cut(
        (
            SentenceInput(text="[5]"),
            SentenceInput(text="It grew.", citations=("1",)),
            SentenceInput(text="[2]"),
            SentenceInput(text=" ", citations=("3",)),
            SentenceInput(text="It shrank."),
        )
    )
    assert (sorted(cited(first)), cited(second)) == (["1", "2", "3", "5"], [])


@each_case(
    ("record_id", "n_sentences"),
    # Counted by hand in answers.jsonl; the README of the sample names the sentences.
    [
        *(("alpha-t1", 8), ("beta-t1", 7), ("alpha-t2", 8), ("beta-t2", 6)),
        *(("alpha-t3", 7), ("beta-t3", 7), ("alpha-t4", 6), ("beta-t5", 7)),
    ],
)
def test_sample_answers_are_cut_as_a_reader_cuts_them(record_id: str, n_sentences: int) -> None:
    lines = (SAMPLE / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    fields = next(row for row in map(json.loads, lines) if row["id"] == record_id)
    kept = {key: fields[key] for key in ("id", "question", "answer", "sources") if key in fields}
    _, sentences, _ = segment(Record.model_validate(kept), lambda _: None)
    assert len(sentences) == n_sentences
    uncited = [s.index for s in sentences if not s.citations]
    assert uncited == ([2, 3, 5] if record_id == "beta-t5" else [])


@each_case(
    "piece",
    [
        *("It grew in adults [1]. ", "It grew. [1]\n", "[1]", "[1, ", "( ", "[PMID ", "1. "),
        *("It grew [doi:10.1000/abc]. ", "[10.1000/a,", "[10.1000/a;b(", "(10.1000/a) ", "[doi: "),
        *("10.1000/a(b)[c],;", "[10.1000/(a)", "(10.1000/[a]", "[10.1000/", "[10.1000/a, "),
    ],
)
def test_long_answers_are_cut_in_order(piece: str) -> None:
    says_nothing = piece in ("[1]", "( ", "(10.1000/a) ")
    # hostile/test_readers.py measures that the time is linear.
    assert bool(cut(piece * 2_000)) != says_nothing


PIECES = ("It grew", "approx", "Vit", "5", " ", ".", "\n", "[1]", "(2)", "[PMID 9]", "[", ")", "!")


@given(st.lists(st.sampled_from([*PIECES, "\u05d0"]), max_size=40).map("".join))
def test_sentences_are_ordered_disjoint_and_hold_every_word(answer: str) -> None:
    sentences = cut(answer)
    for word in ("grew", "Vit", "\u05d0"):
        assert sum(s.text.count(word) for s in sentences) == answer.count(word)


@given(st.text(max_size=200))
def test_no_text_breaks_it(answer: str) -> None:
    for sentence in cut(answer):
        assert sentence.text.strip() == sentence.text != ""


WORDS = st.text(
    st.characters(categories=("L", "M", "Nd", "Sc"), include_characters=",;:!'\""),
    min_size=1,
    max_size=12,
)
ENDS = ("(20)", "[a:b]", "<1::c>", "a;2-2", "x,y", ".z", "-6", "/3", "\u05d0", "\u00e9")
SUFFIXES = st.lists(st.sampled_from(ENDS), min_size=1, max_size=5).map("".join)


@given(words=st.lists(WORDS, min_size=2, max_size=6), suffixes=st.lists(SUFFIXES, max_size=3))
def test_dois_leave_the_words_and_their_places_as_they_are(
    words: list[str], suffixes: list[str]
) -> None:
    dois = list(dict.fromkeys(f"10.1000/{suffix}" for suffix in suffixes))
    marker = f"[{'; '.join(['PMID 77', *dois])}]"
    answer = f"We saw {' '.join(words)} grow {marker} fast"
    sentences = cut(answer)
    shown = "".join("".join(s.text for s in sentences).split())
    assert shown == "".join(answer.replace(marker, "").split())
    assert [c for s in sentences for c in cited(s)] == ["PMID 77", *dois]
    for sentence in sentences:
        plain = answer[sentence.start : sentence.end].replace(marker, "")
        assert "".join(plain.split()) == "".join(sentence.text.split())


DOI_PIECES = ("[", "]", "(", ")", ";", ",", " ", "\n", "doi:", "10.1000/", "https://doi.org/", "1")
AROUND_DOIS = st.one_of(st.sampled_from(DOI_PIECES), st.text(max_size=3))


@given(st.lists(AROUND_DOIS, max_size=30).map("".join))
@example(answer="\ue001")
def test_any_text_around_dois_is_kept_but_for_its_markers(answer: str) -> None:
    position = 0
    for sentence in cut(answer):
        assert position <= sentence.start < sentence.end <= len(answer)
        rest = iter(answer[sentence.start : sentence.end].translate(SHOWN))
        assert all(c in rest for c in sentence.text if not c.isspace()), "a part of the answer"
        position = sentence.end


@pytest.mark.parametrize("letter", ["3.3 g", "2 L", "5 h", "vitamin K", "hepatitis B"])
def test_a_mark_between_a_letter_and_a_stop_does_not_join_sentences(letter):
    answer = f"They had {letter} [1]. Over 12 weeks it fell [2]."
    first, second = find_statements(answer)
    assert (first.text, second.text) == (f"They had {letter}.", "Over 12 weeks it fell.")
    assert answer[first.start : first.end] == f"They had {letter} [1]."
