"""`ragassay qa evaluate`, `audit` and `filter`: pairs in, a report out, faults by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from qa_pairs import PAIRS, PAPER, judged
from typer.testing import CliRunner

import ragassay
import ragassay.errors
from ragassay.cli import app
from ragassay.formats.papers import write_papers
from ragassay.formats.papers.pairs import write_pairs
from ragassay.testing import Fault, ScriptedModel

pytestmark = pytest.mark.integration


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A paper, and three pairs on it."""
    papers, pairs = tmp_path / "papers.jsonl", tmp_path / "pairs.jsonl"
    write_papers([PAPER], papers)
    write_pairs(PAIRS, pairs)
    return papers, pairs


def called(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["qa", *map(str, words)])
    return result.exit_code, result.output


def test_without_a_judge_what_is_wrong_comes_first_and_nothing_is_asked_twice(files, tmp_path):
    papers, pairs = files
    out = tmp_path / "run"
    code, said = called("evaluate", pairs, "--papers", papers, "--out", out)
    assert code == 0, said
    page = (out / "qa.html").read_text(encoding="utf-8")
    first = page.index("640")
    assert first < page.index("Chunks per answer") and "Figure 2" in page
    assert {"qa.md", "pairs.csv", "papers.csv", "measures.jsonl"} <= {p.name for p in out.iterdir()}
    before = (out / "measures.jsonl").stat().st_mtime_ns
    assert called("evaluate", pairs, "--papers", papers, "--out", out)[0] == 0
    assert (out / "qa.html").read_text(encoding="utf-8") == page
    assert (out / "measures.jsonl").stat().st_mtime_ns == before
    refused = CliRunner().invoke(app, ["report", str(out)])
    assert refused.exit_code == 1 and "is a run of `ragassay qa evaluate`" in refused.output
    assert not (out / "report.html").exists()


def test_with_a_judge_a_failed_call_is_unscored_and_mended_later(files, tmp_path):
    papers, pairs = files
    out = tmp_path / "run"
    words = ["evaluate", pairs, "--papers", papers, "--out", out, "--only", "racar"]
    with ScriptedModel(
        judged, faults=[Fault("junk", contains="how sound the logic", first=2)]
    ) as m:
        asked = ["--model", m.model_name, "--api-base", m.base_url]
        code, _ = called(*words, *asked)
        assert code == 3
        page = (out / "qa.html").read_text(encoding="utf-8")
        assert "unscored" in page
        code, said = called(*words, *asked, "--retry-failed")
        assert code == 0, said
        code, said = called("filter", out, "--out", tmp_path / "good.jsonl")
    assert code == 0 and "2 pairs selected, 1 dropped because their ratings are too low" in said
    kept = [json.loads(line)["id"] for line in (tmp_path / "good.jsonl").read_text().splitlines()]
    assert kept == ["p/1", "p/3"]


def test_what_is_missing_or_wrong_is_said_in_a_line(files, tmp_path):
    papers, pairs = files
    code, said = called("evaluate", pairs)
    assert code == 1 and "--papers" in said and "Traceback" not in said
    code, said = called("evaluate", tmp_path / "none.jsonl", "--papers", papers)
    assert code == 1 and "none.jsonl" in said
    code, said = called("audit", pairs, "--papers", papers, "--attack", "nonsense")
    assert code == 1 and "nonsense" in said and "wrong_number" in said
    code, said = called("filter", tmp_path, "--out", tmp_path / "x.jsonl", "--min-score", "7")
    assert code == 1 and "--min-score 7" in said


def test_a_plan_says_how_many_calls_it_would_take(files):
    papers, pairs = files
    words = ["evaluate", pairs, "--papers", papers, "--model", "openai/x", "--dry-run", "--json"]
    code, said = called(*words)
    # Five dimensions and two comparisons, each in one call.
    assert code == 0 and json.loads(said)["n_calls"] == 7


def test_several_judges_are_refused(files):
    papers, pairs = files
    asked = ["--model", "openai/a", "--model", "openai/b"]
    code, said = called("evaluate", pairs, "--papers", papers, *asked)
    assert code == 1 and "pairs are rated by a single judge" in said


def test_a_paper_that_does_not_fit_is_named_on_the_page(files, tmp_path, monkeypatch):
    papers, pairs = files
    monkeypatch.setenv("RAGASSAY_PROMPTING__MAX_SOURCE_CHARS", "60")
    out = tmp_path / "run"
    with ScriptedModel(judged) as model:
        asked = ["--model", model.model_name, "--api-base", model.base_url, "--only", "racar"]
        called("evaluate", pairs, "--papers", papers, "--out", out, *asked)
    page = (out / "qa.html").read_text(encoding="utf-8")
    assert "p: " in page and "characters" in page


def test_python_writes_pairs_too(files, tmp_path):
    papers, _ = files
    out = tmp_path / "made.jsonl"
    with ScriptedModel() as model:
        asked = {"model": model.model_name, "api_base": model.base_url}
        found = ragassay.generate_pairs(papers, out, **asked)
        with pytest.raises(ragassay.errors.InputError, match="no paper"):
            ragassay.generate_pairs([], tmp_path / "none.jsonl", **asked)
    (written,) = found.papers
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["question"] for row in rows] == [pair.question for pair in written.pairs] != []
    with pytest.raises(ragassay.errors.SettingsError, match="pairs requires a model"):
        ragassay.generate_pairs(papers, tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_python_gives_the_same(files):
    papers, pairs = files
    found = ragassay.evaluate_pairs(pairs, papers)
    assert [paper.paper for paper in found.measures] == ["p"]
    same = ragassay.evaluate_pairs(PAIRS, [PAPER])
    assert same.measures == found.measures
    with pytest.raises(ragassay.errors.InputError, match="no pair"):
        ragassay.evaluate_pairs(PAIRS, [PAPER.model_copy(update={"id": "other"})])
