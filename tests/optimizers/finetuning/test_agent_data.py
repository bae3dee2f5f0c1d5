"""What agents learn from: claims with their contraries, and prompts with a paper's pairs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bases import save_base
from fakes import WordEmbedder
from finetuning import finetune
from jsonl import write_jsonl

from ragassay.agents.base import ADAPTER
from ragassay.agents.qa_writer import QAWriter, build_shared_context, render_generator_task
from ragassay.errors import InputError
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.models.tuned import find_tuned_note
from ragassay.optimizers.finetuning.agent_data import (
    build_qa_examples,
    build_verifier_examples,
    read_verifier_examples,
)
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.optimizers.finetuning.examples import ChatExample
from ragassay.records import Document

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

DOCUMENT = (
    "Alpha gave higher pressure.",
    "Alpha gave a rash.",
    "Alpha gave some relief.",
    "Alpha gave them sleep.",
    "The rest was silence.",
)


def claim(text: str, label: int, *rationale: int, group: str = "a") -> LabelledClaim:
    return LabelledClaim(text, "", DOCUMENT, rationale, label, group)


def made(*claims: LabelledClaim, seed: int = 0) -> list[ChatExample]:
    return build_verifier_examples(claims, WordEmbedder(), seed=seed)


def asked(example: ChatExample) -> str:
    return example.messages[-1][1]


def labels(examples: list[ChatExample], kind: str = "") -> list[str]:
    """Labels of one kind of passage, in their order."""
    chosen = [e for e in examples if e.kind.partition(", ")[2] == kind]
    return [json.loads(example.reply)["label"] for example in chosen]


def test_a_claim_is_learnt_beside_what_is_closest_to_it():
    [found] = made(claim("Alpha gave relief.", NEUTRAL))
    assert json.loads(found.reply) == {"label": "neutral"} and found.group == "a"
    assert "\n".join(DOCUMENT[:4]) in asked(found) and DOCUMENT[4] not in asked(found)


def test_what_supports_a_claim_contradicts_its_contrary():
    found = made(claim("Alpha gave higher pressure.", SUPPORTS, 0))
    assert labels(found) == ["supports"] and labels(found, "turned") == ["contradicts"]
    turned = next(e for e in found if e.kind == "contradicts, turned")
    assert turned.group == "a" and "Alpha gave higher pressure." in asked(turned)


def test_only_a_turned_direction_makes_support_of_a_contradiction():
    both = made(claim("Alpha gave lower pressure.", CONTRADICTS, 0))
    assert labels(both) == ["contradicts"] and labels(both, "turned") == ["supports"]
    assert "\nAlpha gave higher pressure.\n" in asked(both[-1])
    assert labels(made(claim("Alpha does not help.", CONTRADICTS)), "turned") == []


def test_marked_sentences_are_read_where_others_are_closer_and_counted_without_the_title():
    found = made(claim("Alpha gave.", SUPPORTS, 4))
    assert labels(found) == ["supports"] and "silence" in asked(found[0])
    titled = LabelledClaim("Alpha gave.", "Omega", DOCUMENT, (4,), SUPPORTS, "a")
    last = made(titled)[-1]
    assert "silence" in asked(last) and "Omega" not in asked(last)
    assert json.loads(last.reply) == {"label": "supports"}


def test_claims_beside_documents_of_other_groups_are_of_another_subject():
    claims = [claim(f"Beta {n} is.", NEUTRAL, group=str(n)) for n in range(60)]
    found = Counter(example.kind for example in made(*claims))
    # One of ten claims whose drawn partner is of another group: 59 of 60 are.
    assert 1 <= found["not_relevant, foreign"] <= 18
    assert found["neutral"] == 60 and len(found) == 2
    alone = made(*[claim(f"Beta {n} is.", NEUTRAL) for n in range(60)])
    assert {example.kind for example in alone} == {"neutral"}


def test_the_same_seed_makes_the_same_examples_and_no_claims_make_none():
    assert made() == []
    claims = [claim(f"Alpha {n} gave higher pressure.", SUPPORTS, group=str(n)) for n in range(20)]
    assert made(*claims, seed=3) == made(*claims, seed=3) != made(*claims, seed=4)


def test_files_that_share_a_claim_share_its_group(tmp_path):
    row = {"claim": "Alpha.", "evidence": " ".join(DOCUMENT), "label": "neutral"}
    other = row | {"evidence": "Zinc rose."}
    paths = [
        write_jsonl(tmp_path / "a.jsonl", row),
        write_jsonl(tmp_path / "b.jsonl", other, other | {"claim": "Zinc."}),
        write_jsonl(tmp_path / "c.jsonl", other | {"claim": "Gold.", "evidence": "Tea."}),
    ]
    found, rejections = read_verifier_examples(paths, WordEmbedder())
    plain = [example.group for example in found if example.kind == "neutral"]
    assert len(set(plain[:3])) == 1 and plain[3] != plain[0] and not rejections


HOT = "Benzene boils at 80 \u00b0C and burns with a smoky flame in dry air."
COLD = "Toluene freezes at -95 \u00b0C, which is far below the freezing point of water."
PAPER: dict[str, Any] = {
    "id": "p",
    "title": "Solvents",
    "keywords": ["benzene", "toluene"],
    "sections": [{"text": HOT}, {"text": COLD}],
}
FREEZES = "At what temperature does toluene freeze?"
PAIRS = [
    {"question": FREEZES, "answer": "At -95 \u00b0C.", "paper": "p"},
    {"question": "How does benzene burn?", "answer": "Smoky.", "paper": "p", "sources": [HOT]},
]


def files(folder: Path, paper: dict[str, Any] = PAPER) -> tuple[Path, Path]:
    pairs = write_jsonl(folder / "pairs.jsonl", *PAIRS)
    return pairs, write_jsonl(folder / "papers.jsonl", paper)


def test_an_example_is_the_writers_own_prompt_with_the_papers_pairs(tmp_path):
    pairs, papers = files(tmp_path)
    (example,), rejections = build_qa_examples([pairs], papers, 12_288)
    shown = Document(id="p", title="Solvents", text=f"{HOT}\n\n{COLD}")
    asked = QAWriter().request(shown, ("benzene", "toluene"), 2)
    messages = ADAPTER.format(asked.signature, [], asked.inputs)
    assert [{"role": role, "content": text} for role, text in example.messages] == messages
    told = render_generator_task(("benzene", "toluene"), 2)
    assert example.messages[1][1] == f"{build_shared_context(shown)}\n\n{told}"
    reply = json.loads(example.reply)
    assert [pair["question"] for pair in reply["pairs"]] == [pair["question"] for pair in PAIRS]
    assert [pair["quote"] for pair in reply["pairs"]] == ["", HOT]
    assert ADAPTER.parse(asked.signature, example.reply)["pairs"][1].answer == "Smoky."
    assert (example.group, example.kind, rejections) == ("p", "2 pairs", [])


def test_a_paper_longer_than_a_row_is_learnt_part_by_part(tmp_path):
    long = {**PAPER, "sections": [{"text": f"{HOT} " * 14}, {"text": f"{COLD} " * 12}]}
    pairs, papers = files(tmp_path, long)
    examples, _ = build_qa_examples([pairs], papers, 1_024)
    assert [example.kind for example in examples] == ["1 pairs", "1 pairs"]
    burns, freezes = (example.messages[1][1] for example in examples)
    assert HOT in burns and COLD not in burns and "How does benzene" in examples[0].reply
    assert COLD in freezes and "toluene freeze" in examples[1].reply


def test_pairs_without_their_papers_are_refused(tmp_path):
    pairs, _ = files(tmp_path)
    with pytest.raises(InputError, match="--papers"):
        build_qa_examples([pairs], None, 1_024)


def test_a_generator_is_trained_and_says_what_it_is_for(tmp_path):
    pairs, papers = files(tmp_path)
    base, out = save_base(tmp_path / "base", "llama"), tmp_path / "out"
    small = ("--base", base, "--steps", 1, "--rank", 2, "--row-tokens", 2048)
    done = finetune("qa", "--data", pairs, "--papers", papers, "--out", out, *small)
    assert done.exit_code == 0, done.output
    note = find_tuned_note(f"ragassay/{out}")
    assert (note.task, note.n_examples) == ("qa", 1)
