"""The models of a run that are no judges, and where literature is looked up."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ragassay.evaluators.building import (
    build_encoder,
    build_grader,
    build_meter,
    build_pair_rater,
    build_verifier_lm,
)
from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.instruments.exam import ExamInstrument
from ragassay.instruments.head_labeller import HeadLabeller, head_labeller
from ragassay.instruments.pair_rater import PairRater
from ragassay.instruments.signals import SignalMeter
from ragassay.models.correctness import CorrectnessModel, correctness_model, identity_of
from ragassay.models.embeddings import Embedder
from ragassay.models.gateway import JudgeLM
from ragassay.models.nugget_matcher import opened_matcher
from ragassay.records import NuggetMatcher
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.memory import has_documents
from ragassay.retrievers.rerank import Reranker
from ragassay.retrievers.reranked import reranker_of
from ragassay.settings import Settings


@dataclass(frozen=True)
class Models:
    """The models that measure, embed and compare without the judge.

    Attributes:
        embedder: Embeds sentences and nuggets.
        encoder: Compares claims with passages in the judge's place; None where another does.
        verifier_lm: A fine-tuned verifier that does; None where another does.
        correctness: Says whether sentences are correct; None where the verdicts on evidence do.
        matcher: Says when two nuggets are one fact; None where a threshold does.
        meter: Measures answers before their rubrics are rated; None where that is not wanted.
        grader: Grades passages by test banks in the judge's place; None where the judge does.
        pair_rater: Rates question-answer pairs in the judge's place; None where the judge does.
        labeller: Labels sentences in the judge's place; None where the judge does.
    """

    embedder: Embedder
    encoder: EncoderVerifier | None = None
    verifier_lm: JudgeLM | None = None
    correctness: CorrectnessModel | None = None
    matcher: NuggetMatcher | None = None
    meter: SignalMeter | None = None
    grader: ExamInstrument | None = None
    pair_rater: PairRater | None = None
    labeller: HeadLabeller | None = None

    @classmethod
    def of(cls, settings: Settings) -> Models:
        """Return the models that the settings name; none is loaded yet.

        Raises:
            SettingsError: One of them is not of its kind.
        """
        embedder = Embedder(settings.literature.embedder)
        return cls(
            embedder=embedder,
            encoder=build_encoder(settings, embedder),
            verifier_lm=build_verifier_lm(settings),
            correctness=correctness_model(
                settings.evaluation.correctness, embedder, settings.literature.cache_dir
            ),
            matcher=opened_matcher(settings.nuggets.nugget_matcher, settings.literature.embedder),
            meter=build_meter(settings, embedder),
            grader=build_grader(settings, embedder),
            pair_rater=build_pair_rater(settings, embedder),
            labeller=(
                None
                if settings.evaluation.labeller == "judge"
                else head_labeller(settings.evaluation.labeller, settings.literature.cache_dir)
            ),
        )

    @property
    def digests(self) -> tuple[str, ...]:
        """Names, digests and bounds of those that decide."""
        own = self.encoder.identity if self.encoder else ()
        labeller = self.labeller.identity if self.labeller else ()
        correctness = identity_of(self.correctness) if self.correctness else ()
        return (*own, *correctness, *labeller)


@dataclass(frozen=True)
class Retrieval:
    """Where literature is looked up, and what looks at hits again."""

    settings: Settings
    embedder: Embedder
    corpus: Literature

    @property
    def has_corpus(self) -> bool:
        """Return whether there is anything to search."""
        return has_documents(self.corpus)

    @functools.cached_property
    def reranker(self) -> Reranker | None:
        """The reranker of hits; None where the settings want none."""
        return reranker_of(self.settings, self.embedder, self.corpus)
