"""Judges as providers run them: each refuses, cuts and fails in its own words."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dspy
import pytest
from case_tables import each_case

from ragassay.agents.context import build_case
from ragassay.agents.rubric_judge import RubricJudge
from ragassay.errors import (
    CutReplyError,
    FatalModelError,
    InputError,
    ModelError,
    PromptTooLongError,
    RefusedError,
    TransientModelError,
)
from ragassay.models.call_parameters import (
    REASONING,
    REASONING_FACTOR,
    REFUSABLE,
    list_learned_parameters,
)
from ragassay.models.gateway import JudgeLM
from ragassay.models.probe import check_judges
from ragassay.prompts import load_rubrics
from ragassay.records import AnswerSentence, Judgment, Record
from ragassay.settings import Settings, load_settings
from ragassay.testing import Fault, ScriptedModel
from ragassay.testing.manners import MANNER_NAMES, load_manner

ANSWER = "Brelozant lowered pain."
SENTENCES = [AnswerSentence(index=1, text=ANSWER, start=0, end=len(ANSWER))]
CASE = build_case(Record(id="r", question="Does it?", answer=ANSWER), ANSWER, SENTENCES, [], [], [])
VERDICT = '{"rating": 4, "rationale": "It names the trial and its dose."}'
MESSAGES = [{"role": "user", "content": "Rate it. Reply with JSON."}]
SENT = ("temperature", "max_tokens", "logprobs", "top_logprobs", "response_format", "json_object")


def settings_for(model: ScriptedModel, **given: Any) -> Settings:
    return load_settings(model=model.model_name, api_base=model.base_url, **given)


@contextmanager
def serve(**options: Any) -> Iterator[ScriptedModel]:
    """A judge that gives the verdict, with the keys of its provider in the environment."""
    with (
        ScriptedModel(lambda messages, schema: VERDICT, **options) as model,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in model.environment.items():
            patch.setenv(name, value)
        yield model


async def judged(settings: Settings) -> Judgment:
    with dspy.context(lm=JudgeLM(settings)):
        return await RubricJudge().acall(case=CASE, rubric=load_rubrics()["cohesion"])


@each_case("manner", MANNER_NAMES)
@each_case("refused", SENT)
async def test_refused_parameter_is_left_out_for_the_run(manner, refused):
    known = load_manner(manner).refuses
    if (manner, refused) == ("anthropic", "max_tokens"):
        pytest.skip("it cannot be left out")
    if refused not in known and "*" not in known:
        pytest.skip("it does not refuse this")
    refuses = ["response_format", refused] if refused == "json_object" else [refused]
    with serve(manner=manner, refuses=refuses, model="team-judge") as model:
        settings = settings_for(model)
        assert (await judged(settings)).rating == 4
        n_first = model.n_requests
        assert (await judged(settings)).rating == 4
    # One extra call a parameter, and none afterwards; OpenRouter names none of those it refuses.
    tried = {*refuses, *load_manner(manner).lacks} & {*SENT, "seed"}
    assert n_first <= 1 + (len(REFUSABLE) if manner == "openrouter" else len(tried))
    assert model.n_requests == n_first + 1


@each_case("manner", MANNER_NAMES)
async def test_quota_that_is_gone_stops_the_run(manner):
    if "quota" not in load_manner(manner).errors:
        pytest.skip("a server of one's own has none")
    with serve(manner=manner, faults=[Fault("quota")], model="team-judge") as model:
        with pytest.raises(FatalModelError, match="quota"):
            await judged(settings_for(model))


@each_case("manner", MANNER_NAMES)
async def test_failures_are_named_as_what_they_are(manner):
    kinds: dict[Any, type[Exception]] = {
        "bad_request_too_long": PromptTooLongError,
        "content_filter": RefusedError,
        "refusal": RefusedError,
        "unauthorized": FatalModelError,
        "unknown_model": FatalModelError,
        "rate_limit": TransientModelError,
        "server_error": TransientModelError,
        "unavailable": TransientModelError,
    }
    known = load_manner(manner)
    if manner == "openai_responses":
        del kinds["refusal"]  # LiteLLM passes on none of its words.
    found: dict[str, type[Exception]] = {}
    for kind in kinds:
        try:
            with serve(manner=manner, faults=[Fault(kind)], model=f"judge-{kind}") as model:
                await judged(settings_for(model))
        except InputError:
            continue  # the provider has no such error
        except ModelError as error:
            found[kind] = type(error)
    assert found == {kind: kinds[kind] for kind in found}
    assert len(found) >= min(3, len(known.errors))


@each_case("manner", MANNER_NAMES)
async def test_reply_used_up_by_reasoning_is_asked_for_again_with_more(manner):
    with serve(manner=manner, faults=[Fault("cut", first=1)], model="thinker") as model:
        settings = settings_for(model)
        assert (await judged(settings)).rating == 4
        assert len([one for one in model.requests if one.refused is None]) == 2
        assert REASONING in list_learned_parameters(settings.judge.model, settings.judge.api_base)


async def test_cut_reply_says_which_setting_to_raise():
    with serve(faults=[Fault("cut")], model="thinker") as model:
        with pytest.raises(CutReplyError, match="--max-reply-tokens"):
            await judged(settings_for(model, max_reply_tokens=100))
        asked = [request.body["max_tokens"] for request in model.requests]
    assert asked == [100, 200 * REASONING_FACTOR]


async def test_reply_cut_in_its_reason_keeps_its_rating():
    with serve(faults=[Fault("truncated")]) as model:
        assert (await judged(settings_for(model))).rating == 4
        assert model.n_requests == 1


async def test_options_of_the_user_win_and_may_leave_one_out():
    given = ("temperature=", "top_p=0.5", "max_tokens=900", 'headers={"X-Team": "a"}')
    with serve() as model:
        await judged(settings_for(model, model_options=given))
        body = model.requests[0].body
    assert "temperature" not in body
    assert (body["top_p"], body["max_tokens"]) == (0.5, 900)


@pytest.mark.parametrize("manner", ["openai", "azure"])
async def test_a_bound_under_its_newer_name_is_one_bound(manner):
    with serve(manner=manner, model=f"bounded-{manner}") as model:
        settings = settings_for(model, model_options=("max_completion_tokens=900",))
        await asyncio.to_thread(check_judges, [settings])
        await judged(settings)
        probes, body = [request.body for request in model.probes], model.requests[0].body
    assert [probe["max_completion_tokens"] for probe in probes] == [1]
    assert body["max_completion_tokens"] == 900
    assert not any("max_tokens" in sent for sent in (*probes, body))


async def test_a_probe_of_one_token_shows_no_reasoning():
    with serve(manner="azure", model="short", faults=[Fault("cut")]) as model:
        judge = settings_for(model).judge
        await asyncio.to_thread(check_judges, [settings_for(model)])
        assert len(model.probes) == 1
        assert REASONING not in list_learned_parameters(judge.model, judge.api_base)


async def test_refused_option_of_the_user_stops_the_run():
    with serve(manner="vllm", refuses=["temperature"], model="strict") as model:
        settings = settings_for(model, model_options=("temperature=0.3",))
        with pytest.raises(FatalModelError, match="refuses temperature, set by --model-option"):
            await judged(settings)
        assert model.n_requests == 1


async def test_parts_of_content_are_one_text():
    with serve(manner="mistral", thinking="Hm.") as model:
        assert (await judged(settings_for(model))).rating == 4
