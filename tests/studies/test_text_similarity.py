"""Similarity of texts: worked by hand, against brute force, and at the edges."""

from __future__ import annotations

import importlib.util
import itertools
import math
import sys
from collections import Counter

import numpy as np
import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from ragassay.errors import ExtraError
from ragassay.studies import text_similarity
from ragassay.studies.text_similarity import (
    SIMILARITY_KINDS,
    TEXT_MEASURES,
    bleu_score,
    compute_rarity_weights,
    inverse_document_frequencies,
    meteor_score,
    mover_score,
    nist_score,
    rouge1_score,
    rouge_l_score,
    transport_distance,
    word_error_rate,
)

REFERENCE = "the cat sat on the mat"
CANDIDATE = "the cat lay on the mat"
words = st.lists(st.sampled_from(["dose", "of", "aspirin", "halves", "risk"]), min_size=1)
texts = words.map(" ".join)


def test_bleu_by_hand():
    # Unigrams 5/6, bigrams 3/5, trigrams 1/4; no 4-gram of 3: smoothed to 1/(2*3). As long: no
    # penalty.
    expected = (5 / 6 * 3 / 5 * 1 / 4 * 1 / 6) ** 0.25
    assert bleu_score(REFERENCE, CANDIDATE) == pytest.approx(expected)
    # All n-grams of a short candidate up to 3 are there; exp(1 - 6/3).
    assert bleu_score(REFERENCE, "the cat sat") == pytest.approx(math.exp(-1))


def test_rouge_by_hand():
    # 5 of 6 words are shared, in the same order.
    assert rouge1_score(REFERENCE, CANDIDATE) == pytest.approx(5 / 6)
    assert rouge_l_score(REFERENCE, CANDIDATE) == pytest.approx(5 / 6)
    # Reversed: all words shared; the longest common subsequence of 3 is one word.
    assert rouge1_score("a b c", "c b a") == pytest.approx(1.0)
    assert rouge_l_score("a b c", "c b a") == pytest.approx(1 / 3)
    # Words are stemmed.
    assert rouge1_score("treated patients", "treating patient") == 1.0


@given(texts, texts)
def test_rouge_l_is_the_longest_common_subsequence(one, two):
    a, b = one.split(), two.split()
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            longest = max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else longest
    # F1 of the shares of both texts: 2 * LCS / (n + m).
    assert rouge_l_score(one, two) == pytest.approx(2 * table[-1][-1] / (len(a) + len(b)))


def test_meteor_by_hand():
    # 5 of 6 words matched: P = R = F = 5/6. Two chunks, "the cat" and "on the mat":
    # penalty 0.5 * (2/5)^3.
    assert meteor_score(REFERENCE, CANDIDATE) == pytest.approx(5 / 6 * (1 - 0.5 * 0.4**3))
    # Recall counts most. P and R change places: F = 10PR / (R + 9P).
    longer = f"{REFERENCE} and slept there for hours"
    assert (meteor_score(REFERENCE, longer) or 0) > (meteor_score(longer, REFERENCE) or 1)


def test_meteor_aligns_as_nltk_and_not_with_the_fewest_crossings():
    # Both words match: P = 1, R = 2/5, F = 10PR / (R + 9P) = 4 / 9.4. Of the reference's two "the"
    # nltk takes the last one, behind "cat": two chunks, penalty 0.5 * (2/2)^3. The paper takes the
    # first one, which crosses nothing: one chunk, penalty 0.5 * (1/2)^3.
    reference, candidate = "the cat saw the dog", "the cat"
    assert meteor_score(reference, candidate) == pytest.approx(4 / 9.4 * (1 - 0.5))
    assert 4 / 9.4 * (1 - 0.5 / 8) > (meteor_score(reference, candidate) or 1)


def test_meteor_aligns_stems_but_no_synonyms_without_wordnet(monkeypatch):
    class Missing:
        def ensure_loaded(self) -> None:
            raise LookupError("no corpus here")

    monkeypatch.setattr("nltk.corpus.wordnet", Missing())
    # Whether WordNet is there is asked once: of a copy of the module that has not asked yet.
    spec = importlib.util.find_spec(text_similarity.__name__)
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    assert not fresh.has_synonyms()
    # One chunk of two words: 1 - 0.5 * (1/2)^3.
    assert fresh.meteor_score("patients improved", "patient improves") == pytest.approx(0.9375)
    assert fresh.meteor_score("car", "automobile") == 0.0


def test_nist_by_hand():
    # Reference of 4 words, each once: a unigram tells log2(4/1) = 2 bits; a longer n-gram
    # log2(1/1) = 0. All 4 unigrams match: 4 * 2 / 4 = 2.
    assert nist_score("a b c d", "a b c d") == pytest.approx(2.0)
    # Two of four match: 2 * 2 / 4 = 1.
    assert nist_score("a b c d", "a b x y") == pytest.approx(1.0)
    # A reference that repeats itself is low even with itself.
    repeated = "dose dose dose dose dose dose"
    assert (nist_score(repeated, repeated) or 0) < (nist_score(REFERENCE, REFERENCE) or 0)


def nist_of(reference: list[str], candidate: list[str]) -> float:
    """Doddington's equation 3, written out for a candidate that is not shorter."""
    total = 0.0
    for n in range(1, min(5, len(candidate)) + 1):
        grams = [tuple(candidate[i : i + n]) for i in range(len(candidate) - n + 1)]
        counts = [
            Counter(tuple(reference[i : i + k]) for i in range(len(reference) - k + 1))
            for k in (n - 1, n)
        ]
        information = 0.0
        for gram, times in Counter(grams).items():
            above = counts[0][gram[:-1]] if n > 1 else len(reference)
            if counts[1][gram]:
                information += min(times, counts[1][gram]) * math.log2(above / counts[1][gram])
        total += information / len(grams)
    return total


