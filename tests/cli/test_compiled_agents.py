"""What `ragassay optimize` compiled for an agent is sent in the calls of that agent alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from calls import call, run
from improvable import WORLDS, ImprovableJudge, write_corpus, write_rows, write_world

from ragassay.optimizers.compiling.job import write_compiled
from ragassay.optimizers.compiling.planning import AGENTS, UNCOMPILED
from ragassay.prompts import load_rubrics
from ragassay.prompts.compiled import PREDICTOR, CompiledPredictor, CompiledPrompt, read_compiled
from ragassay.testing import ScriptedModel, default_reply

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("no_embedding_model")]

OWN = "Weigh each word of it twice."
"""Put into each compiled instruction: no shipped prompt has these words."""

ANSWER = {
    "id": "a1",
    "question": "Does zinc help with colds?",
    "answer": "Zinc shortens colds by a day [1]. It may cause nausea in some people [1].",
    "sources": [{"id": "s1", "text": "Zinc shortened colds by a day. Nausea was more common."}],
    "nuggets": [{"text": "Zinc shortens colds.", "importance": "vital"}],
}


def compile_agent(folder: Path, agent: str) -> CompiledPrompt:
    """Compile examples for an agent by the command, and give it an instruction of its own."""
    train = write_world(folder, agent, 0, 9, "train.jsonl")
    dev = write_world(folder, agent, 1000, 9, "dev.jsonl")
    given: list[object] = ["optimize", agent, "--data", train, "--dev", dev, "--quiet"]
    gold = folder / "gold.jsonl"
    given += ["--gold", gold] if gold.exists() else []
    given += ["--labels", 3, "--corpus", write_corpus(folder / "corpus.jsonl")]
    given += ["--rubric", "cohesion"] if agent == "rubric_judge" else []
    with ScriptedModel(ImprovableJudge(0.2)) as model:
        given += ["--model", "openai/scripted", "--api-base", model.base_url]
        run(*given, "--work", folder / "work")
    found = read_compiled(folder / "work" / "prompt.json")
    assert found.predictor.demos
    own = found.predictor.model_copy(update={"instructions": OWN})
    return found.model_copy(update={"predictors": {PREDICTOR: own}})


def judge(messages: Sequence[Mapping[str, object]], schema: Mapping[str, object] | None):
    """Write queries that search the corpus; anything at all to other questions."""
    if schema and "query" in str(schema.get("properties")):
        return {"query": "zinc colds trial", "opposite": "zinc has no effect on colds"}
    return default_reply(messages, schema)


@pytest.mark.parametrize("agent", AGENTS)
def test_evaluate_sends_a_compiled_prompt_in_the_calls_of_its_agent_alone(agent, tmp_path):
    path = tmp_path / "prompt.json"
    prompt = compile_agent(tmp_path, agent)
    write_compiled(prompt, path)
    answers = write_rows(tmp_path / "answers.jsonl", [ANSWER])
    corpus = [{"id": f"d{i}", "text": f"Zinc and colds: trial {i}."} for i in range(3)]
    with ScriptedModel(judge) as model:
        given = ["evaluate", answers, "--corpus", write_rows(tmp_path / "c.jsonl", corpus)]
        given += ["--model", "openai/scripted", "--api-base", model.base_url, "--labels", 3]
        given += ["--no-signals", "--out", tmp_path / "run", "--prompts", path]
        code, _, err = call(*given, "--quiet")
        requests = [r for r in model.requests if r.schema]
    assert code in (0, 3), err
    first = f"Example\n{shown_first(prompt)}"
    cohesion = load_rubrics()["cohesion"].render("knowledge")
    asked = dict.fromkeys(AGENTS, 0)
    for request in requests:
        text = str(request.messages[1]["content"])
        name = next((n for n in AGENTS if WORLDS[n].output in request.schema["properties"]), "")
        is_own = name == agent and (not prompt.rubrics or cohesion in text)
        assert (f"Task: {OWN}" in text) == is_own, (name, text)
        assert (first in text) == is_own, (name, text)
        if name:
            asked[name] += is_own or name != agent
    assert all(asked.values()), asked


def shown_first(prompt: CompiledPrompt) -> str:
    """Return the start of the first example, as a prompt shows it."""
    name, value = next(iter(prompt.predictor.demos[0].items()))
    return str(value) if name == "case" else f"{name}: {value}"


def test_optimize_refuses_other_agents_in_one_line_before_any_call(tmp_path):
    data = write_rows(tmp_path / "d.jsonl", [ANSWER])
    with ScriptedModel() as model:
        given = ["--data", data, "--model", "openai/scripted", "--api-base", model.base_url]
        for name in (*UNCOMPILED, "poet"):
            out, err = run("optimize", name, *given, "--work", tmp_path / "work", code=1)
            assert (out, err.count("\n")) == ("", 1), name
            assert name in err and all(agent in err for agent in AGENTS)
        _, err = run("optimize", "verifier", *given, "--optimizer", "adam", code=1)
        assert "unknown optimizer 'adam'" in err
        assert not model.requests and not model.probes
    assert not (tmp_path / "work").exists()


def test_a_dry_run_says_the_calls_and_makes_none(tmp_path):
    data = write_world(tmp_path, "verifier", 0, 12, "train.jsonl")
    given = ["optimize", "verifier", "--data", data, "--labels", 3, "--work", tmp_path / "work"]
    with ScriptedModel() as model:
        given += ["--model", "openai/gpt-4.1-mini", "--api-base", model.base_url, "--dry-run"]
        for optimizer, n_agent in (("bootstrap", 42), ("copro", 30), ("gepa", 39)):
            out, _ = run(*given, "--optimizer", optimizer)
            assert f"at most {n_agent} calls to openai/gpt-4.1-mini" in out, out
            assert "12 to measure" in out and "USD" in out and out.count("\n") == 1
        assert not model.requests and not model.probes
    assert not (tmp_path / "work").exists()


def test_the_help_teaches_the_strategies():
    out, _ = run("optimize", "--help")
    for words in ("bootstrap", "gepa", "copro", "miprov2", "few-shot examples", "--max-calls"):
        assert words in out


def test_spent_calls_are_said_and_the_calls_to_come_are_named_first(tmp_path):
    data = write_world(tmp_path, "verifier", 0, 12, "train.jsonl")
    given = ["optimize", "verifier", "--data", data, "--labels", 3, "--work", tmp_path / "work"]
    with ScriptedModel(ImprovableJudge(0.2)) as model:
        given += ["--model", "openai/scripted", "--api-base", model.base_url]
        _, err = run(*given, "--max-calls", 8, code=1)
        assert "error: --max-calls 8" in err and "higher limit to continue" in err
        assert "calls to openai/scripted (12 to measure)" in err.split("the shipped prompt")[0]
        assert len(model.requests) == 8
        run(*given)
    card = json.loads((tmp_path / "work" / "prompt.json").read_text())
    assert card["comparisons"][0]["after"]["value"] == 1.0


UNSENT = (
    ("rubric_judge", ("--only", "citations"), "skips rubrics"),
    ("sentence_labeller", ("--only", "rubrics"), "skips sentences"),
    ("nugget_assigner", ("--only", "evidence"), "skips nuggets"),
    ("nugget_writer", ("--only", "citations"), "skips nuggets"),
    ("nugget_writer", ("--only", "rubrics", "--only", "evidence"), "skips nuggets"),
    ("verifier_ternary", ("--only", "rubrics"), "skips citations"),
    ("query_writer", ("--only", "citations"), "skips evidence"),
    ("query_writer", ("--evidence", "agent"), "an agent searches"),
)
SENT = (
    ("nugget_writer", ("--only", "citations", "--citation-evidence", "nuggets")),
    ("verifier_ternary", ("--only", "evidence")),
    ("query_writer", ("--only", "correctness")),
    ("sentence_labeller", ("--only", "sentences")),
)


def test_a_compiled_prompt_of_an_agent_that_a_run_does_not_ask_is_refused(tmp_path, monkeypatch):
    answers = write_rows(tmp_path / "answers.jsonl", [ANSWER])
    with ScriptedModel() as model:
        given = ["evaluate", answers, "--model", "openai/scripted", "--api-base", model.base_url]
        given += ["--labels", 3, "--no-signals", "--dry-run", "--prompts", tmp_path / "p.json"]
        for agent, options, why in UNSENT:
            write_compiled(made(agent), tmp_path / "p.json")
            _, err = run(*given, *options, code=1)
            assert f"prompt of {agent} would not be used" in err and why in err
        for agent, options in SENT:
            write_compiled(made(agent), tmp_path / "p.json")
            run(*given, *options)
        write_compiled(made("nugget_writer"), tmp_path / "p.json")
        monkeypatch.setenv("RAGASSAY_NUGGETS__NUGGET_UNIT", "answer")
        assert "set nugget_unit to sentence" in run(*given, code=1)[1]
        assert not model.requests


def made(agent: str) -> CompiledPrompt:
    """Return a prompt as the optimizer would write it."""
    texts = ("data_sha256", "dev_sha256", "before_sha256", "after_sha256", "model", "ragassay")
    return CompiledPrompt(
        agent=agent,
        predictors={PREDICTOR: CompiledPredictor(instructions=OWN)},
        optimizer="copro",
        is_better=True,
        **dict.fromkeys(texts, "x"),
        **dict.fromkeys(("budget", "n_train", "n_dev"), 1),
    )
