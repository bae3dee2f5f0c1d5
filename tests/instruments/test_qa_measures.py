"""Measures of pairs against their paper, by vectors that can be worked by hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ragassay.models.embeddings import Embedder, RoleEncoder, VectorCache
from ragassay.prompts.model_forms import TextRole
from ragassay.qa import measures
from ragassay.qa.measures import Compared, measure_paper_groups, measure_papers
from ragassay.qa.scores import compute_qa_scores
from ragassay.records.inputs import QAPair
from ragassay.records.qa import Paper, PaperMeasures, PaperSection

WORDS = ("iron", "zinc", "gold", "lead")


class Words:
    """Embeds a text by which of four metals it names; notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[TextRole, int]] = []

    def __call__(self, texts: Sequence[str], role: TextRole) -> np.ndarray:
        self.asked.append((role, len(texts)))
        rows = np.array([[float(w in t) for w in WORDS] for t in texts], dtype=np.float32)
        rows = rows.reshape(len(texts), len(WORDS))
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def paper(*sentences: str, id: str = "p") -> Paper:
    return Paper(id=id, title="Metals", sections=(PaperSection(text=" ".join(sentences)),))


def pair(number: int, question: str, answer: str) -> QAPair:
    return QAPair(id=f"p/{number}", question=question, answer=answer, paper="p")


METALS = paper(
    *("It holds iron.", "It holds zinc.", "It holds gold.", "It holds lead."),
    *("It has iron and zinc.", "It has nothing."),
)
PAIRS = (
    pair(1, "How much iron is there?", "There is iron and zinc."),
    pair(2, "Is there iron in it?", "There is gold."),
    pair(3, "Is there zinc in it?", " "),
)


def measure_paper(paper, pairs, encode, compared: Compared = "pair") -> PaperMeasures:
    (found,) = measure_papers([(paper, pairs)], encode, compared)
    return found


def test_worked_by_hand() -> None:
    found = measure_paper(METALS, PAIRS, Words(), "answer")
    first, second, empty = found.pairs
    # Of six sentences, one is close to an answer, and each is a chunk.
    assert first.similarity == (0.70711, 0.70711, 0.0, 0.0, 1.0, 0.0)
    assert first.closest == (4, 0, 1, 2, 3, 5)
    assert (first.chunks, second.chunks) == ((5,), (3,))
    assert found.coverage == pytest.approx(2 / 6)
    assert (found.paper, found.title, found.n_sentences) == ("p", "Metals", 6)
    assert found.question_similarity == ((1, 1, 0), (1, 1, 0), (0, 0, 1))
    assert (first.nearest_question, first.nearest_similarity) == ("p/2", 1)
    assert (second.nearest_question, second.nearest_similarity) == ("p/1", 1)
    # An answer without a word draws on nothing; its question is still compared.
    assert (empty.chunks, empty.closest, empty.similarity) == ((), (), ())
    assert (empty.nearest_question, empty.nearest_similarity) == ("p/1", 0)


def test_question_and_answer_are_embedded_together_with_the_papers_instruction() -> None:
    seen: dict[TextRole, list[str]] = {}

    def encode(texts: Sequence[str], role: TextRole) -> np.ndarray:
        seen[role] = list(texts)
        return Words()(texts, role)

    first, second, empty = measure_paper(METALS, PAIRS, encode).pairs
    together = [f"{one.question}\n{one.answer}" for one in PAIRS[:2]]
    assert seen["pair"] == together, "the empty answer has no text"
    assert "answer" not in seen
    # Iron of the question and gold of the answer: the first and the third sentence.
    assert second.similarity == (0.70711, 0.0, 0.70711, 0.0, 0.5, 0.0)
    assert (second.closest[0], second.chunks, empty.chunks) == (0, (1,), ())
    alone = measure_paper(METALS, PAIRS, Words(), "answer").pairs
    assert first.similarity == alone[0].similarity and second.chunks != alone[1].chunks


def test_answers_without_a_word_cover_nothing() -> None:
    assert measure_paper(METALS, PAIRS[2:], Words()).coverage == 0


