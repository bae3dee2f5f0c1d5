"""The classical classifiers of correctness, and what their files hold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ragassay.errors import InputError, SettingsError
from ragassay.models.fitted_models import PairClassifier, compute_pair_features, restore_vectorizer
from ragassay.optimizers.finetuning.labelled_pairs import LabelledPair, hash_pairs
from ragassay.optimizers.finetuning.pair_classifiers import fit_classifier
from ragassay.records import Bound


def made_pairs(n: int = 40) -> list[LabelledPair]:
    words = ["fever", "cough", "stroke", "asthma", "anemia", "gout", "sepsis", "migraine"]
    pairs: list[LabelledPair] = []
    for i in range(n):
        word, other = words[i % 8], words[(i + 3) % 8]
        sentence = f"The drug treats {word} in adults."
        group = f"q{i}"
        right = f"In the trial {word} was treated by the drug."
        wrong = f"In the trial {other} was treated by the drug."
        pairs.append(LabelledPair(sentence, right, 0, group))
        pairs.append(LabelledPair(sentence, wrong, 1, group))
    return pairs


@pytest.mark.parametrize("family", ["svm", "logistic"])
def test_a_baseline_learns_that_evidence_shares_the_words(family, tmp_path: Path):
    fitted = fit_classifier(made_pairs(), family)
    right, wrong = fitted.score_pairs(
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
    assert again.score_pairs([("gout", "gout")]) == pytest.approx(
        fitted.score_pairs([("gout", "gout")])
    )


def test_the_file_reproduces_the_fitted_vectorizer():
    pairs = made_pairs()
    fitted = fit_classifier(pairs, "logistic")
    texts = [(p.sentence, p.passage) for p in pairs]
    features = compute_pair_features(restore_vectorizer(fitted.weights), texts)
    assert features.shape == (len(pairs), 2 * len(fitted.weights.words) + 1)
    # The last column is the cosine of two vectors of length 1.
    assert np.all(features[:, -1].toarray() <= 1 + 1e-9)


def test_no_pair_gives_no_score():
    assert fit_classifier(made_pairs(), "svm").score_pairs([]).shape == (0,)


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
    right = ("The drug treats gout in adults.", "By the drug gout was treated.")
    wrong = ("The drug treats gout in adults.", "By the drug sepsis was treated.")
    doubt = fitted.find_doubt([right])
    assert doubt is not None and doubt.reason == "undecided"
    assert fitted.find_doubt([wrong]) is None, "no bound is known for incorrect ones"
    assert fit_classifier(made_pairs(), "logistic").find_doubt([right]) is None
