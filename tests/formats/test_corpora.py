"""Documents of a corpus."""

from __future__ import annotations

from ragassay.formats import read_corpus
from ragassay.records import Document


def test_a_corpus_takes_the_pmid_as_id_where_there_is_one(write):
    result = read_corpus(
        write(
            {"id": "abs-0", "pmid": None, "title": "T", "abstract": "A"},
            {"id": "abs-1", "pmid": 123, "title": None, "abstract": "B"},
            {"docid": "d", "contents": "C", "url": "x"},
            {"id": "e", "text": "D"},
        )
    )
    assert result.rejections == ()
    assert result.documents == (
        Document(id="abs-0", text="A", title="T"),
        Document(id="123", text="B"),
        Document(id="d", text="C"),
        Document(id="e", text="D"),
    )


def test_bad_lines_of_a_corpus_are_rejected(write):
    good, cited = {"id": "1", "text": "T"}, {"pmid": "2", "text": "T"}
    bad = ({"id": "2"}, {"text": "T"}, "{", {"id": " ", "text": ""}, cited)
    result = read_corpus(write(good, good, cited, *bad))
    assert [one.id for one in result.documents] == ["1", "2"]
    assert [(one.line, one.field) for one in result.rejections] == [
        *[(2, "id"), (4, "abstract"), (5, "pmid"), (6, ""), (7, "id"), (8, "pmid")]
    ]
    assert '"abstract" or "text" or "contents"' in result.rejections[1].expected
    assert "line 1" in result.rejections[0].problem
