"""What is known to be wrong before a run begins."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from calls import run

import ragassay
from ragassay.errors import FatalModelError, InputError, RunMismatchError, SettingsError
from ragassay.options import create_settings
from ragassay.records import FileFingerprint, Manifest
from ragassay.runs.folder import hash_files
from ragassay.runs.preflight import check_known, check_ready, list_judge_settings
from ragassay.settings import Settings, format_settings, load_settings
from ragassay.testing import Fault, ScriptedModel

GONE = "openai/a@http://127.0.0.1:9/v1"
QUESTION = {"question": "Does it help?", "answer": "It does [1].", "sources": ["It does."]}


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps(QUESTION) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is read or built fails the test."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("nothing is read or built before the run is known to work")

    for name in ("ragassay.runs.job.read_records", "ragassay.evaluators.build_run.build_judge"):
        monkeypatch.setattr(name, fail)


def kept_run(folder: Path, settings: Settings, answers: Path) -> Path:
    """Return a folder with the manifest of a run."""
    given = {"name": answers.name, "sha256": hash_files(answers), "format": "ragassay"}
    fingerprint = FileFingerprint(**given, n_items=1)
    manifest = Manifest(
        ragassay="1",
        judge=settings.judge.model,
        embedder="e",
        prompts_sha256="p",
        answers=fingerprint,
        settings=format_settings(settings),
    )
    folder.mkdir()
    (folder / "run.json").write_text(manifest.model_dump_json(), encoding="utf-8")
    return folder


COMMANDS = (
    *("evaluate answers.jsonl", "audit answers.jsonl", "strategies answers.jsonl"),
    "grade answers.jsonl --grade thomas",
    "nuggets create answers.jsonl --out nuggets.jsonl --accept-all",
    "nuggets assign answers.jsonl --out assigned.jsonl",
    "testbank create answers.jsonl --out bank.jsonl.gz",
    "qa generate answers.jsonl --out pairs.jsonl",
    "qa evaluate answers.jsonl --papers papers.jsonl",
    "qa audit answers.jsonl --papers papers.jsonl",
    "rationales answers.jsonl",
    "optimize verifier --data answers.jsonl",
)
BESIDE_THE_JUDGE = (
    f"evaluate answers.jsonl --escalate {GONE}",
    f"audit answers.jsonl --paraphraser {GONE}",
    f"evaluate answers.jsonl --model ragassay/judge --model {GONE}",
    f"qa generate answers.jsonl --evaluator {GONE} --out pairs.jsonl",
    f"matrix --generate answers.jsonl --generator {GONE} --generator ragassay/judge",
)


@pytest.mark.parametrize(
    "command", [*(f"{command} --model {GONE}" for command in COMMANDS), *BESIDE_THE_JUDGE]
)
def test_every_command_says_in_one_line_that_its_model_is_not_there(
    command, answers, tmp_path, monkeypatch, no_work
):
    monkeypatch.chdir(tmp_path)
    (line,) = "".join(run(*command.split(), code=1)).splitlines()
    assert line.startswith("error: openai/a: connection refused at http://127.0.0.1:9/v1; start")
    assert sorted(tmp_path.iterdir()) == [answers], "nothing is left behind"


def test_python_raises_the_same_sentence(answers, tmp_path, no_work):
    with pytest.raises(FatalModelError) as error:
        ragassay.evaluate(answers, model=GONE)
    assert str(error.value).startswith("openai/a: connection refused at http://127.0.0.1:9/v1")
    with pytest.raises(InputError, match="must be a folder but is a file; choose another --out"):
        ragassay.evaluate(answers, out=answers)
    with pytest.raises(SettingsError, match="unknown model ragassay/none; use"):
        ragassay.evaluate(answers, model="ragassay/none")


@pytest.mark.integration
def test_a_dry_run_and_a_run_that_has_ended_ask_nothing(answers, tmp_path):
    with ScriptedModel() as model:
        named = ("--model", model.model_name, "--api-base", model.base_url, "--only", "rubrics")
        command = ("evaluate", answers, *named, "--out", tmp_path / "run", "--quiet")
        run(*command, "--dry-run")
        assert (model.probes, model.n_requests) == ((), 0)
        run(*command)
        assert len(model.probes) == 1
        run(*command)
        assert len(model.probes) == 1, "everything is done"
        run(*command, "--retry-failed")
        assert len(model.probes) == 2


@pytest.mark.integration
def test_a_key_that_is_refused_is_said_before_a_question_is_asked(answers, tmp_path):
    with ScriptedModel(faults=[Fault("unauthorized")]) as model:
        with pytest.raises(FatalModelError, match="rejected the key"):
            ragassay.evaluate(answers, model=model.model_name, api_base=model.base_url)
        assert (len(model.probes), model.n_requests) == (1, 0)


def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path, monkeypatch):
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", read_only)
    with pytest.raises(InputError, match=r"cannot write .*x/y \(Read-only file system\); choose"):
        check_ready(load_settings(), {"out": tmp_path / "x" / "y"})
    assert not (tmp_path / "x").exists()


def test_an_address_is_no_folder():
    for out in ("s3://ann:hush@bucket/run", Path("gs://ann:hush@bucket/run")):
        with pytest.raises(InputError, match=r"\*\*\*@bucket/run is a URL; choose a local folder"):
            check_ready(load_settings(), {"out": out})


def test_another_runs_folder_is_named_with_the_difference(answers, tmp_path):
    settings = load_settings(only=("citations",))
    folder = kept_run(tmp_path / "run", settings, answers)
    every = {"answers": answers, "fields": format_settings(settings)}
    check_ready(settings, {"out": folder}, **every)
    other = load_settings(only=("rubrics",))
    with pytest.raises(RunMismatchError, match="only was citations and is now rubrics; choose"):
        check_ready(other, {"out": folder}, **every)
    check_ready(other, {"out": folder})  # a command that sets `only` by itself
    with pytest.raises(RunMismatchError, match="was ragassay/instruments and is now openai/a"):
        check_ready(load_settings(model="openai/a"), {"out": folder})
    answers.write_text("{}", encoding="utf-8")
    with pytest.raises(RunMismatchError, match=r"the answers file was answers\.jsonl"):
        check_ready(settings, {"out": folder}, **every)


@pytest.mark.parametrize("name", ["ragassay/nonexist", "ragassay/", "ragassay/a/b/c"])
def test_an_unknown_name_of_ours_is_refused_with_those_that_there_are(name):
    with pytest.raises(SettingsError, match="use ragassay/judge, ragassay/smollm2-135m, a"):
        check_known(name)


def test_names_that_may_be_right_pass():
    for name in ("judge", "instruments", "org/name"):
        check_known(f"ragassay/{name}")
    check_known("openai/nonexist")


def test_a_name_of_the_hub_is_looked_up_once_and_not_for_minutes(monkeypatch, tmp_path):
    asked: list[str] = []

    def gone(url: str, **_: object) -> httpx.Response:
        asked.append(url)
        if len(asked) > 1:
            return httpx.Response(404)
        raise httpx.ConnectError("no network")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://hub.test")
    monkeypatch.setattr(httpx, "get", gone)
    with pytest.raises(SettingsError, match=r"ORG/no is not on this machine, and http://hub\.t"):
        check_ready(load_settings(embedder="ORG/no"), {})
    with pytest.raises(SettingsError, match="model ORG/no does not exist on"):
        check_known("ragassay/ORG/no")
    assert asked == ["http://hub.test/api/models/ORG/no"] * 2
    check_known(f"ragassay/{tmp_path}")


def test_a_folder_is_a_model_and_a_verifier_is_no_judge(tmp_path):
    check_known(f"ragassay/{tmp_path}")
    check_known("ragassay/mean-verifier", ("ragassay/mean-verifier",))
    with pytest.raises(SettingsError, match="cannot generate text; use it with --verifier"):
        check_known("ragassay/mean-verifier")


def test_every_model_has_its_own_endpoint():
    models = ["openai/a", "mistral/b@http://b/v1"]
    settings = create_settings({"model": models, "api_base": "http://a/v1"})
    found = list_judge_settings(settings, ["openai/c", "groq/d"])
    assert [(one.judge.model, one.judge.api_base) for one in found] == [
        ("openai/a", "http://a/v1"),
        ("mistral/b", "http://b/v1"),
        ("openai/c", "http://a/v1"),
        ("groq/d", None),
    ]
