"""Labelled pairs of correctness, their classical classifiers, folds by question, and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from case_tables import each_case
from jsonl import write_jsonl

from ragassay.errors import InputError, SettingsError
from ragassay.models.adapters import CORRECTNESS
from ragassay.models.fitted_models import PairClassifier, compute_pair_features, restore_vectorizer
from ragassay.optimizers.finetuning.labelled_pairs import (
    LabelledPair,
    hash_pairs,
    read_correctness_pairs,
)
from ragassay.optimizers.finetuning.pair_classifiers import (
    HeldOut,
    assign_folds,
    cross_validate,
    fit_classifier,
)
from ragassay.records import Bound

WORDS = ("fever", "cough", "stroke", "asthma", "anemia", "gout", "sepsis", "migraine")
RIGHT, WRONG = (
    ("The drug treats gout in adults.", f"By the drug {word} was treated.")
    for word in ("gout", "sepsis")
)


def made_pairs(n: int = 40) -> list[LabelledPair]:
    return [
        LabelledPair(
            f"The drug treats {WORDS[i % 8]} in adults.",
            f"In the trial {WORDS[(i + shift) % 8]} was treated by the drug.",
            label,
            f"q{i}",
        )
        for i in range(n)
        for label, shift in enumerate((0, 3))
    ]


@pytest.mark.parametrize("family", ["svm", "logistic"])
def test_a_baseline_learns_that_evidence_shares_the_words(family, tmp_path):
    fitted = fit_classifier(made_pairs(), family)
    right, wrong = scores = fitted.score_pairs([RIGHT, WRONG])
    assert right > 0.5 > wrong
    assert fitted.score_pairs([]).shape == (0,)
    file = tmp_path / "fitted.json"
    file.write_text(fitted.weights.model_dump_json())
    again = PairClassifier.read(file)
    assert again.digest == fitted.digest
    assert again.score_pairs([RIGHT, WRONG]) == pytest.approx(scores)


def test_the_file_reproduces_the_fitted_vectorizer():
    pairs = made_pairs()
    fitted = fit_classifier(pairs, "logistic")
    texts = [(p.sentence, p.passage) for p in pairs]
    features = compute_pair_features(restore_vectorizer(fitted.weights), texts)
    assert features.shape == (len(pairs), 2 * len(fitted.weights.words) + 1)
    # The last column is the cosine of two vectors of length 1.
    assert np.all(features[:, -1].toarray() <= 1 + 1e-9)


@each_case("content", ["", "{}", '{"family": "tree"}', "\x80"])
def test_another_file_is_refused_by_name(content, tmp_path):
    file = tmp_path / "other.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"other\.json"):
        PairClassifier.read(file)
    with pytest.raises(SettingsError, match="absent"):
        PairClassifier.read(tmp_path / "absent.json")


def test_the_hash_is_of_the_pairs_and_their_order():
    pairs = made_pairs(2)
    assert hash_pairs(pairs) == hash_pairs(list(pairs))
    assert hash_pairs(pairs) != hash_pairs(pairs[::-1])


def test_few_texts_are_enough_for_words_but_not_none():
    assert fit_classifier(made_pairs(3), "svm").score_pairs([("gout", "gout")]).shape == (1,)
    silent = [LabelledPair("?", "!", i % 2, f"q{i}") for i in range(8)]
    with pytest.raises(InputError, match="no usable words"):
        fit_classifier(silent, "svm")


def test_a_classifier_is_in_doubt_below_its_bounds():
    bounds = [Bound(label="correct", threshold=0.999, risk=0.2, delta=0.1, n=90)]
    fitted = fit_classifier(made_pairs(), "logistic", bounds=bounds)
    assert fitted.find_doubt([RIGHT]).reason == "undecided"
    assert fitted.find_doubt([WRONG]) is None, "no bound is known for incorrect ones"
    assert fit_classifier(made_pairs(), "logistic").find_doubt([RIGHT]) is None


LABELS = ("correct", "incorrect")


def pairs_of(n: int) -> list[LabelledPair]:
    """One pair of each label for each of n questions."""
    return [LabelledPair(f"s{i}", str(j), j, f"q{i}") for i in range(n) for j in range(2)]


def test_a_question_is_in_one_fold_and_every_fold_has_both_labels():
    pairs = pairs_of(20)
    folds = assign_folds(pairs, 5, seed=1)
    for name in {pair.group for pair in pairs}:
        assert len({f for f, pair in zip(folds, pairs, strict=True) if pair.group == name}) == 1
    for fold in range(5):
        own = [pair.label for f, pair in zip(folds, pairs, strict=True) if f == fold]
        assert len(own) == 8 and sum(own) == 4
    assert list(folds) == list(assign_folds(pairs, 5, seed=1))
    assert list(folds) != list(assign_folds(pairs, 5, seed=2))


@pytest.mark.parametrize(
    "pairs", [[], pairs_of(1), [LabelledPair("s", "p", 0, f"q{i}") for i in range(9)]]
)
def test_too_few_questions_are_refused(pairs):
    with pytest.raises(InputError, match="two labels with at least two questions each"):
        assign_folds(pairs, 5, seed=0)


def test_few_questions_make_fewer_folds():
    assert set(assign_folds(pairs_of(3), 5, seed=0)) == {0, 1, 2}


def test_no_pair_is_predicted_by_what_saw_its_question():
    pairs, fits = pairs_of(10), list[str]()

    def fit(learnt, name):
        fits.append(name)
        known = {pair.group for pair in learnt}

        def predict(held):
            assert not known & {pair.group for pair in held}
            return np.array([[0.9, 0.1] if pair.passage == "0" else [0.2, 0.8] for pair in held])

        return predict

    held = cross_validate(pairs, LABELS, fit, n_folds=5, seed=0)
    assert fits == [f"fold-{n}" for n in range(1, 6)]
    assert held.measure_fold().accuracy.value == 1
    figures = held.build_figures("t", "d.jsonl", "ragassay ...")
    averages = [
        f"{kind}{name}"
        for kind in ("macro", "weighted")
        for name in (" precision", " recall", "-F1")
    ]
    assert [figure.metric for figure in figures[:8]] == ["accuracy", *averages, "AUC"]
    assert {figure.data for figure in figures[:8]} == {"d.jsonl, 5 held-out folds"}
    by_fold = figures[8:]
    assert [f.data for f in by_fold] == [f"d.jsonl, fold {n} of 5" for n in range(1, 6)]
    assert all(f.value == 1 and f.low is not None and f.n == 4 for f in by_fold)


def test_a_bound_is_of_the_confidence_in_a_label_on_held_out_pairs():
    # 100 questions: "correct" is right at .9, and wrong at .6; "incorrect" is never said.
    pairs = [LabelledPair(f"s{i}", "", i % 2, f"q{i}") for i in range(200)]
    shares = np.array([[0.9, 0.1] if pair.label == 0 else [0.6, 0.4] for pair in pairs])
    held = HeldOut(tuple(pairs), LABELS, np.arange(200) % 5, shares)
    correct, incorrect = held.find_bounds("d.jsonl")
    assert correct.label == "correct" and correct.threshold is not None
    assert 0.6 < correct.threshold <= 0.9 and correct.precision == 1
    assert correct.data == "d.jsonl, 5 held-out folds" and correct.n == 200
    assert incorrect.threshold is None and incorrect.n == 0


ABSTRACT = [
    "Mice were bred.",
    "Drug alpha lowered pressure in mice.",
    "Drug alpha was given by mouth.",
    "Pressure was read daily.",
    "Drug alpha lowers pressure.",
]
S = "Drug alpha lowers pressure."

ROWS: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    # (row, pairs of passage and label)
    ({"sentence": S, "passage": "It did.", "label": "correct"}, [("It did.", "correct")]),
    ({"claim": S, "evidence": "It did.", "label": "SUPPORTS"}, [("It did.", "correct")]),
    ({"sentence": S, "passage": "No.", "label": "incorrect"}, [("No.", "incorrect")]),
    ({"answer_sentence": S, "document": "No.", "label": 0}, [("No.", "incorrect")]),
    ({"sentence": S, "passage": "No.", "correct": False}, [("No.", "incorrect")]),
    ({"sentence": S, "passage": "Yes.", "correct": True}, [("Yes.", "correct")]),
    ({"claim": S, "abstract": "No.", "label": "REFUTES"}, [("No.", "incorrect")]),
    ({"claim": S, "evidence": "Tea.", "label": "not_relevant"}, [("Tea.", "incorrect")]),
    ({"claim": S, "sentences": ["One.", "Two."], "label": "nei"}, [("One. Two.", "incorrect")]),
    # The marked span is correct, the best fragment without it is not.
    (
        {"claim": S, "sentences": ABSTRACT, "evidence_sentences": [4], "label": "supports"},
        [(ABSTRACT[4], "correct"), (" ".join(ABSTRACT[1:4]), "incorrect")],
    ),
    # BM25 looks for the question where there is one.
    (
        {"claim": "It works.", "sentences": ABSTRACT, "rationale": [4], "label": "correct"}
        | {"question": "Were mice bred?"},
        [(ABSTRACT[4], "correct"), (" ".join(ABSTRACT[:3]), "incorrect")],
    ),
    # Every fragment of three sentences has the third.
    (
        {"claim": S, "sentences": ABSTRACT, "evidence_sentences": [2], "label": "supports"},
        [(ABSTRACT[2], "correct")],
    ),
    (
        {"claim": S, "sentences": ABSTRACT, "evidence_sentences": [0], "label": "refutes"},
        [(ABSTRACT[0], "incorrect")],
    ),
]

UNREADABLE: list[tuple[dict[str, Any], str]] = [
    ({"sentence": S, "passage": "It did.", "label": "maybe"}, "label"),
    ({"sentence": S, "label": "correct"}, "evidence"),
    ({"sentence": S, "passage": "It did."}, "label"),
    ({"passage": "It did.", "label": "correct"}, "sentence"),
    ({"sentence": "", "passage": "It did.", "label": "correct"}, "sentence"),
    (
        {"claim": S, "sentences": ["One."], "evidence_sentences": [3], "label": "correct"},
        "evidence_sentences",
    ),
]


@each_case(("row", "expected"), ROWS)
def test_a_row_becomes_pairs_as_bioace_makes_them(row, expected, tmp_path):
    pairs, rejections = read_correctness_pairs(write_jsonl(tmp_path / "rows.jsonl", row))
    found = [(pair.passage, CORRECTNESS[pair.label]) for pair in pairs]
    assert (found, rejections) == (expected, [])


@each_case(("row", "field"), UNREADABLE)
def test_a_row_that_cannot_be_read_is_named(row, field, tmp_path):
    good = {"sentence": S, "passage": "It did.", "label": "correct"}
    pairs, (rejected,) = read_correctness_pairs(write_jsonl(tmp_path / "rows.jsonl", row, good))
    assert len(pairs) == 1 and field in rejected.field and rejected.line == 1


def test_groups_are_questions_or_what_shares_a_text(tmp_path):
    rows = [("a", "1", ""), ("b", "1", ""), ("c", "2", ""), ("d", "1", "q"), ("e", "3", "q")]
    made = [{"sentence": s, "passage": p, "label": "correct", "question": q} for s, p, q in rows]
    pairs, _ = read_correctness_pairs(write_jsonl(tmp_path / "rows.jsonl", *made, made[0]))
    a, b, c, d, e = (pair.group for pair in pairs)  # a row that comes twice counts once
    assert a == b != c and d == e == "q"
