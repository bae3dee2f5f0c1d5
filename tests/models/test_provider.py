"""The embedded judge as LiteLLM sees it."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest
from bases import save_base
from schemas import RATING, as_format
from tiny_llama import Plain

from ragassay.errors import SettingsError
from ragassay.model_names import SHIPPED_VERIFIERS
from ragassay.models.local import loading, provider
from ragassay.models.local.replies import Prompt

WANTED: dict[str, Any] = {
    "response_format": as_format(RATING),
    "logprobs": True,
    "top_logprobs": 5,
    "max_tokens": 60,
}


def test_options_become_a_prompt():
    messages = [{"role": "user", "content": [{"type": "text", "text": "a"}, {"text": "b"}]}]
    assert provider.build_prompt(messages, WANTED) == Prompt(
        (("user", "ab"),), json.dumps(RATING), max_tokens=60, n_top=5
    )
    bare = provider.build_prompt([{"role": "assistant", "content": None}], {})
    assert bare == Prompt((("assistant", ""),), None, n_top=0)


def test_a_model_of_another_architecture_is_refused(engine, tmp_path, tokenizer):
    from transformers import GPT2Config, GPT2LMHeadModel

    small = GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2)
    GPT2LMHeadModel(small).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(SettingsError, match=r"'gpt2'.*llama"):
        loading.load_engine(str(tmp_path), tmp_path, "float32")


@pytest.mark.parametrize("name", SHIPPED_VERIFIERS)
def test_what_only_compares_is_no_judge(name, tmp_path):
    with pytest.raises(SettingsError, match="cannot generate text; use it with --verifier"):
        loading.load_engine(name.removeprefix("ragassay/"), tmp_path, "float32")


def test_a_model_in_a_folder_is_loaded_silently(plain, tokenizer, tmp_path, capfd):
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    save_base(tmp_path, "llama")
    capfd.readouterr()
    engine = loading.load_engine(str(tmp_path), tmp_path, "float32")
    assert capfd.readouterr() == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    tokens = engine.chat.encode((("user", "a"),))
    written = plain.greedy(tuple(tokens), 5)
    reply = engine.answer([Prompt((("user", "a"),), max_tokens=5)])[0]
    assert reply.text == tokenizer.decode(written, skip_special_tokens=True)


@pytest.mark.integration
async def test_the_packaged_judge_through_litellm(weights_cache):
    import litellm

    provider.register_provider(weights_cache)
    sources = "Brelozant lowered monthly migraine days in a trial. " * 20
    calls = [
        litellm.acompletion(
            model="ragassay/smollm2-135m",
            messages=[{"role": "user", "content": f"{sources} Rate its {name} from 1 to 5."}],
            **WANTED,
        )
        for name in ("readability", "coherence", "relevancy")
    ]
    responses: list[Any] = await asyncio.gather(*calls)
    for response in responses:
        choice = response.choices[0]
        assert json.loads(choice.message.content)["rating"] in range(1, 6)
        assert choice.finish_reason == "stop"
        (rating,) = [t for t in choice.logprobs.content if t.top_logprobs]
        assert {t.token for t in rating.top_logprobs} == set("12345")
        assert sum(math.exp(t.logprob) for t in rating.top_logprobs) == pytest.approx(1, abs=1e-4)
        assert response.usage.completion_tokens == len(choice.logprobs.content)
    cached = [r.usage.prompt_tokens_details.cached_tokens for r in responses]
    assert sum(n > 200 for n in cached) >= 2


@pytest.mark.integration
def test_the_packaged_judge_writes_what_transformers_writes(weights_cache):
    from transformers import AutoModelForCausalLM

    from ragassay.models.weights import prepare_smollm2

    engine = loading.load_engine("smollm2-135m", weights_cache, "float32")
    folder = prepare_smollm2(weights_cache)
    model = Plain(AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval())
    questions = ["What is migraine?", "What is migraine treated with?", "Name a planet."]
    prompts = [Prompt((("user", question),), max_tokens=12) for question in questions]
    for prompt, reply in zip(prompts, engine.answer(prompts), strict=True):
        written = model.greedy(tuple(engine.chat.encode(prompt.messages)), 12)
        assert reply.text == engine.tokenizer.decode(written, skip_special_tokens=True)
