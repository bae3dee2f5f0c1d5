"""Each attack on a rubric, worked by hand."""

from __future__ import annotations

import random

from attacked import ANSWER, OTHER, attacked, record_of, text_after
from case_tables import each_case

from ragassay.perturbations.attack import cut_answer
from ragassay.perturbations.lexicon import load_pool
from ragassay.perturbations.wording_attacks import (
    iter_frames,
    paraphrase_by_rule,
    remove_connectives,
)
from ragassay.records import Document, SentenceInput

ONE, TWO, THREE = "One fell (1).", "Two rose.", "Three stayed (2)."
TEXT = f"{ONE} {TWO} {THREE}"
SEEDS = range(30)


@each_case(
    ("name", "answer", "perturbed"),
    [
        ("drop_last", TEXT, f"{ONE} {TWO}"),
        # White space goes with the sentence.
        ("drop_last", f"{ONE}\n\n{TWO}\n", f"{ONE}\n"),
        ("drop_last", ONE, None),
        ("swap_last", TEXT, f"{ONE} {THREE} {TWO}"),
        ("swap_last", f"{TWO}\n\n{ONE}\n", f"{ONE}\n\n{TWO}\n"),
        ("shuffle", f"{ONE} {TWO}", None),
        ("off_topic_inside", ONE, None),
        ("first_connective", ANSWER, ANSWER.replace(", and it", ", it")),
        (
            "all_connectives",
            ANSWER,
            ANSWER.replace(", and it", ", it").replace("However, it", "It"),
        ),
        ("all_connectives", "It fell (1). It rose.", None),
    ],
)
def test_sentences_and_connectives_are_taken_out_or_change_places(name, answer, perturbed):
    assert text_after(name, answer) == perturbed


def test_any_sentence_but_the_last_is_dropped_and_all_are_shuffled():
    found = {text_after("drop_inside", TEXT, seed) for seed in SEEDS}
    assert found == {f"{TWO} {THREE}", f"{ONE} {THREE}"}
    found = {text_after("shuffle", TEXT, seed) for seed in range(60)}
    assert len(found) == 5
    assert TEXT not in found


def test_the_last_sentence_gives_way_to_one_off_the_subject():
    perturbed = attacked("drop_last_off_topic", record_of(TEXT))
    assert perturbed
    drawn = str(perturbed.record.answer).removeprefix(f"{ONE} {TWO} ")
    assert drawn in load_pool("off_topic")[perturbed.record.metadata["pool"]].texts
    assert perturbed.sentences[0] == 3


def test_a_listed_sentence_keeps_its_citations_when_it_moves():
    sentences = tuple(SentenceInput(text=f"No. {n} it is.", citations=(str(n),)) for n in (1, 2, 3))
    perturbed = attacked("swap_last", record_of(sentences))
    assert perturbed
    assert perturbed.record.answer == (sentences[0], sentences[2], sentences[1])


@each_case("name", ["off_topic", "blog", "tweet"])
def test_a_text_is_put_at_the_end(name):
    perturbed = attacked(name, record_of(TEXT + "\n"))
    assert perturbed
    text, genre = str(perturbed.record.answer), perturbed.record.metadata["pool"]
    assert any(text == f"{TEXT} {added}\n" for added in load_pool(name)[genre].texts)
    assert perturbed.sentences[0] == 4


def test_a_text_inside_stands_before_any_sentence_but_the_first():
    found = [attacked("off_topic_inside", record_of(TEXT), seed=seed) for seed in SEEDS]
    assert {d.sentences[0] for d in found if d} == {2, 3}


def test_a_sentence_of_another_question_cites_what_its_new_neighbours_cite():
    added = "Bees rest at night in the hive for five to eight hours"
    perturbed = attacked("same_domain", record_of(TEXT), OTHER)
    assert perturbed
    assert perturbed.record.answer in (f"{TEXT} {added} (1).", f"{TEXT} {added} (2).")
    # If the neighbours cite nothing, neither does it.
    perturbed = attacked("same_domain", record_of("One fell.", sources=()), OTHER)
    assert perturbed and perturbed.record.answer == f"One fell. {added}."
    listed = (SentenceInput(text="One fell.", citations=("7",)),)
    record = record_of(listed, sources=(Document(id="7", text="It fell."),))
    perturbed = attacked("same_domain", record, OTHER)
    assert perturbed
    assert perturbed.record.answer[1] == SentenceInput(text=f"{added}.", citations=("7",))


def test_no_sentence_is_taken_from_an_answer_to_the_same_question():
    same = OTHER.model_copy(update={"question": "What is  ASPIRIN good for?"})
    assert attacked("same_domain", record_of(TEXT), same) is None
    topic = {"topic": "7"}
    mine, other = (r.model_copy(update=topic) for r in (record_of(TEXT), OTHER))
    assert attacked("same_domain", mine, other) is None


