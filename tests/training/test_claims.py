"""How the sets of labelled claims are read, split and written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from case_tables import each_case

from ragassay.models.entailment import NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.claims import NOT_RELEVANT, LabelledClaim, read_claims
from training.claims import held_out, remove_citations, split_scifact, write_claims


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
def test_citations_are_left_out_and_the_sentence_stays(text: str, wanted: str):
    assert remove_citations(text) == wanted


def test_held_out_groups_are_whole_and_repeat():
    claims = [
        LabelledClaim("Alpha.", "", ("One.",), marked, SUPPORTS, "g1") for marked in ((4,), ())
    ]
    assert held_out(claims, 1.0, 0) == {"g1": True}
    assert held_out(claims, 0.0, 0) == {"g1": False}


def test_written_claims_are_read_as_they_were(tmp_path: Path) -> None:
    claims = [
        LabelledClaim("Alpha rose.", "On \u03b1", ("One.", "Two."), (1,), SUPPORTS, ""),
        LabelledClaim("Beta.", "", ("One.",), (), NEUTRAL, ""),
        LabelledClaim("Gamma.", "", ("One.",), (), NOT_RELEVANT, ""),
    ]
    write_claims(claims, tmp_path / "claims.jsonl")
    read, rejections = read_claims(tmp_path / "claims.jsonl")
    assert [replace(c, group="") for c in read] == claims and not rejections


def test_the_claims_that_verifiers_are_measured_on_are_not_written(
    shared: Path, tmp_path: Path
) -> None:
    train, held = split_scifact(shared)
    write_claims(train, tmp_path / "claims.jsonl")
    written = {c.claim for c in read_claims(tmp_path / "claims.jsonl")[0]}
    assert len(written) > 500 and not written & {c.claim for c in held}
