"""View of one evaluation for a page: words instead of fields, facts and gold nuggets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragassay.records import (
    Evaluation,
    ExamGrade,
    Finding,
    Judgment,
    NuggetMatch,
    OwnVerdict,
    RelevanceGrade,
    Score,
    Signals,
)
from ragassay.reports.charts import spark_path
from ragassay.reports.display import (
    NOT_JUDGED,
    Tone,
    decided_text,
    format_share,
    format_value,
    is_number,
    label_tone,
    score_text,
    unscored_text,
    value_text,
)
from ragassay.reports.labels import (
    N_LOOKS,
    Severity,
    finding_rank,
    finding_severity,
    place_text,
    shown_findings,
)
from ragassay.reports.panel_view import MemberView, pointing_text, scale_of, view_members
from ragassay.reports.sentence_view import Chip, SentenceView, chip_of, view_sentences
from ragassay.reports.text import (
    humanise,
    join_words,
    rubric_mean,
    rubric_mean_text,
    score_group,
    score_title,
)


@dataclass(frozen=True, slots=True)
class NuggetView:
    """A fact that the answer states."""

    text: str
    sentence: int | None
    origin: str
    extractive: bool


@dataclass(frozen=True, slots=True)
class MatchView:
    """The answer's nugget that states a gold nugget."""

    text: str
    similarity: str


@dataclass(frozen=True, slots=True)
class GoldView:
    """A gold nugget: "stated", "missed" or "unscored (reason)", with the judge's verdict."""

    text: str
    importance: str
    status: str
    tone: Tone
    matches: tuple[MatchView, ...]
    assignment: Chip | None = None


@dataclass(frozen=True, slots=True)
class NuggetsView:
    """All nuggets of one answer, with notes for the reader."""

    answer: tuple[NuggetView, ...]
    gold: tuple[GoldView, ...]
    note: str


def view_nuggets(evaluation: Evaluation) -> NuggetsView:
    """Return an evaluation's nuggets, the gold ones with their outcome."""
    return NuggetsView(
        answer=tuple(
            NuggetView(
                text=nugget.text,
                sentence=nugget.sentence,
                origin="" if nugget.origin == "answer" else nugget.origin,
                extractive=nugget.method == "extractive",
            )
            for nugget in evaluation.nuggets
        ),
        gold=_gold(evaluation),
        note=_note(evaluation),
    )


def _gold(evaluation: Evaluation) -> tuple[GoldView, ...]:
    matches: dict[int, list[NuggetMatch]] = defaultdict(list)
    for match in evaluation.matches:
        matches[match.gold].append(match)
    assigned = {
        a.gold: chip_of(a.assignment, a.confidence, a.failure, leaning=a.leaning)
        for a in evaluation.assignments
    }
    fate = _fate_without_match(evaluation)
    views = []
    for position, nugget in enumerate(evaluation.gold_nuggets):
        status = "stated" if matches[position] else fate
        tone = label_tone(status if status in {"stated", "missed"} else None)
        found = tuple(_match(evaluation, match) for match in matches[position])
        chip = assigned.get(position)
        views.append(GoldView(nugget.text, nugget.importance or "", status, tone, found, chip))
    return tuple(views)


def _match(evaluation: Evaluation, match: NuggetMatch) -> MatchView:
    known = match.nugget < len(evaluation.nuggets)
    text = evaluation.nuggets[match.nugget].text if known else "(no such nugget in this answer)"
    return MatchView(text, f"{match.similarity_score:.2f}")


def _fate_without_match(evaluation: Evaluation) -> str:
    """Return the outcome of an unmatched gold nugget: "missed" only if the matching succeeded."""
    recall = evaluation.scores.get("nuggets.recall")
    if recall is not None:
        return "missed" if is_number(recall.value) else score_text(recall)
    return "missed" if evaluation.nuggets or evaluation.matches else NOT_JUDGED


