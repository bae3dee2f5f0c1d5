"""Numbers that no source has, and that are yet no invalid citations."""

from __future__ import annotations

from ragassay.records import Document
from ragassay.text.citation_resolver import CitationResolver
from ragassay.text.citation_styles import Target

LISTED = Document(id="a", text="1. Drug A helps.\n\n2. Drug B harms.")
RULED = Document(id="a", text="Drug A helps.\n\n---\n\nDrug B harms.")
PLAIN = Document(id="a", text="Drug A helps 2. of all.")


def is_unresolved(source: Document, number: str) -> bool:
    (found,) = CitationResolver((source,)).resolve_targets(
        [Target("number", number, f"[{number}]")]
    )
    assert found.document is None
    return found.is_unresolved


def test_a_number_beside_one_source_that_may_be_several_is_unresolved():
    assert is_unresolved(LISTED, "2")
    assert is_unresolved(RULED, "2")
    assert not is_unresolved(LISTED, "3")
    assert not is_unresolved(PLAIN, "2")


def test_a_year_in_brackets_is_unresolved():
    assert is_unresolved(PLAIN, "2010")
    assert not is_unresolved(PLAIN, "210")
