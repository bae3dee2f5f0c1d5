"""Format one evaluation for a report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.records import (
    Evaluation,
    ExamGrade,
    Finding,
    Judgment,
    NuggetMatch,
    OwnVerdict,
    RelevanceGrade,
)
from ragassay.reports.charts import draw_spark_path
from ragassay.reports.counterevidence import describe_conflicts
from ragassay.reports.display import (
    NOT_JUDGED,
    Tone,
    choose_label_tone,
    count_missing,
    describe_verdict_detail,
    format_score,
    format_share,
    format_unscored,
    format_value,
    is_number,
)
from ragassay.reports.labels import (
    N_SECONDARY,
    rank_finding_kind,
    select_shown_findings,
)
from ragassay.reports.panel_view import (
    MemberView,
    find_rating_scale,
    format_sentence_numbers,
    view_members,
)
from ragassay.reports.sentence_view import Chip, SentenceView, build_chip, view_sentences
from ragassay.reports.sheets import Sheet, build_score_cell, build_text_columns
from ragassay.reports.text import (
    find_score_title,
    humanise,
    join_words,
)


@dataclass(frozen=True, slots=True)
class GoldView:
    """A gold nugget and its status: "stated", "missed" or "unscored (reason)".

    Attributes:
        matches: Nuggets of the answer that match the gold nugget, each with its similarity.
        assignment: The judge's verdict on the gold nugget, if the judge was asked.
    """

    text: str
    importance: str
    status: str
    tone: Tone
    matches: tuple[tuple[str, str], ...]
    assignment: Chip | None = None


def view_gold(evaluation: Evaluation) -> tuple[GoldView, ...]:
    """Return the gold nuggets of an evaluation with their status."""
    matches: dict[int, list[NuggetMatch]] = defaultdict(list)
    for match in evaluation.matches:
        matches[match.gold].append(match)
    assigned = {assignment.gold: build_chip(assignment) for assignment in evaluation.assignments}
    unmatched_status = _choose_unmatched_status(evaluation)
    views = []
    for position, nugget in enumerate(evaluation.gold_nuggets):
        status = "stated" if matches[position] else unmatched_status
        tone = choose_label_tone(status if status in {"stated", "missed"} else None)
        stated = tuple(_view_match(evaluation, match) for match in matches[position])
        chip = assigned.get(position)
        views.append(GoldView(nugget.text, nugget.importance or "", status, tone, stated, chip))
    return tuple(views)


def _view_match(evaluation: Evaluation, match: NuggetMatch) -> tuple[str, str]:
    known = match.nugget < len(evaluation.nuggets)
    text = evaluation.nuggets[match.nugget].text if known else "(no such nugget in this answer)"
    return text, f"{match.similarity_score:.2f}"


def _choose_unmatched_status(evaluation: Evaluation) -> str:
    """Return the status of unmatched gold nuggets, which is "missed" only if matching succeeded."""
    recall = evaluation.scores.get("nuggets.recall")
    if recall is not None:
        return "missed" if is_number(recall.value) else format_score(recall)
    return "missed" if evaluation.nuggets or evaluation.matches else NOT_JUDGED


def _format_gold_note(evaluation: Evaluation) -> str:
    recall = evaluation.scores.get("nuggets.recall")
    if not evaluation.gold_nuggets or recall is None or not recall.n_unscored:
        return ""
    if not is_number(recall.value):
        return ""
    return (
        f"{recall.n_unscored} unscored. No nuggets could be extracted from some sentences, so a "
        f"nugget marked as missed may be stated in one of them."
    )


@dataclass(frozen=True, slots=True)
class RubricView:
    """The rating of an answer on a rubric, with the ratings by each judge of a panel.

    `otherwise` describes sentence verdicts that conflict with the rating.
    """

    title: str
    text: str
    scored: bool
    rating: int | None
    rationale: str
    shares: tuple[str, ...]
    spark: str
    detail: str
    pointing: str = ""
    otherwise: str = ""
    members: tuple[MemberView, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnView:
    """A grade or a verdict of a custom evaluator; an empty `place` stands for the whole answer."""

    title: str
    place: str
    chip: Chip
    reason: str


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An evaluation, with its rubrics, nuggets, sentences and scores formatted for a report.

    Attributes:
        number: 1-based position in the report, used for anchors instead of the untrusted id.
        scores: All scores except those on rubrics, which are shown with their rationales.
        own: Verdicts of custom evaluators.
    """

    number: int
    evaluation: Evaluation
    findings: tuple[Finding, ...]
    secondary_findings: tuple[Finding, ...]
    n_more_secondary: int
    rubrics: tuple[RubricView, ...]
    scores: Sheet
    sentences: tuple[SentenceView, ...]
    gold: tuple[GoldView, ...]
    gold_note: str
    own: tuple[OwnView, ...]
    grades: tuple[OwnView, ...]
    not_run: str


