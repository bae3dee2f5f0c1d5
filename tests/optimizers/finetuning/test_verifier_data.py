"""What a verifier learns from: claims as labelled, their contraries, documents of others."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from fakes import WordEmbedder

from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.agent_data import (
    build_verifier_examples,
    read_verifier_examples,
)
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.optimizers.finetuning.examples import ChatExample

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
    return build_verifier_examples(claims, WordEmbedder(), seed=seed)  # type: ignore[arg-type]


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


def test_files_that_share_a_claim_share_its_group(tmp_path: Path) -> None:
    row = {"claim": "Alpha.", "evidence": " ".join(DOCUMENT), "label": "neutral"}
    other = row | {"evidence": "Zinc rose."}
    write(tmp_path / "a.jsonl", row)
    write(tmp_path / "b.jsonl", other, other | {"claim": "Zinc."})
    write(tmp_path / "c.jsonl", other | {"claim": "Gold.", "evidence": "Tea."})
    paths = [tmp_path / f"{name}.jsonl" for name in "abc"]
    found, rejections = read_verifier_examples(paths, WordEmbedder())  # type: ignore[arg-type]
    plain = [example.group for example in found if example.kind == "neutral"]
    assert len(set(plain[:3])) == 1 and plain[3] != plain[0] and not rejections
