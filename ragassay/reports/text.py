"""The names of scores, the form of numbers and differences, and the headline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import fmean

from ragassay.evaluators import OURS, Direction, Wording
from ragassay.metrics.stats.changes import SERIOUS_KEY
from ragassay.metrics.stats.leaderboard import PairTest
from ragassay.model_names import SIGNALS
from ragassay.records import UNSCORED_KINDS, Finding, Score, Summary
from ragassay.reports.labels import REFUSAL, finding_rank, finding_title, is_serious, reason_text

NBSP = "\u00a0"
EN_DASH = "\u2013"
NOT_DEFINED = "n/a"
SHARE_SCALE = (0.0, 1.0)
NOT_JUDGED = "unscored (not judged)"
RUBRIC_MEAN = "Rubric mean"
AVERAGES_NOTE = (
    "Scores and systems are means over answers. Over questions, the answers to a question are "
    "averaged first; pooled, all verdicts count alike, so that long answers weigh more."
)
MAIN_SCORES = ("nuggets.recall", "nuggets.f1", "evidence.support", "citations.support")


GROUPS = {e.words.group: Wording(e.words.title, e.words.direction) for e in OURS if e.words.title}
"""Titles of groups of scores, by the part of their names before the dot."""

SCORES = {name: wording for e in OURS for name, wording in e.words.scores.items()}
"""Titles of scores, by their full name."""

QUESTIONS = {e.words.kind: e.words.question for e in OURS if e.words.kind}
"""Titles of the kinds of questions to a judge."""

_HEADLINE_SHARES = (
    ("nuggets.recall", "of gold nuggets are stated"),
    ("citations.support", "of citations support their sentence"),
    ("exam.cover", "of the test bank's items are covered"),
)


def humanise(name: str) -> str:
    """Return a title for an unknown name: "foo_bar" becomes "Foo bar"."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


MEASURED = {
    "rubric.correctness": "Closeness to the sources",
    "rubric.completeness": "Coverage of the sources",
    "rubric.informativeness": "Closeness to question and sources",
}
"""What signals measure for rubrics that only a judge can tell: a copy of the sources is best."""


def score_group(key: str) -> str:
    """Return the part of a score's key before the dot; empty without a dot."""
    group, dot, _ = key.partition(".")
    return group if dot else ""


def group_title(group: str) -> str:
    """Return the title of a group of scores."""
    if not group:
        return "Other"
    known = GROUPS.get(group)
    return known.title if known else humanise(group)


def score_title(key: str, judge: str = "") -> str:
    """Return the title of a score, readable without its group; by signals, what they measure."""
    if judge == SIGNALS and key in MEASURED:
        return MEASURED[key]
    known = SCORES.get(key)
    if known:
        return known.title
    group = score_group(key)
    name = humanise(key[len(group) + 1 :] if group else key)
    if group == "rubric":
        return name
    return f"{group_title(group)}: {name}" if group else name


def question_title(kind: str) -> str:
    """Return the title of a kind of question; for a user's evaluator, its name."""
    return QUESTIONS.get(kind) or humanise(kind)


def verdict_title(evaluator: str, n: int = 1) -> str:
    """Return the noun for an evaluator's verdicts, one or several; for a user's, its name."""
    known = next((e.words for e in OURS if e.name == evaluator), None)
    one = known.verdict if known else f"verdict of {evaluator}"
    several = (known and known.verdicts) or (f"{one}s" if known else f"verdicts of {evaluator}")
    return one if n == 1 else several


def score_direction(key: str) -> Direction | None:
    """Return the better direction of a score; None if neither is, or if it is unknown."""
    known = SCORES.get(key) or GROUPS.get(score_group(key))
    return known.direction if known else None


def is_number(value: float | None) -> bool:
    """Return whether there is a finite number to show."""
    return value is not None and math.isfinite(value)


def format_share(share: float) -> str:
    r"""Return a share as per cent; a value near 0 or 1 is never rounded to it.

    Example:
        >>> format_share(0.9996)
        '>99.9\xa0%'
    """
    if 0 < share < 0.0005:
        return f"<0.1{NBSP}%"
    if 0.9995 <= share < 1:
        return f">99.9{NBSP}%"
    edge = 0 < share < 0.01 or 0.99 < share < 1
    return f"{share * 100 + 0.0:.{1 if edge else 0}f}{NBSP}%"


def format_value(value: float | None, scale: tuple[float, float] = SHARE_SCALE) -> str:
    """Return a number on its scale: per cent on 0 to 1, otherwise two decimals; or "n/a"."""
    if value is None or not math.isfinite(value):
        return NOT_DEFINED
    return format_share(value) if tuple(scale) == SHARE_SCALE else f"{value:.2f}"


