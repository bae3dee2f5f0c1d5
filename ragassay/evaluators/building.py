"""Build the models of a run by the settings; no model is loaded yet."""

from __future__ import annotations

from ragassay.errors import SettingsError
from ragassay.instruments.embedded_pair_rater import EmbeddedPairRater
from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.instruments.exam import ExamInstrument
from ragassay.instruments.exam_grader import EmbeddedExamGrader
from ragassay.instruments.local_graders import local_grader
from ragassay.instruments.signals import SignalMeter
from ragassay.model_names import EMBEDDED, MINILM, is_local, provider_of, split_endpoint
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import Remembered
from ragassay.models.gateway import JudgeLM
from ragassay.models.signal_rater import shipped_rater
from ragassay.models.tuned import note_of
from ragassay.models.verifiers import (
    entailment_model,
    is_pair_verifier,
    minilm_verifier,
    signals_verifier,
)
from ragassay.prompts.verifiers import load_verifier_kinds
from ragassay.settings import Settings


def build_meter(settings: Settings, embedder: Embedder) -> SignalMeter | None:
    """Return the meter of answers; None where nothing is measured.

    The models that it feeds were fitted on the embedded ones, whatever else the settings choose.
    """
    if not settings.measures:
        return None
    own = embedder if embedder.name == MINILM else Embedder(MINILM)
    return SignalMeter(own, Remembered(signals_verifier()), shipped_rater())


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
    note = note_of(name)
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
    given = {"model": model, "panel": (), "api_base": base, "escalate": "", "judge_form": "auto"}
    return JudgeLM(settings.model_copy(update=given))


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
