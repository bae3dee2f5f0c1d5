"""Fact checkers by name in a run: the default's advice, verdicts, spans on the page, thresholds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import run
from lxml import html
from pages import unfolded
from tiny_checkers import tiny_hhem, tiny_lettucedetect, tiny_minicheck
from verifier_files import write_claims

from ragassay.models.availability import FetchedModel
from ragassay.records import CitationVerdict
from ragassay.runs.folder import RunFolder

ANSWER = {
    "user_input": "Does brelozant help?",
    "response": "Brelozant raised pain in 12 of 340 men [1].",
    "retrieved_contexts": ["Brelozant lowers pressure in adults with migraine."],
}
FETCH = "MiniCheck is more accurate (see its paper): run ragassay models get minicheck"
HERE = "Use MiniCheck, which is more accurate: pass --verifier minicheck-roberta"


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAGASSAY_LITERATURE__CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps(ANSWER) + "\n")
    return file


def evaluate(file: Path, *options: str) -> str:
    given = ("--out", file.parent / "run", "--only", "citations")
    return "".join(run("evaluate", file, *given, *options))


def kept_verdict(folder: Path) -> tuple[CitationVerdict, str]:
    """The run's only verdict on a citation, and its sentence."""
    (evaluation,) = RunFolder(folder).read_evaluations()
    (verdict,) = evaluation.citations
    return verdict, evaluation.sentences[0].text


def note_minicheck(folder: Path, cache_dir: Path) -> None:
    """Note a folder as the fetched MiniCheck-RoBERTa-Large."""
    repository = "lytang/MiniCheck-RoBERTa-Large"
    given = {"revision": "0" * 40, "licence": "mit", "folder": str(folder), "sha256": {}}
    note = FetchedModel.model_validate(given | {"repository": repository})
    (cache_dir / "fetched").mkdir(parents=True)
    file = cache_dir / "fetched" / f"{repository.replace('/', '--')}.json"
    file.write_text(note.model_dump_json())


@pytest.mark.integration
def test_the_default_run_names_the_better_verifier_in_one_line(answers: Path, tmp_path: Path):
    (line,) = [line for line in evaluate(answers).splitlines() if "MiniCheck" in line]
    assert line == FETCH and len(line) <= 80
    note_minicheck(tmp_path, tmp_path / "cache")
    shown, _ = run("report", tmp_path / "run")
    (line,) = [line for line in shown.splitlines() if "MiniCheck" in line]
    assert line == HERE
    for option in ("--quiet", "--json"):
        assert "MiniCheck" not in evaluate(answers, option)


def test_lettucedetects_spans_are_kept_and_marked_on_the_page(answers: Path, tmp_path: Path):
    shown = evaluate(answers, "--verifier", CHECKERS["lettucedetect"](tmp_path))
    assert "is more accurate" not in shown
    verdict, text = kept_verdict(tmp_path / "run")
    assert verdict.verdict == "not_attributable"
    words = [text[one.start : one.end] for one in verdict.spans]
    assert words and all(0.5 < one.score <= 1 for one in verdict.spans)
    page = html.fromstring(unfolded((tmp_path / "run" / "report.html").read_text("utf-8")))
    link = page.xpath("//a[@data-s='1']")[0]
    assert [mark.text for mark in link.xpath(".//mark[@class='unsupported']")] == words
    assert "not supported: " in page.text_content()


CHECKERS: dict[str, Callable[[Path], str]] = {
    "roberta": lambda at: "minicheck:" + tiny_minicheck(at / "roberta", "roberta"),
    "deberta": lambda at: "minicheck:" + tiny_minicheck(at / "deberta", "deberta-v2"),
    "t5": lambda at: "minicheck:" + tiny_minicheck(at / "t5", "t5"),
    "hhem": lambda at: "hhem:" + "@".join(tiny_hhem(at)),
    "lettucedetect": lambda at: "lettucedetect:" + tiny_lettucedetect(at / "lettuce"),
}
"""Makes a random checker in a folder, and returns its name."""


@pytest.mark.parametrize("kind", ["roberta", "deberta", "t5", "hhem"])
def test_a_run_by_a_checker_of_two_labels_says_supports_or_not(kind, answers, tmp_path):
    evaluate(answers, "--verifier", CHECKERS[kind](tmp_path))
    verdict, _ = kept_verdict(tmp_path / "run")
    assert verdict.verdict in ("supports", "not_attributable") and verdict.spans == ()


@pytest.mark.parametrize("kind", ["roberta", "hhem", "lettucedetect"])
def test_thresholds_are_fitted_to_a_checker_and_used(kind: str, tmp_path: Path):
    name = CHECKERS[kind](tmp_path)
    claims, out = write_claims(tmp_path / "claims.jsonl"), tmp_path / "fitted.json"
    run("verifiers", "fit", claims, "--verifier", name, "--out", out)
    fitted = json.loads(out.read_text("utf-8"))
    assert fitted["verifier"] == name and len(fitted["digest"]) == 64
    measured, _ = run("verifiers", "measure", claims, "--verifier", out, "--quiet", "--json")
    table = json.loads(measured)[0]
    assert all("thresholds fitted" in row["verifier"] for row in table["rows"])
