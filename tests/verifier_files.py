"""Small files of labelled claims and answers with invented text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from rows import write_rows

DOCUMENTS = {
    "11": "Alpha lowered pressure in a trial. Most patients were old. Beta was not given.",
    "12": "Beta raised pain in adults. The dose was low. Few patients left the trial.",
    "13": "Gamma changed nothing. The trial ended early. Nobody was harmed.",
    "14": "Delta helped children sleep. They slept an hour longer. Parents kept diaries.",
}
"""Three sentences by PMID."""


def write_corpus(path: Path) -> Path:
    return write_rows(path, ({"pmid": k, "title": "", "abstract": v} for k, v in DOCUMENTS.items()))


def cited(pmid: str, relation: str, support: object = "") -> dict[str, object]:
    return {"cited_pmid": pmid, "evidence_relation": relation, "evidence_support": support}


def sentence(text: str, *citations: Mapping[str, object]) -> dict[str, object]:
    return {"answer_sentence": text, "citation_assessment": list(citations)}


def write_medaesqa(path: Path) -> Path:
    """Write two questions in MedAESQA's format, with the fields of its paper and its program."""
    first = [
        sentence(
            "Alpha lowered pressure.",
            cited("11", "supporting", "Alpha lowered pressure in a trial."),
            cited("13", "not relevant"),
        ),
        sentence("Beta raised pain.", cited("12", "contradicting")),
        sentence("Nothing is cited here."),
    ]
    second = [
        sentence("Gamma changed nothing.", cited("13", "supporting", ["Gamma changed nothing."])),
        sentence("Delta helped children sleep.", cited("14", "neutral"), cited("99", "neutral")),
    ]
    rows = [
        {
            "question_id": name,
            "question": question,
            "machine_generated_answers": {"M1": {"answer": "", "answer_sentences": sentences}},
        }
        for name, question, sentences in (
            ("q1", "What lowers pressure?", first),
            ("q2", "What does gamma do?", second),
        )
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def write_claims(path: Path, n: int = 12) -> Path:
    """Write claims. The supported third repeats its evidence."""
    labels = ("supports", "contradicts", "neutral")
    return write_rows(
        path,
        (
            {
                "claim": f"Marker {i} rises.",
                "evidence": f"Marker {i} {'rises' if i % 3 == 0 else 'was seen'} in trial {i}.",
                "label": labels[i % 3],
            }
            for i in range(n)
        ),
    )
