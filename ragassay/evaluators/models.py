"""The models of a run that are no judges, its grading, and its literature, by the settings."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, get_args

from ragassay.errors import SettingsError
from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.instruments.exam_grader import EmbeddedExamGrader, ExamInstrument
from ragassay.instruments.labellers import HeadLabeller, head_labeller
from ragassay.instruments.local_graders import local_grader
from ragassay.instruments.pair_rater import EmbeddedPairRater
from ragassay.instruments.signals import SignalExtractor
from ragassay.judges import BaseJudge
from ragassay.model_names import EMBEDDED, MINILM, is_local, provider_of, split_endpoint
from ragassay.models.correctness import CorrectnessModel, correctness_model, identity_of
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import Remembered
from ragassay.models.fitted_models import opened_matcher
from ragassay.models.fitted_raters import shipped_rater
from ragassay.models.gateway import JudgeLM
from ragassay.models.tuned import metadata_of
from ragassay.models.verifiers import (
    entailment_model,
    is_pair_verifier,
    minilm_verifier,
    signals_verifier,
)
from ragassay.prompts.model_forms import load_verifier_kinds
from ragassay.records import DirectGrader, ExamGrader, GradeWay, NuggetMatcher
from ragassay.retrievers.literature import Literature, has_documents
from ragassay.retrievers.reranked_literature import reranker_of
from ragassay.retrievers.rerankers import Reranker
from ragassay.settings import Settings


def build_extractor(settings: Settings, embedder: Embedder) -> SignalExtractor | None:
    """Return the meter of answers; None where nothing is measured.

    The models that it feeds were fitted on the embedded ones, whatever else the settings choose.
    """
    if not settings.computes_signals:
        return None
    own = embedder if embedder.name == MINILM else Embedder(MINILM)
    return SignalExtractor(own, Remembered(signals_verifier()), shipped_rater())


def build_encoder(settings: Settings, embedder: Embedder) -> EncoderVerifier | None:
    """The verifier beside the judge; None where the judge verifies."""
    name = settings.chosen_verifier
    is_chat = load_verifier_kinds().facts.is_chat(name)
    if name == "judge" or is_chat or (is_local(name) and not is_pair_verifier(name)):
        return None
    model = entailment_model(
        name, settings.literature.cache_dir, settings.verification.verdict_labels
    )
    return EncoderVerifier(model, embedder, settings.verification.verdict_labels)


def build_verifier_lm(settings: Settings) -> JudgeLM | None:
    """The verifier that writes: a fine-tuned one, or one that a server answers for; else None.

    Raises:
        SettingsError: What they name was not fine-tuned to verify, or names no server.
    """
    name = settings.chosen_verifier
    if load_verifier_kinds().facts.is_chat(name):
        return _chat_verifier(name, settings)
    if not is_local(name) or is_pair_verifier(name):
        return None
    note = metadata_of(name)
    if note is None or note.task != "verifier":
        raise SettingsError(
            f"{name} was not fine-tuned to verify: name an adapter of `ragassay finetune verifier`"
        )
    return JudgeLM(settings.model_copy(update={"model": name, "panel": (), "api_base": None}))


def _chat_verifier(name: str, settings: Settings) -> JudgeLM:
    model, endpoint = split_endpoint(name)
    if provider_of(model) in ("", "bespokelabs"):
        raise SettingsError(
            f"verifier {name} runs behind a server: name hosted_vllm/bespokelabs/"
            "Bespoke-MiniCheck-7B@http://HOST:8000/v1, or ollama_chat/bespoke-minicheck"
        )
    shares = provider_of(model) == provider_of(settings.judge.model)
    base = endpoint or (settings.judge.api_base if shares else None)
    options = {"model": model, "panel": (), "api_base": base, "escalate": "", "judge_form": "auto"}
    return JudgeLM(settings.model_copy(update=options))


def build_grader(settings: Settings, embedder: Embedder) -> ExamInstrument | None:
    """The grader of passages beside the judge; None where the judge grades.

    Raises:
        SettingsError: The model is unavailable, or of another kind.
    """
    name = settings.chosen_grader
    if name == "judge":
        return None
    if name != EMBEDDED:
        return local_grader(name)
    # Its numbers were fitted to the packaged models, whatever else the settings choose.
    own = embedder if embedder.name == MINILM else Embedder(MINILM)
    return EmbeddedExamGrader(own, minilm_verifier())


def build_pair_rater(settings: Settings, embedder: Embedder) -> EmbeddedPairRater | None:
    """The rater of question-answer pairs beside the judge; None where the judge rates."""
    if not settings.judge.instruments_decide:
        return None
    own = embedder if embedder.name == MINILM else Embedder(MINILM)
    return EmbeddedPairRater(own)


@dataclass(frozen=True)
class Models:
    """The models that measure, embed and compare without the judge.

    Attributes:
        encoder: Compares claims with passages in the judge's place; None where another does.
        verifier_lm: A fine-tuned verifier that does; None where another does.
        correctness: Says whether sentences are correct; None where the verdicts on evidence do.
        matcher: Says when two nuggets are one fact; None where a threshold does.
        signal_extractor: Measures answers before their rubrics are rated; None where that is not
            wanted.
        grader: Grades passages by test banks in the judge's place; None where the judge does.
        pair_rater: Rates question-answer pairs in the judge's place; None where the judge does.
        labeller: Labels sentences in the judge's place; None where the judge does.
    """

    embedder: Embedder
    encoder: EncoderVerifier | None = None
    verifier_lm: JudgeLM | None = None
    correctness: CorrectnessModel | None = None
    matcher: NuggetMatcher | None = None
    signal_extractor: SignalExtractor | None = None
    grader: ExamInstrument | None = None
    pair_rater: EmbeddedPairRater | None = None
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
            signal_extractor=build_extractor(settings, embedder),
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


@dataclass(frozen=True)
class Grading:
    """The grading of passages.

    Attributes:
        name: Name of what grades.
        instrument: It, where it is not the judge.
        ways: The ways that the run grades in; none where nobody grades.
        items_per_call: Items that a judge rates in one call.
    """

    name: str
    instrument: ExamInstrument | None
    ways: tuple[GradeWay, ...]
    items_per_call: int

    @classmethod
    def of(cls, settings: Settings, judge: BaseJudge, instrument: ExamInstrument | None) -> Grading:
        """Return the grading that the settings ask for.

        Raises:
            SettingsError: The instrument does not know one of the ways.
        """
        ways = settings.grading.grades if instrument is not None or judge.lm is not None else ()
        if instrument is not None:
            known = instrument.graders | instrument.direct_graders
            unknown = next((way for way in ways if way not in known), None)
            if unknown is not None:
                raise SettingsError(
                    f"grades {unknown}: {instrument.name} knows {', '.join(sorted(known))}; name "
                    "a judge for others (--model openai/gpt-4.1-mini)"
                )
        name = instrument.name if instrument else judge.answered_by
        return cls(name, instrument, ways, settings.grading.items_per_call)

    @property
    def identity(self) -> tuple[str, ...]:
        """All that grades depend on besides the texts and the prompts."""
        return self.instrument.identity if self.instrument else (self.name,)

    @property
    def item_ways(self) -> tuple[ExamGrader, ...]:
        """The ways to grade by items of a test bank."""
        ways: tuple[Any, ...] = self.ways
        return tuple(way for way in ways if way in get_args(ExamGrader))

    @property
    def direct_ways(self) -> tuple[DirectGrader, ...]:
        """The ways to grade relevance without a test bank."""
        ways: tuple[Any, ...] = self.ways
        return tuple(way for way in ways if way in get_args(DirectGrader))

    def n_items_of(self, way: ExamGrader) -> int:
        """Return how many items one call grades; 0 for all of a kind."""
        if self.instrument is not None:
            return 0
        return self.items_per_call if way == "rating" else 1
