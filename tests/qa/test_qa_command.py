"""`ragassay qa evaluate`, `audit` and `filter`: pairs in, a report out, faults by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calls import call, judged_by
from qa_pairs import PAIRS, PAPER, judged

import ragassay
import ragassay.errors
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


def called(*words: object, code: int = 0) -> str:
    """Run a command that exits with this code, and return all that it printed."""
    found, shown, errors = call("qa", *words)
    assert found == code, shown + errors
    return shown + errors


@pytest.fixture
def evaluate(files: tuple[Path, Path]) -> tuple[object, ...]:
    papers, pairs = files
    return "evaluate", pairs, "--papers", papers


def test_without_a_judge_what_is_wrong_comes_first_and_nothing_is_asked_twice(evaluate, tmp_path):
    out = tmp_path / "run"
    called(*evaluate, "--out", out)
    page = (out / "qa.html").read_text(encoding="utf-8")
    assert page.index("640") < page.index("Chunks per answer") and "Figure 2" in page
    assert {"qa.md", "pairs.csv", "papers.csv", "measures.jsonl"} <= {p.name for p in out.iterdir()}
    before = (out / "measures.jsonl").stat().st_mtime_ns
    called(*evaluate, "--out", out)
    assert (out / "qa.html").read_text(encoding="utf-8") == page
    assert (out / "measures.jsonl").stat().st_mtime_ns == before
    code, _, errors = call("report", out)
    assert code == 1 and "is a run of `ragassay qa evaluate`" in errors
    assert not (out / "report.html").exists()


def test_with_a_judge_a_failed_call_is_unscored_and_mended_later(evaluate, tmp_path):
    out, good = tmp_path / "run", tmp_path / "good.jsonl"
    faults = [Fault("junk", contains="how sound the logic", first=2)]
    with ScriptedModel(judged, faults=faults) as model:
        given = (*evaluate, "--out", out, "--only", "racar", *judged_by(model))
        called(*given, code=3)
        assert "unscored" in (out / "qa.html").read_text(encoding="utf-8")
        called(*given, "--retry-failed")
    said = called("filter", out, "--out", good)
    assert "2 pairs selected, 1 dropped because their ratings are too low" in said
    kept = [json.loads(line)["id"] for line in good.read_text().splitlines()]
    assert kept == ["p/1", "p/3"]


def test_what_is_missing_or_wrong_is_said_in_a_line(files, evaluate, tmp_path):
    papers, pairs = files
    two = ("--model", "openai/a", "--model", "openai/b")
    too_high = ("--out", tmp_path / "x.jsonl", "--min-score", "7")
    said = called("audit", pairs, "--papers", papers, "--attack", "nonsense", code=1)
    assert "nonsense" in said and "wrong_number" in said
    for words, problem in (
        (("evaluate", pairs), "--papers"),
        (("evaluate", tmp_path / "none.jsonl", "--papers", papers), "none.jsonl"),
        (("filter", tmp_path, *too_high), "--min-score 7"),
        ((*evaluate, *two), "pairs are rated by a single judge"),
    ):
        said = called(*words, code=1)
        assert problem in said and "Traceback" not in said


def test_a_plan_says_how_many_calls_it_would_take(evaluate):
    said = called(*evaluate, "--model", "openai/x", "--dry-run", "--json")
    # Five dimensions and two comparisons, each in one call.
    assert json.loads(said)["n_calls"] == 7


def test_a_paper_that_does_not_fit_is_named_on_the_page(evaluate, tmp_path, monkeypatch):
    monkeypatch.setenv("RAGASSAY_PROMPTING__MAX_SOURCE_CHARS", "60")
    with ScriptedModel(judged) as model:
        more = ("--out", tmp_path / "run", *judged_by(model), "--only", "racar")
        call("qa", *evaluate, *more)
    page = (tmp_path / "run" / "qa.html").read_text(encoding="utf-8")
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
