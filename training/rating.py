"""Fit the embedded judge's rater on answers with known perturbations.

    python -m training.rating ANSWERS [ANSWERS ...] --out signals.json

ANSWERS are YESciEval files. Their original answers are perturbed with texts of the "fit" split. Of
the files' own perturbed answers only the redundant ones are used, because a model wrote these for
each answer. The others repeat a few sentences. Answers to held-out questions are excluded.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ragassay.errors import InputError
from ragassay.evaluators.build_run import build_run
from ragassay.instruments.signals.extractor import compute_signals
from ragassay.models.fitted_raters import LinearScorer, SignalRater
from ragassay.optimizers.finetuning.judge_replies import SEED
from ragassay.prompts.texts import load_signals
from ragassay.settings import load_settings
from training.rating_examples import Example, examples_of
from training.signal_rating import (
    FOREIGN_FEATURES,
    first_of_all,
    fit_order,
    fit_rubric,
    fit_sentences,
    last_of_all,
)

HARDLY_SEEN = ("drop_last", "drop_inside", "swap_last", "first_connective")
"""Attacks whose results look like answers of another system. They are worse than the original, but
should not get a low rating on their own."""

HARDLY_SEEN_SHARE = 0.2
"""Relative weight of these attacks and of clinical perturbations."""

KIND_SHARES = {"unperturbed": 2.6, "extreme": 4.5}
"""Relative weight of a kind of answers. Others have weight 1."""

N_FOLDS = 5
"""Number of question folds. Position scorers are fitted on the other folds."""

INFORMAL = ("blog", "tweet")
"""Attacks that add informal text."""

UNCLEAR_REGISTER = ("chat_logs", "advertising", "config_files", "italian", "portuguese")
"""Pools of off-topic text that is neither scholarly nor clearly informal English."""


def fit_rater(examples: Sequence[Example], data: str) -> SignalRater:
    """Fit all models.

    Args:
        examples: Result of `examples_of`.
        data: Description of the examples.

    Raises:
        InputError: There are no examples.
    """
    if not examples:
        raise InputError(
            "nothing to fit on: no unperturbed answer to a question that is not held out"
        )
    order, opening, closing = _fit_places(examples)
    sentences = SignalRater(
        data=data,
        data_sha256=_digest(examples),
        seed=SEED,
        order=order,
        opening=opening,
        closing=closing,
        foreign=_fit_foreign(examples),
        scholarly=_fit_register(examples),
    )
    rows = _signals(examples, sentences)
    words = load_signals()
    rubrics = {}
    for rubric, signals in words.rubrics.items():
        chosen = [e for e in examples if rubric in e.ratings]
        better = {name: words.answer[name].better == "high" for name in signals.rated}
        rubrics[rubric] = fit_rubric(
            [rows[id(e)] for e in chosen],
            [e.ratings[rubric] for e in chosen],
            _shares(chosen),
            better,
            _pairs(chosen),
        )
    return sentences.model_copy(update={"rubrics": rubrics})


def _fit_places(examples: Sequence[Example]) -> tuple[LinearScorer, LinearScorer, LinearScorer]:
    """Fit the position scorers `order`, `opening` and `closing` on original answers."""
    several = [e.measured for e in examples if _is_ordered(e)]
    texts = (
        [m.sentences for m in several],
        [m.vectors for m in several],
        [m.openings for m in several],
    )
    return (
        fit_order(*texts),
        fit_order(*texts, first_of_all),
        fit_order(*texts, last_of_all, inverse_penalty=0.3),
    )


def _is_ordered(example: Example) -> bool:
    return example.kind == "unperturbed" and len(example.measured.sentences) > 1


def _signals(examples: Sequence[Example], fitted: SignalRater) -> dict[int, Mapping[str, float]]:
    """Compute the signals of each example, keyed by object id.

    Position scorers overfit the answers they are fitted on, so each example uses scorers fitted on
    other questions.
    """
    question = {e.original: e.question for e in examples if e.kind == "unperturbed"}
    fold = {e: n % N_FOLDS for n, e in enumerate(sorted(set(question.values())))}
    rows: dict[int, Mapping[str, float]] = {}
    for number in range(N_FOLDS):
        inside = {id(e) for e in examples if fold[question[e.original]] == number}
        others = [e for e in examples if _is_ordered(e) and id(e) not in inside]
        rater = fitted
        if len(others) > 1:
            places = zip(("order", "opening", "closing"), _fit_places(others), strict=True)
            rater = fitted.model_copy(update=dict(places))
        rows |= {
            id(e): compute_signals(e.measured, rater).values for e in examples if id(e) in inside
        }
    return rows


def _pairs(examples: Sequence[Example]) -> list[tuple[int, int, float]]:
    """Pair each original answer with its perturbed versions. Each attack has total weight 1."""
    unperturbed = {e.original: i for i, e in enumerate(examples) if e.kind == "unperturbed"}
    perturbed = [
        i for i, e in enumerate(examples) if e.kind != "unperturbed" and e.original in unperturbed
    ]
    n = Counter(examples[i].attack for i in perturbed)
    return [(unperturbed[examples[i].original], i, 1.0 / n[examples[i].attack]) for i in perturbed]


def _shares(examples: Sequence[Example]) -> list[float]:
    """Return the rating weights. Kinds have equal totals except for `KIND_SHARES`."""
    n = Counter(e.kind for e in examples)
    return [
        KIND_SHARES.get(e.kind, 1.0)
        / n[e.kind]
        * (HARDLY_SEEN_SHARE if e.attack in HARDLY_SEEN or e.kind == "clinical" else 1.0)
        for e in examples
    ]


def _fit_foreign(examples: Sequence[Example]) -> LinearScorer:
    """Fit a classifier of sentences inserted from other texts."""
    rows, labels = [], []
    for example in examples:
        if example.kind == "unperturbed" or example.attack.startswith(("off_topic", "same_domain")):
            for number, row in enumerate(example.measured.sentences, 1):
                rows.append(row)
                labels.append(number in example.added)
    return fit_sentences(rows, labels, FOREIGN_FEATURES)


def _fit_register(examples: Sequence[Example]) -> LinearScorer:
    """Fit a classifier of scholarly sentences against blogs and tweets."""
    import numpy as np

    rows, vectors, labels = [], [], []
    for example in examples:
        is_informal = example.attack.startswith(INFORMAL)
        is_other = example.attack.startswith("off_topic") and example.pool not in UNCLEAR_REGISTER
        if not (is_informal or is_other or example.kind == "unperturbed"):
            continue
        measured = example.measured
        for number, row in enumerate(measured.register, 1):
            if number in example.added or example.kind == "unperturbed":
                rows.append(row)
                vectors.append(measured.vectors[number - 1])
                labels.append(not is_informal)
    return fit_sentences(rows, labels, tuple(rows[0]), np.stack(vectors), inverse_penalty=0.1)


def _digest(examples: Sequence[Example]) -> str:
    found = hashlib.sha256()
    for e in examples:
        found.update(
            repr((e.kind, e.attack, sorted(e.ratings.items()), e.measured.answer)).encode()
        )
    return found.hexdigest()


def main() -> None:
    """Measure the answers, fit the rater, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("answers", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--systems", type=int, default=1, help="number of systems per question")
    given = parser.parse_args()
    run = build_run(load_settings(signals=True))
    examples = list(
        examples_of(given.answers, run, given.systems, lambda text: print(text, flush=True))
    )
    rater = fit_rater(examples, ", ".join(path.name for path in given.answers))
    given.out.write_text(rater.model_dump_json() + "\n", encoding="utf-8")
    print(f"{len(examples)} answers; {given.out}: {rater.digest[:12]}")


if __name__ == "__main__":
    main()
