"""Settings of what is evaluated, and of what decides each part."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ragassay.errors import SettingsError
from ragassay.files import read_small
from ragassay.model_names import EMBEDDED
from ragassay.prompts import RubricSet
from ragassay.records import PARTS, GradeWay
from ragassay.settings.group import (
    READ_LIST,
    READ_NUMBER,
    READ_SPLIT,
    RESULT,
    AffectsResult,
    Flag,
    SettingsGroup,
)

VerdictLabels = Literal[2, 3, 4]
CitationEvidence = Literal["passage", "document", "sentence", "nuggets", "nugget-lists"]


class EvaluationSettings(SettingsGroup):
    """The parts of an evaluation, and the models of those that no other group has."""

    only: Annotated[tuple[str, ...], READ_SPLIT, RESULT, Flag(metavar="PART")] = Field(
        default=(),
        description=f"Evaluate only this: {', '.join(PARTS)}, or an evaluator of your own by its "
        "name; several with commas. By default all.",
    )
    rubric_set: Annotated[RubricSet, RESULT] = Field(
        default="yescieval",
        description="The set of rubrics: YESciEval's nine, SummEval's four, USR's six.",
    )
    rubrics: Annotated[
        tuple[str, ...], READ_LIST, RESULT, Flag(("--rubric",), metavar="NAME|FILE.yaml")
    ] = Field(
        default=(),
        description="Judge only this rubric: a name, a set's name for all of its own, or a YAML "
        "file with rubrics of your own. By default all of the set.",
    )
    evaluators: Annotated[
        tuple[str, ...], READ_LIST, Flag(("--evaluator",), metavar="MODULE:NAME")
    ] = Field(
        default=(),
        description="An evaluator of your own, besides the shipped ones: "
        "package.module:name, or the name of an entry point of the group ragassay.evaluators.",
    )
    signals: Annotated[bool, RESULT] = Field(
        default=True,
        description="Measure each answer before its rubrics are judged. A hosted judge gets the "
        "measurements; without a hosted judge, they rate the rubrics.",
    )
    correctness: Annotated[str, RESULT, Flag(metavar="NAME")] = Field(
        default=EMBEDDED,
        min_length=1,
        description="The model that decides whether sentences are correct: embedded or another "
        "verifier by its name, judge, cosine (of the embedder; cosine:0.6 sets the threshold), or "
        "one of `ragassay finetune correctness` (ragassay/FOLDER).",
    )
    labeller: Annotated[str, RESULT, Flag(metavar="NAME")] = Field(
        default="judge",
        min_length=1,
        description="The model that labels sentences as required, borderline, unnecessary or "
        "inappropriate: judge, or an encoder of `ragassay finetune completeness --method head` "
        "(ragassay/FOLDER).",
    )
    max_sentences: Annotated[int, RESULT] = Field(
        default=200,
        ge=1,
        description="Maximum sentences of an answer; a longer answer is refused before any call.",
    )

    @property
    def parts(self) -> tuple[str, ...]:
        """The requested parts of an evaluation."""
        return self.only or PARTS

    def wants(self, part: str) -> bool:
        """Return whether a part is requested."""
        return part in self.parts

    @property
    def looks_for_evidence(self) -> bool:
        """Return whether passages are searched for the sentences."""
        return self.wants("evidence") or self.wants("correctness")

    @property
    def verifies_evidence(self) -> bool:
        """Return whether the sentences are compared with the passages found for them."""
        return self.wants("evidence") or (self.wants("correctness") and self.correctness == "judge")


class NuggetSettings(SettingsGroup):
    """The listing and the pairing of nuggets."""

    nugget_unit: Annotated[Literal["sentence", "answer"], RESULT] = Field(
        default="sentence",
        description="The text whose nuggets a judge lists in one call: a sentence (at most two "
        "nuggets), or the whole answer (as many as it finds), as BioACE does.",
    )
    nugget_threshold: Annotated[float, RESULT] = Field(
        default=0.6,
        ge=-1,
        le=1,
        description="Minimum cosine similarity of two nuggets that count as the same fact.",
    )
    nugget_alignment: Annotated[Literal["greedy", "optimal"], RESULT] = Field(
        default="greedy",
        description="Way to pair nuggets that may state the same fact, one to one: the most "
        "similar pair first, as BioACE does, or the highest sum of similarities, which finds more.",
    )
    nugget_matcher: Annotated[str, AffectsResult("nugget_matcher_sha256")] = Field(
        default="",
        description="A file of `ragassay nuggets fit`, which decides when two nuggets are the same "
        "fact. It replaces the threshold.",
    )

    @property
    def nugget_matcher_sha256(self) -> str:
        """The hash of the matcher's file, whatever its name; empty without one.

        Raises:
            SettingsError: It cannot be read.
        """
        if not self.nugget_matcher:
            return ""
        try:
            return hashlib.sha256(read_small(Path(self.nugget_matcher))).hexdigest()
        except OSError as error:
            raise SettingsError(
                f"nugget_matcher: {self.nugget_matcher} cannot be read: {error.strerror}"
            ) from error


class GradingSettings(SettingsGroup):
    """The grading of passages and of question-answer pairs."""

    grades: Annotated[
        tuple[GradeWay, ...], READ_LIST, RESULT, Flag(("--grade",), metavar="WAY")
    ] = Field(
        default=("rating",),
        description="How a passage is graded: rating (0 to 5 by each item of a test bank), "
        "extraction (its answer to each item), or its relevance to the query without a bank: "
        "fagb, fagb_few, sun, sun_few, helm, thomas.",
    )
    grader: Annotated[str, AffectsResult("chosen_grader"), Flag(metavar="NAME")] = Field(
        default="auto",
        min_length=1,
        description="The model that grades passages: judge, embedded (installed with ragassay), or "
        "an encoder-decoder such as google/flan-t5-large or a SQuAD2 reader on Hugging Face's hub "
        "or in a folder; auto is embedded without a hosted judge, else that judge.",
    )
    items_per_call: Annotated[int, RESULT] = Field(
        default=1,
        ge=1,
        le=50,
        description="Items of a test bank that a judge rates in one call. More is cheaper, but a "
        "rating may depend on its neighbours.",
    )
    pairs_per_call: Annotated[int, RESULT] = Field(
        default=10,
        ge=1,
        le=50,
        description="Question-answer pairs of a paper that a judge rates in one call.",
    )
    qa_coverage: Annotated[Literal["pair", "answer"], RESULT] = Field(
        default="pair",
        description="The text to compare with a paper's sentences, to measure how much of it the "
        "question-answer pairs cover: question and answer together, as SciQAG's program does "
        "(pair), or the answer alone (answer).",
    )


class VerificationSettings(SettingsGroup):
    """The comparison of sentences with passages."""

    verifier: Annotated[str, AffectsResult("chosen_verifier"), Flag(metavar="NAME")] = Field(
        default="auto",
        min_length=1,
        description="The model that compares sentences with passages: judge, embedded (installed "
        "with ragassay), ragassay/mean-verifier (slower, more accurate), ragassay/FOLDER (a "
        "fine-tuned one), a natural language inference model on Hugging Face's hub, one that "
        "writes a label or scores, such as minicheck, hhem or lettucedetect (`ragassay verifiers "
        "kinds` lists them), or a file of `ragassay verifiers fit`; auto is embedded without a "
        "hosted judge, else that judge itself.",
    )
    verdict_labels: Annotated[VerdictLabels, READ_NUMBER, RESULT, Flag(("--labels",))] = Field(
        default=4,
        description="Number of possible labels of a verdict: 2 (supports or not), 3 (and "
        "contradicts) or 4 (and not relevant).",
    )
    citation_evidence: Annotated[CitationEvidence, RESULT, Flag(("--citations",))] = Field(
        default="passage",
        description="The part of a cited document to compare with the sentence: the closest "
        "passage of three sentences, the whole document, the closest sentence, or the document's "
        "nuggets with those of the sentence, one by one or list with list.",
    )
    attribution: Annotated[bool, RESULT] = Field(
        default=False,
        description="Also ask whether all documents that a sentence cites support it together, and "
        "without each of them: ALCE's citation recall and precision.",
    )
    nugget_support: Annotated[Literal["all", "any"], RESULT] = Field(
        default="all",
        description="How many nuggets of a sentence a cited document must support, if they are "
        "compared one by one.",
    )
