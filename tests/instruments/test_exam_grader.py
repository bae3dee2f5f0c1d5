"""The embedded grader of test banks."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import WordEmbedder
from pydantic import ValidationError

from ragassay.errors import SettingsError
from ragassay.instruments.exam_grader import (
    MOST_LOG_ODDS,
    EmbeddedExamGrader,
    ExamInstrument,
    measure,
)
from ragassay.models.cards import load_card
from ragassay.models.embeddings import Embedder
from ragassay.models.fitted_raters import ExamModel, ExamWeights, load_exam_model
from ragassay.models.verifiers import load_minilm_verifier
from ragassay.records import Bound, ExamItem

PASSAGE = "The train was late. Alpha lowers blood pressure in mice. It rained."
ITEM = ExamItem(id="q/1", text="alpha lowers pressure", kind="nugget")
OTHER = ExamItem(id="q/2", text="which songs charted")


class Fixed:
    name, digest = "fixed", "d"
    bounds: tuple[Bound, ...] = ()

    def __init__(self, *shares: float) -> None:
        self.shares = shares or (0.6, 0.1, 0.3)
        self.asked: list[tuple[str, str]] = []

    def predict_probabilities(self, pairs):
        self.asked += pairs
        return np.array([self.shares for _ in pairs]).reshape(len(pairs), 3)


def fitted(weights: dict[str, float], *bounds: Bound, lowest: int = 0) -> ExamModel:
    thresholds = tuple(range(lowest, lowest + 5))
    kind = ExamWeights(weights=weights, thresholds=thresholds, bounds=bounds)
    return ExamModel(data="d", data_sha256="s", kinds={"question": kind, "nugget": kind})


def grader(model: ExamModel, verifier: Fixed | None = None) -> EmbeddedExamGrader:
    return EmbeddedExamGrader(WordEmbedder(), verifier or Fixed(), model)


def bound(label: str, threshold: float | None) -> Bound:
    return Bound(label=label, threshold=threshold, risk=0.2, delta=0.1, n=100)


def test_signals_are_those_of_the_sentence_that_is_closest():
    found, other = measure([ITEM, OTHER], PASSAGE, WordEmbedder(), Fixed())
    assert found.sentence == "Alpha lowers blood pressure in mice."
    # Three words of the item, five of the sentence, without stop words: 3 / sqrt(3 x 5).
    assert found.signals["sentence"] == pytest.approx(3 / 15**0.5, abs=1e-6)
    assert found.signals["words"] == 1.0
    assert found.signals["supports"] == pytest.approx(np.log(0.6 / 0.4))
    assert found.signals["settles"] == pytest.approx(-np.log(0.3 / 0.7))
    # Without token vectors a text is one token.
    assert found.signals["least"] == found.signals["tokens"] == found.signals["sentence"]
    assert other.signals["sentence"] == 0.0
    assert found.signals["bank"] == other.signals["bank"] == pytest.approx(3 / 15**0.5 / 2)


def test_certain_probabilities_stay_finite():
    (found,) = measure([ITEM], PASSAGE, WordEmbedder(), Fixed(1.0, 0.0, 0.0))
    assert found.signals["supports"] == found.signals["settles"] == MOST_LOG_ODDS


def test_the_rating_is_the_highest_that_is_likelier_reached_than_not():
    # z = 2 x log-odds of support = 2 x log(1.5) = 0.81: above 0, below 1.
    (grade,) = grader(fitted({"supports": 2.0})).grade([ITEM], PASSAGE)
    reached = [1 / (1 + np.exp(threshold - 2 * np.log(1.5))) for threshold in range(5)]
    assert (grade.rating, grade.is_correct) == (1, True)
    assert grade.score == pytest.approx(sum(reached), abs=1e-4)
    assert grade.confidence == pytest.approx(reached[0], abs=1e-4)
    assert grade.answer == "Alpha lowers blood pressure in mice."
    (best,) = grader(fitted({"supports": 20.0})).grade([ITEM], PASSAGE)
    assert best.rating == 5


def test_an_item_that_is_not_covered_has_no_answer():
    (grade,) = grader(fitted({"supports": 2.0}, lowest=3)).grade([ITEM], PASSAGE)
    assert (grade.rating, grade.answer, grade.is_correct) == (0, "", False)
    assert grade.confidence is not None and grade.confidence > 0.5


def test_below_its_bound_a_grade_is_undecided_and_says_which_way_it_leans():
    model = fitted({"supports": 2.0}, bound("yes", 0.9), bound("no", 0.6))
    (yes,) = grader(model).grade([ITEM], PASSAGE)
    assert yes.is_undecided and yes.tentative_label == "yes"
    assert (yes.rating, yes.score, yes.is_correct, yes.answer) == (None, None, None, "")
    assert yes.confidence == pytest.approx(2.25 / 3.25, abs=1e-4)
    (no,) = grader(model, Fixed(0.3, 0.1, 0.6)).grade([ITEM], PASSAGE)
    assert no.failure is None and no.is_correct is False
    never = fitted({"supports": 2.0}, bound("yes", None))
    assert grader(never).grade([ITEM], PASSAGE)[0].is_undecided


def test_all_items_are_measured_in_one_batch_and_keep_their_order():
    verifier = Fixed()
    found = grader(fitted({"sentence": 1.0}), verifier).grade([OTHER, ITEM], PASSAGE)
    assert [grade.exam_item for grade in found] == ["q/2", "q/1"]
    assert [claim for claim, _ in verifier.asked] == [OTHER.text, ITEM.text]
    assert grader(fitted({})).grade([], PASSAGE) == []
    (grade,) = grader(fitted({})).grade([ITEM], " \n ")
    assert grade.failure is not None and grade.failure.reason == "empty_answer"


def test_it_refuses_what_it_cannot_do():
    with pytest.raises(SettingsError, match="extraction"):
        grader(fitted({})).grade([ITEM], PASSAGE, grader="extraction")
    with pytest.raises(SettingsError, match="test bank"):
        grader(fitted({})).grade_relevance("a", PASSAGE, "sun")


def test_its_identity_changes_with_its_numbers():
    one: ExamInstrument = grader(fitted({"sentence": 1.0}))
    other = grader(fitted({"sentence": 1.1}))
    assert one.identity != other.identity
    assert one.identity == grader(fitted({"sentence": 1.0})).identity


def test_the_shipped_numbers_are_few_and_point_one_way():
    model = load_exam_model()
    assert set(model.kinds) == {"question", "nugget"}
    for weights in model.kinds.values():
        assert all(weight >= 0 for weight in weights.weights.values()) and weights.weights
        assert list(weights.thresholds) == sorted(weights.thresholds)
        assert {one.label for one in weights.bounds} == {"yes", "no"}
    card = load_card("ragassay/exam-grader")
    assert card is not None and card.digest == model.digest and card.figures and card.limits


def test_weights_need_a_threshold_for_each_rating():
    with pytest.raises(ValidationError):
        ExamWeights(weights={}, thresholds=(0.0, 1.0))


@pytest.mark.integration
def test_the_embedded_models_tell_an_answer_from_another_subject():
    embedder, verifier = Embedder(), load_minilm_verifier()
    item = ExamItem(id="q/1", text="Which drug lowers blood pressure in patients with diabetes?")
    near = "Lisinopril lowers blood pressure in patients with diabetes and protects the kidney."
    far = "The museum opens at nine and closes at five on weekdays."
    weights = load_exam_model().kinds["question"]
    first, second = (
        weights.reach_probabilities(measure([item], text, embedder, verifier)[0].signals)[0]
        for text in (near, far)
    )
    assert first > 0.5 > second
