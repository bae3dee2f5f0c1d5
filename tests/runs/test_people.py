"""People's labels as a run: what the papers' own programs compute of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path

import pytest
from calls import run
from fakes import WordEmbedder

from ragassay.errors import InputError
from ragassay.metrics.papers.rankings import average_by_system
from ragassay.records import Evaluation
from ragassay.runs.compare import compare
from ragassay.runs.people import read_labelled_answers
from ragassay.runs.pooling import add_pooled_scores

MEDAESQA = {
    ("compute_completeness_scores", "Precision"): "sentences.required",
    ("compute_completeness_scores", "Redundancy"): "sentences.unnecessary",
    ("compute_completeness_scores", "Harmfulness"): "sentences.inappropriate",
    ("compute_citation_quality", "Citation Coverage"): "citations.coverage",
    ("compute_citation_quality", "Citation Support Rate"): "citations.support",
    ("compute_citation_quality", "Citation Contradict Rate"): "citations.contradict",
    ("compute_document_relevance", "Recall"): "citations.document_recall",
    ("compute_document_relevance", "Precision"): "citations.document_precision",
}


def mean_of(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known)


def test_every_percentage_of_medaesqas_evaluation(shared: Path):
    folder = shared / "oracles" / "medaesqa"
    labelled, rejections = read_labelled_answers(folder / "input.json")
    assert rejections == ()
    found = tuple(add_pooled_scores(labelled, WordEmbedder().encode))
    wanted = json.loads((folder / "output.json").read_text())
    n = 0
    for part, systems in wanted.items():
        for system, row in systems.items():
            for name, percentage in row.items():
                values = average_by_system(found, MEDAESQA[part, name])[system].values()
                # Ours are shares of four digits, answer by answer.
                assert 100 * mean_of(values) == pytest.approx(percentage, abs=0.011), name
                n += 1
    assert n == 32


@pytest.mark.parametrize(
    ("assignments", "scores", "n_rejected"),
    [
        # Computed by its program, and released with its assignments.
        ("oracles/nuggetizer/assignments.jsonl", "scores.json", 1),
        ("data/nuggetizer/assignments-gpt4o.jsonl.gz", "scores-gpt4o.jsonl", 14),
    ],
)
def test_all_scores_of_the_nuggetizer(shared: Path, assignments, scores, n_rejected):
    file = shared / assignments
    labelled, rejections = read_labelled_answers(file)
    assert len(rejections) == n_rejected and rejections[0].field.startswith("nuggets.2")
    text = file.with_name(scores).read_text()
    rows = json.loads(text) if scores.endswith(".json") else map(json.loads, text.splitlines())
    wanted = {row["qid"]: row for row in rows}
    overall = wanted.pop("all")
    assert {e.topic for e in labelled} == wanted.keys()
    for name in ("strict_vital", "strict_all", "vital", "all"):
        values = {e.topic: e.scores[f"nuggetizer.{name}"].value for e in labelled}
        of_topics = {qid: row[f"{name}_score"] for qid, row in wanted.items()}
        assert values == pytest.approx(of_topics, abs=5e-5), name
        assert mean_of(values.values()) == pytest.approx(overall[f"{name}_score"], abs=5e-5)


def answers_file(path: Path) -> Path:
    """Two systems' answers to a question in MedAESQA's form; a sentence has no relevance."""
    sentences = {
        "M1": [("Aspirin thins blood.", "required", [("31180121", "supporting")])],
        "M2": [
            ("Aspirin thins blood.", "required", None),
            ("It is white.", None, [("31180121", "not relevant"), ("31180122", "neutral")]),
        ],
    }
    answers = {
        system: {
            "answer": " ".join(text for text, *_ in rows),
            "is_answer_accurate": "yes",
            "answer_sentences": [
                {
                    "answer_sentence_id": str(i),
                    "answer_sentence": text,
                    "answer_sentence_relevance": label,
                    "citation_assessment": cited
                    and [{"cited_pmid": p, "evidence_relation": r} for p, r in cited],
                }
                for i, (text, label, cited) in enumerate(rows, 1)
            ],
        }
        for system, rows in sentences.items()
    }
    question = {"question_id": "1", "question": "Why?", "machine_generated_answers": answers}
    path.write_text(json.dumps([question]))
    return path


def values_of(evaluations: tuple[Evaluation, ...], key: str) -> list[float | None]:
    return [e.scores[key].value for e in evaluations]


def test_worked_by_hand(tmp_path: Path):
    found, rejections = read_labelled_answers(answers_file(tmp_path / "answers.json"))
    assert rejections == ()
    assert [e.system for e in found] == ["M1", "M2"]
    assert {e.judge for e in found} == {"people"}
    # The sentence without a relevance stays in the denominator.
    assert values_of(found, "sentences.required") == [1.0, 0.5]
    assert values_of(found, "citations.support") == [1.0, 0.0]
    assert values_of(found, "citations.document_precision") == [1.0, 0.5]
    pooled = tuple(add_pooled_scores(found, WordEmbedder().encode))
    assert values_of(pooled, "citations.document_recall") == [0.5, 0.5]
    assert values_of(pooled, "sentences.recall") == [0.1, 0.1]
    assert values_of(pooled, "sentences.recall_supported") == [0.1, 0.0]


def test_what_could_not_be_read_comes_beside_the_rest(tmp_path: Path):
    path = answers_file(tmp_path / "answers.json")
    (question,) = json.loads(path.read_text())
    question["machine_generated_answers"]["M3"] = 4
    question["machine_generated_answers"]["M1"]["is_answer_accurate"] = "perhaps"
    path.write_text(json.dumps([question]))
    found, rejections = read_labelled_answers(path)
    assert [e.system for e in found] == ["M1", "M2"]
    assert [rejection.field for rejection in rejections] == [
        "machine_generated_answers.M3",
        "machine_generated_answers.M1.is_answer_accurate",
    ]
    comparison = compare([path], ["sentences.required"])
    assert comparison.rejections == rejections
    assert comparison.warnings == (f"{path}: 2 answers or labels could not be read",)
    _, errors = run("compare", path, "--score", "sentences.required", code=3)
    assert f"rejected {path}:1: machine_generated_answers.M3: found the number 4" in errors


def test_a_file_of_which_nothing_can_be_read_says_why(tmp_path: Path):
    path = tmp_path / "answers.json"
    question = {"question_id": "1", "question": "Why?", "machine_generated_answers": {"M1": 4}}
    path.write_text(json.dumps([question]))
    with pytest.raises(InputError, match=r"answers.json:1: .*M1: found the number 4"):
        read_labelled_answers(path)


def test_a_file_without_labels_is_refused(tmp_path: Path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"question": "Why?", "answer": "So.", "system": "a"}\n')
    with pytest.raises(InputError):
        read_labelled_answers(path)


def test_a_file_of_labels_may_be_of_one_system(tmp_path: Path):
    path = answers_file(tmp_path / "answers.json")
    question = json.loads(path.read_text())[0]
    del question["machine_generated_answers"]["M2"]
    path.write_text(json.dumps([question]))
    (board,) = compare([path], ["sentences.required"]).boards
    assert [(row.system, row.score.value) for row in board.rows] == [("M1", 1.0)]
