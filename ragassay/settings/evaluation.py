"""Settings for the parts of an evaluation and the models that score them."""

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
    """Parts to evaluate, and the models used for them."""

    only: Annotated[tuple[str, ...], READ_SPLIT, RESULT, Flag(metavar="PART")] = Field(
        default=(),
        description=f"Parts to evaluate: {', '.join(PARTS)}, or a custom evaluator. Separate "
        "several parts with commas. All parts by default.",
    )
    rubric_set: Annotated[RubricSet, RESULT] = Field(
        default="yescieval",
        description="Rubric set: yescieval (9 rubrics), summeval (4) or usr (6).",
    )
    rubrics: Annotated[
        tuple[str, ...], READ_LIST, RESULT, Flag(("--rubric",), metavar="NAME|FILE.yaml")
    ] = Field(
        default=(),
        description="Rubric on which to rate answers: the name of a rubric, the name of a rubric "
        "set, or a YAML file with custom rubrics. All rubrics of the rubric set by default.",
    )
    evaluators: Annotated[
        tuple[str, ...], READ_LIST, Flag(("--evaluator",), metavar="MODULE:NAME")
    ] = Field(
        default=(),
        description="Custom evaluator to run in addition to the built-in ones: "
        "package.module:name, or the name of an entry point in the ragassay.evaluators group.",
    )
    signals: Annotated[bool, RESULT] = Field(
        default=True,
        description="Compute text statistics of each answer. A hosted judge sees the statistics in "
        "its prompt. Without a hosted judge, rubric ratings are computed from the statistics.",
    )
    correctness: Annotated[str, RESULT, Flag(metavar="NAME")] = Field(
        default=EMBEDDED,
        min_length=1,
        description="Model that decides whether sentences are correct: embedded or another "
        "verifier name, judge, cosine (embedding similarity; cosine:0.6 sets the threshold), or "
        "a model from `ragassay finetune correctness` (ragassay/FOLDER).",
    )
    labeller: Annotated[str, RESULT, Flag(metavar="NAME")] = Field(
        default="judge",
        min_length=1,
        description="Model that labels sentences as required, borderline, unnecessary or "
        "inappropriate: judge, or an encoder from `ragassay finetune completeness --method head` "
        "(ragassay/FOLDER).",
    )
    max_sentences: Annotated[int, RESULT] = Field(
        default=200,
        ge=1,
        description="Maximum number of sentences in an answer. Longer answers are rejected before "
        "any model call.",
    )

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts to evaluate."""
        return self.only or PARTS

    def wants(self, part: str) -> bool:
        """Return whether a part is evaluated."""
        return part in self.parts

    @property
    def looks_for_evidence(self) -> bool:
        """Return whether to search for passages about the sentences."""
        return self.wants("evidence") or self.wants("correctness")

    @property
    def verifies_evidence(self) -> bool:
        """Return whether to compare the sentences with the retrieved passages."""
        return self.wants("evidence") or (self.wants("correctness") and self.correctness == "judge")


class NuggetSettings(SettingsGroup):
    """Nugget extraction and matching."""

    nugget_unit: Annotated[Literal["sentence", "answer"], RESULT] = Field(
        default="sentence",
        description="Text from which the judge extracts nuggets in one call: a sentence (at most "
        "two nuggets), or the whole answer (any number), as in BioACE.",
    )
    nugget_threshold: Annotated[float, RESULT] = Field(
        default=0.6,
        ge=-1,
        le=1,
        description="Minimum cosine similarity for two nuggets to count as the same fact.",
    )
    nugget_alignment: Annotated[Literal["greedy", "optimal"], RESULT] = Field(
        default="greedy",
        description="One-to-one matching of nuggets: greedy takes the most similar pair first, as "
        "in BioACE; optimal maximizes the total similarity.",
    )
    nugget_matcher: Annotated[str, AffectsResult("nugget_matcher_sha256")] = Field(
        default="",
        description="File written by `ragassay nuggets fit`. Its model, rather than "
        "nugget_threshold, decides whether two nuggets state the same fact.",
    )

    @property
    def nugget_matcher_sha256(self) -> str:
        """SHA-256 of the matcher file; empty if there is no matcher.

        Raises:
            SettingsError: The file cannot be read.
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
    """Grading of passages and question-answer pairs."""

    grades: Annotated[
        tuple[GradeWay, ...], READ_LIST, RESULT, Flag(("--grade",), metavar="WAY")
    ] = Field(
        default=("rating",),
        description="Grading method for passages. With a test bank: rating (0 to 5 for each item) "
        "or extraction (answer to each item). Without a test bank, relevance to the query: fagb, "
        "fagb_few, sun, sun_few, helm, thomas.",
    )
    grader: Annotated[str, AffectsResult("chosen_grader"), Flag(metavar="NAME")] = Field(
        default="auto",
        min_length=1,
        description="Model that grades passages: judge, embedded (installed with ragassay), or an "
        "encoder-decoder such as google/flan-t5-large or a SQuAD2 reader, from the Hugging Face "
        "Hub or a folder. auto uses the hosted judge if there is one, and otherwise embedded.",
    )
    items_per_call: Annotated[int, RESULT] = Field(
        default=1,
        ge=1,
        le=50,
        description="Number of test bank items that a judge rates in one call. Higher values are "
        "cheaper, but the ratings of one call may influence each other.",
    )
    pairs_per_call: Annotated[int, RESULT] = Field(
        default=10,
        ge=1,
        le=50,
        description="Number of question-answer pairs that a judge rates in one call.",
    )
    qa_coverage: Annotated[Literal["pair", "answer"], RESULT] = Field(
        default="pair",
        description="Text to compare with the sentences of a paper when measuring coverage: "
        "question and answer (pair), as in SciQAG's code, or the answer alone (answer).",
    )


class VerificationSettings(SettingsGroup):
    """Verification of sentences against passages."""

    verifier: Annotated[str, AffectsResult("chosen_verifier"), Flag(metavar="NAME")] = Field(
        default="auto",
        min_length=1,
        description="Model that compares sentences with passages: judge, embedded (installed "
        "with ragassay), ragassay/mean-verifier (slower, more accurate), ragassay/FOLDER (a "
        "fine-tuned model), an NLI model from the Hugging Face Hub, a published verifier such as "
        "minicheck, hhem or lettucedetect (listed by `ragassay verifiers kinds`), or a file "
        "written by `ragassay verifiers fit`. With auto, the verifier is the hosted judge if there "
        "is one, and otherwise embedded.",
    )
    verdict_labels: Annotated[VerdictLabels, READ_NUMBER, RESULT, Flag(("--labels",))] = Field(
        default=4,
        description="Number of verdict labels: 2 (supports or not), 3 (adds contradicts) or "
        "4 (adds not relevant).",
    )
    citation_evidence: Annotated[CitationEvidence, RESULT, Flag(("--citations",))] = Field(
        default="passage",
        description="Part of a cited document to compare with the sentence: passage (the closest "
        "three sentences), document, sentence (the closest one), nuggets (compares the nuggets of "
        "sentence and document one by one) or nugget-lists (compares the two lists of nuggets).",
    )
    attribution: Annotated[bool, RESULT] = Field(
        default=False,
        description="Also compute ALCE citation recall and precision, which test combinations of "
        "the cited documents.",
    )
    nugget_support: Annotated[Literal["all", "any"], RESULT] = Field(
        default="all",
        description="With nuggets as citation evidence: whether a cited document must support all "
        "nuggets of the sentence or any of them.",
    )
