"""The names of scores, and the headline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import fmean

from ragassay.evaluators import OURS, Direction, ScoreDisplay
from ragassay.metrics.stats.changes import SERIOUS_KEY
from ragassay.model_names import SIGNALS
from ragassay.records import UNSCORED_KINDS, Score, Summary
from ragassay.reports.display import reason_text, score_text
from ragassay.reports.labels import POSSIBLE, REFUSAL, finding_rank, finding_title, is_serious

RUBRIC_MEAN = "Rubric mean"
AVERAGES_NOTE = (
    'Scores and systems are means over answers. "Over questions" averages the answers to a '
    'question first. "Pooled" counts all verdicts alike, so long answers weigh more.'
)
MAIN_SCORES = ("nuggets.recall", "nuggets.f1", "evidence.support", "citations.support")


GROUPS = {
    e.display.group: ScoreDisplay(e.display.title, e.display.direction)
    for e in OURS
    if e.display.title
}
"""Titles of groups of scores, by the part of their names before the dot."""

SCORES = {name: display for e in OURS for name, display in e.display.scores.items()}
"""Titles of scores, by their full name."""

QUESTIONS = {e.display.kind: e.display.question for e in OURS if e.display.kind}
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
    known = next((e.display for e in OURS if e.name == evaluator), None)
    one = known.verdict if known else f"verdict of {evaluator}"
    several = (known and known.verdicts) or (f"{one}s" if known else f"verdicts of {evaluator}")
    return one if n == 1 else several


def score_direction(key: str) -> Direction | None:
    """Return the better direction of a score; None if neither is, or if it is unknown."""
    known = SCORES.get(key) or GROUPS.get(score_group(key))
    return known.direction if known else None


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
    ).reported


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


def possible_text(findings: Mapping[str, int]) -> str:
    """Name findings that are worth a look as possible ones; count those that are not serious.

    Example:
        >>> possible_text({"contradicted_citation": 2, "number_not_in_source": 1})
        '2 possibly contradicted citations and 1 further finding'
    """
    named = [kind for kind in POSSIBLE if findings.get(kind)]
    parts = [count_text(findings[kind], *POSSIBLE[kind]) for kind in named]
    others = sum(n for kind, n in findings.items() if kind not in named)
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
    scores_text = join_words(clause for clause in clauses if clause) or "no score is available"
    told = UNSCORED_KINDS if summary.unscored else ()
    found = findings_text({kind: n for kind, n in summary.findings.items() if kind not in told})
    line = f"{who}: {scores_text}" + (f"; look first at {found}." if found else ".")
    return " ".join(filter(None, (line, lost_text(summary))))


RUBRIC_KEY = "rubric.mean"
"""The mean of an answer's rubrics, as a score."""

NAMES = {SERIOUS_KEY: "Answers with a serious finding", RUBRIC_KEY: RUBRIC_MEAN}


def score_name(key: str) -> str:
    """Return the title of a score, or of what is compared like one."""
    return NAMES.get(key) or score_title(key)
