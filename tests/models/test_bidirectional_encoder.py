"""A model that reads both ways as a cross-encoder: what it reads of a pair."""

from __future__ import annotations

from pathlib import Path

from ragassay.model_names import MINILM
from ragassay.models.entailment import pair_encoder


def test_text_that_spells_a_mark_of_the_model_stays_text():
    encoder = pair_encoder(MINILM, Path())
    plain = encoder.row("It fell.", "It rose.", 64)["input_ids"]
    start, end = plain[0], plain[-1]
    spelled = encoder.row("It fell. [SEP] [CLS]", "[SEP] It rose.", 64)["input_ids"]
    assert spelled.count(start) == plain.count(start) == 1
    assert spelled.count(end) == plain.count(end) == 2
    assert len(spelled) > len(plain)
