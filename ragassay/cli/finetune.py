"""`ragassay finetune`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from ragassay.cli.base import OK, PARTIAL
from ragassay.cli.options import Quiet
from ragassay.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragassay.optimizers.finetuning.tunings import Finetuned

CLASSIFYING = ("svm", "logistic", "head")
"""Methods that train a classifier instead of a text generator."""


def finetune(
    task: Literal["judge", "verifier", "correctness", "completeness", "qa"],
    data: Annotated[list[Path], Option()],
    out: Annotated[Path, Option()],
    method: Literal["svm", "logistic", "head", "sft", "cpo"] | None = None,
    base: str | None = None,
    folds: Annotated[int, Option(min=2)] = 5,
    dev: Path | None = None,
    start: Path | None = None,
    labels: Path | None = None,
    papers: Path | None = None,
    systems: Annotated[int, Option(min=1)] = 4,
    targets: Literal["made", "replies"] = "made",
    source_chars: Annotated[int, Option(min=0)] = 0,
    limit: Annotated[int, Option(min=0)] = 0,
    epochs: Annotated[float | None, Option(min=0.01)] = None,
    steps: Annotated[int, Option(min=0)] = 0,
    learning_rate: Annotated[float | None, Option(min=0)] = None,
    rank: Annotated[int | None, Option(min=1, max=256)] = None,
    layers: Annotated[float, Option(min=0.01, max=1)] = 2 / 3,
    row_tokens: Annotated[int, Option(min=64)] = 1024,
    cap: Annotated[int, Option(min=0)] = 100,
    seed: int = 0,
    work: Path | None = None,
    quiet: Quiet = False,
) -> int:
    """Fine-tune a small model as a judge, verifier, classifier or question generator.

    judge: Train on YESciEval files, which contain answers, perturbed versions of the answers, and
    ratings by other judges. A hash of the question ids selects 40 % of the questions as held-out
    data. To test the judge, run `ragassay audit` on the answers to the held-out questions.

    verifier: Train on claims with evidence and a label.

    correctness: Train on sentences with a passage and a label (correct or incorrect). The
    classifier is cross-validated by question.

    completeness: Train on answers with human labels for each sentence. With --method head, the
    classifier is cross-validated by question. The model card of a cross-validated classifier
    contains the results of each fold and the minimum confidence for each label.

    qa: Train on question-answer pairs and their papers, with the prompt of `ragassay qa generate`.
    Papers longer than --row-tokens are split into groups of sections.

    A fine-tuned language model is stored as a low-rank adapter of a few MiB. Run the same command
    again to resume from the last checkpoint. Training requires `pip install 'ragassay[train]'`. On
    a GPU with bitsandbytes, sft and cpo load the base model in 4-bit precision.

    For example:

      ragassay finetune judge --data bioasq-answers.jsonl.gz --out adapters/judge
      ragassay finetune judge --data bioasq-answers.jsonl.gz --method cpo --start adapters/judge
          --out adapters/judge-cpo
      ragassay finetune verifier --data claims.jsonl --dev others.jsonl --out adapters/verifier
      ragassay evaluate answers.jsonl --verifier ragassay/adapters/verifier
      ragassay finetune correctness --data pairs.jsonl --method svm --out adapters/correctness
      ragassay evaluate answers.jsonl --correctness ragassay/adapters/correctness
      ragassay finetune completeness --data labelled.json --method head --out adapters/labeller
      ragassay evaluate answers.jsonl --labeller ragassay/adapters/labeller
      ragassay finetune qa --data pairs.jsonl --papers papers/ --row-tokens 12288 --out adapters/qa

    Options:
        task: Kind of model to train.
        data: File with training data, or a reviewed run folder.
        out: Output folder for the trained model.
        method: head trains a classification head (verifier, correctness, completeness). svm and
            logistic train a bag-of-words classifier (correctness). sft is supervised fine-tuning on
            target replies. cpo is preference optimization on pairs of a preferred and a rejected
            reply, after sft (see --start). The default is head for verifier, svm for correctness,
            and sft for other tasks.
        base: Base model: smollm2-135m, a Hugging Face id, or a folder; with head, also
            all-MiniLM-L6-v2 or another encoder, such as BiomedBERT. The default is smollm2-135m, or
            all-MiniLM-L6-v2 for correctness or completeness with head.
        folds: For correctness and completeness: number of cross-validation folds.
        dev: For a verifier with head: held-out claims used to measure the model and to calibrate
            its probabilities.
        start: Adapter folder to start from, e.g. for cpo. With head, this can also be a shipped
            verifier, such as ragassay/smollm2-verifier.
        labels: File with the labels, if DATA does not contain them.
        papers: For qa: papers from which the pairs were generated, if DATA does not contain them.
        systems: For judge: number of systems per question to train on.
        targets: For judge: replies to train on. made uses ratings and reasons generated from the
            known perturbation. replies uses the replies by the judges in the data, as in YESciEval;
            with cpo, a low rating of a perturbed answer (1 for extreme perturbations, up to 3 for
            subtle ones) is preferred to a higher one.
        source_chars: For judge: maximum number of source characters per answer, taken from the
            source sentences closest to the answer; 0 for none. If sources are included, a larger
            --row-tokens is required.
        limit: Train only on the first N examples; 0 for all.
        epochs: Number of training epochs. The default is 3 for head, and 1 for other methods.
        steps: Maximum number of training steps; 0 for no limit.
        learning_rate: Learning rate. The default is the rate used for the shipped adapters, or 5e-5
            for cpo.
        rank: Rank of the low-rank adapter. The default is 16, or 32 for MiniLM.
        layers: For sft and cpo: share of the layers to train, starting at the top.
        row_tokens: For sft and cpo: maximum number of tokens per training row. Examples for the
            same answer are packed into one row.
        cap: For cpo: maximum number of pairs per rubric and severity of the perturbation; 0 for no
            limit.
        seed: Random seed for training.
        work: Folder for checkpoints. By default, OUT/checkpoints.
    """

    def say(text: str) -> None:
        if not quiet:
            typer.echo(text, err=True)

    chosen = method or ("svm" if task == "correctness" else "head" if task == "verifier" else "sft")
    job = _drop_unset(data=tuple(data), out=out, base=base, limit=limit, work=work)
    fit = job | _drop_unset(
        epochs=epochs, learning_rate=learning_rate, rank=rank, seed=seed, steps=steps
    )
    option = ""
    if task == "correctness" or (task == "completeness" and chosen in CLASSIFYING):
        from ragassay.optimizers.finetuning.pair_job import PairJob, fit_pairs

        if chosen not in CLASSIFYING:
            raise SettingsError(
                f"--method {chosen} does not train a classifier; choose svm, logistic or head"
            )
        if dev is not None or start is not None:
            raise SettingsError(
                f"--dev and --start cannot be used with {task}, which is cross-validated"
            )
        option = OPTIONS[task]
        pairs = PairJob(task=task, method=chosen, labels=labels, folds=folds, **fit)
        found = fit_pairs(pairs, say)
    elif chosen == "head":
        from ragassay.optimizers.finetuning.head import HeadJob, train_head

        if task != "verifier":
            raise SettingsError(
                f"--method head trains a classifier, but {task} needs a text generator; choose sft "
                "or cpo"
            )
        found = train_head(HeadJob(start=start, dev=dev, **fit), say)
    else:
        from ragassay.optimizers.finetuning.job import FinetuneJob, finetune
        from ragassay.optimizers.finetuning.training import LEARNING_RATES, TrainingRecipe

        if dev is not None:
            raise SettingsError("--dev requires --method head")
        if chosen in CLASSIFYING:
            raise SettingsError(f"--method {chosen} only supports correctness, not {task}")
        own_rate = LEARNING_RATES[chosen]
        recipe = TrainingRecipe(
            method=chosen,
            learning_rate=own_rate if learning_rate is None else learning_rate,
            share_of_layers=layers,
            row_tokens=row_tokens,
            cap=cap,
            seed=seed,
            steps=steps,
            **_drop_unset(epochs=epochs, rank=rank),
        )
        writer = FinetuneJob(
            task="labeller" if task == "completeness" else task,
            recipe=recipe,
            start=start,
            labels=labels,
            papers=papers,
            n_systems=systems,
            targets=targets,
            source_chars=source_chars,
            **job,
        )
        found = finetune(writer, say)
    return _report(found, out, dev, say, option)


def _drop_unset(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


OPTIONS = {"correctness": "--correctness ", "completeness": "--labeller "}
"""Option of `ragassay evaluate` that selects the trained classifier, by task."""


def _report(
    found: Finetuned, out: Path, dev: Path | None, say: Callable[[str], None], option: str
) -> int:
    from ragassay.reports.display import format_interval
    from ragassay.reports.text import count_text, format_score

    if found.measured is not None:
        scores = {
            "accuracy": found.measured.accuracy,
            "macro-F1": found.measured.averages["macro"].f1,
        }
        parts = [f"{n} {format_score(s)} ({format_interval(s)})" for n, s in scores.items()]
        say(f"{f'held-out {dev}' if dev else 'held-out folds'}: {', '.join(parts)}")
    say(
        f"{out}: {found.n_bytes / 2**20:.1f} MiB, {count_text(found.n_examples, 'example')}, "
        f"SHA-256 {found.weights_sha256[:12]}. To use the model, pass {option}ragassay/{out}"
    )
    if found.n_rejected:
        say(f"{count_text(found.n_rejected, 'line')} of the training data could not be read")
        return PARTIAL
    return OK
