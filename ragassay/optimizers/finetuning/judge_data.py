"""Create training data for a judge: rated answers, and perturbed answers with target ratings.

As in YESciEval (section 5 and appendix G), an example is a rating of one answer on one rubric.
Preference pairs consist of a target rating and a rating that is too high (above 1 for extreme and
above 3 for subtle perturbations).

There are two kinds of target replies. With "made", ratings and reasons are generated from the known
perturbation. New perturbations are created with texts from many sources, because YESciEval adds the
same few sentences to all answers, and a judge would memorize these. Only redundant answers are
taken from YESciEval's file. With "replies", the targets are the replies of other judges in the
file, as in the paper (see `judge_replies`). Marks of single sentences, which the paper does not
use, are always generated.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ragassay.agents.tuned_judge import (
    AnswerReader,
    TunedJudge,
    list_numbered_sentences,
    render_papers,
)
from ragassay.formats.reviews import read_answers
from ragassay.graphs.case import convert_to_case
from ragassay.optimizers.finetuning.examples import ChatExample, Method, as_messages, as_reply
from ragassay.optimizers.finetuning.judge_replies import (
    DESIRED,
    UNPERTURBED,
    build_reply_examples,
    count_missing_reasons,
    is_held_out,
    read_judge_replies,
    read_median_ratings,
    sample_systems,
    select_redundant_answers,
)
from ragassay.perturbations import ATTACKS, perturb_answers
from ragassay.prompts.texts import load_rationales
from ragassay.records import FINE, Case, Mark, PerturbedAnswer, Record
from ragassay.retrievers.literature import Corpus
from ragassay.settings import Settings
from ragassay.text.sentences import extract_sentences

EXCERPTS = 0.85
"""Share of answers that are shortened to their last sentences, which saves two thirds of the
tokens."""

EXCERPT_SENTENCES = (2, 4)

N_UNPERTURBED = 6
"""Number of rubrics on which an unperturbed answer is rated."""

N_DAMAGED = 8
"""Maximum number of perturbed versions of an answer."""

ADDED = ("same_domain", "same_domain", "off_topic", "blog", "tweet")
"""Attacks with which additional examples of sentence marks are created. The subtlest attack is used
twice."""

BESIDE = 0.5
"""Share of perturbed answers that are also rated on a second affected rubric."""

FOREIGN_TO = ("relevancy", "coherence", "readability")
"""Rubrics on which an answer with injected text has a low target rating."""

UNSEEN = ("drop_last", "drop_inside", "first_connective")
"""Attacks that are not used for training, because the perturbed answers look like ordinary answers.
"""

MIDDLE = {"swap_last": 3}
"""Target ratings for attacks that are hard to notice, which replace the ratings in `DESIRED`."""

TOO_HIGH, TOO_LOW = 5, 1
"""Ratings to reject: 5 for perturbed answers and 1 for original answers."""

WORSE: Mark = "subject"
"""Mark to reject for a flawless sentence."""


def build_judge_examples(
    answers: Sequence[Path],
    settings: Settings,
    *,
    n_systems: int = 4,
    seed: int = 0,
    source_chars: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> list[ChatExample]:
    """Return examples with generated replies, for the questions that are not held out.

    Args:
        answers: YESciEval files, or reviewed run folders.
        n_systems: Number of systems to sample per question.
        source_chars: Maximum number of characters from the sources in a rating prompt (0 for no
            sources).

    Raises:
        InputError: A file cannot be read.
    """
    examples: list[ChatExample] = []
    corpus = Corpus()
    for path in answers:
        records, unperturbed = _read_training_answers(path)
        rated = read_median_ratings(path)
        chosen = [_cut_excerpt(record, seed) for record in sample_systems(unperturbed, n_systems)]
        perturbed = _perturb_excerpts(chosen, unperturbed, records, seed)
        added = _add_sentences(chosen, unperturbed, seed)
        for n, record in enumerate(chosen, 1):
            say(f"{path.name}: {n} of {len(chosen)}")
            rng = random.Random(f"{seed}:{record.id}")
            case = convert_to_case(record, settings, corpus)
            examples += _build_unperturbed_examples(
                case, record, rated.get(record.id, {}), rng, source_chars
            )
            for one in _draw_perturbed(perturbed[record.id], rng):
                case = convert_to_case(one.record, settings, corpus)
                examples += _build_damaged_examples(case, one, rng, source_chars)
            for one in added[record.id]:
                mark = load_rationales().marks[one.attack]
                faults: dict[int, Mark] = dict.fromkeys(one.sentences, mark)
                case = convert_to_case(one.record, settings, corpus)
                marked = _build_mark_examples(case, one.record, faults, one.severity)
                examples += [example for n, example in enumerate(marked, 1) if n in faults]
    # Prompts about sentences before the perturbation duplicate those of the original answer.
    first = {(example.group, example.messages): example for example in reversed(examples)}
    return list(first.values())[::-1]


def build_replied_examples(
    answers: Sequence[Path],
    settings: Settings,
    *,
    method: Method,
    n_systems: int = 4,
    seed: int = 0,
    source_chars: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> list[ChatExample]:
    """Return examples whose targets are the judge replies in YESciEval files.

    Args:
        method: "sft" for single replies, or "cpo" for pairs of replies. The remaining arguments are
            those of `build_judge_examples`.

    Raises:
        InputError: A file cannot be read, or contains no ratings by judges.
    """
    made = build_judge_examples(answers, settings, n_systems=n_systems, seed=seed, say=say)
    examples = [example for example in made if not example.is_rating]
    all_replies = [read_judge_replies(path) for path in answers]
    corpus = Corpus()
    for path, replies in zip(answers, all_replies, strict=True):
        records, unperturbed = _read_training_answers(path)
        for original in sample_systems(unperturbed, n_systems):
            key = original.topic, original.system
            perturbed = [r for r in records if r is not original and (r.topic, r.system) == key]
            for record in (original, *(perturbed if method == "cpo" else ())):
                case = convert_to_case(record, settings, corpus)
                papers = render_papers(case, source_chars)
                examples += build_reply_examples(
                    case, record, original, replies, perturbed, method, papers
                )
    say(
        f"{sum(e.is_rating for e in examples)} rating examples use replies of judges; reasons were "
        f"generated for {count_missing_reasons(all_replies)} replies without a reason"
    )
    return examples


def _read_training_answers(path: Path) -> tuple[list[Record], list[Record]]:
    """Return the answers that are not held out, and those of them that are not perturbed."""
    records = [r for r in read_answers(path).records if not is_held_out(r.topic or r.id)]
    return records, [r for r in records if r.metadata.get("variant", UNPERTURBED) == UNPERTURBED]


def _cut_excerpt(record: Record, seed: int) -> Record:
    """Return the last sentences of an answer with probability `EXCERPTS`, else the whole answer."""
    rng = random.Random(f"excerpt:{seed}:{record.id}")
    if rng.random() >= EXCERPTS or not isinstance(record.answer, str):
        return record
    last = extract_sentences(record.answer)[-rng.randint(*EXCERPT_SENTENCES) :]
    return record.model_copy(update={"answer": " ".join(last)})


def _perturb_excerpts(
    chosen: Sequence[Record], unperturbed: Sequence[Record], records: Sequence[Record], seed: int
) -> dict[str, list[PerturbedAnswer]]:
    """Return perturbed answers for ratings, keyed by the original answer's id."""
    perturbed: dict[str, list[PerturbedAnswer]] = {record.id: [] for record in chosen}
    made = perturb_answers(chosen, attacks=ATTACKS, pools="fit", seed=seed, among=unperturbed)
    whole = {record.id: record for record in unperturbed}
    # A full redundant answer would stand out by its length among excerpts.
    uncut = [record for record in chosen if record == whole[record.id]]
    for one in (*made.answers, *select_redundant_answers(records, uncut)):
        # Clinical errors cannot be detected without the sources.
        if one.family != "clinical" and one.attack not in UNSEEN:
            perturbed[one.original].append(one)
    return perturbed


