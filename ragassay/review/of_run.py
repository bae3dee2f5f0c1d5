"""Human review of the verdicts of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ragassay.evaluators import OURS
from ragassay.metrics.stats.aggregates import identify_question
from ragassay.prompts.rubrics import load_rubrics
from ragassay.records import (
    MATCH,
    NOTHING_TO_JUDGE,
    Evaluation,
    IntentSimilarity,
    RacarRating,
    VerdictBase,
)
from ragassay.reports.labels import JUDGED
from ragassay.reports.sentence_view import build_article_url
from ragassay.reports.text import find_score_title, find_verdict_title, humanise
from ragassay.review.items import (
    Choice,
    Passage,
    RelatedItem,
    ReviewItem,
    ReviewSource,
    Section,
    ShownLine,
    Value,
    View,
)
from ragassay.review.verdicts import (
    Doubt,
    build_review_item,
    choose_verdict_tone,
    describe_reason,
    describe_verdict_place,
    find_sentence_number,
    list_evidence_spans,
    list_verdict_texts,
    summarize_verdict,
)
from ragassay.runs.folder import RunFolder
from ragassay.runs.journal import open_journal


def open_run(path: Path) -> RunSource:
    """Open a run folder for review.

    Raises:
        InputError: The folder contains no run, or the run is damaged.
    """
    folder = RunFolder(path)
    manifest = folder.read_manifest()
    evaluations = {evaluation.record_id: evaluation for evaluation in folder.read_evaluations()}
    settings = manifest.settings
    rubrics = load_rubric_texts(str(settings.get("rubric_set") or "yescieval"))
    n_labels = int(settings.get("verdict_labels") or 0)
    items = tuple(_build_items(tuple(evaluations.values()), rubrics, n_labels))
    return RunSource(path.resolve().name, "answer", items, open_journal(path), evaluations, rubrics)


NO_NUGGET = -1
"""Review value for a gold nugget that the answer does not state."""

Rubrics = Mapping[str, tuple[str, dict[Value, str]]]
"""For each rubric, its question and the descriptions of its ratings."""


def load_rubric_texts(name: str) -> Rubrics:
    """Return the questions and rating descriptions of a rubric set, or {} for an unknown set."""
    try:
        known = load_rubrics(name)  # type: ignore[arg-type]
    except (KeyError, ValueError, OSError):
        return {}
    return {key: (rubric.question, {**rubric.scale}) for key, rubric in known.items()}


def _build_items(
    evaluations: Sequence[Evaluation], rubrics: Rubrics, n_labels: int
) -> Iterator[ReviewItem]:
    labels: dict[str, dict[str, None]] = {}
    for evaluation in evaluations:
        for verdict in evaluation.verdicts:
            if isinstance(verdict.value, str):
                labels.setdefault(verdict.evaluator, {})[verdict.value] = None
    for evaluation in evaluations:
        finding_sentences = {
            finding.sentence for finding in evaluation.primary_findings if finding.kind in JUDGED
        }
        for verdict in evaluation.verdicts:
            if verdict.failure and verdict.failure.reason in NOTHING_TO_JUDGE:
                continue
            yield build_review_item(
                verdict,
                evaluation.record_id,
                find_subject(verdict, evaluation),
                system=evaluation.system or "",
                labels=sorted(labels.get(verdict.evaluator, ())),
                hints=rubrics.get(verdict.item, ("", {}))[1],
                n_labels=n_labels,
                leads=choose_verdict_tone(verdict) == "bad"
                and find_sentence_number(verdict) in finding_sentences,
            )
        yield from _build_match_items(evaluation)


def _build_match_items(evaluation: Evaluation) -> Iterator[ReviewItem]:
    """Yield a review item for each gold nugget: which nugget of the answer states it?"""
    matches = {match.gold: match for match in evaluation.matches}
    nuggets = evaluation.nuggets
    choices = (
        Choice(NO_NUGGET, "none", "weak"),
        *(Choice(n, nugget.text) for n, nugget in enumerate(nuggets)),
    )
    for position, gold in enumerate(evaluation.gold_nuggets if nuggets else ()):
        match = matches.get(position)
        similarity = match.similarity_score if match else None
        doubt = Doubt(confidence=None if similarity is None else min(1.0, max(0.0, similarity)))
        yield ReviewItem(
            evaluator=MATCH,
            record=evaluation.record_id,
            item=str(position),
            field="match",
            kind="Gold nugget",
            place=gold.importance or "",
            item_text=gold.text,
            system=evaluation.system or "",
            model_choice=match.nugget if match else NO_NUGGET,
            word="stated" if match else "missed",
            tone="good" if match else "weak",
            choices=choices,
            edits=("match",),
            why="" if similarity is None else f"similarity {similarity:.2f}",
            states=doubt.states,
            priority=doubt.priority,
            because=doubt.because,
            sentence=nuggets[match.nugget].sentence if match else None,
        )


def find_subject(verdict: VerdictBase, evaluation: Evaluation) -> str:
    """Return the text that a verdict judges."""
    gold, nugget = getattr(verdict, "gold", None), getattr(verdict, "nugget", "")
    sentence = find_sentence_number(verdict)
    exam = getattr(verdict, "exam_item", "")
    if exam:
        return next((item.text for item in evaluation.exam if item.id == exam), exam)
    if isinstance(verdict, RacarRating):
        return _find_pair_text(verdict.pair, evaluation)
    if isinstance(verdict, IntentSimilarity):
        return "\n\n".join(
            _find_pair_text(pair, evaluation) for pair in (verdict.first, verdict.second)
        )
    if nugget:
        return nugget
    if gold is not None and gold < len(evaluation.gold_nuggets):
        return evaluation.gold_nuggets[gold].text
    if sentence is not None and getattr(verdict, "origin", "answer") == "answer":
        return next((s.text for s in evaluation.sentences if s.index == sentence), "")
    if hasattr(verdict, "rubric"):
        return find_score_title(f"rubric.{verdict.item}")
    return verdict.item or evaluation.question


def _find_pair_text(name: str, evaluation: Evaluation) -> str:
    texts = (f"{p.question}\n{p.answer}" for p in evaluation.pairs if p.id == name)
    return next(texts, name)


@dataclass(frozen=True)
class RunSource(ReviewSource):
    """A run whose verdicts are reviewed, where `evaluations` is keyed by record id."""

    evaluations: Mapping[str, Evaluation]
    rubrics: Rubrics

    @cached_property
    def _verdicts(self) -> dict[tuple[str, str, str], VerdictBase]:
        return {
            (verdict.evaluator, record, verdict.item): verdict
            for record, evaluation in self.evaluations.items()
            for verdict in evaluation.verdicts
        }

    def view(self, item: ReviewItem) -> View:
        """Return the sentences of the answer, its evidence passages and all verdicts on it."""
        evaluation, verdict = self.evaluations[item.record], self._verdicts.get(item.about)
        same = [
            other
            for other in evaluation.verdicts
            if item.sentence is not None and find_sentence_number(other) == item.sentence
        ]
        sections = [*_build_sections(item, evaluation, same), _build_gold_section(item, evaluation)]
        return View(
            question=evaluation.question,
            lines=_highlight_lines(item, verdict, evaluation),
            passages=_collect_passages([verdict, *same] if verdict else same, evaluation),
            sections=tuple(section for section in sections if section.rows),
            notes=tuple(self._list_notes(verdict, evaluation)),
            asks=self.rubrics.get(item.item, ("", {}))[0] if item.field == "rating" else "",
        )

    def _list_notes(
        self, verdict: VerdictBase | None, evaluation: Evaluation
    ) -> Iterator[tuple[str, str]]:
        for text in list_verdict_texts(verdict) if verdict else ():
            yield "Listed text", text
        judge = (verdict.judge if verdict else "") or evaluation.judge
        if judge:
            yield "Judged by", judge
        yield "Question id", identify_question(evaluation)


def _highlight_lines(
    item: ReviewItem, verdict: VerdictBase | None, evaluation: Evaluation
) -> tuple[ShownLine, ...]:
    marked = {item.sentence, *getattr(verdict, "sentences", ())}
    if not evaluation.sentences:
        return (ShownLine(evaluation.answer),) if evaluation.answer else ()
    return tuple(
        ShownLine(s.text, s.index, tuple(c.marker for c in s.citations), s.index in marked)
        for s in evaluation.sentences
    )


def _collect_passages(
    verdicts: Sequence[VerdictBase], evaluation: Evaluation
) -> tuple[Passage, ...]:
    titles = {document.id: document.title for document in evaluation.sources}
    passages: dict[tuple[str, int], Passage] = {}
    for verdict in verdicts:
        for span in list_evidence_spans(verdict):
            title = span.title or titles.get(span.document, "")
            note = f"{find_verdict_title(verdict.evaluator)}: {summarize_verdict(verdict)}"
            url = build_article_url(span.document)
            passage = Passage(span.text, title, span.document, url, note)
            passages.setdefault((span.document, span.start), passage)
    return tuple(passages.values())


def _build_sections(
    item: ReviewItem, evaluation: Evaluation, same: list[VerdictBase]
) -> Iterator[Section]:
    """Yield a list of the verdicts on the same sentence, then a list for each evaluator."""
    if same:
        rows = tuple(_build_row(verdict, item, evaluation, is_same=True) for verdict in same)
        yield Section(f"Sentence {item.sentence}", rows, is_open=True)
    present = dict.fromkeys(verdict.evaluator for verdict in evaluation.verdicts)
    for name in dict.fromkeys([*(e.name for e in OURS if e.name in present), *present]):
        rows = tuple(
            _build_row(verdict, item, evaluation) for verdict in evaluation.find_verdicts(name)
        )
        is_open = name == item.evaluator and not same
        yield Section(humanise(find_verdict_title(name, 2)), rows, is_open=is_open)


def _build_row(
    verdict: VerdictBase, item: ReviewItem, evaluation: Evaluation, *, is_same: bool = False
) -> RelatedItem:
    about = (verdict.evaluator, evaluation.record_id, verdict.item)
    has_item = verdict.failure is None or verdict.failure.reason not in NOTHING_TO_JUDGE
    texts = "; ".join(list_verdict_texts(verdict))
    grader = getattr(verdict, "grader", "")
    text = (
        humanise(find_verdict_title(verdict.evaluator))
        if is_same
        else find_subject(verdict, evaluation)
    )
    return RelatedItem(
        text=text,
        place=describe_verdict_place(verdict) or ("" if grader == verdict.item else grader),
        word=summarize_verdict(verdict),
        tone=choose_verdict_tone(verdict),
        why=texts or describe_reason(verdict),
        about=about if has_item else None,
        is_asked=about == item.about,
    )


def _build_gold_section(item: ReviewItem, evaluation: Evaluation) -> Section:
    matches = {match.gold: match for match in evaluation.matches}
    rows = []
    for position, nugget in enumerate(evaluation.gold_nuggets):
        match = matches.get(position)
        stated = evaluation.nuggets[match.nugget] if match else None
        rows.append(
            RelatedItem(
                text=nugget.text,
                place=nugget.importance or "",
                word="stated" if stated else "missed",
                tone="good" if stated else "weak",
                why=stated.text if stated else "",
                about=(about := (MATCH, evaluation.record_id, str(position))),
                is_asked=about == item.about,
            )
        )
    return Section("Gold nuggets", tuple(rows), is_open=item.evaluator == MATCH)
