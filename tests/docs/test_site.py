"""The site is built without a warning, and asks nobody else for anything."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from handbook import module_of

import ragassay
from ragassay import testing
from ragassay.extras import EXTRAS

LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=\"?(https?://[^\s\">]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = ["-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_every_page_of_the_docs_is_in_the_site(site: Path):
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("")
        assert (site / name / "index.html").exists(), page
    for name in ("", "notebook", "commands", "reference", "contributing", "changelog"):
        assert (site / name / "index.html").exists(), name
    for page in (ROOT / "examples").glob("*/README.md"):
        assert (site / page.relative_to(ROOT).parent / "index.html").exists(), page


def test_no_page_loads_anything_from_elsewhere(site: Path):
    loaded = {
        (page.name, address)
        for page in site.rglob("*.html")
        for address in LOADED.findall(page.read_text(encoding="utf-8"))
    }
    assert loaded == set()


def test_the_references_name_all_that_there_is(site: Path):
    text = (site / "reference" / "index.html").read_text(encoding="utf-8")
    for name in ragassay.__all__:
        assert re.search(rf'id="ragassay(\.\w+)+\.{name}"', text), name
    for name in testing.__all__:
        assert f'id="ragassay.testing.{name}"' in text, name
    shown = (site / "commands" / "index.html").read_text(encoding="utf-8")
    for command in ("ragassay demo", "ragassay corpus build", "ragassay evaluate"):
        assert f"<code>{command}</code>" in shown
    assert "--fail-under" in shown


def test_each_extra_stands_in_the_table():
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert named == [*sorted(EXTRAS), "all"]


def test_the_notebook_page_links_to_the_notebook(site: Path):
    assert (site / "examples" / "notebook" / "first_run.ipynb").exists()
    assert "first_run.ipynb" in (site / "notebook" / "index.html").read_text(encoding="utf-8")


def test_the_transcript_replaces_what_commands_print_and_nothing_else():
    page = (
        "Text.\n\n<!-- file: a.txt -->\n```json\n{}\n```\n"
        "<!-- shortened: 2, 1 -->\n```console\n$ one\nold\n```\n"
        "```console\n$ two \\\n    --on\nold\n$ three\n```\n```sh\nkept\n```\n"
    )
    said = {"one": "1\n2\n3\n4", "two \\\n    --on": "2", "three": ""}
    written: dict[str, str] = {}
    renewed = module_of(ROOT / "docs" / "transcript.py").renewed
    assert renewed(page, said.__getitem__, written.__setitem__) == (
        "Text.\n\n<!-- file: a.txt -->\n```json\n{}\n```\n"
        "<!-- shortened: 2, 1 -->\n```console\n$ one\n1\n...\n4\n```\n"
        "```console\n$ two \\\n    --on\n2\n$ three\n```\n```sh\nkept\n```\n"
    )
    assert written == {"a.txt": "{}\n"}


def test_the_transcript_shows_no_place_of_a_machine():
    module = module_of(ROOT / "docs" / "transcript.py")
    folder = Path("/tmp/x/first")
    text = "/tmp/x/first/run 0:01:02 /opt/v/ragassay/sample/README.md http://127.0.0.1:4321/v1 \n"
    assert module.made_alike(text, folder) == (
        "run 0:00:00 .venv/lib/python3.11/site-packages/ragassay/sample/README.md "
        "http://127.0.0.1:PORT/v1"
    )
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in module.PAGES]
    assert not [page for page in pages if re.search(r"/(?:tmp|home|root|work)/", page)]
    assert json.loads(re.findall(r"<!-- file: .*\n```json\n(.*)\n```", pages[0])[0])["response"]
