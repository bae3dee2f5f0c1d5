"""Systems compared by their texts, from a file of answers to tables and pages."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from functools import partial

import calls
import pytest

from ragassay.errors import InputError
from ragassay.studies.similarity import measure_similarity, write_similarity

TEXTS = {
    ("q1", "a"): "the cat sat on the mat",
    ("q1", "b"): "the cat lay on the mat",
    ("q2", "a"): "aspirin lowers the risk",
    ("q2", "b"): "aspirin lowers it",
}


def new_open_case(path, texts, **fields):
    rows = [
        {"id": f"{topic}-{system}", "question": f"{topic}?", "topic": topic, "system": system,
         "answer": text, **fields}
        for (topic, system), text in texts.items()
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def answers(tmp_path):
    return new_open_case(tmp_path / "answers.jsonl", TEXTS)


def values(matrix):
    return [[cell.value for cell in row] for row in matrix.cells]


def test_a_cell_is_a_mean_over_questions(answers):
    (matrix,) = measure_similarity(answers, ["wer"]).matrices
    # One of 6 words and two of 4; as a candidate, "b" against "a"; the other way round one of 6
    # and two of 3.
    assert values(matrix) == [[0.0, round((1 / 6 + 2 / 4) / 2, 4)],
                              [round((1 / 6 + 2 / 3) / 2, 4), 0.0]]  # fmt: skip
    assert (matrix.rows, matrix.row_title, matrix.unit) == (("a", "b"), "reference", "questions")
    cell = matrix.cells[0][1]
    assert (cell.n, cell.n_unscored, cell.low, cell.high) == (2, 0, 0.1667, 0.5)


def test_a_symmetric_measure_is_the_same_both_ways(answers):
    (matrix,) = measure_similarity(answers, ["rouge1"]).matrices
    assert values(matrix)[0][1] == values(matrix)[1][0]
    assert matrix.own == {(0, 0), (1, 1)}


def test_texts_can_be_compared_in_lower_case(tmp_path):
    texts = {("q1", "a"): "Aspirin helps", ("q1", "b"): "aspirin Helps"}
    path = new_open_case(tmp_path / "case.jsonl", texts)
    (as_written,) = measure_similarity(path, ["wer"]).matrices
    (lower,) = measure_similarity(path, ["wer"], lower_case=True).matrices
    assert (as_written.cells[0][1].value, lower.cells[0][1].value) == (1.0, 0.0)


def test_a_missing_or_empty_answer_is_unscored(tmp_path):
    texts = TEXTS | {("q2", "b"): " ", ("q3", "a"): "alone"}
    (matrix,) = measure_similarity(new_open_case(tmp_path / "some.jsonl", texts), ["bleu"]).matrices
    assert [[(c.n, c.n_unscored) for c in row] for row in matrix.cells] == [
        [(3, 0), (1, 2)],
        [(1, 2), (1, 2)],
    ]


def test_only_the_first_questions(answers):
    (matrix,) = measure_similarity(answers, ["bleu"], limit=1).matrices
    assert (matrix.n_questions, matrix.cells[0][0].n) == (1, 1)


def test_only_chosen_answers(tmp_path, answers):
    spoilt = new_open_case(tmp_path / "more.jsonl", {("q1", "b"): "goal"}, variant="extreme")
    row = json.loads(spoilt.read_text()) | {"id": "spoilt"}
    rows = [json.loads(line) | {"variant": "benign"} for line in answers.read_text().splitlines()]
    both = tmp_path / "both.jsonl"
    both.write_text("".join(json.dumps(r) + "\n" for r in (*rows, row)))
    with pytest.raises(InputError, match=r"'b' answers 'q1' more than once \(again in 'spoilt'\)"):
        measure_similarity(both, ["wer"])
    chosen = measure_similarity(both, ["wer"], where=["variant=benign"])
    assert chosen.matrices == measure_similarity(answers, ["wer"]).matrices


def test_what_cannot_be_compared_is_refused(tmp_path, answers):
    with pytest.raises(InputError, match="use one of bleu, rouge1, rougeL"):
        measure_similarity(answers, ["made_up"])
    one = {place: text for place, text in TEXTS.items() if place[1] == "a"}
    with pytest.raises(InputError, match="1 systems"):
        measure_similarity(new_open_case(tmp_path / "one.jsonl", one), ["bleu"])
    unnamed = {("q1", None): "text"}
    with pytest.raises(InputError, match="'q1-None' has no system"):
        measure_similarity(new_open_case(tmp_path / "unnamed.jsonl", unnamed), ["bleu"])


def test_a_measure_is_taken_once(answers):
    assert len(measure_similarity(answers, ["bleu", "bleu"]).matrices) == 1


def test_answers_in_sentences_are_one_text(tmp_path, answers):
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    for row in rows:
        first, _, rest = row["answer"].partition(" the ")
        row["answer"] = [{"text": first}, {"text": f"the {rest}"}] if rest else row["answer"]
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert (
        measure_similarity(cut, ["wer"]).matrices == measure_similarity(answers, ["wer"]).matrices
    )


def test_files_hold_the_comparison(answers, tmp_path):
    found = measure_similarity(answers, ["wer", "rougeL"])
    paths = {path.name: path for path in write_similarity(found, tmp_path / "out")}
    assert set(paths) == {
        *("similarity.csv", "similarity.tex", "index.html", "wer.svg", "rougeL.svg"),
    }
    rows = list(csv.DictReader(io.StringIO(paths["similarity.csv"].read_text())))
    assert (rows[1]["matrix"], rows[1]["row"], rows[1]["column"]) == ("wer", "a", "b")
    assert (rows[1]["value"], rows[1]["n"], rows[1]["worst"]) == ("0.3333", "2", "0.3333")
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
    found = measure_similarity(
        new_open_case(tmp_path / "f.jsonl", texts), ["bertscore", "wmd", "moverscore"]
    )
    assert found.embedder == "all-MiniLM-L6-v2"
    for matrix in found.matrices:
        (itself, near, far), _, _ = values(matrix)
        assert (itself > near > far) != matrix.lower_is_better
        assert itself == pytest.approx(0.0 if matrix.lower_is_better else 1.0, abs=1e-3)
        assert near == matrix.cells[1][0].value


call = partial(calls.call, COLUMNS="100")


def test_the_command_prints_a_table_and_names_its_files(answers, tmp_path):
    code, out, errors = call("similarity", answers, "--metric", "wer", "--out", tmp_path / "out")
    assert code == 0
    assert "Word error rate: lower is more similar" in " ".join(out.split())
    assert "0.17\u20130.50" in out
    assert "resampling 2 questions" in " ".join(out.split())
    assert "wer.svg" in errors


def test_the_command_prints_json(answers):
    code, out, _ = call("similarity", answers, "--metric", "bleu", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["matrices"][0]["cells"][0]["value"] == 1.0
    assert found["embedder"] == ""


def test_meteor_without_wordnet_says_so(answers, monkeypatch):
    monkeypatch.setattr("ragassay.studies.similarity.has_synonyms", lambda: False)
    _, _, errors = call("similarity", answers, "--metric", "meteor")
    assert "without synonyms, because NLTK's WordNet is missing" in errors


def test_lines_that_cannot_be_read_are_named_and_the_rest_is_compared(answers):
    answers.write_text(answers.read_text() + "{broken\n")
    code, out, errors = call("similarity", answers, "--metric", "bleu")
    assert code == 3
    assert "BLEU" in out
    assert "rejected" in errors


def test_errors_are_one_line(tmp_path):
    code, _, errors = call("similarity", tmp_path / "nowhere.jsonl")
    assert (code, errors.count("\n")) == (1, 1)


def test_benign_answers_of_yescieval_are_as_alike_as_the_paper_says(shared):
    """ROUGE-1 and ROUGE-L of Mistral and Qwen on BioASQ: .58 and .40 in appendix D."""
    data = shared / "data" / "yescieval" / "bioasq-train-answers.jsonl.gz"
    found = measure_similarity(data, ["rouge1", "rougeL"], where=["variant=benign"])
    for matrix, expected in zip(found.matrices, (0.58, 0.40), strict=True):
        systems = list(matrix.rows)
        pair = systems.index("mistral-large-instruct"), systems.index("qwen2.5-72b-instruct")
        cells = {
            (y, x): cell.value or 0.0
            for y, row in enumerate(matrix.cells)
            for x, cell in enumerate(row)
            if y != x
        }
        assert cells[pair] == pytest.approx(expected, abs=0.02)
        assert cells[pair] == max(cells.values())
