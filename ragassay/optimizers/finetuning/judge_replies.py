"""YESciEval's training answers, and other judges' replies to them as data (section 5)."""

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
from ragassay.optimizers.finetuning.examples import ChatExample, Method, as_messages, as_reply
from ragassay.prompts import load_prompts, load_rubrics
from ragassay.prompts.texts import load_rationales
from ragassay.records import AttackFamily, Case, Mark, PerturbedAnswer, Record, Severity
from ragassay.text.sentences import sentences_of

SEED = 5
"""Seed of the choice among a question's systems."""

HELD_OUT_PERCENT = 40
"""Share of the questions that nothing is fitted on."""

DESIRED: dict[tuple[AttackFamily, Severity], int] = {
    ("rubric", "extreme"): 1,
    ("rubric", "subtle"): 2,
    ("clinical", "subtle"): 2,
}
"""Desired ratings of perturbed answers. YESciEval asks for at most 1 and at most 3; a model that
aims at 3 for perturbations that it often overlooks ends above."""

WRITTEN_BY_MODELS = "conciseness"
"""The rubric whose perturbed answers also come from the file."""


def is_held_out(question: str) -> bool:
    """Return whether a question is held out from fitting, by the hash of its id."""
    return int(hashlib.sha256(question.encode()).hexdigest(), 16) % 100 < HELD_OUT_PERCENT


def redundant(records: Sequence[Record], unperturbed: Sequence[Record]) -> list[PerturbedAnswer]:
    """Return the file's own redundant answers to the questions of the whole ones."""
    originals = {(record.topic, record.system): record.id for record in unperturbed}
    severities: dict[str, Severity] = {"subtle": "subtle", "extreme": "extreme"}
    return [
        PerturbedAnswer(
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


def ratings_of(path: Path) -> dict[str, dict[str, int]]:
    """Return the median of all ratings for each answer and rubric."""
    given: dict[str, dict[str, list[int]]] = {}
    for label in read_labels(path).labels:
        if label.record_id and label.task == "rubric":
            by_rubric = given.setdefault(label.record_id, {})
            by_rubric.setdefault(label.item, []).append(int(label.label))
    return {
        record: {rubric: median_low(ratings) for rubric, ratings in by_rubric.items()}
        for record, by_rubric in given.items()
    }


def some_systems(records: Sequence[Record], n: int) -> list[Record]:
    """Draw so many systems' answers to each question, always the same ones."""
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
"""Highest rating of a good evaluation of a perturbed answer, by severity (section 5)."""

UNPERTURBED = "benign"
"""The variant of an unperturbed answer."""

ADDED: Mapping[tuple[str, str], str] = {
    **{("subtle", rubric): "same_domain" for rubric in ("relevancy", "correctness")},
    **{("subtle", rubric): "same_domain" for rubric in ("informativeness", "coherence")},
    **{("extreme", rubric): "off_topic" for rubric in ("relevancy", "correctness")},
    **{("extreme", rubric): "off_topic" for rubric in ("informativeness", "coherence")},
    ("extreme", "completeness"): "drop_last_off_topic",
    ("subtle", "readability"): "blog",
    ("extreme", "readability"): "tweet",
    ("subtle", "conciseness"): "repeat_last",
    ("extreme", "conciseness"): "repeat_all",
}
"""The attacks that add sentences, by variant and rubric (appendix B.3)."""


@dataclass(frozen=True)
class JudgeReply:
    """One judge's evaluation of an answer on a rubric.

    Attributes:
        rating: From 1 to 5.
        reason: Its own; empty where the file has none.
    """

    judge: str
    rating: int
    reason: str = ""


Replies = Mapping[str, Mapping[str, Sequence[JudgeReply]]]
"""Replies by the answer's id and the rubric's name."""


def replies_of(path: Path) -> Replies:
    """Return all judges' replies in a file of answers.

    Raises:
        InputError: It has none.
    """
    found: dict[str, dict[str, list[JudgeReply]]] = {}
    for label in read_labels(path).labels:
        if label.task == "rubric" and label.record_id and label.item in load_rubrics():
            reply = JudgeReply(label.annotator, int(label.label), label.reason)
            found.setdefault(label.record_id, {}).setdefault(label.item, []).append(reply)
    if not found:
        raise InputError(f"{path} has no judge's ratings to learn from: use --targets made")
    return found


def reply_examples(
    case: Case,
    record: Record,
    original: Record,
    replies: Replies,
    perturbed: Sequence[Record],
    method: Method,
    papers: str = "",
) -> list[ChatExample]:
    """Return the examples of one answer.

    Args:
        record: The answer, unperturbed or perturbed.
        original: The whole answer that it was made of; itself for a whole one.
        replies: From `replies_of`.
        perturbed: The perturbed versions of an answer.
        method: SFT takes the replies on unperturbed answers, CPO pairs of all answers.
        papers: The sources as the judge reads them; empty for none.
    """
    variant = record.metadata.get("variant", UNPERTURBED)
    own = replies.get(record.id, {})
    faults = added_faults(case, record, original)
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
        messages = as_messages(_JUDGE.messages(case, faults, rubric, papers)) if pairs else ()
        found += [
            ChatExample(
                messages=messages,
                reply=_write_reply(good, rubric),
                rejected=_write_reply(bad, rubric) if bad else "",
                group=record.topic or record.id,
                kind=f"{rubric}, {'whole' if variant == UNPERTURBED else variant}",
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
    """Return the good and the bad replies to one prompt."""
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


def added_faults(case: Case, record: Record, original: Record) -> dict[int, Mark]:
    """Return the marks of a perturbed answer's sentences that the whole one does not have."""
    place = record.metadata.get("variant", ""), record.metadata.get("target_rubric", "").lower()
    mark = load_rationales().marks.get(ADDED.get(place, ""))
    if mark is None or not isinstance(original.answer, str):
        return {}
    known = {" ".join(text.split()) for text in sentences_of(original.answer)}
    return {
        s.index: mark
        for s in case.sentences
        if " ".join(case.answer[s.start : s.end].split()) not in known
    }


def n_without_reason(replies: Sequence[Replies]) -> int:
    """Return the number of replies whose file has no reason, whose reason is ours therefore."""
    return sum(
        not reply.reason.strip()
        for one in replies
        for by_rubric in one.values()
        for group in by_rubric.values()
        for reply in group
    )


def _write_reply(reply: JudgeReply, rubric: str) -> str:
    reason = " ".join(reply.reason.split())
    ours = load_rationales().of_unperturbed(rubric, reply.rating)
    return as_reply(
        {"rating": reply.rating, "rationale": _shorten_reason(reason) if reason else ours}
    )


def _shorten_reason(reason: str) -> str:
    """Return a reason as long as a tuned judge may write: whole sentences, or its first words."""
    most = load_prompts().agents["tuned_judge"].rationale_chars
    text = reason[:1].upper() + reason[1:]
    if len(text) <= most:
        return text
    kept = ""
    for sentence in sentences_of(text):
        if len(f"{kept} {sentence}".strip()) > most:
            break
        kept = f"{kept} {sentence}".strip()
    return kept or f"{text[: most - 3].rpartition(' ')[0]}..."


_JUDGE = TunedJudge()
