"""What holds for every attack."""

from __future__ import annotations

import functools

from attacked import ANSWER, OTHER, RETRACTED, SENTENCES, attack_named, attacked, record_of
from case_tables import each_case
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.formats import read_records
from ragassay.perturbations import ATTACKS, perturb_answers
from ragassay.perturbations.lexicon import load_pool
from ragassay.prompts import load_rubrics
from ragassay.records import PerturbedAnswer, Record, SentenceInput
from ragassay.text.segmenter import segment

WHOLE = (record_of(), record_of(SENTENCES, id="c"), OTHER)
NAMES = [attack.name for attack in ATTACKS]
ADDING = [
    *(f"{name}{where}" for name in ("off_topic", "blog", "tweet") for where in ("", "_inside")),
    *("same_domain", "same_domain_inside", "drop_last_off_topic"),
    *("repeat_last", "repeat_inside", "repeat_all"),
    *(attack.name for attack in ATTACKS if attack.family == "injection"),
]
CLINICAL = [attack.name for attack in ATTACKS if attack.family == "clinical"]
CHANGING = ["first_connective", "all_connectives", *CLINICAL]
MOVING = ["drop_last", "drop_inside", "swap_last", "shuffle"]


def _sentences(record: Record) -> list[str]:
    return [sentence.text for sentence in segment(record, lambda _: None)[1]]


@functools.cache
def _all(seed: int = 0) -> tuple[PerturbedAnswer, ...]:
    return perturb_answers(WHOLE, seed=seed, retracted=RETRACTED).answers


def test_every_attack_is_sorted_into_what_it_does():
    assert sorted([*ADDING, *CHANGING, *MOVING]) == sorted(NAMES)
    assert len(set(NAMES)) == len(NAMES)


def test_answers_come_by_record_and_then_by_attack_and_are_named_after_both():
    perturbed = _all()
    found = [(d.original, NAMES.index(d.attack)) for d in perturbed]
    assert found == sorted(found, key=lambda pair: ("acb".index(pair[0]), pair[1]))
    assert {name for _, name in found} == set(range(len(NAMES)))
    assert len({d.record.id for d in perturbed}) == len(perturbed)
    assert all(d.record.id == f"{d.original}~{d.attack}" for d in perturbed)


@each_case("seed", range(3))
def test_the_same_seed_gives_the_same_damage_and_counts_unchanged_answers(seed: int):
    perturbed = perturb_answers(WHOLE, seed=seed, retracted=RETRACTED)
    assert perturbed.answers == _all(seed)
    assert seed == 0 or perturbed.answers != _all(seed - 1)
    answers = {record.id: record.answer for record in WHOLE}
    assert all(d.record.answer != answers[d.original] for d in perturbed.answers)
    for name in NAMES:
        n_given = sum(1 for d in perturbed.answers if d.attack == name)
        assert n_given + perturbed.n_unchanged[name] == len(WHOLE)


def test_all_but_the_answer_stays():
    for perturbed in _all():
        whole = next(record for record in WHOLE if record.id == perturbed.original)
        kept = {"question", "sources", "nuggets", "reference", "system", "topic", "date"}
        assert perturbed.record.model_dump(include=kept) == whole.model_dump(include=kept)
        assert type(perturbed.record.answer) is type(whole.answer)


def test_a_damaged_answer_is_judged_on_what_ought_to_fall():
    rubrics = set(load_rubrics())
    for perturbed in _all():
        attack = attack_named(perturbed.attack)
        assert perturbed.targets == attack.targets
        names = tuple(t.split(".")[1] for t in attack.targets if t.startswith("rubric."))
        assert perturbed.record.rubrics == names
        assert set(names) <= rubrics
        assert perturbed.record.metadata["attack"] == attack.name


def test_every_rubric_has_a_subtle_and_an_extreme_attack():
    for rubric in load_rubrics():
        for severity in ("subtle", "extreme"):
            kind = ("rubric", severity)
            found = [a for a in ATTACKS if (a.family, a.severity) == kind]
            assert any(f"rubric.{rubric}" in a.targets for a in found), (rubric, severity)
    assert all(len(attack.targets) == 9 for attack in ATTACKS if attack.family == "injection")


@each_case("name", NAMES)
def test_damage_does_not_depend_on_other_attacks_and_records(name: str):
    alone = perturb_answers(WHOLE, attacks=[attack_named(name)], retracted=RETRACTED).answers
    assert list(alone) == [d for d in _all() if d.attack == name]
    # The sentence of the same domain is drawn from the other records.
    if "same_domain" not in name:
        assert attacked(name, WHOLE[0]) == next((d for d in alone if d.original == "a"), None)


@each_case("seed", range(4))
@each_case("name", ADDING)
def test_the_numbers_are_those_of_the_added_sentences(name: str, seed: int):
    for whole in WHOLE[:2]:
        perturbed = attacked(name, whole, OTHER, seed=seed)
        assert perturbed
        sentences, before = _sentences(perturbed.record), _sentences(whole)
        added = {n for n, text in enumerate(sentences, 1) if text not in before}
        assert set(perturbed.sentences) >= added
        kept = [text for n, text in enumerate(sentences, 1) if n not in perturbed.sentences]
        assert kept == (before[:-1] if name.startswith("drop") else before)


