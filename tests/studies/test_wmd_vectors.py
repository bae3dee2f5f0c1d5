"""Word mover's distance over the vectors of a named encoder: a tiny random BERT."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bases import save_base
from calls import run
from rows import write_rows

from ragassay.errors import InputError, SettingsError
from ragassay.models.token_vectors import TokenEncoder
from ragassay.studies.similarity import Similarity, compare_texts, measure_similarity
from ragassay.studies.text_similarity import SIMILARITY_KINDS, tokenize_words

TEXTS = {"a": {"q": "the drug"}, "b": {"q": "The trial."}}


@pytest.fixture
def bert(tmp_path: Path) -> str:
    return save_base(tmp_path / "tiny-bert", "bert")


def compared(model: str, **more: object) -> Similarity:
    kinds = [SIMILARITY_KINDS["wmd"]]
    return compare_texts(TEXTS, kinds, wmd_vectors=[model], **more)  # type: ignore[arg-type]


def test_words_alone_are_moved_at_the_least_cost(bert: str) -> None:
    found = compared(bert, wmd_words="alone")
    (matrix,) = found.matrices
    encoder = TokenEncoder(bert)
    vectors = {word: encoder.encode_alone([word])[word] for word in ("the", "drug", "trial", ".")}

    def far(one: str, two: str) -> float:
        return float(np.linalg.norm(vectors[one] - vectors[two]))

    # "the" and "drug" weigh 1/2 each, "the", "trial" and "." 1/3. By hand, "the" stays with 1/3
    # where that is cheapest; its other 1/6 goes to "trial" or to ".", and "drug" fills the rest.
    to_trial = far("the", "trial") / 6 + far("drug", "trial") / 6 + far("drug", ".") / 3
    to_stop = far("the", ".") / 6 + far("drug", ".") / 6 + far("drug", "trial") / 3
    assert matrix.cells[0][1].value == pytest.approx(min(to_trial, to_stop), abs=1e-3)
    assert (matrix.cells[0][0].value, matrix.cells[1][0]) == (0, matrix.cells[0][1])
    assert (matrix.key, matrix.lower_is_better) == ("wmd-tiny-bert-alone", True)
    assert "each word separately" in matrix.title and found.embedder == ""
    assert found.notes == (
        f"word mover's distance uses vectors of {bert} for each word separately",
    )


def test_words_in_context_have_length_one(bert: str) -> None:
    (matrix,) = compared(bert).matrices
    value = matrix.cells[0][1].value
    assert value is not None and 0 < value <= 2
    assert (matrix.key, matrix.cells[0][0].value) == ("wmd-tiny-bert", 0)
    plain = compare_texts(TEXTS, [SIMILARITY_KINDS["wmd"]], bert)
    assert plain.matrices[0].cells == matrix.cells
    assert (plain.embedder, plain.matrices[0].key) == (bert, "wmd")


def test_a_batch_changes_no_vector(bert: str) -> None:
    encoder = TokenEncoder(bert)
    together = encoder.encode_alone(["migraine", "a", "placebo"])
    for word, vector in together.items():
        assert np.allclose(vector, encoder.encode_alone([word])[word], atol=1e-5)


def test_words_are_in_lower_case_with_their_punctuation() -> None:
    words = ["it", "does", "n't", "help", ".", "drug", "a", "(", "5", "mg", ")", "does", "."]
    assert tokenize_words("It doesn't help. Drug A (5 mg) does.") == words
    assert tokenize_words(" ") == []


def test_the_command_says_which_vectors_were_used(bert: str, tmp_path: Path) -> None:
    rows = [
        {"id": s, "question": "q", "topic": "q", "system": s, "answer": of_system["q"]}
        for s, of_system in TEXTS.items()
    ]
    path, out = write_rows(tmp_path / "answers.jsonl", rows), tmp_path / "out"
    given = ("similarity", path, "--metric", "wmd", "--wmd-vectors", bert, "--out", out, "--json")
    shown, errors = run(*given)
    assert f"vectors of {bert} for each token in its context" in errors
    assert json.loads(shown)["matrices"][0]["key"] == "wmd-tiny-bert"
    assert bert in (out / "index.html").read_text()
    with pytest.raises(InputError, match="--metric wmd"):
        measure_similarity(path, ["bleu"], wmd_vectors=[bert])
    with pytest.raises(SettingsError, match="is unavailable"):
        measure_similarity(path, ["wmd"], wmd_vectors=[str(tmp_path / "nowhere")])
