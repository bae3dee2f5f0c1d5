"""Calls of a hosted judge that wait together are answered by batches, which outlive a process."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case

import ragassay.models.batch_queue as queues
from ragassay.errors import (
    BatchError,
    BudgetError,
    FatalModelError,
    PromptTooLongError,
    RefusedError,
    SettingsError,
    StorageError,
)
from ragassay.models.batch_services import AnthropicBatches, FileBatches, VertexBatches
from ragassay.models.batches import BATCHES, BatchStore, SubmittedBatch, batch_calls
from ragassay.models.gateway import JudgeLM, meter_calls
from ragassay.models.limiter import RunLimiter, limit_calls
from ragassay.settings import load_settings
from ragassay.testing import BatchPlan, Fault, ScriptedModel, last_user_text

pytestmark = pytest.mark.integration

SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "rating",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"asked": {"type": "string"}},
            "required": ["asked"],
            "additionalProperties": False,
        },
    },
}


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Batches are submitted and looked at without long pauses, however busy the machine is."""
    monkeypatch.setattr(queues, "QUIET_S", 0.1)
    monkeypatch.setattr(queues, "BUSY_SHARE", 100.0)
    monkeypatch.setattr(queues, "FIRST_CHECK_S", 0.05)
    monkeypatch.setattr("ragassay.models.batch_services.FIRST_PAUSE_S", 0.01)


def repeat_question(messages: Any, schema: Any) -> Any:
    """Reply with the question, so that a reply in the wrong place is seen."""
    asked = {"asked": last_user_text(messages)}
    return asked if schema else json.dumps(asked)


@pytest.fixture
def plan() -> BatchPlan:
    return BatchPlan()


@pytest.fixture
def model(plan) -> Iterator[ScriptedModel]:
    with ScriptedModel(repeat_question, batches=plan) as started:
        yield started


PROVIDERS = ("openai", "azure", "anthropic")
NAMES = {
    "openai": "openai/gpt-4.1-mini",
    "azure": "azure/gpt-4.1-mini",
    "anthropic": "anthropic/claude-sonnet-4-5",
}


@pytest.fixture
def keys(monkeypatch) -> None:
    monkeypatch.setenv("AZURE_API_KEY", "sk-test")
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")


def judge(model: ScriptedModel, name: str = "openai/gpt-4.1-mini", **options: Any) -> JudgeLM:
    base = model.base_url if name.startswith("openai/") else model.base_url.removesuffix("/v1")
    return JudgeLM(load_settings(model=name, api_base=base, batch=True, **options))


async def ask(
    lm: JudgeLM,
    questions: Sequence[str],
    folder: Path | None = None,
    limiter: RunLimiter | None = None,
    tell: Callable[[str], None] = lambda words: None,
) -> list[Any]:
    """Return the text of each reply, or the error, in the order of the questions."""
    limiter = limiter or RunLimiter()
    async with batch_calls(folder, limiter, tell):
        with limit_calls(limiter):
            calls = [
                lm.acall(messages=[{"role": "user", "content": q}], response_format=SCHEMA)
                for q in questions
            ]
            found = await asyncio.gather(*calls, return_exceptions=True)
    return [one if isinstance(one, BaseException) else _asked(one) for one in found]


def _asked(reply: Any) -> str:
    return json.loads(reply[0]["text"])["asked"]


QUESTIONS = [f"Does drug {n} help?" for n in range(9)]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_calls_that_wait_together_make_one_batch_and_each_gets_its_own_reply(
    provider, model, keys, tmp_path
):
    assert await ask(judge(model, NAMES[provider]), QUESTIONS, tmp_path) == QUESTIONS
    assert [len(batch.requests) for batch in model.batches] == [9]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_batch_costs_half(provider, model, keys, tmp_path):
    lm, alone = judge(model, NAMES[provider]), judge(model)
    with meter_calls() as batched:
        await ask(lm, QUESTIONS, tmp_path)
    assert batched.usage.n_calls == 9
    assert batched.usage.cost_usd and batched.usage.cost_usd > 0
    if provider == "openai":
        with meter_calls() as single:
            for question in QUESTIONS:
                await alone.acall(
                    messages=[{"role": "user", "content": question}], response_format=SCHEMA
                )
        assert single.usage.cost_usd == pytest.approx(2 * batched.usage.cost_usd)


