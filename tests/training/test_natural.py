"""Claims that people labelled are read and measured, on made-up files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from fakes import WordEmbedder

from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.records import Document
from training.natural import (
    NaturalClaim,
    has_other_value,
    measure,
    measure_set,
    read_expertqa,
    read_rows,
)

ANSWER = {
    "id": "one",
    "question": "Does alpha help?",
    "sources": [{"id": "1", "text": "Alpha lowers pressure."}, {"id": "2", "text": " "}],
    "claims": [
        {"claim": "Alpha lowers pressure [1, 2].", "markers": [1, 2], "support": "Complete"},
        {"claim": "Alpha cures all [1].", "markers": ["1"], "support": "Incomplete"},
        {"claim": "Beta helps [2].", "markers": ["2"], "support": "Complete"},
        {"claim": "Gamma helps [1].", "markers": ["1"], "support": "Unsure"},
    ],
}


class Sure:
    name, digest, bounds = "sure", "", ()

    def predict_probabilities(self, pairs):
        return np.array([[0.7, 0.2, 0.1] for _ in pairs])


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "expertqa"
    folder.mkdir(parents=True)
    with gzip.open(folder / "dev.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(ANSWER) + "\n")
    return tmp_path


def test_claims_with_a_label_and_a_source_with_a_text_are_read(shared: Path):
    found = list(read_expertqa(shared))
    assert [(one.text, one.label) for one in found] == [
        ("Alpha lowers pressure .", "supports"),
        ("Alpha cures all .", "incomplete"),
    ]
    assert [source.id for source in found[0].sources] == ["1"]
    assert {one.group for one in found} == {ANSWER["question"]}


def test_a_claim_is_measured_with_each_of_its_sources():
    texts = ["Beta is old. Alpha does not lower pressure.", "Alpha does lower pressure."]
    sources = tuple(Document(id=str(n), text=text) for n, text in enumerate(texts))
    claim = NaturalClaim("c", "q", "Alpha does lower pressure.", sources[:1], "supports")
    verifier = EncoderVerifier(Sure(), WordEmbedder(), by_rule=True)  # type: ignore[arg-type]
    (row,) = measure(claim, verifier, WordEmbedder())  # type: ignore[arg-type]
    # A negation differs: the verifier leans to support, and does not say so.
    assert (row.verdict, row.is_asserted, row.turned) == ("supports", False, True)
    assert (row.supports, row.words) == (0.7, 1.0)
    same = NaturalClaim("c", "q", "Alpha does lower pressure.", sources[1:], "supports")
    (row,) = measure(same, verifier, WordEmbedder())  # type: ignore[arg-type]
    assert (row.is_asserted, row.turned) == (True, False)
    assert row.cosine == pytest.approx(1.0)


def test_what_is_measured_already_is_not_measured_again(shared: Path):
    verifier = EncoderVerifier(Sure(), WordEmbedder(), by_rule=True)  # type: ignore[arg-type]
    measure_set(shared, "expertqa", shared, verifier, WordEmbedder())  # type: ignore[arg-type]
    first = read_rows(shared, "expertqa")
    assert [[row.label for row in rows] for rows in first] == [["supports"], ["incomplete"]]
    path = shared / "expertqa.jsonl"
    path.write_text(path.read_text("utf-8").splitlines(keepends=True)[0], encoding="utf-8")
    measure_set(shared, "expertqa", shared, verifier, WordEmbedder())  # type: ignore[arg-type]
    assert read_rows(shared, "expertqa") == first


@pytest.mark.parametrize(("number", "is_other"), [("2.9", True), ("1.9", False)])
def test_another_value_of_a_number_is_found_by_rule(number, is_other):
    claim = LabelledClaim(
        claim=f"Alpha shortened the stay by {number} days.",
        title="",
        sentences=("Alpha shortened the stay by 1.9 days.",),
        rationale=(),
        label=1,
        group="g",
    )
    assert has_other_value(claim) == is_other
