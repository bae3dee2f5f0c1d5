"""Pairs are rated without a judge, and only where that can be told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from qa_pairs import PAIRS, PAPER

from ragassay.evaluators.build_run import build_run
from ragassay.graphs.case import create_open_case
from ragassay.instruments.pair_rater import EmbeddedPairRater, PaperSignals
from ragassay.models.fitted_raters import RelevanceModel, load_relevance_model
from ragassay.records import RACAR, Bound, Case, RacarRating
from ragassay.records.qa import build_paper_record
from ragassay.settings import load_settings

BOUNDS = tuple(
    Bound(label=label, threshold=0.9, risk=0.05, delta=0.1, n=100) for label in ("3", "1")
)
MODEL = RelevanceModel(data="made up", bias=-4, closest=5, covered=5, bounds=BOUNDS)


class Letters:
    """Embeds a text by whether it has the word spray."""

    digest = "letters"

    def encode_many(self, texts: Sequence[str]) -> np.ndarray:
        rows = [[float("spray" in text), float("spray" not in text)] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), 2)


def case() -> Case:
    run = build_run(load_settings(only=("racar",)))
    return create_open_case(build_paper_record(PAPER, PAIRS), run).case


def rated(dimension: str) -> dict[str, RacarRating]:
    rater = EmbeddedPairRater(Letters(), MODEL)
    return {one.pair: one for one in rater.rate(dimension, PAIRS, case())}  # type: ignore[arg-type]


def test_a_question_that_points_to_a_figure_is_not_agnostic_and_others_are_left_open():
    found = rated("agnosticism")
    assert found["p/2"].rating == 1 and "Figure 2" in found["p/2"].reason
    assert found["p/1"].is_undecided and found["p/1"].tentative_rating == 3


def test_a_number_that_the_paper_does_not_have_is_not_accurate():
    found = rated("accuracy")
    assert found["p/2"].rating == 1 and "640" in found["p/2"].reason
    assert found["p/1"].is_undecided and found["p/3"].is_undecided


def test_a_question_is_relevant_where_the_paper_has_its_words_and_a_close_sentence():
    found = rated("relevance")
    # The spray's question: cosine 1, all content words but one: 5 + 5 * share - 4 > 2.2.
    assert found["p/1"].rating == 3
    probability = MODEL.predict_probability(1.0, share_of("p/1"))
    assert found["p/1"].confidence == pytest.approx(probability, abs=1e-3)
    assert all(one.rating in (1, 3) or one.is_undecided for one in found.values())


def share_of(name: str) -> float:
    question = next(pair.question for pair in PAIRS if pair.id == name)
    return PaperSignals(Letters()).measure([question], PAPER.evidence_text)[0][1]


@pytest.mark.parametrize("dimension", RACAR)
def test_what_it_cannot_tell_it_leaves_open(dimension):
    found = rated(dimension)
    assert set(found) == {pair.id for pair in PAIRS}
    if dimension not in EmbeddedPairRater.dimensions:
        assert all(one.is_undecided and one.tentative_rating is None for one in found.values())


def test_a_paper_without_a_sentence_is_close_to_nothing():
    assert PaperSignals(Letters()).measure(["What is it?"], "") == [(0.0, 0.0)]
    assert PaperSignals(Letters()).measure([], "A spray.") == []


def test_the_shipped_numbers_rise_with_both_measures():
    model = load_relevance_model()
    assert model.closest > 0 and model.covered > 0
    assert {bound.label for bound in model.bounds} == {"1", "3"}
