"""One hosted call: errors come out typed, callbacks and prices are known, and who answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from case_tables import each_case
from schemas import as_format, closed

from ragassay.errors import BudgetError, FatalModelError
from ragassay.models.call_reply import MOST_CHARS, describe_mixtures, identify_system
from ragassay.models.gateway import JudgeLM, meter_calls
from ragassay.models.litellm_library import CALLBACKS, compute_price_usd, disable_logging
from ragassay.records import Usage
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as started:
        yield started


@each_case(
    ("model", "problem"),
    [
        ("openai/gpt-4.1-mini", r"^openai/gpt-4.1-mini: .*set OPENAI_API_KEY in"),
        ("gemini/gemini-2.0-flash", "set GEMINI_API_KEY or GOOGLE_API_KEY in"),
        ("ragassay//nowhere/judge", "the model /nowhere/judge is unavailable"),
    ],
)
async def test_a_missing_key_or_model_is_final_and_is_named(model, problem, monkeypatch):
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    lm = JudgeLM(load_settings(model=model))  # A call would fail this test.
    with pytest.raises(FatalModelError, match=problem):
        await lm.acall("q")
    assert lm.fatal is not None, "every further call fails at once"


@pytest.mark.integration
async def test_a_server_of_ones_own_is_asked_without_a_key(model, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    lm = JudgeLM(load_settings(model="openai/llama3.1:8b", api_base=model.base_url))
    (reply,) = await lm.acall("q")
    assert reply["text"] and model.n_requests == 1


@pytest.mark.integration
def test_a_judge_that_was_busy_in_one_event_loop_answers_in_the_next(model):
    settings = load_settings(model="openai/scripted", api_base=model.base_url, concurrency=1)
    lm = JudgeLM(settings)

    async def ask_three() -> int:
        return len(await asyncio.gather(*(lm.acall("Does it help?") for _ in range(3))))

    assert [asyncio.run(ask_three()), asyncio.run(ask_three())] == [3, 3]


@pytest.mark.integration
async def test_spent_money_is_final(model):
    settings = load_settings(model="openai/gpt-4.1-mini", api_base=model.base_url, max_usd=1e-9)
    lm = JudgeLM(settings)
    await lm.acall("Does it help?")
    with pytest.raises(BudgetError):
        await lm.acall("Does it help?")
    assert isinstance(lm.fatal, BudgetError)
    assert model.n_requests == 1


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "has_bounds"), [("openai/scripted", False), ("hosted_vllm/ragassay/judge", True)]
)
async def test_our_own_models_get_the_bounds_of_a_schema_wherever_they_are(model, name, has_bounds):
    # Without them they write until the reply is cut, and are unscored.
    wanted = as_format(closed(why={"type": "string", "maxLength": 20}))
    lm = JudgeLM(load_settings(model=name, api_base=model.base_url))
    await lm.acall("Does it help?", response_format=wanted)
    [request] = model.requests
    assert ("maxLength" in request.schema["properties"]["why"]) is has_bounds


@pytest.fixture(autouse=True)
def no_callbacks(monkeypatch) -> None:
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


@each_case(
    ("model", "n_sent", "n_received", "price_usd"),
    [
        # .4 USD for a million tokens sent, 1.6 for a million received.
        ("openai/gpt-4.1-mini", 1000, 100, 0.00056),
        ("openai/gpt-4.1-mini", 0, 0, 0.0),
        ("ragassay/judge", 1000, 100, 0.0),
        ("openai/of-our-own", 1000, 100, None),
        ("hosted_vllm/model", 1000, 100, None),
    ],
)
def test_a_price_is_listed_or_unknown(model, n_sent, n_received, price_usd):
    assert compute_price_usd(model, n_sent, n_received) == (price_usd and pytest.approx(price_usd))


@each_case(
    ("asked", "model", "fingerprint"),
    [
        ("openai/gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", "fp_44709d6fcb"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929", None),
        ("mistral/mistral-small-latest", "mistral-small-2506", ""),
    ],
)
def test_name_and_fingerprint_are_kept_beside_the_name_that_was_asked(asked, model, fingerprint):
    reply = SimpleNamespace(model=model, system_fingerprint=fingerprint)
    found = identify_system(asked, reply)
    assert found == f"{asked}: {' '.join(filter(None, (model, fingerprint)))}"
    assert describe_mixtures([found]) == ()


@each_case(
    "reply",
    [SimpleNamespace(), SimpleNamespace(model=None), SimpleNamespace(model=7), {"model": "x"}],
)
def test_a_reply_without_a_name_leaves_the_name_that_was_asked(reply):
    assert identify_system("openai/a", reply) == "openai/a"


def test_what_a_server_says_stays_on_one_short_line():
    reply = SimpleNamespace(model="a\nb" + "x" * 500, system_fingerprint=None)
    found = identify_system("openai/a", reply)
    assert "\n" not in found and len(found) <= len("openai/a: ") + MOST_CHARS


def test_two_dated_names_or_fingerprints_of_one_model_are_said_and_two_models_are_not():
    dated = ("openai/a: a-2025-04-14 fp_1", "openai/a: a-2025-09-01 fp_1", "openai/b: b")
    (note,) = describe_mixtures(dated)
    assert note.startswith("openai/a answered as 2 systems: a-2025-04-14 fp_1; a-2025-09-01 fp_1.")
    fingerprints = ("openai/a: a fp_1", "openai/a: a fp_2", "openai/a: a")
    assert "as 3 systems" in describe_mixtures(fingerprints)[0]
    assert describe_mixtures(("openai/a: a fp_1", "openai/b: a fp_2")) == ()
    assert describe_mixtures(()) == ()


def test_usage_sums_who_answered_as_a_union():
    one, other = Usage(n_calls=1, answered_by=("b", "a")), Usage(n_calls=1, answered_by=("b",))
    assert (one + other).answered_by == ("a", "b")
    assert sum([one, one, one], Usage()).answered_by == ("a", "b")
    assert one.unpaid == Usage(answered_by=("b", "a"))
