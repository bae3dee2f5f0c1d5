"""Fits the embedded judge's rater on answers of which it is known what is wrong with them.

    python -m ragassay.runs.rating ANSWERS [ANSWERS ...] --out signals.json

ANSWERS are YESciEval files. Their whole answers are damaged anew, with texts of the side "fit". Of
the damaged answers that the files hold, only the redundant ones are looked at, which a model wrote
for each answer: the others repeat a few sentences. No answer to a held-out question is looked at.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING

from ragassay.agents.signals.measuring import Measured, measure
from ragassay.agents.signals.meter import signals_of
from ragassay.errors import InputError
from ragassay.formats import read_labels, read_records
from ragassay.graphs.nodes import case_of
from ragassay.graphs.toolbox import Toolbox
from ragassay.models.entailment import EMBEDDED, EntailmentModel, Pair, entailment_model
from ragassay.models.signal_rater import LinearScorer, SignalRater
from ragassay.optimizers.signal_rating import (
    FOREIGN_FEATURES,
    fit_order,
    fit_rubric,
    fit_sentences,
    is_held_out,
)
from ragassay.perturbations import ATTACKS, damage_answers
from ragassay.prompts.signals import load_signals
from ragassay.records import AttackFamily, DamagedAnswer, Record, Severity
from ragassay.settings import load_settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED = 5

DESIRED: dict[tuple[AttackFamily, Severity], int] = {
    ("rubric", "extreme"): 1,
    ("rubric", "subtle"): 2,
    ("clinical", "subtle"): 2,
}
"""Ratings that damaged answers are to get. YESciEval asks for at most 1 and at most 3; a model that
aims at 3 for what it often overlooks ends above."""

HARDLY_SEEN = ("drop_last", "drop_inside", "swap_last", "first_connective")
"""Attacks that leave an answer such as another system might have written. Beside its original it is
the worse one; alone, it is not to be rated low."""

HARDLY_SEEN_SHARE = 0.2
"""Weight of these, and of clinical damage, among the ratings."""

KIND_SHARES = {"whole": 1.9, "extreme": 2.0}
"""Weight of a kind of answers among the ratings; 1 for the others."""

OTHER_GENRE = {"off_topic": {"readability": 2}, "off_topic_inside": {"readability": 2}}
"""What else is desired of an attack: a passage of another genre breaks a scholarly text."""

WRITTEN_BY_MODELS = "conciseness"
"""The rubric whose damaged answers are taken from the file as well."""

INFORMAL = ("blog", "tweet")
"""Attacks that add informal text; what they add is not scholarly."""

UNCLEAR_REGISTER = ("chat_logs", "advertising", "config_files", "italian", "portuguese")
"""Pools of off-topic text that is neither scholarly nor, for sure, informal English."""


@dataclass(frozen=True)
class Example:
    """An answer that was measured, and what is known of it.

    Attributes:
        measured: Its measures.
        ratings: Desired ratings by rubric.
        original: Id of the whole answer.
        kind: "whole", "subtle" or "extreme".
        attack: The attack's name; "" for a whole answer.
        added: Numbers of the sentences that the attack added or changed.
        pool: What kind of text they are from.
    """

    measured: Measured
    ratings: dict[str, int]
    original: str = ""
    kind: str = "whole"
    attack: str = ""
    added: tuple[int, ...] = ()
    pool: str = ""


class RememberedPairs:
    """A verifier that is asked once about a pair: most sentences of a damaged answer are whole."""

    def __init__(self, model: EntailmentModel) -> None:
        self.name, self.digest = model.name, model.digest
        self._model = model
        self._known: dict[Pair, NDArray[np.float64]] = {}

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """As the model's, shape (n_pairs, 3)."""
        import numpy as np

        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            self._known.update(zip(new, self._model.probabilities(new), strict=True))
        return np.array([self._known[pair] for pair in pairs])


