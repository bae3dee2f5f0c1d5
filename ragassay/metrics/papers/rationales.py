"""Measure a judge's reasons: YESciEval's appendix C, by rule and by labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.metrics.papers.strategies import polarity
from ragassay.metrics.stats.aggregates import clustered_score
from ragassay.records import Document, Score
from ragassay.text.grounding import find_quote
from ragassay.text.quantities import numbers_of, stated_numbers
from ragassay.text.search import tokenize

CRITERIA: Mapping[str, str] = {
    "inconsistent": "not consistent with its score",
    "general": "too general and abstract",
    "optimistic": "overly optimistic",
    "off_response": "not relevant to the response",
    "critical": "overly critical",
    "off_rubric": "unrelated to the score rubric",
}
"""The six criteria in the words of Kim et al., by our names."""

RUN = 3
"""Words in a row that a reason must share with the rubric to recite it."""

COMMON_SHARE, COMMON_LEAST = 0.05, 3
"""Share of the questions, and least number, in whose reasons a word is a judge's own vocabulary."""

CLEAR = 0.1
"""Polarity from which a sentiment is clear, either way."""

_WORD = re.compile(r"[^\W_]+")
_MARKS = "\"\u201c\u201d\u2018\u2019'"
_QUOTED = re.compile(f"[{_MARKS}]([^{_MARKS}]{{8,}}?)[{_MARKS}]")
_SENTENCE = re.compile(r"\bsentences?\s+\d+", re.IGNORECASE)


@dataclass(frozen=True)
class JudgedReason:
    """A judge's reason for a rating.

    Attributes:
        id: Unique: the answer's id, the rubric's name, the judge's name.
        topic: The key that answers to the same question share; intervals resample questions.
        scale: Its lowest and highest.
        reason: The reason; not empty.
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
    """The findings of the rules in a reason.

    Attributes:
        recited: Share of its words that stand in the rubric too, three or more in a row.
        named: What it names of the answer: quotes, numbers, terms; "sentence 3".
        polarity: Its sentiment, from -1 to 1.
        contradicts: Whether the sentiment is clearly that of a rating on the other side of the
            scale's middle.
    """

    recited: float
    named: tuple[str, ...]
    polarity: float
    contradicts: bool


@dataclass(frozen=True)
class RubricReasons:
    """The figures of one rubric's reasons, or of all.

    Attributes:
        rubric: Its name; empty for all.
        recited: Mean share of a reason's words that are recited from the rubric.
        names_nothing: Share of reasons that name nothing from the answer.
        contradicts: Share of reasons whose sentiment contradicts the rating.
        labels: Share of reasons with each fault, by who labelled and the criterion.
    """

    rubric: str
    recited: Score
    names_nothing: Score
    contradicts: Score
    labels: Mapping[str, Mapping[str, Score]]


Labels = Mapping[str, Mapping[str, bool | None]]
"""By a reason's id and the criterion, whether it has the fault; None where that is not known."""


def recited_share(reason: str, rubric: str) -> float:
    """Return the share of a reason's words that it recites from the rubric's text.

    Returns:
        In [0, 1]; a word counts where it stands in a run of three that the rubric has too. 0 for a
        reason of fewer words.

    Example:
        >>> recited_share("It is short and clear.", "Is it short and clear?")
        0.6
    """
    words, known = _words(reason), _words(rubric)
    runs = {tuple(known[i : i + RUN]) for i in range(len(known) - RUN + 1)}
    covered = {
        i + step
        for i in range(len(words) - RUN + 1)
        if tuple(words[i : i + RUN]) in runs
        for step in range(RUN)
    }
    return len(covered) / len(words) if words else 0.0


