"""The PubMed example that the repository ships: built, asked and cited as its README says."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from calls import call, run
from conftest import ROOT

from ragassay.testing import ScriptedModel
from ragassay.testing.chat_completions import JsonSchema, Message, last_user_text
from ragassay.testing.replies import build_instance

pytestmark = pytest.mark.usefixtures("no_embedding_model")

EXAMPLE = ROOT / "examples" / "pubmed"
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


def judge(messages: Sequence[Message], schema: JsonSchema | None) -> str | Mapping[str, object]:
    """A judge that finds one claim contradicted, all others supported."""
    asked = last_user_text(messages)
    reply = build_instance(schema or {}, asked, "judge")
    if isinstance(reply, dict) and "verdict" in reply:
        is_wrong = CONTRADICTED in asked[-LONGEST_CLAIM:]
        return {**reply, "verdict": "contradicts" if is_wrong else "supports"}
    return reply if isinstance(reply, dict) else str(reply)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "pubmed"
    code, _, errors = call("corpus", "build", EXAMPLE, "--out", folder, "--quiet")
    assert (code, "1 record could not be read" in errors) == (3, True), "one has no PMID"
    return folder


def test_articles_are_a_source_and_a_record_without_a_pmid_is_set_aside(corpus: Path) -> None:
    info = json.loads(call("corpus", "info", corpus, "--json")[1])
    files = {f["name"]: (f["n_articles"], f["n_deleted"], f["n_rejected"]) for f in info["files"]}
    assert files == {
        "tessagluc.nbib": (4, 0, 0),
        "pubmed99n0001.xml": (13, 0, 1),
        "pubmed99n0002.xml": (7, 1, 0),
    }
    (line,) = (corpus / "rejected.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["file"].endswith("pubmed99n0001.xml") and "PMID" in line


def test_articles_are_found_by_dois_with_brackets(corpus: Path) -> None:
    _, out, _ = call("corpus", "get", corpus, "https://doi.org/10.99999/S1990-0006(24)00911-6")
    assert json.loads(out)["id"] == "99000911"


@pytest.mark.integration
def test_what_is_wrong_with_citations_is_found(corpus, tmp_path):
    out = tmp_path / "run"
    given = (EXAMPLE / "answers.jsonl", "--corpus", corpus, "--out", out, "--quiet")
    with ScriptedModel(judge) as model:
        run("evaluate", *given, "--model", model.model_name, "--api-base", model.base_url)
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    cited: dict[str, list[str | None]] = defaultdict(list)
    for line in (out / "evaluations.jsonl").read_text(encoding="utf-8").splitlines():
        evaluation = json.loads(line)
        for finding in evaluation["findings"]:
            if finding["kind"].endswith("_citation"):
                found[evaluation["record_id"]].append((finding["kind"], finding["sentence"]))
        for sentence in evaluation["sentences"]:
            documents = [c.get("document") for c in sentence["citations"]]
            cited[evaluation["record_id"]] += documents
            assert "10.99999" not in sentence["text"], "markers are no part of a sentence"
    assert {name: sorted(kinds) for name, kinds in found.items()} == FINDINGS
    assert cited == {
        "migraine": ["99000101", "99000901", "99000902", "99000104"],
        "vomiting": ["99000302", "99000304"],
        "insomnia": ["99000501", None, "99000502"],
        "sensor": ["99000911", "99000911", "99000913", "99000912", None],
    }
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "which was retracted (PMID 99000904)" in page
    assert "which was published on 2024-10, after the answer (2024-06)" in page