def view_answer(number: int, evaluation: Evaluation) -> AnswerView:
    """Format one evaluation for a report."""
    return AnswerView(
        number=number,
        evaluation=evaluation,
        findings=_rank_findings(evaluation.primary_findings),
        secondary_findings=_rank_findings(select_shown_findings(evaluation, "secondary")),
        n_more_secondary=max(0, len(evaluation.secondary_findings) - N_SECONDARY),
        rubrics=tuple(_view_rubric(judgment, evaluation) for judgment in evaluation.judgments),
        scores=_build_score_sheet(evaluation),
        sentences=view_sentences(evaluation),
        gold=view_gold(evaluation),
        gold_note=_format_gold_note(evaluation),
        own=tuple(map(_view_own, evaluation.select_verdicts(OwnVerdict))),
        grades=_view_grades(evaluation),
        not_run=_list_missing_steps(evaluation),
    )


def _rank_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: rank_finding_kind(finding.kind)))


def _view_grades(evaluation: Evaluation) -> tuple[OwnView, ...]:
    texts = {item.id: item.text for item in evaluation.exam}
    exam = (
        OwnView(
            title=texts.get(grade.exam_item, grade.exam_item),
            place="" if grade.grader == "rating" else grade.grader,
            chip=build_chip(grade),
            reason=grade.answer,
        )
        for grade in evaluation.select_verdicts(ExamGrade)
    )
    direct = (
        OwnView(find_score_title(f"relevance.{grade.grader}"), "", build_chip(grade), "")
        for grade in evaluation.select_verdicts(RelevanceGrade)
    )
    return (*exam, *direct)


def _view_own(verdict: OwnVerdict) -> OwnView:
    sentence = f"sentence {verdict.sentence}" if verdict.sentence else ""
    marker = f"citation {verdict.marker}" if verdict.marker else ""
    return OwnView(
        title=humanise(verdict.evaluator),
        place=", ".join(part for part in (sentence, marker, verdict.criterion) if part),
        chip=build_chip(verdict),
        reason=verdict.reason,
    )


def _view_rubric(judgment: Judgment, evaluation: Evaluation) -> RubricView:
    key, scores = f"rubric.{judgment.rubric}", evaluation.scores
    judge = scores[key].judge if key in scores else ""
    value = judgment.score if is_number(judgment.score) else judgment.rating
    shares = judgment.distribution or ()
    return RubricView(
        title=find_score_title(key, judge),
        text=format_unscored(judgment.failure)
        if value is None
        else format_value(value, find_rating_scale(judgment)),
        scored=value is not None,
        rating=judgment.rating,
        rationale=judgment.rationale,
        shares=tuple(format_share(share) for share in shares),
        spark=draw_spark_path(shares),
        detail=describe_verdict_detail(judgment),
        pointing=format_sentence_numbers(judgment),
        otherwise=describe_conflicts(judgment, evaluation),
        members=view_members(judgment),
    )


def _build_score_sheet(evaluation: Evaluation) -> Sheet:
    judged = {f"rubric.{judgment.rubric}" for judgment in evaluation.judgments}
    rows = tuple(
        (
            find_score_title(key, score.judge),
            build_score_cell(score, has_interval=False),
            ", ".join((f"n {score.n}", *count_missing(0, score.n_unscored))),
        )
        for key, score in evaluation.scores.items()
        if key not in judged
    )
    return Sheet("Scores of this answer", build_text_columns("Score", "Value", "Of"), rows)


def _list_missing_steps(evaluation: Evaluation) -> str:
    """List the steps without a verdict, so that readers know why cells are empty."""
    cited = any(sentence.citations for sentence in evaluation.sentences)
    steps = (
        ("rubrics", evaluation.judgments),
        ("sentence relevance", evaluation.labels or not evaluation.sentences),
        ("sentence evidence", evaluation.evidence or not evaluation.sentences),
        ("citations", evaluation.citations or not cited),
    )
    return join_words(name for name, verdicts in steps if not verdicts)
