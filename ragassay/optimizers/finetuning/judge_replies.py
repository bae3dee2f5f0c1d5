"""Create training data from the replies of judges in YESciEval files (section 5)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low

from ragassay.agents.tuned_judge import TunedJudge
from ragassay.errors import InputError
from ragassay.formats import read_labels
from ragassay.optimizers.compiling.answer_tasks import read_perturbed_answers
from ragassay.optimizers.finetuning.examples import ChatExample, Method, as_messages, as_reply
from ragassay.prompts import load_prompts, load_rubrics
from ragassay.prompts.texts import load_rationales
from ragassay.records import AttackFamily, Case, Mark, PerturbedAnswer, Record, Severity
from ragassay.text.sentences import extract_sentences

SEED = 5
"""Random seed for sampling systems."""

HELD_OUT_PERCENT = 40
"""Percentage of questions that are never used for training."""

DESIRED: dict[tuple[AttackFamily, Severity], int] = {
    ("rubric", "extreme"): 1,
    ("rubric", "subtle"): 2,
    ("clinical", "subtle"): 2,
}
"""Target ratings of perturbed answers. YESciEval accepts ratings up to 1 (extreme) and 3 (subtle),
but a model that learned to give the rating 3 often gives a higher one."""

WRITTEN_BY_MODELS = "conciseness"
"""Rubric whose perturbed answers are read from the file instead of being generated."""


def is_held_out(question: str) -> bool:
    """Return whether a question is held out from training, based on the hash of its id."""
    return int(hashlib.sha256(question.encode()).hexdigest(), 16) % 100 < HELD_OUT_PERCENT


def select_redundant_answers(
    records: Sequence[Record], unperturbed: Sequence[Record]
) -> list[PerturbedAnswer]:
    """Return the perturbed answers with redundant sentences among `records`."""
    return [
        one.model_copy(update={"attack": "redundant"})
        for one in read_perturbed_answers(records, unperturbed)
        if one.record.rubrics == (WRITTEN_BY_MODELS,)
    ]


def read_median_ratings(path: Path) -> dict[str, dict[str, int]]:
    """Return the lower median of the ratings of each answer on each rubric."""
    return {
        record: {rubric: median_low([r.rating for r in group]) for rubric, group in replies.items()}
        for record, replies in _read_replies(path).items()
    }


def sample_systems(records: Sequence[Record], n: int) -> list[Record]:
    """Sample the answers of up to `n` systems per question, with a fixed seed."""
    by_question: dict[str, list[Record]] = {}
    for record in records:
        by_question.setdefault(record.topic or record.id, []).append(record)
    rng = random.Random(SEED)
    return [
        record
        for question in sorted(by_question)
        for record in rng.sample(by_question[question], min(n, len(by_question[question])))
    ]


GOOD_UP_TO: Mapping[str, int] = {"extreme": 1, "subtle": 3}
"""Highest rating of a perturbed answer that YESciEval accepts, keyed by severity (section 5)."""

UNPERTURBED = "benign"
"""Name of the variant for unperturbed answers."""

ADDED: Mapping[tuple[str, str], str] = {
    **{
        (variant, rubric): attack
        for variant, attack in (("subtle", "same_domain"), ("extreme", "off_topic"))
        for rubric in ("relevancy", "correctness", "informativeness", "coherence")
    },
    ("extreme", "completeness"): "drop_last_off_topic",
    ("subtle", "readability"): "blog",
    ("extreme", "readability"): "tweet",
    ("subtle", "conciseness"): "repeat_last",
    ("extreme", "conciseness"): "repeat_all",
}
"""YESciEval's attacks that add sentences, keyed by variant and rubric (appendix B.3)."""


@dataclass(frozen=True)
class JudgeReply:
    """A judge's rating of an answer on a rubric.

    Attributes:
        rating: Rating from 1 to 5.
        reason: Reason for the rating, or empty if the file contains none.
    """

    judge: str
    rating: int
    reason: str = ""


Replies = Mapping[str, Mapping[str, Sequence[JudgeReply]]]
"""Replies of judges, keyed by answer id and rubric."""


def read_judge_replies(path: Path) -> Replies:
    """Read the replies of judges from a file of answers.

    Raises:
        InputError: The file contains no replies.
    """
    replies = _read_replies(path)
    if not replies:
        raise InputError(f"{path} contains no ratings by judges; use --targets made")
    return replies


