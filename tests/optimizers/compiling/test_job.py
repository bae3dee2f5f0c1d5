"""Compile jobs against a model that a better prompt really makes better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from claims import WISE, verdict_reply, write_claims

from ragassay.agents.base import ADAPTER
from ragassay.agents.rubric_judge import RubricJudge
from ragassay.agents.verifiers import Verifier
from ragassay.errors import InputError, SettingsError
from ragassay.optimizers.compiling.job import (
    CompileJob,
    CompileResult,
    choose_writer_settings,
    run_compile_job,
    write_compiled,
)
from ragassay.optimizers.compiling.planning import (
    OPTIMIZERS,
    count_budget_calls,
    shorten_model_name,
)
from ragassay.optimizers.compiling.tasks import TaskOptions
from ragassay.prompts import load_prompts, load_rubrics
from ragassay.prompts.compiled import CompiledPredictor, CompiledPrompt, read_compiled
from ragassay.records import Case
from ragassay.settings import load_settings
from ragassay.testing import Fault, ScriptedModel

pytestmark = pytest.mark.integration


def job_in(tmp_path, optimizer="bootstrap", **more) -> CompileJob:
    train = write_claims(tmp_path / "train.jsonl", 0, 12)
    dev = write_claims(tmp_path / "dev.jsonl", 100, 9)
    return CompileJob("verifier", train, dev, optimizer, options=TaskOptions(n_labels=3), **more)


def run(job: CompileJob, model: ScriptedModel) -> CompileResult:
    settings = load_settings(
        model=model.model_name, api_base=model.base_url, signals=False, concurrency=8
    )
    return run_compile_job(job, settings, job.data.parent / "work")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(verdict_reply) as started:
        yield started


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> tuple[CompiledPrompt, ScriptedModel]:
    """A prompt with examples, and the model that was asked for it."""
    with ScriptedModel(verdict_reply) as model:
        return run(job_in(tmp_path_factory.mktemp("compiled")), model).prompt, model


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_each_optimizer_finds_the_better_prompt_and_measures_it(optimizer, model, tmp_path, capfd):
    found = run(job_in(tmp_path, optimizer), model)
    n_asked = len(model.requests)
    again = run(job_in(tmp_path, optimizer), model)
    assert len(model.requests) == n_asked == found.n_asked
    prompt = found.prompt
    # All neutral: a third is right, F1 of neutral 1/2, so macro-F1 1/6; then all is right.
    f1, accuracy = prompt.comparisons
    assert (f1.before.value, f1.after.value) == (0.1667, 1.0)
    assert (accuracy.before.value, accuracy.after.value) == (0.3333, 1.0)
    assert prompt.is_better and f1.gain.low is not None and f1.gain.low > 0
    predictor = prompt.predictor
    assert predictor.demos or WISE in predictor.instructions
    assert (prompt.agent, prompt.n_train, prompt.n_dev) == ("verifier_ternary", 12, 9)
    assert again.prompt == prompt and again.n_asked == 0
    assert capfd.readouterr().out == ""


def test_unscored_replies_are_counted_and_are_not_zero(tmp_path):
    faults = [Fault("junk", contains="drug 100."), Fault("refusal", contains="drug 101.")]
    with ScriptedModel(verdict_reply, faults=faults) as model:
        found = run(job_in(tmp_path, "bootstrap"), model)
    accuracy = found.prompt.comparisons[1]
    assert (accuracy.after.value, accuracy.after.n, accuracy.after.n_unscored) == (1.0, 7, 2)


def test_the_artefact_names_no_endpoint_no_key_and_no_folder(compiled, tmp_path):
    prompt, _ = compiled
    path = tmp_path / "out" / "p.json"
    write_compiled(prompt, path)
    text = path.read_text(encoding="utf-8")
    assert not any(word in text for word in ("127.0.0.1", "sk-test", str(tmp_path.parent)))
    assert read_compiled(path) == prompt
    assert [p.name for p in path.parent.iterdir()] == ["p.json"]


def test_a_compiled_prompt_is_rendered_as_it_was_measured(compiled):
    prompt, model = compiled
    sent = [str(r.messages[1]["content"]) for r in model.requests]
    agent = Verifier(3)
    agent.use(prompt)
    inputs = {"context": "CONTEXT", "passage": "P", "claim": "C"}
    shown = ADAPTER.format(agent.predict.signature, agent.predict.demos, inputs)[1]["content"]
    examples = shown.split("CONTEXT", 1)[1].split("passage: P")[0]
    assert "Example\n" in examples
    assert any(examples in text for text in sent)


def test_questions_that_are_measured_on_are_not_learnt_from(model, tmp_path):
    job = job_in(tmp_path)
    with job.data.open("a") as file, job.dev.open() as dev:
        file.writelines(dev.readlines()[:4])
    found = run(job, model)
    assert (found.n_shared, found.prompt.n_train) == (4, 12)


def test_without_dev_half_of_the_questions_are_measured_on(model, tmp_path):
    prompt = run(replace(job_in(tmp_path), dev=None, limit=5), model).prompt
    assert (prompt.n_train, prompt.n_dev) == (5, 5)
    assert prompt.data_sha256 != prompt.dev_sha256


def test_data_that_leave_nothing_are_refused_by_name(model, tmp_path):
    path = write_claims(tmp_path / "c.jsonl", 0, 1)
    with pytest.raises(InputError, match=r"c\.jsonl: there are no"):
        run(CompileJob("verifier", path), model)


def test_a_wrong_budget_or_optimizer_is_named(model, tmp_path):
    with pytest.raises(InputError, match=r"--budget must be .* got lots"):
        run(job_in(tmp_path, budget="lots"), model)
    with pytest.raises(InputError, match="unknown optimizer 'adam'"):
        run(job_in(tmp_path, "adam"), model)
    assert (count_budget_calls("light", 10), count_budget_calls("77", 10)) == (60, 77)
    with pytest.raises(InputError, match=r"--budget must be .* got 0"):
        count_budget_calls("0", 10)


def test_another_model_may_write_the_candidates(model, tmp_path):
    with ScriptedModel(verdict_reply) as writer:
        panel = (f"openai/writer@{writer.base_url}",)
        settings = load_settings(
            model=model.model_name, panel=panel, api_base=model.base_url, signals=False
        )
        found = run_compile_job(job_in(tmp_path, "copro"), settings, tmp_path / "work")
        assert found.prompt.reflection_model == "openai/writer"
        assert writer.requests and all("verdict" not in str(r.schema) for r in writer.requests)
        assert all("verdict" in str(request.schema) for request in model.requests)


def test_a_model_in_a_folder_is_named_without_the_folder(tmp_path):
    assert shorten_model_name("openai/gpt-4.1-mini") == "openai/gpt-4.1-mini"
    assert shorten_model_name("ragassay/smollm2-135m") == "ragassay/smollm2-135m"
    assert shorten_model_name(f"ragassay/{tmp_path}/mine") == "ragassay/mine"
    settings = choose_writer_settings(load_settings(model="openai/a"))
    assert settings.prompting.max_reply_tokens == 2048


def test_an_agent_uses_its_own_prompt_and_refuses_others(compiled):
    prompt, _ = compiled
    with pytest.raises(SettingsError, match="for 'verifier', got one for 'verifier_ternary'"):
        Verifier(4).use(prompt)
    unknown = CompiledPredictor(instructions="x", demos=({"mood": "glad"},))
    with pytest.raises(SettingsError, match="'mood'"):
        Verifier(3).use(prompt.model_copy(update={"predictors": {"predict": unknown}}))


def test_a_rubric_may_have_a_prompt_of_its_own(compiled):
    prompt, _ = compiled
    part = CompiledPredictor(
        instructions="Rate from {low} to {high}, harshly.",
        demos=({"case": "ABOUT", "rubric": "Old.", "rating": 1, "rationale": "Bad all over."},),
    )
    update = {"agent": "rubric_judge", "predictors": {"predict": part}, "rubrics": ("cohesion",)}
    judge = RubricJudge()
    judge.use(prompt.model_copy(update=update))
    rubrics = load_rubrics()
    case = Case(record_id="a", question="q", answer="x", sentences=(), context="CONTEXT")
    own, other = (judge.request(case, rubrics[name]) for name in ("cohesion", "relevancy"))
    assert "Rate from 1 to 5, harshly." in own.signature.instructions
    assert load_prompts().agents["rubric_judge"].task[:20] in other.signature.instructions
    assert (len(own.demos), len(other.demos)) == (1, 0)
    shown = ADAPTER.format(own.signature, own.demos, own.inputs)[1]["content"]
    assert "\n\nExample\nABOUT\nrubric: Old.\nReply: {" in shown
