"""Fine-tune a verifier that writes nothing: a classification head over a base model's states.

The adapter is read like the shipped ones (`ragassay.models.verifiers`).
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.extras import need
from ragassay.metrics.stats.agreement import Agreement, agreement
from ragassay.model_names import PROVIDER
from ragassay.models.adapters import SHAPE, WEIGHTS, Adapter, adapter_of
from ragassay.models.cards import write_card
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS, pair_encoder
from ragassay.optimizers.finetuning.claims import (
    WORDS,
    Example,
    LabelledClaim,
    claim_examples,
    claim_names,
    contrary,
    link_names,
    read_claims,
)
from ragassay.optimizers.finetuning.tunings import EncoderJob, Finetuned, command_text, head_card
from ragassay.records import Rejection
from ragassay.settings import load_settings

if TYPE_CHECKING:
    from ragassay.models.cross_encoder import PairEncoder

LABELS = tuple(WORDS[label] for label in (SUPPORTS, CONTRADICTS, NEUTRAL))


@dataclasses.dataclass(frozen=True, kw_only=True)
class HeadJob(EncoderJob):
    """A training job of a verifier with a head.

    Of `data`, a file that is named twice counts twice.

    Attributes:
        start: A verifier to start from, by its name in settings or its folder; None for a new one.
        dev: Held-out claims, for calibration and for measurement; None for neither.
    """

    start: Path | None = None
    dev: Path | None = None

    @property
    def command(self) -> str:
        """The shell command of the same job."""
        chosen_options = {"dev": self.dev, "start": self.start, **self.options, "seed": self.seed}
        chosen_options |= {
            "limit": self.limit or None,
            "steps": self.steps or None,
            "out": self.out,
        }
        return command_text("verifier", self.data, chosen_options)


def train_head(job: HeadJob, say: Callable[[str], None] = lambda text: None) -> Finetuned:
    """Train an adapter with its head; the same job again resumes from its last checkpoint.

    Raises:
        InputError: There are no examples, held-out claims are among the training claims, the
            checkpoints are of another job, or `start` does not fit this one.
        ExtraError: PEFT is not installed.
        SettingsError: The base is unavailable.
    """
    need("peft")
    from ragassay.optimizers.finetuning.adapting import (
        new_encoder,
        train_encoder,
        training_of,
        write_trained,
    )

    start = _start(job)
    sets, held, rejections = _read_rows(job)
    encoder = new_encoder(job, len(LABELS))
    examples = head_examples([sets[path] for path in job.data], seed=job.seed)
    measured_on = claim_examples(held)
    examples = examples[: job.limit] if job.limit else examples
    say(f"{len(examples)} examples: {_counts(examples)}")
    tensors = train_encoder(job, encoder, examples, start=start)
    training = training_of(job, examples, start=start, dev=job.dev)
    shape = write_trained(job.out, encoder, tensors, job.tuning, measured_on, training)
    del encoder, tensors  # the base is loaded once more
    measured = _measure_adapter(job, held, measured_on) if held else None
    name, digest = f"{PROVIDER}/{job.out}", shape.weights_sha256
    write_card(job.out, head_card(name, job.base, digest, training, measured, job.command))
    n_bytes = (job.out / WEIGHTS).stat().st_size
    return Finetuned(digest, n_bytes, len(examples), len(rejections), measured)


def _start(job: HeadJob) -> Path | None:
    """Return the folder of the adapter to start from."""
    if job.start is None:
        return None
    name = str(job.start)
    found = adapter_of(name) or adapter_of(f"{PROVIDER}/{name}")
    if found is None:
        raise InputError(f"{name} is not an adapter with a head: it holds no {SHAPE}")
    return found.folder


def _read_rows(
    job: HeadJob,
) -> tuple[dict[Path, list[LabelledClaim]], list[LabelledClaim], list[Rejection]]:
    """Return the claims of each file, the held-out ones, and unreadable rows."""
    sets: dict[Path, list[LabelledClaim]] = {}
    rejections: list[Rejection] = []
    for path in dict.fromkeys(job.data):
        sets[path], rejected = read_claims(path)
        rejections += rejected
    if not any(sets.values()):
        raise InputError("there is nothing to learn: no claim came of the data")
    if job.dev is None:
        return sets, [], rejections
    held, rejected = read_claims(job.dev)
    if not held:
        raise InputError(f"{job.dev} holds no claim to measure on")
    _check_apart([claim for claims in sets.values() for claim in claims], held, job.dev)
    return sets, held, [*rejections, *rejected]


def _check_apart(learnt: Sequence[LabelledClaim], held: Sequence[LabelledClaim], dev: Path) -> None:
    groups = link_names(claim_names(claim) for claim in [*learnt, *held])
    known = {groups[claim_names(claim)[0]] for claim in learnt}
    n_shared = sum(groups[claim_names(claim)[0]] in known for claim in held)
    if n_shared:
        raise InputError(
            f"{dev}: {n_shared} of {len(held)} claims share their text or document with what is "
            "learnt from, and would flatter the model: split the claims by group"
        )


def head_examples(sets: Sequence[Sequence[LabelledClaim]], *, seed: int) -> list[Example]:
    """Return each set's claims, then the contraries of those with marked decisive sentences.

    Args:
        sets: Claims; a set may come twice.
        seed: The seed of the contraries; a repeated set gets the same ones.
    """
    rng = random.Random(seed)
    made: dict[int, list[Example]] = {}
    for claims in sets:
        if id(claims) not in made:
            turned = [other for c in claims if c.rationale and (other := contrary(c, rng))]
            made[id(claims)] = claim_examples([*claims, *turned])
    return [example for claims in sets for example in made[id(claims)]]


def _counts(examples: Sequence[Example]) -> str:
    labels = [example.label for example in examples]
    return ", ".join(f"{name} {labels.count(i)}" for i, name in enumerate(LABELS))


def _measure_adapter(
    job: HeadJob, held: Sequence[LabelledClaim], examples: Sequence[Example]
) -> Agreement:
    """Return the agreement of the saved adapter's labels with people's."""
    from ragassay.models.cross_encoder import CrossEncoder

    encoder: PairEncoder = pair_encoder(job.base, load_settings().literature.cache_dir)
    model = CrossEncoder.load(Adapter(str(job.out), job.out), encoder)
    shares = model.probabilities([(one.claim, one.passage) for one in examples])
    return agreement(
        [LABELS[one.label] for one in examples],
        [LABELS[int(label)] for label in shares.argmax(axis=1)],
        LABELS,
        [claim.group for claim in held],
    )
