"""Run a fine-tuning job: read examples, train, and save an adapter."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragassay.errors import InputError
from ragassay.evaluators.build_run import build_run
from ragassay.extras import need
from ragassay.formats import read_labels
from ragassay.formats.reviews import read_answers
from ragassay.model_names import SMOLLM2
from ragassay.models.embeddings import Embedder
from ragassay.models.prompt_caching import CHARS_PER_TOKEN
from ragassay.models.tuned import (
    SHAPE,
    WEIGHTS,
    TunedNote,
    TunedTask,
    find_base_digest,
    read_note,
    save_adapter,
)
from ragassay.models.weights import guard_loading, locate_model
from ragassay.optimizers.compiling.answer_tasks import SentenceLabelTask
from ragassay.optimizers.finetuning.agent_data import (
    build_agent_examples,
    build_qa_examples,
    read_verifier_examples,
)
from ragassay.optimizers.finetuning.examples import ChatExample, hash_chat_examples
from ragassay.optimizers.finetuning.judge_data import build_judge_examples, build_replied_examples
from ragassay.optimizers.finetuning.training import TrainingRecipe, train
from ragassay.optimizers.finetuning.tunings import Finetuned
from ragassay.settings import Settings, load_settings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

LIBRARIES = ("torch", "transformers", "peft", "trl")


@dataclass(frozen=True)
class FinetuneJob:
    """A fine-tuning job.

    Attributes:
        base: Base model, which can be `SMOLLM2`, a Hugging Face id, or a folder.
        start: Folder of an adapter to start from, if any.
        labels: For a labeller, the label file, or None if the answers contain the labels.
        papers: For a question generator, the file of papers, or None if the pairs contain the
            papers.
        n_systems: For a judge, the number of systems to sample per question.
        targets: For a judge, whether to train on generated ratings and reasons ("made"), or on the
            replies of other judges in the data ("replies").
        source_chars: For a judge, the maximum number of characters from the sources in a prompt (0
            for no sources).
        limit: Maximum number of examples (0 for all).
        work: Checkpoint folder, or None for `out/checkpoints`.
    """

    task: TunedTask
    data: tuple[Path, ...]
    out: Path
    base: str = SMOLLM2
    recipe: TrainingRecipe = field(default_factory=TrainingRecipe)
    start: Path | None = None
    labels: Path | None = None
    papers: Path | None = None
    n_systems: int = 4
    targets: Literal["made", "replies"] = "made"
    source_chars: int = 0
    limit: int = 0
    work: Path | None = None


def finetune(job: FinetuneJob, say: Callable[[str], None] = lambda text: None) -> Finetuned:
    """Train an adapter, starting from the last checkpoint if there is one.

    Raises:
        InputError: There are no examples, or `start` is an adapter for another base model or task.
        ExtraError: TRL is not installed.
        SettingsError: The base model is unavailable.
    """
    need("trl")
    _check_start(job)
    _check_sources(job)
    settings = load_settings(evidence_rounds=0, only=("sentences",))
    examples, n_rejected = _read_examples(job, settings, say)
    if job.limit:
        examples = examples[: job.limit]
    say(f"{len(examples)} examples in {len({e.group for e in examples})} groups")
    model, tokenizer = load_trainable_base(job.base, settings)
    _check_context(model, job.recipe.row_tokens)
    work = job.work or job.out / "checkpoints"
    tuned = train(examples, model, tokenizer, job.recipe, work, job.start, say)
    note = TunedNote(
        task=job.task,
        base=job.base,
        base_sha256=find_base_digest(job.base),
        weights_sha256="",
        method=job.recipe.method,
        recipe=json.dumps(asdict(job.recipe), sort_keys=True),
        data=tuple(path.name for path in job.data),
        data_sha256=hash_chat_examples(examples, job.recipe.method),
        n_examples=len(examples),
        seed=job.recipe.seed,
        versions={name: importlib.metadata.version(name) for name in LIBRARIES},
        targets=job.targets if job.task == "judge" else "",
        source_chars=job.source_chars,
    )
    written = save_adapter(tuned, job.out, note)
    n_bytes = (job.out / WEIGHTS).stat().st_size
    return Finetuned(written.weights_sha256, n_bytes, len(examples), n_rejected)


def _check_start(job: FinetuneJob) -> None:
    if job.start is None:
        return
    if not (job.start / SHAPE).is_file():
        raise InputError(f"{job.start} is not an adapter: {SHAPE} is missing")
    note = read_note(job.start)
    if (note.task, note.base) != (job.task, job.base):
        raise InputError(
            f"{job.start} is a {note.task} based on {note.base}; it cannot be used to train a "
            f"{job.task} based on {job.base}"
        )


def _check_sources(job: FinetuneJob) -> None:
    """Check that the task supports sources, and that the sources fit into a row of tokens."""
    if job.task != "judge" and (job.source_chars or job.targets != "made"):
        raise InputError(f"--source-chars and --targets are only for a judge, not for {job.task}")
    n_tokens = job.source_chars // CHARS_PER_TOKEN
    if n_tokens >= job.recipe.row_tokens:
        raise InputError(
            f"--source-chars {job.source_chars} is about {n_tokens} tokens, but the limit is "
            f"--row-tokens {job.recipe.row_tokens}; increase --row-tokens or reduce --source-chars"
        )


def _check_context(model: PreTrainedModel, row_tokens: int) -> None:
    limit = getattr(model.config, "max_position_embeddings", None)
    if limit and row_tokens > limit:
        raise InputError(
            f"--row-tokens {row_tokens} exceeds the context length of the base model ({limit}); "
            "reduce --row-tokens and --source-chars"
        )


def _read_examples(
    job: FinetuneJob, settings: Settings, say: Callable[[str], None]
) -> tuple[Sequence[ChatExample], int]:
    if job.task == "judge":
        rejected = sum(
            len(dict.fromkeys((*read_answers(path).rejections, *read_labels(path).rejections)))
            for path in job.data
        )
        options: dict[str, Any] = {
            "n_systems": job.n_systems,
            "seed": job.recipe.seed,
            "source_chars": job.source_chars,
            "say": say,
        }
        if job.targets == "replies":
            method = job.recipe.method
            return build_replied_examples(job.data, settings, method=method, **options), rejected
        return build_judge_examples(job.data, settings, **options), rejected
    if job.task == "verifier":
        embedder = Embedder(settings.literature.embedder)
        examples, rejections = read_verifier_examples(job.data, embedder, seed=job.recipe.seed)
    elif job.task == "qa":
        examples, rejections = build_qa_examples(job.data, job.papers, job.recipe.row_tokens)
    else:
        task = SentenceLabelTask(build_run(settings), job.labels)
        examples, rejections = build_agent_examples(task, job.data)
    return examples, len(rejections)


def load_trainable_base(
    base: str, settings: Settings
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Load a base model for training: in 4 bits (QLoRA) with a GPU and bitsandbytes."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = locate_model(base, settings.literature.cache_dir)
    options: dict[str, Any] = {"dtype": torch.float32}
    if torch.cuda.is_available():
        options = {"dtype": torch.bfloat16, "device_map": {"": 0}}
        if importlib.util.find_spec("bitsandbytes") is not None:
            from transformers import BitsAndBytesConfig

            options["quantization_config"] = BitsAndBytesConfig(
                load_in_4bit=True,
                bnb_4bit_quant_type="nf4",
                bnb_4bit_use_double_quant=True,
                bnb_4bit_compute_dtype=torch.bfloat16,
            )
    with guard_loading(base):
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        return AutoModelForCausalLM.from_pretrained(
            source, **options, trust_remote_code=False
        ), tokenizer