async def test_the_price_of_an_unknown_model_is_unknown_not_zero(model, tmp_path):
    with meter_calls() as found:
        await ask(judge(model, "openai/scripted"), ["Does it help?"], tmp_path)
    assert found.usage.cost_usd is None


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_run_that_was_stopped_collects_the_batch_that_it_submitted(
    provider, model, plan, keys, tmp_path
):
    plan.takes_s = 60.0
    lm = judge(model, NAMES[provider])
    await stopped_after_submit(lm, model, tmp_path)
    plan.takes_s = 0.0
    questions = [*QUESTIONS, "Does it harm?"]
    assert await ask(judge(model, NAMES[provider]), questions, tmp_path) == questions
    sizes = sorted(len(batch.requests) for batch in model.batches)
    assert sizes == [1, 9], "only what was missing is submitted"


async def stopped_after_submit(lm: JudgeLM, model: ScriptedModel, folder: Path) -> None:
    """Stop a run, as Ctrl+C does, once its batch is submitted and kept."""
    run = asyncio.create_task(ask(lm, QUESTIONS, folder))
    while not any(batch.id for batch in BatchStore(folder).read_batches()):
        ended, _ = await asyncio.wait({run}, timeout=0.02)
        assert not ended
    run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await run
    assert len(model.batches) == 1


async def test_replies_that_were_collected_before_a_stop_are_not_asked_for_again(model, tmp_path):
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    assert len(model.batches) == 1
    BatchStore(tmp_path).forget_collected()
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    assert len(model.batches) == 2, "--retry-failed asks anew"


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_run_killed_while_it_submitted_finds_its_batch_by_name(
    is_known, model, plan, tmp_path
):
    plan.takes_s = 60.0
    await stopped_after_submit(judge(model), model, tmp_path)
    store = BatchStore(tmp_path)
    (batch,) = store.read_batches()
    store.forget(batch)
    name = batch.name if is_known else "ragassay-never-arrived"
    store.save(batch.model_copy(update={"id": "", "name": name}))
    plan.takes_s = 0.0
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    assert len(model.batches) == (1 if is_known else 2)


async def test_a_batch_that_the_provider_has_deleted_is_submitted_again(model, tmp_path):
    lm = judge(model)
    await ask(lm, QUESTIONS, tmp_path)
    store = BatchStore(tmp_path)
    (batch,) = store.read_batches()
    store.forget(batch)
    store.save(batch.model_copy(update={"id": "batch_99", "state": "submitted"}))
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    assert [batch.id for batch in store.read_batches()] == ["batch_2"]


async def test_a_batch_of_another_model_or_endpoint_is_left_alone(model, tmp_path):
    store = BatchStore(tmp_path)
    others = [
        SubmittedBatch(name="one", id="batch_7", model="openai/other", endpoint="e", keys=("k",)),
        SubmittedBatch(
            name="two", id="batch_8", model="openai/gpt-4.1-mini", endpoint="e", keys=("k",)
        ),
    ]
    for batch in others:
        store.save(batch)
    await ask(judge(model), QUESTIONS, tmp_path)
    assert [batch for batch in store.read_batches() if batch.id != "batch_1"] == others


async def test_the_same_question_asked_three_times_has_three_replies(model, tmp_path):
    # Several samples of one question, or one asked again after a reply that cannot be read.
    same = ["Does it help?"] * 3
    assert await ask(judge(model), same, tmp_path) == same
    assert len(model.requests) == 3
    assert await ask(judge(model), [*same, *same[:1]], tmp_path) == [*same, *same[:1]]
    assert len(model.requests) == 4


ITEM_FAULTS = [
    ("server_error", BatchError, "server_error"),
    ("unavailable", BatchError, "server_error"),
    ("rate_limit", BatchError, "rate_limit"),
    ("bad_request_too_long", PromptTooLongError, "too_long"),
    ("content_filter", RefusedError, "refused"),
    ("unauthorized", FatalModelError, "error"),
    ("unknown_model", FatalModelError, "error"),
]


@pytest.mark.parametrize(("fault", "kind", "reason"), ITEM_FAULTS)
async def test_a_request_that_failed_in_a_batch_fails_alone_and_is_not_asked_again(
    fault, kind, reason, plan, tmp_path
):
    faults = [Fault(fault, contains="drug 3")]
    with ScriptedModel(repeat_question, faults=faults, batches=plan) as model:
        found = await ask(judge(model), QUESTIONS, tmp_path)
        assert len(model.batches) == 1
    assert isinstance(found[3], kind) and found[3].reason == reason
    assert [one for n, one in enumerate(found) if n != 3] == QUESTIONS[:3] + QUESTIONS[4:]


