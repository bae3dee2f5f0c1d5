"""`ragassay corpus` on the PubMed files that the repository ships."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragassay.cli import app

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "pubmed"


def run(*arguments: object, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["corpus", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "built"
    # 3: one record of the sample has no PMID.
    out, err = run("build", EXAMPLES, "--out", folder, "--quiet", code=3)
    assert "15 articles" in out
    assert "1 record could not be read" in err
    return folder


def test_building_again_changes_nothing(corpus: Path) -> None:
    before = (corpus / "corpus.json").read_bytes()
    run("build", EXAMPLES, "--out", corpus, "--quiet", code=3)
    assert (corpus / "corpus.json").read_bytes() == before


def test_info_names_the_files(corpus: Path) -> None:
    assert "pubmed99n0002.xml" in run("info", corpus)[0]
    files = json.loads(run("info", corpus, "--json")[0])["files"]
    assert [(f["n_articles"], f["n_deleted"], f["n_rejected"]) for f in files] == [
        (13, 0, 1),
        (7, 1, 0),
    ]


def test_get_shows_revisions_and_misses_deletions(corpus: Path) -> None:
    found = json.loads(run("get", corpus, "PMID 99000304")[0])
    assert found["links"] == [
        {"kind": "retracted_by", "id": "99000904", "source": found["links"][0]["source"]}
    ]
    out, err = run("get", corpus, "99000909", "99000101", code=1)
    assert "99000909 is not in" in err
    assert json.loads(out)["id"] == "99000101"


def test_search_and_its_filters(corpus: Path) -> None:
    def ids(*options: str) -> list[str]:
        out, _ = run("search", corpus, "brelozant migraine", "--json", *options)
        return [json.loads(line)["id"] for line in out.splitlines()]

    assert {"99000101", "99000901", "99000902"} <= set(ids())
    assert len(ids("--k", "1")) == 1
    assert "99000101" not in ids("--since", "2024")
    assert ids("--type", "preprint") == ["99000901"]
    text, _ = run("search", corpus, "brelozant preprint migraine days")
    assert "preprint; medRxiv" in text
    assert "nothing found" in run("search", corpus, "zzzz")[0]


def test_a_retracted_article_is_left_out_when_asked(corpus: Path) -> None:
    title = json.loads(run("get", corpus, "99000304")[0])["title"]

    def ids(*options: str) -> list[str]:
        out, _ = run("search", corpus, title, "--json", "--k", "15", *options)
        return [json.loads(line)["id"] for line in out.splitlines()]

    assert "99000304" in ids()
    assert set(ids()) - set(ids("--no-retracted")) == {"99000304"}


def test_evaluate_prints_measures(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("a\tbrelozant migraine preprint interim report\nb\tno such\n")
    (tmp_path / "qrels").write_text("a 0 99000901 1\nb 0 1 1\n")
    options = ("--queries", tmp_path / "q.tsv", "--qrels", tmp_path / "qrels", "--json")
    rows = [json.loads(line) for line in run("evaluate", corpus, *options)[0].splitlines()]
    assert [row["measure"] for row in rows] == ["nDCG@10", "R@100", "RR", "AP"]
    assert [row["value"] for row in rows] == [0.5] * 4, "one query of two is answered in full"
    assert {row["n"] for row in rows} == {2}


def test_what_is_no_corpus_is_one_line(tmp_path: Path) -> None:
    _, err = run("search", tmp_path, "x", code=1)
    assert err.startswith("error: ") and "ragassay corpus build" in err
    assert len(err.splitlines()) == 1
