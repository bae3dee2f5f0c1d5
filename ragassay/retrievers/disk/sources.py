"""Find and read the files that a corpus is built from, recognised by their names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.formats.corpus import iter_corpus
from ragassay.records import Document, Rejection

if TYPE_CHECKING:
    from ragassay.retrievers.pubmed.xml import Deletion

_PUBMED = re.compile(r"^pubmed(\d+)n(\d+)\.xml(\.gz)?$")
_XML = (".xml", ".xml.gz")
_MEDLINE = (".nbib", ".nbib.gz", ".medline", ".txt")
_JSON = (".jsonl", ".jsonl.gz", ".json", ".json.gz")


def find_sources(given: Sequence[Path]) -> list[Path]:
    """Return the files to read, each once: folders are searched, PubMed's own files in their order.

    Baseline and update files revise each other and are read by number; all other files are read
    first, in the given order.

    Raises:
        InputError: A file is missing or of unknown kind, or a folder has none.
    """
    files: list[Path] = []
    for path in given:
        files += _files_in(path) if path.is_dir() else [_checked(path)]
    unique = list({os.path.realpath(path): path for path in files}.values())
    names = [path.name for path in unique]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two files are called {name}: a corpus knows its files by their name")
    other = [path for path in unique if not pubmed_number(path.name)]
    ours = [path for path in unique if pubmed_number(path.name)]
    return [*other, *sorted(ours, key=lambda path: pubmed_number(path.name) or (0, 0))]


def pubmed_number(name: str) -> tuple[int, int] | None:
    """Return year and number of one of PubMed's files: (26, 1274) of `pubmed26n1274.xml.gz`."""
    match = _PUBMED.match(name)
    return (int(match[1]), int(match[2])) if match else None


def iter_source(path: Path) -> Iterator[Document | Deletion | Rejection]:
    """Read a file item by item, in its order."""
    if path.name.endswith(_XML):
        from ragassay.retrievers.pubmed.xml import iter_pubmed_xml

        return iter(iter_pubmed_xml(path))
    if path.name.endswith(_MEDLINE):
        from ragassay.retrievers.pubmed.medline import iter_nbib

        return iter(iter_nbib(path))
    return iter_corpus(path)


def _files_in(folder: Path) -> Iterable[Path]:
    found = sorted(path for path in folder.iterdir() if path.name.endswith((*_XML, *_MEDLINE[:2])))
    if not found:
        raise InputError(f"{folder} has no .xml, .xml.gz or .nbib file")
    return found


def _checked(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path} does not exist")
    if not path.name.endswith((*_XML, *_MEDLINE, *_JSON)):
        known = ", ".join((*_XML, *_MEDLINE, *_JSON))
        raise InputError(f"{path} is of no kind that a corpus can be built from: {known}")
    return path
