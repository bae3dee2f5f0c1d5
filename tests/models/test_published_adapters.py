"""A published judge that is an adapter on a base, as YESciEval's are, runs in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from bases import save_base
from tiny_llama import random_adapter, tiny_model, tiny_tokenizer

from ragassay.agents.published_judge import read_rating, render
from ragassay.model_names import FORMS, detect_judge_form
from ragassay.models.local.loading import load_engine
from ragassay.models.local.replies import Prompt
from ragassay.prompts import load_rubrics
from ragassay.records import Case


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
