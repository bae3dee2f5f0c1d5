"""Every reader of files, files that are hostile, and what a user needs of each."""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from ragassay import formats
from ragassay.errors import InputError
from ragassay.formats.claims import iter_claims
from ragassay.formats.exam_queries import read_exam_queries
from ragassay.formats.medaesqa import read_clusters, read_evidence
from ragassay.formats.papers.files import read_papers
from ragassay.formats.papers.pairs import read_pairs
from ragassay.formats.retrieval import read_queries
from ragassay.formats.reviews import read_reviews
from ragassay.formats.topics import read_topics
from ragassay.formats.workbench.paragraphs import iter_responses
from ragassay.formats.yescieval import read_questions
from ragassay.optimizers.finetuning.claims import read_claims
from ragassay.records import Rejection
from ragassay.retrievers.disk.corpus import iter_source
from ragassay.retrievers.pubmed.medline import iter_nbib
from ragassay.retrievers.pubmed.xml import iter_pubmed_xml
from ragassay.runs.nugget_matching import read_match_file
from ragassay.workbench.bank_import import read_bank_import
from ragassay.workbench.cover import read_official
from ragassay.workbench.passages import read_passages

GOOD = '{"id": "good", "question": "Does it?", "answer": "It does [1].", "sources": ["It does."]}'


def _listed(read: Callable[[Path], Iterable[object]]) -> Callable[[Path], object]:
    return lambda path: list(read(path))


READERS: dict[str, Callable[[Path], object]] = {
    "answers": formats.read_records,
    "assignments": formats.read_assignments,
    "bank": formats.read_test_banks,
    "bank to import": read_bank_import,
    "claims": _listed(iter_claims),
    "claims to learn": read_claims,
    "clusters": read_clusters,
    "corpus": formats.read_corpus,
    "evidence": read_evidence,
    "exam queries": read_exam_queries,
    "graded": formats.read_graded_paragraphs,
    "labels": formats.read_labels,
    "matches": read_match_file,
    "medline": _listed(iter_nbib),
    "nuggets": formats.read_nugget_banks,
    "official": read_official,
    "pairs": read_pairs,
    "papers": read_papers,
    "passages": lambda path: read_passages([path]),
    "pubmed": _listed(iter_pubmed_xml),
    "qrels": formats.read_qrels,
    "queries": read_queries,
    "questions": read_questions,
    "responses": _listed(iter_responses),
    "reviews": read_reviews,
    "run": formats.read_run,
    "source": _listed(iter_source),
    "topics": read_topics,
}


def rejections_of(result: object) -> list[Rejection]:
    """Return the rejections in what a reader returned, whatever its form."""
    if isinstance(result, Rejection):
        return [result]
    if hasattr(result, "rejections"):
        return list(result.rejections)
    if isinstance(result, list | tuple):
        return [one for part in result for one in rejections_of(part)]
    return []


def outcome(read: Callable[[Path], object], path: Path) -> tuple[object, str]:
    """Return what a reader returned and what it says is wrong; other errors than ours get out."""
    try:
        result = read(path)
    except InputError as error:
        assert str(error)
        return None, str(error)
    found = rejections_of(result)
    for one in found:
        assert one.problem and "Traceback" not in one.problem
        one.model_dump_json().encode("utf-8")
    return result, "; ".join(one.problem for one in found)


def laughs(depth: int, root: str = "PubmedArticleSet") -> bytes:
    """Return XML whose entities expand to 10 to the power of `depth` characters."""
    entities = "".join(
        f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha"}">' for n in range(depth + 1)
    )
    return f'<!DOCTYPE x [{entities}]><{root} a="&e{depth};">&e{depth};</{root}>'.encode()


