"""ALCE's citation recall and precision."""

from __future__ import annotations

import itertools

import pytest

from ragassay.metrics.papers.citations import (
    PRECISION,
    RECALL,
    CitingSentence,
    Support,
    compute_alce_scores,
)


def values(*sentences: CitingSentence) -> tuple[float | None, float | None]:
    found = compute_alce_scores(sentences, "judge")
    return found[RECALL].value, found[PRECISION].value


def test_worked_by_hand():
    # The first sentence is supported by both together only: both are needed. In the second, 1 is
    # enough, and 2 is not needed. The third cites nothing. The fourth is not supported.
    both = CitingSentence({"1": False, "2": False}, True, {"1": False, "2": False})
    one = CitingSentence({"1": True, "2": False}, True, {"2": True})
    none = CitingSentence()
    wrong = CitingSentence({"3": False}, False)
    assert values(both) == (1.0, 1.0)
    assert values(one) == (1.0, 0.5)
    assert values(none) == (0.0, 0.0)
    assert values(wrong) == (0.0, 0.0)
    # Two of four sentences; of five citations three.
    assert values(both, one, none, wrong) == (0.5, 0.6)


def test_an_invalid_citation_spoils_its_sentence():
    found = compute_alce_scores([CitingSentence({"1": True}, True, has_invalid=True)], "judge")
    assert (found[RECALL].value, found[PRECISION].value, found[PRECISION].n) == (0.0, 0.0, 2)


def test_what_nobody_could_tell_is_unscored_and_bounded():
    found = compute_alce_scores(
        [CitingSentence({"1": None}, None), CitingSentence({"2": True}, True)], "j"
    )
    for score in found.values():
        assert (score.value, score.n, score.n_unscored) == (1.0, 1, 1)
        assert (score.worst, score.best) == (0.5, 1.0)


def test_a_sentence_without_a_citation_is_no_recall_where_all_others_failed():
    found = compute_alce_scores([CitingSentence({"1": None}, None), CitingSentence()], "j")
    assert (found[RECALL].value, found[RECALL].n, found[RECALL].n_unscored) == (None, 0, 2)
    assert (found[RECALL].worst, found[RECALL].best) == (0.0, 0.5)


def as_alces_program(
    alone: dict[str, bool], together: bool, without: dict[str, bool]
) -> tuple[int, int]:
    """What its loop adds for one sentence: to recall, and to precise citations."""
    if not together or len(alone) < 2:
        return int(together), int(together)
    return 1, sum(1 for name in alone if alone[name] or not without[name])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_sentence_counts_as_in_alces_program(n: int):
    names = [str(i) for i in range(n)]
    for bits in itertools.product((False, True), repeat=2 * n + 1):
        alone = dict(zip(names, bits[:n], strict=True))
        without = dict(zip(names, bits[n : 2 * n], strict=True))
        together = alone["0"] if n == 1 else bits[-1]
        asked: dict[str, Support] = {k: v for k, v in without.items() if not alone[k]}
        recall, precise = as_alces_program(alone, together, without)
        assert values(CitingSentence(dict(alone), together, asked)) == (
            recall,
            pytest.approx(precise / n, abs=1e-4),
        )
