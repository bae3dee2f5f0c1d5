"""Similarity of systems by their texts."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from functools import partial

import calls
import pytest
from rows import read_csv, write_rows

from ragassay.errors import InputError
from ragassay.studies.similarity import measure_similarity, write_similarity

call = partial(calls.call, COLUMNS="100")
TEXTS = {
    ("q1", "a"): "the cat sat on the mat",
    ("q1", "b"): "the cat lay on the mat",
    ("q2", "a"): "aspirin lowers the risk",
    ("q2", "b"): "aspirin lowers it",
}


def rows_of(texts, **fields):
    return [
        {"id": f"{topic}-{system}", "question": f"{topic}?", "topic": topic, "answer": text}
        | {"system": system}
        | fields
        for (topic, system), text in texts.items()
    ]


def compared(path, texts, metrics, **options):
    return measure_similarity(write_rows(path, rows_of(texts)), metrics, **options).matrices


@pytest.fixture
def answers(tmp_path):
    return write_rows(tmp_path / "answers.jsonl", rows_of(TEXTS))


def values(matrix):
    return [[cell.value for cell in row] for row in matrix.cells]


def test_a_cell_is_a_mean_over_questions(answers):
    (matrix,) = measure_similarity(answers, ["wer", "wer"]).matrices
    # One of 6 words and two of 4; as a candidate, "b" against "a"; the other way round one of 6
    # and two of 3.
    there, back = round((1 / 6 + 2 / 4) / 2, 4), round((1 / 6 + 2 / 3) / 2, 4)
    assert values(matrix) == [[0.0, there], [back, 0.0]]
    assert (matrix.rows, matrix.row_title, matrix.unit) == (("a", "b"), "reference", "questions")
    cell = matrix.cells[0][1]
    assert (cell.n, cell.n_unscored, cell.low, cell.high) == (2, 0, 0.1667, 0.5)
    (first,) = measure_similarity(answers, ["wer"], limit=1).matrices
    assert (first.n_questions, first.cells[0][0].n) == (1, 1)


def test_a_symmetric_measure_is_the_same_both_ways(answers):
    (matrix,) = measure_similarity(answers, ["rouge1"]).matrices
    assert values(matrix)[0][1] == values(matrix)[1][0]
    assert matrix.own == {(0, 0), (1, 1)}


def test_texts_can_be_compared_in_lower_case(tmp_path):
    texts = {("q1", "a"): "Aspirin helps", ("q1", "b"): "aspirin Helps"}
    (as_written,) = compared(tmp_path / "case.jsonl", texts, ["wer"])
    (lower,) = compared(tmp_path / "case.jsonl", texts, ["wer"], lower_case=True)
    assert (as_written.cells[0][1].value, lower.cells[0][1].value) == (1.0, 0.0)


def test_a_missing_or_empty_answer_is_unscored(tmp_path):
    texts = TEXTS | {("q2", "b"): " ", ("q3", "a"): "alone"}
    (matrix,) = compared(tmp_path / "some.jsonl", texts, ["bleu"])
    counts = [[(c.n, c.n_unscored) for c in row] for row in matrix.cells]
    assert counts == [[(3, 0), (1, 2)], [(1, 2), (1, 2)]]


def test_only_chosen_answers(tmp_path, answers):
    (spoilt,) = rows_of({("q1", "b"): "goal"}, variant="extreme")
    rows = [*rows_of(TEXTS, variant="benign"), spoilt | {"id": "spoilt"}]
    both = write_rows(tmp_path / "both.jsonl", rows)
    with pytest.raises(InputError, match=r"'b' answers 'q1' more than once \(again in 'spoilt'\)"):
        measure_similarity(both, ["wer"])
    chosen = measure_similarity(both, ["wer"], where=["variant=benign"])
    assert chosen.matrices == measure_similarity(answers, ["wer"]).matrices


def test_what_cannot_be_compared_is_refused(tmp_path, answers):
    with pytest.raises(InputError, match="use one of bleu, rouge1, rougeL"):
        measure_similarity(answers, ["made_up"])
    one = {place: text for place, text in TEXTS.items() if place[1] == "a"}
    with pytest.raises(InputError, match="1 systems"):
        compared(tmp_path / "one.jsonl", one, ["bleu"])
    with pytest.raises(InputError, match="'q1-None' has no system"):
        compared(tmp_path / "unnamed.jsonl", {("q1", None): "text"}, ["bleu"])


def test_answers_in_sentences_are_one_text(tmp_path, answers):
    rows = rows_of(TEXTS)
    for row in rows:
        first, _, rest = row["answer"].partition(" the ")
        row["answer"] = [{"text": first}, {"text": f"the {rest}"}] if rest else row["answer"]
    cut = measure_similarity(write_rows(tmp_path / "cut.jsonl", rows), ["wer"])
    assert cut.matrices == measure_similarity(answers, ["wer"]).matrices


def test_files_hold_the_comparison(answers, tmp_path):
    found = measure_similarity(answers, ["wer", "rougeL"])
    paths = {path.name: path for path in write_similarity(found, tmp_path / "out")}
    assert set(paths) == {
        *("similarity.csv", "similarity.tex", "index.html", "wer.svg", "rougeL.svg"),
    }
    _, row, *_ = read_csv(paths["similarity.csv"])
    assert (row["matrix"], row["row"], row["column"]) == ("wer", "a", "b")
    assert (row["value"], row["n"], row["worst"]) == ("0.3333", "2", "0.3333")
    assert r"\toprule" in paths["similarity.tex"].read_text()
    assert ElementTree.parse(paths["wer.svg"]).getroot().tag.endswith("svg")
    assert paths["index.html"].read_text().count("<section") == 2


@pytest.mark.integration
def test_measures_by_vectors_know_which_texts_mean_the_same(tmp_path):
    texts = {
        ("q1", "a"): "The drug lowered blood pressure in most patients.",
        ("q1", "b"): "Most patients had lower blood pressure on the drug.",
        ("q1", "c"): "Bake the dough for an hour at a low heat.",
        ("q2", "a"): "Aspirin thins blood.",
        ("q2", "b"): "Blood is thinned by aspirin.",
        ("q2", "c"): "The judge dismissed the case.",
    }
    path = write_rows(tmp_path / "f.jsonl", rows_of(texts))
    found = measure_similarity(path, ["bertscore", "wmd", "moverscore"])
    assert found.embedder == "all-MiniLM-L6-v2"
    for matrix in found.matrices:
        (itself, near, far), _, _ = values(matrix)
        assert (itself > near > far) != matrix.lower_is_better
        assert itself == pytest.approx(0.0 if matrix.lower_is_better else 1.0, abs=1e-3)
        assert near == matrix.cells[1][0].value


def test_the_command_prints_a_table_and_names_its_files(answers, tmp_path):
    code, out, errors = call("similarity", answers, "--metric", "wer", "--out", tmp_path / "out")
    assert code == 0
    assert "Word error rate: lower is more similar" in " ".join(out.split())
    assert "0.17\u20130.50" in out
    assert "resampling 2 questions" in " ".join(out.split())
    assert "wer.svg" in errors
    code, out, _ = call("similarity", answers, "--metric", "bleu", "--json")
    found = json.loads(out)
    assert (code, found["embedder"]) == (0, "")
    assert found["matrices"][0]["cells"][0]["value"] == 1.0


def test_meteor_without_wordnet_says_so(answers, monkeypatch):
    monkeypatch.setattr("ragassay.studies.similarity.has_synonyms", lambda: False)
    _, _, errors = call("similarity", answers, "--metric", "meteor")
    assert "without synonyms, because NLTK's WordNet is missing" in errors


def test_lines_that_cannot_be_read_are_named_and_the_rest_is_compared(answers, tmp_path):
    answers.write_text(answers.read_text() + "{broken\n")
    code, out, errors = call("similarity", answers, "--metric", "bleu")
    assert code == 3
    assert "BLEU" in out and "rejected" in errors
    code, _, errors = call("similarity", tmp_path / "nowhere.jsonl")
    assert (code, errors.count("\n")) == (1, 1)


def test_benign_answers_of_yescieval_are_as_alike_as_the_paper_says(shared):
    """ROUGE-1 and ROUGE-L of Mistral and Qwen on BioASQ: .58 and .40 in appendix D."""
    data = shared / "data" / "yescieval" / "bioasq-train-answers.jsonl.gz"
    found = measure_similarity(data, ["rouge1", "rougeL"], where=["variant=benign"])
    for matrix, expected in zip(found.matrices, (0.58, 0.40), strict=True):
        cells = {
            (row, column): cell.value or 0.0
            for row, found_row in zip(matrix.rows, matrix.cells, strict=True)
            for column, cell in zip(matrix.columns, found_row, strict=True)
            if row != column
        }
        alike = cells["mistral-large-instruct", "qwen2.5-72b-instruct"]
        assert alike == pytest.approx(expected, abs=0.02)
        assert alike == max(cells.values())