def examples_of(
    answers: Sequence[Path],
    tools: Toolbox,
    n_systems: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> Iterator[Example]:
    """Whole answers to questions that may be fitted on, and what damage makes of them.

    Args:
        answers: YESciEval files.
        tools: Cuts and embeds.
        n_systems: How many systems' answers are taken of each question, at random.
        say: Told of progress.

    Raises:
        InputError: A file cannot be read.
    """
    verifier = RememberedPairs(entailment_model(EMBEDDED))
    for path in answers:
        records = [r for r in read_records(path).records if not is_held_out(r.topic or r.id)]
        fit = [record for record in records if record.metadata.get("variant") == "benign"]
        rated = _ratings(path)
        chosen = _some_systems(fit, n_systems)
        damaged = [
            *damage_answers(chosen, attacks=ATTACKS, pools="fit", seed=SEED, among=fit).answers,
            *_redundant(records, chosen),
        ]
        for n, record in enumerate(chosen, 1):
            say(f"{path.name}: {n} of {len(chosen)}")
            found = measure(case_of(record, tools), tools.embedder, verifier)
            yield Example(found, rated.get(record.id, {}), record.id)
            for one in damaged:
                wanted = DESIRED.get((one.family, one.severity))
                if one.original == record.id and wanted is not None:
                    found = measure(case_of(one.record, tools), tools.embedder, verifier)
                    yield _example(one, found, wanted)


def _example(one: DamagedAnswer, measured: Measured, wanted: int) -> Example:
    return Example(
        measured,
        dict.fromkeys(one.record.rubrics, wanted) | OTHER_GENRE.get(one.attack, {}),
        one.original,
        one.severity if one.family == "rubric" else one.family,
        one.attack,
        one.sentences,
        one.record.metadata.get("pool", ""),
    )


def _redundant(records: Sequence[Record], whole: Sequence[Record]) -> list[DamagedAnswer]:
    """The file's own answers with redundant sentences, to the questions of the whole ones."""
    originals = {(record.topic, record.system): record.id for record in whole}
    severities: dict[str, Severity] = {"subtle": "subtle", "extreme": "extreme"}
    return [
        DamagedAnswer(
            record=record.model_copy(update={"rubrics": (WRITTEN_BY_MODELS,)}),
            original=originals[record.topic, record.system],
            attack="redundant",
            family="rubric",
            severity=severities[record.metadata["variant"]],
            targets=(f"rubric.{WRITTEN_BY_MODELS}",),
        )
        for record in records
        if record.metadata["variant"] in severities
        and record.metadata.get("target_rubric", "").lower() == WRITTEN_BY_MODELS
        and (record.topic, record.system) in originals
    ]


def _ratings(path: Path) -> dict[str, dict[str, int]]:
    """The median of the judges' ratings for each whole answer and rubric."""
    given: dict[str, dict[str, list[int]]] = {}
    for label in read_labels(path).labels:
        if label.record_id and "/benign" in label.record_id:
            by_rubric = given.setdefault(label.record_id, {})
            by_rubric.setdefault(label.item, []).append(int(label.label))
    return {
        record: {rubric: median_low(ratings) for rubric, ratings in by_rubric.items()}
        for record, by_rubric in given.items()
    }


def _some_systems(records: Sequence[Record], n: int) -> list[Record]:
    by_question: dict[str, list[Record]] = {}
    for record in records:
        by_question.setdefault(record.topic or record.id, []).append(record)
    rng = random.Random(SEED)
    return [
        record
        for question in sorted(by_question)
        for record in rng.sample(by_question[question], min(n, len(by_question[question])))
    ]


def fit_rater(examples: Sequence[Example], data: str) -> SignalRater:
    """Fit all models.

    Args:
        examples: From `examples_of`.
        data: What they are, in words.

    Raises:
        InputError: There are none.
    """
    if not examples:
        raise InputError("nothing to fit on: no whole answer to a question that is not held out")
    whole = [e for e in examples if e.kind == "whole"]
    several = [e.measured for e in whole if len(e.measured.sentences) > 1]
    order = fit_order(
        [m.sentences for m in several], [m.vectors for m in several], [m.openings for m in several]
    )
    sentences = SignalRater(
        data=data,
        data_sha256=_digest(examples),
        seed=SEED,
        order=order,
        foreign=_fit_foreign(examples),
        scholarly=_fit_register(examples),
    )
    values = [signals_of(e.measured, sentences).values for e in examples]
    words = load_signals()
    rubrics = {}
    for rubric, signals in words.rubrics.items():
        chosen = [i for i, e in enumerate(examples) if rubric in e.ratings]
        better = {name: words.answer[name].better == "high" for name in signals.rated}
        rubrics[rubric] = fit_rubric(
            [values[i] for i in chosen],
            [examples[i].ratings[rubric] for i in chosen],
            _shares([examples[i] for i in chosen]),
            better,
            _pairs([examples[i] for i in chosen]),
        )
    return sentences.model_copy(update={"rubrics": rubrics})


def _pairs(examples: Sequence[Example]) -> list[tuple[int, int, float]]:
    """Positions of each whole answer and of what damage made of it; each attack weighs 1 in all."""
    whole = {e.original: i for i, e in enumerate(examples) if e.kind == "whole"}
    damaged = [i for i, e in enumerate(examples) if e.kind != "whole" and e.original in whole]
    n = Counter(examples[i].attack for i in damaged)
    return [(whole[examples[i].original], i, 1.0 / n[examples[i].attack]) for i in damaged]


def _shares(examples: Sequence[Example]) -> list[float]:
    """Weights of the answers' ratings; but for `KIND_SHARES` each kind counts the same in all."""
    n = Counter(e.kind for e in examples)
    return [
        KIND_SHARES.get(e.kind, 1.0)
        / n[e.kind]
        * (HARDLY_SEEN_SHARE if e.attack in HARDLY_SEEN or e.kind == "clinical" else 1.0)
        for e in examples
    ]


def _fit_foreign(examples: Sequence[Example]) -> LinearScorer:
    """What sentences of other texts have in common, against those of whole answers."""
    rows, labels = [], []
    for example in examples:
        if example.kind == "whole" or example.attack.startswith(("off_topic", "same_domain")):
            for number, row in enumerate(example.measured.sentences, 1):
                rows.append(row)
                labels.append(number in example.added)
    return fit_sentences(rows, labels, FOREIGN_FEATURES)


def _fit_register(examples: Sequence[Example]) -> LinearScorer:
    """What scholarly sentences have in common, against those of blogs and tweets."""
    import numpy as np

    rows, vectors, labels = [], [], []
    for example in examples:
        is_informal = example.attack.startswith(INFORMAL)
        is_other = example.attack.startswith("off_topic") and example.pool not in UNCLEAR_REGISTER
        if not (is_informal or is_other or example.kind == "whole"):
            continue
        measured = example.measured
        for number, row in enumerate(measured.register, 1):
            if number in example.added or example.kind == "whole":
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
    """Run the job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("answers", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--systems", type=int, default=1, help="systems of each question")
    given = parser.parse_args()
    tools = Toolbox.of(load_settings(evidence_rounds=0))
    examples = list(
        examples_of(given.answers, tools, given.systems, lambda text: print(text, flush=True))
    )
    rater = fit_rater(examples, ", ".join(path.name for path in given.answers))
    given.out.write_text(rater.model_dump_json() + "\n", encoding="utf-8")
    print(f"{len(examples)} answers; {given.out}: {rater.digest[:12]}")


if __name__ == "__main__":
    main()
