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
"""Methods of `finetune` that give labels, and write nothing."""


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
    """Fine-tune a small model, as a low-rank adapter of a few MiB.

    A judge learns from YESciEval files: answers with ratings by other judges, and perturbed
    versions of them, with texts from many sources. Questions are held out by a hash of their
    ids (four of ten); `ragassay audit` on their answers measures what the judge notices. A
    verifier learns from claims with evidence and label, correctness from sentences with passage
    and label (correct, incorrect), a labeller from answers whose sentences people labelled.
    Correctness, and completeness with --method head, are cross-validated by question: the card
    has the figures of each fold, and the minimum confidence of a label. A generator of
    question-answer pairs (qa) learns from pairs with their papers, in the prompt of `ragassay
    qa generate`; papers longer than --row-tokens in groups of sections.

    The same command again resumes from the last checkpoint. Needs `pip install 'ragassay[train]'`;
    on a GPU with bitsandbytes the base of sft and cpo is loaded in four bits.

    For example:

      ragassay finetune judge --data bioasq-answers.jsonl.gz --out adapters/judge
      ragassay finetune judge --data bioasq-answers.jsonl.gz --method cpo --start adapters/judge
          --out adapters/judge-cpo
      ragassay finetune judge --data bioasq-answers.jsonl.gz --targets replies --method cpo --start
          adapters/judge --source-chars 6000 --row-tokens 4096 --out adapters/judge-replies
      ragassay audit answers.jsonl --judge ragassay/adapters/judge
      ragassay finetune verifier --data claims.jsonl --dev others.jsonl --out adapters/verifier
      ragassay evaluate answers.jsonl --verifier ragassay/adapters/verifier
      ragassay finetune correctness --data pairs.jsonl --method svm --out adapters/correctness
      ragassay evaluate answers.jsonl --correctness ragassay/adapters/correctness
      ragassay finetune completeness --data labelled.json --method head --out adapters/labeller
      ragassay evaluate answers.jsonl --labeller ragassay/adapters/labeller
      ragassay finetune qa --data pairs.jsonl --papers papers/ --row-tokens 12288 --out adapters/qa
      ragassay models check adapters/judge

    Options:
        task: The task of the model.
        data: The training data: a file, or a run folder that people reviewed; repeat for more.
        out: Folder of the adapter.
        method: head learns labels and writes nothing (verifier, correctness, completeness); svm and
            logistic are a support vector machine and logistic regression over words (correctness);
            sft learns from wanted replies; cpo learns from pairs of a wanted and an
            unwanted one, after sft (--start). By default head for a verifier, svm for correctness,
            sft for the others.
        base: The base model: smollm2-135m, a Hugging Face id, a folder; for head also
            all-MiniLM-L6-v2 and other encoders, such as BiomedBERT. By default smollm2-135m;
            all-MiniLM-L6-v2 for a head of correctness or completeness.
        folds: For correctness and completeness: folds of the cross-validation.
        dev: For head: claims that are not used for training. The model is measured on them, and its
            probabilities are calibrated on them.
        start: Folder of an adapter to start from, as cpo does; for head also a shipped verifier,
            such as ragassay/smollm2-verifier.
        labels: Labels of the answers, if they are in another file.
        papers: For qa: the papers of the pairs, if their file does not contain them.
        systems: For a judge: number of systems per question to learn from.
        targets: For a judge: the replies to learn. made: ratings and reasons that follow from what
            was done to an answer; replies: the replies of the judges in the data, as in
            YESciEval: with cpo, on a perturbed answer, a low rating (1 for extreme damage, up to 3
            for subtle) is wanted, and a higher one not.
        source_chars: For a judge: maximum characters of the sources to read with each answer, the
            sentences closest to it; 0 for none. They need longer rows (--row-tokens).
        limit: Only the first N examples; 0 for all.
        epochs: Number of epochs; by default 3 for head, else 1.
        steps: End after this number of steps; 0 for all.
        learning_rate: By default that of the shipped adapters; 5e-5 for cpo.
        rank: Rank of the low-rank factors; by default 16, or 32 on MiniLM.
        layers: For sft and cpo: share of the layers to train, from the top.
        row_tokens: For sft and cpo: maximum tokens of an example. Examples on one answer share a
            row.
        cap: For cpo: maximum pairs of a rubric and severity; 0 for all.
        seed: Seed of all random choices.
        work: Folder of checkpoints; by default OUT/checkpoints.
    """

    def say(text: str) -> None:
        if not quiet:
            typer.echo(text, err=True)

    chosen = method or _default_method(task)
    job = _drop_unset(data=tuple(data), out=out, base=base, limit=limit, work=work)
    fit = job | _drop_unset(
        epochs=epochs, learning_rate=learning_rate, rank=rank, seed=seed, steps=steps
    )
    option = ""
    if task == "correctness" or (task == "completeness" and chosen in CLASSIFYING):
        from ragassay.optimizers.finetuning.pair_job import PairJob, fit_pairs

        if chosen not in CLASSIFYING:
            raise SettingsError(
                f"--method {chosen} assigns no labels: choose svm, logistic or head"
            )
        if dev is not None or start is not None:
            raise SettingsError(f"--dev and --start do not apply to {task}: it is cross-validated")
        option = OPTIONS[task]
        pairs = PairJob(task=task, method=chosen, labels=labels, folds=folds, **fit)
        found = fit_pairs(pairs, say)
    elif chosen == "head":
        from ragassay.optimizers.finetuning.head import HeadJob, train_head

        if task != "verifier":
            raise SettingsError(
                f"--method head only assigns labels, but a {task} has to write text"
            )
        found = train_head(HeadJob(start=start, dev=dev, **fit), say)
    else:
        from ragassay.optimizers.finetuning.job import FinetuneJob, finetune
        from ragassay.optimizers.finetuning.training import LEARNING_RATES, TrainingRecipe

        if dev is not None:
            raise SettingsError("--dev needs --method head")
        if chosen in CLASSIFYING or task == "correctness":
            raise SettingsError(f"--method {chosen} works for correctness only, not for {task}")
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
    """Return the options that were given; a job has defaults for the others."""
    return {name: value for name, value in options.items() if value is not None}


def _default_method(task: str) -> Literal["svm", "head", "sft"]:
    if task == "correctness":
        return "svm"
    return "head" if task == "verifier" else "sft"


OPTIONS = {"correctness": "--correctness ", "completeness": "--labeller "}
"""The option of `ragassay evaluate` that takes a classifier."""


def _report(
    found: Finetuned, out: Path, dev: Path | None, say: Callable[[str], None], option: str
) -> int:
    from ragassay.reports.display import format_interval
    from ragassay.reports.text import count_text, score_text

    if found.measured is not None:
        scores = {
            "accuracy": found.measured.accuracy,
            "macro-F1": found.measured.averages["macro"].f1,
        }
        told = [f"{n} {score_text(s)} ({format_interval(s)})" for n, s in scores.items()]
        held = f"{dev}, which it did not learn from" if dev else "held-out folds"
        say(f"{held}: {', '.join(told)}")
    say(
        f"{out}: {found.n_bytes / 2**20:.1f} MiB, {count_text(found.n_examples, 'example')}, "
        f"SHA-256 {found.weights_sha256[:12]}; use it as {option}ragassay/{out}"
    )
    if found.n_rejected:
        say(f"{count_text(found.n_rejected, 'line')} of the data could not be read")
        return PARTIAL
    return OK
