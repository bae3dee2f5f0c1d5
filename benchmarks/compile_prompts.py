"""Compare DSPy's optimizers on the verifier prompt: scores before and after, calls and time.

    python benchmarks/compile_prompts.py --shared ../shared
    python benchmarks/compile_prompts.py --shared ../shared --scripted
    python benchmarks/compile_prompts.py --improvable --n 100

- The first command uses the embedded model to compare SciFact claims with the two abstract
  sentences that share the most words with them. It uses 40 claims, half for training and half for
  evaluation. No claim or abstract is in both halves.
- The second uses a scripted model with arbitrary replies, so it measures only the optimizers' time.
- The third uses a scripted judge on invented claims. The judge is right on 60 % of them, and on all
  once its prompt contains examples or a good instruction. The instruction writer finds a good one
  in one of three attempts.

Interrupted jobs resume from the --work folder, and finished jobs are only read again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from ragassay.model_names import EMBEDDED_BASE
from ragassay.optimizers.compiling.job import (
    CompileJob,
    CompileResult,
    Steps,
    run_compile_job,
    write_compiled,
)
from ragassay.optimizers.compiling.planning import OPTIMIZERS
from ragassay.optimizers.compiling.student import can_be_chance
from ragassay.optimizers.compiling.tasks import TaskOptions
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.records import VERDICT_SETS, Score
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel
from ragassay.text.search import tokenize

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # for improvable.py

from improvable import (  # pyright: ignore[reportMissingImports]
    ImprovableJudge,
    write_world,
)

from training.claims import held_out, read_scifact_claims

N_SENTENCES = 2
LABELS = ("supports", "contradicts", "neutral")
"""Label names, indexed by the numeric label of `LabelledClaim`."""


def closest(claim: LabelledClaim) -> str:
    """Return the sentences that share the most words with the claim, in document order."""
    words = set(tokenize(claim.claim))
    shared = [len(words & set(tokenize(sentence))) for sentence in claim.sentences]
    best = sorted(range(len(shared)), key=lambda n: (-shared[n], n))[:N_SENTENCES]
    return " ".join(claim.sentences[n] for n in sorted(best))


def write_claims(claims: Sequence[LabelledClaim], n: int, seed: int, path: Path) -> None:
    """Write `n` claims, balanced by label as far as possible."""
    rng = random.Random(seed)
    by_label = [[claim for claim in claims if claim.label == label] for label in range(3)]
    for some in by_label:
        rng.shuffle(some)
    turns = [some[i] for i in range(n) for some in by_label if i < len(some)][:n]
    with path.open("w", encoding="utf-8") as file:
        for one in turns:
            row = {
                "claim": one.claim,
                "evidence": closest(one),
                "label": LABELS[one.label],
                "topic": one.group,
            }
            file.write(json.dumps(row) + "\n")


@contextmanager
def scripted(reply: ImprovableJudge | None = None) -> Iterator[tuple[str, str | None]]:
    with ScriptedModel(reply) as model:
        yield model.model_name, model.base_url


def write_data(arguments: argparse.Namespace) -> tuple[Path, Path]:
    """Write the training and evaluation claims."""
    arguments.work.mkdir(parents=True, exist_ok=True)
    train, dev = arguments.work / "train.jsonl", arguments.work / "dev.jsonl"
    n, seed = arguments.n, arguments.seed
    if arguments.improvable:
        write_world(arguments.work, "verifier", 0, n, train.name)
        write_world(arguments.work, "verifier", 1000, n, dev.name)
        return train, dev
    claims = read_scifact_claims(arguments.shared)
    held = held_out(claims, 0.5, seed)
    for path, side in ((train, False), (dev, True)):
        write_claims([c for c in claims if held[c.group] is side], n, seed, path)
    return train, dev


def shown(score: Score) -> str:
    if score.value is None:
        return "unscored"
    span = "" if score.low is None else f" [{score.low:.2f}, {score.high:.2f}]"
    return f"{score.value:.3f}{span}" + (f", {score.n_unscored} unscored" * (score.n_unscored > 0))


def report(name: str, result: CompileResult, seconds: float) -> None:
    prompt = result.prompt
    kept = "no better prompt" if result.is_same else f"{len(prompt.predictor.demos)} examples"
    verdict = "better" if prompt.is_better else "refused"
    if prompt.is_better and can_be_chance(prompt.comparisons[0]):
        verdict = "better, may be chance"
    print(f"{name}: {seconds:.0f} s, {result.n_asked} calls, {kept}, {verdict}", flush=True)
    for one in prompt.comparisons:
        print(f"  {one.metric}: {shown(one.before)} -> {shown(one.after)}, gain {shown(one.gain)}")
    print(f"  instructions: {prompt.predictor.instructions[:300]!r}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--shared", type=Path, help="folder that contains data/")
    source.add_argument("--improvable", action="store_true", help="use invented claims")
    parser.add_argument("--work", type=Path, default=Path("runs/compile"))
    parser.add_argument(
        "--n", type=int, default=20, help="number of training and of evaluation claims"
    )
    parser.add_argument("--budget", default="light")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default=EMBEDDED_BASE)
    parser.add_argument("--api-base")
    parser.add_argument("--scripted", action="store_true")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, action="append")
    arguments = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    train, dev = write_data(arguments)
    options = TaskOptions(n_labels=len(VERDICT_SETS[3]))  # type: ignore[arg-type]
    judge, kind = nullcontext((arguments.model, arguments.api_base)), "model"
    if arguments.improvable:
        judge, kind = scripted(ImprovableJudge(0.6, 3)), "improvable"
    elif arguments.scripted:
        judge, kind = scripted(), "scripted"
    with judge as (model, api_base):
        settings = load_settings(model=model, api_base=api_base)
        for name in arguments.optimizer or OPTIMIZERS:
            job = CompileJob(
                "verifier", train, dev, name, arguments.budget, arguments.seed, options=options
            )
            work = arguments.work / kind / name
            begun = time.monotonic()
            steps = Steps(
                planned=lambda plan: print(f"  {plan.text}", flush=True),
                phase=lambda text: print(f"  {text}", flush=True),
            )
            result = run_compile_job(job, settings, work, steps=steps)
            report(name, result, time.monotonic() - begun)
            write_compiled(result.prompt, work / "prompt.json")


if __name__ == "__main__":
    main()