def named_of_answer(
    reason: str, answer: str, common: frozenset[str] = frozenset(), beside: str = ""
) -> tuple[str, ...]:
    """Return what a reason names of the answer, each once.

    That is quotes of the answer, its numbers, references to a sentence, and words that reason and
    answer share.

    `common` words show nothing, as judges use them everywhere (`common_words`); nor do those
    `beside`: of the rubric and the question.

    Example:
        >>> named_of_answer("It names the dose of 5 mg.", "Take 5 mg of aspirin.")
        ('5', 'mg')
        >>> named_of_answer("It is clear.", "Take 5 mg of aspirin.")
        ()
    """
    found = [quote for quote in _QUOTED.findall(reason) if find_quote(quote, answer)]
    found += _SENTENCE.findall(reason)
    found += sorted(stated_numbers(_SENTENCE.sub("", reason)) & numbers_of(answer))
    known = {word for word in tokenize(answer) if not word.isdigit()}
    known -= common | set(tokenize(beside))
    found += [word for word in tokenize(reason) if word in known and len(word) > 1]
    return tuple(dict.fromkeys(found))


def common_words(reasons: Sequence[JudgedReason]) -> frozenset[str]:
    """Return the words of reasons on many questions: a judge's own vocabulary."""
    topics: dict[str, set[str]] = {}
    for one in reasons:
        for word in tokenize(one.reason):
            topics.setdefault(word, set()).add(one.topic)
    n_topics = len({one.topic for one in reasons})
    least = max(COMMON_LEAST, COMMON_SHARE * n_topics)
    return frozenset(word for word, found in topics.items() if len(found) >= least)


def measure_reasons(
    reasons: Sequence[JudgedReason], rubrics: Mapping[str, str]
) -> dict[str, ReasonMeasures]:
    """Measure reasons by rule, by id; a rubric without a text in `rubrics` cannot be recited."""
    common = common_words(reasons)
    found: dict[str, ReasonMeasures] = {}
    for one in reasons:
        rubric, sentiment = rubrics.get(one.rubric, ""), polarity(one.reason)
        side = 2 * one.rating - sum(one.scale)
        found[one.id] = ReasonMeasures(
            recited=recited_share(one.reason, rubric),
            named=named_of_answer(one.reason, one.answer, common, f"{rubric} {one.question}"),
            polarity=sentiment,
            contradicts=abs(sentiment) >= CLEAR and sentiment * side < 0,
        )
    return found


def rubric_reasons(
    reasons: Sequence[JudgedReason],
    measures: Mapping[str, ReasonMeasures],
    labels: Mapping[str, Labels],
) -> tuple[RubricReasons, ...]:
    """Return the figures of all reasons, then of each rubric's; intervals resample questions.

    `labels` are by who gave them; a reason may be missing, and is then nobody's.
    """
    rubrics = sorted({one.rubric for one in reasons})
    groups = [("", list(reasons))]
    groups += [(name, [r for r in reasons if r.rubric == name]) for name in rubrics]
    return tuple(
        RubricReasons(
            rubric=name,
            recited=_mean(group, [measures[one.id].recited for one in group]),
            names_nothing=_mean(group, [float(not measures[one.id].named) for one in group]),
            contradicts=_mean(group, [float(measures[one.id].contradicts) for one in group]),
            labels={who: _shares(group, given) for who, given in labels.items()},
        )
        for name, group in groups
    )


def label_agreement(
    reasons: Sequence[JudgedReason], first: Labels, second: Labels
) -> dict[str, Score]:
    """Return the share of reasons on which two labellers agree, by criterion."""
    found: dict[str, Score] = {}
    for criterion in CRITERIA:
        both = [
            (one, a == b)
            for one in reasons
            if (a := first.get(one.id, {}).get(criterion)) is not None
            and (b := second.get(one.id, {}).get(criterion)) is not None
        ]
        found[criterion] = _mean([one for one, _ in both], [float(same) for _, same in both])
    return found


def _shares(group: Sequence[JudgedReason], given: Labels) -> dict[str, Score]:
    asked = [one for one in group if one.id in given]
    return {
        criterion: _mean(asked, [given[one.id].get(criterion) for one in asked])
        for criterion in CRITERIA
    }


def _mean(group: Sequence[JudgedReason], values: Sequence[float | None]) -> Score:
    return clustered_score(values, [one.topic for one in group])


def _words(text: str) -> list[str]:
    return [match.group().lower() for match in _WORD.finditer(text)]
