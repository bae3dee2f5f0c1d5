"""A tiny random model with grouped-query attention, and its tokenizer with a chat template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lazy import LazyModule
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from ragassay.models.tuned import TunedNote, TunedTask, save_adapter

peft = LazyModule("peft")
torch = LazyModule("torch")
transformers = LazyModule("transformers")

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tiny_tokenizer() -> transformers.PreTrainedTokenizerFast:
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(["the migraine trial of the drug and the placebo"] * 3, trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>")
    fast.chat_template = TEMPLATE
    return fast


def tiny_model(n_vocab: int) -> transformers.LlamaForCausalLM:
    torch.manual_seed(7)
    config = transformers.LlamaConfig(
        vocab_size=n_vocab,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=1,
    )
    return transformers.LlamaForCausalLM(config).eval()


@dataclass(eq=False)
class Plain:
    """A model under transformers' own attention and cache, which many tests ask the same."""

    model: transformers.LlamaForCausalLM

    @cache  # noqa: B019 - one for the session
    def greedy(self, tokens: tuple[int, ...], n: int) -> list[int]:
        with torch.inference_mode():
            ids = torch.tensor([tokens])
            out = self.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=n,
                do_sample=False,
                pad_token_id=0,
            )
            return out[0, len(tokens) :].tolist()

    @cache  # noqa: B019
    def logits(self, tokens: tuple[int, ...]) -> torch.Tensor:
        """Shape (n_tokens, n_vocab)."""
        with torch.inference_mode():
            return self.model(torch.tensor([tokens])).logits[0]


def tiny_adapter(
    folder: Path, n_vocab: int, base: str = "some/base", task: TunedTask = "judge"
) -> peft.PeftModel:
    """Save a random adapter that changes the output of the tiny model."""
    return random_adapter(tiny_model(n_vocab), folder, base=base, task=task)


def random_adapter(
    model: transformers.PreTrainedModel,
    folder: Path,
    base: str,
    modules: Sequence[str] = ("q_proj", "down_proj"),
    size: float = 0.3,
    task: TunedTask = "judge",
) -> peft.PeftModel:
    """Save a random adapter of a model, and return the model with it."""
    config = peft.LoraConfig(r=4, target_modules=list(modules), task_type="CAUSAL_LM")
    tuned = peft.get_peft_model(model, config)
    torch.manual_seed(3)
    with torch.no_grad():
        for name, parameter in tuned.named_parameters():
            if "lora_B" in name:
                # Adapters are stored in half precision, so use exact values.
                parameter.copy_((torch.randn_like(parameter) * size).half())
            if "lora_A" in name:
                parameter.copy_(parameter.half())
    note = TunedNote(
        task=task,
        base=base,
        weights_sha256="",
        method="sft",
        recipe="{}",
        data=("a.jsonl",),
        data_sha256="0" * 64,
        n_examples=1,
        seed=0,
        versions={},
    )
    save_adapter(tuned, folder, note)  # type: ignore[arg-type]
    return tuned.eval()  # type: ignore[return-value]
