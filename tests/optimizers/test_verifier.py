"""What the shipped verifiers learn from, and that what is saved is what was trained."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from fakes import WordEmbedder

from ragassay.errors import SettingsError
from ragassay.models.adapters import Adapter
from ragassay.models.cross_encoder import CrossEncoder, PairEncoder, padded, save_adapter
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.models.minilm_encoder import MiniLMEncoder
from ragassay.models.smollm2_encoder import SmolLM2Encoder
from ragassay.optimizers.adapting import SCALE, Example, fit_temperature, train
from ragassay.optimizers.claims import LabelledClaim
from ragassay.optimizers.contradictions import contradict, contrary
from ragassay.optimizers.correctness import CorrectnessPair
from ragassay.optimizers.verifier import (
    COURSES,
    claim_examples,
    pair_examples,
    rationale_examples,
)


@pytest.mark.parametrize(
    ("sentence", "possible"),
    [
        ("Alpha gave higher pressure.", {"Alpha gave lower pressure."}),
        ("Reduced intake helps.", {"Elevated intake helps."}),
        ("Alpha is safe.", {"Alpha is unsafe.", "Alpha is not safe."}),
        ("Alpha was not tested.", {"Alpha was tested."}),
        ("Alpha helped 40 people.", {f"Alpha helped {n} people." for n in (4, 20, 80, 120, 400)}),
        # A number that is part of a name is none.
        ("IL-6 and B12 rose.", {None}),
        ("Alpha helps.", {None}),
    ],
)
def test_a_sentence_is_turned_against_what_bore_it_out(sentence: str, possible: set[str | None]):
    found = {contradict(sentence, random.Random(seed)) for seed in range(40)}
    assert found == possible


def test_numbers_are_left_where_they_are_to_be():
    found = {
        contradict("Alpha was safe in 40 people.", random.Random(seed), numbers=False)
        for seed in range(20)
    }
    assert found == {"Alpha was unsafe in 40 people.", "Alpha was not safe in 40 people."}
    assert contradict("Alpha helped 40 people.", random.Random(0), numbers=False) is None


@pytest.mark.parametrize(
    ("text", "label", "turned"),
    [
        ("Alpha gave higher pressure.", SUPPORTS, ("Alpha gave lower pressure.", CONTRADICTS)),
        ("Alpha gave higher pressure.", CONTRADICTS, ("Alpha gave lower pressure.", SUPPORTS)),
        # That a document contradicts it does not yet mean that it says the negation.
        ("Alpha was tested.", CONTRADICTS, None),
        ("Alpha gave higher pressure.", NEUTRAL, None),
        ("Alpha helps.", SUPPORTS, None),
    ],
)
def test_a_claim_is_turned_over_with_its_label(
    text: str, label: int, turned: tuple[str, int] | None
):
    claim = LabelledClaim(text, "Title", ("One.",), (0,), label, "g")
    found = contrary(claim, random.Random(0))
    assert (found and (found.claim, found.label)) == turned
    assert found is None or (found.group, found.sentences, found.rationale) == (
        "g",
        ("One.",),
        (0,),
    )


def test_sentences_that_people_marked_are_read_first_where_that_is_wanted():
    sentences = tuple(f"{word} rose." for word in ("Iron", "Zinc", "Alpha", "Gold", "Lead", "Tin"))
    claim = LabelledClaim("Alpha rose.", "", sentences, (5,), SUPPORTS, "g")
    plain, marked = (claim_examples([claim], WordEmbedder(), marked=m)[0] for m in (False, True))
    assert "Alpha rose." in plain.passage and "Tin rose." not in plain.passage
    assert "Alpha rose." in marked.passage and "Tin rose." in marked.passage


def test_the_same_seed_gives_the_same_contradiction():
    sentence = "Alpha was safe and gave 3 times higher pressure in 40 people."
    assert contradict(sentence, random.Random(7)) == contradict(sentence, random.Random(7))


def test_correct_pairs_support_and_their_contradictions_contradict():
    pairs = [
        CorrectnessPair("Alpha is safe.", "Alpha was safe.", True, "q"),
        CorrectnessPair("Alpha is safe.", "Beta was safe.", False, "q"),
    ] * 20
    found = pair_examples(pairs, random.Random(0))
    labels = [example.label for example in found]
    assert (labels.count(SUPPORTS), labels.count(NEUTRAL)) == (20, 20)
    assert 10 <= labels.count(CONTRADICTS) <= 20
    assert {e.passage for e in found if e.label == CONTRADICTS} == {"Alpha was safe."}
    assert "Alpha is safe." not in {e.claim for e in found if e.label == CONTRADICTS}


def test_of_a_long_abstract_the_closest_sentences_are_shown_with_its_title():
    sentences = tuple(f"{word} rose." for word in ("Iron", "Zinc", "Alpha", "Gold", "Lead"))
    claim = LabelledClaim("Alpha rose.", "Metals", sentences, (), SUPPORTS, "g")
    (found,) = claim_examples([claim], WordEmbedder())
    assert found.passage.startswith("Metals. ")
    assert "Alpha rose." in found.passage
    assert found.passage.count("rose.") == 4


def test_only_contradicted_claims_give_their_rationale():
    claims = [
        LabelledClaim("A.", "", ("One.", "Two."), (1,), CONTRADICTS, "g"),
        LabelledClaim("B.", "", ("One.", "Two."), (1,), SUPPORTS, "g"),
        LabelledClaim("C.", "", ("One.", "Two."), (), CONTRADICTS, "g"),
    ]
    assert rationale_examples(claims) == [Example("A.", "Two.", CONTRADICTS)]


def test_the_temperature_mends_overconfidence():
    # Three of four are right, said with a margin of 4: at temperature T the probability is
    # 1 / (1 + exp(-4 / T)), which is .75 where 4 / T = log 3.
    logits = torch.tensor([[4.0, 0.0]] * 4)
    labels = torch.tensor([0, 0, 0, 1])
    assert fit_temperature(logits, labels) == pytest.approx(4 / 1.0986, rel=1e-2)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_the_saved_adapter_gives_what_was_trained(name: str, tmp_path: Path, weights_cache: Path):
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    examples = [
        Example("Alpha lowers pressure.", "Alpha lowered pressure.", SUPPORTS),
        Example("Alpha raises pressure.", "Alpha lowered pressure.", CONTRADICTS),
        Example("Alpha lowers pressure.", "The train was late.", NEUTRAL),
    ] * 2
    tuning, encoder = COURSES[name].tuning, COURSES[name].fresh(examples)
    tensors = train(encoder, examples, tuning, tmp_path / "work", epochs=2)
    save_adapter(
        tmp_path / "adapter",
        tensors,
        base_sha256=encoder.base_sha256,
        scale=SCALE,
        n_tokens=tuning.n_tokens,
        temperature=2.0,
    )
    adapter = Adapter("test", tmp_path / "adapter")
    pair = ("Alpha raises pressure.", "Alpha lowered pressure.")
    with torch.inference_mode():
        logits = encoder(padded([encoder.row(*pair, tuning.n_tokens)]))
    wanted = (logits[0] / 2.0).double().softmax(-1).numpy()
    untrained = [1 / 3] * 3
    assert wanted != pytest.approx(untrained, abs=1e-3)

    def fresh() -> PairEncoder:
        return MiniLMEncoder.load() if name == "minilm" else SmolLM2Encoder.load(weights_cache)

    # Half precision on disk.
    found = CrossEncoder.load(adapter, fresh()).probabilities([pair])[0]
    assert found == pytest.approx(wanted, abs=2e-3)

    weights = tmp_path / "adapter" / "adapter.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\1")
    with pytest.raises(SettingsError, match="SHA-256"):
        CrossEncoder.load(adapter, fresh())
