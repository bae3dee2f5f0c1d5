"""Train the adapter that holds nuggets against answers, and find its bounds.

    python -m training.assignment --shared ../shared --out ragassay/models/adapters/assignment

It learns from GPT-4o's assignments of one system's answers to 301 topics of TREC RAG 2024: a nugget
that the answer supports, supports in part, or not; and from nuggets of other topics. A fifth of the
topics is held out: the bounds are found on them. Needs `pip install 'ragassay[train]'`; minutes on
a GPU, some hours on two cores. `--bounds` finds the bounds of an adapter that is there.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragassay.metrics.risk import risk_bound
from ragassay.models.adapters import ASSIGNMENT, SHAPE, Adapter, read_shape
from ragassay.models.embeddings import EMBEDDED
from ragassay.models.pair_encoders import pair_encoder
from ragassay.optimizers.finetuning.pairs import Example
from ragassay.optimizers.finetuning.tunings import TUNINGS
from ragassay.records import ASSIGNMENTS, Bound
from training.cited import is_dev
from training.claims import SEED

EPOCHS = 4.0
N_FOREIGN = 2
"""Nuggets of another topic for each answer."""

RISK, DELTA = 0.25, 0.1


@dataclass(frozen=True)
class Assigned:
    """A nugget, an answer, and which of `ASSIGNMENTS` GPT-4o gave."""

    nugget: str
    answer: str
    label: int
    topic: str


def read_assigned(shared: Path) -> list[Assigned]:
    """Read the assignments; a few replies that are none of `ASSIGNMENTS` are left out."""
    path = shared / "data" / "nuggetizer" / "assignments-gpt4o.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    names: list[str] = list(ASSIGNMENTS)
    return [
        Assigned(n["text"], row["answer_text"], names.index(n["assignment"]), row["qid"])
        for row in rows
        for n in row["nuggets"]
        if n["assignment"] in names
    ]


def examples_of(assigned: Sequence[Assigned]) -> list[Example]:
    """Return the training examples: the assignments, and nuggets of other topics."""
    rng = random.Random(SEED)
    found = [Example(one.nugget, one.answer, one.label) for one in assigned]
    for answer, topic in sorted({(one.answer, one.topic) for one in assigned}):
        for other in rng.sample(assigned, N_FOREIGN):
            if other.topic != topic:
                found.append(Example(other.nugget, answer, ASSIGNMENTS.index("not_support")))
    return found


def bounds_on(held: Sequence[Assigned], adapter: Adapter) -> tuple[Bound, ...]:
    """Return the bound of each assignment on held-out topics."""
    from ragassay.models.cross_encoder import CrossEncoder

    model = CrossEncoder.load(adapter, pair_encoder(EMBEDDED, Path()))
    shares = model.probabilities([(one.nugget, one.answer) for one in held])
    best, sure = shares.argmax(axis=1), shares.max(axis=1).round(4)
    bounds: list[Bound] = []
    for label, name in enumerate(ASSIGNMENTS):
        places = [place for place in range(len(held)) if best[place] == label]
        bounds.append(
            risk_bound(
                name,
                [float(sure[place]) for place in places],
                [held[place].label == label for place in places],
                risk=RISK,
                delta=DELTA,
                clusters=[held[place].topic for place in places],
                data="GPT-4o's assignments, topics held out",
            )
        )
    return tuple(bounds)


def main() -> None:
    """Train, find the bounds, save."""
    import torch

    from ragassay.optimizers.finetuning.adapting import train
    from ragassay.optimizers.finetuning.calibrating import write_trained

    parser = argparse.ArgumentParser(description="Train the adapter that assigns nuggets.")
    parser.add_argument("--shared", type=Path, required=True, help="holds data/")
    parser.add_argument("--out", type=Path, required=True, help="folder of the adapter")
    parser.add_argument("--bounds", action="store_true", help="of the adapter that is there")
    given = parser.parse_args()
    assigned = read_assigned(given.shared)
    learnt = [one for one in assigned if not is_dev(one.topic)]
    held = [one for one in assigned if is_dev(one.topic)]
    if not given.bounds:
        work: Path = given.out.with_suffix(".work")
        work.mkdir(parents=True, exist_ok=True)
        tuning = dataclasses.replace(TUNINGS[EMBEDDED], rank=32, learning_rate=4e-4, head_rate=4e-4)
        torch.manual_seed(SEED)  # the head starts at random
        encoder = pair_encoder(EMBEDDED, work)
        tensors = train(encoder, examples_of(learnt), tuning, work, EPOCHS, seed=SEED)
        examples = [Example(one.nugget, one.answer, one.label) for one in held]
        write_trained(given.out, encoder, tensors, tuning, examples)
    bounds = bounds_on(held, Adapter(ASSIGNMENT.model, given.out))
    shape = read_shape(given.out).model_copy(update={"bounds": bounds})
    text = shape.model_dump_json(indent=2, exclude_none=True)
    (given.out / SHAPE).write_text(text + "\n", encoding="utf-8")
    for bound in bounds:
        print(bound.model_dump_json())


if __name__ == "__main__":
    main()