def test_an_only_question_has_no_nearest() -> None:
    (only,) = measure_paper(METALS, PAIRS[:1], Words()).pairs
    assert (only.nearest_question, only.nearest_similarity) == (None, None)


def test_without_pairs_or_without_a_sentence_nothing_is_covered_or_uncovered() -> None:
    nothing = PaperMeasures(paper="p", title="Metals", n_sentences=6)
    assert measure_paper(METALS, (), Words()) == nothing
    empty = measure_paper(Paper(id="e", sections=()), PAIRS, Words())
    assert (empty.coverage, empty.n_sentences) == (None, 0)
    assert [one.similarity for one in empty.pairs] == [(), (), ()]


def test_many_papers_give_what_each_gives_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    other = paper("Lead is here.", "Gold is here.", "Zinc too.", id="q")
    work = [(METALS, PAIRS), (other, PAIRS[:2]), (Paper(id="e", sections=()), ()), (METALS, ())]
    alone = [measure_paper(one, pairs, Words()) for one, pairs in work]
    for n_texts in (1, 12, 2000):
        monkeypatch.setattr(measures, "N_TEXTS", n_texts)
        assert measure_papers(work, Words()) == alone


def test_papers_are_embedded_together_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    encode, work = Words(), [(METALS, PAIRS)] * 3
    assert [len(group) for group in measure_paper_groups(work, encode)] == [3]
    assert encode.asked == [("sentence", 18), ("pair", 6), ("question", 9)]
    monkeypatch.setattr(measures, "N_TEXTS", 12)
    assert [len(group) for group in measure_paper_groups(work, encode)] == [2, 1]
    assert list(measure_paper_groups([], encode)) == []


def test_numbers_are_looked_up_in_tables_too_and_context_is_marked() -> None:
    table = PaperSection(text="iron\t4.2 mg", kind="table")
    source = Paper(id="p", sections=(PaperSection(text="It holds 3 mg of zinc."), table))
    asked = pair(1, "What does Figure 5 show?", "It holds 3 mg zinc, 4.2 mg iron and 7 mg lead.")
    (found,) = measure_paper(source, [asked], Words()).pairs
    numbers = [(one.text, one.is_found) for one in found.numbers]
    assert numbers == [("3", True), ("4.2", True), ("7", False)]
    assert [mark.text for mark in found.context] == ["Figure 5"]


def test_similarities_are_short_in_a_file() -> None:
    found = measure_paper(METALS, PAIRS, Words())
    assert '"similarity":[0.70711,0.70711,0.0,0.0,1.0,0.0]' in found.model_dump_json()
    assert PaperMeasures.model_validate_json(found.model_dump_json()) == found


@pytest.mark.integration
def test_published_pairs_draw_on_their_papers_as_measured(shared: Path) -> None:
    # The three shortest of the 35 papers, with the packaged model; "benchmarks/qa_coverage.py"
    # measures all of them.
    rows = [json.loads(line) for line in gzip.open(shared / "data" / "sciqag" / "papers.jsonl.gz")]
    work: list[tuple[Paper, list[QAPair]]] = []
    for row in sorted(rows, key=lambda row: len(row["txt"]))[:3]:
        pairs = [
            QAPair(id=str(i), question=one["Q"], answer=one["A"])
            for i, one in enumerate(row["Q&A"])
        ]
        work.append((Paper(id=row["doi"], sections=(PaperSection(text=row["txt"]),)), pairs))
    measured: dict[measures.Compared, float] = {"answer": 0.563, "pair": 0.54}
    encode = RoleEncoder(embedder=VectorCache(Embedder()))
    for compared, chunks in measured.items():
        scores = compute_qa_scores(measure_papers(work, encode, compared=compared))
        found = {key: score.value for key, score in scores.items()}
        assert found["coverage"] == pytest.approx(0.967, abs=0.02)
        assert found["pooled_coverage"] == pytest.approx(0.533, abs=0.04)
        assert found["chunks_per_answer"] == pytest.approx(chunks, abs=0.02)
    assert found["question_similarity"] == pytest.approx(0.426, abs=0.005)