def format_span(low: float | None, high: float | None, scale: tuple[float, float]) -> str:
    """Return two ends of a range, the unit once, as in "62-71 %"; "n/a" if an end is missing."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return NOT_DEFINED
    first, last = format_value(low, scale), format_value(high, scale)
    unit = f"{NBSP}%"
    if first.endswith(unit) and last.endswith(unit):
        first = first.removesuffix(unit)
    # A dash next to a minus sign would look like another minus.
    return f"{first}{' to ' if low < 0 else EN_DASH}{last}"


def decimals_text(value: float | None, digits: int = 3, is_signed: bool = False) -> str:
    """Return a number that is neither a share nor a rating, as "0.123" or "+0.123"; or "n/a"."""
    if value is None:
        return NOT_DEFINED
    return f"{value + 0.0:{'+' if is_signed else ''}.{digits}f}"


def decimals_span(score: Score | PairTest, digits: int = 3, is_signed: bool = False) -> str:
    """Return the 95 % interval of such a number; "n/a" where it has none."""
    if score.low is None or score.high is None:
        return NOT_DEFINED
    low, high = (decimals_text(end, digits, is_signed) for end in (score.low, score.high))
    # A dash next to a sign would look like another sign.
    return f"{low}{' to ' if is_signed or score.low < 0 else EN_DASH}{high}"


def precision_text(finding: Finding) -> str:
    """Return the measured precision of a finding of its kind, with its interval where known."""
    low, high = finding.precision_low, finding.precision_high
    interval = "" if None in (low, high) else f" ({format_span(low, high, (0, 1))})"
    return f"{format_share(finding.precision or 0.0)}{interval}"


def format_interval(score: Score) -> str:
    """Return the 95 % interval; "n/a" where undefined, and where only a range is known."""
    return NOT_DEFINED if score.is_open else format_span(score.low, score.high, score.scale)


def format_bounds(score: Score) -> str:
    """Return the range that unscored verdicts leave open; empty without any, or if it is shown.

    Which end is the worst depends on the direction, so both are named.
    """
    if not score.n_unscored or score.is_open:
        return ""
    worst, best = (format_value(end, score.scale) for end in (score.worst, score.best))
    return f"worst{NBSP}{worst}, best{NBSP}{best}"


def score_text(score: Score | None) -> str:
    """Return the value of a score, its range, or "unscored (reason)"."""
    if score is None:
        return NOT_JUDGED
    if is_number(score.value):
        return format_value(score.value, score.scale)
    if score.is_open and score.range is not None:
        return range_text(*score.range, score.scale)
    if score.n_unscored:
        return f"unscored ({score.n_unscored} of {score.n + score.n_unscored} missing)"
    return "unscored (none to score)"


def range_text(low: float, high: float, scale: tuple[float, float]) -> str:
    """Return the least and largest value that a score can have: "0 to 83 %"."""
    first, last = format_value(low, scale), format_value(high, scale)
    unit = f"{NBSP}%"
    start = first.removesuffix(unit) if last.endswith(unit) else first
    return f"{start}{NBSP}to{NBSP}{last}"


def rubric_mean(scores: Mapping[str, Score]) -> Score | None:
    """Return the mean over the rubrics that have a value.

    Args:
        scores: Keyed as in `Evaluation.scores`.

    Returns:
        `n` and `n_unscored` count rubrics; no interval. None without a rubric, or if their scales
        differ.
    """
    rubrics = [score for key, score in scores.items() if score_group(key) == "rubric"]
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
    ).settled


def rubric_mean_text(scores: Mapping[str, Score]) -> str:
    """Return the mean of the rubrics, with their number if some are missing."""
    mean = rubric_mean(scores)
    if mean is None or mean.decided is None or not mean.n_unscored:
        return score_text(mean)
    return f"{score_text(mean)} ({mean.n} of {mean.n + mean.n_unscored})"


def count_text(n: int, singular: str, plural: str | None = None) -> str:
    """Return a number and its noun: "1 answer", "2,000 answers"."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def join_words(parts: Iterable[str]) -> str:
    """Return parts as a list in running text: "a, b and c"."""
    words = list(parts)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def findings_text(findings: Mapping[str, int]) -> str:
    """Name the serious findings and the refusals; count the others."""
    kinds = sorted((kind for kind, n in findings.items() if n > 0), key=finding_rank)
    named = [kind for kind in kinds if is_serious(kind) or kind == REFUSAL]
    parts = [f"{findings[k]:,} {finding_title(k, findings[k]).lower()}" for k in named]
    others = sum(findings[k] for k in kinds if k not in named)
    if others:
        parts.append(count_text(others, "further finding" if parts else "finding"))
    return join_words(parts)


