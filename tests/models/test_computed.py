"""What the packaged models computed is kept in the cache folder, and read by later runs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_tables import each_case
from numpy.typing import NDArray

from ragassay.models import minilm
from ragassay.models.adapters import WHOLE
from ragassay.models.computed import cache_results, compute_arrays
from ragassay.models.embeddings import Embedder
from ragassay.models.verifiers import AdaptedVerifier


class Counting:
    """Computes the length of each input, and counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __call__(self, given: list[Any]) -> Sequence[NDArray[np.floating]]:
        self.asked += given
        return [np.array([len(one), 0.1], dtype=np.float32) for one in given]


def lengths(compute: Counting, texts: Sequence[str], digest: str = "d") -> list[list[float]]:
    return [one.tolist() for one in compute_arrays("length", digest, texts, compute)]


@pytest.fixture
def compute() -> Counting:
    return Counting()


def test_a_later_run_reads_what_an_earlier_one_computed(compute, tmp_path):
    with cache_results(tmp_path, 10):
        first = lengths(compute, ["a", "bb", "a"])
    with cache_results(tmp_path, 10):
        second = lengths(compute, ["bb", "a", "ccc"])
    assert first == [first[0], first[1], first[0]]
    assert second == [first[1], first[0], [3.0, first[0][1]]]
    assert compute.asked == ["a", "bb", "ccc"]


@pytest.mark.parametrize(
    ("digests", "most_mb"), [(("", ""), 10), (("d", "d"), 0), (("one", "other"), 10)]
)
def test_nothing_is_read_without_a_digest_or_room_or_of_another_model(
    compute, tmp_path, digests, most_mb
):
    for digest in digests:
        with cache_results(tmp_path, most_mb):
            lengths(compute, ["a"], digest)
    assert compute.asked == ["a", "a"]


def test_runs_beside_each_other_end_in_any_order(compute, tmp_path):
    one, other = cache_results(tmp_path, 10), cache_results(tmp_path, 10)
    one.__enter__()
    other.__enter__()
    lengths(compute, ["a"])
    one.__exit__(None, None, None)
    lengths(compute, ["a"])
    other.__exit__(None, None, None)
    assert compute.asked == ["a"]
    lengths(compute, ["a"])
    assert compute.asked == ["a", "a"], "nothing is kept after the last run"


def test_a_folder_that_cannot_be_made_keeps_nothing(compute, tmp_path):
    (tmp_path / "file").touch()
    with cache_results(tmp_path / "file" / "folder", 10):
        assert lengths(compute, ["a"]) == [[1.0, pytest.approx(0.1)]]


def damage_database(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_bytes(b"damaged")


def damage_pages(folder: Path) -> None:
    """Damage the pages of the entries: the database opens, and cannot be read."""
    database = folder / "cache.db"
    content = database.read_bytes()
    database.write_bytes(content[:16384] + b"\xff" * (len(content) - 16384))


@pytest.mark.parametrize(
    ("damage", "n_computed"),
    # What opens is found malformed by the read, and made again by the next run.
    [(damage_database, [1, 2, 2, 2]), (damage_pages, [1, 2, 3, 3])],
)
def test_a_malformed_database_is_set_aside_and_made_again(damage, n_computed, compute, tmp_path):
    for run, n in enumerate(n_computed):
        with cache_results(tmp_path, 10):
            assert lengths(compute, ["a"]) == [[1.0, pytest.approx(0.1)]]
        assert len(compute.asked) == n
        if run == 0:
            damage(tmp_path)
    assert (tmp_path / "cache.db.damaged").is_file()


HEADER = np.lib.format.magic(1, 0) + b"\x76\x00"
HUGE = b"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999,), }"


@each_case(
    "content",
    [
        b"",
        b"PK\x03\x04",  # an archive
        HEADER + b"{'descr': ('<f4', " + b" " * 100 + b"\n",
        HEADER + HUGE.ljust(117) + b"\n",  # larger than the memory
        HEADER,
        b"damaged",
    ],
)
def test_an_entry_that_cannot_be_read_is_computed_again_and_stored(content, tmp_path):
    asked = []

    def compute(given: list[Any]) -> list[NDArray[np.floating]]:
        asked.extend(given)
        return [np.zeros(20_000, dtype=np.float32) for _ in given]

    for n_computed in (1, 2, 2):
        with cache_results(tmp_path, 10):
            (array,) = compute_arrays("zeros", "d", ["a"], compute)
        assert array.shape == (20_000,)
        assert len(asked) == n_computed
        if n_computed == 1:
            (path,) = tmp_path.rglob("*.val")
            path.write_bytes(content)


def test_a_locked_database_delays_no_run_for_long(compute, tmp_path):
    with cache_results(tmp_path, 10), closing(sqlite3.connect(tmp_path / "cache.db")) as other:
        lengths(compute, ["a"])
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        assert lengths(compute, ["bb", "a", "ccc", "dddd"])[0] == [2.0, pytest.approx(0.1)]
        with cache_results(tmp_path, 10):
            lengths(compute, ["eeeee"])
        assert time.monotonic() - began < 10
    assert compute.asked == ["a", "bb", "ccc", "dddd", "eeeee"]


def test_the_text_is_not_stored(tmp_path):
    with cache_results(tmp_path, 10):
        lengths(Counting(), ["a very private sentence"])
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert stored
    assert b"private" not in stored


@pytest.mark.integration
def test_stored_vectors_and_probabilities_are_those_computed(tmp_path, monkeypatch):
    texts, pairs = ["Drug A helps.", "It rained."], [("Drug A helps.", "Drug A helped most.")]
    with cache_results(tmp_path, 10):
        embedder, verifier = Embedder(), AdaptedVerifier(WHOLE, Path())
        vectors = embedder.encode(texts)
        tokens = embedder.encode_tokens(texts)
        shares = verifier.predict_probabilities(pairs)
    with cache_results(tmp_path, 10):
        embedder, verifier = Embedder(), AdaptedVerifier(WHOLE, Path())
        monkeypatch.setattr(minilm, "load_minilm_texts", lambda: pytest.fail("a model is loaded"))
        assert (embedder.encode(texts) == vectors).all()
        for one, other in zip(embedder.encode_tokens(texts), tokens, strict=True):
            assert (one.vector == other.vector).all()
            assert (one.tokens == other.tokens).all()
        assert (verifier.predict_probabilities(pairs) == shares).all()
        assert shares.shape == (1, 3)
