"""Training pairs as BioACE makes them."""

from __future__ import annotations

from ragassay.models.entailment import CONTRADICTS, SUPPORTS
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.records import Document
from training.bioasq import BioasqAnswer, FragmentSearch
from training.correctness import CORRECT, INCORRECT, bioasq_pairs, scifact_pairs

ABSTRACT = (
    "Mice were bred.",
    "Drug alpha lowered pressure in mice.",
    "Drug alpha was given by mouth.",
    "Pressure was read daily.",
    "Drug alpha lowers pressure.",
)


def claim(rationale: tuple[int, ...], label: int = SUPPORTS) -> LabelledClaim:
    return LabelledClaim("Drug alpha lowers pressure.", "", ABSTRACT, rationale, label, "g1")


def test_the_span_is_correct_and_the_best_fragment_without_it_is_not():
    pairs = scifact_pairs([claim((4,))])
    assert [(p.passage, p.label) for p in pairs] == [
        (ABSTRACT[4], CORRECT),
        # Of the fragments 0-2 and 1-3, which are free of sentence 4, the second has "pressure"
        # twice and all else as often.
        (" ".join(ABSTRACT[1:4]), INCORRECT),
    ]


def test_a_fragment_that_shares_a_sentence_with_the_span_is_not_taken():
    # Every run of three sentences holds the third.
    assert [p.label for p in scifact_pairs([claim((2,))])] == [CORRECT]


def test_claims_that_are_not_supported_make_no_pair():
    assert scifact_pairs([claim((4,), CONTRADICTS), claim(())]) == []


def test_bioasq_takes_its_incorrect_fragment_from_another_question():
    own = Document(id="1", text="Alpha lowers blood pressure in adults.")
    other = Document(id="2", text="Alpha has been seen in the blood of cats.")
    answer = BioasqAnswer("Does alpha lower blood pressure?", ("Alpha lowers it.",), (own,), "q1")
    pairs = bioasq_pairs([answer], FragmentSearch([own, other]))
    assert [(p.passage, p.label, p.group) for p in pairs] == [
        (own.text, CORRECT, "q1"),
        (other.text, INCORRECT, "q1"),
    ]
