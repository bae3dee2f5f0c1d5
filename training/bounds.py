"""Find from which confidence on the verifiers are right often enough, and write their bounds.

    python -m training.bounds --shared ../shared --model ragassay/minilm-verifier

Three kinds of data that nothing was trained on: undamaged answers to YESciEval's development
questions, each with one cited sentence edited (number, direction or negation), as a user's answers
come; documents that these sentences do not cite; and SciFact's held-out claims. What contradicts is
bounded on the answers; what supports, or is neutral, on answers and on claims, and the higher
threshold counts. One verdict of an answer is drawn, as one of a claim.

It prints what the bounds come to: findings on answers as written, edited sentences found.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ragassay.metrics.risk import bound_of, risk_bound
from ragassay.models import adapters
from ragassay.models.entailment import COLUMNS, CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.models.verifiers import entailment_model
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.optimizers.finetuning.pairs import NOT_CONTRADICTED
from ragassay.records import Bound
from ragassay.settings import load_settings
from ragassay.text.reading import passage_of_sentences
from training.cited import CitedSentence, cited_sentences, is_dev, whole_answers
from training.claims import SEED, split_scifact
from training.edits import edited

RISK, RISK_ON_CLAIMS, DELTA = 0.2, 0.35, 0.1
"""Largest share of wrong verdicts among those on answers, and on SciFact's claims, which are harder
and few."""

EDITS = ("number", "direction", "negation")
N_NOT_CITED = 2
"""Documents not cited, drawn for each answer."""


@dataclass(frozen=True)
class Case:
    """A claim and a document.

    Attributes:
        claim: Labelled; `NOT_CONTRADICTED` where only a contradiction would be wrong.
        cluster: The answer or claim that it belongs to.
        kind: "written", an edit, "not cited" or "claim".
    """

    claim: LabelledClaim
    cluster: str
    kind: str


def answer_cases(shared: Path) -> list[Case]:
    """Return the development answers' cited pairs as written, and again with one edit an answer."""
    rng = random.Random(SEED)
    by_answer: dict[str, list[CitedSentence]] = defaultdict(list)
    for pair in cited_sentences(whole_answers(shared)):
        if is_dev(pair.claim.group.removeprefix("yescieval ")):
            by_answer[pair.answer].append(pair)
    cases: list[Case] = []
    for answer, pairs in by_answer.items():
        for pair in (pair for pair in pairs if pair.is_cited):
            label = SUPPORTS if pair.is_clear else NOT_CONTRADICTED
            cases.append(Case(replace(pair.claim, label=label), answer, "written"))
        edits = [
            Case(made.claim, answer, made.kind)
            for pair in pairs
            if pair.is_cited and pair.is_clear
            for made in edited(pair.claim, pair.closest, rng)
            if made.kind in EDITS
        ]
        # The kinds alike, whatever their number.
        kinds = sorted({case.kind for case in edits})
        if kinds:
            kind = rng.choice(kinds)
            cases.append(rng.choice([case for case in edits if case.kind == kind]))
        others = [pair for pair in pairs if not pair.is_cited and pair.is_clear]
        for pair in rng.sample(others, min(N_NOT_CITED, len(others))):
            cases.append(Case(pair.claim, answer, "not cited"))
    return cases


def claim_cases(shared: Path) -> list[Case]:
    """Return SciFact's held-out claims."""
    return [Case(c, f"{c.group} {c.claim}", "claim") for c in split_scifact(shared)[1]]


def bounds_from(cases: Sequence[Case], shares: np.ndarray) -> tuple[Bound, ...]:
    """Return the bounds of a verifier by its probabilities, shape (n_cases, 3)."""
    found: list[Bound] = []
    for label in (SUPPORTS, CONTRADICTS, NEUTRAL):
        of_answers = _bound(cases, shares, label, RISK, "sentences of answers")
        if label == CONTRADICTS:
            found += [of_answers, of_answers.model_copy(update={"level": "finding"})]
            continue
        on_claims = _bound(cases, shares, label, RISK_ON_CLAIMS, "SciFact's held-out claims")
        # None is above any threshold: such a verdict never counts.
        found.append(max(of_answers, on_claims, key=lambda one: one.threshold or 2.0))
    return tuple(found)


