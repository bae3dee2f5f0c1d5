"""LiteLLM records a call for callbacks where there are any, and only there; listed prices."""

from __future__ import annotations

import pytest

from ragassay.models.gateway import JudgeLM, meter_calls
from ragassay.models.litellm_library import CALLBACKS, compute_price_usd, disable_logging
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel


@pytest.fixture(autouse=True)
def no_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    import litellm

    for name in CALLBACKS:
        monkeypatch.setattr(litellm, name, [])


@pytest.mark.parametrize("name", CALLBACKS)
def test_a_users_callback_gets_each_call(name, monkeypatch):
    import litellm
    from litellm._internal_context import is_internal_call

    with disable_logging():
        assert is_internal_call.get()
    monkeypatch.setattr(litellm, name, ["a tool of the user's"])
    with disable_logging():
        assert not is_internal_call.get()


@pytest.mark.integration
async def test_the_cost_of_a_call_that_is_not_recorded_is_known():
    with ScriptedModel() as model, meter_calls() as signal_extractor:
        settings = load_settings(model="openai/gpt-4.1-mini", api_base=model.base_url)
        await JudgeLM(settings).acall("Does it help?")
    assert signal_extractor.usage.cost_usd


def test_a_listed_price_by_hand():
    # .4 USD for a million tokens sent, 1.6 for a million received.
    assert compute_price_usd("openai/gpt-4.1-mini", 1000, 100) == pytest.approx(0.00056)
    assert compute_price_usd("openai/gpt-4.1-mini", 0, 0) == 0.0


@pytest.mark.parametrize("model", ["openai/of-our-own", "hosted_vllm/model"])
def test_a_price_that_is_not_listed_is_not_known(model):
    assert compute_price_usd(model, 1000, 100) is None


def test_a_model_of_this_process_costs_nothing():
    assert compute_price_usd("ragassay/judge", 1000, 100) == 0.0