@given(words, words)
def test_nist_is_doddingtons_sum(reference, candidate):
    candidate = candidate * (1 + len(reference) // len(candidate))
    found = nist_score(" ".join(reference), " ".join(candidate))
    assert found == pytest.approx(nist_of(reference, candidate))


def test_word_error_rate_by_hand():
    assert word_error_rate(REFERENCE, CANDIDATE) == pytest.approx(1 / 6)
    # Two words of the reference, six of the candidate: four inserted.
    assert word_error_rate("the cat", REFERENCE) == 2.0


@given(texts, texts)
def test_word_error_rate_is_the_edit_distance(one, two):
    a, b = one.split(), two.split()
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y)))
    assert word_error_rate(one, two) == pytest.approx(row[-1] / len(a))


@each_case("key", TEXT_MEASURES)
def test_one_word_against_another_and_a_text_without_a_word(key):
    measure = TEXT_MEASURES[key]
    assert measure("aspirin", "statins") == (1.0 if key == "wer" else 0.0)
    for empty in ("", " \n "):
        assert measure(empty, REFERENCE) is None
        assert measure(REFERENCE, empty) is None


@pytest.mark.parametrize("key", TEXT_MEASURES)
@given(one=texts, two=texts)
def test_measures_stay_on_their_scale_and_know_themselves(key, one, two):
    kind, measure = SIMILARITY_KINDS[key], TEXT_MEASURES[key]
    value, itself = measure(one, two), measure(one, one)
    assert value is not None
    assert itself is not None
    assert kind.scale[0] <= value <= kind.scale[1]
    if key in ("bleu", "rouge1", "rougeL"):
        assert itself == pytest.approx(1.0)
    if key == "wer":
        assert itself == 0.0
    if key == "meteor":
        # One chunk of n words.
        assert itself == pytest.approx(1 - 0.5 / len(one.split()) ** 3)
    if kind.is_symmetric:
        assert measure(two, one) == pytest.approx(value)


def test_a_missing_library_is_named_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jiwer", None)
    with pytest.raises(ExtraError, match=r'jiwer: pip install "ragassay\[similarity\]"'):
        word_error_rate("a", "b")


def cloud(*angles: float) -> np.ndarray:
    return np.array([[math.cos(a), math.sin(a)] for a in angles])


angles = st.lists(st.floats(0, 6.28), min_size=1, max_size=5)


def test_a_distance_by_hand_and_by_weights():
    # From one word to two: half goes to itself, half a quarter turn away, over sqrt(2).
    both = cloud(0), cloud(0, math.pi / 2)
    assert transport_distance(*both) == pytest.approx(math.sqrt(2) / 2)
    far = transport_distance(*both, None, np.array([0.25, 0.75]))
    assert far == pytest.approx(0.75 * math.sqrt(2))


@given(angles.flatmap(lambda a: st.tuples(st.just(a), st.permutations(a))))
def test_the_order_of_words_does_not_count(both):
    first, second = both
    # A cosine that ends a hair below 1 is a distance of 1e-8.
    assert transport_distance(cloud(*first), cloud(*second)) == pytest.approx(0, abs=1e-6)


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(*[st.lists(st.floats(0, 6.28), min_size=n,
    max_size=n)] * 2)))  # fmt: skip
def test_even_clouds_are_matched_one_to_one_at_the_least_cost(both):
    first, second = (cloud(*side) for side in both)
    costs = [
        np.mean([np.linalg.norm(x - second[i]) for x, i in zip(first, order, strict=True)])
        for order in itertools.permutations(range(len(second)))
    ]
    assert transport_distance(first, second) == pytest.approx(min(costs), abs=1e-6)


@given(angles, angles)
def test_uneven_clouds_cost_what_the_linear_programme_says(one, two):
    from scipy.optimize import linprog

    first, second = cloud(*one), cloud(*two)
    n, m = len(first), len(second)
    costs = np.linalg.norm(first[:, None] - second[None], axis=-1)
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    even = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    found = linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=even)
    assert transport_distance(first, second) == pytest.approx(found.fun, abs=1e-6)


def test_an_empty_cloud_has_no_distance():
    assert transport_distance(np.zeros((0, 2)), cloud(0)) is None
    assert transport_distance(cloud(0), np.zeros((0, 2))) is None
    assert mover_score(None) is None


def test_rare_tokens_weigh_more_and_those_that_are_everywhere_alike():
    # Of 3 documents: token 7 in all, 8 in one. log(4/4) = 0 and log(4/2).
    found = inverse_document_frequencies([[7, 8, 8], [7], [7, 7]])
    assert found == {7: 0.0, 8: pytest.approx(math.log(2))}
    assert compute_rarity_weights([7, 8, 8], found).tolist() == [0, 0.5, 0.5]
    found = inverse_document_frequencies([[1, 2], [2, 1]])
    assert compute_rarity_weights([1, 2], found).tolist() == [0.5, 0.5]
    assert compute_rarity_weights([], found).tolist() == []
    assert inverse_document_frequencies([]) == {}


def test_mover_score_turns_a_distance_into_a_similarity():
    assert mover_score(0.0) == 1.0
    assert mover_score(2.0) == pytest.approx(1 / 3)
