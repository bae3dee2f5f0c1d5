"""Fine-tune a verifier with a classification head on a base model.

The adapter has the same format as the shipped adapters (see `ragassay.models.verifiers`).
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.extras import need
from ragassay.metrics.stats.agreement import Agreement, measure_agreement
from ragassay.model_names import PROVIDER
from ragassay.models.adapters import SHAPE, WEIGHTS, Adapter, find_adapter
from ragassay.models.cards import write_card
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS, load_pair_encoder
from ragassay.optimizers.finetuning.claims import (
    WORDS,
    Example,
    LabelledClaim,
    build_claim_examples,
    link_names,
    list_claim_names,
    read_claims,
    reverse_label,
)
from ragassay.optimizers.finetuning.tunings import (
    EncoderJob,
    Finetuned,
    build_head_card,
    format_command,
)
from ragassay.records import Rejection
from ragassay.settings import load_settings

if TYPE_CHECKING:
    from ragassay.models.cross_encoder import PairEncoder

LABELS = tuple(WORDS[label] for label in (SUPPORTS, CONTRADICTS, NEUTRAL))


@dataclasses.dataclass(frozen=True, kw_only=True)
class HeadJob(EncoderJob):
    """Job for training a verifier with a head. A file can occur in `data` several times.

    Attributes:
        start: Name or folder of a verifier to start from, if any.
        dev: File of held-out claims for calibration and measurement, if any.
    """

    start: Path | None = None
    dev: Path | None = None

    @property
    def command(self) -> str:
        """Shell command that runs this job."""
        options = {"dev": self.dev, "start": self.start, **self.options, "seed": self.seed}
        options |= {"limit": self.limit or None, "steps": self.steps or None, "out": self.out}
        return format_command("verifier", self.data, options)


def train_head(job: HeadJob, say: Callable[[str], None] = lambda text: None) -> Finetuned:
    """Train an adapter with a head, starting from the last checkpoint if there is one.

    Raises:
        InputError: There are no examples, the training and dev claims overlap, the checkpoints were
            made for another job, or the adapter `start` is incompatible.
        ExtraError: PEFT is not installed.
        SettingsError: The base model is unavailable.
    """
    need("peft")
    from ragassay.optimizers.finetuning.adapting import (
        create_encoder,
        describe_training,
        train_encoder,
        write_trained,
    )

    start = _start(job)
    sets, held, rejections = _read_rows(job)
    encoder = create_encoder(job, len(LABELS))
    examples = build_head_examples([sets[path] for path in job.data], seed=job.seed)
    measured_on = build_claim_examples(held)
    examples = examples[: job.limit] if job.limit else examples
    labels = [example.label for example in examples]
    counts = ", ".join(f"{name} {labels.count(i)}" for i, name in enumerate(LABELS))
    say(f"{len(examples)} examples: {counts}")
    tensors = train_encoder(job, encoder, examples, start=start)
    training = describe_training(job, examples, start=start, dev=job.dev)
    shape = write_trained(job.out, encoder, tensors, job.tuning, measured_on, training)
    del encoder, tensors  # Frees memory, because the base model is loaded again.
    measured = _measure_adapter(job, held, measured_on) if held else None
    name, digest = f"{PROVIDER}/{job.out}", shape.weights_sha256
    write_card(job.out, build_head_card(name, job.base, digest, training, measured, job.command))
    n_bytes = (job.out / WEIGHTS).stat().st_size
    return Finetuned(digest, n_bytes, len(examples), len(rejections), measured)


def _start(job: HeadJob) -> Path | None:
    if job.start is None:
        return None
    name = str(job.start)
    adapter = find_adapter(name) or find_adapter(f"{PROVIDER}/{name}")
    if adapter is None:
        raise InputError(f"{name} is not an adapter with a head: {SHAPE} is missing")
    return adapter.folder


def _read_rows(
    job: HeadJob,
) -> tuple[dict[Path, list[LabelledClaim]], list[LabelledClaim], list[Rejection]]:
    sets: dict[Path, list[LabelledClaim]] = {}
    rejections: list[Rejection] = []
    for path in dict.fromkeys(job.data):
        sets[path], rejected = read_claims(path)
        rejections += rejected
    if not any(sets.values()):
        raise InputError("the training data contains no claims")
    if job.dev is None:
        return sets, [], rejections
    held, rejected = read_claims(job.dev)
    if not held:
        raise InputError(f"{job.dev} contains no claims")
    _check_overlap([claim for claims in sets.values() for claim in claims], held, job.dev)
    return sets, held, [*rejections, *rejected]


def _check_overlap(
    train: Sequence[LabelledClaim], held: Sequence[LabelledClaim], dev: Path
) -> None:
    groups = link_names(list_claim_names(claim) for claim in [*train, *held])
    known = {groups[list_claim_names(claim)[0]] for claim in train}
    n_shared = sum(groups[list_claim_names(claim)[0]] in known for claim in held)
    if n_shared:
        raise InputError(
            f"{dev}: {n_shared} of {len(held)} claims share their text or document with the "
            "training data; split the claims by text and document"
        )


def build_head_examples(sets: Sequence[Sequence[LabelledClaim]], *, seed: int) -> list[Example]:
    """Return the claims in each set as they are, and changed so that their labels are reversed.

    A claim is changed only if its decisive sentences are known.

    Args:
        sets: Sets of claims, which can contain the same set several times.
        seed: Random seed for the changes, which are the same each time a set occurs.
    """
    rng = random.Random(seed)
    made: dict[int, list[Example]] = {}
    for claims in sets:
        if id(claims) not in made:
            turned = [other for c in claims if c.rationale and (other := reverse_label(c, rng))]
            made[id(claims)] = build_claim_examples([*claims, *turned])
    return [example for claims in sets for example in made[id(claims)]]


def _measure_adapter(
    job: HeadJob, held: Sequence[LabelledClaim], examples: Sequence[Example]
) -> Agreement:
    from ragassay.models.cross_encoder import CrossEncoder

    encoder: PairEncoder = load_pair_encoder(job.base, load_settings().literature.cache_dir)
    model = CrossEncoder.load(Adapter(str(job.out), job.out), encoder)
    shares = model.predict_probabilities([(one.claim, one.passage) for one in examples])
    return measure_agreement(
        [LABELS[one.label] for one in examples],
        [LABELS[int(label)] for label in shares.argmax(axis=1)],
        LABELS,
        [claim.group for claim in held],
    )
