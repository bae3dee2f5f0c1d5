"""Which verifier the settings choose, and that it is built as what it is."""

from __future__ import annotations

import pytest

from ragassay.evaluators.models import build_encoder, build_verifier_lm
from ragassay.model_names import MEAN_VERIFIER, MINILM_VERIFIER, SHIPPED_VERIFIERS
from ragassay.models.embeddings import Embedder
from ragassay.settings import load_settings


@pytest.mark.parametrize(
    ("model", "verifier", "chosen"),
    [
        ("ragassay/judge", "auto", MINILM_VERIFIER),
        ("litellm_proxy/ragassay/judge", "auto", MINILM_VERIFIER),
        ("openai/gpt-4.1-mini", "auto", "judge"),
        ("openai/gpt-4.1-mini", "embedded", MINILM_VERIFIER),
        ("openai/gpt-4.1-mini", MEAN_VERIFIER, MEAN_VERIFIER),
        ("ragassay/judge", "judge", "judge"),
        ("ragassay/judge", "someone/nli", "someone/nli"),
    ],
)
def test_the_verifier_is_chosen_by_the_judge_or_by_its_name(model, verifier, chosen):
    assert load_settings(model=model, verifier=verifier).chosen_verifier == chosen


@pytest.mark.parametrize("name", SHIPPED_VERIFIERS)
def test_a_shipped_verifier_is_no_chat_model(name):
    settings = load_settings(verifier=name)
    encoder = build_encoder(settings, Embedder())
    assert encoder is not None and encoder.model.name == name
    assert build_verifier_lm(settings) is None


def test_where_the_judge_verifies_nothing_is_built():
    settings = load_settings(verifier="judge")
    assert build_encoder(settings, Embedder()) is None
    assert build_verifier_lm(settings) is None
