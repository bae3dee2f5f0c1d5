"""Edits of supported claims, whose labels follow from what was edited."""

from __future__ import annotations

import random

from lazy import LazyModule

from ragassay.models.entailment import CONTRADICTS, SUPPORTS
from ragassay.optimizers.finetuning.adapting import compute_partial_loss
from ragassay.optimizers.finetuning.claims import NOT_CONTRADICTED, LabelledClaim
from training.edits import edited

torch = LazyModule("torch")

SENTENCES = ("The trial had 300 patients.", "Alpha reduced pain by 7 days.", "It was safe.")


def kinds(text: str) -> dict[str, set[int]]:
    claim = LabelledClaim(text, "", SENTENCES, (), SUPPORTS, "g")
    found: dict[str, set[int]] = {}
    for made in edited(claim, [1, 0, 2], random.Random(0)):
        assert made.claim.claim != text or made.claim.sentences != SENTENCES
        found.setdefault(made.kind, set()).add(made.claim.label)
    return found


def test_an_edit_counts_where_the_document_has_what_was_edited():
    found = kinds("Alpha reduced pain by 7 days in patients.")
    assert found["number"] == found["direction"] == found["source number"] == {CONTRADICTS}
    assert found["both number"] == {SUPPORTS}
    # No sentence has a 9, or says that anything was common.
    assert not {"number", "direction"} & set(kinds("Alpha is common after 9 days."))


def test_of_an_open_label_only_the_contradiction_is_wrong():
    logits = torch.tensor([[4.0, 0.0, 0.0], [0.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    losses = [
        float(compute_partial_loss(row[None], torch.tensor([NOT_CONTRADICTED]), 0.0))
        for row in logits
    ]
    assert max(losses[:2]) < 0.1 and losses[2] > 3
