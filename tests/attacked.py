"""Small records to perturb, and helpers that run one attack."""

from __future__ import annotations

from collections.abc import Collection

from ragassay.perturbations import ATTACKS, Attack, Rephrase, Side, perturb_answers
from ragassay.records import Document, PerturbedAnswer, Record, SentenceInput

ANSWER = (
    "Aspirin may reduce fever in adults, and it lowers the risk of stroke by 20% (1, 2). "
    "However, it does not help children (2). The usual dose is 300 mg (1)."
)
SENTENCES = (
    SentenceInput(
        text="Aspirin may reduce fever in adults, and it lowers the risk of stroke by 20%.",
        citations=("1111111", "2222222"),
    ),
    SentenceInput(text="However, it does not help children.", citations=("2222222",)),
    SentenceInput(text="The usual dose is 300 mg.", citations=("1111111",)),
)
SOURCES = (
    Document(id="1111111", text="Aspirin reduces fever in adults at a usual dose of 300 mg."),
    Document(id="2222222", text="Aspirin lowers the risk of stroke. It does not help children."),
    Document(id="3333333", text="Bees dance in the dark."),
)
RETRACTED = ("9999999",)


def record_of(
    answer: str | tuple[SentenceInput, ...] = ANSWER,
    *,
    id: str = "a",
    question: str = "What is aspirin good for?",
    sources: tuple[Document, ...] = SOURCES,
) -> Record:
    return Record(id=id, question=question, answer=answer, sources=sources)


OTHER = Record(
    id="b",
    question="Do bees sleep?",
    answer="Bees rest at night in the hive for five to eight hours [1].",
    sources=(Document(id="4444444", text="Bees sleep."),),
)


def attack_named(name: str) -> Attack:
    return next(attack for attack in ATTACKS if attack.name == name)


def attacked(
    name: str,
    record: Record,
    *others: Record,
    seed: int = 0,
    pools: Side = "audit",
    retracted: Collection[str] = RETRACTED,
    rephrase: Rephrase | None = None,
) -> PerturbedAnswer | None:
    """Run one attack on a record, and return None if it does not apply."""
    damaged = perturb_answers(
        [record],
        attacks=[attack_named(name)],
        pools=pools,
        seed=seed,
        retracted=retracted,
        rephrase=rephrase,
        among=[record, *others],
    )
    return next(iter(damaged.answers), None)


def text_after(name: str, answer: str, seed: int = 0) -> str | None:
    damaged = attacked(name, record_of(answer), OTHER, seed=seed)
    return str(damaged.record.answer) if damaged else None
