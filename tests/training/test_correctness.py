"""Training pairs as BioACE makes them, and the classical baselines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ragassay.errors import SettingsError
from ragassay.models.entailment import CONTRADICTS, SUPPORTS
from ragassay.models.pair_classifier import PairClassifier, fitted_vectorizer, pair_features
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.records import Document
from training.bioasq import BioasqAnswer, FragmentSearch
from training.correctness import (
    CorrectnessPair,
    bioasq_pairs,
    fit_classifier,
    pairs_sha256,
    scifact_pairs,
)

ABSTRACT = (
    "Mice were bred.",
    "Drug alpha lowered pressure in mice.",
    "Drug alpha was given by mouth.",
    "Pressure was read daily.",
    "Drug alpha lowers pressure.",
)


def claim(rationale: tuple[int, ...], label: int = SUPPORTS) -> LabelledClaim:
    return LabelledClaim("Drug alpha lowers pressure.", "", ABSTRACT, rationale, label, "g1")


def test_the_span_is_correct_and_the_best_fragment_without_it_is_not():
    pairs = scifact_pairs([claim((4,))])
    assert [(p.passage, p.correct) for p in pairs] == [
        (ABSTRACT[4], True),
        # Of the fragments 0-2 and 1-3, which are free of sentence 4, the second has "pressure"
        # twice and all else as often.
        (" ".join(ABSTRACT[1:4]), False),
    ]


def test_a_fragment_that_shares_a_sentence_with_the_span_is_not_taken():
    # Every run of three sentences holds the third.
    assert [p.correct for p in scifact_pairs([claim((2,))])] == [True]


def test_claims_that_are_not_supported_make_no_pair():
    assert scifact_pairs([claim((4,), CONTRADICTS), claim(())]) == []


def test_bioasq_takes_its_incorrect_fragment_from_another_question():
    own = Document(id="1", text="Alpha lowers blood pressure in adults.")
    other = Document(id="2", text="Alpha has been seen in the blood of cats.")
    answer = BioasqAnswer("Does alpha lower blood pressure?", ("Alpha lowers it.",), (own,), "q1")
    pairs = bioasq_pairs([answer], FragmentSearch([own, other]))
    assert [(p.passage, p.correct, p.group) for p in pairs] == [
        (own.text, True, "q1"),
        (other.text, False, "q1"),
    ]


def made_pairs(n: int = 40) -> list[CorrectnessPair]:
    words = ["fever", "cough", "stroke", "asthma", "anemia", "gout", "sepsis", "migraine"]
    pairs: list[CorrectnessPair] = []
    for i in range(n):
        word, other = words[i % 8], words[(i + 3) % 8]
        sentence = f"The drug treats {word} in adults."
        group = f"q{i}"
        right = f"In the trial {word} was treated by the drug."
        wrong = f"In the trial {other} was treated by the drug."
        pairs.append(CorrectnessPair(sentence, right, True, group))
        pairs.append(CorrectnessPair(sentence, wrong, False, group))
    return pairs


@pytest.mark.parametrize("family", ["svm", "logistic"])
def test_a_baseline_learns_that_evidence_shares_the_words(family, tmp_path: Path):
    fitted = fit_classifier(made_pairs(), family)
    right, wrong = fitted.scores(
        [
            ("The drug treats gout in adults.", "By the drug gout was treated."),
            ("The drug treats gout in adults.", "By the drug sepsis was treated."),
        ]
    )
    assert right > 0.5 > wrong
    file = tmp_path / "fitted.json"
    file.write_text(fitted.weights.model_dump_json())
    again = PairClassifier.read(file)
    assert again.digest == fitted.digest
    assert again.scores([("gout", "gout")]) == pytest.approx(fitted.scores([("gout", "gout")]))


def test_the_file_reproduces_the_fitted_vectorizer():
    pairs = made_pairs()
    fitted = fit_classifier(pairs, "logistic")
    texts = [(p.sentence, p.passage) for p in pairs]
    features = pair_features(fitted_vectorizer(fitted.weights), texts)
    assert features.shape == (len(pairs), 2 * len(fitted.weights.words) + 1)
    # The last column is the cosine of two vectors of length 1.
    assert np.all(features[:, -1].toarray() <= 1 + 1e-9)


def test_no_pair_gives_no_score():
    assert fit_classifier(made_pairs(), "svm").scores([]).shape == (0,)


@pytest.mark.parametrize("content", ["", "{}", json.dumps({"family": "tree"}), "\x80"])
def test_another_file_is_refused_by_name(content: str, tmp_path: Path):
    file = tmp_path / "other.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"other\.json"):
        PairClassifier.read(file)
    with pytest.raises(SettingsError, match="absent"):
        PairClassifier.read(tmp_path / "absent.json")


def test_the_hash_is_of_the_pairs_and_their_order():
    pairs = made_pairs(2)
    assert pairs_sha256(pairs) == pairs_sha256(list(pairs))
    assert pairs_sha256(pairs) != pairs_sha256(pairs[::-1])
