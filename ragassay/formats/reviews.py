"""Read reviews of a run as labels, answers or claims.

`ragassay review RUN` appends each review to RUN/reviews.jsonl. The texts of answers and evidence
come from the evaluations in the same folder. Each reader accepts the run folder or its reviews
file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from ragassay.errors import InputError
from ragassay.formats.claims import iter_claims
from ragassay.formats.files import check_file, iter_lines
from ragassay.formats.items import Item, Place, iter_items
from ragassay.formats.read import ReadResult, read_records
from ragassay.formats.sniff import Format
from ragassay.records import (
    MATCH,
    AnswerSentence,
    Evaluation,
    EvidenceSpan,
    HumanLabel,
    LabelTask,
    OwnTask,
    Record,
    Rejection,
    Review,
    SentenceInput,
    Verdict,
    VerdictBase,
    select_final_reviews,
)

REVIEWS = Format(
    name="ragassay-reviews",
    required=(("who",), ("evaluator",), ("item",), ("field",), ("value",)),
    fields=frozenset(Review.model_fields),
    leading="evaluator",
    keys="id, who, when, evaluator, record, item, field, value",
)

FILE = "reviews.jsonl"
EVALUATIONS = "evaluations.jsonl"

TASKS: dict[str, LabelTask] = {
    "rubric": "rubric",
    "sentence_label": "relevance",
    "citation": "citation",
    "assignment": "nugget",
    "racar": "racar",
    **{name: name for name in get_args(OwnTask)},
}
"""Labelling tasks, keyed by the evaluator whose verdicts are reviewed."""


def read_reviews(path: Path) -> tuple[Review, ...]:
    """Return all reviews in a file, oldest first, and skip a truncated line."""
    if not path.is_symlink() and not path.exists():
        return ()
    check_file(path)
    reviews: list[Review] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        try:
            reviews += [Review.model_validate_json(line)] if line.strip() else []
        except ValidationError as error:
            if not line.startswith(b"{") or line.endswith(b"}"):  # Otherwise it is truncated.
                problem = error.errors()[0]["msg"]
                raise InputError(f"{path}:{number}: not a review: {problem}") from error
    return tuple(reviews)


def find_reviews_file(path: Path) -> Path | None:
    """Return the reviews file at a path or in a run folder, or None if the file has no reviews."""
    if path.is_dir():
        file = path / FILE
        if not file.exists():
            raise InputError(f"{path} has no {FILE}; create it with `ragassay review {path}`")
        return file
    head = next(iter(iter_lines(path)), None)
    if head is None or head.problem:
        return None
    try:
        Review.model_validate_json(head.data)
    except ValidationError:
        return None
    return path


@dataclass(frozen=True)
class ReviewedRun:
    """A run's reviews, with the evaluations in the same folder."""

    file: Path

    @cached_property
    def final(self) -> tuple[Review, ...]:
        """Last label or rating of each reviewer for each item, unless the reviewer removed it."""
        current = [one for one in select_final_reviews(read_reviews(self.file)) if not one.undoes]
        last = {(one.who, *one.about[:3]): one for one in current if one.field != "note"}
        return tuple(
            one
            for one in current
            if one.field in ("label", "rating", "right", "texts", "match")
            and one.value is not None
            and last[one.who, *one.about[:3]].field != "removed"
        )

    @cached_property
    def _lines(self) -> dict[str, int]:
        return {one.id: line for line, one in enumerate(read_reviews(self.file), 1)}

    @cached_property
    def evaluations(self) -> dict[str, Evaluation]:
        """Evaluations in the folder of the reviews, keyed by record id."""
        path = self.file.with_name(EVALUATIONS)
        if not path.exists():
            raise InputError(
                f"{self.file} requires {EVALUATIONS} in the same folder; pass the run folder"
            )
        try:
            evaluations = [Evaluation.model_validate_json(line.data) for line in iter_lines(path)]
        except ValidationError as error:
            raise InputError(f"{path} is damaged: {error.errors()[0]['msg']}") from error
        return {one.record_id: one for one in evaluations}

    def list_labels(self) -> tuple[HumanLabel, ...]:
        """Return reviews as human labels, for tasks on which judges can be compared."""
        labels = (
            self._build_label(one, TASKS[one.evaluator]) for one in self.final if self._fits(one)
        )
        return tuple(label for label in labels if label is not None)

    def _fits(self, review: Review) -> bool:
        return review.evaluator in TASKS and not isinstance(review.value, bool)

    @property
    def n_other(self) -> int:
        """Number of reviews that do not label an answer for any task."""
        return sum(not self._fits(one) for one in self.final)

    def _build_label(self, review: Review, task: LabelTask) -> HumanLabel | None:
        sentence, _, rest = review.item.partition("/")
        item = {"relevance": "", "citation": rest, "racar": sentence}.get(task, review.item)
        if task == "nugget":
            if (nugget := self._find_gold_nugget(review)) is None:
                return None
            item = nugget
        return HumanLabel(
            task=task,
            label=str(review.value),
            record_id=rest if task == "racar" else review.record,
            sentence=int(sentence) if task in ("relevance", "citation") else None,
            item=item,
            annotator=review.who,
        )

    def _find_gold_nugget(self, review: Review) -> str | None:
        evaluation = self.evaluations.get(review.record)
        nuggets = evaluation.gold_nuggets if evaluation else ()
        known = review.item.isdigit() and int(review.item) < len(nuggets)
        return nuggets[int(review.item)].text if known else None

    def list_records(self) -> tuple[Record, ...]:
        """Return the answers of the run, split into the same sentences as during evaluation."""
        return tuple(_build_record(one) for one in self.evaluations.values())

    def list_claims(self) -> Iterator[Item]:
        """Yield the claim, evidence and last label of each reviewed verdict on a passage."""
        for review, verdict, evaluation in self._list_verdicts():
            span = getattr(verdict, "evidence", None)
            sentence = _find_sentence(verdict, evaluation)
            if isinstance(span, EvidenceSpan) and sentence and review.value in get_args(Verdict):
                yield self._build_item(
                    *(review, evaluation),
                    claim=sentence.text,
                    evidence=span.text,
                    title=span.title,
                    label=review.value,
                )

    def list_nuggets(self) -> Iterator[Item]:
        """Yield sentences with the nuggets that reviewers approved or wrote."""
        for review, verdict, evaluation in self._list_verdicts():
            sentence = _find_sentence(verdict, evaluation)
            texts = [str(getattr(one, "text", "")) for one in getattr(verdict, "nuggets", ())]
            if review.field == "texts" and isinstance(review.value, list):
                texts = [str(one) for one in review.value]
            elif review.value is not True:
                continue
            if sentence and all(texts) and texts:
                yield self._build_item(review, evaluation, sentence=sentence.text, nuggets=texts)

    def list_matches(self) -> dict[str, frozenset[tuple[int, int]]]:
        """Return the matches between gold nuggets and answer nuggets, keyed by record.

        A match is a pair of 0-based positions. Records with unreviewed gold nuggets are left out.
        """
        final: dict[str, dict[int, int]] = {}
        for review in self.final:
            if review.evaluator == MATCH and isinstance(review.value, int):
                final.setdefault(review.record, {})[int(review.item)] = review.value
        n_gold = {name: len(one.gold_nuggets) for name, one in self.evaluations.items()}
        return {
            record: frozenset(pair for pair in pairs.items() if pair[1] >= 0)
            for record, pairs in final.items()
            if len(pairs) == n_gold.get(record)
        }

    def _list_verdicts(self) -> Iterator[tuple[Review, VerdictBase, Evaluation]]:
        last = {one.about[:3]: one for one in self.final}
        for (evaluator, record, item), review in last.items():
            evaluation = self.evaluations.get(record)
            for verdict in evaluation.find_verdicts(evaluator) if evaluation else ():
                if evaluation and verdict.item == item:
                    yield review, verdict, evaluation

    def _build_item(self, review: Review, evaluation: Evaluation, **fields: object) -> Item:
        line = self._lines[review.id]
        fields |= {"question": evaluation.question, "topic": evaluation.topic}
        place = Place(str(self.file), line, f"line-{line}", review.model_dump_json())
        return Item(place, {name: one for name, one in fields.items() if one is not None})


