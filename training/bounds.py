"""Find the confidence above which verdicts are reliable enough, and write these bounds.

    python -m training.bounds --shared ../shared --model ragassay/minilm-verifier --work shares.npy

The not_relevant verdict is bounded on documents that the sentences of unperturbed answers to
YESciEval's development questions do not cite. They come from the same and from other questions. One
verdict is sampled per answer. `training.natural_bounds` finds all other bounds, including the bound
of not_relevant findings.

The script prints the effect of all bounds on these answers, on versions with one cited sentence
edited (number, direction or negation), and on SciFact's held-out claims: findings on original
answers, and edited sentences found.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.metrics.stats.calibration import bound_of, find_risk_bound
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import (
    COLUMNS,
    NEUTRAL,
    SUPPORTS,
    EntailmentModel,
    Pair,
)
from ragassay.models.verifiers import open_entailment_model
from ragassay.optimizers.finetuning.claims import NOT_CONTRADICTED, LabelledClaim
from ragassay.records import Bound, Comparison
from ragassay.settings import load_settings
from ragassay.text.differences import is_other_value
from ragassay.text.search import extract_passage
from training.cited import CitedSentence, cited_sentences, is_dev, whole_answers
from training.claims import SEED, split_scifact
from training.edits import edited
from training.natural_bounds import THRESHOLDS, write_bounds

RISK, DELTA = 0.2, 0.1
"""Maximum share of wrong verdicts, and probability that the bound exceeds it."""

EDITS = ("number", "direction", "negation")
N_NOT_CITED = 2
"""Number of uncited documents sampled per answer."""


@dataclass(frozen=True)
class Case:
    """A claim and a document.

    Attributes:
        claim: Labelled claim. `NOT_CONTRADICTED` means that only a contradiction would be wrong.
        cluster: Id of the answer or claim.
        kind: "written", an edit, "not cited", "foreign" or "claim".
        beside: Other documents that the sentence cites.
    """

    claim: LabelledClaim
    cluster: str
    kind: str
    beside: tuple[str, ...] = ()


def answer_cases(shared: Path) -> list[Case]:
    """Return the cited pairs of the development answers, and one edited pair per answer."""
    rng = random.Random(SEED)
    by_answer: dict[str, list[CitedSentence]] = defaultdict(list)
    for pair in cited_sentences(whole_answers(shared)):
        if is_dev(pair.claim.group.removeprefix("yescieval ")):
            by_answer[pair.answer].append(pair)
    cases: list[Case] = []
    answers = sorted(by_answer)
    for answer, pairs in by_answer.items():
        for pair in (pair for pair in pairs if pair.is_cited):
            label = SUPPORTS if pair.is_clear else NOT_CONTRADICTED
            claim = replace(pair.claim, label=label)
            cases.append(Case(claim, answer, "written", _beside(pair, pairs)))
        edits = [
            Case(made.claim, answer, made.kind, _beside(pair, pairs))
            for pair in pairs
            if pair.is_cited and pair.is_clear
            for made in edited(pair.claim, pair.closest, rng)
            if made.kind in EDITS
        ]
        # Sample all edit kinds with equal probability.
        kinds = sorted({case.kind for case in edits})
        if kinds:
            kind = rng.choice(kinds)
            cases.append(rng.choice([case for case in edits if case.kind == kind]))
        uncited = [pair for pair in pairs if not pair.is_cited and pair.is_clear]
        for pair in rng.sample(uncited, min(N_NOT_CITED, len(uncited))):
            cases.append(Case(pair.claim, answer, "not cited"))
        other = rng.choice(by_answer[rng.choice(answers)]).claim
        if other.group != pairs[0].claim.group:
            foreign = replace(pairs[0].claim, title=other.title, sentences=other.sentences)
            cases.append(Case(replace(foreign, label=NEUTRAL), answer, "foreign"))
    return cases


def _beside(pair: CitedSentence, pairs: Sequence[CitedSentence]) -> tuple[str, ...]:
    """Return the other documents that a sentence cites."""
    claim = pair.claim
    others = (p.claim for p in pairs if p.is_cited and p.claim.claim == claim.claim)
    return tuple(" ".join([o.title, *o.sentences]) for o in others if o.title != claim.title)


def claim_cases(shared: Path) -> list[Case]:
    """Return SciFact's held-out claims."""
    return [Case(c, f"{c.group} {c.claim}", "claim") for c in split_scifact(shared)[1]]


class CachedModel:
    """An inference model without bounds that caches its probabilities in a file.

    Args:
        model: Model to run if the file does not exist.
        pairs: All pairs that will be requested.
        file: .npy file of the probabilities, in the order of `pairs`.
    """

    bounds = ()

    def __init__(self, model: EntailmentModel, pairs: Sequence[Pair], file: Path) -> None:
        self.name, self.digest = model.name, model.digest
        if not file.exists():
            np.save(file, model.predict_probabilities(pairs))
        self._known = dict(zip(pairs, np.load(file), strict=True))

    def predict_probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Return cached probabilities, shape (n_pairs, 3)."""
        return np.array([self._known[pair] for pair in pairs])


def verdicts_of(cases: Sequence[Case], model: EntailmentModel, work: Path) -> list[Comparison]:
    """Return the verifier's verdicts, without bounds but with its rules."""
    texts = [("\n".join(case.claim.sentences), case.claim.title) for case in cases]
    pairs = [
        (case.claim.claim, extract_passage(case.claim.claim, *text))
        for case, text in zip(cases, texts, strict=True)
    ]
    verifier = EncoderVerifier(CachedModel(model, pairs, work), Embedder(), by_rule=True)
    return [
        verifier.compare(case.claim.claim, *text, case.beside)
        for case, text in zip(cases, texts, strict=True)
    ]


