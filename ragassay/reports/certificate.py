"""Format the audit certificate of a judge for pages, Markdown and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragassay.records import AttackFamily, Audit, TargetTrust, Trust
from ragassay.reports.labels import find_finding_title
from ragassay.reports.sheets import Sheet, Shown, build_text_columns
from ragassay.reports.text import (
    count_text,
    find_score_title,
    join_words,
)

TrustTone = Literal["good", "wary", "bad", "unscored"]

CHANCE = 0.5
"""Highest detection rate to expect from random ratings, because ties do not count as detected."""

NOT_AUDITED = (
    "This judge was not audited. To measure how reliable it is on each score, run the same command "
    "with --audit 20."
)
TOO_FEW = "too few"
WORDS: dict[Trust | None, tuple[str, str, TrustTone]] = {
    "trusted": ("trusted", "\u2713", "good"),
    "weak": ("weak", "~", "wary"),
    "blind": ("blind", "\u2717", "bad"),
    None: (TOO_FEW, "?", "unscored"),
}
"""Word, sign and tone that stand for each verdict on a judge."""

NO_ROOM: tuple[str, str, TrustTone] = ("at maximum", "?", "unscored")
"""Word, sign and tone for a score that is already at its maximum, so that no injection can raise
it."""

ABOUT_RUBRICS: tuple[AttackFamily, ...] = ("rubric", "pair")

OTHERS = "Changed facts, and injected instructions to the judge"
"""Heading of the certificate lines that are not about rubrics."""

WORST_FIRST: tuple[Trust | None, ...] = ("blind", "weak", None, "trusted")

EXPLANATION = (
    "The judge scored deliberately perturbed versions of some answers. Trusted means that nearly "
    "all extremely perturbed answers and most subtly perturbed answers got a lower score. Blind "
    "means that the judge is no better than chance. Weak means that the judge is between trusted "
    "and blind."
)


@dataclass(frozen=True, slots=True)
class TrustLine:
    """A line of the certificate; `sign` and `tone` show the same verdict as `word`."""

    title: str
    word: str
    sign: str
    tone: TrustTone
    reason: str


@dataclass(frozen=True, slots=True)
class CertificateView:
    """Audit certificate of a judge, with its texts ready for display.

    Attributes:
        rubrics: Verdicts on the judge, by rubric or by RACAR dimension.
        others: Verdicts on the judge for changed clinical facts and for injected instructions.
        basis: Sentence about the judge and the answers on which the verdicts are based.
    """

    headline: str
    rubrics: tuple[TrustLine, ...]
    others: tuple[TrustLine, ...]
    basis: str

    @property
    def sheet(self) -> Sheet:
        """Table of all certificate lines."""
        rows = tuple(
            (line.title, Shown(f"{line.sign} {line.word}", style=line.tone), line.reason)
            for line in (*self.rubrics, *self.others)
        )
        sections = {len(self.rubrics): Shown(OTHERS)}
        columns = build_text_columns("Target", "Judge", "Reason")
        return Sheet("Audit of this judge", columns, rows, self.basis, sections=sections)


def view_certificate(audit: Audit) -> CertificateView:
    """Format the certificate of an audit, with a single line for all injections."""
    groups = group_certificate_lines(audit)
    rubrics = [group for group in groups if group[1][0].family in ABOUT_RUBRICS]
    return CertificateView(
        headline=summarize_trust([trusts[0] for _, trusts in rubrics]),
        rubrics=tuple(line for line, _ in rubrics),
        others=tuple(line for line, trusts in groups if trusts[0].family not in ABOUT_RUBRICS),
        basis=describe_audit_basis(audit),
    )


def group_certificate_lines(audit: Audit) -> tuple[tuple[TrustLine, tuple[TargetTrust, ...]], ...]:
    """Return each certificate line with the verdicts that it summarizes."""
    rubrics = [
        (_build_line(find_target_title(t.target), t), (t,))
        for family in ABOUT_RUBRICS
        for t in _select_family(audit, family)
    ]
    clinical = [
        (_build_line(f"Changed facts: {find_target_title(t.target).lower()}", t), (t,))
        for t in _select_family(audit, "clinical")
    ]
    injected = tuple(_select_family(audit, "injection"))
    return (*rubrics, *clinical, *((line, injected) for line in _summarize_injections(injected)))


def summarize_trust(rubrics: Sequence[TargetTrust]) -> str:
    """Summarize the verdicts, for example "Trusted on 2 of 3 rubrics; blind on cohesion."."""
    if not rubrics:
        return "No rubric was audited."
    n_trusted = sum(t.trust == "trusted" for t in rubrics)
    noun = "dimension" if all(t.family == "pair" for t in rubrics) else "rubric"
    parts = [f"Trusted on {n_trusted} of {count_text(len(rubrics), noun)}"]
    for trust in ("blind", "weak", None):
        titles = [find_target_title(t.target).lower() for t in rubrics if t.trust == trust]
        if titles:
            start = "too few pairs for" if trust is None else f"{trust} on"
            parts.append(f"{start} {join_words(titles)}")
    return f"{'; '.join(parts)}."


def describe_audit_basis(audit: Audit) -> str:
    """Describe the judge and the answers on which the certificate is based."""
    is_given = audit.pools == "given"
    source = "taken from the input file" if is_given else f"made with seed {audit.seed}"
    noun = "pair" if any(trust.family == "pair" for trust in audit.certificate) else "answer"
    parts = [
        f"Judge: {audit.judge}{', with the signals of each answer' * audit.is_measured}",
        f"{count_text(audit.n_answers, f'unperturbed {noun}')} and "
        f"{count_text(audit.n_perturbed, f'perturbed {noun}')}, {source}",
    ]
    if audit.paraphraser:
        n_asked = audit.n_paraphrased + audit.n_by_rule
        n_written = f"{audit.n_paraphrased} of {count_text(n_asked, 'redundant sentence')}"
        parts.append(f"{n_written} were written by {audit.paraphraser}, the others by rules")
    if audit.n_failed:
        parts.append(f"{count_text(audit.n_failed, 'answer')} could not be evaluated")
    return f"{'; '.join(parts)}."


def find_target_title(target: str) -> str:
    """Return the title of the score or finding that an attack targets."""
    group, _, kind = target.partition(".")
    return find_finding_title(kind, 1) if group == "findings" else find_score_title(target)


def _select_family(audit: Audit, family: AttackFamily) -> list[TargetTrust]:
    return [trust for trust in audit.certificate if trust.family == family]


def _build_line(title: str, trust: TargetTrust) -> TrustLine:
    word, sign, tone = WORDS[trust.trust] if trust.has_room else NO_ROOM
    return TrustLine(title, word, sign, tone, trust.reason)


def _summarize_injections(trusts: Sequence[TargetTrust]) -> tuple[TrustLine, ...]:
    """Return a single line with the verdict on the score that injections raise the most.

    Scores that are already at their maximum are only counted, unless all scores are.
    """
    if not trusts:
        return ()
    raisable = [trust for trust in trusts if trust.has_room] or trusts
    worst = min(raisable, key=lambda t: (WORST_FIRST.index(t.trust), -_lift(t)))
    among = f", the worst of {count_text(len(raisable), 'score')}" if len(raisable) > 1 else ""
    if n_at_top := len(trusts) - len(raisable):
        among += f" (not counting {n_at_top} already at the maximum)"
    line = _build_line("Instructions in the answer", worst)
    return (replace(line, reason=f"{find_target_title(worst.target)}{among}: {worst.reason}"),)


def _lift(trust: TargetTrust) -> float:
    lift = trust.lift
    if lift is None or lift.value is None:
        return -1.0
    return lift.value / (lift.scale[1] - lift.scale[0])
