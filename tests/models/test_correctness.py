"""Models that say whether a passage supports a sentence."""

from collections.abc import Sequence

import numpy as np
import pytest
from case_tables import each_case
from fakes import WordEmbedder

from ragassay.errors import SettingsError
from ragassay.model_names import MINILM_VERIFIER
from ragassay.models.correctness import (
    COSINE,
    JUDGE,
    CosineCorrectness,
    EntailmentCorrectness,
    open_correctness_model,
)
from ragassay.models.embeddings import Embedder
from ragassay.models.verifiers import load_minilm_verifier
from ragassay.records import Bound


@pytest.mark.integration
def test_the_cosine_is_a_model_of_correctness(tmp_path):
    model = open_correctness_model(COSINE, Embedder(), tmp_path)
    assert isinstance(model, CosineCorrectness)
    same, other = model.score_pairs([("Gout.", "Gout."), ("Gout.", "The train was late.")])
    assert same == pytest.approx(1, abs=1e-5)
    assert other < model.threshold
    assert model.score_pairs([]).shape == (0,)


def test_the_setting_names_the_model(tmp_path):
    embedder = Embedder()
    assert open_correctness_model(JUDGE, embedder, tmp_path) is None
    found = open_correctness_model(MINILM_VERIFIER, embedder, tmp_path)
    assert isinstance(found, EntailmentCorrectness)
    assert found.name == load_minilm_verifier().name
    with pytest.raises(SettingsError, match="not a correctness classifier"):
        open_correctness_model(str(tmp_path / "none.json"), embedder, tmp_path)


def test_a_cosine_counts_from_the_threshold_of_its_embedder_or_of_the_setting(tmp_path):
    simcse = Embedder("princeton-nlp/sup-simcse-roberta-large")
    for name, threshold in (("cosine", 0.75), ("cosine:0.6", 0.6), ("cosine:-0.1", -0.1)):
        model = open_correctness_model(name, simcse, tmp_path)
        assert model is not None and model.threshold == threshold
    for wrong in ("cosine:high", "cosine:1.5", "cosine:nan"):
        with pytest.raises(SettingsError, match="pass a cosine from -1 to 1"):
            open_correctness_model(wrong, simcse, tmp_path)


def bound(label: str, threshold: float | None = 0.8, **given: float) -> Bound:
    return Bound(label=label, threshold=threshold, risk=0.2, delta=0.1, n=100, **given)


class Fixed:
    """Gives the probabilities of each pair in their order."""

    name, digest = "fixed", ""

    def __init__(self, *rows: tuple[float, float, float], bounds: Sequence[Bound] = ()) -> None:
        self.rows, self.bounds = rows, tuple(bounds)

    def predict_probabilities(self, pairs):
        return np.array(self.rows)


SURE, UNSURE, OTHER = (0.9, 0.05, 0.05), (0.6, 0.2, 0.2), (0.05, 0.05, 0.9)


@each_case(
    ("rows", "is_doubted"),
    [
        ([SURE], False),
        ([UNSURE], True),
        ([OTHER], False),
        # One that surely supports is enough; one that might, or might not, leaves it open.
        ([UNSURE, SURE], False),
        ([OTHER, UNSURE], True),
        ([OTHER, (0.3, 0.1, 0.6)], True),
        # No bound is known for contradictions.
        ([(0.3, 0.5, 0.2)], False),
    ],
)
def test_correctness_is_in_doubt_where_the_verifier_could_not_tell(rows, is_doubted):
    pairs = [("Gout.", f"Passage {n}.") for n in range(len(rows))]
    verifier = Fixed(*rows, bounds=(bound("supports"), bound("neutral")))
    doubt = EntailmentCorrectness(verifier).find_doubt(pairs)
    assert (doubt.reason if doubt else None) == ("undecided" if is_doubted else None)
    assert EntailmentCorrectness(Fixed(*rows)).find_doubt(pairs) is None, "it has no bounds"


@pytest.mark.parametrize("sentence", ["Gout hurts.", "The train was late."])
def test_support_needs_a_close_sentence_where_its_bound_says_so(sentence):
    verifier = Fixed(SURE, bounds=[bound("supports", 0.5, least_cosine=0.75)])
    pair = ("Gout hurts.", f"A title.\n{sentence}")
    doubt = EntailmentCorrectness(verifier, WordEmbedder()).find_doubt([pair])
    assert (doubt is None) == (sentence == "Gout hurts.")
    # Nothing is close where nobody measures it.
    assert EntailmentCorrectness(verifier).find_doubt([pair]) is not None


@each_case(
    ("claim", "others", "is_sure"),
    [
        ("Pain fell by 2 days.", [], True),
        ("Pain fell by 3 days.", [], False),
        ("Pain rose by 2 days.", [], False),
        ("Pain fell by 3 days.", ["A title.\nIn women pain fell by 3 days."], True),
    ],
)
def test_a_passage_with_another_number_or_direction_supports_nothing(claim, others, is_sure):
    pairs = [(claim, text) for text in ("A title.\nPain fell by 2 days.", *others)]
    verifier = Fixed(*[SURE] * len(pairs), bounds=[bound("contradicts", None)])
    doubt = EntailmentCorrectness(verifier).find_doubt(pairs)
    assert (doubt is None) == is_sure
    assert is_sure or 'label "contradicts"' in doubt.detail