def read_answers(path: Path) -> ReadResult:
    """Read answers in any known format, or the answers of a reviewed run."""
    file = path / FILE if path.is_dir() else find_reviews_file(path)
    if file is None:
        return read_records(path)
    return ReadResult(ReviewedRun(file).list_records(), (), REVIEWS.name)


def read_claim_items(path: Path) -> Iterator[Item | Rejection]:
    """Yield labelled claims from a file of claims, or from the reviewed verdicts of a run."""
    file = find_reviews_file(path)
    yield from ReviewedRun(file).list_claims() if file else iter_claims(path)


def read_nugget_items(path: Path) -> Iterator[Item | Rejection]:
    """Yield sentences with nuggets from a file, or with nuggets that reviewers approved."""
    file = find_reviews_file(path)
    yield from ReviewedRun(file).list_nuggets() if file else iter_items(path)


def _find_sentence(verdict: VerdictBase, evaluation: Evaluation) -> AnswerSentence | None:
    is_answer = getattr(verdict, "origin", "answer") == "answer"
    number = getattr(verdict, "sentence", None) if is_answer else None
    return next((one for one in evaluation.sentences if one.index == number), None)


def _build_record(evaluation: Evaluation) -> Record:
    return Record(
        id=evaluation.record_id,
        question=evaluation.question,
        answer=tuple(
            SentenceInput(text=s.text, citations=tuple(c.document or c.marker for c in s.citations))
            for s in evaluation.sentences
        )
        or evaluation.answer,
        sources=evaluation.sources,
        nuggets=tuple(one for one in evaluation.gold_nuggets if one.origin == "gold"),
        system=evaluation.system,
        topic=evaluation.topic,
    )