def shortfall(summary: Summary) -> str:
    """Return what the run does not cover, as a sentence; empty if it covers everything."""
    parts = []
    if summary.n_failed:
        parts.append(f"{count_text(summary.n_failed, 'record')} could not be evaluated")
    if summary.n_rejected:
        parts.append(f"{count_text(summary.n_rejected, 'line')} could not be read")
    words = join_words(parts)
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _rubric_clause(scores: Mapping[str, Score]) -> str:
    mean = rubric_mean(scores)
    if mean is None:
        return ""
    if mean.decided is None:
        return "no rubric could be scored"
    of = f"rubrics average {score_text(mean)} of {mean.scale[1]:g}"
    return f"{of}, over {mean.n} of {mean.n + mean.n_unscored} rubrics" if mean.n_unscored else of


def _share_clause(scores: Mapping[str, Score], key: str, words: str) -> str:
    score = scores.get(key)
    if score is None or score.decided is None:
        return ""
    return f"{score_text(score)} {words}"


_MENDS = {
    "connection": "start the endpoint or check --api-base, and ",
    "rate_limit": "lower --concurrency, and ",
    "cut": "raise --max-reply-tokens, and ",
    "too_long": "name a model with a longer context, or ",
}
"""What to do about a failure before its verdicts are asked for again."""


def lost_text(summary: Summary) -> str:
    """Return what failed, by cause, and what to do; empty where nothing did."""
    if not summary.unscored:
        return ""
    causes = [
        f"{reason_text(reason)}: {count_text(n, 'verdict')} unscored"
        for reason, n in summary.unscored.items()
    ]
    mend = _MENDS.get(next(iter(summary.unscored)), "")
    told = "; ".join([*causes, f"{mend}run the same command with --retry-failed"])
    return f"{told[:1].upper()}{told[1:]}."


def headline(summary: Summary) -> str:
    """Return the run in one line.

    It names only scored results; a run of which nothing could be judged says so first.
    """
    if not summary.n_evaluated:
        return f"No answer was evaluated, of {count_text(summary.n_records, 'record')} read."
    if summary.judged_nothing:
        return f"Nothing could be judged. {lost_text(summary)}"
    who = count_text(summary.n_evaluated, "answer")
    if len(summary.systems) > 1:
        who += f" by {count_text(len(summary.systems), 'system')}"
    clauses = [_rubric_clause(summary.scores)]
    clauses += [_share_clause(summary.scores, key, words) for key, words in _HEADLINE_SHARES]
    said = join_words(clause for clause in clauses if clause) or "no score is available"
    told = UNSCORED_KINDS if summary.unscored else ()
    found = findings_text({kind: n for kind, n in summary.findings.items() if kind not in told})
    line = f"{who}: {said}" + (f"; look first at {found}." if found else ".")
    return " ".join(filter(None, (line, lost_text(summary))))


RUBRIC_KEY = "rubric.mean"
"""The mean of an answer's rubrics, as a score."""

MINUS = "\u2212"
NAMES = {SERIOUS_KEY: "Answers with a serious finding", RUBRIC_KEY: RUBRIC_MEAN}


def score_name(key: str) -> str:
    """Return the title of a score, or of what is compared like one."""
    return NAMES.get(key) or score_title(key)


def difference_text(difference: float | None, scale: tuple[float, float]) -> str:
    """Return a difference with its sign: of shares in points of a hundred, else two decimals."""
    if difference is None:
        return NOT_DEFINED
    number = signed_text(difference, scale)
    return f"{number}{NBSP}points" if tuple(scale) == SHARE_SCALE else number


def interval_text(test: PairTest, scale: tuple[float, float]) -> str:
    """Return the interval of a difference, without its unit; empty without one."""
    if test.low is None or test.high is None:
        return ""
    return f"{signed_text(test.low, scale)} to {signed_text(test.high, scale)}"


def signed_text(difference: float, scale: tuple[float, float]) -> str:
    """Return the number of a difference; of shares in points of a hundred, without the unit."""
    is_share = tuple(scale) == SHARE_SCALE
    number = f"{abs(difference) * 100:.0f}" if is_share else f"{abs(difference):.2f}"
    sign = "" if not float(number) else "+" if difference > 0 else MINUS
    return f"{sign}{number}"
