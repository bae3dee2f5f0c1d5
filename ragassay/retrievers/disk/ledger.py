"""The ledger of a corpus' source files, which lets a killed build continue."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from ragassay.errors import CorpusError, InputError
from ragassay.models.weights import sha256_of
from ragassay.records import Frozen
from ragassay.retrievers.disk.sources import pubmed_number
from ragassay.storage import storing

LEDGER = "corpus.json"
VERSION = 1


class SourceFile(Frozen):
    """A file that was read, or is being read, into the corpus.

    Attributes:
        name: Its name, without folders.
        sha256: Hash of its bytes.
        n_items: Articles, deletions and rejections that are committed.
        n_articles: Articles among them, new ones and revisions.
        n_deleted: Deletions among them.
        n_rejected: Items that could not be read.
        is_complete: Whether its end was reached.
    """

    name: str
    sha256: str
    n_items: int = Field(default=0, ge=0)
    n_articles: int = Field(default=0, ge=0)
    n_deleted: int = Field(default=0, ge=0)
    n_rejected: int = Field(default=0, ge=0)
    is_complete: bool = False


class Ledger(Frozen):
    """The files of a corpus, in the order in which they were added."""

    version: int = VERSION
    files: tuple[SourceFile, ...] = ()

    def with_file(self, file: SourceFile) -> Ledger:
        """Return the ledger with a file's state, in its place or at the end."""
        names = [known.name for known in self.files]
        if file.name not in names:
            return self.model_copy(update={"files": (*self.files, file)})
        files = tuple(file if known.name == file.name else known for known in self.files)
        return self.model_copy(update={"files": files})

    def find(self, name: str) -> SourceFile | None:
        """Return the file of this name, or None."""
        return next((file for file in self.files if file.name == name), None)


def read_ledger(folder: Path) -> Ledger:
    """Read the ledger of a corpus.

    Raises:
        CorpusError: There is none, or it cannot be read.
    """
    path = folder / LEDGER
    try:
        ledger = Ledger.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise CorpusError(
            f"{folder} is not a corpus: it has no {LEDGER}; build one with `ragassay corpus build`"
        ) from None
    except (OSError, ValidationError) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from error
    if ledger.version != VERSION:
        raise CorpusError(f"{path} is of version {ledger.version}; rebuild the corpus")
    return ledger


def write_ledger(folder: Path, ledger: Ledger) -> None:
    """Replace the ledger in one step."""
    partial = folder / f".{LEDGER}.partial"
    with storing(partial), partial.open("w", encoding="utf-8") as file:
        file.write(ledger.model_dump_json(indent=2))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / LEDGER)


def stamp_of(path: Path, ledger: Ledger) -> tuple[Path, SourceFile] | None:
    """Return a file to read with its entry in the ledger; None where the corpus has all of it.

    Raises:
        InputError: The corpus has another file of this name.
    """
    known, digest = ledger.find(path.name), sha256_of(path)
    if known is None:
        return path, SourceFile(name=path.name, sha256=digest)
    if known.sha256 != digest:
        raise InputError(
            f"{path} differs from the file of this name that is in the corpus; "
            "give it another name, or rebuild the corpus"
        )
    return None if known.is_complete else (path, known)


def check_order(new: Sequence[SourceFile], ledger: Ledger) -> None:
    """Check the order of PubMed's files: an older one would undo the revisions of a newer one.

    Raises:
        InputError: A file is older than one that the corpus has.
    """
    done = [n for file in ledger.files if file.is_complete and (n := pubmed_number(file.name))]
    for file in new:
        number = pubmed_number(file.name)
        if number and done and number < max(done):
            raise InputError(
                f"{file.name} is older than files that are in the corpus, which may revise it; "
                "rebuild the corpus with all of them"
            )


def counted(file: SourceFile, counts: Counter[str]) -> SourceFile:
    """Return a file's entry with further items counted, by the names of its fields."""
    added = {name: getattr(file, name) + n for name, n in counts.items()}
    return file.model_copy(update={**added, "n_items": file.n_items + counts.total()})