def bound_from(cases: Sequence[Case], found: Sequence[Comparison]) -> Bound:
    """Return the bound of the not_relevant verdict.

    Neutral verdicts also count as not_relevant, because few of these passages are on the subject.
    """
    rows = [
        (case, verdict)
        for case, verdict in zip(cases, found, strict=True)
        if case.kind != "claim"
        and case.claim.label != NOT_CONTRADICTED
        and verdict.verdict in ("neutral", "not_relevant")
    ]
    bound = find_risk_bound(
        "neutral",
        [verdict.confidence or 0.0 for _, verdict in rows],
        [case.claim.label == NEUTRAL for case, _ in rows],
        risk=RISK,
        delta=DELTA,
        clusters=[case.cluster for case, _ in rows],
        thresholds=THRESHOLDS["verdict"],
        data="YESciEval answers, labelled by rule",
    )
    return bound.model_copy(update={"kind": "not_relevant"})


def report(cases: Sequence[Case], found: Sequence[Comparison], bounds: Sequence[Bound]) -> str:
    """Summarize the effect of the bounds."""
    rows = list(zip(cases, found, strict=True))
    written = [row for row in rows if row[0].kind == "written"]
    n_answers = len({case.cluster for case, _ in written})
    led = sum(_leads(v, bounds) for _, v in written)
    tentative_label = sum("contradicts" in (v.verdict, v.tentative_label) for _, v in written)
    lines = [
        f"{n_answers} answers as written: {led / n_answers:.3f} contradictions an answer lead, "
        f"{tentative_label / n_answers:.3f} lead or lean"
    ]
    edits = [row for row in rows if row[0].kind in EDITS]
    for kind in EDITS:
        matching = [verdict for case, verdict in edits if case.kind == kind]
        leads = np.mean([_leads(v, bounds) for v in matching])
        leans = np.mean(["contradicts" in (v.verdict, v.tentative_label) for v in matching])
        lines.append(f"{kind}: {len(matching)} edited, {leads:.3f} lead, {leans:.3f} lead or lean")
    right = sum(_leads(v, bounds) for _, v in edits)
    share = right / max(1, right + led)
    lines.append(f"of {right + led} contradictions that lead {share:.3f} are right")
    for kind in ("written", "foreign"):
        other = [
            v.verdict == "not_relevant" and _is_decided(v, bounds)
            for c, v in rows
            if c.kind == kind
        ]
        lines.append(f"{kind}: {np.mean(other):.3f} of {len(other)} are about something else")
    claims = [(case, v) for case, v in rows if case.kind == "claim"]
    is_right = [_column(v) == case.claim.label for case, v in claims]
    decided = [ok for ok, (_, v) in zip(is_right, claims, strict=True) if _is_decided(v, bounds)]
    lines.append(
        f"SciFact: {np.mean(is_right):.3f} of {len(claims)} right; of the "
        f"{len(decided) / len(claims):.3f} decided {np.mean(decided):.3f}"
    )
    return "\n".join(lines)


def _column(verdict: Comparison) -> int:
    label = verdict.verdict or verdict.tentative_label or ""
    return COLUMNS.index("neutral" if label == "not_relevant" else label)  # type: ignore[arg-type]


def _is_decided(verdict: Comparison, bounds: Sequence[Bound]) -> bool:
    bound = bound_of(bounds, COLUMNS[_column(verdict)], "verdict", _kind(verdict))
    return verdict.verdict is not None and bool(bound and bound.admits(verdict.confidence))


def _kind(verdict: Comparison) -> str:
    is_against = "contradicts" in (verdict.verdict, verdict.tentative_label)
    if is_against:
        return "number" if is_other_value(verdict.difference) else "words"
    return verdict.verdict or ""


def _leads(verdict: Comparison, bounds: Sequence[Bound]) -> bool:
    bound = bound_of(bounds, "contradicts", "finding", _kind(verdict))
    return verdict.verdict == "contradicts" and bool(bound and bound.admits(verdict.confidence))


def main() -> None:
    """Find the bounds, write them, and print their effect."""
    parser = argparse.ArgumentParser(description="Write the bounds of a verifier.")
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    parser.add_argument("--model", required=True, help="shipped verifier, ragassay/...")
    parser.add_argument(
        "--work", type=Path, required=True, help=".npy file that caches probabilities"
    )
    args = parser.parse_args()
    cases = [*answer_cases(args.shared), *claim_cases(args.shared)]
    model = open_entailment_model(args.model, load_settings().literature.cache_dir)
    print(f"{len(cases)} pairs", flush=True)
    found = verdicts_of(cases, model, args.work)
    bounds = write_bounds(args.model, [bound_from(cases, found)])
    for bound in bounds:
        print(bound.model_dump_json())
    print(report(cases, found, bounds))


if __name__ == "__main__":
    main()
