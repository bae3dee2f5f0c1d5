"""Each strategy improves the scripted judge of each agent, and survives what writers reply."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from case_tables import each_case
from improvable import WISE, WORLDS, ImprovableJudge, write_corpus, write_world
from jsonl import read_jsonl

from ragassay.agents.agent_set import Agents
from ragassay.errors import BudgetError, InputError
from ragassay.optimizers.compiling.job import (
    CompileJob,
    CompileResult,
    plan_compile_job,
    run_compile_job,
)
from ragassay.optimizers.compiling.planning import AGENTS, OPTIMIZERS, UNCOMPILED, check_agent
from ragassay.optimizers.compiling.searching import BetterInstruction, ProposalAdapter
from ragassay.prompts import load_prompts
from ragassay.records import Document
from ragassay.retrievers.literature import Corpus
from ragassay.settings import Settings, load_settings
from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.integration

WRITTEN = {"better_instruction", "proposed_instruction"}


def job_of(folder: Path, agent: str, optimizer: str, n: int = 12, **more) -> CompileJob:
    folder.mkdir(exist_ok=True)
    train = write_world(folder, agent, 0, n, "train.jsonl")
    dev = write_world(folder, agent, 1000, n, "dev.jsonl")
    gold = folder / "gold.jsonl"
    options = WORLDS[agent].task_options(gold if gold.exists() else None)
    return CompileJob(agent, train, dev, optimizer, options=options, **more)


def settings_of(model: ScriptedModel, name: str = "openai/scripted") -> Settings:
    return load_settings(model=name, api_base=model.base_url, signals=False, concurrency=8)


def compile_agent(folder: Path, agent: str, optimizer: str, reply, **more) -> CompileResult:
    with ScriptedModel(reply) as model:
        job = job_of(folder, agent, optimizer, **more)
        rows = read_jsonl(write_corpus(folder / "corpus.jsonl"))
        corpus = Corpus([Document(**row) for row in rows]) if agent == "query_writer" else None
        return run_compile_job(job, settings_of(model), folder / "work", corpus)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_strategy_improves_a_judge_that_is_right_on_most(optimizer, tmp_path):
    """One instruction in three is a good one, and 60 % are right from the start."""
    found = compile_agent(tmp_path, "verifier", optimizer, ImprovableJudge(0.6, 3), n=30)
    (f1, accuracy), prompt = found.prompt.comparisons, found.prompt
    assert f1.before.value is not None and 0.6 < f1.before.value < 0.9
    assert (f1.after.value, accuracy.after.value, f1.after.n) == (1.0, 1.0, 30)
    assert f1.gain.low is not None and f1.gain.low > 0 and prompt.is_better
    assert WISE in prompt.predictor.instructions or prompt.predictor.demos
    assert (prompt.optimizer, prompt.model, prompt.n_train) == (optimizer, "openai/scripted", 30)


@pytest.mark.parametrize("agent", AGENTS)
def test_each_strategy_compiles_each_agent(agent, tmp_path):
    for optimizer in OPTIMIZERS:
        found = compile_agent(tmp_path / optimizer, agent, optimizer, ImprovableJudge(0.2, 2), n=9)
        first = found.prompt.comparisons[0]
        assert first.metric == WORLDS[agent].figure
        assert first.before.value is not None and first.after.value is not None
        assert first.after.value >= first.before.value + 0.2, (agent, optimizer)
        assert found.rejections == () and found.prompt.is_better


def with_writer(text: str, in_fields: bool):
    """Return a judge that can improve, and a writer that replies the same to everything."""
    judge = ImprovableJudge(0.3)

    def reply(messages, schema):
        properties = schema["properties"] if schema else {}
        if not WRITTEN & set(properties):
            return judge(messages, schema)
        return dict.fromkeys(properties, text) if in_fields else text

    return reply


@pytest.mark.parametrize("optimizer", ["miprov2", "gepa", "copro"])
@each_case(
    ("text", "in_fields"),
    [
        ("", False),
        ("", True),
        ("  \n", True),
        ("I'm sorry, but I can't assist with that.", False),
        ("I\u2019m unable to help with this request.", False),
    ],
)
def test_a_writer_that_writes_nothing_is_never_the_prompt(optimizer, text, in_fields, tmp_path):
    found = compile_agent(tmp_path, "verifier", optimizer, with_writer(text, in_fields), n=6)
    shipped = load_prompts().agents["verifier_ternary"].task
    assert found.prompt.predictor.instructions == shipped


@each_case(
    "text",
    [
        "```\nLook at the verb of it.\n```",
        "Here is the instruction:\n\n```text\nLook at the verb of it.\n```",
        "```\nLook at the verb of it.\n```\nThis is clearer.",
        "Look at the verb of it.",
    ],
)
def test_an_instruction_in_a_fence_is_taken_out_of_it(text):
    adapter = ProposalAdapter("Compare.")
    found = adapter.parse(BetterInstruction, text)
    assert found == {"better_instruction": "Look at the verb of it."}
    assert adapter.parse(BetterInstruction, "``` \n```")["better_instruction"]


def test_a_plan_is_no_less_than_the_calls_that_are_made(tmp_path):
    for optimizer in OPTIMIZERS:
        for n, budget in ((4, "1"), (10, "37")):
            folder = tmp_path / f"{optimizer}-{n}"
            with ScriptedModel(ImprovableJudge(0.3, 2)) as model:
                job = job_of(folder, "verifier", optimizer, n, budget=budget)
                settings = settings_of(model)
                plan = plan_compile_job(job, settings)
                assert not model.requests
                found = run_compile_job(job, settings, folder / "work")
            assert n + n // 2 <= found.n_asked <= plan.calls.n_calls, (optimizer, n, budget)
            writes = optimizer != "bootstrap"
            assert bool(plan.calls.n_written) == writes and ("to write" in plan.text) == writes


def test_a_plan_has_a_price_where_the_models_have(tmp_path):
    job = job_of(tmp_path, "verifier", "gepa", 6)
    with ScriptedModel() as model:
        priced = plan_compile_job(job, settings_of(model, "openai/gpt-4.1-mini"))
        unknown = plan_compile_job(job, settings_of(model))
    assert priced.usd is not None and priced.usd > 0 and "USD" in priced.text
    assert unknown.usd is None and "the price is unknown" in unknown.text


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_spent_calls_or_money_end_each_strategy_and_more_goes_on(optimizer, tmp_path):
    job = job_of(tmp_path, "verifier", optimizer, 8)
    with ScriptedModel(ImprovableJudge(0.3)) as model:
        settings = settings_of(model, "openai/gpt-4.1-mini")
        for limits in ({"max_calls": 10}, {"max_calls": 16}, {"max_usd": 0.0025}):
            with pytest.raises(BudgetError, match="same command with a higher limit"):
                run_compile_job(replace(job, **limits), settings, tmp_path / "work")
            assert len(model.requests) <= limits.get("max_calls", 30)
        found = run_compile_job(replace(job, max_calls=500), settings, tmp_path / "work")
        assert found.prompt.is_better
        assert len(model.requests) == found.prompt.usage.n_calls
        # A writer is asked the same several times, for several instructions.
        asked = [r.key for r in model.requests if "verdict" in str(r.schema)]
        assert len(set(asked)) == len(asked)


def test_agents_that_cannot_be_compiled_are_named_with_the_reason():
    of_verifier = {"verifier_binary", "verifier_ternary"}
    names = set(load_prompts().agents) | {agent.prompt for agent in Agents().all}
    assert names == {*AGENTS, *UNCOMPILED} and of_verifier < UNCOMPILED.keys()
    for name, why in UNCOMPILED.items():
        with pytest.raises(InputError, match=f"^{name} cannot be optimized: {why[:20]}") as caught:
            check_agent(name)
        assert "\n" not in str(caught.value) and "query_writer" in str(caught.value)
    with pytest.raises(InputError, match="unknown agent 'poet'"):
        check_agent("poet")


def test_labels_of_an_answer_that_is_not_in_the_file_fall_to_no_other(tmp_path):
    job = job_of(tmp_path, "nugget_assigner", "copro", 3)
    with ScriptedModel() as model:
        plan = plan_compile_job(job, settings_of(model))
    # The labels of both files are in gold.jsonl; three of them are of the answers in dev.jsonl.
    assert plan.calls.n_measured == 2 * 3
