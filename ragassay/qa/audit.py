"""Audit a RACAR judge with question-answer pairs, each perturbed in one RACAR dimension."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragassay.errors import InputError
from ragassay.perturbations.counterfactuals import turn_negation
from ragassay.perturbations.lexicon import Side, draw_text
from ragassay.perturbations.numbers import WRONG
from ragassay.qa.evaluate import InputPairs, build_records_job
from ragassay.records import Paper, PerturbedAnswer, Record, Severity
from ragassay.records.inputs import QAPair
from ragassay.records.qa import RacarDimension, build_paper_record
from ragassay.runs.audit_job import Ask, AuditJob, AuditOptions, choose_spread_answers
from ragassay.text.clauses import split_clauses
from ragassay.text.quantities import read_quantities
from ragassay.text.questions import find_context_marks
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
    """Random generator and texts with which an attack perturbs a pair.

    Attributes:
        others: Question-answer pairs, of which pairs about other papers provide questions.
        side: Whether built-in texts come from the "fit" or the "audit" set.
    """

    rng: random.Random
    others: Sequence[QAPair] = ()
    side: Side = "audit"


class PairAttack(NamedTuple):
    """A perturbation of question-answer pairs.

    Attributes:
        dimension: RACAR dimension whose rating should fall.
        apply: Function that returns the perturbed pair, or None if it cannot perturb the pair.
    """

    dimension: RacarDimension
    severity: Severity
    apply: Callable[[QAPair, PairMaterial], QAPair | None]


def change_number(pair: QAPair, material: PairMaterial) -> QAPair | None:
    """Change a digit, the scale, the exponent or the unit of one number in the answer."""
    numbers = [quantity for quantity in read_quantities(pair.answer) if not quantity.is_name]
    changes = list(WRONG.values())
    material.rng.shuffle(numbers)
    for number in numbers:
        material.rng.shuffle(changes)
        for change in changes:
            if edit := change(pair.answer, number, material.rng):
                start, end, new = edit
                return _replace_answer(pair, pair.answer[:start] + new + pair.answer[end:])
    return None


def add_paper_reference(pair: QAPair, material: PairMaterial) -> QAPair | None:
    """Make the question refer to the paper, for example with "as shown in Figure 2"."""
    question = pair.question.strip()
    if not question.endswith("?") or find_context_marks(question, ""):
        return None
    number = material.rng.randint(1, 7)
    if material.rng.random() < 0.5:
        text = material.rng.choice(_LEADS).format(
            question=_lower_first_letter(question), number=number
        )
    else:
        text = f"{question[:-1]}{material.rng.choice(_TAILS).format(number=number)}?"
    return pair.model_copy(update={"question": text})


def halve_answer(pair: QAPair, material: PairMaterial) -> QAPair | None:
    """Drop the second half of the answer's sentences, or clauses if there is one sentence."""
    parts = _split_sentences(pair.answer)
    if len(parts) < 2:
        parts = split_clauses(pair.answer)
    return _replace_answer(pair, " ".join(parts[: len(parts) // 2])) if len(parts) > 1 else None


def replace_question(pair: QAPair, material: PairMaterial) -> QAPair | None:
    """Replace the question with a question about another paper, or with a built-in question."""
    own = {*tokenize(pair.question), *tokenize(pair.answer)}
    foreign = [other.question for other in material.others if other.paper != pair.paper]
    material.rng.shuffle(foreign)
    # This paper might answer a question on the same subject.
    unrelated = (
        text
        for text in foreign
        if len(words := _list_content_words(text)) > 1
        and not find_context_marks(text, "")
        and own.isdisjoint(words)
    )
    question = next(unrelated, None) or draw_text("questions", material.side, material.rng).text
    return pair.model_copy(update={"question": question})


def append_contradiction(pair: QAPair, material: PairMaterial) -> QAPair | None:
    """Append a sentence that states the opposite of one of the answer's sentences."""
    for sentence in material.rng.sample(sentences := _split_sentences(pair.answer), len(sentences)):
        opposite = turn_negation(sentence, material.rng)
        if opposite and _negates_main_clause(sentence, opposite):
            return _replace_answer(pair, f"{pair.answer.rstrip()} {opposite}")
    return None


PAIR_ATTACKS: dict[str, PairAttack] = {
    "wrong_number": PairAttack("accuracy", "subtle", change_number),
    "points_to_paper": PairAttack("agnosticism", "extreme", add_paper_reference),
    "half_answer": PairAttack("completeness", "subtle", halve_answer),
    "foreign_question": PairAttack("relevance", "extreme", replace_question),
    "contradiction": PairAttack("reasonableness", "extreme", append_contradiction),
}
"""Attacks by name."""


def perturb_pair(
    pair: QAPair, attack: str, seed: int = 0, others: Sequence[QAPair] = (), side: Side = "audit"
) -> QAPair | None:
    """Perturb a question-answer pair. The same arguments always give the same result.

    Returns:
        Perturbed pair with the same id, or None if the attack cannot change the pair.

    Example:
        >>> pair = QAPair(id="1", question="How long did it take?", answer="It took 7 days.")
        >>> perturb_pair(pair, "points_to_paper").question
        'Following the authors of this article, how long did it take?'
    """
    rng = random.Random(f"{seed}/{attack}/{pair.id}")
    return PAIR_ATTACKS[attack].apply(pair, PairMaterial(rng, others, side))


def _replace_answer(pair: QAPair, answer: str) -> QAPair:
    return pair.model_copy(update={"answer": answer})


def _split_sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def _negates_main_clause(sentence: str, opposite: str) -> bool:
    """Return whether the negation is in the main clause, so no "after" or "which" precedes it."""
    characters = enumerate(zip(sentence, opposite, strict=False))
    first = next((i for i, (old, new) in characters if old != new), len(sentence))
    return not _SCOPE.search(sentence, 0, first)


def _lower_first_letter(question: str) -> str:
    """Return the question with a lowercase first letter, unless it starts with an acronym."""
    return question if question[1:2].isupper() else question[0].lower() + question[1:]


def _list_content_words(question: str) -> set[str]:
    return {word for word in tokenize(question) if len(word) > 3 and word not in _ASKING}


PART = "racar"


def build_pairs_audit_job(input_pairs: InputPairs, options: AuditOptions) -> AuditJob:
    """Return an audit job: sampled pairs and their perturbed versions, one record for each.

    Raises:
        InputError: An attack is unknown, or no pair can be perturbed.
    """
    unknown = [name for name in options.attacks if name not in PAIR_ATTACKS]
    if unknown:
        raise InputError(f"unknown attack {unknown[0]!r}; use one of {', '.join(PAIR_ATTACKS)}")
    papers = {paper.id: paper for paper in input_pairs.papers}
    originals = [
        build_paper_record(papers[pair.paper], [pair], pair.id) for pair in input_pairs.pairs
    ]
    records = choose_spread_answers(originals, options.limit, options.seed)
    perturbed: list[PerturbedAnswer] = []
    n_unchanged: Counter[str] = Counter()
    for name in options.attacks or PAIR_ATTACKS:
        for record in records:
            paper = papers[record.pairs[0].paper]
            answer = _perturb_record(record, paper, name, input_pairs, options.seed)
            if answer is None:
                n_unchanged[name] += 1
            else:
                perturbed.append(answer)
    if not perturbed:
        raise InputError(f"no attack can change any of the {len(records)} pairs; add more pairs")
    by_original: dict[str, list[Record]] = {}
    for answer in perturbed:
        by_original.setdefault(answer.original, []).append(answer.record)
    asks = tuple(
        Ask(record, (PART,))
        for original in records
        if original.id in by_original
        for record in (original, *by_original[original.id])
    )
    job = build_records_job(records, input_pairs)
    return AuditJob(job, tuple(perturbed), asks, options, dict(n_unchanged))


def _perturb_record(
    record: Record, paper: Paper, attack: str, input_pairs: InputPairs, seed: int
) -> PerturbedAnswer | None:
    (pair,) = record.pairs
    perturbed = perturb_pair(pair, attack, seed, input_pairs.pairs)
    if perturbed is None or perturbed == pair:
        return None
    return PerturbedAnswer(
        record=build_paper_record(paper, [perturbed], f"{pair.id}~{attack}"),
        original=record.id,
        attack=attack,
        family="pair",
        severity=PAIR_ATTACKS[attack].severity,
        targets=(f"racar.{PAIR_ATTACKS[attack].dimension}",),
    )
