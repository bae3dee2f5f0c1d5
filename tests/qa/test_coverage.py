"""Coverage of a paper by its answers: equation 1 of SciQAG, and its published code's figure."""

from __future__ import annotations

import random

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from ragassay.qa.measures import (
    average_chunk_share,
    chance_coverage_score,
    count_chunks,
    count_top_sentences,
    coverage_score,
    find_chunk,
    find_covered_chunks,
    find_top_sentences,
    pooled_coverage_score,
)

Matrix = list[list[float]]


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    n_answers, n_sentences = draw(st.integers(1, 5)), draw(st.integers(1, 47))
    # Few values, so that many are equal.
    row = st.lists(
        st.sampled_from([-0.2, 0.1, 0.5, 0.9]), min_size=n_sentences, max_size=n_sentences
    )
    return draw(st.lists(row, min_size=n_answers, max_size=n_answers))


def rising(n: int) -> list[float]:
    return [i / n for i in range(n)]


class TestTopCount:
    @each_case(
        ("n", "k"),
        [(0, 0), (1, 1), (6, 1), (13, 1), (14, 2), (20, 3), (40, 6), (100, 15), (199, 29)],
    )
    def test_is_rounded_down_to_one_or_more(self, n: int, k: int) -> None:
        assert count_top_sentences(n) == k

    def test_a_share_that_binary_cannot_write_loses_no_sentence(self) -> None:
        counts = [count_top_sentences(20 * i) for i in range(1, 500)]
        assert counts == [3 * i for i in range(1, 500)]


class TestChunks:
    def test_are_ten_equal_ones_or_a_sentence_each(self) -> None:
        assert [find_chunk(i, 30) for i in range(30)] == [1 + i // 3 for i in range(30)]
        for n in range(1, 11):
            assert [find_chunk(i, n) for i in range(n)] == list(range(1, n + 1))

    @given(st.integers(1, 500))
    def test_differ_by_one_sentence_at_most_and_keep_the_order(self, n: int) -> None:
        chunks = [find_chunk(i, n) for i in range(n)]
        sizes = [chunks.count(chunk) for chunk in range(1, count_chunks(n) + 1)]
        assert chunks == sorted(chunks)
        assert min(sizes) >= 1
        assert max(sizes) - min(sizes) <= 1
        assert sum(sizes) == n


class TestClosest:
    def test_come_first_and_the_earlier_of_equals(self) -> None:
        assert find_top_sentences([0.2, 0.9, 0.2, 0.9, 0.5], 4) == (1, 3, 4, 0)
        assert find_top_sentences([0.1], 10) == (0,)
        assert find_top_sentences([], 10) == ()


class TestCoverage:
    def test_worked_by_hand(self) -> None:
        # 40 sentences: chunks of 4, and 15 % are 6. The first answer is closest to the last six,
        # 34 to 39: chunks 9 and 10. The second to the first six, 0 to 5: chunks 1 and 2.
        first, second = rising(40), rising(40)[::-1]
        assert find_covered_chunks(first) == (9, 10)
        assert find_covered_chunks(second) == (1, 2)
        assert coverage_score([first, second]) == 0.4
        assert coverage_score([first, first]) == 0.2
        assert average_chunk_share([first, second]) == 0.2

    def test_pooled_as_in_the_published_code_worked_by_hand(self) -> None:
        # The best of the two answers for each sentence is high at both ends: 1, .975, .95 and
        # the same again. Six sentences in all, three at each end: chunks 1 and 10.
        rows = [[(i + 1) / 40 for i in range(40)], [(40 - i) / 40 for i in range(40)]]
        assert pooled_coverage_score(rows) == 0.2

    def test_one_answer_can_take_all_of_the_pooled_list(self) -> None:
        loud, quiet = rising(40), [value / 100 for value in rising(40)[::-1]]
        assert pooled_coverage_score([loud, quiet]) == 0.2
        assert coverage_score([loud, quiet]) == 0.4

    @given(matrices())
    def test_agrees_with_the_definition(self, rows: Matrix) -> None:
        n = len(rows[0])
        parts = min(10, n)
        chunks = [{i for i in range(n) if i * parts // n == part} for part in range(parts)]
        k = max(1, int(n * 15 // 100))
        near: set[int] = set()
        per_answer = []
        for row in rows:
            left, top = dict(enumerate(row)), set[int]()
            for _ in range(k):
                best = min(i for i in left if left[i] == max(left.values()))
                top.add(best)
                del left[best]
            near |= top
            per_answer.append(sum(bool(chunk & top) for chunk in chunks) / parts)
        assert coverage_score(rows) == sum(bool(chunk & near) for chunk in chunks) / parts
        assert average_chunk_share(rows) == pytest.approx(sum(per_answer) / len(rows))

    @given(matrices())
    def test_pooled_agrees_with_a_walk_down_the_list(self, rows: Matrix) -> None:
        # As the published code does it: all similarities in one list, until there are k sentences.
        n = len(rows[0])
        cells = sorted((-value, i) for row in rows for i, value in enumerate(row))
        found: dict[int, None] = {}
        for _, sentence in cells:
            if len(found) < count_top_sentences(n):
                found.setdefault(sentence)
        assert pooled_coverage_score(rows) == len({i * min(10, n) // n for i in found}) / min(10, n)

    @given(matrices())
    def test_grows_with_answers_and_with_the_share(self, rows: Matrix) -> None:
        one, every = coverage_score(rows[:1]), coverage_score(rows)
        wide, whole = coverage_score(rows, 0.5), coverage_score(rows, 1.0)
        assert one is not None and every is not None and wide is not None
        assert 0 < one <= every <= wide <= 1 == whole

    @each_case("score", [coverage_score, pooled_coverage_score, average_chunk_share])
    def test_of_nothing_is_undefined_and_of_a_paper_of_one_sentence_whole(self, score) -> None:
        assert score([]) is None
        assert score([[], []]) is None
        assert score([[0.1]]) == 1


class TestChance:
    def test_worked_by_hand(self) -> None:
        # 20 sentences, chunks of 2, 3 drawn: a chunk escapes with C(18, 3) / C(20, 3) = 816 / 1140.
        assert chance_coverage_score(1, 20, 3) == pytest.approx(1 - 816 / 1140)
        assert chance_coverage_score(2, 20, 3) == pytest.approx(1 - (816 / 1140) ** 2)
        assert chance_coverage_score(0, 5, 1) is None
        assert chance_coverage_score(3, 0, 0) is None
        assert chance_coverage_score(1, 5, 5) == 1

    def test_agrees_with_drawing(self) -> None:
        rng = random.Random(7)
        drawn = [
            coverage_score([[rng.random() for _ in range(47)] for _ in range(2)]) or 0
            for _ in range(2000)
        ]
        assert chance_coverage_score(2, 47, 7) == pytest.approx(sum(drawn) / len(drawn), abs=0.01)
