"""XML whose entities expand, point outside or are only named."""

from __future__ import annotations

import gzip
import http.server
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile.hostile_files import laughs, outcome

from ragassay.errors import InputError
from ragassay.formats import read_corpus
from ragassay.formats.papers.files import read_papers
from ragassay.retrievers.pubmed.xml import iter_pubmed_xml, read_efetch

GOOD = (
    "<PubmedArticle><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>T</ArticleTitle>"
    "</Article></MedlineCitation></PubmedArticle>"
)
SECRET = "a secret of this machine"


class Asked(http.server.BaseHTTPRequestHandler):
    """Counts who asks."""

    n = 0

    def do_GET(self) -> None:
        type(self).n += 1
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def outside() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Asked) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/x"
        server.shutdown()
    assert Asked.n == 0


@pytest.mark.parametrize("kind", ["file", "http"])
@pytest.mark.parametrize("declared", ["entity", "parameter", "dtd", "include"])
@pytest.mark.parametrize("root", ["PubmedArticleSet", "article"])
def test_nothing_outside_is_read_or_asked(kind, declared, root, outside, tmp_path):
    (tmp_path / "secret").write_text(SECRET)
    target = outside if kind == "http" else (tmp_path / "secret").as_uri()
    body, inner = "&e;", ""
    if declared == "entity":
        inner = f'[<!ENTITY e SYSTEM "{target}">]'
    elif declared == "parameter":
        inner = f'[<!ENTITY % p SYSTEM "{target}"> %p;]'
    elif declared == "dtd":
        inner = f'SYSTEM "{target}"'
    else:
        body = f'<i:include xmlns:i="http://www.w3.org/2001/XInclude" href="{target}"/>'
    article = GOOD.replace(">T<", f">T{body}<") if root != "article" else f"<p>{body}</p>"
    path = tmp_path / "a.xml"
    path.write_text(f"<!DOCTYPE {root} {inner}><{root}>{article}</{root}>")
    for read in (lambda file: list(iter_pubmed_xml(file)), read_papers):
        result, said = outcome(read, path)
        assert SECRET not in f"{result} {said}"


@pytest.mark.parametrize("depth", [3, 9, 40])
def test_entities_do_not_expand(depth, tmp_path):
    tracemalloc.start()
    (found,) = read_efetch(laughs(depth))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "entities" in found.problem or "not XML" in found.problem
    assert peak < 5_000_000
    path = tmp_path / "a.xml"
    path.write_bytes(laughs(depth, "article"))
    said = read_papers(path).rejections[0].problem
    assert "entities" in said or "Maximum entity" in said


def test_one_long_entity_that_is_named_often_does_not_expand():
    named = "&e;" * 50_000
    text = f'<!DOCTYPE x [<!ENTITY e "{"ha" * 50_000}">]><PubmedArticleSet a="{named}">'
    found = read_efetch(f"{text}{GOOD}</PubmedArticleSet>".encode())
    assert len(found) == 1


def test_a_million_levels_are_refused(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(f"<PubmedArticleSet>{GOOD}{'<a>' * 1_000_000}")
    first, last = iter_pubmed_xml(path)
    assert first.id == "1"
    assert "not XML" in last.problem


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_xml_of_another_encoding_is_read(encoding, tmp_path):
    path = tmp_path / "a.xml"
    path.write_bytes(f"<PubmedArticleSet>{GOOD}</PubmedArticleSet>".encode(encoding))
    assert [one.id for one in iter_pubmed_xml(path)] == ["1"]


def test_a_bomb_of_xml_is_refused(tmp_path):
    path = tmp_path / "a.xml.gz"
    text = f"<PubmedArticleSet>{GOOD}{'<a/>' * 5_000_000}"
    path.write_bytes(gzip.compress(text.encode()))
    first, last = iter_pubmed_xml(path)
    assert first.id == "1"
    assert "decompression bomb" in last.problem


def test_a_folder_of_papers_reads_on_after_each_hostile_file(tmp_path):
    (tmp_path / "a.xml").write_bytes(laughs(9, "article"))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"1" * 20_000_000))
    (tmp_path / "c.pdf").write_bytes(b"%PDF-1.7 no more")
    (tmp_path / "d.txt").write_text("A sound text about a drug.")
    (tmp_path / "e.json").write_bytes(b'{"a":' * 100_000)
    found = read_papers(tmp_path)
    assert [paper.id for paper in found.papers] == ["d"]
    assert [Path(one.file).name for one in found.rejections] == [
        *("a.xml", "b.txt.gz", "c.pdf", "e.json")
    ]


def test_a_corpus_of_nothing_but_a_bomb_is_an_error(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"1" * 20_000_000))
    with pytest.raises(InputError, match="decompression bomb"):
        read_corpus(path)
