"""The tests that docs/ci.md shows, and what it says that they print."""

from __future__ import annotations

import pytest
from conftest import ROOT
from handbook import block, blocks

pytestmark = pytest.mark.integration
pytest_plugins = ["pytester"]

PAGE = ROOT / "docs" / "ci.md"


def test_the_message_is_as_shown(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("RAGASSAY_EVALUATION__SIGNALS")
    shown = block(PAGE, "python", "def test_stroke").text
    pytester.path.joinpath("test_answers.py").write_text(shown, encoding="utf-8")
    result = pytester.runpytest_inprocess("-p", "ragassay.pytest_plugin", "--ragassay")
    result.assert_outcomes(passed=1, failed=1)
    (message,) = (one.text for one in blocks(PAGE, "text"))
    printed = "\n".join([*result.outlines, ""]).replace("\N{NO-BREAK SPACE}", " ")
    assert message in printed
    assert "Report: runs/pytest/report.html" in result.outlines


def test_a_fixture_is_used_as_shown(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    shown = [block(PAGE, "python", f"def {name}").text for name in ("test_citation", "test_my_app")]
    options = block(PAGE, "python", "def assay_options").text
    options = options.replace('"rubrics", ', "").replace(', "corpus": "abstracts.jsonl"', "")
    pytester.makeconftest(options)
    asked = '{"id": "q1", "question": "How much?", "answer": "", "nuggets": [{"text": "75 mg."}]}'
    pytester.path.joinpath("questions.jsonl").write_text(asked, encoding="utf-8")
    application = 'def my_application(question):\n    return "75 mg [1].", ["75 mg daily."]\n\n\n'
    pytester.makepyfile(test_citation=shown[0], test_app=application + shown[1])
    settings = block(PAGE, "toml", "ragassay_model").text.splitlines()
    kept = "\n".join(line for line in settings if "ragassay_model" not in line)
    pytester.path.joinpath("pyproject.toml").write_text(kept, encoding="utf-8")
    result = pytester.runpytest_inprocess("-p", "ragassay.pytest_plugin")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E*UnmeasuredError*", "E*nuggets.recall: no nuggets scores*"])
