"""Small linear models from signals to ratings."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.errors import SettingsError
from ragassay.models.cards import load_card
from ragassay.models.fitted_raters import LinearScorer, SignalRater, load_shipped_rater
from ragassay.prompts import load_rubrics
from ragassay.prompts.texts import load_signals


def test_a_score_adds_features_vector_and_openers_up():
    scorer = LinearScorer(
        features=("length",),
        means=(1.0,),
        scales=(2.0,),
        weights=(3.0,),
        bias=0.5,
        vector_weights=(1.0, -1.0),
        openers={"however": 0.25},
    )
    found = scorer.compute_logits(
        [{"length": 5.0}, {}], np.array([[1, 0], [0, 1]], np.float32), [["however", "x"], []]
    )
    # .5 + 3 * (5 - 1) / 2 + 1 + .25 and .5 + 0 (missing) - 1 + 0.
    assert found.tolist() == pytest.approx([7.75, -0.5])


def test_no_single_feature_decides():
    scorer = LinearScorer(features=("x",), means=(0.0,), scales=(1.0,), weights=(1.0,))
    assert scorer.compute_logits([{"x": 1e9}, {"x": -1e9}]).tolist() == [4.0, -4.0]


def test_what_ships_rates_all_nine_rubrics():
    assert set(load_shipped_rater().rubrics) == set(load_rubrics())


@given(data=st.data())
def test_a_signal_that_gets_worse_never_raises_a_rating(data):
    words, shipped = load_signals(), load_shipped_rater()
    rubric = data.draw(st.sampled_from(sorted(shipped.rubrics)))
    rater = shipped.rubrics[rubric]
    values = {name: data.draw(st.floats(-10, 10)) for name in rater.features}
    name = data.draw(st.sampled_from(rater.features))
    step = data.draw(st.floats(0, 20))
    worse = values[name] - step if words.answer[name].better == "high" else values[name] + step

    def expected(signals):
        return sum(k * p for k, p in enumerate(rater.predict_distribution(signals), 1))

    assert expected(values | {name: worse}) <= expected(values) + 1e-9
    assert sum(rater.predict_distribution(values)) == pytest.approx(1)


def test_other_models_are_refused_by_name(tmp_path):
    text = json.loads(load_shipped_rater().model_dump_json())
    del text["order"]
    (tmp_path / "other.json").write_text(json.dumps(text), encoding="utf-8")
    with pytest.raises(SettingsError, match="order"):
        SignalRater.read(tmp_path / "other.json")


def test_the_card_is_that_of_the_models_that_ship():
    shipped = load_shipped_rater()
    card = load_card(shipped.model)
    assert card is not None and card.digest == shipped.digest
    assert card.figures and card.limits
