"""What calls would cost."""

from __future__ import annotations

import pytest

from ragassay.models.litellm_library import listed_price_usd


def test_a_listed_price_by_hand():
    # .4 USD for a million tokens sent, 1.6 for a million received.
    assert listed_price_usd("openai/gpt-4.1-mini", 1000, 100) == pytest.approx(0.00056)
    assert listed_price_usd("openai/gpt-4.1-mini", 0, 0) == 0.0


@pytest.mark.parametrize("model", ["openai/of-our-own", "hosted_vllm/model"])
def test_a_price_that_is_not_listed_is_not_known(model):
    assert listed_price_usd(model, 1000, 100) is None


def test_a_model_of_this_process_costs_nothing():
    assert listed_price_usd("ragassay/judge", 1000, 100) == 0.0
