"""Whatever reads a text of somebody else's takes time in proportion to the text.

A text that takes a moment is tried at four times its length: four times the work where it is
linear, sixteen where it is quadratic.
"""

from __future__ import annotations

import time

import pytest
from case_tables import each_case
from hostile.readers import PIECES, READERS, Reader

N = 1_500
UNNOTICED_S = 0.01
MEGABYTE = 1_000_000
SHORTER = {"damage": 100_000, "connectives": 100_000}
"""Each change writes the sentence anew: a sentence of a megabyte of connectives takes minutes."""
MOST_S_A_MEGABYTE = 60.0


def text_of(piece: str, n: int) -> str:
    return (piece * (n // len(piece) + 1))[:n]


def seconds(reader: Reader, text: str) -> float:
    start = time.thread_time()
    reader(text)
    return time.thread_time() - start


def is_slow(reader: Reader, piece: str, n: int) -> bool:
    """Whether the work grows faster than the text; three times over, for machines are busy."""
    for turn in range(3):
        # No two texts are the same: some readers remember what they have read.
        first, second = (text_of(piece, size + turn) for size in (n, 4 * n))
        short = seconds(reader, first)
        if short < UNNOTICED_S or seconds(reader, second) < 8 * short:
            return False
    return True


@each_case("name", READERS)
def test_a_reader_is_linear(name):
    READERS[name]("It is loaded now. [1]")
    assert [piece for piece in PIECES[::4] if is_slow(READERS[name], piece, N)] == []


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_a_reader_is_linear_over_every_piece(name):
    READERS[name]("It is loaded now. [1]")
    assert [piece for piece in PIECES if is_slow(READERS[name], piece, 4 * N)] == []


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", READERS)
def test_a_reader_reads_a_megabyte(name):
    READERS[name]("It is loaded now. [1]")
    n = SHORTER.get(name, MEGABYTE)
    took = {piece: seconds(READERS[name], text_of(piece, n)) for piece in PIECES[::4]}
    assert {piece: s for piece, s in took.items() if s > MOST_S_A_MEGABYTE} == {}


def test_what_is_not_linear_is_caught():
    assert is_slow(lambda text: [text.count(one) for one in text], "a", 12_000)
