"""The plugin for pytest, in test suites of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import ROOT

from ragassay.pytest_plugin.answers import Answers, Assay, write_report
from ragassay.records import FileFingerprint, Manifest
from ragassay.runs.folder import RunFolder
from ragassay.testing import Fault, ScriptedModel, default_reply

pytestmark = pytest.mark.integration
pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

ASK = """
ASKED = {"question": "What is the effect of aspirin?", "only": "rubrics", "rubrics": "correctness"}
"""


def rating(messages: Any, schema: Any) -> Any:
    """Rate 2, and all that is asked for besides as ever."""
    reply = default_reply(messages, schema)
    return reply | {"score": 2} if isinstance(reply, dict) and "score" in reply else reply


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load all that evaluates: pytester unloads what a test suite inside this one has loaded."""
    from ragassay.pytest_plugin.demands import AssertAnswer

    notes = tmp_path_factory.mktemp("notes")
    with ScriptedModel() as scripted:
        given = {"model": scripted.model_name, "api_base": scripted.base_url, "only": "rubrics"}
        assay = Assay(Answers(notes / "cache", notes), "test", given)
        AssertAnswer(assay)("Aspirin helps.", question="Why?", correctness=">=1")
        assay.answers.close()
    write_report(notes, notes / "run")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    """The judge of the environment."""
    with ScriptedModel() as scripted:
        judged_by(scripted, monkeypatch)
        yield scripted


def judged_by(model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGASSAY_JUDGE__MODEL", model.model_name)
    monkeypatch.setenv("RAGASSAY_JUDGE__API_BASE", model.base_url)
    monkeypatch.setenv("RAGASSAY_JUDGE__MAX_ATTEMPTS", "1")


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run tests: `run(source, *options)`; with `alone`, in a process of its own."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def start(source: str, *options: str, alone: bool = False) -> pytest.RunResult:
        pytester.makepyfile(test_rag=ASK + source)
        given = ("-p", "ragassay.pytest_plugin", *options)
        return (pytester.runpytest_subprocess if alone else pytester.runpytest_inprocess)(*given)

    return start


def folder(pytester: pytest.Pytester, name: str = "runs/pytest") -> RunFolder:
    return RunFolder(pytester.path / name)


ONE = """
def test_answer(assert_answer):
    assert_answer("Aspirin helps.", **ASKED, correctness=">=1.5")

def test_other():
    pass
"""


def test_tests_that_evaluate_are_skipped_unless_asked_for(run, model, pytester):
    result = run(ONE, "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*evaluates an answer; run pytest with --ragassay*"])
    assert model.n_requests == 0 and not (pytester.path / "runs").exists()
    result = run(ONE, "--ragassay", "-m", "ragassay", "--strict-markers")
    result.assert_outcomes(passed=1, deselected=1)
    assert model.n_requests == 1


def test_the_configuration_file_turns_it_on_and_names_judge_and_folder(run, model, pytester):
    pytester.makeini("[pytest]\nragassay = true\nragassay_model = openai/mine\nragassay_out = out")
    run(ONE).assert_outcomes(passed=2)
    assert folder(pytester, "out").read_manifest().judge == "openai/mine"
    run(ONE, "--ragassay-model", "openai/other", "--ragassay-out", "here").assert_outcomes(passed=2)
    assert folder(pytester, "here").read_manifest().judge == "openai/other"


def test_an_answer_that_falls_short_fails_and_says_how(run, monkeypatch):
    with ScriptedModel(rating) as low:
        judged_by(low, monkeypatch)
        result = run(ONE.replace("1.5", "4.5"), "--ragassay")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            '>*assert_answer("Aspirin helps."*',
            "E*AssertionError: this answer misses 1 of 1 requirement",
            "E*correctness*>= 4.5*below",
            "E*What is the effect of aspirin?",
            "test_rag.py:*: AssertionError",
        ]
    )
    shown = result.stdout.str().partition("= FAILURES =")[2].partition("= warnings summary =")[0]
    assert shown and "site-packages" not in shown and "pytest_plugin" not in shown


def test_what_cannot_be_measured_is_no_failure_to_be_good_enough(run, pytester, monkeypatch):
    with ScriptedModel(faults=[Fault("junk")]) as junk:
        judged_by(junk, monkeypatch)
        result = run(ONE, "--ragassay")
    result.stdout.fnmatch_lines(["E*UnmeasuredError: 1 of 1 requirement could not be measured*"])
    result.stdout.fnmatch_lines(["E*1 rubric rating: unparsable reply"])
    (evaluation,) = folder(pytester).read_evaluations()
    assert evaluation.scores["rubric.correctness"].value is None
    with ScriptedModel() as sound:
        judged_by(sound, monkeypatch)
        run(ONE, "--ragassay").assert_outcomes(passed=2)
        assert sound.n_requests == 1, "what failed is asked for again"


