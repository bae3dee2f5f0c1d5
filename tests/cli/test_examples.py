"""The PubMed and BioGen examples that the repository ships, used as their READMEs say."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import run
from conftest import ROOT

import ragassay
from ragassay.runs.folder import RunFolder
from ragassay.testing import ScriptedModel
from ragassay.testing.chat_completions import last_user_text
from ragassay.testing.replies import build_instance

pytestmark = pytest.mark.usefixtures("no_embedding_model")

PUBMED, BIOGEN = ROOT / "examples" / "pubmed", ROOT / "examples" / "biogen"
CONTRADICTED = "The 10 mg dose did not impair balance"
LONGEST_CLAIM = 300
"""A prompt holds the whole answer, and ends with the claim and what to reply."""

FINDINGS = {
    "migraine": [("concern_citation", 4), ("later_citation", 3), ("preprint_citation", 2)],
    "vomiting": [("retracted_citation", 2)],
    "insomnia": [("contradicted_citation", 3), ("corrected_citation", 1), ("invalid_citation", 2)],
    "sensor": [("invalid_citation", 4), ("preprint_citation", 2), ("retracted_citation", 3)],
}
"""What is wrong with the citations of each answer: kind and sentence, sorted."""

HASTY = ("raised", "No adverse", "twice the dose", "did not change", "halved", "half", "0.5 mg")
HASTY += ("more frequent", "completely", "whenever", "bedside")
"""Words of the careless system's claims."""


def judge(is_wrong: Callable[[str], bool]):
    """A judge that finds wrong claims contradicted and missing, and all others supported."""

    def reply(messages, schema):
        asked = last_user_text(messages)
        made = build_instance(schema or {}, asked, "judge")
        if not isinstance(made, dict):
            return str(made)
        verdict, support = ("contradicts", "not_") if is_wrong(asked) else ("supports", "")
        said = {"verdict": verdict, "assignment": f"{support}support"}
        return made | {name: value for name, value in said.items() if name in made}

    return reply


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "pubmed"
    _, errors = run("corpus", "build", PUBMED, "--out", folder, "--quiet", code=3)
    assert "1 record could not be read" in errors, "one has no PMID"
    return folder


def test_articles_are_a_source_and_a_record_without_a_pmid_is_set_aside(corpus: Path) -> None:
    info = json.loads(run("corpus", "info", corpus, "--json")[0])
    files = {f["name"]: (f["n_articles"], f["n_deleted"], f["n_rejected"]) for f in info["files"]}
    assert files == {
        "tessagluc.nbib": (4, 0, 0),
        "pubmed99n0001.xml": (13, 0, 1),
        "pubmed99n0002.xml": (7, 1, 0),
    }
    (line,) = (corpus / "rejected.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["file"].endswith("pubmed99n0001.xml") and "PMID" in line


def test_articles_are_found_by_dois_with_brackets(corpus: Path) -> None:
    out, _ = run("corpus", "get", corpus, "https://doi.org/10.99999/S1990-0006(24)00911-6")
    assert json.loads(out)["id"] == "99000911"


@pytest.mark.integration
def test_what_is_wrong_with_citations_is_found(corpus, tmp_path):
    out = tmp_path / "run"
    given = (PUBMED / "answers.jsonl", "--corpus", corpus, "--out", out, "--quiet")
    with ScriptedModel(judge(lambda asked: CONTRADICTED in asked[-LONGEST_CLAIM:])) as model:
        run("evaluate", *given, "--model", model.model_name, "--api-base", model.base_url)
    cited: dict[str, list[str | None]] = defaultdict(list)
    for evaluation in RunFolder(out).read_evaluations():
        name = evaluation.record_id
        kinds = [(one.kind, one.sentence) for one in evaluation.findings]
        assert sorted(one for one in kinds if one[0].endswith("_citation")) == FINDINGS[name]
        for sentence in evaluation.sentences:
            cited[name] += [citation.document for citation in sentence.citations]
            assert "10.99999" not in sentence.text, "markers are no part of a sentence"
    assert cited == {
        "migraine": ["99000101", "99000901", "99000902", "99000104"],
        "vomiting": ["99000302", "99000304"],
        "insomnia": ["99000501", None, "99000502"],
        "sensor": ["99000911", "99000911", "99000913", "99000912", None],
    }
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "which was retracted (PMID 99000904)" in page
    assert "which was published on 2024-10, after the answer (2024-06)" in page


@pytest.mark.integration
def test_a_leaderboard_of_three_systems(tmp_path: Path):
    def is_hasty(asked: str) -> bool:
        return any(word in asked.split("Answer to assess:")[-1] for word in HASTY)

    out, board, agreement = (tmp_path / name for name in ("run", "board", "agreement"))
    with ScriptedModel(judge(is_hasty)) as model:
        run(
            *("evaluate", BIOGEN / "runs.jsonl", "--nuggets", BIOGEN / "nuggets.json"),
            *("--corpus", ROOT / "examples" / "sample" / "abstracts.jsonl", "--out", out),
            *("--only", "nuggets,citations,sentences", "--quiet"),
            *("--model", model.model_name, "--api-base", model.base_url),
        )
    evaluations = RunFolder(out).read_evaluations()
    assert len(evaluations) == 12
    # Every answer to a question with three answers has the scores that need the other two.
    for evaluation in evaluations:
        assert {"sentences.recall", "citations.document_recall"} <= evaluation.scores.keys()
    shown, _ = run("compare", out, "--score", "citations.support", "--out", board)
    assert "south/hasty" in shown
    with (board / "leaderboard.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["score"] == "citations.support"]
    values = {row["system"]: float(row["value"]) for row in rows}
    assert set(values) == {"north/steady", "north/wordy", "south/hasty"}
    assert values["south/hasty"] < values["north/steady"]
    assert "south" in (board / "leaderboard.tex").read_text() and list(board.glob("*.svg"))
    labels = BIOGEN / "labels.jsonl"
    shown, _ = run("meta-evaluate", out, "--human", labels, "--out", agreement)
    assert "citation" in shown.lower()
    (compared,) = ragassay.compare([str(out)], ["citations.support"]).boards
    assert compared.key == "citations.support"
    assert ragassay.meta_evaluate(str(out), str(labels)).n_labels == 94
    assert {path.suffix for path in agreement.iterdir()} >= {".csv", ".tex", ".svg"}