@each_case(
    ("sentence", "bare"),
    [
        # The capital letter and the comma go with the word.
        ("However, it fell.", "It fell."),
        ("It fell; however, mRNA rose.", "It fell; mRNA rose."),
        ("Furthermore, mRNA rose.", "mRNA rose."),
        ("It rose, and it fell (1).", "It rose, it fell (1)."),
        ("Aspirin, as well as ibuprofen, and rest help.", "Aspirin, ibuprofen, rest help."),
        ("It fell and, in addition, rose.", "It fell, rose."),
        # Longest first; no part of a word or of a compound.
        ("On the other hand, it fell.", "It fell."),
        ("Orlando foresees a follow-up.", "Orlando foresees a follow-up."),
        # A ratio is none, nor is a word for a connective that is used otherwise.
        ("OR was 1.4 in overall survival.", "OR was 1.4 in overall survival."),
        ("It fell, though.", "It fell."),
    ],
)
def test_connectives_are_taken_out(sentence: str, bare: str):
    assert remove_connectives(sentence) == bare


def _again(sentence: str, frame: str = "{}", known: str = "", seed: int = 0) -> str:
    piece = cut_answer(record_of(sentence)).pieces[0]
    return paraphrase_by_rule(piece, frame, known, random.Random(seed))


@each_case(
    ("sentence", "again"),
    [
        ("The drug fell because it was cold (1).", "Because it was cold, the drug fell (1)."),
        ("In adults, the drug fell.", "The drug fell in adults."),
        ("It harms bees, ants and wasps.", "It harms wasps, ants and bees."),
    ],
)
def test_clauses_and_lists_change_places(sentence: str, again: str):
    found = {_again(sentence, seed=seed) for seed in SEEDS}
    assert found <= {again, again.replace("Because", "Since")}
    assert again in found


def test_words_give_way_to_synonyms_and_articles_follow():
    found = {_again("It is an important study.", seed=seed) for seed in range(60)}
    assert "It is a significant investigation." in found
    assert not [text for text in found if "an significant" in text or "a important" in text]


@each_case(
    ("sentence", "known", "again"),
    [
        ("However, the drug fell.", "", "In short, the drug fell."),
        ("Paris fell.", "a treaty of Paris", "In short, Paris fell."),
        ("Plants grew (1).", "how plants grow", "In short, plants grew (1)."),
        ("IL-6 fell.", "", "In short, IL-6 fell."),
        ("Long-term use fell.", "", "In short, long-term use fell."),
        ("Epstein-Barr fell.", "", "In short, Epstein-Barr fell."),
        ("Multiple Sclerosis is rare.", "", "In short, Multiple Sclerosis is rare."),
    ],
)
def test_a_frame_keeps_names_and_drops_what_links(sentence: str, known: str, again: str):
    assert _again(sentence, "In short, {}", known) == again


def test_a_frame_returns_only_after_all_others_and_those_for_fitting_do_not_audit():
    frames = iter_frames("fit", random.Random(0))
    assert len({next(frames) for _ in range(18)}) == 18
    turns = [iter_frames(side, random.Random(0)) for side in ("fit", "audit")]
    fit, audit = ({next(frames) for _ in range(40)} for frames in turns)
    assert fit & audit == {"{}"}


def test_sentences_are_repeated_where_they_stand():
    last, inside, every = (
        attacked(name, record_of(TEXT)) for name in ("repeat_last", "repeat_inside", "repeat_all")
    )
    assert last and inside and every
    assert last.sentences == (4,)
    assert str(last.record.answer).startswith(TEXT + " ")
    assert inside.sentences in ((2,), (3,))
    assert every.sentences == (2, 4, 6)
    pieces = [piece.written for piece in cut_answer(every.record).pieces]
    assert pieces[::2] == [ONE, TWO, THREE]
    assert pieces[1].endswith("(1).") and pieces[5].endswith("(2).")


def test_a_model_may_say_it_again():
    asked: list[str] = []

    def rephrase(sentence: str) -> str:
        asked.append(sentence)
        return {"One fell.": "It did.", "Two rose.": "It did so."}.get(sentence, " ")

    perturbed = attacked("repeat_all", record_of(TEXT), rephrase=rephrase)
    assert perturbed
    assert asked == ["One fell.", "Two rose.", "Three stayed."]
    pieces = [piece.written for piece in cut_answer(perturbed.record).pieces]
    # It cites what the sentence cites. An empty reply is none: the rules take its place.
    assert (pieces[1], pieces[3]) == ("It did (1).", "It did so.")
    assert "stayed" in pieces[5]