def _read_replies(path: Path) -> Replies:
    replies: dict[str, dict[str, list[JudgeReply]]] = {}
    for label in read_labels(path).labels:
        if label.task == "rubric" and label.record_id and label.item in load_rubrics():
            reply = JudgeReply(label.annotator, int(label.label), label.reason)
            replies.setdefault(label.record_id, {}).setdefault(label.item, []).append(reply)
    return replies


def build_reply_examples(
    case: Case,
    record: Record,
    original: Record,
    replies: Replies,
    perturbed: Sequence[Record],
    method: Method,
    papers: str = "",
) -> list[ChatExample]:
    """Return the training examples for an answer.

    Args:
        original: Original version of `record`, or `record` itself if it is not perturbed.
        perturbed: Perturbed versions of the answer.
        method: "sft" for replies about original answers, or "cpo" for pairs of replies about
            original and perturbed answers.
        papers: Text of the sources in the prompt (empty for no sources).
    """
    variant = record.metadata.get("variant", UNPERTURBED)
    own = replies.get(record.id, {})
    faults = find_added_faults(case, record, original)
    found: list[ChatExample] = []
    for rubric in sorted(own):
        target = record.metadata.get("target_rubric", rubric).lower()
        if variant != UNPERTURBED and rubric != target:
            continue
        chosen, rejected = _sort_replies(variant, rubric, own[rubric], replies, perturbed)
        if method == "sft":
            pairs = [(one, None) for one in own[rubric]] if variant == UNPERTURBED else []
        else:
            pairs = [(good, bad) for good in chosen for bad in rejected]
        messages = as_messages(_JUDGE.build_messages(case, faults, rubric, papers)) if pairs else ()
        found += [
            ChatExample(
                messages=messages,
                reply=_write_reply(good, rubric),
                rejected=_write_reply(bad, rubric) if bad else "",
                group=record.topic or record.id,
                kind=f"{rubric}, {'unperturbed' if variant == UNPERTURBED else variant}",
            )
            for good, bad in pairs
        ]
    return found


def _sort_replies(
    variant: str,
    rubric: str,
    own: Sequence[JudgeReply],
    replies: Replies,
    perturbed: Sequence[Record],
) -> tuple[Sequence[JudgeReply], Sequence[JudgeReply]]:
    if variant in GOOD_UP_TO:
        limit = GOOD_UP_TO[variant]
        return [r for r in own if r.rating <= limit], [r for r in own if r.rating > limit]
    low = [
        reply
        for one in perturbed
        if one.metadata.get("target_rubric", "").lower() == rubric
        for reply in replies.get(one.id, {}).get(rubric, ())
        if reply.rating <= GOOD_UP_TO.get(one.metadata["variant"], 0)
    ]
    return own, low


def find_added_faults(case: Case, record: Record, original: Record) -> dict[int, Mark]:
    """Return the marks of sentences that were added to an answer, keyed by sentence number."""
    key = record.metadata.get("variant", ""), record.metadata.get("target_rubric", "").lower()
    mark = load_rationales().marks.get(ADDED.get(key, ""))
    if mark is None or not isinstance(original.answer, str):
        return {}
    known = {" ".join(text.split()) for text in extract_sentences(original.answer)}
    return {
        s.index: mark
        for s in case.sentences
        if " ".join(case.answer[s.start : s.end].split()) not in known
    }


def count_missing_reasons(replies: Sequence[Replies]) -> int:
    """Return the number of replies for which a reason must be generated."""
    return sum(
        not reply.reason.strip()
        for one in replies
        for by_rubric in one.values()
        for group in by_rubric.values()
        for reply in group
    )


def _write_reply(reply: JudgeReply, rubric: str) -> str:
    reason = " ".join(reply.reason.split())
    default = load_rationales().explain_unperturbed(rubric, reply.rating)
    return as_reply(
        {"rating": reply.rating, "rationale": _shorten_reason(reason) if reason else default}
    )


def _shorten_reason(reason: str) -> str:
    """Shorten a reason to a tuned judge's limit, at the end of a sentence or of a word."""
    limit = load_prompts().agents["tuned_judge"].rationale_chars
    text = reason[:1].upper() + reason[1:]
    if len(text) <= limit:
        return text
    shortened = ""
    for sentence in extract_sentences(text):
        if len(longer := f"{shortened} {sentence}".strip()) > limit:
            break
        shortened = longer
    return shortened or f"{text[: limit - 3].rpartition(' ')[0]}..."


_JUDGE = TunedJudge()
