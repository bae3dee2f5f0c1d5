"""Score titles, counts and the headline of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import fmean

from ragassay.evaluators import OURS, Direction, ScoreDisplay
from ragassay.metrics.stats.changes import SERIOUS_KEY
from ragassay.model_names import SIGNALS
from ragassay.records import UNSCORED_KINDS, Score, Summary
from ragassay.reports.display import format_failure_reason, format_score
from ragassay.reports.labels import (
    POSSIBLE,
    REFUSAL,
    find_finding_title,
    is_serious,
    rank_finding_kind,
)

RUBRIC_MEAN = "Rubric mean"
AVERAGES_NOTE = (
    'Scores are means over answers. "Over questions" first averages the scores of all answers to '
    'a question. "Pooled" weights all verdicts equally, so long answers count more.'
)
MAIN_SCORES = ("nuggets.recall", "nuggets.f1", "evidence.support", "citations.support")

GROUPS = {
    e.display.group: ScoreDisplay(e.display.title, e.display.direction)
    for e in OURS
    if e.display.title
}
"""Titles of score groups, keyed by the part of the score key before the dot."""

SCORES = {name: display for e in OURS for name, display in e.display.scores.items()}
"""Title and better direction of each score, by key."""

QUESTIONS = {e.display.kind: e.display.question for e in OURS if e.display.kind}
"""Titles of the kinds of question that a judge is asked."""

_HEADLINE_SHARES = (
    ("nuggets.recall", "of gold nuggets are stated"),
    ("citations.support", "of citations support their sentence"),
    ("exam.cover", "of test bank items are covered"),
)


def humanise(name: str) -> str:
    """Turn a name into a title: "foo_bar" becomes "Foo bar"."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


MEASURED = {
    "rubric.correctness": "Closeness to the sources",
    "rubric.completeness": "Coverage of the sources",
    "rubric.informativeness": "Closeness to question and sources",
}
"""Titles of scores that are computed from signals because there is no judge to rate the rubric."""


def extract_score_group(key: str) -> str:
    """Return the part of a score key before the dot, or "" if there is no dot."""
    group, dot, _ = key.partition(".")
    return group if dot else ""


def find_group_title(group: str) -> str:
    """Return the title of a score group."""
    if not group:
        return "Other"
    known = GROUPS.get(group)
    return known.title if known else humanise(group)


def find_score_title(key: str, judge: str = "") -> str:
    """Return the full title of a score, which depends on whether it is computed from signals."""
    if judge == SIGNALS and key in MEASURED:
        return MEASURED[key]
    known = SCORES.get(key)
    if known:
        return known.title
    group = extract_score_group(key)
    name = humanise(key[len(group) + 1 :] if group else key)
    if group == "rubric":
        return name
    return f"{find_group_title(group)}: {name}" if group else name


def find_question_title(kind: str) -> str:
    """Return the title of a question kind, derived from its name if it is custom."""
    return QUESTIONS.get(kind) or humanise(kind)


def find_verdict_title(evaluator: str, n: int = 1) -> str:
    """Return what the verdicts of an evaluator are called, in the singular if `n` is 1."""
    known = next((e.display for e in OURS if e.name == evaluator), None)
    one = known.verdict if known else f"verdict of {evaluator}"
    several = (known and known.verdicts) or (f"{one}s" if known else f"verdicts of {evaluator}")
    return one if n == 1 else several


def find_score_direction(key: str) -> Direction | None:
    """Return whether higher or lower values of a score are better, if either is."""
    known = SCORES.get(key) or GROUPS.get(extract_score_group(key))
    return known.direction if known else None


def average_rubrics(scores: Mapping[str, Score]) -> Score | None:
    """Return the mean over all rubrics that have a score.

    Args:
        scores: Scores, keyed as in `Evaluation.scores`.

    Returns:
        Score without an interval, in which `n` and `n_unscored` count rubrics. None if there are no
        rubrics, or if their scales differ.
    """
    rubrics = [score for key, score in scores.items() if extract_score_group(key) == "rubric"]
    if len({score.scale for score in rubrics}) != 1:
        return None
    known = [s for s in rubrics if s.decided is not None and math.isfinite(s.decided)]
    ends = [s.range or (s.decided, s.decided) for s in known if s.decided is not None]
    low, high = map(fmean, zip(*ends, strict=True)) if ends else (None, None)
    return Score(
        value=fmean(s.decided for s in known if s.decided is not None) if known else None,
        n=len(known),
        n_unscored=len(rubrics) - len(known),
        worst=low,
        best=high,
        scale=rubrics[0].scale,
    ).reported


def format_rubric_mean(scores: Mapping[str, Score]) -> str:
    """Format the rubric mean, with the number of rubrics if some are unscored."""
    mean = average_rubrics(scores)
    if mean is None or mean.decided is None or not mean.n_unscored:
        return format_score(mean)
    return f"{format_score(mean)} ({mean.n} of {mean.n + mean.n_unscored})"


