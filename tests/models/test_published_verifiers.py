"""Verifiers that people publish, on tiny models: what they are asked, what is made of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from case_tables import each_case
from lazy import LazyModule
from tiny_verifiers import (
    tiny_alignscore,
    tiny_causal,
    tiny_convolution,
    tiny_inference,
    tiny_writer,
)

from ragassay.errors import SettingsError
from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.models.correctness import EntailmentCorrectness
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS, NliModel, get_label_count
from ragassay.models.scorers import AlignScore, ScoringVerifier, SummaC, fetch_weights_file
from ragassay.models.verifiers import FallbackVerifier, open_entailment_model, require_verifier
from ragassay.models.written_labels import WrittenLabels
from ragassay.prompts.model_forms import load_verifier_kinds

torch = LazyModule("torch")

CLAIM, PASSAGE = (
    "alpha lowers pressure .",
    "A trial.\nalpha lowers pressure in adults .\nbeta pain .",
)
PAIRS = [(CLAIM, PASSAGE), ("beta raises pain .", PASSAGE)]


@each_case(
    ("kind", "owner", "names"),
    [
        ("flan", "google", ["flan-t5-xxl", "flan-ul2"]),
        ("attrscore", "osunlp", ["attrscore-flan-t5-xxl", "attrscore-alpaca-13b"]),
        ("true", "google", ["t5_xxl_true_nli_mixture"]),
        ("minicheck", "lytang", ["MiniCheck-RoBERTa-Large", "MiniCheck-DeBERTa-v3-Large"]),
        ("minicheck", "lytang", ["MiniCheck-Flan-T5-Large"]),
        ("hhem", "vectara", ["hallucination_evaluation_model"]),
        ("lettucedetect", "KRLabsOrg", ["lettucedect-large-modernbert-en-v1"]),
        ("lettucedetect", "KRLabsOrg", ["tinylettuce-ettin-17m-en"]),
    ],
)
def test_a_name_of_the_hub_tells_the_kind(kind, owner, names):
    for name in names:
        assert load_verifier_kinds().find(f"{owner}/{name}") == (kind, f"{owner}/{name}")


@each_case(
    ("name", "kind", "model"),
    [
        ("true", "true", "google/t5_xxl_true_nli_mixture"),
        ("alignscore", "alignscore", "yzha/AlignScore/AlignScore-large.ckpt"),
        ("summac-zs", "summac-zs", "tals/albert-xlarge-vitaminc-mnli"),
        ("summac-zs:some/nli", "summac-zs", "some/nli"),
        ("minicheck", "minicheck", "lytang/MiniCheck-Flan-T5-Large"),
        ("minicheck-roberta", "minicheck", "lytang/MiniCheck-RoBERTa-Large"),
        ("minicheck-deberta", "minicheck", "lytang/MiniCheck-DeBERTa-v3-Large"),
        ("minicheck:models/own", "minicheck", "models/own"),
        ("hhem", "hhem", "vectara/hallucination_evaluation_model"),
        ("lettucedetect", "lettucedetect", "KRLabsOrg/lettucedect-base-modernbert-en-v1"),
        ("lettucedetect-large", "lettucedetect", "KRLabsOrg/lettucedect-large-modernbert-en-v1"),
        ("lettucedetect:models/own", "lettucedetect", "models/own"),
        ("FacebookAI/roberta-large-mnli", "", ""),
        ("ollama/flan:7b", "", ""),
    ],
)
def test_a_short_name_or_a_prefix_tells_kind_and_model(name, kind, model):
    assert load_verifier_kinds().find(name) == (kind, model)


class Heard:
    """Keeps the prompts, and gives the same shares to each."""

    name = "heard"

    def __init__(self, *shares: float) -> None:
        self.shares = shares

    def predict_word_shares(self, prompts, words):
        self.prompts, self.words = ["".join(prompt) for prompt in prompts], list(words)
        return np.array([self.shares] * len(prompts))


def open_writer(kind: str, n_labels: int, *shares: float) -> tuple[Heard, WrittenLabels]:
    model = Heard(*shares)
    return model, WrittenLabels(model, load_verifier_kinds().writers[kind], n_labels)


def test_true_is_asked_in_the_form_of_its_card():
    model, verifier = open_writer("true", 3, 0.6, 0.3)
    found = verifier.predict_probabilities([("It {fell}.", "\nOne fell.\nTwo rose.")])
    assert model.prompts == ["premise: One fell. Two rose. hypothesis: It {fell}."]
    assert model.words == ["1", "0"]
    assert found[0] == pytest.approx([2 / 3, 0, 1 / 3])
    assert get_label_count(verifier) == 2


def test_attrscore_is_asked_in_the_form_that_it_was_trained_on():
    """The task "attribution-no-definition" in the frame of Alpaca, as its training program joins
    them: an instruction, an input of claim and reference with a line break behind it, a response.
    """
    model, verifier = open_writer("attrscore", 2, 0.2, 0.5, 0.1)
    found = verifier.predict_probabilities([("It fell.", "T.\nOne fell.")])
    text = model.prompts[0]
    assert text.startswith("Below is an instruction that describes a task, paired with an input")
    assert "\n\n### Input:\nClaim: It fell.\n\nReference: T. One fell.\n\n\n### Response:" in text
    assert model.words == ["Attributable", "Contradictory", "Extrapolatory"]
    assert found[0] == pytest.approx([0.25, 0.625, 0.125])


@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_flan_is_asked_for_as_many_labels_as_are_wanted(n_labels):
    three = ["support", "contradict", "neutral"]
    words = ["attributable", "not attributable"] if n_labels == 2 else three
    model, verifier = open_writer("flan", n_labels, *[0.9 / len(words)] * len(words))
    assert verifier.predict_probabilities(PAIRS).sum(axis=1) == pytest.approx([1, 1])
    assert model.words == words and all(word in model.prompts[0] for word in words)
    assert verifier.n_labels == len(words)


def test_what_would_rather_say_something_else_gives_no_label_and_no_score():
    _, verifier = open_writer("true", 2, 0.3, 0.1)
    assert np.isnan(verifier.predict_probabilities(PAIRS)).all()
    found = EncoderVerifier(verifier, Embedder()).compare("It fell.", "It fell.")
    assert (found.verdict, found.failure.reason) == (None, "unparsable")
    model = EntailmentCorrectness(verifier)
    assert np.isnan(model.score_pairs(PAIRS)).all()
    assert model.find_doubt(PAIRS).reason == "unparsable"


@pytest.mark.parametrize(
    ("kind", "write", "reply", "column"),
    [
        ("flan", tiny_writer, "support", SUPPORTS),
        ("flan", tiny_writer, "contradict", CONTRADICTS),
        ("flan", tiny_writer, "neutral", NEUTRAL),
        ("attrscore", tiny_causal, "Contradictory", CONTRADICTS),
    ],
)
def test_a_writer_gives_the_probabilities_of_its_labels(tmp_path, kind, write, reply, column):
    model = open_entailment_model(f"{kind}:{write(tmp_path, reply)}", tmp_path)
    assert len(model.digest) == 64
    found = model.predict_probabilities(PAIRS)
    assert found.shape == (2, 3) and found.sum(axis=1) == pytest.approx([1, 1])
    assert found.argmax(axis=1).tolist() == [column, column]
    assert np.array_equal(found, model.predict_probabilities(PAIRS))


def test_probabilities_of_a_causal_model_are_those_of_its_own_tokens(tmp_path):
    """By hand: the product of the words' probabilities, each behind what stands before it."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from ragassay.models.written_labels import CausalText

    folder = tiny_causal(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    prompt, words = "Claim : alpha Response :", ["not", "attributable"]
    wanted = 1.0
    for i, word in enumerate(words):
        tokens = tokenizer(" ".join([prompt, *words[:i]]), return_tensors="pt").input_ids
        with torch.inference_mode():
            shares = model(tokens).logits[0, -1].softmax(-1)
        wanted *= float(shares[tokenizer.convert_tokens_to_ids(word)])
    parts = ("Claim : ", "alpha", " Response : ")
    found = CausalText(folder, 64).predict_word_shares([parts], ["not attributable"])
    assert found[0, 0] == pytest.approx(wanted, rel=1e-4)


@pytest.fixture(scope="module")
def inference(tmp_path_factory) -> str:
    return tiny_inference(tmp_path_factory.mktemp("inference"))


def test_summac_zs_is_the_mean_over_sentences_of_what_entails_less_what_contradicts(inference):
    model = NliModel(inference)
    claims = ["Then alpha lowers pressure.", "Then beta raises pain."]
    lines = ["alpha lowers pressure in adults .", "gamma raises pain in the trial ."]
    rows = [model.predict_probabilities([(said, line) for line in lines]) for said in claims]
    wanted = np.mean([row[:, SUPPORTS].max() - row[:, CONTRADICTS].max() for row in rows])
    scorer = SummaC(model)
    found = scorer.score(" ".join(claims), "\n".join(lines))
    assert found == pytest.approx(wanted) and -1 <= found <= 1
    # What is too short for a sentence is left out.
    assert scorer.score(CLAIM, f"A trial.\n{lines[0]}") == scorer.score(CLAIM, lines[0])
    assert scorer.score(CLAIM, "A trial.") == 0


def test_summac_conv_reads_published_weights(inference, tmp_path):
    name = f"summac-conv:{tiny_convolution(tmp_path / 'conv.bin')}@{inference}"
    found = open_entailment_model(name, tmp_path).predict_probabilities(PAIRS)
    assert ((found[:, SUPPORTS] > 0) & (found[:, SUPPORTS] < 1)).all()
    assert (found[:, CONTRADICTS] == 0).all() and found.sum(axis=1) == pytest.approx([1, 1])


def test_weights_of_something_else_are_refused(inference, alignscore, tmp_path):
    torch.save({"mlp.weight": torch.zeros(1, 5)}, tmp_path / "other.bin")
    (tmp_path / "text.bin").write_text("no weights")
    torch.save({"state_dict": {"tri_layer.weight": torch.zeros(3, 4)}}, tmp_path / "other.ckpt")
    with pytest.raises(SettingsError, match=r"SummaC-Conv requires .*23"):
        SummaC(NliModel(inference), tmp_path / "other.bin")
    with pytest.raises(SettingsError, match="not a tensor checkpoint"):
        SummaC(NliModel(inference), tmp_path / "text.bin")
    with pytest.raises(SettingsError, match="not an AlignScore checkpoint"):
        AlignScore(tmp_path / "other.ckpt", alignscore[1]).score(CLAIM, PASSAGE)


@pytest.fixture(scope="module")
def alignscore(tmp_path_factory) -> tuple[str, str]:
    """A checkpoint and the folder of its encoder."""
    return tiny_alignscore(tmp_path_factory.mktemp("alignscore"))


def test_alignscore_is_the_share_of_the_first_of_three_labels(alignscore):
    """Against the parts of the checkpoint put together by hand; one chunk, one sentence."""
    from transformers import AutoTokenizer, RobertaModel

    checkpoint, base = alignscore
    state = torch.load(checkpoint, weights_only=True)["state_dict"]
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokens = tokenizer("alpha lowers pressure in adults .", CLAIM, return_tensors="pt")
    with torch.inference_mode():
        pooled = RobertaModel.from_pretrained(base).eval()(**tokens).pooler_output[0]
    logits = state["tri_layer.weight"] @ pooled + state["tri_layer.bias"]
    found = AlignScore(Path(checkpoint), base).score(CLAIM, "\nalpha lowers pressure in adults .")
    assert found == pytest.approx(float(logits.softmax(-1)[0]), abs=1e-5)


def test_alignscore_is_named_by_checkpoint_and_encoder(alignscore, tmp_path):
    found = open_entailment_model(f"alignscore:{'@'.join(alignscore)}", tmp_path)
    assert found.name == "alignscore of AlignScore-tiny.ckpt" and get_label_count(found) == 2
    assert found.predict_probabilities(PAIRS).shape == (2, 3)
    long = [("alpha . " * 80, "\n".join(["alpha lowers pressure in adults ."] * 90))]
    assert np.isfinite(found.predict_probabilities(long)).all()


def test_bioaces_classifiers_read_one_text_and_say_correct_by_the_second_class(inference, tmp_path):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = tiny_inference(tmp_path / "two", ("LABEL_0", "LABEL_1"))
    text = "ANSWER: alpha lowers pressure . EVIDENCE: A trial. alpha lowers pain ."
    tokens = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        wanted = float(model(**tokens).logits[0].softmax(-1)[1])
    verifier = open_entailment_model(f"bioace-correctness:{folder}", tmp_path)
    found = verifier.predict_probabilities([(CLAIM, "A trial.\nalpha lowers pain .")])
    assert found[0] == pytest.approx([wanted, 0, 1 - wanted], abs=1e-6)
    with pytest.raises(SettingsError, match="has 3 classes"):
        open_entailment_model(f"bioace-correctness:{inference}", tmp_path)


@each_case(("score", "share"), [(-1, 0), (0, 0.25), (1, 0.5), (3, 1), (2, 0.75)])
def test_a_score_at_its_threshold_is_one_half_and_supports(score, share):
    scorer = SimpleNamespace(name="scores", digest="1", score=lambda claim, passage: score)
    found = ScoringVerifier(scorer, (-1, 3), 1).predict_probabilities([("It fell.", "One fell.")])
    assert found[0] == pytest.approx([share, 0, 1 - share])
    assert (found[0].argmax() == SUPPORTS) == (score >= 1)


def test_a_scoring_verifier_says_attributable_or_not_whatever_labels_are_wanted(
    inference, tmp_path
):
    verifier = open_entailment_model(f"summac-zs:{inference}", tmp_path)
    said = EncoderVerifier(verifier, Embedder(), n_labels=4).compare(CLAIM, PASSAGE)
    assert said.verdict in ("supports", "not_attributable")


def test_weights_that_are_nowhere_are_named(tmp_path):
    with pytest.raises(SettingsError, match="pass the path of the weights"):
        fetch_weights_file("nowhere.bin")
    with pytest.raises(SettingsError, match=r"cannot download the weights owner/none/file\.bin"):
        fetch_weights_file("owner/none/file.bin")


def test_what_is_named_by_its_kind_is_not_replaced(tmp_path):
    assert isinstance(open_entailment_model("google/flan-t5-none", tmp_path), FallbackVerifier)
    with pytest.raises(SettingsError, match="ragassay verifiers kinds"):
        require_verifier("google/flan-t5-none", tmp_path)
    for kind in ("flan", "summac-zs"):
        with pytest.raises(SettingsError, match="is unavailable"):
            open_entailment_model(f"{kind}:{tmp_path / 'absent'}", tmp_path)
