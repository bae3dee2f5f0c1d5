"""What a run would cost, before it has asked anybody."""

from __future__ import annotations

import pytest

from ragassay.reports.provenance import estimate_text
from ragassay.runs.preflight import Estimate, SharedCalls, estimate_cost
from ragassay.settings import load_settings

NINE = SharedCalls(n_calls=9, n_shared_tokens=2000, n_own_tokens=100)
"""Nine rubrics of one answer."""


def cost_of(*calls: SharedCalls, **named: object) -> Estimate:
    return estimate_cost(calls, load_settings(max_reply_tokens=100, **named))


def test_by_hand_with_and_without_a_cache_and_as_a_batch():
    # Claude Sonnet 5, USD a million: sent 2, read .2, written 2.5, received 10; batches half.
    found = cost_of(NINE, model="anthropic/claude-sonnet-5")
    sent, received = 9 * 2100, 9 * 100
    assert found.usd == pytest.approx((2 * sent + 10 * received) / 1e6)
    read, written = 8 * 2000, 2000
    plain = sent - read - written
    cached = 2 * plain + 0.2 * read + 2.5 * written + 10 * received
    assert found.cached_usd == pytest.approx(cached / 1e6)
    assert found.batch_usd == pytest.approx(found.usd / 2)


@pytest.mark.parametrize(
    ("calls", "named"),
    [
        # Too short to be cached.
        (SharedCalls(9, 900, 100), {"model": "anthropic/claude-sonnet-5"}),
        # A server that only speaks OpenAI's protocol.
        (NINE, {"model": "openai/gpt-4.1-mini", "api_base": "http://127.0.0.1:1/v1"}),
    ],
)
def test_no_cache_changes_nothing(calls, named):
    found = cost_of(calls, **named)
    assert found.usd and found.cached_usd == pytest.approx(found.usd)


def test_a_single_call_pays_for_writing_and_reads_nothing():
    found = cost_of(SharedCalls(1, 2000, 100), model="anthropic/claude-sonnet-5")
    assert found.cached_usd - found.usd == pytest.approx(2000 * 0.5 / 1e6)


def test_the_judges_of_a_panel_share_the_calls():
    both = cost_of(
        SharedCalls(18, 2000, 100),
        model="anthropic/claude-sonnet-5",
        panel=("openai/gpt-4.1-mini",),
    )
    each = [cost_of(NINE, model=m) for m in ("anthropic/claude-sonnet-5", "openai/gpt-4.1-mini")]
    assert both.usd == pytest.approx(sum(one.usd for one in each))
    assert both.cached_usd == pytest.approx(sum(one.cached_usd for one in each))


def test_what_is_not_known_is_not_known_of_a_sum():
    unknown = cost_of(NINE, model="openai/of-our-own")
    assert unknown == Estimate(None, None, None)
    assert (unknown + Estimate(1.0, 1.0, 1.0)).usd is None
    assert cost_of(NINE, model="ragassay/judge").usd == 0.0


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (Estimate(0.0, 0.0, None), ""),
        (
            Estimate(None, None, None),
            "the cost is unknown because LiteLLM does not know the price of the model",
        ),
        (Estimate(0.5, 0.5, None), "at most 0.5000 USD, if every reply has the maximum length"),
        (
            Estimate(0.5, 0.2, 0.25),
            "at most 0.5000 USD, if every reply has the maximum length; 0.2000 USD with the "
            "provider's prompt cache; 0.2500 USD at the batch price",
        ),
    ],
)
def test_an_estimate_in_words(cost, text):
    assert estimate_text(cost) == text
