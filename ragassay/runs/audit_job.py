"""What an audit judges: which answers are damaged, in which ways, and what is asked of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace

from ragassay.errors import InputError
from ragassay.graphs.nodes import case_of
from ragassay.graphs.toolbox import Toolbox
from ragassay.options import AuditKeywords, several
from ragassay.perturbations import ATTACKS, Attack, damage_answers
from ragassay.records import PARTS, DamagedAnswer, Paraphrase, Part, Record, Severity
from ragassay.retrievers.literature import Filters, Literature
from ragassay.runs.evaluate import Job

N_ANSWERS = 20
"""Answers that an audit damages if nobody says how many: all found of 20 is at least .84."""

RUBRIC = "rubric."
GIVEN = "given"
N_RETRACTED = 5
RETRACTED = Filters(types=("Retracted Publication",))

PART_OF: dict[str, Part] = {
    "rubric": "rubrics",
    "nuggets": "nuggets",
    "sentences": "sentences",
    "evidence": "evidence",
    "correctness": "correctness",
    "citations": "citations",
    "findings": "citations",
}
"""The part of an evaluation that a score comes from, by the word before its dot."""

SEVERITIES: dict[str, Severity] = {"subtle": "subtle", "extreme": "extreme"}


@dataclass(frozen=True)
class AuditOptions:
    """What a user can say of an audit; `AuditKeywords` says what each means."""

    limit: int = N_ANSWERS
    seed: int = 0
    attacks: tuple[str, ...] = ()
    is_given: bool = False
    paraphraser: str = ""


def audit_options(given: AuditKeywords) -> AuditOptions:
    """What a user said of an audit, from Python or on the command line."""
    named = {"is_given" if name == "given" else name: value for name, value in given.items()}
    attacks = several(given.get("attacks"))
    known = {field.name for field in fields(AuditOptions)}
    told = {name: value for name, value in named.items() if name in known and value is not None}
    return replace(AuditOptions(), **told | {"attacks": attacks})


@dataclass(frozen=True)
class Ask:
    """An answer and the parts of an evaluation that are wanted of it."""

    record: Record
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class AuditJob:
    """What is to be judged.

    Attributes:
        job: The whole answers.
        damaged: Their damaged forms, with the targets that apply.
        asks: Whole and damaged answers, each with the parts that are wanted.
        options: What was asked for.
        n_unchanged: For each attack, answers that it left as they were.
        paraphrases: What a model said again; empty where rules did, or it was not asked yet.
    """

    job: Job
    damaged: tuple[DamagedAnswer, ...]
    asks: tuple[Ask, ...]
    options: AuditOptions = AuditOptions()
    n_unchanged: dict[str, int] = field(default_factory=dict)
    paraphrases: tuple[Paraphrase, ...] = ()

    @property
    def pools(self) -> str:
        """Where the damage comes from."""
        return GIVEN if self.options.is_given else "audit"

    def groups(self) -> dict[tuple[Part, ...], list[Record]]:
        """The answers by the parts that are wanted of them."""
        found: dict[tuple[Part, ...], list[Record]] = {}
        for ask in self.asks:
            found.setdefault(ask.parts, []).append(ask.record)
        return found


def audit_job(
    job: Job, tools: Toolbox, options: AuditOptions, *, is_judged: bool = False
) -> AuditJob:
    """Choose answers and damage them.

    Only what the settings want is asked for: without rubrics there is no attack on a rubric.

    Args:
        job: The answers; those that are damaged already are left out.
        tools: What the answers will be judged with.
        options: What the user asked for.
        is_judged: Whether the whole answers have been judged, with all that the settings want.

    Raises:
        InputError: An attack is unknown, there is no whole answer, or nothing to damage it with;
            or a model is to write sentences for damage that is there already.
    """
    if options.is_given and options.paraphraser:
        raise InputError("a paraphraser writes for damage that is made: not with given damage")
    if options.is_given:
        records, damaged, n_unchanged = _given(job.records, options)
    else:
        every = [record for record in job.records if is_whole(record)]
        records = spread(every, options.limit, options.seed)
        found = damage_answers(
            records,
            attacks=chosen_attacks(options.attacks),
            seed=options.seed,
            retracted=_retracted(job.corpus, records),
            among=every,
        )
        damaged, n_unchanged = found.answers, found.n_unchanged
    if not records:
        wanted = "whole answer with a damaged one" if options.is_given else "whole answer"
        raise InputError(f"{job.answers.name} holds no {wanted}")
    aimed = _aimed(damaged, records, tools)
    if not aimed:
        raise InputError(
            f"no attack changes any of {len(records)} answers on what is to be found out: "
            "name other attacks, or more parts"
        )
    whole = () if is_judged else _whole_asks(records, aimed)
    asks = _together([*whole, *(Ask(d.record, parts_of(d.targets)) for d in aimed)], aimed)
    return AuditJob(replace(job, records=tuple(records)), aimed, asks, options, n_unchanged)


def chosen_attacks(names: Sequence[str]) -> tuple[Attack, ...]:
    """Attacks by name or family; all of them for no name.

    Raises:
        InputError: There is no such attack.
    """
    for name in names:
        if not any(name in (a.name, a.family) for a in ATTACKS):
            known = ", ".join(
                dict.fromkeys([*(a.family for a in ATTACKS), *(a.name for a in ATTACKS)])
            )
            raise InputError(f"unknown attack {name!r}; there are {known}")
    return tuple(a for a in ATTACKS if not names or a.name in names or a.family in names)


def is_whole(record: Record) -> bool:
    """Whether an answer is as its system wrote it."""
    return record.metadata.get("variant", "benign") == "benign"


def spread(records: Sequence[Record], limit: int, seed: int) -> list[Record]:
    """Choose answers, one to each question before a second to any.

    A larger limit adds answers and takes none away, whatever the order of the file.

    Args:
        records: Ids differ.
        limit: How many; 0 for all.
        seed: Of the order.
    """

    def key(text: str) -> str:
        return hashlib.sha256(f"{seed}\n{text}".encode()).hexdigest()

    by_question: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda r: key(r.id)):
        by_question.setdefault(record.topic or record.question, []).append(record)
    ranked = [
        (rank, key(question), record)
        for question, members in by_question.items()
        for rank, record in enumerate(members)
    ]
    ranked.sort(key=lambda entry: entry[:2])
    return [record for _, _, record in ranked[: limit or None]]


def parts_of(targets: Iterable[str]) -> tuple[Part, ...]:
    """The parts of an evaluation that scores come from, in their usual order."""
    wanted = {PART_OF[target.partition(".")[0]] for target in targets}
    return tuple(part for part in PARTS if part in wanted)


def _given(
    records: Sequence[Record], options: AuditOptions
) -> tuple[list[Record], tuple[DamagedAnswer, ...], dict[str, int]]:
    """Whole answers, the damaged ones that the file holds of them, and how many are not damaged.

    YESciEval's files hold some "damaged" answers that are the whole ones, word for word: there was
    no connective to take away, or no second sentence.
    """
    whole = {(r.topic or r.question, r.system): r for r in records if is_whole(r)}
    hurt: dict[str, list[DamagedAnswer]] = {}
    unchanged: list[str] = []
    for record in records:
        severity = SEVERITIES.get(record.metadata.get("variant", ""))
        rubric = record.metadata.get("target_rubric", "").lower()
        original = whole.get((record.topic or record.question, record.system))
        if severity and rubric and original:
            damage = DamagedAnswer(
                record=record.model_copy(update={"rubrics": (rubric,)}),
                original=original.id,
                attack=GIVEN,
                family="rubric",
                severity=severity,
                targets=(RUBRIC + rubric,),
            )
            if _words(record) == _words(original):
                unchanged.append(original.id)
            else:
                hurt.setdefault(original.id, []).append(damage)
    paired = [record for record in whole.values() if record.id in hurt]
    chosen = spread(paired, options.limit, options.seed)
    damaged = tuple(damage for record in chosen for damage in hurt[record.id])
    n_unchanged = sum(name in {record.id for record in chosen} for name in unchanged)
    return chosen, damaged, {GIVEN: n_unchanged}


def _words(record: Record) -> list[str]:
    """The words of an answer, whatever stands between them."""
    if isinstance(record.answer, str):
        return record.answer.split()
    return [word for sentence in record.answer for word in sentence.text.split()]


def _retracted(corpus: Literature, records: Sequence[Record]) -> list[str]:
    """PMIDs of retracted articles on the answers' own questions, where the corpus knows any."""
    questions = list(dict.fromkeys(record.question for record in records))[:N_RETRACTED]
    hits = (corpus.search(question, 1, RETRACTED) for question in questions)
    return sorted({hit.document.id for found in hits for hit in found})


