"""View of a judge's certificate for a page, a Markdown summary and a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.records import AttackFamily, Audit, TargetTrust, Trust
from ragassay.reports.labels import finding_title
from ragassay.reports.sheets import Sheet, Shown, words
from ragassay.reports.text import (
    count_text,
    join_words,
    score_title,
)

TrustTone = Literal["good", "wary", "bad", "unscored"]

NOT_AUDITED = (
    "Not audited. Run the same command with --audit 20 to measure this judge on each score."
)
UNTOLD = "too few"
WORDS: dict[Trust | None, tuple[str, str, TrustTone]] = {
    "trusted": ("trusted", "\u2713", "good"),
    "weak": ("weak", "~", "wary"),
    "blind": ("blind", "\u2717", "bad"),
    None: (UNTOLD, "?", "unscored"),
}
"""Word, sign and tone of a verdict: no colour says more than its word."""

NO_ROOM: tuple[str, str, TrustTone] = ("no room", "?", "unscored")
"""For whole answers at the top of the scale: an injection cannot raise them, so nothing is learnt.
"""

ABOUT_RUBRICS: tuple[AttackFamily, ...] = ("rubric", "pair")

OTHERS = "Changed facts, and text that talks to the judge"
"""Heading of the lines that are about no rubric."""

WORST_FIRST: tuple[Trust | None, ...] = ("blind", "weak", None, "trusted")

EXPLANATION = (
    "Some answers were perturbed on purpose, and judged like the unperturbed ones. Trusted: "
    "nearly all plainly perturbed answers and most of the subtly perturbed ones get a lower score. "
    "Blind: no better than chance. Weak: in between."
)


@dataclass(frozen=True, slots=True)
class TrustLine:
    """A line of the certificate; `sign` and `tone` repeat what `word` says."""

    title: str
    word: str
    sign: str
    tone: TrustTone
    reason: str


@dataclass(frozen=True, slots=True)
class CertificateView:
    """The certificate.

    Attributes:
        rubrics: Whether the judge detects damage to each rubric, or dimension of RACAR.
        others: Clinical changes, and text that addresses the judge.
        basis: The data behind the verdicts.
    """

    headline: str
    rubrics: tuple[TrustLine, ...]
    others: tuple[TrustLine, ...]
    basis: str

    @property
    def sheet(self) -> Sheet:
        """All lines as a table."""
        rows = tuple(
            (line.title, Shown(f"{line.sign} {line.word}", style=line.tone), line.reason)
            for line in (*self.rubrics, *self.others)
        )
        sections = {len(self.rubrics): Shown(OTHERS)}
        columns = words("Of", "Judge is", "Why")
        return Sheet("Audit of this judge", columns, rows, self.basis, sections=sections)


def view_certificate(audit: Audit) -> CertificateView:
    """Return the lines of an audit's certificate; injected text is one line."""
    groups = certificate_groups(audit)
    rubrics = [group for group in groups if group[1][0].family in ABOUT_RUBRICS]
    return CertificateView(
        headline=trust_headline([trusts[0] for _, trusts in rubrics]),
        rubrics=tuple(line for line, _ in rubrics),
        others=tuple(line for line, trusts in groups if trusts[0].family not in ABOUT_RUBRICS),
        basis=basis_text(audit),
    )


def certificate_groups(audit: Audit) -> tuple[tuple[TrustLine, tuple[TargetTrust, ...]], ...]:
    """Return each line of a certificate with the verdicts that it stands for."""
    rubrics = [
        (_line(target_title(t.target), t), (t,))
        for family in ABOUT_RUBRICS
        for t in _of(audit, family)
    ]
    clinical = [
        (_line(f"Changed facts: {target_title(t.target).lower()}", t), (t,))
        for t in _of(audit, "clinical")
    ]
    injected = tuple(_of(audit, "injection"))
    return (*rubrics, *clinical, *((line, injected) for line in _injection(injected)))


def trust_headline(rubrics: Sequence[TargetTrust]) -> str:
    """Summarise the rubrics in one sentence: "Trusted on 2 of 3 rubrics; blind on cohesion."."""
    if not rubrics:
        return "No rubric was audited."
    named: list[str] = []
    for trust in ("blind", "weak", None):
        titles = [target_title(t.target).lower() for t in rubrics if t.trust == trust]
        if titles:
            start = "too few pairs for" if trust is None else f"{trust} on"
            named.append(f"{start} {join_words(titles)}")
    n_trusted = sum(t.trust == "trusted" for t in rubrics)
    what = "dimension" if all(t.family == "pair" for t in rubrics) else "rubric"
    start = f"Trusted on {n_trusted} of {count_text(len(rubrics), what)}"
    return f"{'; '.join([start, *named])}."


def basis_text(audit: Audit) -> str:
    """Return the number of answers behind the certificate, and what was left out."""
    source = "read from the file" if audit.pools == "given" else f"made with seed {audit.seed}"
    is_of_pairs = any(trust.family == "pair" for trust in audit.certificate)
    whole = count_text(audit.n_answers, f"unperturbed {'pair' if is_of_pairs else 'answer'}")
    hurt = count_text(audit.n_perturbed, "perturbed one")
    parts = [
        f"Judge: {audit.judge}{', with the signals of each answer' * audit.is_measured}",
        f"{whole} and {hurt}, {source}",
    ]
    if audit.paraphraser:
        n_asked = audit.n_paraphrased + audit.n_by_rule
        written = f"{audit.n_paraphrased} of {count_text(n_asked, 'redundant sentence')}"
        parts.append(f"{written} by {audit.paraphraser}, the others by rule")
    if audit.n_failed:
        parts.append(f"{count_text(audit.n_failed, 'answer')} could not be evaluated")
    return f"{'; '.join(parts)}."


def target_title(target: str) -> str:
    """Return the title of a score or finding that an attack targets."""
    group, _, kind = target.partition(".")
    return finding_title(kind, 1) if group == "findings" else score_title(target)


def _of(audit: Audit, family: AttackFamily) -> list[TargetTrust]:
    return [trust for trust in audit.certificate if trust.family == family]


def _line(title: str, trust: TargetTrust) -> TrustLine:
    word, sign, tone = WORDS[trust.trust] if trust.has_room else NO_ROOM
    return TrustLine(title, word, sign, tone, trust.reason)


def _injection(lines: Sequence[TargetTrust]) -> tuple[TrustLine, ...]:
    """Return one line for all scores: the verdict on the worst of them, by its largest lift.

    Scores without room to rise are only counted; if there are no others, they are that line.
    """
    if not lines:
        return ()
    telling = [trust for trust in lines if trust.has_room] or lines
    worst = min(telling, key=lambda t: (WORST_FIRST.index(t.trust), -_lift(t)))
    line = _line("Instructions in the answer", worst)
    among = f", the worst of {count_text(len(telling), 'score')}" if len(telling) > 1 else ""
    n_silent = len(lines) - len(telling)
    if n_silent:
        among += f" ({n_silent} more were already at the top)"
    return (
        TrustLine(
            line.title,
            line.word,
            line.sign,
            line.tone,
            f"{target_title(worst.target)}{among}: {worst.reason}",
        ),
    )


def _lift(trust: TargetTrust) -> float:
    """Return the lift as a share of its scale; that of an unscored target is the lowest."""
    lift = trust.lift
    if lift is None or lift.value is None:
        return -1.0
    return lift.value / (lift.scale[1] - lift.scale[0])
