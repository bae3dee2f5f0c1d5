"""Measure how well the role check rejects reversed comparisons, and its cost.

    python benchmarks/roles.py --shared ../shared
    python benchmarks/roles.py --shared ../shared --verdicts --show 20

The claims are supported by their document: SciFact (train), Citation-Integrity (train and dev),
HealthVer (dev), and claims generated from Evidence Inference's findings (dev) by templates. No test
split is used. Each row counts:

- supported: distinct pairs of claim and document.
- undecided: supported pairs that `explain_unconfirmed` rejects. These are false alarms.
- turned: claims with two sides exchanged by the patterns of this script: "with A than with B", "A
  ... than B", "from A to B". Their document does not support them.
- swapped: claims with two numbers exchanged, "12 % ... and 20 %" or "from 12 to 20", including
  years.
- accepted: turned or swapped claims that pass the check. These are misses.

For Evidence Inference, turned claims are templates with the two arms exchanged. Templates always
compare and use their own wording, so many claims are unconfirmed.

--verdicts runs the default verifier on supported and turned claims, and counts "supports" verdicts
with and without the check.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.model_names import MINILM_VERIFIER
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import SUPPORTS
from ragassay.models.verifiers import open_entailment_model
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.settings import load_settings
from ragassay.text.roles import explain_unconfirmed
from ragassay.text.sentences import extract_sentences

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.claims import (
    SEED,
    read_citation_integrity,
    read_healthver,
    read_scifact_claims,
    split_scifact,
)
from training.findings import finding_claims, read_findings

_PHRASE = r"((?:[\w'/+-]+ ){0,3}?[\w'/+-]+)"
_END = (
    r"(?= (?:in|at|for|after|during|over|among|by|on|from|is|are|was|were|did|do|and|who)\b"
    r"|[,.;:()]|$)"
)
_VERB = (
    r"(?:is|are|was|were|had|have|has|can|may|led|leads|resulted|results|reduced|reduces|increased"
    r"|increases|improved|improves|decreased|decreases|lowered|lowers|raised|showed|shows|produced"
    r"|produces|provides?|developed?|experienced?|express(?:es|ed)?|caused?|causes)\b"
)
_THAN = r"(?:than|compared (?:with|to)|versus|vs\.?|relative to|(?:superior|inferior) to)"
_SIDES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?P<word>with|in|among|for|on|after)\s{_PHRASE} {_THAN} (?P=word) {_PHRASE}{_END}",
        rf"\bfrom (?!\d){_PHRASE} to (?!\d){_PHRASE}{_END}",
        rf"^(?!there\b)(?:the |an? )?{_PHRASE} (?={_VERB})[^;]* {_THAN} (?:the |an? )?{_PHRASE}"
        rf"{_END}",
    )
)
_VALUES = (
    re.compile(
        r"(\d[\d.]*)\s?%[^%;\d]{0,60}\b(?:and|versus|vs\.?|compared (?:with|to))"
        r"[^%;\d]{0,40}\s(\d[\d.]*)\s?%"
    ),
    re.compile(r"\bfrom (\d\S*) (?:[a-z]+ )?to (\d\S*)", re.IGNORECASE),
)


_NO_SIDES = frozenset("it there this another other others be say".split())
"""Words that exclude a phrase as a side of a comparison."""


def turned(claim: str, patterns: Sequence[re.Pattern[str]]) -> str | None:
    """Return a claim with the sides of the first matching pattern exchanged, or None."""
    for pattern in patterns:
        found = pattern.search(claim)
        if not found:
            continue
        (first, second) = (
            n for n in range(1, pattern.groups + 1) if n != pattern.groupindex.get("word")
        )
        one, other = found[first], found[second]
        if one.lower() == other.lower() or not _NO_SIDES.isdisjoint(
            f"{one} {other}".lower().split()
        ):
            continue
        return "".join(
            (
                claim[: found.start(first)],
                other,
                claim[found.end(first) : found.start(second)],
                one,
                claim[found.end(second) :],
            )
        )
    return None


def supported(claims: Iterable[LabelledClaim]) -> list[LabelledClaim]:
    """Return the distinct supported pairs."""
    pairs = {(one.claim, one.sentences): one for one in claims if one.label == SUPPORTS}
    return list(pairs.values())


@dataclass(frozen=True)
class ClaimSet:
    """Supported claims and their reversed versions."""

    supported: Sequence[LabelledClaim]
    turned: Sequence[LabelledClaim]
    swapped: Sequence[LabelledClaim] = ()


def sets_of_claims(shared: Path) -> dict[str, ClaimSet]:
    claims = {
        "SciFact, held out of training": split_scifact(shared)[1],
        "SciFact, all of train": read_scifact_claims(shared),
        "Citation-Integrity dev": read_citation_integrity(shared, "dev"),
        "Citation-Integrity train": read_citation_integrity(shared, "train"),
        "HealthVer dev": read_healthver(shared),
    }
    found = {name: _with_turned(supported(rows)) for name, rows in claims.items()}
    directed = [one for one in read_findings(shared, "dev") if one.direction != "same"]
    changed = finding_claims(directed, random.Random(SEED), 1)
    found["Evidence Inference dev (templates)"] = ClaimSet(
        supported(one.claim for one in changed if one.kind == "finding"),
        [one.claim for one in changed if one.kind == "arms swapped"],
    )
    return found


def _with_turned(claims: list[LabelledClaim]) -> ClaimSet:
    sides, values = (
        [replace(c, claim=other) for c in claims if (other := turned(c.claim, patterns))]
        for patterns in (_SIDES, _VALUES)
    )
    return ClaimSet(claims, sides, values)


def found_in(claims: Sequence[LabelledClaim]) -> list[LabelledClaim]:
    """Return the claims that are not confirmed."""
    return [one for one in claims if explain_unconfirmed(one.claim, one.sentences)]


def print_row(name: str, claims: ClaimSet, show: int) -> None:
    """Print one table row, with some false alarms and misses."""
    undecided, cells = found_in(claims.supported), ""
    shown = [("undecided", undecided)]
    for changed in (claims.turned, claims.swapped):
        unconfirmed = found_in(changed)
        missed = [one for one in changed if one not in unconfirmed]
        cells += f"{len(changed):>9}{len(missed):>9}"
        shown.append(("accepted", missed))
    print(f"{name:<36}{len(claims.supported):>9}{len(undecided):>10}{cells}", flush=True)
    for heading, rows in shown:
        for one in rows[:show]:
            print(
                f"  {heading}: {one.claim[:300]}\n"
                f"    {explain_unconfirmed(one.claim, one.sentences)}"
            )


def print_verdicts(name: str, claims: Sequence[LabelledClaim], verifier: EncoderVerifier) -> None:
    """Print how many claims the verifier supports, with and without the check."""
    lenient = [one for one in claims if _leans(one, verifier)]
    n_confirmed = len(lenient) - len(found_in(lenient))
    print(
        f"{name}: {len(claims)} claims, {len(lenient)} supported without, {n_confirmed} with",
        flush=True,
    )


def _leans(one: LabelledClaim, verifier: EncoderVerifier) -> bool:
    """Return whether a claim is supported when the check is ignored."""
    result = verifier.compare(one.claim, " ".join(one.sentences), one.title)
    detail = result.failure.detail if result.failure else ""
    sentences = extract_sentences(" ".join(one.sentences))
    is_ragassay_model = bool(detail) and detail == explain_unconfirmed(one.claim, sentences)
    return result.verdict == "supports" or is_ragassay_model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--verdicts", action="store_true", help="also run the default verifier")
    parser.add_argument("--show", type=int, default=0, help="number of errors to print per set")
    parser.add_argument("--only", default="", help="run only sets whose name contains this text")
    args = parser.parse_args()
    sets = {name: rows for name, rows in sets_of_claims(args.shared).items() if args.only in name}
    changed = "".join(f"{word:>9}{'accepted':>9}" for word in ("turned", "swapped"))
    print(f"{'set':<36}{'supported':>9}{'undecided':>10}{changed}")
    for name, claims in sets.items():
        print_row(name, claims, args.show)
    if args.verdicts:
        model = open_entailment_model(MINILM_VERIFIER, load_settings().literature.cache_dir)
        verifier = EncoderVerifier(model, Embedder())
        for name, claims in sets.items():
            print_verdicts(f"{name}, as written", claims.supported, verifier)
            print_verdicts(f"{name}, turned", [*claims.turned, *claims.swapped], verifier)


if __name__ == "__main__":
    main()