def _aimed(
    damaged: Sequence[DamagedAnswer], records: Sequence[Record], tools: Toolbox
) -> tuple[DamagedAnswer, ...]:
    """Damaged answers with the targets that the settings want and that apply to the answer."""
    wanted = {record.id: _targets_of(record, tools) for record in records}
    found: list[DamagedAnswer] = []
    for damage in damaged:
        applies = wanted[damage.original]
        targets = tuple(t for t in damage.targets if t in applies or t.partition(".")[0] in applies)
        if targets:
            rubrics = _rubrics_of(targets)
            record = damage.record.model_copy(update={"rubrics": rubrics})
            found.append(damage.model_copy(update={"targets": targets, "record": record}))
    return tuple(found)


def _targets_of(record: Record, tools: Toolbox) -> frozenset[str]:
    """Scores that an answer can have, by name or by the word before their dot."""
    settings = tools.settings
    names = {
        RUBRIC + name for name in tools.rubrics if not record.rubrics or name in record.rubrics
    }
    groups = {group for group, part in PART_OF.items() if settings.wants(part)} - {"rubric"}
    if groups & {"citations", "findings"}:
        cites = any(sentence.citations for sentence in case_of(record, tools).sentences)
        groups -= set() if cites else {"citations", "findings"}
    if not record.sources and not tools.has_corpus:
        groups -= {"evidence", "correctness"}
    return frozenset(names | groups)


def _rubrics_of(targets: Iterable[str]) -> tuple[str, ...]:
    return tuple(t.removeprefix(RUBRIC) for t in targets if t.startswith(RUBRIC))


def _together(asks: Sequence[Ask], damaged: Sequence[DamagedAnswer]) -> tuple[Ask, ...]:
    """Each whole answer before its damaged forms: what is computed of its sources serves all."""
    original = {damage.record.id: damage.original for damage in damaged}
    place = {name: n for n, name in enumerate(dict.fromkeys(d.original for d in damaged))}

    def key(ask: Ask) -> int:
        return place[original.get(ask.record.id, ask.record.id)]

    return tuple(sorted(asks, key=key))


def _whole_asks(records: Sequence[Record], damaged: Sequence[DamagedAnswer]) -> list[Ask]:
    """Each whole answer is asked what its damaged forms are asked, all together."""
    targets: dict[str, dict[str, None]] = {}
    for damage in damaged:
        targets.setdefault(damage.original, {}).update(dict.fromkeys(damage.targets))
    return [
        Ask(
            record.model_copy(update={"rubrics": tuple(sorted(_rubrics_of(targets[record.id])))}),
            parts_of(targets[record.id]),
        )
        for record in records
        if record.id in targets
    ]