@pytest.mark.parametrize(
    ("fault", "reason"), [("server_error", "server_error"), ("rate_limit", "rate_limit")]
)
async def test_a_request_that_failed_in_a_batch_of_anthropic_says_why(
    fault, reason, plan, keys, tmp_path
):
    faults = [Fault(fault, contains="drug 3")]
    with ScriptedModel(repeat_question, faults=faults, batches=plan) as model:
        found = await ask(judge(model, NAMES["anthropic"]), QUESTIONS, tmp_path)
    assert isinstance(found[3], BatchError) and found[3].reason == reason
    assert "pass --retry-failed to repeat the request" in str(found[3])


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(("ending", "reason"), [("expired", "timeout"), ("cancelled", "error")])
async def test_a_batch_that_ends_early_gives_the_replies_that_it_has(
    provider, ending, reason, model, plan, keys, tmp_path
):
    plan.ending = ending
    found = await ask(judge(model, NAMES[provider]), QUESTIONS, tmp_path)
    failed = [one for one in found if isinstance(one, BatchError)]
    assert len(failed) == 4 and {one.reason for one in failed} == {reason}
    assert all(one == QUESTIONS[n] for n, one in enumerate(found) if one not in failed)
    assert len(model.batches) == 1, "nothing is paid again in the same run"
    plan.ending = "completed"
    assert await ask(judge(model, NAMES[provider]), QUESTIONS, tmp_path) == QUESTIONS
    assert len(model.batches[1].requests) == 4, "the next start asks for the rest"


async def test_expired_requests_of_a_batch_that_completed_are_timeouts(model, plan, tmp_path):
    plan.n_expired = 2
    found = await ask(judge(model), QUESTIONS, tmp_path)
    assert [one.reason for one in found if isinstance(one, BatchError)] == ["timeout"] * 2


async def test_a_batch_that_is_refused_as_a_whole_stops_the_run_and_is_forgotten(
    model, plan, tmp_path
):
    plan.ending = "failed"
    lm = judge(model)
    found = await ask(lm, QUESTIONS, tmp_path)
    assert all(isinstance(one, FatalModelError) for one in found)
    assert "Enqueued token limit reached" in str(found[0])
    assert lm.fatal is not None
    plan.ending = "completed"
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS


async def test_an_interface_that_is_busy_for_a_moment_is_asked_again(model, plan, tmp_path):
    plan.n_unavailable = 3
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    assert len(model.batches) == 1


async def test_an_endpoint_without_batches_says_so(tmp_path):
    with ScriptedModel(repeat_question) as model:
        found = await ask(judge(model), QUESTIONS[:1], tmp_path)
    assert isinstance(found[0], FatalModelError)
    assert "has no batch API (404); remove --batch" in str(found[0])
    assert not BatchStore(tmp_path).read_batches()


@pytest.mark.parametrize("most", [{"most_requests": 4}, {"most_bytes": 2_000}])
async def test_a_batch_is_no_larger_than_the_provider_takes(most, model, tmp_path, monkeypatch):
    for name, value in most.items():
        monkeypatch.setattr(FileBatches, name, value)
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    sizes = [len(batch.requests) for batch in model.batches]
    assert sum(sizes) == 9 and len(sizes) > 1
    assert max(sizes) <= most.get("most_requests", 4)


async def test_a_batch_that_may_cost_more_than_is_left_is_not_submitted(model, tmp_path):
    found = await ask(judge(model), QUESTIONS, tmp_path, RunLimiter(max_usd=0.0001))
    assert all(isinstance(one, BudgetError) for one in found)
    assert "the next question may cost" in str(found[0])
    assert not model.batches
    enough = RunLimiter(max_usd=1.0)
    assert await ask(judge(model), QUESTIONS, tmp_path, enough) == QUESTIONS
    assert enough.spent_usd and enough.spent_usd < 0.01


async def test_a_bound_of_money_without_a_price_is_refused(model, tmp_path):
    lm = judge(model, "openai/scripted")
    found = await ask(lm, QUESTIONS[:1], tmp_path, RunLimiter(max_usd=1.0))
    assert isinstance(found[0], BudgetError) and "price of every judge" in str(found[0])


