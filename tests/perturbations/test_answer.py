"""An answer in pieces: nothing is lost, and sentences count as the segmenter counts them."""

from __future__ import annotations

from attacked import SENTENCES, record_of
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from ragassay.perturbations.attack import MASK, cut_answer
from ragassay.records import SentenceInput
from ragassay.text.segmenter import segment

SOURCES = record_of("").sources
PARTS = (
    "Aspirin helps", ".", " ", "\n", "\n\n", "[1]", "(2)", "[PMID 1111111]", "- item", "1. One",
    "! ", "e.g. this", MASK, "(n = 5)", "阿司匹林有用。", "",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)


@given(TEXTS)
def test_a_text_comes_out_as_it_went_in(text: str):
    assert cut_answer(record_of(text)).join_pieces() == text


@given(st.lists(TEXTS, max_size=5))
def test_sentences_come_out_as_they_went_in(texts: list[str]):
    given_sentences = tuple(SentenceInput(text=text, citations=("1",)) for text in texts)
    assert cut_answer(record_of(given_sentences)).join_pieces() == given_sentences


@each_case(
    "text",
    [
        "One fell (1). Two rose [2]. Three stayed.",
        "[1] One fell.\n[2] Two rose.",
        "One fell. [1]\n\nTwo rose. (2)",
        "1. One fell (1)\n2. Two rose (2)\n",
        "No full stop (1, 2)",
        "(1)",
        "",
    ],
)
def test_pieces_are_the_sentences_of_the_segmenter(text: str):
    record = record_of(text)
    _, sentences, _ = segment(record, lambda _: None)
    pieces = cut_answer(record).pieces
    assert [p.written for p in pieces] == [text[s.start : s.end] for s in sentences]
    assert [p.words for p in pieces] == [s.text for s in sentences]


@each_case("answer", ["One fell (1). Two rose.", SENTENCES[:2]])
def test_a_sentence_put_in_is_numbered_at_its_place(answer: str | tuple[SentenceInput, ...]):
    unperturbed = cut_answer(record_of(answer))
    for index in range(3):
        perturbed = unperturbed.with_text(index, "A new one. And another.")
        numbers = perturbed.find_changed_sentences(SOURCES)
        record = record_of(perturbed.join_pieces())
        _, sentences, _ = segment(record, lambda _: None)
        texts = [sentences[n - 1].text for n in numbers]
        assert " ".join(texts) == "A new one. And another."
        assert numbers[0] == index + 1


@each_case(
    ("answer", "added", "perturbed"),
    [
        ("No full stop (1)", "A new one.", "No full stop (1)\n\nA new one."),
        ("One fell. Two rose.", "lol #mood", "One fell. lol #mood\n\nTwo rose."),
    ],
)
def test_without_a_full_stop_a_sentence_does_not_run_into_the_next(answer, added, perturbed):
    found = cut_answer(record_of(answer)).with_text(1, added)
    assert found.join_pieces() == perturbed
    assert found.find_changed_sentences(SOURCES) == (2,)


def test_the_white_space_stays_where_it_is():
    cut = cut_answer(record_of("\n One fell.\n\nTwo rose. Three stayed.\t"))
    for found, text in (
        (cut.reorder([2, 0, 1]), "\n Three stayed.\n\nOne fell. Two rose.\t"),
        (cut.remove_piece(0), "\n Two rose. Three stayed.\t"),
        (cut.remove_piece(2), "\n One fell.\n\nTwo rose.\t"),
        (cut.with_text(0, "New."), "\n New. One fell.\n\nTwo rose. Three stayed.\t"),
    ):
        assert found.join_pieces() == text


def test_blank_sentences_and_lone_markers_are_no_place():
    texts = ("One fell.", " ", "[1]", "Two rose.")
    unperturbed = cut_answer(record_of(tuple(SentenceInput(text=text) for text in texts)))
    assert unperturbed.places == [0, 3]
    perturbed = unperturbed.with_text(4, "New.")
    assert perturbed.find_changed_sentences(SOURCES) == (3,)
    _, sentences, _ = segment(record_of(perturbed.join_pieces()), lambda _: None)
    assert sentences[2].text == "New."


def test_an_answer_without_words_has_no_place():
    for answer in ("", " \n", "[1] [2]", ()):
        record = record_of(answer)
        assert cut_answer(record).places == []
        assert cut_answer(record).join_pieces() == answer
