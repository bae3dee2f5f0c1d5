"""Invented files for every command, small enough that each call ends in a second or two."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from claims import write_claims
from conftest import ROOT
from qa_pairs import PAIRS, PAPER

from ragassay.formats.papers import write_papers
from ragassay.formats.papers.pairs import write_pairs

WORKBENCH = ROOT / "examples" / "workbench"

TEXT = "Zinc spray shortened colds from 7.1 to 5.2 days in 120 adults."
ANSWERS = tuple(
    {
        "id": f"{system}-{topic}",
        "topic": topic,
        "system": system,
        "question": question,
        "answer": f"{said} [1].",
        "reference": TEXT,
        "sources": [{"id": "1", "text": TEXT}],
        "nuggets": [{"text": "Zinc spray shortened colds", "importance": "vital"}],
    }
    for topic, question in (("t1", "Does zinc help with colds?"), ("t2", "How long is a cold?"))
    for system, said in (("alpha", "Zinc spray shortened colds"), ("beta", "A cold lasts 5.2 days"))
)
DOCUMENTS = (
    {"id": "101", "title": "Zinc spray against colds", "text": TEXT},
    {"id": "102", "title": "Salt and blood pressure", "text": "Less salt lowered pressure."},
)
LABELS = tuple(
    {"task": "rubric", "label": label, "record_id": answer["id"], "item": "cohesion"}
    for answer, label in zip(ANSWERS, "4352", strict=True)
)
CITED = tuple(
    {"task": "citation", "label": label, "record_id": answer["id"], "sentence": 1, "item": "1"}
    for answer, label in zip(ANSWERS, ("supports", "contradicts") * 2, strict=True)
)


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def write_inputs(folder: Path) -> None:
    """Write what the calls of `roads.py` read."""
    write_rows(folder / "answers.jsonl", ANSWERS)
    write_rows(folder / "one.jsonl", ANSWERS[:1])
    write_rows(folder / "documents.jsonl", DOCUMENTS)
    write_rows(folder / "labels.jsonl", LABELS)
    write_rows(folder / "cited.jsonl", CITED)
    write_rows(folder / "questions.jsonl", [{"id": "t1", "question": "Does zinc help?"}])
    write_rows(folder / "nuggets.jsonl", [{"gold": ["Zinc helps."], "nuggets": ["Zinc helps."]}])
    (folder / "queries.tsv").write_text("t1\tzinc and colds\n", encoding="utf-8")
    (folder / "qrels.txt").write_text("t1 0 101 1\nt1 0 102 0\n", encoding="utf-8")
    (folder / "items.txt").write_text("Does zinc help?\n", encoding="utf-8")
    (folder / "rag.py").write_text("def answer(question):\n    return 'Zinc helps.'\n")
    for name in ("answers.parquet", "claims.parquet"):
        (folder / name).write_bytes(b"PAR1..PAR1")
    (folder / "answers.xlsx").write_bytes(b"PK\x03\x04xl/workbook.xml")
    (folder / "built").mkdir()
    (folder / "built" / "corpus.json").write_text("{}")
    write_claims(folder / "claims.jsonl", 0, 6)
    write_claims(folder / "others.jsonl", 100, 6)
    write_papers([PAPER], folder / "papers.jsonl")
    write_pairs(PAIRS, folder / "pairs.jsonl")
    shutil.copy(ROOT / "examples" / "sciqag" / "paper.xml", folder / "paper.xml")
    for name in ("bank.jsonl", "passages.jsonl", "queries.json"):
        shutil.copy(WORKBENCH / name, folder / name)
