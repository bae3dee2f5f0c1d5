"""Audit a judge of pairs: pairs perturbed in one dimension of RACAR beside unperturbed ones."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragassay.errors import InputError
from ragassay.perturbations.counterfactuals import turn_negation
from ragassay.perturbations.lexicon import Side, draw_text
from ragassay.perturbations.numbers import WRONG
from ragassay.qa.evaluate import InputPairs, records_job
from ragassay.records import Paper, PerturbedAnswer, Record, Severity
from ragassay.records.inputs import QAPair
from ragassay.records.qa import RacarDimension, paper_record
from ragassay.runs.audit_job import Ask, AuditJob, AuditOptions, spread
from ragassay.text.clauses import clauses_of
from ragassay.text.quantities import read_quantities
from ragassay.text.questions import context_marks
from ragassay.text.search import tokenize
from ragassay.text.sentences import split_sentences

_LEADS = (
    "According to this paper, {question}",
    "Following the authors of this article, {question}",
    "As far as Figure {number} shows, {question}",
    "In the present study, {question}",
)
_TAILS = (
    " in this paper",
    " in the study",
    " according to the authors",
    ", as shown in Figure {number}",
    " given the values in Table {number}",
    " in the experiments described above",
)
_ASKING = frozenset(
    tokenize("what which when where does role effect used main between significance")
)
_SCOPE = re.compile(
    r"\b(?:which|that|where|when|after|before|while|because|if|since|as|and|who|although)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class PairMaterial:
    """The inputs of an attack on one pair.

    Attributes:
        rng: A generator of its own, so that other attacks and pairs do not change the result.
        others: Pairs of other papers; those of the pair's own paper are passed over.
        side: The side whose texts it may use.
    """

    rng: random.Random
    others: Sequence[QAPair] = ()
    side: Side = "audit"


class PairAttack(NamedTuple):
    """A way to perturb a pair: the dimension that should fall; `apply` may return None."""

    dimension: RacarDimension
    severity: Severity
    apply: Callable[[QAPair, PairMaterial], QAPair | None]


def wrong_number(pair: QAPair, material: PairMaterial) -> QAPair | None:
    """Make one number of the answer wrong: a digit, its scale, its exponent or its unit."""
    numbers = [one for one in read_quantities(pair.answer) if not one.is_name]
    ways = list(WRONG.values())
    material.rng.shuffle(numbers)
    for one in numbers:
        material.rng.shuffle(ways)
        for way in ways:
            edit = way(pair.answer, one, material.rng)
            if edit:
                start, end, new = edit
                return _replace_answer(pair, pair.answer[:start] + new + pair.answer[end:])
    return None


def points_to_paper(pair: QAPair, material: PairMaterial) -> QAPair | None:
    """Make the question point to its paper: "in this paper", "as shown in Figure 2"."""
    question = pair.question.strip()
    if not question.endswith("?") or context_marks(question, ""):
        return None
    number = material.rng.randint(1, 7)
    if material.rng.random() < 0.5:
        text = material.rng.choice(_LEADS).format(
            question=_lower_first_letter(question), number=number
        )
    else:
        text = f"{question[:-1]}{material.rng.choice(_TAILS).format(number=number)}?"
    return pair.model_copy(update={"question": text})


def half_answer(pair: QAPair, material: PairMaterial) -> QAPair | None:
    """Drop the second half of the answer, by sentences, else by clauses."""
    parts = _sentences(pair.answer)
    if len(parts) < 2:
        parts = clauses_of(pair.answer)
    return _replace_answer(pair, " ".join(parts[: len(parts) // 2])) if len(parts) > 1 else None


def off_topic(pair: QAPair, material: PairMaterial) -> QAPair | None:
    """Ask what the paper is not about: another paper's question, else one of a pool."""
    own = {*tokenize(pair.question), *tokenize(pair.answer)}
    foreign = [other.question for other in material.others if other.paper != pair.paper]
    material.rng.shuffle(foreign)
    # A question on the same subject might be answered by both papers.
    apart = (text for text in foreign if _stands_alone(text) and own.isdisjoint(_telling(text)))
    question = next(apart, None) or draw_text("questions", material.side, material.rng).text
    return pair.model_copy(update={"question": question})


def contradiction(pair: QAPair, material: PairMaterial) -> QAPair | None:
    """Let the answer say a sentence's opposite after it."""
    sentences = _sentences(pair.answer)
    for place in material.rng.sample(range(len(sentences)), len(sentences)):
        opposite = turn_negation(sentences[place], material.rng)
        if opposite and _denies(sentences[place], opposite):
            return _replace_answer(pair, f"{pair.answer.rstrip()} {opposite}")
    return None


