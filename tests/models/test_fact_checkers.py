"""MiniCheck, HHEM and LettuceDetect against what their published programs give on tiny models.

`fact_checker_outputs.json` was worked with MiniCheck's inference (github.com/Liyan06/MiniCheck),
HHEM's `predict` (its model card's repository) and lettucedetect 0.2.3 on the tiny models of
`tiny_checkers`, whose weights are a formula. Sentences were given cut.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_tables import each_case
from tiny_checkers import tiny_hhem, tiny_lettucedetect, tiny_minicheck
from tiny_verifiers import tiny_inference

from ragassay.errors import SettingsError
from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.metrics.papers.verifier_scores import fill_chunks
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import (
    CONTRADICTS,
    SUPPORTS,
    can_read_documents,
    find_unsupported_spans,
    get_label_count,
)
from ragassay.models.fitted_models import FittedThresholds, FittedVerifier
from ragassay.models.verifiers import open_entailment_model, require_verifier
from ragassay.prompts.model_forms import load_verifier_kinds
from ragassay.text.search import ALL_WORDS, build_passage

HERE = Path(__file__).parent
CASES = json.loads((HERE / "fact_checker_cases.json").read_text("utf-8"))
OUTPUTS = json.loads((HERE / "fact_checker_outputs.json").read_text("utf-8"))
PAIRS = [
    (
        case["claim"],
        build_passage(case["claim"], case["sentences"] * case["times"], n_words=ALL_WORDS),
    )
    for case in CASES
]

KINDS = [key for key in OUTPUTS if key != "lettucedetect spans"]


@pytest.fixture(scope="module")
def names(tmp_path_factory) -> dict[str, str]:
    """Names of tiny checkers in settings, by their key among the stored outputs."""
    room = tmp_path_factory.mktemp("checkers")
    hhem, base = tiny_hhem(room)
    found = {"hhem": f"hhem:{hhem}@{base}"}
    for architecture in ("roberta", "deberta-v2", "t5"):
        folder = tiny_minicheck(room / architecture, architecture)
        found[f"minicheck {architecture}"] = f"minicheck:{folder}"
    found["lettucedetect"] = f"lettucedetect:{tiny_lettucedetect(room / 'lettuce')}"
    return found


@pytest.fixture(scope="module", params=KINDS)
def key(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def model(key, names, tmp_path_factory) -> Any:
    return open_entailment_model(names[key], tmp_path_factory.mktemp("cache"))


@pytest.fixture
def inputs(model, monkeypatch) -> list[list[int]]:
    """Record the tokens of each call of the model."""
    tokenizer, inner = model.scorer.model.load()
    seen = []

    class Recorder:
        device = inner.device

        def __call__(self, **tokens: Any) -> Any:
            seen.append(tokens["input_ids"][0].tolist())
            return inner(**tokens)

    monkeypatch.setattr(model.scorer.model, "load", lambda: (tokenizer, Recorder()))
    return seen


def test_scores_are_those_of_the_published_program(key, model):
    found = model.predict_probabilities(PAIRS)
    assert found[:, SUPPORTS] == pytest.approx(OUTPUTS[key], abs=2e-5)
    assert (found[:, CONTRADICTS] == 0).all() and found.sum(axis=1) == pytest.approx(1)
    assert len(set(OUTPUTS[key])) == len(CASES)


def test_spans_are_those_of_lettucedetects_program(names, tmp_path):
    """Its tokens begin with the space before a word; spans here do not."""
    model = open_entailment_model(names["lettucedetect"], tmp_path)
    for pair, wanted in zip(PAIRS, OUTPUTS["lettucedetect spans"], strict=True):
        found = find_unsupported_spans(model, pair)
        assert [pair[0][one.start : one.end] for one in found] == [w[3].strip() for w in wanted]
        assert [one.score for one in found] == pytest.approx([w[2] for w in wanted], abs=2e-4)
        assert [one.end for one in found] == [w[1] for w in wanted]


def test_a_checker_has_two_labels_and_reads_whole_documents(key, names, model):
    assert get_label_count(model) == 2 and can_read_documents(model)
    assert model.name == names[key].partition("@")[0]
    assert len(model.digest) == 64
    verifier = EncoderVerifier(model, Embedder(), n_labels=4)
    verdicts = {verifier.compare(claim, passage).verdict for claim, passage in PAIRS}
    assert verdicts <= {"supports", "not_attributable"}


def test_empty_and_huge_texts_have_scores(model):
    # Longer than the 2,048 tokens of the models but for HHEM and LettuceDetect.
    long = " ".join(["It raised pain in 12 of 340 men"] * 240)
    pairs = [("It fell.", ""), ("It fell.", "\n"), ("It fell.", f"\n{long}."), (long, "\nIt fell.")]
    found = model.predict_probabilities(pairs)
    assert found.shape == (4, 3) and np.isfinite(found).all()
    assert model.predict_probabilities([]).shape == (0, 3)


MARKED = [
    "It </s> fell.",
    "<pad> It fell.",
    "It fell.</s>Zetamab did not change mood.",
    "[SEP] It fell.",
    "[CLS] It fell. [PAD]",
    "<s>It fell.<mask>",
]


def test_judged_text_cannot_set_the_marks_of_a_tokenizer(model, inputs):
    """The count of each mark in the input is that of a text without marks."""
    tokenizer, _ = model.scorer.model.load()
    marks = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}

    def n_marks(claim: str, passage: str) -> int:
        inputs.clear()
        model.scorer.score(claim, passage)
        return sum(token in marks for row in inputs for token in row)

    plain = n_marks("It fell.", "\nIt rose.")
    assert plain > 0
    for text in MARKED:
        assert n_marks(text, "\nIt rose.") == plain, text
        assert n_marks("It fell.", f"\n{text}") == plain, text


FORMS = {
    "minicheck roberta": "<s>Zetamab. It rose.</s>It fell.</s>",
    "minicheck deberta-v2": "[CLS] Zetamab. It rose. [SEP] It fell. [SEP]",
    "minicheck t5": "predict: Zetamab. It rose.</s> It fell.</s>",
    "hhem": "<pad> Determine if the hypothesis is true given the premise? Premise: Zetamab. "
    "It rose. Hypothesis: It fell.</s>",
    "lettucedetect": "[CLS] Summarize the following text: passage 1: Zetamab. It rose. output:"
    " [SEP] It fell. [SEP]",
}


def test_the_input_has_the_form_of_the_program(key, model, inputs):
    model.predict_probabilities([("It fell.", "Zetamab.\nIt rose.")])
    (text,) = map(model.scorer.model.load()[0].decode, inputs)
    # Byte and space marks of the tokenizers are no part of the form.
    for mark in ("\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}", "\u2581", "<unk>"):
        text = text.replace(mark, " ")
    assert "".join(text.split()) == "".join(FORMS[key].split())


def test_a_long_sentence_never_pushes_the_claim_out(names, tmp_path):
    """A chunk of one sentence of 2,000 words: the claim still decides."""
    model = open_entailment_model(names["minicheck roberta"], tmp_path)
    passage = "\n" + " ".join(["pain"] * 2_000)
    found = model.predict_probabilities(
        [("It fell.", passage), ("Zetamab did not change mood.", passage)]
    )
    assert found[0, SUPPORTS] != pytest.approx(found[1, SUPPORTS], abs=1e-6)


@each_case(
    ("sentences", "size", "wanted"),
    [
        ([], 3, [""]),
        (["a."], 3, ["a."]),
        (["a b c.", "d."], 3, ["a b c.", "d."]),
        (["a b.", "c.", "d."], 3, ["a b. c.", "d."]),
        (["a b c d e.", "f."], 3, ["a b c d e.", "f."]),
        (["f.", "a b c d e.", "g."], 3, ["f.", "a b c d e.", "g."]),
        (["a.", "b.", "c.", "d."], 2, ["a. b.", "c. d."]),
    ],
)
def test_chunks_take_sentences_until_they_are_full(sentences, size, wanted):
    assert fill_chunks(sentences, size, lambda text: len(text.split())) == wanted


ABSENT = (
    *("minicheck", "minicheck-roberta", "lytang/MiniCheck-DeBERTa-v3-Large"),
    *("hhem", "vectara/hallucination_evaluation_model", "lettucedetect"),
)


@each_case("name", ABSENT)
def test_an_absent_checker_is_never_replaced_and_says_how_to_get_it(name, tmp_path):
    with pytest.raises(SettingsError, match=r"ragassay models get [a-z]") as told:
        require_verifier(name, tmp_path)
    assert "\n" not in str(told.value)


def test_models_of_another_kind_are_refused(names, tmp_path):
    nli = tiny_inference(tmp_path / "nli")
    roberta = names["minicheck roberta"].partition(":")[2]
    lettuce = names["lettucedetect"].partition(":")[2]
    base = names["hhem"].partition("@")[2]
    for name, problem in (
        (f"minicheck:{nli}", "architecture bert"),
        (f"lettucedetect:{roberta}", "architecture roberta"),
        (f"minicheck:{lettuce}", "architecture modernbert"),
    ):
        with pytest.raises(SettingsError, match=problem):
            open_entailment_model(name, tmp_path)
    other = open_entailment_model(f"hhem:{roberta}@{base}", tmp_path)
    with pytest.raises(SettingsError, match=r"no HHEM-2\.1-Open weights"):
        other.predict_probabilities(PAIRS[:1])


def test_a_score_at_the_cut_of_minicheck_does_not_support():
    kinds = load_verifier_kinds().facts.checkers
    assert kinds["minicheck"].least_score > 0.5
    assert kinds["hhem"].least_score == kinds["lettucedetect"].least_score == 0.5


def test_spans_are_kept_in_the_verdict_and_through_fitted_thresholds(names, tmp_path):
    model = open_entailment_model(names["lettucedetect"], tmp_path)
    claim, passage = PAIRS[0][0], PAIRS[0][1].replace("\n", " ").strip()
    found = EncoderVerifier(model, Embedder()).compare(claim, passage)
    assert [claim[one.start : one.end] for one in found.spans] == ["pain", "of 340 men."]
    figures = {name: {"value": 1.0, "n": 1} for name in ("learnt", "before", "after")}
    thresholds = {"n_labels": 2, "thresholds": {"supports": 0.001}, "objective": "f1"}
    fitted = FittedThresholds(verifier=names["lettucedetect"], **thresholds, **figures)
    again = EncoderVerifier(FittedVerifier(fitted, model), Embedder()).compare(claim, passage)
    assert again.verdict == "supports" and again.spans == found.spans
    other = open_entailment_model(names["hhem"], tmp_path)
    assert EncoderVerifier(other, Embedder()).compare(claim, passage).spans == ()
