"""A fine-tuning job: examples from files, training, an adapter in a folder."""

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
from ragassay.models.tuned import (
    SHAPE,
    WEIGHTS,
    TunedNote,
    TunedTask,
    base_digest,
    read_note,
    save_adapter,
)
from ragassay.models.weights import loading, source_of
from ragassay.optimizers.compiling.answer_tasks import SentenceLabelTask
from ragassay.optimizers.finetuning.agent_data import (
    agent_examples,
    qa_examples,
    read_verifier_examples,
)
from ragassay.optimizers.finetuning.examples import ChatExample, digest_of
from ragassay.optimizers.finetuning.judge_data import judge_examples, replied_examples
from ragassay.optimizers.finetuning.training import TrainingRecipe, train
from ragassay.optimizers.finetuning.tunings import Finetuned
from ragassay.settings import Settings, load_settings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

LIBRARIES = ("torch", "transformers", "peft", "trl")

CHARS_PER_TOKEN = 4
"""Characters of a token of English, about."""


@dataclass(frozen=True)
class FinetuneJob:
    """A fine-tuning job.

    Attributes:
        base: The base model: `SMOLLM2`, a Hugging Face id, or a folder.
        start: Folder of an adapter to start from; None for a new one.
        labels: The file of labels, for a labeller, if the answers have none.
        papers: The papers, for a generator of pairs, if the pairs' files have none.
        n_systems: Systems per question in a judge's data.
        targets: Of a judge: ratings and reasons that are "made", or the "replies" of the data's
            own judges.
        source_chars: Of a judge: budget of the sources that it reads; 0 for none.
        limit: Most examples; 0 for all.
        work: Folder of checkpoints; None for `out/checkpoints`.
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
    """Train an adapter; the same job again resumes from its last checkpoint.

    Raises:
        InputError: There are no examples, or `start` is an adapter for another base or task.
        ExtraError: TRL is not installed.
        SettingsError: The base is unavailable.
    """
    need("trl")
    _check_start(job)
    _check_sources(job)
    settings = load_settings(evidence_rounds=0, only=("sentences",))
    examples, n_rejected = _examples(job, settings, say)
    if job.limit:
        examples = examples[: job.limit]
    say(f"{len(examples)} examples, of {len({e.group for e in examples})} groups")
    model, tokenizer = trainable_base(job.base, settings)
    _check_context(model, job.recipe.row_tokens)
    work = job.work or job.out / "checkpoints"
    tuned = train(examples, model, tokenizer, job.recipe, work, job.start, say)
    note = TunedNote(
        task=job.task,
        base=job.base,
        base_sha256=base_digest(job.base),
        weights_sha256="",
        method=job.recipe.method,
        recipe=json.dumps(asdict(job.recipe), sort_keys=True),
        data=tuple(path.name for path in job.data),
        data_sha256=digest_of(examples, job.recipe.method),
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
        raise InputError(f"{job.start} is not an adapter: it holds no {SHAPE}")
    note = read_note(job.start)
    if (note.task, note.base) != (job.task, job.base):
        raise InputError(
            f"{job.start} is a {note.task} on {note.base}, and a {job.task} on {job.base} is to be "
            "trained"
        )


def _check_sources(job: FinetuneJob) -> None:
    """Refuse sources that the task does not read, or that no row has room for."""
    if job.task != "judge" and (job.source_chars or job.targets != "made"):
        raise InputError(f"sources and targets are for a judge, not for a {job.task}")
    n_least = job.source_chars // CHARS_PER_TOKEN
    if n_least >= job.recipe.row_tokens:
        raise InputError(
            f"{job.source_chars} characters of sources are about {n_least} tokens, and an example "
            f"may have {job.recipe.row_tokens}: raise --row-tokens, or lower --source-chars"
        )


def _check_context(model: PreTrainedModel, row_tokens: int) -> None:
    most = getattr(model.config, "max_position_embeddings", None)
    if most and row_tokens > most:
        raise InputError(
            f"an example may have {row_tokens} tokens, and the base reads {most}: lower "
            "--row-tokens, and --source-chars with it"
        )


def _examples(
    job: FinetuneJob, settings: Settings, say: Callable[[str], None]
) -> tuple[Sequence[ChatExample], int]:
    """Return the examples of the job's files, and the number of unreadable lines."""
    if job.task == "judge":
        rejected = sum(
            len(dict.fromkeys((*read_answers(path).rejections, *read_labels(path).rejections)))
            for path in job.data
        )
        options: dict[str, Any] = {"n_systems": job.n_systems, "seed": job.recipe.seed, "say": say}
        options["source_chars"] = job.source_chars
        if job.targets == "replies":
            return replied_examples(
                job.data, settings, method=job.recipe.method, **options
            ), rejected
        return judge_examples(job.data, settings, **options), rejected
    if job.task == "verifier":
        read = read_verifier_examples(
            job.data, Embedder(settings.literature.embedder), seed=job.recipe.seed
        )
    elif job.task == "qa":
        read = qa_examples(job.data, job.papers, job.recipe.row_tokens)
    else:
        read = agent_examples(SentenceLabelTask(build_run(settings), job.labels), job.data)
    examples, rejections = read
    return examples, len(rejections)


def trainable_base(
    base: str, settings: Settings
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Return a base model to train: in four bits with a GPU and bitsandbytes (QLoRA)."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = source_of(base, settings.literature.cache_dir)
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
    with loading(base):
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        return AutoModelForCausalLM.from_pretrained(
            source, **options, trust_remote_code=False
        ), tokenizer
