"""`ragassay qa generate`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import calls
import pytest
from calls import judged_by
from rows import write_rows

from ragassay.formats.papers import read_pairs
from ragassay.graphs.qa_state import FlawKind, QAEnd
from ragassay.qa.commands.pairs import ENDS, FLAWS
from ragassay.testing import Fault, ScriptedModel

run = partial(calls.run, "qa", "generate")

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("no_embedding_model")]

FACT = "The boiling point of benzene is 80 \u00b0C, which is a little less than that of water."
PAIR = {
    "question": "At which temperature does benzene boil?",
    "answer": "The boiling point of benzene is 80 \u00b0C, less than that of water.",
    "quote": FACT,
}
POINTING = {**PAIR, "question": "What does Figure 2 of this paper show about benzene?"}


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    row = {"keywords": ["benzene"], "sections": [{"text": FACT}]}
    rows = [row | {"id": name, "title": name} for name in ("p1", "p2")]
    return write_rows(tmp_path / "papers.jsonl", rows)


def test_a_model_writes_and_repairs(papers: Path, tmp_path: Path) -> None:
    def reply(messages, schema):
        return {"pairs": [PAIR if "faulty: " in messages[-1]["content"] else POINTING]}

    out = tmp_path / "pairs.jsonl"
    with ScriptedModel(reply) as model:
        shown, _ = run(papers, "--n", 1, "--out", out, "--quiet", *judged_by(model))
    assert "2 pairs from 2 papers\n2 of them repaired\n4 model calls" in shown
    first, second = read_pairs(out).pairs
    assert (first.id, second.id, first.question) == ("p1/1", "p2/1", PAIR["question"])


def test_what_was_left_out_and_what_failed_is_said(papers: Path, tmp_path: Path) -> None:
    faults = [Fault("junk", contains="\np2\n", attempts=None)]
    given = (papers, "--n", 1, "--rounds", 0, "--out", tmp_path / "pairs.jsonl", "--quiet")
    with ScriptedModel(lambda m, s: {"pairs": [POINTING]}, faults=faults) as model:
        shown, told = run(*given, *judged_by(model), code=3)
    assert "0 pairs from 0 papers\n1 dropped: pair refers to the paper" in shown
    assert "1 paper still had flawed or missing pairs after --rounds" in told
    assert "p2: 0 pairs: unparsable" in told


def test_bad_use_is_one_line(papers: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    for more in ((), ("--evaluator", "openai/x"), ("--baseline", "self-questioning")):
        _, told = run(papers, "--out", out, *more, code=1)
        (line,) = told.splitlines()
        assert line.startswith("error: writing question-answer pairs requires a model")
    _, told = run(papers, "--out", out, "--model", "openai/a", "--model", "openai/b", code=1)
    assert "pairs are written by a single model, got openai/a, openai/b" in told
    with ScriptedModel() as model:
        _, told = run(tmp_path / "absent", "--out", out, *judged_by(model), code=1)
    assert "absent" in told and not out.exists()


def test_every_flaw_and_every_early_end_has_a_name() -> None:
    assert set(FLAWS) == set(FlawKind.__args__)  # type: ignore[attr-defined]
    assert set(ENDS) == set(QAEnd.__args__) - {"done", "does_not_fit"}  # type: ignore[attr-defined]


PAPERS = {
    "numbers": "Aspirin at 75 mg lowered strokes by 12 percent among 4,000 older adults. Bleeding "
    "of the stomach rose from 1.1 percent to 2.3 percent with daily aspirin. Headache was as "
    "frequent with aspirin as with placebo tablets.",
    "no numbers": "Benzene boils at a lower temperature than water because its molecules attract "
    "each other weakly. Toluene has a methyl group on the aromatic ring, which raises the boiling "
    "point considerably.",
    "pointing": "We saw in Figure 2 that this substance acts as the authors had said before. "
    "Calvenol blocks the histamine receptor of eosinophils in the nasal mucosa of adults. Here the "
    "study shows what our team found in Table 3 of this paper.",
    "quotes": 'The so-called "silent" infarction of <b>elderly</b> patients causes neither chest '
    "pain nor sweating. Troponin rises within three hours of \u00bbacute\u00ab myocardial "
    "infarction in most patients.",
}
WAYS = {
    "whole": ("--n", "1"),
    "sections": ("--n", "1", "--long", "sections"),
    "no repair": ("--n", "1", "--rounds", "0"),
    "too many": ("--n", "10"),
}


def test_the_default_replies_end_with_pairs(tmp_path: Path) -> None:
    for name, text in PAPERS.items():
        row = {"id": name, "title": name, "keywords": ["benzene"], "sections": [{"text": text}]}
        path = write_rows(tmp_path / f"{name}.jsonl", [row])
        for way, options in WAYS.items():
            out = tmp_path / f"{name} {way}.jsonl"
            # Of a paper too short for so many, those that there are.
            code = 3 if way == "too many" else 0
            with ScriptedModel() as model:
                run(path, "--out", out, "--quiet", *judged_by(model), *options, code=code)
            pairs = read_pairs(out).pairs
            assert pairs, (name, way)
            assert all(pair.answer in text for pair in pairs), (name, way)
            assert len({pair.question for pair in pairs}) == len(pairs)
