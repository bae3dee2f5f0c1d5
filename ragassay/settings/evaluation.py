"""Settings for the parts of an evaluation and for the models that evaluate them."""

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
    """Parts of an answer to evaluate, and the models that evaluate them."""

    only: Annotated[tuple[str, ...], READ_SPLIT, RESULT, Flag(metavar="PART")] = Field(
        default=(),
        description=f"Parts to evaluate: {', '.join(PARTS)}, or a custom evaluator. Separate "
        "several parts with commas. By default, all parts are evaluated.",
    )
    rubric_set: Annotated[RubricSet, RESULT] = "yescieval"
    """Set of rubrics on which to rate answers: yescieval (9 rubrics), summeval (4) or usr (6)."""
    rubrics: Annotated[
        tuple[str, ...], READ_LIST, RESULT, Flag(("--rubric",), metavar="NAME|FILE.yaml")
    ] = ()
    """Rubric on which to rate answers: the name of a rubric, the name of a rubric set, or a YAML
    file with custom rubrics. By default, all rubrics of the rubric set are rated."""
    evaluators: Annotated[
        tuple[str, ...], READ_LIST, Flag(("--evaluator",), metavar="MODULE:NAME")
    ] = ()
    """Custom evaluator to run in addition to the built-in ones: package.module:name, or the name of
    an entry point in the ragassay.evaluators group."""
    signals: Annotated[bool, RESULT] = True
    """Compute text statistics (signals) of each answer. A hosted judge gets the statistics in its
    prompt. Without a hosted judge, ratings on rubrics are computed from these statistics."""
    correctness: Annotated[str, RESULT, Flag(metavar="NAME"), Field(min_length=1)] = EMBEDDED
    """Model that decides whether sentences are correct: embedded or another verifier name, judge,
    cosine (embedding similarity; cosine:0.6 sets the threshold), or a model from `ragassay finetune
    correctness` (ragassay/FOLDER)."""
    labeller: Annotated[str, RESULT, Flag(metavar="NAME"), Field(min_length=1)] = "judge"
    """Model that labels sentences as required, borderline, unnecessary or inappropriate: judge, or
    an encoder from `ragassay finetune completeness --method head` (ragassay/FOLDER)."""
    max_sentences: Annotated[int, RESULT, Field(ge=1)] = 200
    """Maximum number of sentences in an answer. Longer answers are rejected before any model
    call."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts to evaluate."""
        return self.only or PARTS

    def wants(self, part: str) -> bool:
        """Return whether the settings request a part of an evaluation."""
        return part in self.parts

    @property
    def looks_for_evidence(self) -> bool:
        """Return whether to search for passages that support or contradict sentences."""
        return self.wants("evidence") or self.wants("correctness")

    @property
    def verifies_evidence(self) -> bool:
        """Return whether to compare sentences with retrieved passages."""
        return self.wants("evidence") or (self.wants("correctness") and self.correctness == "judge")


class NuggetSettings(SettingsGroup):
    """Settings for extracting and matching nuggets."""

    nugget_unit: Annotated[Literal["sentence", "answer"], RESULT] = "sentence"
    """Text from which the judge extracts nuggets in one call: a sentence (at most two nuggets), or
    the whole answer (any number of nuggets), as in BioACE."""
    nugget_threshold: Annotated[float, RESULT, Field(ge=-1, le=1)] = 0.6
    """Minimum cosine similarity for two nuggets to count as the same fact."""
    nugget_alignment: Annotated[Literal["greedy", "optimal"], RESULT] = "greedy"
    """One-to-one matching of nuggets: greedy takes the most similar pair first, as in BioACE;
    optimal maximizes the total similarity."""
    nugget_matcher: Annotated[str, AffectsResult("nugget_matcher_sha256")] = ""
    """File written by `ragassay nuggets fit`. The model in this file, instead of nugget_threshold,
    decides whether two nuggets state the same fact."""

    @property
    def nugget_matcher_sha256(self) -> str:
        """SHA-256 of the file with the nugget matcher; empty if there is none.

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
    """Settings for grading passages and rating question-answer pairs."""

    grades: Annotated[
        tuple[GradeWay, ...], READ_LIST, RESULT, Flag(("--grade",), metavar="WAY")
    ] = ("rating",)
    """Grading method for passages. With a test bank: rating (a rating from 0 to 5 for each item) or
    extraction (an extracted answer for each item). Without a test bank, the prompt for grading
    relevance to the query: fagb, fagb_few, sun, sun_few, helm or thomas."""
    grader: Annotated[
        str, AffectsResult("chosen_grader"), Flag(metavar="NAME"), Field(min_length=1)
    ] = "auto"
    """Model that grades passages: judge, embedded (installed with ragassay), or an encoder-decoder
    such as google/flan-t5-large or a SQuAD2 reader, from the Hugging Face Hub or a folder. auto
    uses the hosted judge if there is one, and otherwise embedded."""
    items_per_call: Annotated[int, RESULT, Field(ge=1, le=50)] = 1
    """Number of test bank items that a judge rates in one call. More items per call cost less, but
    ratings made in one call may influence each other."""
    pairs_per_call: Annotated[int, RESULT, Field(ge=1, le=50)] = 10
    """Number of question-answer pairs to rate in one call of the judge."""
    qa_coverage: Annotated[Literal["pair", "answer"], RESULT] = "pair"
    """Text to compare with the sentences of a paper when measuring coverage: question and answer
    (pair), as in SciQAG's code, or the answer alone (answer)."""


class VerificationSettings(SettingsGroup):
    """Settings for comparing sentences with passages."""

    verifier: Annotated[
        str, AffectsResult("chosen_verifier"), Flag(metavar="NAME"), Field(min_length=1)
    ] = "auto"
    """Model that compares sentences with passages: judge, embedded (installed with ragassay),
    ragassay/mean-verifier (slower, more accurate), ragassay/FOLDER (a fine-tuned model), an NLI
    model from the Hugging Face Hub, a published verifier such as minicheck, hhem or lettucedetect
    (listed by `ragassay verifiers kinds`), or a file written by `ragassay verifiers fit`. With
    auto, the verifier is the hosted judge if there is one, and otherwise the embedded verifier."""
    verdict_labels: Annotated[VerdictLabels, READ_NUMBER, RESULT, Flag(("--labels",))] = 4
    """Number of labels that a verdict can have: 2 (supports, or does not support), 3 (also
    contradicts) or 4 (also not relevant)."""
    citation_evidence: Annotated[CitationEvidence, RESULT, Flag(("--citations",))] = "passage"
    """Part of a cited document to compare with the sentence: passage (the closest three sentences),
    document, sentence (the closest one), nuggets (compares the nuggets of sentence and document one
    by one) or nugget-lists (compares the two lists of nuggets)."""
    attribution: Annotated[bool, RESULT] = False
    """Also compute the citation recall and precision of ALCE, which test whether combinations of
    cited documents support a sentence."""
    nugget_support: Annotated[Literal["all", "any"], RESULT] = "all"
    """If citations are checked nugget by nugget: whether a cited document must support all nuggets
    of a sentence or any of them."""