def _note(evaluation: Evaluation) -> str:
    recall = evaluation.scores.get("nuggets.recall")
    if not evaluation.gold_nuggets or recall is None or not recall.n_unscored:
        return ""
    if not is_number(recall.value):
        return ""
    return (
        f"{recall.n_unscored} unscored: a nugget marked as missed may stand in a sentence "
        "whose facts are missing."
    )


@dataclass(frozen=True, slots=True)
class RubricView:
    """A rubric's rating; for a panel, with each judge's rating."""

    title: str
    text: str
    scored: bool
    rating: int | None
    rationale: str
    shares: tuple[str, ...]
    spark: str
    detail: str
    pointing: str = ""
    members: tuple[MemberView, ...] = ()


@dataclass(frozen=True, slots=True)
class GapView:
    """A sentence of a source that the answer hardly covers."""

    document: str
    text: str
    nearness: str


@dataclass(frozen=True, slots=True)
class OwnView:
    """A grade, or a verdict of the user's own evaluator; no `place` means the whole answer."""

    title: str
    place: str
    chip: Chip
    reason: str


@dataclass(frozen=True, slots=True)
class ScoreView:
    """A score of this answer."""

    title: str
    text: str
    scored: bool
    basis: str


@dataclass(frozen=True, slots=True)
class Alert:
    """A finding; `place` names the sentence unless the message does."""

    message: str
    place: str
    severity: Severity
    sentence: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerView:
    """One answer."""

    number: int
    id: str
    system: str
    topic: str
    judge: str
    question: str
    answer: str
    rubric_mean: str
    rubric_value: float | None
    recall: str
    support: str
    support_value: float | None
    findings: tuple[Alert, ...]
    rubrics: tuple[RubricView, ...]
    scores: tuple[ScoreView, ...]
    sentences: tuple[SentenceView, ...]
    nuggets: NuggetsView
    not_run: str
    cover: str = ""
    looks: tuple[Alert, ...] = ()
    n_more_looks: int = 0
    gaps: tuple[GapView, ...] = ()
    own: tuple[OwnView, ...] = ()
    grades: tuple[OwnView, ...] = ()


def view_answer(number: int, evaluation: Evaluation) -> AnswerView:
    """Return the view of an evaluation.

    Args:
        number: 1-based position in the report; it names the anchors, never an id.
        evaluation: The evaluation.
    """
    scores = evaluation.scores
    mean, support = rubric_mean(scores), scores.get("citations.support")
    sentences = view_sentences(evaluation)
    return AnswerView(
        number=number,
        id=evaluation.record_id,
        system=evaluation.system or "",
        topic=evaluation.topic or "",
        judge=evaluation.judge,
        question=evaluation.question,
        answer="" if sentences else evaluation.answer,
        rubric_mean=rubric_mean_text(scores),
        rubric_value=mean.value if mean else None,
        recall=score_text(scores.get("nuggets.recall")),
        support=score_text(support),
        cover=score_text(scores["exam.cover"]) if "exam.cover" in scores else "",
        support_value=support.value if support and is_number(support.value) else None,
        findings=_alerts(evaluation.heads),
        looks=_alerts(shown_findings(evaluation, "look")),
        n_more_looks=max(0, len(evaluation.looks) - N_LOOKS),
        rubrics=tuple(_rubric(judgment, evaluation.scores) for judgment in evaluation.judgments),
        scores=_scores(evaluation),
        sentences=sentences,
        nuggets=view_nuggets(evaluation),
        not_run=_not_run(evaluation),
        gaps=_gaps(evaluation.signals),
        own=tuple(_own(verdict) for verdict in evaluation.of(OwnVerdict)),
        grades=_grades(evaluation),
    )


