"""A file in another encoding is named as such."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.errors import InputError
from ragassay.formats import read_records
from ragassay.formats.files import guess_encoding

LINE = '{"id": "1", "question": "Na\u00efve \u2013 why?", "answer": "\u201cSo\u201d."}'


@each_case(
    ("text", "encoding", "name"),
    [
        ("na\u00efve", "cp1252", "Windows-1252"),
        ("\u201cyes\u201d \u2013 5 \u00b5g", "cp1252", "Windows-1252"),
        ("M\u00fcller", "latin-1", "Windows-1252"),
        ("plain", "utf-16", "UTF-16"),
        ("plain", "utf-16-le", "UTF-16"),
        ("plain", "utf-16-be", "UTF-16"),
        ("plain", "utf-32", "UTF-32"),
        ("plain", "ascii", None),
        ("\x00\x01\x02\u00e9", "latin-1", None),
        ("\x81\x8d", "latin-1", None),
        ("", "ascii", None),
    ],
)
def test_an_encoding_is_guessed(text, encoding, name):
    assert guess_encoding(text.encode(encoding)) == name


def test_a_line_in_windows_1252_is_named_and_the_others_are_read(write):
    good = b'{"id": "2", "question": "Q?", "answer": "A."}'
    found = read_records(write(good, LINE.encode("cp1252")))
    assert len(found.records) == 1
    (rejection,) = found.rejections
    assert rejection.line == 2
    assert "it looks like Windows-1252: save it as UTF-8" in rejection.problem


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_file_in_utf_16_or_32_is_named(encoding, write):
    path = write(LINE.encode(encoding), end=b"")
    with pytest.raises(InputError, match=r"UTF-(16|32)"):
        read_records(path)
