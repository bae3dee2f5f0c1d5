"""`ragassay verifiers`: what its commands print, write and exit with, on tiny models."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tiny_verifiers import tiny_inference, tiny_writer
from typer.testing import CliRunner, Result
from verifier_files import write_claims, write_corpus, write_medaesqa

from ragassay.cli import app

NO_DOCUMENT = "documents missing for 1 citations; add them with --corpus"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["verifiers", *map(str, arguments)])


@pytest.fixture(scope="module")
def inference(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_inference(tmp_path_factory.mktemp("nli"))


@pytest.fixture
def answers(tmp_path: Path) -> list[str]:
    """MedAESQA's file, and the corpus that it cites, all but one document."""
    corpus = write_corpus(tmp_path / "corpus.jsonl")
    return [str(write_medaesqa(tmp_path / "medaesqa.json")), "--corpus", str(corpus)]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_kinds_are_listed_with_where_their_thresholds_come_from():
    found = json.loads(call("kinds", "--json").stdout)[0]["rows"]
    by_kind = {row["kind"]: row for row in found}
    assert list(by_kind) == [
        "true",
        "attrscore",
        "flan",
        "alignscore",
        "summac-zs",
        "summac-conv",
        "bioace-correctness",
        "minicheck",
        "hhem",
        "lettucedetect",
    ]
    assert by_kind["summac-zs"]["labels"] == "2, from 0"
    assert "BioACE does not state" in by_kind["alignscore"]["threshold_is"]


def test_verifiers_are_measured_in_tables_of_two_and_three_labels(tmp_path: Path, inference: str):
    claims = write_claims(tmp_path / "claims.jsonl")
    names = ["--verifier", inference, "--verifier", f"summac-zs:{inference}"]
    done = call("measure", claims, *names, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "Two labels" in done.stdout and "Three labels" in done.stdout
    two = rows(tmp_path / "out" / "measured-2-labels.csv")
    three = rows(tmp_path / "out" / "measured-3-labels.csv")
    assert {row["verifier"] for row in two} == {inference, f"summac-zs by {inference}"}
    assert {row["verifier"] for row in three} == {inference}
    assert {row["average"] for row in two} == {"binary", "macro", "weighted"}
    assert {row["f1_n"] for row in two} == {"12"}
    assert all(row[key] for row in two for key in ("precision_low", "recall", "auc", "accuracy"))


def test_a_threshold_is_fitted_written_and_used(tmp_path: Path, inference: str):
    claims, out = write_claims(tmp_path / "claims.jsonl"), tmp_path / "zs.json"
    done = call("fit", claims, "--verifier", f"summac-zs:{inference}", "--out", out)
    assert done.exit_code == 0, done.output
    assert "supports from 0." in done.stdout and "held-out claims" in done.stdout
    fitted = json.loads(out.read_text("utf-8"))
    assert fitted["learnt"]["n"] == fitted["after"]["n"] == 6 and fitted["data"] == ["claims.jsonl"]
    done = call("measure", claims, "--verifier", out, "--labels", 2, "--quiet", "--json")
    table = json.loads(done.stdout)[0]
    assert {row["f1_n"] for row in table["rows"]} == {6}
    assert all("thresholds fitted" in row["verifier"] for row in table["rows"])


def test_claims_to_measure_on_may_be_others(tmp_path: Path, inference: str):
    claims, same = (write_claims(tmp_path / name) for name in ("a.jsonl", "b.jsonl"))
    named = ["--verifier", inference, "--out", tmp_path / "t.json", "--quiet"]
    done = call("fit", claims, "--dev", same, *named)
    assert done.exit_code == 1 and "share their text or document" in done.stderr
    done = call("fit", claims, "--verifier", inference, "--out", tmp_path / "t.txt")
    assert done.exit_code == 1 and "must end in .json" in done.stderr


def test_own_documents_are_separated_from_others(
    tmp_path: Path, answers: list[str], inference: str
):
    done = call("separate", *answers, "--verifier", inference, "--out", tmp_path / "out")
    assert done.exit_code == 3, done.output
    assert NO_DOCUMENT in done.stderr and "with other documents" in done.stdout
    found = rows(tmp_path / "out" / "separation.csv")
    assert {row["source"] for row in found} == {"documents", "evidence"}
    by_question = rows(tmp_path / "out" / "separation-by-question.csv")
    assert [row["question"] for row in by_question if row["source"] == "evidence"] == ["q1", "q2"]


def test_support_has_both_shares_where_people_labelled(
    answers: list[str], inference: str, tmp_path: Path
):
    done = call("support", *answers, "--verifier", inference, "--json")
    scores = {row["score"]: row for row in json.loads(done.stdout)[0]["rows"]}
    assert set(scores) == {"Supp(AS)", "Supp(CS)"}
    # Of five sentences two have a document that people call supporting.
    assert (scores["Supp(CS)"]["value_n"], scores["Supp(CS)"]["value_n_unscored"]) == (2, 3)
    plain = tmp_path / "plain.jsonl"
    sentence = {"text": "Alpha lowered pressure.", "citations": ["11"]}
    plain.write_text(json.dumps({"id": "a", "question": "Q?", "answer": [sentence]}))
    done = call("support", plain, *answers[1:], "--verifier", inference, "--json")
    assert done.exit_code == 0, done.output
    assert [row["score"] for row in json.loads(done.stdout)[0]["rows"]] == ["Supp(AS)"]


def test_correctness_at_k_is_a_table_and_a_plot(
    tmp_path: Path, answers: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RAGASSAY_LITERATURE__RERANKER", "none")
    monkeypatch.chdir(tmp_path)
    tiny_writer(tmp_path / "t5", "attributable")
    named = ["--verifier", "flan:t5", "--k", "1,2", "--found-by", "both"]
    done = call("at-k", *answers, *named, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    found = rows(tmp_path / "out" / "curve.csv")
    assert [(row["score"], row["k"]) for row in found] == [
        ("correctness_at_k", "1"),
        ("correctness_at_k", "2"),
        ("correctness_at_k_by_claim", "1"),
        ("correctness_at_k_by_claim", "2"),
    ]
    # It says "attributable" of everything, and each search finds something.
    assert [row["value"] for row in found] == ["1.0"] * 4
    assert [row["value_n_unscored"] for row in found] == ["0"] * 4
    plot = (tmp_path / "out" / "curve.svg").read_text("utf-8")
    assert plot.startswith("<?xml") and "by claim" in plot


def test_mistakes_are_named(tmp_path: Path, answers: list[str], inference: str):
    done = call("measure", answers[0])
    assert done.exit_code == 1 and "6 claims have no document; pass --corpus" in done.stderr
    done = call("measure", *answers[:3], "--verifier", "flan:absent")
    assert done.exit_code == 1 and "absent is unavailable" in done.stderr
    done = call("at-k", *answers, "--k", "ten", "--verifier", inference)
    assert done.exit_code == 1 and "--k 'ten'" in done.stderr
    done = call("separate", answers[0], "--quiet", "--verifier", inference)
    assert done.exit_code == 1 and "pass the corpus with --corpus" in done.stderr
