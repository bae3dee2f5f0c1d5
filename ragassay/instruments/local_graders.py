"""Grade passages with local models other than chat models: FLAN-T5 models and SQuAD readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragassay.errors import SettingsError
from ragassay.extras import EXTRAS, need
from ragassay.instruments.exam_grader import EMPTY, ExamInstrument
from ragassay.metrics.stats.uncertainty import round_entropy
from ragassay.models.local_readers import Prompt, SpanReader, Text2Text
from ragassay.models.weights import guard_loading, hash_folder
from ragassay.prompts.texts import fill_item_prompt, fill_relevance_prompt, hash_grader_prompts
from ragassay.records import DirectGrader, ExamGrade, ExamGrader, ExamItem, Failure, RelevanceGrade
from ragassay.text.answer_match import is_known_answer, is_unanswered

RATINGS = ("0", "1", "2", "3", "4", "5")
THOMAS = ("0", "1", "2")
YES_NO = ("no", "No", "yes", "Yes")

LEAST_MASS = 0.5
"""Minimum total probability of the points on the scale. Below this value, there is no rating,
because the model prefers a reply that is not on the scale."""

TOO_LONG = Failure(reason="too_long", detail="the item leaves no room for the passage")
OFF_SCALE = Failure(reason="unparsable", detail="the most likely replies are not on the scale")
NOT_ASKED = Failure.leave_open("a reader answers questions, but this item is a nugget")


def open_local_grader(name: str) -> ExamInstrument:
    """Return the grader for a model on the Hugging Face Hub or in a local folder.

    The model must be an encoder-decoder or an extractive question answering model.

    Raises:
        ExtraError: The packages to load the model are not installed.
        SettingsError: The model is unavailable or of an unsupported kind.
    """
    need(*EXTRAS["hub"])
    from transformers import AutoConfig

    with guard_loading(name):
        config: Any = AutoConfig.from_pretrained(name, trust_remote_code=False)
    if config.is_encoder_decoder:
        return Text2TextGrader(Text2Text(name))
    kinds = config.architectures or ()
    if any(kind.endswith("ForQuestionAnswering") for kind in kinds):
        return ReaderGrader(SpanReader(name))
    raise SettingsError(
        f"{name} is {', '.join(kinds) or 'of an unknown kind'}; use an encoder-decoder, such as "
        "google/flan-t5-large, or a reader fine-tuned on SQuAD 2.0"
    )


class Text2TextGrader(ExamInstrument):
    """Grades passages with an encoder-decoder model and prompts (Dietz 2024, 3.2 and 3.5).

    A rating is read from the probabilities of the points on the scale, not from generated text.
    Dietz's program rates unparsable replies 1 and counts them as correct. This grader leaves
    passages unscored if no point on the scale is likely.
    """

    graders: frozenset[ExamGrader] = frozenset({"rating", "extraction"})
    direct_graders: frozenset[DirectGrader] = frozenset(
        {"fagb", "fagb_few", "sun", "sun_few", "helm", "thomas"}
    )

    def __init__(self, model: Text2Text) -> None:
        self.name, self.digest, self.model = model.name, hash_folder(model.name), model

    @property
    def identity(self) -> tuple[str, ...]:
        """Name and digest of the model, and a hash of the prompts."""
        return (self.name, self.digest, hash_grader_prompts())

    def grade(
        self, items: Sequence[ExamItem], passage: str, grader: ExamGrader = "rating"
    ) -> list[ExamGrade]:
        """Grade a passage on all items. See `ExamInstrument.grade`."""
        around = (fill_item_prompt(item, grader) for item in items)
        prompts = [(before, passage, after) for before, after in around]
        failures = [self._explain_unreadable(prompt) for prompt in prompts]
        readable = [
            prompt for prompt, failure in zip(prompts, failures, strict=True) if not failure
        ]
        if grader == "rating":
            replies = (
                _on_scale(shares.tolist())
                for shares in self.model.predict_word_shares(readable, RATINGS)
            )
        else:
            replies = iter(self.model.write_replies(readable))
        grades: list[ExamGrade] = []
        for item, failure in zip(items, failures, strict=True):
            fields: Any = {"failure": failure} if failure else next(replies)
            if isinstance(fields, str):
                fields = grade_extracted_answer(item, fields)
            grades.append(ExamGrade(exam_item=item.id, grader=grader, **fields))
        return grades

    def grade_relevance(self, query: str, passage: str, grader: DirectGrader) -> RelevanceGrade:
        """Grade the relevance of a passage. See `ExamInstrument.relevance`."""
        before, after = fill_relevance_prompt(query, grader)
        prompt = before, passage, after
        failure = self._explain_unreadable(prompt)
        if failure:
            return RelevanceGrade(grader=grader, failure=failure)
        is_graded = grader == "thomas"
        shares = self.model.predict_word_shares([prompt], THOMAS if is_graded else YES_NO)[
            0
        ].tolist()
        points = shares if is_graded else [shares[0] + shares[1], shares[2] + shares[3]]
        fields = _on_scale(points)
        fields.pop("score", None)
        fields["is_relevant"] = fields.pop("is_correct", None)
        return RelevanceGrade(grader=grader, **fields)

    def _explain_unreadable(self, prompt: Prompt) -> Failure | None:
        if not prompt[1].strip():
            return EMPTY
        return None if self.model.can_fit_prompt(prompt) else TOO_LONG


class ReaderGrader(ExamInstrument):
    """Grades passages on questions, but not on nuggets, with a SQuAD 2.0 reader."""

    graders: frozenset[ExamGrader] = frozenset({"extraction"})
    refusal = "it only extracts answers to questions"

    def __init__(self, model: SpanReader) -> None:
        self.name, self.digest, self.model = model.name, hash_folder(model.name), model

    def grade(
        self, items: Sequence[ExamItem], passage: str, grader: ExamGrader = "extraction"
    ) -> list[ExamGrade]:
        """Grade a passage on all items. See `ExamInstrument.grade`."""
        if grader not in self.graders:
            self.refuse(grader)
        is_empty = not passage.strip()
        questions = [] if is_empty else [item.text for item in items if item.kind == "question"]
        spans = iter(self.model.read(questions, passage))
        grades: list[ExamGrade] = []
        for item in items:
            if is_empty or item.kind != "question":
                fields: dict[str, Any] = {"failure": EMPTY if is_empty else NOT_ASKED}
            else:
                span = next(spans)
                fields = grade_extracted_answer(item, span.text if span.probability >= 0.5 else "")
                fields["confidence"] = round(max(span.probability, 1 - span.probability), 4)
            grades.append(ExamGrade(exam_item=item.id, grader=grader, **fields))
        return grades


def grade_extracted_answer(item: ExamItem, text: str) -> dict[str, Any]:
    """Return an extracted answer and whether it is correct, as fields of an `ExamGrade`.

    If there are no known answers, any text other than a refusal is correct.
    """
    question = item.text if item.kind == "question" else ""
    if is_unanswered(text, question):
        # The known answer may be "unanswerable".
        return {"answer": "", "is_correct": is_known_answer(text, item.answers, question)}
    is_correct = not item.answers or is_known_answer(text, item.answers, question)
    return {"answer": text, "is_correct": is_correct}


def _on_scale(shares: Sequence[float]) -> dict[str, Any]:
    """Return the most likely rating, the expected rating, the confidence and the entropy."""
    mass = sum(shares)
    if mass < LEAST_MASS:
        return {"failure": OFF_SCALE}
    points = [share / mass for share in shares]
    best = max(range(len(points)), key=points.__getitem__)
    return {
        "rating": best,
        "score": round(sum(point * share for point, share in enumerate(points)), 4),
        "confidence": round(points[best], 4),
        "entropy_bits": round_entropy(points),
        "is_correct": best > 0,
    }
