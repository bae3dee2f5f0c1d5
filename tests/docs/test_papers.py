"""The pages of definitions: each says whether it is verified or how it deviates."""

from __future__ import annotations

import re

from conftest import ROOT

PAGES = [ROOT / "docs" / "papers.md", *sorted((ROOT / "docs" / "papers").glob("*.md"))]
TABLES = re.findall(
    r"^\| definition \|.*\n\|[-| ]+\n((?:\|.*\n)+)",
    "\n".join(page.read_text(encoding="utf-8") for page in PAGES),
    re.MULTILINE,
)
DEFINITIONS = [
    line.strip("| ").split(" | ") for table in TABLES for line in table.strip().splitlines()
]


def test_each_definition_is_verified_or_deviates() -> None:
    assert len(DEFINITIONS) > 50
    for row in DEFINITIONS:
        assert len(row) == 3, row
        assert re.match(r"(verified|deviates): \S", row[2]), row


def test_the_tests_that_verify_exist() -> None:
    named = [name for row in DEFINITIONS for name in re.findall(r"`(tests/[^`]+)`", row[2])]
    assert named
    for name in named:
        assert "def test" in (ROOT / name).read_text(encoding="utf-8"), name


def test_the_readme_says_what_is_not_yet_there_for_correctness() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (row,) = [line for line in readme.splitlines() if line.startswith("| BioACE |")]
    assert "correctness classifier" in row.strip("| ").split(" | ")[2]
