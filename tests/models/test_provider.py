"""Judges of this process: the embedded one, as LiteLLM sees it, and models in folders."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
from bases import save_base
from schemas import RATING, as_format
from tiny_llama import Plain, random_adapter, tiny_model, tiny_tokenizer

from ragassay.agents.published_judge import read_rating, render
from ragassay.errors import SettingsError
from ragassay.model_names import FORMS, SHIPPED_VERIFIERS, detect_judge_form
from ragassay.models.local import loading, provider
from ragassay.models.local.loading import load_engine
from ragassay.models.local.replies import Prompt
from ragassay.prompts import load_rubrics
from ragassay.records import Case

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


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[Path, Path]:
    """A tiny random base, and an adapter on it without a tokenizer, as the hub has them."""
    folder = tmp_path_factory.mktemp("published")
    base, adapter = folder / "base", folder / "YESciEval-tiny"
    save_base(base, "llama")
    model = random_adapter(tiny_model(len(tiny_tokenizer())), folder / "ours", str(base))
    model.peft_config["default"].base_model_name_or_path = str(base)
    model.save_pretrained(adapter)
    return base, adapter


def test_an_adapter_is_loaded_over_its_base_with_the_bases_tokenizer(folders, tmp_path):
    base, adapter = folders
    case = Case(record_id="r", question="Drug?", answer="The trial.", sentences=())
    messages = render(FORMS["prometheus"], case, load_rubrics()["cohesion"])
    prompt = Prompt(tuple((m["role"], m["content"]) for m in messages), None, max_tokens=8, n_top=5)
    (tuned,) = load_engine(str(adapter), tmp_path, "float32").answer([prompt])
    (plain,) = load_engine(str(base), tmp_path, "float32").answer([prompt])
    assert tuned.n_prompt_tokens == plain.n_prompt_tokens
    assert tuned.text != plain.text, "the adapter's weights are used"
    assert len(tuned.tokens) == 8


def test_a_tiny_judge_says_what_transformers_says(folders, tmp_path):
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base, adapter = folders
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), adapter).eval()
    messages = [{"role": "system", "content": "Rate."}, {"role": "user", "content": "The trial."}]
    inputs = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    written = model.generate(**inputs, max_new_tokens=8, do_sample=False)
    reply = written[0][inputs["input_ids"].shape[1] :]
    prompt = Prompt(tuple((m["role"], m["content"]) for m in messages), None, max_tokens=8, n_top=0)
    (found,) = load_engine(str(adapter), tmp_path, "float32").answer([prompt])
    assert found.text == tokenizer.decode(reply, skip_special_tokens=True)


def test_a_folder_is_asked_in_its_form_where_the_user_says_so(folders):
    name = f"ragassay/{folders[1]}"
    assert detect_judge_form(name) is None
    assert detect_judge_form(name, "yescieval") is FORMS["yescieval"]
    assert read_rating(FORMS["yescieval"], '{"rating": "3"}', "cohesion").rating == 3