def _add_sentences(
    chosen: Sequence[Record], unperturbed: Sequence[Record], seed: int
) -> dict[str, list[PerturbedAnswer]]:
    """Return copies of answers with an added sentence, keyed by the original answer's id."""
    perturbed: dict[str, list[PerturbedAnswer]] = {record.id: [] for record in chosen}
    for n, name in enumerate(ADDED, 1):
        attacks = [attack for attack in ATTACKS if attack.name == name]
        made = perturb_answers(
            chosen, attacks=attacks, pools="fit", seed=seed + n, among=unperturbed
        )
        for one in made.answers:
            perturbed[one.original].append(one)
    return perturbed


def _build_unperturbed_examples(
    case: Case, record: Record, ratings: dict[str, int], rng: random.Random, n_chars: int
) -> list[ChatExample]:
    papers = render_papers(case, n_chars)
    examples = _build_mark_examples(case, record, {}, "unperturbed")
    for rubric in sorted(rng.sample(sorted(ratings), min(N_UNPERTURBED, len(ratings)))):
        rating = ratings[rubric]
        reason = load_rationales().explain_unperturbed(rubric, rating)
        examples.append(
            _build_rating_example(case, record, rubric, {}, "unperturbed", rating, reason, papers)
        )
    return examples


def _draw_perturbed(
    perturbed: Sequence[PerturbedAnswer], rng: random.Random
) -> list[PerturbedAnswer]:
    """Sample perturbed versions of an answer, at most one per family, rubric and severity."""
    cells: dict[tuple[str, str, str], list[PerturbedAnswer]] = {}
    for one in perturbed:
        if one.family == "injection":
            cells.setdefault((one.family, rng.choice(FOREIGN_TO), ""), []).append(one)
        else:
            rubric = rng.choice(one.record.rubrics)
            cells.setdefault((one.family, rubric, one.severity), []).append(one)
    chosen = rng.sample(sorted(cells), min(N_DAMAGED, len(cells)))
    return [
        one.model_copy(update={"targets": (f"rubric.{cell[1]}", *one.targets)})
        for cell in chosen
        for one in [rng.choice(cells[cell])]
    ]


