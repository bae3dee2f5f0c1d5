"""Papers that are damaged, malicious or not what they claim to be."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from case_tables import each_case

from ragassay.errors import InputError
from ragassay.formats.papers import files, jats, read_papers

GOOD = "<article><body><p>Sound text.</p></body></article>"
BOMB = '<!DOCTYPE article [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


def only_problem(path: Path) -> str:
    found = read_papers(path)
    assert found.papers == ()
    (rejection,) = found.rejections
    assert rejection.file == str(path)
    assert rejection.expected
    rejection.model_dump_json().encode("utf-8")
    return rejection.problem


@pytest.mark.parametrize("inner", ["&i;", "no reference"])
def test_an_entity_bomb_is_refused_without_going_off(put, inner):
    xml = f"{BOMB}]><article><body><p>{inner}</p></body></article>"
    # libxml2 itself stops at a reference to it.
    problem = only_problem(put("bomb.xml", xml))
    assert "declares its own entities" in problem or "entity amplification" in problem


def test_an_external_entity_is_not_fetched(put):
    secret = put("secret.txt", "the secret")
    for system in (secret.as_uri(), "http://127.0.0.1:9/x"):
        xml = f'<!DOCTYPE article [<!ENTITY x SYSTEM "{system}">]>'
        xml += "<article><body><p>&x;</p></body></article>"
        path = put("external.xml", xml)
        assert "declares its own entities" in only_problem(path)
        assert "the secret" not in str(read_papers(path))


def test_an_external_dtd_is_not_loaded_but_names_of_characters_are_known(put):
    dtd = '<!DOCTYPE article SYSTEM "http://127.0.0.1:9/jats.dtd">'
    xml = f"{dtd}<article><body><p>&alpha;-helix &lt; 5&nbsp;nm<b/>&mu;</p></body></article>"
    (paper,) = read_papers(put("a.xml", xml)).papers
    assert paper.text == "\u03b1-helix < 5\u00a0nm\u03bc"
    xml = f"{dtd}<set><article><body><p>&nonsense;</p></body></article>{GOOD}</set>"
    found = read_papers(put("b.xml", xml))
    assert [paper.text for paper in found.papers] == ["Sound text."]
    assert "&nonsense;" in found.rejections[0].problem


@pytest.mark.parametrize(
    ("xml", "problem"),
    [
        ("<article><body><p>cut", "not XML from here on"),
        ("<article><body><p>a</b></p></body></article>", "not XML from here on"),
        ("<html><body>Page not found</body></html>", 'root element is "html" with the text "Page'),
        ('<set><Reply error="gone"/></set>', 'root element is "set"'),
        ("<article/>", "neither an abstract nor a body"),
        ("<article><body><p> </p></body></article>", "neither an abstract nor a body"),
        ("<article><body>" + "<sec>" * 400, "not XML from here on"),
    ],
)
def test_bad_xml_is_named(put, xml, problem):
    assert problem in only_problem(put("a.xml", xml))


def test_what_comes_before_the_damage_is_read(put):
    found = read_papers(put("a.xml", f"<set>\n{GOOD}\n<article><bo"))
    assert [paper.text for paper in found.papers] == ["Sound text."]
    assert found.rejections[0].line == 3


def test_an_article_without_an_end_does_not_fill_the_memory(put, monkeypatch):
    monkeypatch.setattr(jats, "MAX_ARTICLE_BYTES", 200_000)
    xml = "<article><body>" + "<p>word</p>" * 60_000
    assert "no article ends within" in only_problem(put("a.xml", xml))


def test_a_truncated_gzip_file_gives_what_it_holds(put):
    whole = gzip.compress(("<set>" + GOOD * 3 + "<!--" + "x" * 50_000).encode())
    found = read_papers(put("a.xml.gz", whole[:-10]))
    assert "truncated" in found.rejections[-1].problem


@each_case(
    ("data", "problem"),
    [
        (b"", "the file is empty"),
        (b" \n ", "the file is empty"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (b"\x1f\x8b\x08\x00 no gzip", "truncated or damaged"),
        (b"PK\x03\x04\x00\x00", "the file is not text"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "the file is not text"),
        ("5 \u00b0C on a line\n".encode("latin-1"), "not UTF-8: byte 0xb0 on line 1"),
        (b"\xff\xfea", "not UTF-16"),
        (b"\xef\xbb\xbfA Title\n\nKeywords: a, b\n", "no text except a title"),
        (b'{"doi": "10.1/a"', "not JSON"),
        (b'{"doi": "10.1/a", "abstract": "A"}', "an object with the fields"),
        (b'{"doi": "10.1/a", "txt": " "}', "the paper has no text"),
        (b'{"id": "a", "sections": [{"title": "T"}]}', "the field is missing"),
        (b'{"id": "a", "sections": [{"text": "T", "kind": "footer"}]}', 'the text "footer"'),
        (b'{"id": "a", "sections": []}', "the paper has no text"),
        (b'{"id": "a", "txt": "A\\ud800"}', "lone surrogate"),
        (b'{"id": "a", "txt": 3}', "the number 3"),
    ],
)
def test_no_paper_is_named(put, data, problem):
    assert problem in only_problem(put("a.txt", data))


def test_a_file_that_is_far_too_long_is_not_held(put, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1_000)
    assert "more than 1,000 bytes" in only_problem(put("a.txt", gzip.compress(b"word " * 5_000)))


def test_a_missing_path_and_an_empty_folder_are_errors(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_papers(tmp_path / "nowhere")
    (tmp_path / ".hidden").write_text("Hidden.")
    with pytest.raises(InputError, match="a folder without files"):
        read_papers(tmp_path)


def test_a_folder_goes_on_after_what_it_cannot_read(put, tmp_path):
    put("b/good.xml", GOOD)
    put("a/broken.xml", "<article>")
    put("c/good.txt", "Plain text is a paper too.")
    put("c/again.txt", '{"id": "c/good", "txt": "The same id."}')
    put("c/.cache/x.txt", "Hidden.")
    found = read_papers(tmp_path)
    assert [paper.id for paper in found.papers] == ["b/good", "c/good"]
    assert [Path(one.file).name for one in found.rejections] == ["broken.xml", "good.txt"]
    assert 'the paper "c/good" is already on line 1' in found.rejections[1].problem
