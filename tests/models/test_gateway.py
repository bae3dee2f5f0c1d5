"""What goes wrong at the one door to any model comes out typed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from case_tables import each_case
from schemas import as_format, closed

from ragassay.errors import BudgetError, FatalModelError
from ragassay.models.gateway import JudgeLM
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
