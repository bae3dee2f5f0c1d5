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
from schemas import as_format, closed

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

SCHEMA = as_format(closed(asked={"type": "string"}))
QUESTIONS = [f"Does drug {n} help?" for n in range(9)]
OPENAI, ANTHROPIC = "openai/gpt-4.1-mini", "anthropic/claude-sonnet-4-5"
each_provider = pytest.mark.parametrize("name", [OPENAI, "azure/gpt-4.1-mini", ANTHROPIC])


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Submit batches and look at them without long pauses, and set all keys."""
    monkeypatch.setattr(queues, "QUIET_S", 0.3)  # A shorter pause splits batches on a busy machine.
    monkeypatch.setattr(queues, "BUSY_SHARE", 100.0)
    monkeypatch.setattr(queues, "FIRST_CHECK_S", 0.05)
    monkeypatch.setattr("ragassay.models.batch_services.FIRST_PAUSE_S", 0.01)
    monkeypatch.setenv("AZURE_API_KEY", "sk-test")
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")


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


def judge(model: ScriptedModel, name: str = OPENAI) -> JudgeLM:
    base = model.base_url if name.startswith("openai/") else model.base_url.removesuffix("/v1")
    return JudgeLM(load_settings(model=name, api_base=base, batch=True))


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
            calls = (lm.acall(question, response_format=SCHEMA) for question in questions)
            found = await asyncio.gather(*calls, return_exceptions=True)
    return [one if isinstance(one, BaseException) else _asked(one) for one in found]


def _asked(reply: Any) -> str:
    return json.loads(reply[0]["text"])["asked"]


@each_provider
async def test_calls_together_make_one_batch_and_each_gets_its_reply(name, model, tmp_path):
    with meter_calls() as batched:
        assert await ask(judge(model, name), QUESTIONS, tmp_path) == QUESTIONS
    assert [len(batch.requests) for batch in model.batches] == [9]
    assert batched.usage.n_calls == 9
    assert batched.usage.cost_usd and batched.usage.cost_usd > 0
    kept = "".join(file.read_text() for file in (tmp_path / BATCHES).iterdir())
    assert "sk-test" not in kept and "127.0.0.1" not in kept


async def test_a_batch_costs_half(model, tmp_path):
    with meter_calls() as batched:
        await ask(judge(model), QUESTIONS, tmp_path)
    with meter_calls() as single:
        for question in QUESTIONS:
            await judge(model).acall(question, response_format=SCHEMA)
    assert single.usage.cost_usd == pytest.approx(2 * batched.usage.cost_usd)


async def test_the_price_of_an_unknown_model_is_unknown_not_zero(model, tmp_path):
    with meter_calls() as found:
        await ask(judge(model, "openai/scripted"), ["Does it help?"], tmp_path)
    assert found.usage.cost_usd is None


async def stop_after_submit(
    model: ScriptedModel, plan: BatchPlan, folder: Path, name: str = OPENAI
) -> None:
    """Stop a run, as Ctrl+C does, once its batch is submitted and kept."""
    plan.takes_s = 60.0
    run = asyncio.create_task(ask(judge(model, name), QUESTIONS, folder))
    while not any(batch.id for batch in BatchStore(folder).read_batches()):
        ended, _ = await asyncio.wait({run}, timeout=0.02)
        assert not ended
    run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await run
    assert len(model.batches) == 1
    plan.takes_s = 0.0


@each_provider
async def test_a_stopped_run_collects_the_batch_that_it_submitted(name, model, plan, tmp_path):
    await stop_after_submit(model, plan, tmp_path, name)
    questions = [*QUESTIONS, "Does it harm?"]
    assert await ask(judge(model, name), questions, tmp_path) == questions
    sizes = sorted(len(batch.requests) for batch in model.batches)
    assert sizes == [1, 9], "only what was missing is submitted"


async def test_replies_that_were_collected_before_a_stop_are_not_asked_for_again(model, tmp_path):
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    assert len(model.batches) == 1
    BatchStore(tmp_path).forget_collected()
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    assert len(model.batches) == 2, "--retry-failed asks anew"


def change_stored_batch(folder: Path, **changes: str) -> None:
    store = BatchStore(folder)
    (batch,) = store.read_batches()
    store.forget(batch)
    store.save(batch.model_copy(update=changes))


@pytest.mark.parametrize(("changes", "n_batches"), [({}, 1), ({"name": "ragassay-lost"}, 2)])
async def test_a_run_killed_while_it_submitted_finds_its_batch_by_name(
    changes, n_batches, model, plan, tmp_path
):
    await stop_after_submit(model, plan, tmp_path)
    change_stored_batch(tmp_path, id="", **changes)
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    assert len(model.batches) == n_batches


async def test_a_batch_that_the_provider_has_deleted_is_submitted_again(model, tmp_path):
    await ask(judge(model), QUESTIONS, tmp_path)
    change_stored_batch(tmp_path, id="batch_99", state="submitted")
    assert await ask(judge(model), QUESTIONS, tmp_path) == QUESTIONS
    assert [batch.id for batch in BatchStore(tmp_path).read_batches()] == ["batch_2"]


async def test_a_batch_of_another_model_or_endpoint_is_left_alone(model, tmp_path):
    store = BatchStore(tmp_path)
    others = [
        SubmittedBatch(name=f"b{n}", id=f"batch_{n}", model=name, endpoint="e", keys=("k",))
        for n, name in ((7, "openai/other"), (8, OPENAI))
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


async def test_requests_that_failed_in_a_batch_fail_alone_and_are_not_asked_again(plan, tmp_path):
    faults = [Fault(one[0], contains=f"drug {n} ") for n, one in enumerate(ITEM_FAULTS)]
    with ScriptedModel(repeat_question, faults=faults, batches=plan) as model:
        found = await ask(judge(model), QUESTIONS, tmp_path)
        assert len(model.batches) == 1
    for error, (fault, kind, reason) in zip(found, ITEM_FAULTS, strict=False):
        assert isinstance(error, kind) and error.reason == reason, fault
    assert found[len(ITEM_FAULTS) :] == QUESTIONS[len(ITEM_FAULTS) :] != []


async def test_requests_that_failed_in_a_batch_of_anthropic_say_why(plan, tmp_path):
    faults = [Fault("server_error", contains="drug 3"), Fault("rate_limit", contains="drug 4")]
    with ScriptedModel(repeat_question, faults=faults, batches=plan) as model:
        found = await ask(judge(model, ANTHROPIC), QUESTIONS, tmp_path)
    for error, reason in zip(found[3:5], ("server_error", "rate_limit"), strict=True):
        assert isinstance(error, BatchError) and error.reason == reason
        assert "pass --retry-failed to repeat the request" in str(error)


@each_provider
@pytest.mark.parametrize(("ending", "reason"), [("expired", "timeout"), ("cancelled", "error")])
async def test_a_batch_that_ends_early_gives_the_replies_that_it_has(
    name, ending, reason, model, plan, tmp_path
):
    plan.ending = ending
    found = await ask(judge(model, name), QUESTIONS, tmp_path)
    failed = [one for one in found if isinstance(one, BatchError)]
    assert len(failed) == 4 and {one.reason for one in failed} == {reason}
    assert all(one == QUESTIONS[n] for n, one in enumerate(found) if one not in failed)
    assert len(model.batches) == 1, "nothing is paid again in the same run"
    plan.ending = "completed"
    assert await ask(judge(model, name), QUESTIONS, tmp_path) == QUESTIONS
    assert len(model.batches[1].requests) == 4, "the next start asks for the rest"


async def test_expired_requests_of_a_batch_that_completed_are_timeouts(model, plan, tmp_path):
    plan.n_expired = 2
    found = await ask(judge(model), QUESTIONS, tmp_path)
    assert [one.reason for one in found if isinstance(one, BatchError)] == ["timeout"] * 2


async def test_a_refused_batch_stops_the_run_and_is_forgotten(model, plan, tmp_path):
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
    lm, limiter = judge(model, "openai/scripted"), RunLimiter(max_usd=1.0)
    (error,) = await ask(lm, QUESTIONS[:1], tmp_path, limiter)
    assert isinstance(error, BudgetError) and "price of every judge" in str(error)


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


def test_a_damaged_batch_says_what_to_do(tmp_path):
    (tmp_path / BATCHES).mkdir()
    (tmp_path / BATCHES / "ragassay-1.json").write_text('{"id": ')
    with pytest.raises(StorageError, match=r"is damaged; move it away"):
        BatchStore(tmp_path).read_batches()


@each_case(
    ("fields", "message"),
    [
        ({}, "batch requires a hosted judge"),
        ({"model": "ragassay/judge"}, "batch requires a hosted judge"),
        ({"model": "groq/llama-3.3-70b-versatile"}, "batch: groq/llama-3.3-70b-versatile has no"),
        ({"model": "hosted_vllm/qwen", "api_base": "http://localhost:1/v1"}, "has no batch API"),
        ({"model": "gpt-4.1-mini"}, "batch: gpt-4.1-mini has no batch API"),
        ({"model": "ollama/llama3"}, "supported providers are openai, azure, anthropic, vertex_ai"),
        ({"model": "openai/a", "panel": ("mistral/b",)}, "batch: mistral/b has no"),
        ({"model": "ragassay/judge", "escalate": "groq/b"}, "batch: groq/b has no"),
        ({"model": "openai/a", "engine": "ray"}, "batch cannot be combined with a cluster"),
    ],
)
def test_settings_that_cannot_be_batched_are_refused_in_one_line(fields, message):
    with pytest.raises(SettingsError, match=message):
        load_settings(batch=True, **fields)


@each_case(
    "fields",
    [
        {"model": "openai/a", "panel": ("anthropic/b", "ragassay/judge")},
        {"model": "ragassay/judge", "escalate": "azure/b"},
        {"model": "vertex_ai/gemini-2.5-flash"},
        {"escalate": "openai/b"},
    ],
)
def test_panels_and_cascades_with_a_hosted_judge_are_batched(fields):
    assert load_settings(batch=True, **fields).limits.batch


EXPIRED = {"code": "batch_expired", "message": "m"}


@each_case(
    ("response", "error", "expected"),
    [
        ({"status_code": 200, "body": {"a": 1}}, None, (200, {"a": 1})),
        ({"status_code": 400, "body": {"error": {}}}, None, (400, {"error": {}})),
        (None, EXPIRED, (504, {"error": EXPIRED})),
    ],
)
def test_a_line_of_openais_replies_is_read(response, error, expected):
    service, line = FileBatches("openai/a", None), {"response": response, "error": error}
    reply = service.read_reply({"custom_id": "k", **line})
    assert (reply.status, reply.body) == expected
    assert service.read_reply(line) is None


def test_a_line_of_vertex_says_whose_it_is_by_a_label():
    service = VertexBatches("vertex_ai/gemini-2.5-flash", None)
    request = queues.BatchRequest("abc-1", {"contents": [], "labels": {"a": "b"}})
    line = service.write_line(request)
    assert line == {"request": {"contents": [], "labels": {"a": "b", "ragassay_key": "abc-1"}}}
    reply = service.read_reply({**line, "response": {"candidates": []}, "status": ""})
    assert reply and (reply.key, reply.status) == ("abc-1", 200)
    failed = service.read_reply({**line, "response": {}, "status": "Bad Request"})
    assert failed and failed.status == 503
    assert AnthropicBatches.most_requests == 100_000