def workbook(n_bytes: int = 0, **parts: bytes) -> bytes:
    """Return a packed workbook with some parts, the last of which says that it has `n_bytes`."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/workbook.xml", "<workbook/>")
        for name, part in parts.items():
            packed.writestr(name, part)
        packed.filelist[-1].file_size = n_bytes or packed.filelist[-1].file_size
    return data.getvalue()


def _yaml_laughs() -> bytes:
    rows = ["a0: &a0 [ha, ha]", *(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]" for n in range(1, 10))]
    return "\n".join(rows).encode()


def _lines(*objects: object) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in objects)


def _nested(depth: int, name: str) -> object:
    value: object = "text of a source"
    for _ in range(depth):
        value = {name: [value]}
    return value


JUNK = random.Random(27).randbytes(3_000)

CONTENTS: dict[str, bytes] = {
    "empty": b"",
    "blank": b"\n \n\t\n",
    "bom": b"\xef\xbb\xbf",
    "junk": JUNK,
    "nul": b"\0" * 5_000,
    "nul in text": b'{"id": "1", "question": "Q\\u0000", "answer": "A", "text": "\\u0000"}\n',
    "utf-16": GOOD.encode("utf-16"),
    "utf-32": GOOD.encode("utf-32"),
    "latin-1": b'{"id": "1", "question": "\xe9", "answer": "A"}\n',
    "surrogate": b'{"id": "\\ud800", "question": "\\udfff", "answer": "\\ud800"}\n',
    "nan": b'{"id": "1", "question": "Q", "answer": NaN}\n{"score": -Infinity}\n',
    "digits": b'{"id": ' + b"9" * 5_000 + b', "question": "Q", "answer": "A"}\n',
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "whole deep lists": b"[" * 100_000 + b"]" * 100_000,
    "numbers": b"42\n",
    "null": b"null",
    "text": b'"text"',
    "list": b"[1, 2, [3]]",
    "object": b'{"a": {"b": 1}}',
    "wrong types": _lines(
        {"id": {}, "question": [], "answer": {"a": 1}, "text": 7, "nuggets": 5, "items": "x"},
        {"query_id": 1, "items": [7], "responses": {}, "results": [[]], "topics": 3},
    ),
    "wrong rows": _lines(["q", [{"paragraph_id": "../../x", "text": 5}]], ["q", 7], [[], []]),
    "wrong exports": _lines(
        {"inputs": [[[]]], "outputs": {"output": {"output": {"output": {}}}}},
        {"inputs": {"a": 1}, "outputs": {"b": [None]}, "runs": [7, {"outputs": 3}]},
        {"results": {"results": [{"vars": 3}, 4]}},
        {"item": {}, "sample": {"output": [{"role": "assistant", "content": {}}]}},
        {"attributes.input.value": [], "context.trace_id": {}, "parent_id": []},
        {"trace": {"input": "", "output": 7}, "observations": [[], {"type": {}}]},
    ),
    "wrong sources": _lines(
        {"query": "Q", "output": "A", "context": _nested(60, "documents")},
        {"query": "Q", "output": "A", "context": {"ids": 3, "documents": [[3, None, {}]]}},
        {"query": "Q", "output": "A", "passages": [{"id": {}, "text": "T"}, [[], 1]]},
        {"query": {}, "output": [], "passages": "[" * 5_000},
    ),
    "windows-1252": "id,query,output\n1,na\xefve?,\x93Yes\x94\n".encode("latin-1"),
    "utf-16 without a mark": GOOD.encode("utf-16-le"),
    "open quote": b'id,question,answer\n1,"Q,A\n' + b"x,y,z\n" * 100,
    "open quote in the header": b'id,question,"answer\n1,Q,A\n',
    "same columns": b"id,id,question,answer\n1,2,Q,A\n",
    "cut gzip": gzip.compress(JUNK, mtime=0)[:-20],
    "no gzip": b"\x1f\x8b\x08\x00 no gzip",
    "bomb": gzip.compress(b"1" * 20_000_000, mtime=0),
    "bomb of zeros": gzip.compress(b"\0" * 20_000_000, mtime=0),
    "bomb in a bomb": gzip.compress(gzip.compress(b"1" * 20_000_000)),
    "laughs": laughs(9),
    "laughs of an article": laughs(9, "article"),
    "yaml laughs": _yaml_laughs(),
    "yaml tag": b"!!python/object/apply:os.system ['touch pwned']\n",
    "outside entity": b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    b"<article><front/><body><p>&e;</p></body></article>",
    "outside dtd": b'<!DOCTYPE article SYSTEM "http://127.0.0.1:9/x.dtd"><article>&e;</article>',
    "cut xml": b"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID>",
    "pdf": b"%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 1 0 R>>endobj\ntrailer<</Root 1 0 R>>",
    "pdf that lies": b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Count 999999999/Kids[2 0 R 2 0 R]>>endobj\n"
    b"trailer<</Root 1 0 R/Size 999999999>>\nstartxref\n99999999999\n%%EOF",
    "no zip": b"PK\x03\x04" + JUNK,
    "no workbook": workbook(),
    "workbook that laughs": workbook(**{"xl/sharedStrings.xml": laughs(9, "sst")}),
    "bomb of a workbook": workbook(2**31, **{"xl/sharedStrings.xml": b"1"}),
    "no parquet": b"PAR1" + JUNK + b"PAR1",
}
"""What a file may hold; no reader may take it for something, and none may fail of it."""
