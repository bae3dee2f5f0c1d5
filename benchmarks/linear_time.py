"""Check that readers of hostile texts run in linear time, by comparing two text lengths.

    python benchmarks/linear_time.py

For each reader and text, prints the ratio of the times at eight times the length and at one, using
the best of three. Linear readers have a ratio of about 8. The exit code is 1 if a ratio exceeds 16.
Keywords are excluded, because TopicRank compares all pairs of occurrences (2 s for 160,000
characters).
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

from ragassay.metrics.papers.sciqag import SourceNumbers, check_answer_numbers
from ragassay.records import Record
from ragassay.text.quantities import read_quantities
from ragassay.text.questions import find_context_marks
from ragassay.text.segmenter import segment

FACTOR, MOST = 8, 16
LENGTH = 5_000
"""Length of the shorter text in characters."""

MIXED = "".join(random.Random(0).choices("0123456789 .,^-/%", k=997))
NUMBERS = SourceNumbers.from_text("1, " * 20_000 + "\n" + "1\t" * 20_000)
Reader = Callable[[str], object]


def cut(text: str) -> object:
    return segment(Record(id="r", question="Q?", answer=text), lambda _: None)


CASES: dict[str, tuple[Reader, tuple[str, ...]]] = {
    "sentences": (
        cut,
        ("It grew [1]. ", "[1, ", "( ", "[PMID ", "1. ", "[10.1000/a;b(", "(10.1000/[a]", "[doi: "),
    ),
    "quantities": (
        read_quantities,
        ("1", "100,", " ", "two hundred and ", "fig. 1, ", "m s ", "10^", "1-1", MIXED),
    ),
    "context marks": (
        lambda text: find_context_marks(text, ""),
        ("the proposed ", "bee this bee ", "described ", "[1,1,1", "a", " ", "1,"),
    ),
    "numbers of a paper": (lambda text: check_answer_numbers(text, NUMBERS), ("1, ",)),
}


def seconds(reader: Reader, text: str) -> float:
    """Return the best time of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        reader(text)
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    worst = 0.0
    for name, (reader, pieces) in CASES.items():
        for piece in pieces:
            text = piece * (LENGTH // len(piece))
            ratio = seconds(reader, text * FACTOR) / max(seconds(reader, text), 1e-4)
            worst = max(worst, ratio)
            print(f"{name:20}{piece[:20]!r:24}{ratio:6.1f}")
    print(f"worst: {worst:.1f} (linear is {FACTOR})")
    sys.exit(worst > MOST)


if __name__ == "__main__":
    main()
