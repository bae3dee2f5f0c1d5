"""Supervised fine-tuning and contrastive preference optimization with TRL and LoRA.

Training resumes from the last checkpoint if the command is repeated. If a GPU and bitsandbytes are
available, the base model is loaded in 4 bits (QLoRA, as in appendix G of YESciEval).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.errors import InputError
from ragassay.extras import need
from ragassay.models.local.replies import ChatEncoder
from ragassay.optimizers.finetuning.examples import (
    ChatExample,
    Method,
    Tokens,
    collate,
    hash_chat_examples,
    pack,
)
from ragassay.optimizers.finetuning.tunings import reserve_folder

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

LEARNING_RATES: Mapping[Method, float] = {"sft": 2e-3, "cpo": 5e-5}


@dataclass(frozen=True)
class TrainingRecipe:
    """Training settings of an adapter.

    Attributes:
        learning_rate: Peak learning rate, after warm-up and before cosine decay.
        share_of_layers: Share of the layers to train, counted from the top.
        row_tokens: Maximum number of tokens in a row of packed examples.
        cap: For CPO, the maximum number of pairs per rubric and severity (0 for no limit).
        steps: Maximum number of steps (0 for no limit).
    """

    method: Method = "sft"
    epochs: float = 1.0
    learning_rate: float = 2e-3
    rank: int = 16
    share_of_layers: float = 2 / 3
    row_tokens: int = 1024
    rows: int = 1
    beta: float = 0.1
    cap: int = 100
    seed: int = 0
    steps: int = 0


def tokenise_examples(
    examples: Sequence[ChatExample], tokenizer: PreTrainedTokenizerFast
) -> list[Tokens]:
    """Tokenize examples, and add the end token to each reply."""
    chat = ChatEncoder(tokenizer)
    end: Any = tokenizer.eos_token_id
    return [
        Tokens(
            tuple(chat.encode(example.messages)),
            (*tokenizer.encode(example.reply, add_special_tokens=False), end),
        )
        for example in examples
    ]


def drop_long_examples(
    examples: Sequence[ChatExample], tokenizer: PreTrainedTokenizerFast, n_most: int
) -> list[ChatExample]:
    """Return the examples with at most `n_most` tokens.

    Raises:
        InputError: All examples are longer than `n_most` tokens.
    """
    lengths = [len(t.prompt) + len(t.reply) for t in tokenise_examples(examples, tokenizer)]
    found = [e for e, length in zip(examples, lengths, strict=True) if length <= n_most]
    if not found:
        raise InputError(f"all {len(examples)} examples are longer than {n_most} tokens")
    return found


def train(
    examples: Sequence[ChatExample],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    recipe: TrainingRecipe,
    work: Path,
    start: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> PeftModel:
    """Train an adapter, starting from the last checkpoint in `work` if there is one.

    Args:
        work: Checkpoint folder, which can contain only checkpoints for the same data and recipe.
        start: Folder of an adapter to start from, such as an SFT adapter for CPO.

    Raises:
        InputError: There are no examples, or the checkpoints were made for other data.
        ExtraError: TRL is not installed.
    """
    need("trl", "peft", "accelerate")
    from transformers import set_seed
    from transformers.trainer_utils import get_last_checkpoint

    if not examples:
        raise InputError("the training data contains no examples")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    set_seed(recipe.seed)
    data_sha256 = hash_chat_examples(examples, recipe.method)
    reserve_folder(work, {"data_sha256": data_sha256, **asdict(recipe)})
    adapted = add_adapter(model, recipe, start)
    fitting = drop_long_examples(examples, tokenizer, recipe.row_tokens)
    if n_long := len(examples) - len(fitting):
        say(f"skipped {n_long} examples longer than {recipe.row_tokens} tokens")
    build = _build_sft_trainer if recipe.method == "sft" else _build_cpo_trainer
    trainer = build(fitting, adapted, tokenizer, recipe, work)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(work)))
    return trainer.model


def add_adapter(
    model: PreTrainedModel, recipe: TrainingRecipe, start: Path | None = None
) -> PeftModel:
    """Add an adapter to all linear modules in the upper layers of a model."""
    from peft import LoraConfig, PeftModel, get_peft_model
    from torch.nn import Linear

    if start is not None:
        return PeftModel.from_pretrained(model, str(start), is_trainable=True)
    base: Any = model.base_model
    linear = {name.rpartition(".")[2] for name, m in base.named_modules() if isinstance(m, Linear)}
    n_layers: int = model.config.num_hidden_layers
    first = round(n_layers * (1 - recipe.share_of_layers))
    config = LoraConfig(
        r=recipe.rank,
        lora_alpha=2 * recipe.rank,
        lora_dropout=0.0,
        target_modules=sorted(linear),
        layers_to_transform=list(range(first, n_layers)),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)  # pyright: ignore[reportReturnType]


def _build_arguments(recipe: TrainingRecipe, work: Path) -> dict[str, Any]:
    import torch

    has_gpu = torch.cuda.is_available()
    return {
        "output_dir": str(work),
        "num_train_epochs": recipe.epochs,
        "max_steps": recipe.steps or -1,
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": recipe.rows,
        "learning_rate": recipe.learning_rate,
        "lr_scheduler_type": "cosine",
        "warmup_steps": 0.05,
        "max_grad_norm": 1.0,
        "seed": recipe.seed,
        "bf16": has_gpu and torch.cuda.is_bf16_supported(),
        "gradient_checkpointing": has_gpu,
        "logging_steps": 10,
        "save_steps": 50,
        "save_total_limit": 1,
        "report_to": "none",
        "remove_unused_columns": False,
        "dataloader_pin_memory": False,
    }


def _build_sft_trainer(
    examples: Sequence[ChatExample],
    model: PeftModel,
    tokenizer: PreTrainedTokenizerFast,
    recipe: TrainingRecipe,
    work: Path,
) -> Any:
    from datasets import Dataset
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    rows = pack(tokenise_examples(examples, tokenizer), recipe.row_tokens)
    data = {
        "prompts": [[list(tokens.prompt) for tokens in row] for row in rows],
        "replies": [[list(tokens.reply) for tokens in row] for row in rows],
    }
    return SFTTrainer(
        model=model,
        args=SFTConfig(
            **_build_arguments(recipe, work),
            max_length=None,
            dataset_kwargs={"skip_prepare_dataset": True},
        ),
        train_dataset=Dataset.from_dict(data),
        data_collator=collate,
        processing_class=tokenizer,
    )


def _build_cpo_trainer(
    examples: Sequence[ChatExample],
    model: PeftModel,
    tokenizer: PreTrainedTokenizerFast,
    recipe: TrainingRecipe,
    work: Path,
) -> Any:
    from datasets import Dataset
    from trl.experimental.cpo import CPOConfig, CPOTrainer

    pairs = cap_pairs([example for example in examples if example.rejected], recipe)
    if not pairs:
        raise InputError(
            "CPO requires pairs of a chosen and a rejected reply, but the data contains none"
        )
    data = {
        "prompt": [_render_prompt(example, tokenizer) for example in pairs],
        "chosen": [example.reply for example in pairs],
        "rejected": [example.rejected for example in pairs],
    }
    return CPOTrainer(
        model=model,
        args=CPOConfig(
            **_build_arguments(recipe, work), beta=recipe.beta, max_length=recipe.row_tokens
        ),
        train_dataset=Dataset.from_dict(data),
        processing_class=tokenizer,
    )


def cap_pairs(pairs: Sequence[ChatExample], recipe: TrainingRecipe) -> list[ChatExample]:
    """Sample at most `recipe.cap` pairs of each kind, in their order (YESciEval, section 5)."""
    by_kind: dict[str, list[int]] = {}
    for index, pair in enumerate(pairs):
        by_kind.setdefault(pair.kind, []).append(index)
    rng = random.Random(f"cap:{recipe.seed}")
    chosen: list[int] = []
    for _, indices in sorted(by_kind.items()):
        chosen += rng.sample(indices, min(recipe.cap or len(indices), len(indices)))
    return [pairs[index] for index in sorted(chosen)]


def _render_prompt(example: ChatExample, tokenizer: PreTrainedTokenizerFast) -> str:
    """Return the prompt as text for TRL's CPO, without special tokens from the contents."""
    messages = []
    for role, content in example.messages:
        for token in tokenizer.all_special_tokens:
            content = content.replace(token, " ")
        messages.append({"role": role, "content": content})
    return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