def _grades(evaluation: Evaluation) -> tuple[OwnView, ...]:
    """Return the grades by the test bank's items, then by the query."""
    texts = {item.id: item.text for item in evaluation.exam}
    exam = (
        OwnView(
            title=texts.get(grade.exam_item, grade.exam_item),
            place="" if grade.grader == "rating" else grade.grader,
            chip=_number_chip(grade),
            reason=grade.answer,
        )
        for grade in evaluation.of(ExamGrade)
    )
    direct = (
        OwnView(score_title(f"relevance.{grade.grader}"), "", _number_chip(grade), "")
        for grade in evaluation.of(RelevanceGrade)
    )
    return (*exam, *direct)


def _number_chip(verdict: ExamGrade | RelevanceGrade) -> Chip:
    """Return the chip of a number, a yes or no, or a failure."""
    note = decided_text(verdict)
    chip = chip_of(None, verdict.confidence, verdict.failure, note, verdict.leaning)
    return chip if verdict.value is None else replace(chip, word=value_text(verdict), tone="plain")


def _own(verdict: OwnVerdict) -> OwnView:
    sentence = f"sentence {verdict.sentence}" if verdict.sentence else ""
    marker = f"citation {verdict.marker}" if verdict.marker else ""
    note, leaning = decided_text(verdict), verdict.leaning
    chip = chip_of(verdict.label, verdict.confidence, verdict.failure, note, leaning)
    if verdict.score is not None:
        chip = replace(chip, word=value_text(verdict), tone="plain")
    return OwnView(
        title=humanise(verdict.evaluator),
        place=", ".join(part for part in (sentence, marker, verdict.criterion) if part),
        chip=chip,
        reason=verdict.reason,
    )


def _alerts(findings: Sequence[Finding]) -> tuple[Alert, ...]:
    """Return findings, the worst kind first."""
    ranked = sorted(findings, key=lambda finding: finding_rank(finding.kind))
    return tuple(
        Alert(f.message, place_text(f), finding_severity(f.kind), f.sentence) for f in ranked
    )


def _gaps(signals: Signals | None) -> tuple[GapView, ...]:
    return tuple(
        GapView(gap.document, gap.text, f"{gap.nearness:.2f}")
        for gap in (signals.gaps if signals else ())
    )


def _rubric(judgment: Judgment, scores: Mapping[str, Score]) -> RubricView:
    key = f"rubric.{judgment.rubric}"
    judge = scores[key].judge if key in scores else ""
    value = judgment.score if is_number(judgment.score) else judgment.rating
    shares = judgment.distribution or ()
    return RubricView(
        title=score_title(key, judge),
        text=unscored_text(judgment.failure)
        if value is None
        else format_value(value, scale_of(judgment)),
        scored=value is not None,
        rating=judgment.rating,
        rationale=judgment.rationale,
        shares=tuple(format_share(share) for share in shares),
        spark=spark_path(shares),
        detail=" ".join(filter(None, (_detail(judgment), decided_text(judgment)))),
        pointing=pointing_text(judgment),
        members=view_members(judgment),
    )


def _detail(judgment: Judgment) -> str:
    return judgment.failure.detail if judgment.failure else ""


def _scores(evaluation: Evaluation) -> tuple[ScoreView, ...]:
    """Return every score but the rubrics, which are shown with their rationales."""
    judged = {f"rubric.{judgment.rubric}" for judgment in evaluation.judgments}
    return tuple(
        ScoreView(
            title=score_title(key, score.judge),
            text=score_text(score),
            scored=is_number(score.value),
            basis=f"n {score.n}" + (f", {score.n_unscored} unscored" if score.n_unscored else ""),
        )
        for key, score in evaluation.scores.items()
        if not (score_group(key) == "rubric" and key in judged)
    )


def _not_run(evaluation: Evaluation) -> str:
    """Name the steps without a verdict on this answer, so that blanks are not misread."""
    cited = any(sentence.citations for sentence in evaluation.sentences)
    steps = (
        ("rubrics", evaluation.judgments),
        ("relevance of sentences", evaluation.labels or not evaluation.sentences),
        ("evidence for sentences", evaluation.evidence or not evaluation.sentences),
        ("citations", evaluation.citations or not cited),
    )
    return join_words(name for name, verdicts in steps if not verdicts)
