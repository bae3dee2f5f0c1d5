from __future__ import annotations

import gzip
import json
from collections.abc import Sequence

import numpy as np
import pytest
from fakes import WordEmbedder
from hypothesis import given
from hypothesis import strategies as st

from ragassay.models.embeddings import Encoded
from training import tokens
from training.reranking import (
    Bm25Search,
    Candidates,
    collect,
    cross_validated,
    fit,
    group_folds,
    read_scifact,
)
from training.tokens import CachedTokenEncoder

QRELS = st.dictionaries(
    st.sampled_from([f"q{i}" for i in range(12)]),
    st.dictionaries(st.sampled_from("abcdefgh"), st.just(1), min_size=1, max_size=2),
)


@given(QRELS, st.integers(1, 5))
def test_queries_that_share_an_abstract_are_in_one_fold(qrels, n_folds):
    folds = group_folds(qrels, n_folds, seed=1)
    assert folds.keys() == qrels.keys()
    assert all(0 <= fold < n_folds for fold in folds.values())
    for p, left in qrels.items():
        for q, right in qrels.items():
            assert folds[p] == folds[q] or left.keys().isdisjoint(right)


def test_folds_are_of_one_size_where_nothing_is_shared():
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(10)}
    folds = group_folds(qrels, 5, seed=0)
    assert sorted(folds.values()) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert folds == group_folds(qrels, 5, seed=0)


def candidates(relevant: int) -> Candidates:
    """Three hits, the first feature of which says which one is relevant; the rest is noise."""
    table = np.random.default_rng(relevant).normal(size=(3, 3))
    table[:, 0] = 0
    table[relevant, 0] = 1
    return Candidates(("a", "b", "c"), table, np.eye(3)[relevant])


def test_the_telling_feature_gets_the_weight():
    weights = fit([candidates(i % 3) for i in range(30)])
    assert weights[0] > 3 * np.abs(weights[1:]).max()


def test_the_fit_is_a_minimum_of_its_loss():
    data = [candidates(i % 3) for i in range(9)]

    def loss(weights: np.ndarray) -> float:
        total = 0.0
        for c in data:
            scores = np.exp(c.table @ weights)
            total -= float(np.log(scores / scores.sum()) @ c.relevant) / len(data)
        return total + 0.1 * float(weights @ weights)

    best = fit(data, l2=0.1)
    for step in np.eye(3) * 0.05:
        assert loss(best) < min(loss(best + step), loss(best - step))


def test_queries_that_found_nothing_relevant_cannot_be_fitted_to():
    nothing = Candidates(("a",), np.zeros((1, 3)), np.zeros(1))
    with pytest.raises(ValueError, match="no query has a relevant hit"):
        fit([nothing])


def test_a_fold_is_ranked_by_weights_fitted_without_it():
    found = {f"q{i}": candidates(i % 3) for i in range(12)}
    folds = {query: i % 2 for i, query in enumerate(found)}
    run = cross_validated(found, folds)
    others = fit([c for query, c in found.items() if folds[query] == 1])
    assert list(run["q0"].values()) == pytest.approx((found["q0"].table @ others).tolist())


def test_scifact_is_read_searched_and_featured(tmp_path):
    folder = tmp_path / "data" / "scifact"
    folder.mkdir(parents=True)
    rows = [
        {"doc_id": 1, "title": "Whales", "abstract": ["Whales sing.", "They sing at night."]},
        {"doc_id": 2, "title": "Aspirin", "abstract": ["Aspirin prevents stroke."]},
    ]
    with gzip.open(folder / "corpus.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    (folder / "claims_train.jsonl").write_text(
        '{"id": 7, "claim": "Aspirin stops strokes; whales do not."}\n{"id": 8, "claim": "x"}\n'
    )
    (folder / "qrels_train.tsv").write_text("query-id\tcorpus-id\tscore\n7\t2\t1\n")
    data = read_scifact(tmp_path)
    assert list(data.claims) == ["7"]
    assert data.documents["1"].text == "Whales sing. They sing at night."
    found = collect(data, Bm25Search(data.documents), WordEmbedder())
    assert found["7"].ids == ("2", "1")
    assert found["7"].relevant.tolist() == [1.0, 0.0]
    assert found["7"].table.shape == (2, 4)


class Tokens(WordEmbedder):
    """Each word of a text has the text's own vector."""

    def encode_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        rows = zip(texts, self.encode(texts), strict=True)
        return [
            Encoded(vector, np.tile(vector, (len(text.split()), 1)).astype(np.float16))
            for text, vector in rows
        ]


@pytest.mark.parametrize("save_every", [1, 2, 100])
def test_tokens_are_computed_once_and_kept_on_disk(tmp_path, monkeypatch, save_every):
    monkeypatch.setattr(tokens, "SAVE_EVERY", save_every)
    folder = tmp_path / "vectors"
    texts = ["a whale", "", "a stroke of luck", "a whale"]
    embedder = Tokens()
    with CachedTokenEncoder(embedder, folder) as encoder:
        first = [encoder.encode_tokens([text])[0] for text in texts]
        assert encoder.encode([]).shape == (0, 0)
        assert encoder.encode_tokens([]) == []
    assert embedder.asked == texts[:3]
    assert [len(found.tokens) for found in first] == [2, 0, 4, 2]
    again = Tokens()
    with CachedTokenEncoder(again, folder) as encoder:
        for found, expected in zip(encoder.encode_tokens(texts), first, strict=True):
            assert np.array_equal(found.tokens, expected.tokens)
            assert np.array_equal(found.vector, expected.vector)
        assert np.array_equal(encoder.encode(texts[2:]), [f.vector for f in first[2:]])
    assert again.asked == []
    assert all(path.suffix == ".npz" for path in folder.iterdir())


def test_without_a_folder_tokens_stay_in_memory():
    embedder = Tokens()
    with CachedTokenEncoder(embedder) as encoder:
        encoder.encode_tokens(["a whale"])
        encoder.encode(["a whale"])
    assert embedder.asked == ["a whale"]