def test_a_judge_that_cannot_be_asked_is_one_line(run, pytester, monkeypatch):
    with ScriptedModel(faults=[Fault("unauthorized")]) as closed:
        judged_by(closed, monkeypatch)
        result = run(ONE, "--ragassay")
    result.assert_outcomes(failed=1, passed=1)
    shown = [line for line in result.outlines if line.startswith("E ")]
    assert len(shown) == 1 and "FatalModelError" in shown[0]
    assert "engine.py" not in result.stdout.str()
    (failure,) = folder(pytester).read_failures()
    assert failure.record_id == "test_rag.py::test_answer"


def test_nothing_is_asked_twice_until_something_changes(run, model, pytester):
    source = ONE.replace(">=1.5", ">=1")
    run(source, "--ragassay").assert_outcomes(passed=2)
    assert model.n_requests == 1
    result = run(source.replace("test_answer", "test_renamed"), "--ragassay")
    result.stdout.fnmatch_lines(["*1 of 1 answer from the cache*"])
    assert model.n_requests == 1
    assert [e.record_id for e in folder(pytester).read_evaluations()] == [
        "test_rag.py::test_renamed"
    ]
    for changed in (
        source.replace("Aspirin helps", "Aspirin harms"),
        source.replace("**ASKED", "**ASKED | {'question': 'Why?'}"),
        source.replace("**ASKED", "**ASKED, sources=['Aspirin helped.']"),
        source.replace("**ASKED", "**ASKED, strategy='few_shot'"),
        source.replace("**ASKED", "**ASKED, model='openai/other'"),
    ):
        n_before = model.n_requests
        run(changed, "--ragassay").assert_outcomes(passed=2)
        assert model.n_requests == n_before + 1, changed


# Clearly English, so that no process loads the model that identifies languages.
MANY = """
import pytest

@pytest.mark.parametrize("n", range(4))
def test_many(assert_answer, n):
    assert_answer(f"Aspirin is of help {n} times.", **ASKED, correctness=">=1")

def test_twice(assay):
    first = assay("Aspirin is of help.", **ASKED)
    assert assay("It is of no help.", **ASKED).scores.keys() == first.scores.keys()
"""

NAMES = [*(f"test_rag.py::test_many[{n}]" for n in range(4))]
NAMES += ["test_rag.py::test_twice", "test_rag.py::test_twice#2"]


def test_all_answers_are_in_one_report(run, model, pytester):
    result = run(MANY, "--ragassay")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["*6 answers: rubrics average*", "Report: runs/pytest/report.html"])
    found = folder(pytester)
    assert [e.record_id for e in found.read_evaluations()] == NAMES
    summary = found.read_summary()
    assert summary is not None and summary.n_evaluated == 6 and summary.n_failed == 0
    assert found.read_manifest().answers.n_items == 6
    report = (found.path / "report.md").read_text(encoding="utf-8")
    assert "6 answers: rubrics average" in report
    assert (found.path / "report.html").stat().st_size > 10_000
    run(MANY, "--ragassay", "-k", "twice").assert_outcomes(passed=1, deselected=4)
    assert [e.record_id for e in found.read_evaluations()] == NAMES[4:], "the last session's"


def test_the_workers_of_xdist_make_one_report(run, model, pytester):
    plugins = ("-p", "xdist", "-p", "pytest_randomly", "-p", "no:cacheprovider", "-n", "2")
    plugins += ("-p", "no:unraisableexception")  # It collects garbage in each process.
    for options in (plugins, ()):
        result = run(MANY, "--ragassay", *options, alone=bool(options))
        result.assert_outcomes(passed=5)
        assert model.n_requests == 6
        assert result.stdout.str().count("Report: runs/pytest/report.html") == 1
        assert [e.record_id for e in folder(pytester).read_evaluations()] == NAMES
    result.stdout.fnmatch_lines(["*6 of 6 answers from the cache*"])


def test_a_repeated_test_counts_once(run, model, pytester):
    repeated = MANY + "\n@pytest.fixture(params=[1], autouse=True)\ndef same(request): pass\n"
    run(repeated, "--ragassay", "-k", "twice").assert_outcomes(passed=1, deselected=4)
    assert len(folder(pytester).read_evaluations()) == 2


def test_options_for_all_answers_and_for_one(run, model, pytester):
    pytester.makeconftest("""
import pytest

@pytest.fixture(scope="session")
def assay_options():
    return {"only": "rubrics", "rubrics": ["cohesion", "coherence"], "model": "openai/mine"}
""")
    source = """
def test_all(assay):
    result = assay("Aspirin helps.", question="Why?")
    assert set(result.scores) == {"rubric.cohesion", "rubric.coherence"}
    assert result.manifest.judge == "openai/mine"

def test_one(assay):
    result = assay("It helps.", question="Why?", rubrics="cohesion")
    assert set(result.scores) == {"rubric.cohesion"}

def test_again(assay):
    assert assay("It harms.", question="Why?").findings == ()
"""
    result = run(source, "--ragassay")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*1 answer used settings that the report does not show*"])
    result = run(source, "--ragassay", "--ragassay-model", "openai/theirs")
    result.stdout.fnmatch_lines(["E*'openai/theirs' == 'openai/mine'*"])


