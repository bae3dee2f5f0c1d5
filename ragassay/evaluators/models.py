"""The literature search, the passage grading and the models of a run, except its judge."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, get_args

from ragassay.errors import SettingsError
from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.instruments.exam_grader import EmbeddedExamGrader, ExamInstrument
from ragassay.instruments.labellers import HeadLabeller, open_head_labeller
from ragassay.instruments.local_graders import open_local_grader
from ragassay.instruments.pair_rater import EmbeddedPairRater
from ragassay.instruments.signals import SignalExtractor
from ragassay.judges import BaseJudge
from ragassay.model_names import EMBEDDED, MINILM, find_provider, is_local, split_endpoint
from ragassay.models.correctness import CorrectnessModel, identify_model, open_correctness_model
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import CachedEntailment
from ragassay.models.fitted_models import open_matcher
from ragassay.models.fitted_raters import load_shipped_rater
from ragassay.models.gateway import JudgeLM
from ragassay.models.tuned import find_tuned_note
from ragassay.models.verifiers import (
    is_pair_verifier,
    load_minilm_verifier,
    load_signals_verifier,
    open_entailment_model,
)
from ragassay.prompts.model_forms import load_verifier_kinds
from ragassay.records import DirectGrader, ExamGrader, GradeWay, NuggetMatcher
from ragassay.retrievers.literature import Literature, has_documents
from ragassay.retrievers.reranked_literature import choose_reranker
from ragassay.retrievers.rerankers import Reranker
from ragassay.settings import Settings


def build_extractor(settings: Settings, embedder: Embedder) -> SignalExtractor | None:
    """Return the signal extractor, or None if no signals are computed.

    The extractor always uses the packaged embedder, for which its models were fitted.
    """
    if not settings.computes_signals:
        return None
    own = embedder if embedder.name == MINILM else Embedder(MINILM)
    return SignalExtractor(own, CachedEntailment(load_signals_verifier()), load_shipped_rater())


def build_encoder(settings: Settings, embedder: Embedder) -> EncoderVerifier | None:
    """Return the local verifier, or None if the judge or a language model verifies claims."""
    name = settings.chosen_verifier
    is_chat = load_verifier_kinds().facts.is_chat(name)
    if name == "judge" or is_chat or (is_local(name) and not is_pair_verifier(name)):
        return None
    model = open_entailment_model(
        name, settings.literature.cache_dir, settings.verification.verdict_labels
    )
    return EncoderVerifier(model, embedder, settings.verification.verdict_labels)


def build_verifier_lm(settings: Settings) -> JudgeLM | None:
    """Return the fine-tuned or served language model that verifies claims, or None.

    Raises:
        SettingsError: The model was not fine-tuned for verification, or needs a server.
    """
    name = settings.chosen_verifier
    if load_verifier_kinds().facts.is_chat(name):
        return _build_chat_verifier(name, settings)
    if not is_local(name) or is_pair_verifier(name):
        return None
    note = find_tuned_note(name)
    if note is None or note.task != "verifier":
        raise SettingsError(
            f"{name} was not fine-tuned for verification; use an adapter made by "
            "`ragassay finetune verifier`"
        )
    return JudgeLM(settings.model_copy(update={"model": name, "panel": (), "api_base": None}))


def _build_chat_verifier(name: str, settings: Settings) -> JudgeLM:
    model, endpoint = split_endpoint(name)
    if find_provider(model) in ("", "bespokelabs"):
        raise SettingsError(
            f"verifier {name} needs a server; use hosted_vllm/bespokelabs/"
            "Bespoke-MiniCheck-7B@http://HOST:8000/v1 or ollama_chat/bespoke-minicheck"
        )
    shares = find_provider(model) == find_provider(settings.judge.model)
    base = endpoint or (settings.judge.api_base if shares else None)
    options = {"model": model, "panel": (), "api_base": base, "escalate": "", "judge_form": "auto"}
    return JudgeLM(settings.model_copy(update=options))


def build_grader(settings: Settings, embedder: Embedder) -> ExamInstrument | None:
    """Return the local passage grader, or None if the judge grades.

    Raises:
        SettingsError: The model is unavailable or of an unsupported kind.
    """
    name = settings.chosen_grader
    if name == "judge":
        return None
    if name != EMBEDDED:
        return open_local_grader(name)
    # Its parameters were fitted for the packaged embedder.
    own = embedder if embedder.name == MINILM else Embedder(MINILM)
    return EmbeddedExamGrader(own, load_minilm_verifier())


def build_pair_rater(settings: Settings, embedder: Embedder) -> EmbeddedPairRater | None:
    """Return the local rater for question-answer pairs, or None if the judge rates them."""
    if not settings.judge.instruments_decide:
        return None
    return EmbeddedPairRater(embedder if embedder.name == MINILM else Embedder(MINILM))


@dataclass(frozen=True)
class Models:
    """Models that measure, embed and compare texts without the judge.

    An optional model is None if its task is left to the judge or to a simpler method.

    Attributes:
        encoder: Compares claims with passages.
        verifier_lm: Fine-tuned language model that compares claims with passages.
        correctness: Decides whether sentences are correct, instead of the evidence verdicts.
        matcher: Decides whether two nuggets are the same fact, instead of a threshold.
        signal_extractor: Computes the signals of an answer before it is rated on rubrics.
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
    def from_settings(cls, settings: Settings) -> Models:
        """Return the models specified in the settings, without loading them.

        Raises:
            SettingsError: A model is unsuitable for its task.
        """
        embedder = Embedder(settings.literature.embedder)
        return cls(
            embedder=embedder,
            encoder=build_encoder(settings, embedder),
            verifier_lm=build_verifier_lm(settings),
            correctness=open_correctness_model(
                settings.evaluation.correctness, embedder, settings.literature.cache_dir
            ),
            matcher=open_matcher(settings.nuggets.nugget_matcher, settings.literature.embedder),
            signal_extractor=build_extractor(settings, embedder),
            grader=build_grader(settings, embedder),
            pair_rater=build_pair_rater(settings, embedder),
            labeller=(
                None
                if settings.evaluation.labeller == "judge"
                else open_head_labeller(settings.evaluation.labeller, settings.literature.cache_dir)
            ),
        )

    @property
    def digests(self) -> tuple[str, ...]:
        """Names, digests and bounds of the models that decide verdicts."""
        own = self.encoder.identity if self.encoder else ()
        labeller = self.labeller.identity if self.labeller else ()
        correctness = identify_model(self.correctness) if self.correctness else ()
        return (*own, *correctness, *labeller)


