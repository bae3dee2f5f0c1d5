"""Measure the quality of a judge's reasons using rules and labels (YESciEval, appendix C)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.metrics.papers.strategies import polarity
from ragassay.metrics.stats.aggregates import build_clustered_score
from ragassay.records import Document, Score
from ragassay.text.grounding import find_quote
from ragassay.text.quantities import extract_numbers, extract_stated_numbers
from ragassay.text.search import tokenize

CRITERIA: Mapping[str, str] = {
    "inconsistent": "not consistent with its score",
    "general": "too general and abstract",
    "optimistic": "overly optimistic",
    "off_response": "not relevant to the response",
    "critical": "overly critical",
    "off_rubric": "unrelated to the score rubric",
}
"""The six criteria of Kim et al., in their wording."""

RUN = 3
"""Minimum number of consecutive words from the rubric that count as recited."""

COMMON_SHARE, COMMON_LEAST = 0.05, 3
"""A word is ignored if it occurs in reasons for at least this share and number of questions."""

CLEAR = 0.1
"""Minimum absolute polarity that counts as a clear sentiment."""

_WORD = re.compile(r"[^\W_]+")
_MARKS = "\"\u201c\u201d\u2018\u2019'"
_QUOTED = re.compile(f"[{_MARKS}]([^{_MARKS}]{{8,}}?)[{_MARKS}]")
_SENTENCE = re.compile(r"\bsentences?\s+\d+", re.IGNORECASE)


@dataclass(frozen=True)
class JudgedReason:
    """A judge's reason for a rating.

    Attributes:
        id: Unique id of the combination of answer, rubric and judge.
        topic: Key of the question, used to resample questions for intervals.
        scale: Lowest and highest possible rating.
        reason: Non-empty reason.
    """

    id: str
    record_id: str
    topic: str
    question: str
    answer: str
    sources: tuple[Document, ...]
    rubric: str
    judge: str
    rating: int
    scale: tuple[int, int]
    reason: str


@dataclass(frozen=True)
class ReasonMeasures:
    """Rule-based measures of a reason.

    Attributes:
        recited: Share of words recited from the rubric.
        named: Quotes, numbers, terms and sentence references taken from the answer.
        contradicts: Whether the sentiment is clearly positive for a low rating, or clearly negative
            for a high rating.
    """

    recited: float
    named: tuple[str, ...]
    polarity: float
    contradicts: bool


@dataclass(frozen=True)
class RubricReasons:
    """Means of the measures over the reasons for one rubric or for all rubrics.

    Attributes:
        rubric: Name of the rubric, or an empty string for all.
        recited: Mean share of words recited from the rubric.
        names_nothing: Share of reasons that mention nothing from the answer.
        contradicts: Share of reasons with a sentiment that contradicts the rating.
        labels: Share of reasons with each fault, keyed by labeller and criterion.
    """

    rubric: str
    recited: Score
    names_nothing: Score
    contradicts: Score
    labels: Mapping[str, Mapping[str, Score]]


Labels = Mapping[str, Mapping[str, bool | None]]
"""Whether a reason has a fault (None if unknown), keyed by reason id and criterion."""


def compute_recited_share(reason: str, rubric: str) -> float:
    """Return the share of a reason's words, in [0, 1], that are recited from the rubric text.

    A word is recited if it is part of three consecutive words that also occur in the rubric.

    Example:
        >>> compute_recited_share("It is short and clear.", "Is it short and clear?")
        0.6
    """
    words, known = _split_words(reason), _split_words(rubric)
    runs = {tuple(known[i : i + RUN]) for i in range(len(known) - RUN + 1)}
    covered = {
        i + step
        for i in range(len(words) - RUN + 1)
        if tuple(words[i : i + RUN]) in runs
        for step in range(RUN)
    }
    return len(covered) / len(words) if words else 0.0


def find_answer_mentions(
    reason: str, answer: str, common: frozenset[str] = frozenset(), beside: str = ""
) -> tuple[str, ...]:
    """Return the distinct quotes, sentence references, numbers and words taken from the answer.

    Args:
        common: Words to ignore, such as those from `find_common_words`.
        beside: Text whose words are ignored, such as the rubric and the question.

    Example:
        >>> find_answer_mentions("It names the dose of 5 mg.", "Take 5 mg of aspirin.")
        ('5', 'mg')
        >>> find_answer_mentions("It is clear.", "Take 5 mg of aspirin.")
        ()
    """
    known = {word for word in tokenize(answer) if not word.isdigit()}
    known -= common | set(tokenize(beside))
    mentions = [
        *(quote for quote in _QUOTED.findall(reason) if find_quote(quote, answer)),
        *_SENTENCE.findall(reason),
        *sorted(extract_stated_numbers(_SENTENCE.sub("", reason)) & extract_numbers(answer)),
        *(word for word in tokenize(reason) if word in known and len(word) > 1),
    ]
    return tuple(dict.fromkeys(mentions))


def find_common_words(reasons: Sequence[JudgedReason]) -> frozenset[str]:
    """Return the words that occur in reasons for many questions."""
    topics: dict[str, set[str]] = {}
    for one in reasons:
        for word in tokenize(one.reason):
            topics.setdefault(word, set()).add(one.topic)
    n_topics = len({one.topic for one in reasons})
    least = max(COMMON_LEAST, COMMON_SHARE * n_topics)
    return frozenset(word for word, used_in in topics.items() if len(used_in) >= least)


def measure_reasons(
    reasons: Sequence[JudgedReason], rubrics: Mapping[str, str]
) -> dict[str, ReasonMeasures]:
    """Return rule-based measures, keyed by reason id. `rubrics` maps names to rubric texts."""
    common = find_common_words(reasons)
    measures: dict[str, ReasonMeasures] = {}
    for one in reasons:
        rubric, sentiment = rubrics.get(one.rubric, ""), polarity(one.reason)
        side = 2 * one.rating - sum(one.scale)
        measures[one.id] = ReasonMeasures(
            recited=compute_recited_share(one.reason, rubric),
            named=find_answer_mentions(one.reason, one.answer, common, f"{rubric} {one.question}"),
            polarity=sentiment,
            contradicts=abs(sentiment) >= CLEAR and sentiment * side < 0,
        )
    return measures


def summarize_reasons(
    reasons: Sequence[JudgedReason],
    measures: Mapping[str, ReasonMeasures],
    labels: Mapping[str, Labels],
) -> tuple[RubricReasons, ...]:
    """Aggregate the measures over all reasons and for each rubric.

    Intervals are computed by resampling questions. `labels` are keyed by labeller, and may be
    missing for some reasons.
    """
    rubrics = sorted({one.rubric for one in reasons})
    groups = [("", list(reasons))]
    groups += [(name, [r for r in reasons if r.rubric == name]) for name in rubrics]
    return tuple(
        RubricReasons(
            rubric=name,
            recited=_average_values(group, [measures[one.id].recited for one in group]),
            names_nothing=_average_values(
                group, [float(not measures[one.id].named) for one in group]
            ),
            contradicts=_average_values(
                group, [float(measures[one.id].contradicts) for one in group]
            ),
            labels={
                labeller: _compute_fault_shares(group, own) for labeller, own in labels.items()
            },
        )
        for name, group in groups
    )


def measure_label_agreement(
    reasons: Sequence[JudgedReason], first: Labels, second: Labels
) -> dict[str, Score]:
    """Return, for each criterion, the share of reasons on which two labelers agree."""
    agreement: dict[str, Score] = {}
    for criterion in CRITERIA:
        both = [
            (one, a == b)
            for one in reasons
            if (a := first.get(one.id, {}).get(criterion)) is not None
            and (b := second.get(one.id, {}).get(criterion)) is not None
        ]
        agreement[criterion] = _average_values(
            [one for one, _ in both], [float(same) for _, same in both]
        )
    return agreement


def _compute_fault_shares(group: Sequence[JudgedReason], labels: Labels) -> dict[str, Score]:
    labelled = [one for one in group if one.id in labels]
    return {
        criterion: _average_values(labelled, [labels[one.id].get(criterion) for one in labelled])
        for criterion in CRITERIA
    }


def _average_values(group: Sequence[JudgedReason], values: Sequence[float | None]) -> Score:
    return build_clustered_score(values, [one.topic for one in group])


def _split_words(text: str) -> list[str]:
    return [match.group().lower() for match in _WORD.finditer(text)]
