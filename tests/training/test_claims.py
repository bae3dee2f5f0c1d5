"""How the sets of labelled claims are read, split, written, edited and paired."""

from __future__ import annotations

import random
from dataclasses import replace

from case_tables import each_case
from lazy import LazyModule

from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.adapting import compute_partial_loss
from ragassay.optimizers.finetuning.claims import (
    NOT_CONTRADICTED,
    NOT_RELEVANT,
    LabelledClaim,
    read_claims,
)
from ragassay.records import Document
from training.bioasq import BioasqAnswer, FragmentSearch
from training.claims import held_out, remove_citations, split_scifact, write_claims
from training.correctness import CORRECT, INCORRECT, bioasq_pairs, scifact_pairs
from training.edits import edited


@each_case(
    ("text", "wanted"),
    [
        # What follows a mark is the sentence, whether or not a bracket comes later.
        ("<|cit|> In a trial (n = 40), it fell.", "In a trial (n = 40), it fell."),
        ("It fell.<|cit|> Liu et al. show why.", "It fell. Liu et al. show why."),
        ("It fell,<|other_cit|> rose<|multi_cit|> and fell.", "It fell, rose and fell."),
        # The brackets around a mark hold other citations.
        ("It fell [<|cit|>].", "It fell."),
        ("It fell (Lee et al., <|other_cit|>; Ito, <|cit|>) again.", "It fell again."),
        ("It fell (by 2%) (<|multi_cit|>).", "It fell (by 2%)."),
        ("Nothing is cited (here).", "Nothing is cited (here)."),
        ("<|cit|>", ""),
    ],
)
def test_citations_are_left_out_and_the_sentence_stays(text, wanted):
    assert remove_citations(text) == wanted


def test_held_out_groups_are_whole_and_repeat():
    claims = [
        LabelledClaim("Alpha.", "", ("One.",), marked, SUPPORTS, "g1") for marked in ((4,), ())
    ]
    assert held_out(claims, 1.0, 0) == {"g1": True}
    assert held_out(claims, 0.0, 0) == {"g1": False}


def test_written_claims_are_read_as_they_were(tmp_path):
    claims = [
        LabelledClaim("Alpha rose.", "On \u03b1", ("One.", "Two."), (1,), SUPPORTS, ""),
        LabelledClaim("Beta.", "", ("One.",), (), NEUTRAL, ""),
        LabelledClaim("Gamma.", "", ("One.",), (), NOT_RELEVANT, ""),
    ]
    write_claims(claims, tmp_path / "claims.jsonl")
    read, rejections = read_claims(tmp_path / "claims.jsonl")
    assert [replace(c, group="") for c in read] == claims and not rejections


def test_the_claims_that_verifiers_are_measured_on_are_not_written(shared, tmp_path):
    train, held = split_scifact(shared)
    write_claims(train, tmp_path / "claims.jsonl")
    written = {c.claim for c in read_claims(tmp_path / "claims.jsonl")[0]}
    assert len(written) > 500 and not written & {c.claim for c in held}


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


ABSTRACT = (
    "Mice were bred.",
    "Drug alpha lowered pressure in mice.",
    "Drug alpha was given by mouth.",
    "Pressure was read daily.",
    "Drug alpha lowers pressure.",
)


def claim(rationale: tuple[int, ...], label: int = SUPPORTS) -> LabelledClaim:
    return LabelledClaim("Drug alpha lowers pressure.", "", ABSTRACT, rationale, label, "g1")


def test_the_span_of_a_supported_claim_is_correct_and_the_best_fragment_without_it_is_not():
    pairs = scifact_pairs([claim((4,)), claim((2,)), claim((4,), CONTRADICTS), claim(())])
    assert [(p.passage, p.label) for p in pairs] == [
        (ABSTRACT[4], CORRECT),
        # Of the fragments 0-2 and 1-3, which are free of sentence 4, the second has "pressure"
        # twice and all else as often.
        (" ".join(ABSTRACT[1:4]), INCORRECT),
        # Every fragment of three sentences has the third.
        (ABSTRACT[2], CORRECT),
    ]


def test_bioasq_takes_its_incorrect_fragment_from_another_question():
    own = Document(id="1", text="Alpha lowers blood pressure in adults.")
    other = Document(id="2", text="Alpha has been seen in the blood of cats.")
    answer = BioasqAnswer("Does alpha lower blood pressure?", ("Alpha lowers it.",), (own,), "q1")
    pairs = bioasq_pairs([answer], FragmentSearch([own, other]))
    assert [(p.passage, p.label, p.group) for p in pairs] == [
        (own.text, CORRECT, "q1"),
        (other.text, INCORRECT, "q1"),
    ]