def _bound(cases: Sequence[Case], shares: np.ndarray, label: int, risk: float, data: str) -> Bound:
    best, sure = shares.argmax(axis=1), shares.max(axis=1).round(4)
    is_claims = risk == RISK_ON_CLAIMS
    places = [
        place
        for place, case in enumerate(cases)
        if best[place] == label
        and (case.kind == "claim") == is_claims
        and (case.claim.label != NOT_CONTRADICTED or label == CONTRADICTS)
        and (label != CONTRADICTS or case.kind != "not cited")
    ]
    return risk_bound(
        COLUMNS[label],
        [float(sure[place]) for place in places],
        [cases[place].claim.label == label for place in places],
        risk=risk,
        delta=DELTA,
        clusters=[cases[place].cluster for place in places],
        data=data,
    )


def report(cases: Sequence[Case], shares: np.ndarray, bounds: Sequence[Bound]) -> str:
    """Return what the bounds come to."""
    best, sure = shares.argmax(axis=1), shares.max(axis=1)
    head = bound_of(bounds, "contradicts", "finding")
    leads = np.array(
        [
            b == CONTRADICTS and bool(head and head.admits(s))
            for b, s in zip(best, sure, strict=True)
        ]
    )
    kinds = np.array([case.kind for case in cases])
    labels = np.array([case.claim.label for case in cases])
    answers = {case.cluster for case in cases if case.kind == "written"}
    lines = [
        f"{len(answers)} answers as written: {leads[kinds == 'written'].sum() / len(answers):.3f} "
        f"findings an answer lead, {(best[kinds == 'written'] == CONTRADICTS).sum() / len(answers):.3f} "
        "lean to contradicts"
    ]
    for kind in EDITS:
        of_kind = kinds == kind
        lines.append(
            f"{kind}: {of_kind.sum()} edited, {leads[of_kind].mean():.3f} lead, "
            f"{(best[of_kind] == CONTRADICTS).mean():.3f} lead or lean"
        )
    is_edit = np.isin(kinds, EDITS)
    n_led = leads[is_edit].sum() + leads[kinds == "written"].sum()
    lines.append(f"precision of what leads: {leads[is_edit].sum() / max(1, n_led):.3f} of {n_led}")
    claims = kinds == "claim"
    decided = np.array(
        [_decides(bounds, int(b), float(s)) for b, s in zip(best, sure, strict=True)]
    )
    right = best == labels
    lines.append(
        f"SciFact: {right[claims].mean():.3f} of {claims.sum()}; of the {decided[claims].mean():.3f} "
        f"decided {right[claims & decided].mean():.3f}"
    )
    return "\n".join(lines)


def _decides(bounds: Sequence[Bound], label: int, sure: float) -> bool:
    bound = bound_of(bounds, COLUMNS[label], "verdict")
    return bound is None or bound.admits(round(sure, 4))


def main() -> None:
    """Measure, find the bounds, write them."""
    parser = argparse.ArgumentParser(description="Write the bounds of a verifier.")
    parser.add_argument("--shared", type=Path, required=True, help="holds data/")
    parser.add_argument("--model", required=True, help="a shipped verifier, ragassay/...")
    given = parser.parse_args()
    cases = [*answer_cases(given.shared), *claim_cases(given.shared)]
    model = entailment_model(given.model, load_settings().cache_dir)
    print(f"{len(cases)} pairs", flush=True)
    shares = model.probabilities(
        [
            (c.claim.claim, passage_of_sentences(c.claim.claim, c.claim.sentences, c.claim.title))
            for c in cases
        ]
    )
    bounds = bounds_from(cases, shares)
    path = Path(adapters.__file__).with_name("bounds.json")
    known = json.loads(path.read_text("utf-8"))
    known[given.model] = [bound.model_dump(mode="json") for bound in bounds]
    path.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    for bound in bounds:
        print(bound.model_dump_json())
    print(report(cases, shares, bounds))


if __name__ == "__main__":
    main()