def _build_damaged_examples(
    case: Case, one: PerturbedAnswer, rng: random.Random, n_chars: int
) -> list[ChatExample]:
    papers = render_papers(case, n_chars)
    words = load_rationales()
    first = one.targets[0].removeprefix("rubric.")
    among = FOREIGN_TO if one.family == "injection" else one.record.rubrics
    others = [rubric for rubric in among if rubric != first]
    rubrics = [first, *(rng.sample(others, 1) if others and rng.random() < BESIDE else ())]
    rating = MIDDLE.get(one.attack, DESIRED.get((one.family, one.severity), 1))
    numbers = _list_numbers(one, len(case.sentences))
    attack = "repeat_last" if one.attack == "redundant" else one.attack
    if not numbers and (one.sentences or one.attack == "redundant"):
        return []
    mark = words.marks.get(attack)
    faults: dict[int, Mark] = dict.fromkeys(numbers, mark) if mark else {}
    reason = words.explain_perturbed(attack, numbers)
    record, kind = one.record, one.severity
    examples = _build_mark_examples(case, record, faults, kind) if faults else []
    return examples + [
        _build_rating_example(case, record, rubric, faults, kind, rating, reason, papers)
        for rubric in rubrics
    ]


def _list_numbers(one: PerturbedAnswer, n_sentences: int) -> tuple[int, ...]:
    """Return the numbers of the perturbed sentences, which a reason lists."""
    added: Sequence[int] = one.sentences
    if one.attack == "redundant" and one.severity == "subtle":
        added = [n_sentences]
    elif one.attack == "redundant" and n_sentences % 2 == 0:
        added = range(2, n_sentences + 1, 2)
    return tuple(n for n in added if n <= n_sentences)


def _build_mark_examples(
    case: Case, record: Record, faults: Mapping[int, Mark], kind: str
) -> list[ChatExample]:
    return [
        ChatExample(
            messages=as_messages(_READER.build_messages(case, n)),
            reply=as_reply({"mark": mark}),
            rejected=as_reply({"mark": WORSE if mark == FINE else FINE}),
            group=record.topic or record.id,
            kind=f"{mark}, {kind}",
        )
        for n in range(1, len(list_numbered_sentences(case)) + 1)
        for mark in [faults.get(n, FINE)]
    ]


def _build_rating_example(
    case: Case,
    record: Record,
    rubric: str,
    faults: Mapping[int, Mark],
    kind: str,
    rating: int,
    reason: str,
    papers: str,
) -> ChatExample:
    other = TOO_LOW if kind == "unperturbed" else TOO_HIGH
    return ChatExample(
        messages=as_messages(_JUDGE.build_messages(case, faults, rubric, papers)),
        reply=as_reply({"rating": rating, "rationale": reason}),
        rejected=as_reply(
            {"rating": other, "rationale": load_rationales().explain_unperturbed(rubric, other)}
        ),
        group=record.topic or record.id,
        kind=f"{rubric}, {kind}",
    )


_READER, _JUDGE = AnswerReader(), TunedJudge()