@dataclass(frozen=True)
class Retrieval:
    """Literature search, with reranking of the hits."""

    settings: Settings
    embedder: Embedder
    corpus: Literature

    @property
    def has_corpus(self) -> bool:
        """Return whether there are documents to search."""
        return has_documents(self.corpus)

    @functools.cached_property
    def reranker(self) -> Reranker | None:
        """Reranker of search hits, or None if disabled."""
        return choose_reranker(self.settings, self.embedder, self.corpus)


@dataclass(frozen=True)
class Grading:
    """Grader and methods for grading passages.

    Attributes:
        instrument: Local grader, or None if the judge grades.
        ways: Grading methods of the run (empty if neither a local grader nor a judge can grade).
        items_per_call: Number of items that a judge rates in one call.
    """

    name: str
    instrument: ExamInstrument | None
    ways: tuple[GradeWay, ...]
    items_per_call: int

    @classmethod
    def from_settings(
        cls, settings: Settings, judge: BaseJudge, instrument: ExamInstrument | None
    ) -> Grading:
        """Return the grader and the methods that the settings specify.

        Raises:
            SettingsError: The local grader does not support a grading method.
        """
        ways = settings.grading.grades if instrument is not None or judge.lm is not None else ()
        if instrument is not None:
            known = instrument.graders | instrument.direct_graders
            unknown = next((way for way in ways if way not in known), None)
            if unknown is not None:
                raise SettingsError(
                    f"grades {unknown}: {instrument.name} only supports "
                    f"{', '.join(sorted(known))}; choose a judge for other grades "
                    "(--model openai/gpt-4.1-mini)"
                )
        name = instrument.name if instrument else judge.answered_by
        return cls(name, instrument, ways, settings.grading.items_per_call)

    @property
    def identity(self) -> tuple[str, ...]:
        """Everything that grades depend on, except the texts and the prompts."""
        return self.instrument.identity if self.instrument else (self.name,)

    @property
    def item_ways(self) -> tuple[ExamGrader, ...]:
        """Grading methods that use the items of a test bank."""
        ways: tuple[Any, ...] = self.ways
        return tuple(way for way in ways if way in get_args(ExamGrader))

    @property
    def direct_ways(self) -> tuple[DirectGrader, ...]:
        """Grading methods that rate relevance without a test bank."""
        ways: tuple[Any, ...] = self.ways
        return tuple(way for way in ways if way in get_args(DirectGrader))

    def choose_batch_size(self, way: ExamGrader) -> int:
        """Return the number of items graded in one call, or 0 for all items of a kind."""
        if self.instrument is not None:
            return 0
        return self.items_per_call if way == "rating" else 1