def test_what_makes_no_sense_is_said(run, model):
    source = """
import pytest
import ragassay

@pytest.mark.parametrize(("given", "problem"), [
    ({"no_findings": True, "out": "runs"}, "`out=` cannot be used with a single answer"),
    ({"no_findings": True, "limit": 1}, "`limit=` cannot be used with a single answer"),
    ({"correctness": ">=high"}, "correctness='>=high' is not a bound"),
    ({"correctnes": ">=1"}, ": unknown score 'correctnes'"),
    ({}, "requires a score"),
    ({"no_findings": True, "modle": "openai/a"}, "unexpected keyword argument 'modle'"),
])
def test_refused(assert_answer, given, problem):
    with pytest.raises((ragassay.errors.InputError, TypeError), match=problem):
        assert_answer("Aspirin helps.", **ASKED, **given)

def test_empty(assert_answer):
    with pytest.raises(ragassay.errors.InputError, match="empty answer"):
        assert_answer("", **ASKED, correctness=">=1")
"""
    run(source.replace("import ragassay", "import ragassay.errors"), "--ragassay").assert_outcomes(
        passed=7
    )


def test_a_file_of_questions_makes_tests(run, model, pytester):
    lines = [
        {"id": "dose", "question": "How much?", "answer": "-", "nuggets": [{"text": "One."}]},
        {"id": "harm", "question": "Is it safe?", "answer": "-", "reference": "It is."},
    ]
    text = "\n".join(map(json.dumps, lines))
    pytester.path.joinpath("questions.jsonl").write_text(text, encoding="utf-8")
    source = """
import pytest
from ragassay.pytest_plugin import questions

@pytest.mark.parametrize("asked", questions("questions.jsonl"))
def test_rag(asked, assay):
    result = assay("Aspirin helps.", question=asked, only="rubrics", rubrics="correctness")
    assert result.evaluation.question == asked.question
    assert result.evaluation.gold_nuggets == asked.nuggets
    assert result.evaluation.topic == asked.id
"""
    result = run(source, "--ragassay", "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_rag?dose?*", "*test_rag?harm?*"])
    pytester.path.joinpath("questions.jsonl").write_text(text + '\n{"id": 3}', encoding="utf-8")
    run(source).stdout.fnmatch_lines(["E*InputError: questions.jsonl:3: *"])


def test_async_tests_evaluate_too(run, model, pytester):
    source = """
import pytest

@pytest.mark.asyncio
async def test_answer(assert_answer):
    assert_answer("Aspirin helps.", **ASKED, correctness=">=1")
"""
    scope = "asyncio_default_fixture_loop_scope=function"
    run(source, "--ragassay", "-p", "asyncio", "-o", scope).assert_outcomes(passed=1)


def test_another_run_s_folder_is_refused(run, model, pytester):
    path = pytester.path / "runs" / "first"
    path.mkdir(parents=True)
    fingerprint = FileFingerprint(name="answers.jsonl", sha256="", n_items=1, format="ragassay")
    run_json = path / "run.json"
    run_json.write_text(Manifest(ragassay="0", judge="j", answers=fingerprint).model_dump_json())
    result = run(ONE, "--ragassay", "--ragassay-out", "runs/first")
    result.stderr.fnmatch_lines(["ERROR: --ragassay-out: *first contains another run*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR and model.n_requests == 0


def test_loading_the_plugin_loads_nothing_else(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    code = """
import sys
import pytest
before = set(sys.modules)
import ragassay.pytest_plugin
print(sorted(name for name in set(sys.modules) - before if name.partition(".")[0] != "ragassay"))
print(sorted(name for name in sys.modules if name.startswith("ragassay")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['ragassay', 'ragassay.pytest_plugin']"]


def test_pytest_finds_the_plugin_by_its_entry_point(pytester, monkeypatch):
    with (ROOT / "pyproject.toml").open("rb") as file:
        (point,) = tomllib.load(file)["project"]["entry-points"]["pytest11"].items()
    info = pytester.path / "installed" / "suite_of_ragassay-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: suite-of-ragassay\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"[pytest11]\n{point[0]} = {point[1]}\n")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{info.parent}")
    pytester.makepyfile(test_rag=ASK + ONE)
    # Plugins of other libraries take most of the time.
    others = ("-p", "no:randomly", "-p", "no:langsmith_plugin", "-p", "no:hypothesispytest")
    result = pytester.runpytest_subprocess(*others)
    result.assert_outcomes(passed=1, skipped=1)
    without = pytester.runpytest_subprocess(*others, "-p", f"no:{point[0]}")
    without.stdout.fnmatch_lines(["E*fixture 'assert_answer' not found"])