PAIR_ATTACKS: dict[str, PairAttack] = {
    "wrong_number": PairAttack("accuracy", "subtle", wrong_number),
    "points_to_paper": PairAttack("agnosticism", "extreme", points_to_paper),
    "half_answer": PairAttack("completeness", "subtle", half_answer),
    "foreign_question": PairAttack("relevance", "extreme", off_topic),
    "contradiction": PairAttack("reasonableness", "extreme", contradiction),
}
"""The attacks, by name: each with the dimension that should fall."""


def perturb_pair(
    pair: QAPair, attack: str, seed: int = 0, others: Sequence[QAPair] = (), side: Side = "audit"
) -> QAPair | None:
    """Perturb a pair; the result depends on the seed, the attack, the pair and the others alone.

    Returns:
        A pair of the same id; None where the attack does not apply.

    Example:
        >>> pair = QAPair(id="1", question="How long did it take?", answer="It took 7 days.")
        >>> perturb_pair(pair, "points_to_paper").question
        'Following the authors of this article, how long did it take?'
    """
    rng = random.Random(f"{seed}/{attack}/{pair.id}")
    return PAIR_ATTACKS[attack].apply(pair, PairMaterial(rng, others, side))


def _replace_answer(pair: QAPair, answer: str) -> QAPair:
    return pair.model_copy(update={"answer": answer})


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def _denies(sentence: str, opposite: str) -> bool:
    """Return whether the main clause was turned: "after it was not finished" denies nothing."""
    places = zip(sentence, opposite, strict=False)
    first = next((n for n, (old, new) in enumerate(places) if old != new), len(sentence))
    return not _SCOPE.search(sentence, 0, first)


def _stands_alone(question: str) -> bool:
    return len(_telling(question)) > 1 and not context_marks(question, "")


def _lower_first_letter(question: str) -> str:
    """Return a question as it reads behind a comma: "DNA" stays."""
    return question if question[1:2].isupper() else question[0].lower() + question[1:]


def _telling(question: str) -> set[str]:
    """Return the words of a question that tell what it is about."""
    return {word for word in tokenize(question) if len(word) > 3 and word not in _ASKING}


PART = "racar"


def pairs_audit_job(input_pairs: InputPairs, options: AuditOptions) -> AuditJob:
    """Choose pairs and damage them; each is rated alone with its paper.

    Raises:
        InputError: An attack is unknown, or none changes a pair.
    """
    papers = {paper.id: paper for paper in input_pairs.papers}
    every = [paper_record(papers[pair.paper], [pair], pair.id) for pair in input_pairs.pairs]
    records = spread(every, options.limit, options.seed)
    perturbed: list[PerturbedAnswer] = []
    n_unchanged: dict[str, int] = {}
    for name in _choose_attacks(options.attacks):
        for record in records:
            hurt = _perturb_record(
                record, papers[record.pairs[0].paper], name, input_pairs, options.seed
            )
            if hurt is None:
                n_unchanged[name] = n_unchanged.get(name, 0) + 1
            else:
                perturbed.append(hurt)
    if not perturbed:
        raise InputError(f"no attack changes any of {len(records)} pairs: name more pairs")
    hurt_of: dict[str, list[PerturbedAnswer]] = {}
    for one in perturbed:
        hurt_of.setdefault(one.original, []).append(one)
    asks = tuple(
        Ask(record, (PART,))
        for unperturbed in records
        if unperturbed.id in hurt_of
        for record in (unperturbed, *(one.record for one in hurt_of[unperturbed.id]))
    )
    job = records_job(records, input_pairs)
    return AuditJob(job, tuple(perturbed), asks, options, n_unchanged)


def _choose_attacks(names: Sequence[str]) -> tuple[str, ...]:
    unknown = next((name for name in names if name not in PAIR_ATTACKS), None)
    if unknown is not None:
        raise InputError(f"unknown attack {unknown!r}; there are {', '.join(PAIR_ATTACKS)}")
    return tuple(names) or tuple(PAIR_ATTACKS)


def _perturb_record(
    record: Record, paper: Paper, attack: str, input_pairs: InputPairs, seed: int
) -> PerturbedAnswer | None:
    (pair,) = record.pairs
    hurt = perturb_pair(pair, attack, seed, input_pairs.pairs)
    if hurt is None or hurt == pair:
        return None
    return PerturbedAnswer(
        record=paper_record(paper, [hurt], f"{pair.id}~{attack}"),
        original=record.id,
        attack=attack,
        family="pair",
        severity=PAIR_ATTACKS[attack].severity,
        targets=(f"racar.{PAIR_ATTACKS[attack].dimension}",),
    )
