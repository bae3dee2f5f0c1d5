"""`ragassay verifiers`: what its commands print, write and exit with, on tiny models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rows import read_csv, write_rows
from tiny_verifiers import tiny_inference, tiny_writer
from typer.testing import CliRunner, Result
from verifier_files import write_claims, write_corpus, write_medaesqa

from ragassay.cli import app

NO_DOCUMENT = "documents missing for 1 citations; add them with --corpus"


def call(*arguments: object, code: int = 0) -> Result:
    done = CliRunner().invoke(app, ["verifiers", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(scope="module")
def inference(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_inference(tmp_path_factory.mktemp("nli"))


@pytest.fixture
def answers(tmp_path: Path) -> list[str]:
    """MedAESQA's file, and the corpus that it cites, all but one document."""
    corpus = write_corpus(tmp_path / "corpus.jsonl")
    return [str(write_medaesqa(tmp_path / "medaesqa.json")), "--corpus", str(corpus)]


def test_the_kinds_are_listed_with_where_their_thresholds_come_from():
    found = json.loads(call("kinds", "--json").stdout)[0]["rows"]
    by_kind = {row["kind"]: row for row in found}
    assert list(by_kind) == [
        *("true", "attrscore", "flan", "alignscore", "summac-zs", "summac-conv"),
        *("bioace-correctness", "minicheck", "hhem", "lettucedetect"),
    ]
    assert by_kind["summac-zs"]["labels"] == "2, from 0"
    assert "BioACE does not state" in by_kind["alignscore"]["threshold_is"]


def test_verifiers_are_measured_in_tables_of_two_and_three_labels(tmp_path: Path, inference: str):
    claims = write_claims(tmp_path / "claims.jsonl")
    names = ["--verifier", inference, "--verifier", f"summac-zs:{inference}"]
    done = call("measure", claims, *names, "--out", tmp_path / "out")
    assert "Two labels" in done.stdout and "Three labels" in done.stdout
    two, three = (read_csv(tmp_path / "out" / f"measured-{n}-labels.csv") for n in (2, 3))
    assert {row["verifier"] for row in two} == {inference, f"summac-zs by {inference}"}
    assert {row["verifier"] for row in three} == {inference}
    assert {row["average"] for row in two} == {"binary", "macro", "weighted"}
    assert {row["f1_n"] for row in two} == {"12"}
    assert all(row[key] for row in two for key in ("precision_low", "recall", "auc", "accuracy"))


def test_a_threshold_is_fitted_written_and_used(tmp_path: Path, inference: str):
    claims, out = write_claims(tmp_path / "claims.jsonl"), tmp_path / "zs.json"
    done = call("fit", claims, "--verifier", f"summac-zs:{inference}", "--out", out)
    assert "supports from 0." in done.stdout and "held-out claims" in done.stdout
    fitted = json.loads(out.read_text("utf-8"))
    assert fitted["learnt"]["n"] == fitted["after"]["n"] == 6 and fitted["data"] == ["claims.jsonl"]
    done = call("measure", claims, "--verifier", out, "--labels", 2, "--quiet", "--json")
    table = json.loads(done.stdout)[0]
    assert {row["f1_n"] for row in table["rows"]} == {6}
    assert all("thresholds fitted" in row["verifier"] for row in table["rows"])


def test_own_documents_are_separated_from_others(
    tmp_path: Path, answers: list[str], inference: str
):
    done = call("separate", *answers, "--verifier", inference, "--out", tmp_path / "out", code=3)
    assert NO_DOCUMENT in done.stderr and "with other documents" in done.stdout
    found = read_csv(tmp_path / "out" / "separation.csv")
    assert {row["source"] for row in found} == {"documents", "evidence"}
    by_question = read_csv(tmp_path / "out" / "separation-by-question.csv")
    assert [row["question"] for row in by_question if row["source"] == "evidence"] == ["q1", "q2"]


def test_support_has_both_shares_where_people_labelled(
    answers: list[str], inference: str, tmp_path: Path
):
    options = (*answers[1:], "--verifier", inference, "--json")
    done = call("support", answers[0], *options, code=3)
    scores = {row["score"]: row for row in json.loads(done.stdout)[0]["rows"]}
    assert set(scores) == {"Supp(AS)", "Supp(CS)"}
    # Of five sentences two have a document that people call supporting.
    assert (scores["Supp(CS)"]["value_n"], scores["Supp(CS)"]["value_n_unscored"]) == (2, 3)
    sentence = {"text": "Alpha lowered pressure.", "citations": ["11"]}
    row = {"id": "a", "question": "Q?", "answer": [sentence]}
    done = call("support", write_rows(tmp_path / "plain.jsonl", [row]), *options)
    assert [row["score"] for row in json.loads(done.stdout)[0]["rows"]] == ["Supp(AS)"]


def test_correctness_at_k_is_a_table_and_a_plot(
    tmp_path: Path, answers: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RAGASSAY_LITERATURE__RERANKER", "none")
    monkeypatch.chdir(tmp_path)
    tiny_writer(tmp_path / "t5", "attributable")
    named = ["--verifier", "flan:t5", "--k", "1,2", "--found-by", "both"]
    call("at-k", *answers, *named, "--out", tmp_path / "out")
    found = read_csv(tmp_path / "out" / "curve.csv")
    assert [(row["score"], row["k"]) for row in found] == [
        (name, k) for name in ("correctness_at_k", "correctness_at_k_by_claim") for k in "12"
    ]
    # It says "attributable" of everything, and each search finds something.
    assert [row["value"] for row in found] == ["1.0"] * 4
    assert [row["value_n_unscored"] for row in found] == ["0"] * 4
    plot = (tmp_path / "out" / "curve.svg").read_text("utf-8")
    assert plot.startswith("<?xml") and "by claim" in plot


def test_mistakes_are_named(tmp_path: Path, answers: list[str], inference: str):
    claims, same = (write_claims(tmp_path / name) for name in ("a.jsonl", "b.jsonl"))
    named = ("--verifier", inference)
    for arguments, problem in (
        (("fit", claims, "--dev", same, *named, "--out", "t.json"), "share their text or document"),
        (("fit", claims, *named, "--out", tmp_path / "t.txt"), "must end in .json"),
        (("measure", answers[0]), "6 claims have no document; pass --corpus"),
        (("measure", *answers, "--verifier", "flan:absent"), "absent is unavailable"),
        (("at-k", *answers, "--k", "ten", *named), "--k 'ten'"),
        (("separate", answers[0], "--quiet", *named), "pass the corpus with --corpus"),
    ):
        assert problem in call(*arguments, code=1).stderr
