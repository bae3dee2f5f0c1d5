"""Records as files: ragassay JSON lines, and TREC 2025 BioGen task B."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from uuid import uuid4

from ragassay.errors import InputError
from ragassay.formats.biogen import read_biogen
from ragassay.formats.items import Item, parse_line
from ragassay.formats.lines import RawLine
from ragassay.formats.problems import Problem
from ragassay.formats.ragassay_jsonl import read_ragassay
from ragassay.records import Document, Record, Rejection, SentenceInput

_GZIP = ".gz"
_Row = dict[str, object]
_Reader = Callable[[Item], Record | Problem]


def write_records(records: Iterable[Record], path: Path) -> None:
    """Write records as ragassay JSON lines, packed where the name ends in `.gz`.

    `read_records` gives back equal records. The file appears whole or not at all.

    Args:
        records: May be empty; the file is then empty, which `read_records` refuses.
        path: Overwritten where it exists.

    Raises:
        InputError: two records share an id, a record could not be read back (a lone surrogate,
            a blank id, two sources with one id), or the file cannot be written.
    """
    _write(records, path, _ragassay_row, read_ragassay)


def write_biogen_2025_b(records: Iterable[Record], path: Path) -> None:
    """Write records as a TREC 2025 BioGen task B run, packed where the name ends in `.gz`.

    The format has room for the question, the sentences with their citations, and
    `metadata["answer"]`; sources, nuggets, reference and other metadata stay out. A citation that
    is a position in the sources becomes that source's id. A record without a topic goes under its
    id.

    Args:
        records: Each with an answer in sentences, and a system `team_id/run_id`.
        path: Overwritten where it exists.

    Raises:
        InputError: a record does not fit the format, or the file cannot be written.
    """
    _write(records, path, _biogen_row, lambda item: read_biogen(item, {}))


def _write(
    records: Iterable[Record], path: Path, to_row: Callable[[Record], _Row], reader: _Reader
) -> None:
    seen: set[str] = set()
    with _whole_file(path) as handle:
        for number, record in enumerate(records, start=1):
            # JSON that escapes all but ASCII: line separators and half characters cannot spoil it.
            data = json.dumps(to_row(record), ensure_ascii=True).encode("ascii")
            item = parse_line(RawLine(number, data), str(path), "")
            again = item if isinstance(item, Rejection) else reader(item)
            if isinstance(again, Rejection):
                raise _unwritable(record, again.field, again.problem, again.expected)
            if isinstance(again, Problem):
                raise _unwritable(record, again.field, again.text, again.expected)
            if again.id in seen:
                raise _unwritable(record, "id", "it came before", "an id for each record")
            seen.add(again.id)
            handle.write(data + b"\n")


@contextmanager
def _whole_file(path: Path) -> Generator[IO[bytes] | gzip.GzipFile]:
    """A file that takes its place only when all is written."""
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with part.open("xb") as handle:
            if path.name.endswith(_GZIP):
                # Without name and time: the same records give the same bytes.
                with gzip.GzipFile("", "wb", fileobj=handle, mtime=0) as packed:
                    yield packed
            else:
                yield handle
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def _unwritable(record: Record, field: str, found: str, expected: str) -> InputError:
    return InputError(f"record {record.id!r} cannot be written: {field}: {found} ({expected})")


def _ragassay_row(record: Record) -> _Row:
    return record.model_dump(exclude_defaults=True)


def _biogen_row(record: Record) -> _Row:
    team, slash, run = (record.system or "").partition("/")
    if not (team.strip() and slash and run.strip()):
        raise _unwritable(record, "system", f"found {record.system!r}", "team_id/run_id")
    if isinstance(record.answer, str):
        raise _unwritable(record, "answer", "found plain text", "sentences with citations")
    metadata: _Row = {
        "team_id": team,
        "run_id": run,
        "topic_id": record.topic or record.id,
        "question": record.question,
    }
    if "answer" in record.metadata:
        metadata["answer"] = record.metadata["answer"]
    return {
        "metadata": metadata,
        "responses": [
            {"text": sentence.text, "citations": _document_ids(sentence, record.sources)}
            for sentence in record.answer
        ],
    }


def _document_ids(sentence: SentenceInput, sources: tuple[Document, ...]) -> list[str]:
    positions = {str(i): source.id for i, source in enumerate(sources, start=1)}
    return [positions.get(citation, citation) for citation in sentence.citations]
