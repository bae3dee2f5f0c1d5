"""Read people's reviews of a run as labels, answers, claims: no conversion needed.

`ragassay review RUN` adds a line to RUN/reviews.jsonl for each thing that a person says. Where a
reader also needs the text, it takes it from the evaluations in the same folder. Named is the
folder or the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    final_reviews,
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
"""The annotator's task of an evaluator; of others there is none."""


def read_reviews(path: Path) -> tuple[Review, ...]:
    """Return all reviews of a file, the oldest first; a last line that was cut off is left out.

    Raises:
        InputError: A whole line is no review.
    """
    if not path.is_symlink() and not path.exists():
        return ()
    check_file(path)
    found: list[Review] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        try:
            found += [Review.model_validate_json(line)] if line.strip() else []
        except ValidationError as error:
            if not line.startswith(b"{") or line.endswith(b"}"):  # else it was torn
                problem = error.errors()[0]["msg"]
                raise InputError(f"{path}:{number}: no review: {problem}") from error
    return tuple(found)


def reviews_file(path: Path) -> Path | None:
    """Return the file of reviews that a path names; None where it names something else.

    Args:
        path: A run folder, a file of reviews, or any other file.

    Raises:
        InputError: It is a folder without reviews, or a file that cannot be opened.
    """
    if path.is_dir():
        file = path / FILE
        if not file.exists():
            raise InputError(f"{path} has no {FILE}: `ragassay review {path}` writes it")
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
    """A file of reviews and the evaluations beside it."""

    file: Path

    @cached_property
    def final(self) -> tuple[Review, ...]:
        """The labels and ratings that stand; not those that their person rejected afterwards."""
        stands = [review for review in final_reviews(read_reviews(self.file)) if not review.undoes]
        last = {(one.who, *one.about[:3]): one for one in stands if one.field != "note"}
        return tuple(
            one
            for one in stands
            if one.field in ("label", "rating", "right", "texts", "match")
            and one.value is not None
            and last[one.who, *one.about[:3]].field != "removed"
        )

    @cached_property
    def _lines(self) -> dict[str, int]:
        return {one.id: line for line, one in enumerate(read_reviews(self.file), 1)}

    @cached_property
    def evaluations(self) -> dict[str, Evaluation]:
        """The evaluations by record.

        Raises:
            InputError: There are none beside the reviews, or they are damaged.
        """
        path = self.file.with_name(EVALUATIONS)
        if not path.exists():
            raise InputError(f"{self.file} has no {EVALUATIONS} beside it: name the run folder")
        try:
            found = [Evaluation.model_validate_json(line.data) for line in iter_lines(path)]
        except ValidationError as error:
            raise InputError(f"{path} is damaged: {error.errors()[0]['msg']}") from error
        return {one.record_id: one for one in found}

    def labels(self) -> tuple[HumanLabel, ...]:
        """Return the labels of the tasks that judges are measured on."""
        found = (self._label(one, TASKS[one.evaluator]) for one in self.final if self._fits(one))
        return tuple(label for label in found if label is not None)

    def _fits(self, review: Review) -> bool:
        return review.evaluator in TASKS and not isinstance(review.value, bool)

    @property
    def n_other(self) -> int:
        """The number of reviews that are of no task."""
        return sum(not self._fits(one) for one in self.final)

    def _label(self, review: Review, task: LabelTask) -> HumanLabel | None:
        sentence, _, rest = review.item.partition("/")
        item = {"relevance": "", "citation": rest, "racar": sentence}.get(task, review.item)
        if task == "nugget":
            gold = self._gold(review)
            if gold is None:
                return None
            item = gold
        return HumanLabel(
            task=task,
            label=str(review.value),
            record_id=rest if task == "racar" else review.record,
            sentence=int(sentence) if task in ("relevance", "citation") else None,
            item=item,
            annotator=review.who,
        )

    def _gold(self, review: Review) -> str | None:
        evaluation = self.evaluations.get(review.record)
        nuggets = evaluation.gold_nuggets if evaluation else ()
        known = review.item.isdigit() and int(review.item) < len(nuggets)
        return nuggets[int(review.item)].text if known else None

    def records(self) -> tuple[Record, ...]:
        """Return the answers of the run as they were judged, cut into the same sentences."""
        return tuple(_record(one) for one in self.evaluations.values())

    def claims(self) -> Iterator[Item]:
        """Yield claim, evidence and label of each verdict on a passage that people reviewed.

        The last word on a verdict counts.
        """
        for review, verdict, evaluation in self._verdicts():
            span = getattr(verdict, "evidence", None)
            sentence = _sentence(verdict, evaluation)
            if isinstance(span, EvidenceSpan) and sentence and review.value in get_args(Verdict):
                yield self._row(
                    review,
                    claim=sentence.text,
                    evidence=span.text,
                    title=span.title,
                    label=review.value,
                    question=evaluation.question,
                    topic=evaluation.topic,
                )

    def nuggets(self) -> Iterator[Item]:
        """Yield sentences with the nuggets that people found right, or wrote in their place."""
        for review, verdict, evaluation in self._verdicts():
            sentence = _sentence(verdict, evaluation)
            texts = [str(getattr(one, "text", "")) for one in getattr(verdict, "nuggets", ())]
            if review.field == "texts" and isinstance(review.value, list):
                texts = [str(one) for one in review.value]
            elif review.value is not True:
                continue
            if sentence and all(texts) and texts:
                yield self._row(
                    review,
                    sentence=sentence.text,
                    nuggets=texts,
                    question=evaluation.question,
                    topic=evaluation.topic,
                )

    def matches(self) -> dict[str, frozenset[tuple[int, int]]]:
        """Return which nugget states which gold one, by record, where people said so of each one.

        Pairs are positions among the gold nuggets and among the answer's. The last word counts.
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

    def _verdicts(self) -> Iterator[tuple[Review, VerdictBase, Evaluation]]:
        last = {one.about[:3]: one for one in self.final}
        for (evaluator, record, item), review in last.items():
            evaluation = self.evaluations.get(record)
            for verdict in evaluation.by(evaluator) if evaluation else ():
                if evaluation and verdict.item == item:
                    yield review, verdict, evaluation

    def _row(self, review: Review, **fields: object) -> Item:
        line = self._lines[review.id]
        place = Place(str(self.file), line, f"line-{line}", review.model_dump_json())
        return Item(place, {name: one for name, one in fields.items() if one is not None})


def read_answers(path: Path) -> ReadResult:
    """Read answers in any known form; of a run folder or its reviews, those that were judged.

    Raises:
        InputError: The file cannot be read.
    """
    file = path / FILE if path.is_dir() else reviews_file(path)
    if file is None:
        return read_records(path)
    return ReadResult(ReviewedRun(file).records(), (), REVIEWS.name)


def claim_items(path: Path) -> Iterator[Item | Rejection]:
    """Yield labelled claims: the rows of a file, or what people said of a run's verdicts.

    Raises:
        InputError: The file cannot be opened.
    """
    file = reviews_file(path)
    yield from ReviewedRun(file).claims() if file else iter_claims(path)


def nugget_items(path: Path) -> Iterator[Item | Rejection]:
    """Yield sentences with nuggets: the rows of a file, or those of a run that people found right.

    Raises:
        InputError: The file cannot be opened.
    """
    file = reviews_file(path)
    yield from ReviewedRun(file).nuggets() if file else iter_items(path)


def _sentence(verdict: VerdictBase, evaluation: Evaluation) -> AnswerSentence | None:
    is_answer = getattr(verdict, "origin", "answer") == "answer"
    number = getattr(verdict, "sentence", None) if is_answer else None
    return next((one for one in evaluation.sentences if one.index == number), None)


def _record(evaluation: Evaluation) -> Record:
    sentences: Sequence[AnswerSentence] = evaluation.sentences
    return Record(
        id=evaluation.record_id,
        question=evaluation.question,
        answer=tuple(
            SentenceInput(text=s.text, citations=tuple(c.document or c.marker for c in s.citations))
            for s in sentences
        )
        or evaluation.answer,
        sources=evaluation.sources,
        nuggets=tuple(one for one in evaluation.gold_nuggets if one.origin == "gold"),
        system=evaluation.system,
        topic=evaluation.topic,
    )
