"""`ragassay optimize`, its file in use, and `ragassay prompts`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calls import call, run
from claims import WISE, verdict_reply, write_claims

from ragassay.prompts.compiled import read_compiled
from ragassay.testing import ScriptedModel

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("no_embedding_model")]


def arguments(folder: Path, model: ScriptedModel, name: str = "openai/scripted") -> list[str]:
    train = write_claims(folder / "train.jsonl", 0, 12)
    dev = write_claims(folder / "dev.jsonl", 100, 9)
    parts = ["optimize", "verifier", "--labels", 3, "--data", train, "--dev", dev]
    parts += ["--model", name, "--api-base", model.base_url, "--work", folder / "work"]
    return [str(part) for part in parts]


def test_a_better_prompt_is_written_shown_and_compared(tmp_path):
    with ScriptedModel(verdict_reply) as model:
        given = [*arguments(tmp_path, model), "--optimizer", "copro"]
        out, err = run(*given, "--out", tmp_path / "p.json")
    assert "macro-F1" in out and "1.000" in out and "is above 0" in out
    assert "copro" in err and "the shipped prompt" in err
    out, _ = run("prompts", "diff", tmp_path / "p.json")
    assert "--- shipped verifier_ternary" in out and f"+{WISE}" in out
    out, _ = run("prompts", "show", "verifier_ternary", "--prompts", tmp_path / "p.json")
    assert f"Task: {WISE}" in out and "passage: <passage>" in out


def test_examples_are_part_of_the_difference(tmp_path):
    with ScriptedModel(verdict_reply) as model:
        out, _ = run(*arguments(tmp_path, model), "--json", "--quiet")
    assert json.loads(out)["is_better"] is True
    out, _ = run("prompts", "diff", tmp_path / "work" / "prompt.json")
    assert "+ example 1" in out and "+   verdict: " in out


def test_a_prompt_that_is_no_better_is_not_written_unless_it_is_kept_anyway(tmp_path):
    def stubborn(messages, schema):
        said = verdict_reply(messages, schema)
        return {"verdict": "neutral"} if "verdict" in said else said

    written = tmp_path / "work" / "prompt.json"
    with ScriptedModel(stubborn) as model:
        given = [*arguments(tmp_path, model), "--optimizer", "gepa"]
        out, _ = run(*given, code=3)
        assert "Nothing was written." in out and not written.exists()
        n_asked = len(model.requests)
        run(*given, "--keep-anyway", code=3)
        assert len(model.requests) == n_asked
    assert read_compiled(written).is_better is False


def test_spent_money_is_said_and_costs_nothing_that_was_answered(tmp_path):
    with ScriptedModel(verdict_reply) as model:
        given = arguments(tmp_path, model, "openai/gpt-4.1-mini")
        _, err = run(*given, "--max-usd", 0.001, code=1)
        assert "error: --max-usd 0.001" in err and "higher limit to continue" in err
        run(*given, "--max-usd", 1)
        assert len({request.key for request in model.requests}) == len(model.requests)


def test_wrong_lines_are_named_and_the_exit_code_says_so(tmp_path):
    with ScriptedModel(verdict_reply) as model:
        given = arguments(tmp_path, model)
        with (tmp_path / "train.jsonl").open("a") as file:
            file.write('{"claim": "A.", "evidence": "B.", "label": "perhaps"}\n')
        _, err = run(*given, code=3)
    assert "train.jsonl:13: label: found the text" in err


def compiled_in(folder: Path) -> Path:
    with ScriptedModel(verdict_reply) as model:
        run(*arguments(folder, model), "--optimizer", "copro", "--quiet")
    return folder / "work" / "prompt.json"


def test_evaluate_says_the_compiled_prompt_and_names_it(sample, tmp_path):
    path = compiled_in(tmp_path)
    with ScriptedModel() as model:
        given = ["evaluate", sample / "answers.jsonl", "--only", "citations", "--limit", 2]
        given += ["--corpus", sample / "abstracts.jsonl", "--model", "openai/scripted"]
        given += ["--api-base", model.base_url, "--labels", 3]
        assert call(*given, "--out", tmp_path / "plain", "--quiet")[0] in (0, 3)
        plain = len(model.requests)
        code, out, _ = call(*given, "--out", tmp_path / "run", "--prompts", path)
        assert code in (0, 3)
        assert "Compiled prompt: verifier_ternary (copro)" in out
        said = [str(r.messages[1]["content"]) for r in model.requests]
        assert plain and not any(WISE in text for text in said[:plain])
        assert all(WISE in text for text in said[plain:]) and len(said) == 2 * plain
        _, err = run(*given, "--out", tmp_path / "plain", "--prompts", path, code=1)
        assert "prompts_sha256" in err
    manifests = [json.loads((tmp_path / n / "run.json").read_text()) for n in ("plain", "run")]
    assert manifests[0]["prompts_sha256"] != manifests[1]["prompts_sha256"]
    (fingerprint,) = manifests[1]["prompts"]
    wanted = ("verifier_ternary", read_compiled(path).sha256)
    assert (fingerprint["agent"], fingerprint["sha256"]) == wanted
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "verifier_ternary: optimized by copro for openai/scripted" in report


def test_a_prompt_that_would_not_be_said_is_refused_by_name(sample, tmp_path, monkeypatch):
    given = (sample / "answers.jsonl", "--dry-run")
    compiled, unused = ("--prompts", compiled_in(tmp_path)), "would not be used"
    for command, *options, said in (
        ("evaluate", *compiled, "--model", "openai/none", "unknown agent 'verifier_ternary'"),
        ("audit", *compiled, "--model", "openai/none", "unknown agent 'verifier_ternary'"),
        ("evaluate", *compiled, "--labels", 3, "--model", "ragassay/smollm2-135m", unused),
        ("evaluate", *compiled, "--labels", 3, "--only", "citations", f"{unused}: a judge is req"),
    ):
        _, err = run(command, *given, *options, code=1)
        assert said in err
        assert said != unused or "--verifier judge" in err
    monkeypatch.setenv("RAGASSAY_PROMPTING__PROMPTS", json.dumps([str(tmp_path / "missing.json")]))
    _, err = run("evaluate", *given, "--only", "citations", code=1)
    assert "missing.json cannot be read" in err


def test_prompts_are_listed_and_an_unknown_one_is_named():
    out, _ = run("prompts", "list")
    assert all(name in out for name in ("rubric_judge", "verifier", "query_writer"))
    out, _ = run("prompts", "show", "rubric_judge")
    assert "[system]" in out and "rubric: <rubric>" in out
    assert "unknown agent 'poet'" in run("prompts", "show", "poet", code=1)[1]
