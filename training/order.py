"""Write the training pairs of the model of following sentences.

    python -m training.order --shared ../shared --out order

A pair is a sentence and the at most three before it, marked as at inference
(`ragassay.instruments.signals.following`). It is labelled

- 0, next: the sentence follows in the text;
- 1, swapped: it and its neighbour stand in the other's place: it comes one too early, or after its
  successor;
- 2, elsewhere: it belongs to another place of the same text, or what stands before it is shuffled,
  or it has lost its connectives.

The texts are YESciEval's whole train answers, the abstracts of its papers, SciFact's corpus and
PubMedQA's abstracts. Answers to questions that the rater or the verifiers are measured on, and the
abstracts of their papers, are left to the file of development pairs.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragassay.formats import read_records
from ragassay.instruments.signals.following import following_pair
from ragassay.optimizers.finetuning.yescieval import is_held_out
from ragassay.perturbations.answer import cut
from ragassay.perturbations.connectives import without_connectives
from ragassay.text.sentences import sentences_of

NEXT, SWAPPED, ELSEWHERE = range(3)

SEED = 5
"""Seed of all draws."""

N_PAIRS = {
    "train": {"answer": 54_000, "abstract": 66_000},
    "dev": {"answer": 9_000, "abstract": 3_000},
}
"""Pairs of each kind of text: answers, which are what is judged, count most."""

FEWEST, MOST = 2, 20
"""Sentences of a text."""

LEFT_OUT = 0.25
"""Share of the pairs in which one of the sentences before is missing: that alone is no disorder."""

LOST = 0.15
"""Share of the sentences elsewhere that are in their place but without their connectives."""


@dataclass(frozen=True)
class Text:
    """A text in its order: its group, what it answers or its title, and its sentences."""

    kind: str
    group: str
    question: str
    sentences: tuple[str, ...]
    is_dev: bool


@dataclass(frozen=True)
class OrderPair:
    """A sentence, what stands before it, and its label; the group is the text's."""

    claim: str
    passage: str
    label: int
    group: str


def in_dev(key: str) -> bool:
    """Return whether a question, or a document, is for development: by the hash of its id."""
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % 5 == 0


def answer_texts(shared: Path) -> Iterator[Text]:
    """Read YESciEval's whole train answers."""
    for name in ("bioasq", "orkg-synthesis"):
        path = shared / "data" / "yescieval" / f"{name}-train-answers.jsonl.gz"
        for record in read_records(path).records:
            if record.metadata.get("variant") == "benign":
                topic, whole = record.topic or record.id, cut(record)
                words = tuple(whole.pieces[i].words for i in whole.places)
                yield Text("answer", f"answer {topic}", record.question, words, _is_measured(topic))


def abstract_texts(shared: Path) -> Iterator[Text]:
    """Read the abstracts of YESciEval's papers, of SciFact and of PubMedQA."""
    data = shared / "data"
    for name in ("bioasq", "orkg-synthesis"):
        for row in _rows(data / "yescieval" / f"{name}-train-questions.jsonl.gz"):
            for paper in row["papers"]:
                words = sentences_of(paper["abstract"])
                yield _abstract(
                    f"abstract {row['id']}", paper["title"], words, _is_measured(row["id"])
                )
    for row in _rows(data / "scifact" / "corpus.jsonl.gz"):
        words = [sentence.strip() for sentence in row["abstract"]]
        yield _abstract(f"scifact {row['doc_id']}", row["title"], words, in_dev(str(row["doc_id"])))
    for row in _rows(data / "pubmedqa" / "train.jsonl.gz"):
        words = sentences_of(" ".join(row["contexts"]))
        yield _abstract(f"pubmedqa {row['pmid']}", row["question"], words, in_dev(str(row["pmid"])))


def pairs_of(text: Text, rng: random.Random) -> Iterator[OrderPair]:
    """Draw for each place of a text one pair of each label that can stand there."""
    n = len(text.sentences)
    for i in range(n):
        drawn = {NEXT: list(range(i + 1)), SWAPPED: _swapped(i, n, rng)}
        if n > 2:  # Two sentences have no other place than each other's.
            drawn[ELSEWHERE] = _elsewhere(i, n, rng)
        for label, order in drawn.items():
            sentences = [text.sentences[k] for k in order]
            shorter = without_connectives(text.sentences[i], first_only=rng.random() < 0.5)
            if label == ELSEWHERE and shorter != text.sentences[i] and rng.random() < LOST:
                sentences = [*text.sentences[:i], shorter]
            yield _pair(text, sentences, label, rng)


def _pair(text: Text, sentences: list[str], label: int, rng: random.Random) -> OrderPair:
    """Label the last of some sentences; now and then one further before it is left out."""
    is_last = len(sentences) == len(text.sentences)
    if len(sentences) > 2 and rng.random() < LEFT_OUT:
        del sentences[rng.randrange(len(sentences) - 2)]
    *before, sentence = sentences
    claim, passage = following_pair(text.question, before, sentence, is_last=is_last)
    return OrderPair(claim, passage, label, text.group)


def _swapped(i: int, n: int, rng: random.Random) -> list[int]:
    """Return the order up to place i after it was swapped with the next or the previous place."""
    is_early = i == 0 or (i < n - 1 and rng.random() < 0.5)
    return [*range(i), i + 1] if is_early else [*range(i - 1), i, i - 1]


def _elsewhere(i: int, n: int, rng: random.Random) -> list[int]:
    """Return the order up to place i of a shuffled text, or of a whole one but for that place."""
    order = list(range(n))
    if rng.random() < 0.5:
        rng.shuffle(order)
    else:
        others = [k for k in range(n) if k != i]
        k = rng.choice([k for k in others if abs(k - i) > 1] or others)
        order.insert(i, order.pop(order.index(k)))
    follows = order[i] == order[i - 1] + 1 if i else order[0] == 0
    return _elsewhere(i, n, rng) if follows else order[: i + 1]


def draw(texts: Sequence[Text], n: int, rng: random.Random) -> list[OrderPair]:
    """Draw n pairs, text by text, over and over where there are fewer."""
    found: list[OrderPair] = []
    while len(found) < n:
        for text in rng.sample(texts, len(texts)):
            found += pairs_of(text, rng)
    return found[:n]


def read_texts(shared: Path) -> list[Text]:
    """Read all texts of two sentences or more."""
    texts = [*answer_texts(shared), *abstract_texts(shared)]
    return [text for text in texts if FEWEST <= len(text.sentences) <= MOST]


def _is_measured(question: str) -> bool:
    return in_dev(question) or is_held_out(question)


def _abstract(group: str, title: str, sentences: Sequence[str], is_dev: bool) -> Text:
    whole = tuple(" ".join(sentence.split()) for sentence in sentences if sentence.strip())
    return Text("abstract", group, title, whole, is_dev)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def main() -> None:
    """Run the job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    texts, rng = read_texts(given.shared), random.Random(SEED)
    for side, wanted in N_PAIRS.items():
        pairs = []
        for kind, n in wanted.items():
            chosen = [t for t in texts if t.kind == kind and t.is_dev == (side == "dev")]
            pairs += draw(chosen, n, rng)
            print(f"{side}: {len(chosen)} texts of the kind {kind}, {n} pairs")
        rng.shuffle(pairs)
        path = given.out / f"order_{side}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(asdict(pair))}\n" for pair in pairs)


if __name__ == "__main__":
    main()