def count_text(n: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun, such as "1 answer" or "2,000 answers"."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def join_words(parts: Iterable[str]) -> str:
    """Join parts as running text, such as "a, b and c"."""
    words = list(parts)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def describe_findings(findings: Mapping[str, int]) -> str:
    """List serious findings and refusals by kind, and count all other findings."""
    kinds = sorted((kind for kind, n in findings.items() if n > 0), key=rank_finding_kind)
    named = [kind for kind in kinds if is_serious(kind) or kind == REFUSAL]
    parts = [f"{findings[k]:,} {find_finding_title(k, findings[k]).lower()}" for k in named]
    others = sum(findings[k] for k in kinds if k not in named)
    if others:
        parts.append(count_text(others, "other finding" if parts else "finding"))
    return join_words(parts)


def describe_possible_findings(findings: Mapping[str, int]) -> str:
    """List serious secondary findings by kind, and count all other secondary findings.

    Example:
        >>> describe_possible_findings({"contradicted_citation": 2, "number_not_in_source": 1})
        '2 possibly contradicted citations and 1 other finding'
    """
    named = [kind for kind in POSSIBLE if findings.get(kind)]
    parts = [count_text(findings[kind], *POSSIBLE[kind]) for kind in named]
    others = sum(n for kind, n in findings.items() if kind not in named)
    if others:
        parts.append(count_text(others, "other finding" if parts else "finding"))
    return join_words(parts)


def describe_shortfall(summary: Summary) -> str:
    """Return a sentence that counts failed records and unreadable lines, or ""."""
    parts = []
    if summary.n_failed:
        parts.append(f"{count_text(summary.n_failed, 'record')} could not be evaluated")
    if summary.n_rejected:
        parts.append(f"{count_text(summary.n_rejected, 'line')} could not be read")
    return f"{join_words(parts)}." if parts else ""


def _describe_rubrics(scores: Mapping[str, Score]) -> str:
    mean = average_rubrics(scores)
    if mean is None:
        return ""
    if mean.decided is None:
        return "no rubric could be scored"
    text = f"rubrics average {format_score(mean)} of {mean.scale[1]:g}"
    if not mean.n_unscored:
        return text
    return f"{text}, over {mean.n} of {mean.n + mean.n_unscored} rubrics"


def _describe_share(scores: Mapping[str, Score], key: str, text: str) -> str:
    score = scores.get(key)
    return "" if score is None or score.decided is None else f"{format_score(score)} {text}"


_FIXES = {
    "connection": "start the endpoint or check --api-base, and ",
    "rate_limit": "lower --concurrency, and ",
    "cut": "raise --max-reply-tokens, and ",
    "too_long": "use a model with a longer context, or ",
}
"""What to do about each reason for a failure before the failed verdicts are requested again."""


def describe_failures(summary: Summary) -> str:
    """Count the failed verdicts by cause, and say how to fix them; "" if there are none."""
    if not summary.unscored:
        return ""
    causes = [
        f"{format_failure_reason(reason)}: {count_text(n, 'verdict')} unscored"
        for reason, n in summary.unscored.items()
    ]
    fix = _FIXES.get(next(iter(summary.unscored)), "")
    text = "; ".join([*causes, f"{fix}run the same command with --retry-failed"])
    return f"{text[:1].upper()}{text[1:]}."


def summarize_run(summary: Summary) -> str:
    """Summarize a run in one line: main scores, then serious findings and failures."""
    if not summary.n_evaluated:
        return f"No answers were evaluated ({count_text(summary.n_records, 'record')} read)."
    if summary.judged_nothing:
        return f"Nothing could be judged. {describe_failures(summary)}"
    subject = count_text(summary.n_evaluated, "answer")
    if len(summary.systems) > 1:
        subject += f" by {count_text(len(summary.systems), 'system')}"
    clauses = [_describe_rubrics(summary.scores)]
    clauses += [_describe_share(summary.scores, key, text) for key, text in _HEADLINE_SHARES]
    scores_text = join_words(filter(None, clauses)) or "no score is available"
    hidden = UNSCORED_KINDS if summary.unscored else ()
    findings = describe_findings({k: n for k, n in summary.findings.items() if k not in hidden})
    line = f"{subject}: {scores_text}" + (f"; look first at {findings}." if findings else ".")
    return " ".join(filter(None, (line, describe_failures(summary))))


RUBRIC_KEY = "rubric.mean"
"""Key of the mean over all rubrics of an answer."""

NAMES = {SERIOUS_KEY: "Answers with a serious finding", RUBRIC_KEY: RUBRIC_MEAN}


def find_score_name(key: str) -> str:
    """Return the title of a score, of the rubric mean, or of the serious findings."""
    return NAMES.get(key) or find_score_title(key)
