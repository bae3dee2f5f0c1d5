"""What a verifier learns from: claims as labelled, their contraries, documents of others."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import WordEmbedder

from ragassay.errors import InputError
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.optimizers.claims import NOT_RELEVANT, LabelledClaim, split_scifact
from ragassay.optimizers.finetuning.examples import ChatExample
from ragassay.optimizers.finetuning.verifier_data import (
    read_claims,
    read_verifier_examples,
    verifier_examples,
    write_claims,
)

DOCUMENT = (
    "Alpha gave higher pressure.",
    "Alpha gave a rash.",
    "Alpha gave some relief.",
    "Alpha gave them sleep.",
    "The rest was silence.",
)


def claim(
    text: str, label: int, rationale: tuple[int, ...] = (), group: str = "a"
) -> LabelledClaim:
    return LabelledClaim(text, "", DOCUMENT, rationale, label, group)


def made(*claims: LabelledClaim, seed: int = 0) -> list[ChatExample]:
    return verifier_examples(claims, WordEmbedder(), seed=seed)  # type: ignore[arg-type]


def asked(example: ChatExample) -> str:
    return example.messages[-1][1]


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def labels(examples: list[ChatExample], kind: str = "") -> list[str]:
    """Labels of one kind of passage, in their order."""
    chosen = [e for e in examples if e.kind.partition(", ")[2] == kind]
    return [json.loads(example.reply)["label"] for example in chosen]


def test_a_claim_is_learnt_beside_what_is_closest_to_it() -> None:
    [found] = made(claim("Alpha gave relief.", NEUTRAL))
    assert json.loads(found.reply) == {"label": "neutral"} and found.group == "a"
    assert "\n".join(DOCUMENT[:4]) in asked(found) and DOCUMENT[4] not in asked(found)


def test_what_supports_a_claim_contradicts_its_contrary() -> None:
    found = made(claim("Alpha gave higher pressure.", SUPPORTS, (0,)))
    assert labels(found) == ["supports"] and labels(found, "turned") == ["contradicts"]
    turned = next(e for e in found if e.kind == "contradicts, turned")
    assert turned.group == "a" and "Alpha gave higher pressure." in asked(turned)


def test_only_a_turned_direction_makes_support_of_a_contradiction() -> None:
    both = made(claim("Alpha gave lower pressure.", CONTRADICTS, (0,)))
    assert labels(both) == ["contradicts"] and labels(both, "turned") == ["supports"]
    assert "\nAlpha gave higher pressure.\n" in asked(both[-1])
    assert labels(made(claim("Alpha does not help.", CONTRADICTS)), "turned") == []


def test_marked_sentences_are_read_where_others_are_closer() -> None:
    found = made(claim("Alpha gave.", SUPPORTS, (4,)))
    assert labels(found) == ["supports"] and "silence" in asked(found[0])


def test_marks_are_counted_without_the_title() -> None:
    titled = LabelledClaim("Alpha gave.", "Omega", DOCUMENT, (4,), SUPPORTS, "a")
    last = made(titled)[-1]
    assert "silence" in asked(last) and "Omega" not in asked(last)
    assert json.loads(last.reply) == {"label": "supports"}


def test_claims_beside_documents_of_other_groups_are_of_another_subject() -> None:
    claims = [claim(f"Beta {n} is.", NEUTRAL, group=str(n)) for n in range(60)]
    found = Counter(example.kind for example in made(*claims))
    # One of ten claims whose drawn partner is of another group: 59 of 60 are.
    assert 1 <= found["not_relevant, foreign"] <= 18
    assert found["neutral"] == 60 and len(found) == 2
    alone = made(*[claim(f"Beta {n} is.", NEUTRAL) for n in range(60)])
    assert {example.kind for example in alone} == {"neutral"}


def test_the_same_seed_makes_the_same_examples() -> None:
    claims = [claim(f"Alpha {n} gave higher pressure.", SUPPORTS, group=str(n)) for n in range(20)]
    assert made(*claims, seed=3) == made(*claims, seed=3) != made(*claims, seed=4)


def test_no_claims_make_no_examples() -> None:
    assert made() == []


def test_rows_of_several_collections_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "claims.jsonl",
        {
            "claim": "A helps.",
            "title": "On A",
            "abstract": "A helps. It is cheap.",
            "label": "SUPPORT",
            "evidence_sentences": [0],
        },
        {"claim": "B helps.", "evidence": "B harms.", "label": "Refutes"},
        {"claim": "C helps.", "sentences": ["Tea.", "Milk."], "label": "not_relevant"},
    )
    claims, rejections = read_claims(path)
    assert not rejections
    assert [c.label for c in claims] == [SUPPORTS, CONTRADICTS, NOT_RELEVANT]
    assert claims[0].sentences == ("A helps.", "It is cheap.") and claims[0].rationale == (0,)
    assert claims[0].title == "On A" and claims[2].sentences == ("Tea.", "Milk.")


def test_claims_that_share_a_document_or_a_text_are_of_one_group(tmp_path: Path) -> None:
    rows = [("A.", "One."), ("B.", "One."), ("B.", "Two."), ("C.", "Three.")]
    path = write(
        tmp_path / "claims.jsonl",
        *({"claim": c, "evidence": e, "label": "neutral"} for c, e in rows),
    )
    groups = [c.group for c in read_claims(path)[0]]
    assert len(set(groups[:3])) == 1 and groups[3] not in groups[:3]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"claim": "A.", "evidence": "B.", "label": "perhaps"}, "label"),
        ({"claim": "A.", "label": "neutral"}, "evidence"),
        ({"claim": "", "evidence": "B.", "label": "neutral"}, "claim"),
        (
            {"claim": "A.", "evidence": "B.", "label": "neutral", "evidence_sentences": [1]},
            "evidence_sentences",
        ),
    ],
)
def test_a_bad_row_is_named_and_the_rest_is_read(
    row: dict[str, object], field: str, tmp_path: Path
) -> None:
    good = {"claim": "A.", "evidence": "B.", "label": "neutral"}
    claims, rejections = read_claims(write(tmp_path / "claims.jsonl", row, good))
    assert len(claims) == 1
    assert [rejection.field for rejection in rejections] == [field]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl"):
        read_claims(tmp_path / "none.jsonl")


def test_written_claims_are_read_as_they_were(tmp_path: Path) -> None:
    claims = [
        LabelledClaim("Alpha gave relief.", "On \u03b1", DOCUMENT, (2,), SUPPORTS, ""),
        claim("Beta.", NEUTRAL, group=""),
        claim("Gamma.", NOT_RELEVANT, group=""),
    ]
    write_claims(claims, tmp_path / "claims.jsonl")
    read, rejections = read_claims(tmp_path / "claims.jsonl")
    assert [replace(c, group="") for c in read] == claims and not rejections


def test_files_that_share_a_claim_share_its_group(tmp_path: Path) -> None:
    write_claims([claim("Alpha.", NEUTRAL)], tmp_path / "a.jsonl")
    other = LabelledClaim("Alpha.", "", ("Zinc rose.",), (), NEUTRAL, "")
    write_claims([other, replace(other, claim="Zinc.")], tmp_path / "b.jsonl")
    write_claims([replace(other, claim="Gold.", sentences=("Tea.",))], tmp_path / "c.jsonl")
    paths = [tmp_path / f"{name}.jsonl" for name in "abc"]
    found, rejections = read_verifier_examples(paths, WordEmbedder())  # type: ignore[arg-type]
    plain = [example.group for example in found if example.kind == "neutral"]
    assert len(set(plain[:3])) == 1 and plain[3] != plain[0] and not rejections


def test_the_claims_that_verifiers_are_measured_on_are_not_written(
    shared: Path, tmp_path: Path
) -> None:
    train, held = split_scifact(shared)
    write_claims(train, tmp_path / "claims.jsonl")
    written = {c.claim for c in read_claims(tmp_path / "claims.jsonl")[0]}
    assert len(written) > 500 and not written & {c.claim for c in held}