async def test_progress_names_the_batch_its_size_and_its_price(model, tmp_path):
    told: list[str] = []
    await ask(judge(model), QUESTIONS, tmp_path, tell=told.append)
    assert told[0].startswith("submitted batch batch_1 with 9 questions, at most $0.00")
    assert "next check in" in told[0]


async def test_without_a_folder_nothing_is_written(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert await ask(judge(model), QUESTIONS) == QUESTIONS
    assert not list(tmp_path.iterdir())


async def test_a_call_outside_of_a_run_is_sent_by_itself(model):
    reply = await judge(model).acall("Does it help?")
    assert json.loads(reply[0]["text"]) == {"asked": "Does it help?"}
    assert not model.batches


async def test_no_key_and_no_address_is_kept(model, tmp_path):
    await ask(judge(model), QUESTIONS, tmp_path)
    kept = "".join(file.read_text() for file in (tmp_path / BATCHES).iterdir())
    assert "sk-test" not in kept and "127.0.0.1" not in kept


def test_a_damaged_batch_says_what_to_do(tmp_path):
    (tmp_path / BATCHES).mkdir()
    (tmp_path / BATCHES / "ragassay-1.json").write_text('{"id": ')
    with pytest.raises(StorageError, match=r"is damaged; move it away"):
        BatchStore(tmp_path).read_batches()


REFUSED = [
    ({}, "batch requires a hosted judge"),
    ({"model": "ragassay/judge"}, "batch requires a hosted judge"),
    ({"model": "groq/llama-3.3-70b-versatile"}, "batch: groq/llama-3.3-70b-versatile has no"),
    ({"model": "hosted_vllm/qwen", "api_base": "http://localhost:1/v1"}, "has no batch API"),
    ({"model": "gpt-4.1-mini"}, "batch: gpt-4.1-mini has no batch API"),
    ({"model": "ollama/llama3"}, "supported providers are openai, azure, anthropic, vertex_ai"),
    ({"model": "openai/a", "panel": ("mistral/b",)}, "batch: mistral/b has no"),
    ({"model": "ragassay/judge", "escalate": "groq/b"}, "batch: groq/b has no"),
    ({"model": "openai/a", "engine": "ray"}, "batch cannot be combined with a cluster"),
]


@each_case(("fields", "message"), REFUSED)
def test_settings_that_cannot_be_batched_are_refused_in_one_line(fields, message):
    with pytest.raises(SettingsError, match=message):
        load_settings(batch=True, **fields)


ALLOWED = [
    {"model": "openai/a", "panel": ("anthropic/b", "ragassay/judge")},
    {"model": "ragassay/judge", "escalate": "azure/b"},
    {"model": "vertex_ai/gemini-2.5-flash"},
    {"escalate": "openai/b"},
]


@pytest.mark.parametrize("fields", ALLOWED)
def test_panels_and_cascades_with_a_hosted_judge_are_batched(fields):
    assert load_settings(batch=True, **fields).limits.batch


LINES_OF_OPENAI = [
    (
        {"custom_id": "k", "response": {"status_code": 200, "body": {"a": 1}}, "error": None},
        (200, {"a": 1}),
    ),
    (
        {"custom_id": "k", "response": {"status_code": 400, "body": {"error": {}}}, "error": None},
        (400, {"error": {}}),
    ),
    (
        {"custom_id": "k", "response": None, "error": {"code": "batch_expired", "message": "m"}},
        (504, {"error": {"code": "batch_expired", "message": "m"}}),
    ),
    ({"response": {"status_code": 200, "body": {}}}, None),
]


@pytest.mark.parametrize(("line", "expected"), LINES_OF_OPENAI)
def test_a_line_of_openais_replies_is_read(line, expected):
    reply = FileBatches("openai/a", None).read_reply(line)
    assert (reply and (reply.status, reply.body)) == expected


def test_a_line_of_vertex_says_whose_it_is_by_a_label():
    service = VertexBatches("vertex_ai/gemini-2.5-flash", None)
    request = queues.BatchRequest("abc-1", {"contents": [], "labels": {"a": "b"}})
    line: Any = service.write_line(request)
    assert line == {"request": {"contents": [], "labels": {"a": "b", "ragassay_key": "abc-1"}}}
    reply = service.read_reply({**line, "response": {"candidates": []}, "status": ""})
    assert reply and (reply.key, reply.status) == ("abc-1", 200)
    failed = service.read_reply({**line, "response": {}, "status": "Bad Request"})
    assert failed and failed.status == 503
    assert AnthropicBatches.most_requests == 100_000
