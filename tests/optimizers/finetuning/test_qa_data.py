"""What a generator of question-answer pairs learns from: the prompt that it will be asked with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bases import save_base
from typer.testing import CliRunner

from ragassay.agents.base import ADAPTER
from ragassay.agents.qa_writer import QAWriter, build_shared_context, render_generator_task
from ragassay.cli import app
from ragassay.errors import InputError
from ragassay.models.tuned import find_tuned_note
from ragassay.optimizers.finetuning.agent_data import build_qa_examples
from ragassay.records import Document

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

HOT = "Benzene boils at 80 \u00b0C and burns with a smoky flame in dry air."
COLD = "Toluene freezes at -95 \u00b0C, which is far below the freezing point of water."
PAPER: dict[str, Any] = {
    "id": "p",
    "title": "Solvents",
    "keywords": ["benzene", "toluene"],
    "sections": [{"text": HOT}, {"text": COLD}],
}
PAIRS = [
    {
        "question": "At what temperature does toluene freeze?",
        "answer": "At -95 \u00b0C.",
        "paper": "p",
    },
    {"question": "How does benzene burn?", "answer": "Smoky.", "paper": "p", "sources": [HOT]},
]


def files(folder: Path, paper: dict[str, Any] = PAPER) -> tuple[Path, Path]:
    pairs, papers = folder / "pairs.jsonl", folder / "papers.jsonl"
    pairs.write_text("".join(json.dumps(pair) + "\n" for pair in PAIRS))
    papers.write_text(json.dumps(paper) + "\n")
    return pairs, papers


def test_an_example_is_the_writers_own_prompt_with_the_papers_pairs(tmp_path: Path) -> None:
    pairs, papers = files(tmp_path)
    (example,), rejections = build_qa_examples([pairs], papers, 12_288)
    shown = Document(id="p", title="Solvents", text=f"{HOT}\n\n{COLD}")
    asked = QAWriter().request(shown, ("benzene", "toluene"), 2)
    messages = ADAPTER.format(asked.signature, [], asked.inputs)
    assert [
        dict(zip(("role", "content"), one, strict=True)) for one in example.messages
    ] == messages
    told = render_generator_task(("benzene", "toluene"), 2)
    assert example.messages[1][1] == f"{build_shared_context(shown)}\n\n{told}"
    reply = json.loads(example.reply)
    assert [pair["question"] for pair in reply["pairs"]] == [pair["question"] for pair in PAIRS]
    assert [pair["quote"] for pair in reply["pairs"]] == ["", HOT]
    assert ADAPTER.parse(asked.signature, example.reply)["pairs"][1].answer == "Smoky."
    assert (example.group, example.kind, rejections) == ("p", "2 pairs", [])


def test_a_paper_longer_than_a_row_is_learnt_part_by_part(tmp_path: Path) -> None:
    long = {**PAPER, "sections": [{"text": f"{HOT} " * 14}, {"text": f"{COLD} " * 12}]}
    examples, _ = build_qa_examples([files(tmp_path, long)[0]], tmp_path / "papers.jsonl", 1_024)
    assert [example.kind for example in examples] == ["1 pairs", "1 pairs"]
    burns, freezes = (example.messages[1][1] for example in examples)
    assert HOT in burns and COLD not in burns and "How does benzene" in examples[0].reply
    assert COLD in freezes and "toluene freeze" in examples[1].reply


def test_pairs_without_their_papers_are_refused(tmp_path: Path) -> None:
    pairs, _ = files(tmp_path)
    with pytest.raises(InputError, match="--papers"):
        build_qa_examples([pairs], None, 1_024)


def test_a_generator_is_trained_and_says_what_it_is_for(tmp_path: Path) -> None:
    pairs, papers = files(tmp_path)
    base = Path(save_base(tmp_path / "base", "llama"))
    arguments = (
        "finetune", "qa", "--data", pairs, "--papers", papers, "--base", base,
        "--out", tmp_path / "out", "--steps", 1, "--rank", 2, "--row-tokens", 2048,
    )  # fmt: skip
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    note = find_tuned_note(f"ragassay/{tmp_path / 'out'}")
    assert note is not None and (note.task, note.n_examples) == ("qa", 1)