@each_case("seed", range(4))
@each_case("name", CHANGING)
def test_the_numbers_are_those_of_the_changed_sentences(name: str, seed: int):
    for whole in WHOLE[:2]:
        perturbed = attacked(name, whole, OTHER, seed=seed)
        if perturbed is None:
            continue
        after, before = (
            [(one.text, one.citations) for one in segment(record, lambda _: None)[1]]
            for record in (perturbed.record, whole)
        )
        pairs = zip(after, before, strict=True)
        assert list(perturbed.sentences) == [n for n, (a, b) in enumerate(pairs, 1) if a != b]


@each_case("name", MOVING)
def test_what_was_taken_away_or_moved_has_no_number(name: str):
    for whole in WHOLE[:2]:
        perturbed = attacked(name, whole)
        assert perturbed and perturbed.sentences == ()
        assert set(_sentences(perturbed.record)) <= set(_sentences(whole))


@each_case("side", ["fit", "audit"])
def test_the_text_comes_from_the_side_and_its_genre_is_kept(side):
    pools = {"off_topic": "off_topic", "blog": "blog", "tweet": "tweet", "drop": "off_topic"}
    for attack in ATTACKS:
        for seed in range(5):
            perturbed = attacked(attack.name, WHOLE[0], OTHER, seed=seed, pools=side)
            if perturbed is None or "pool" not in perturbed.record.metadata:
                continue
            prefix = next((p for p in pools if attack.name.startswith(p)), "")
            genre = load_pool(pools.get(prefix, "injection"))[perturbed.record.metadata["pool"]]
            assert genre.side == side
            assert any(text in str(perturbed.record.answer) for text in genre.texts)


@each_case("answer", ["", "  \n", "[1]", ()])
def test_nothing_is_done_to_an_answer_without_a_sentence(answer):
    perturbed = perturb_answers([record_of(answer), OTHER], retracted=RETRACTED)
    assert all(d.original == OTHER.id for d in perturbed.answers)
    assert min(perturbed.n_unchanged.values()) >= 1


WORDS = (
    *("However, ", "Aspirin", " not", " 20%", " may", ".", " ", "\n", "(1)", "[PMID 1111111]"),
    "!",
)


@settings(max_examples=40)
@given(st.lists(st.sampled_from(WORDS), max_size=14).map("".join), st.integers(0, 99))
def test_any_answer_can_be_attacked(text: str, seed: int):
    for answer in (text, (SentenceInput(text=text, citations=("1",)),)):
        record = record_of(answer)
        given = {"seed": seed, "retracted": RETRACTED, "among": [record, OTHER]}
        for d in perturb_answers([record], **given).answers:
            n_sentences = len(_sentences(d.record))
            assert all(1 <= n <= n_sentences for n in d.sentences)
            # A listing of code, as a forged rating is, states nothing.
            assert d.attack in MOVING or d.sentences or "```" in str(d.record.answer)


def test_no_record_and_no_retracted_article_give_nothing():
    perturbed = perturb_answers([])
    assert perturbed.answers == ()
    assert set(perturbed.n_unchanged.values()) == {0}
    perturbed = perturb_answers([record_of()])
    assert "retracted" not in perturbed.n_unchanged
    assert all(d.attack != "retracted" for d in perturbed.answers)


def test_an_answer_in_sentences_keeps_its_citations():
    for name in ("off_topic", "shuffle", "all_connectives", "number"):
        perturbed = attacked(name, WHOLE[1])
        assert perturbed
        listed = {s.text: s.citations for s in SENTENCES}
        for sentence in perturbed.record.answer:
            assert not isinstance(sentence, str)
            assert sentence.citations == listed.get(sentence.text, sentence.citations)


def test_markers_survive_every_attack_that_is_not_about_them():
    for perturbed in _all():
        if perturbed.original != "a" or perturbed.attack in (*MOVING, "drop_last_off_topic"):
            continue
        text = perturbed.record.answer
        assert isinstance(text, str)
        markers = ["(2)", "(1)"] if perturbed.attack == "citation" else ["(1, 2)", "(2)", "(1)"]
        assert sum(marker in text for marker in markers) >= len(markers) - 1, (text, ANSWER)


def test_real_answers_come_through_every_attack(shared):
    read = read_records(shared / "data" / "yescieval" / "bioasq-train-answers.jsonl.gz").records
    whole = [record for record in read if record.metadata.get("variant") == "benign"][:3]
    perturbed = perturb_answers(whole, retracted=RETRACTED)
    assert len(perturbed.answers) > 3 * len(ATTACKS) / 2
    for d in perturbed.answers:
        n_sentences = len(segment(d.record, lambda _: None)[1])
        assert all(1 <= n <= n_sentences for n in d.sentences)
