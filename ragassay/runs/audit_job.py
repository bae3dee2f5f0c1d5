"""Prepare an audit: choose answers, perturb them, and determine which parts to evaluate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace

from ragassay.errors import InputError
from ragassay.evaluators import OURS
from ragassay.evaluators.base import Run
from ragassay.evaluators.own import OwnEvaluator
from ragassay.graphs.case import convert_to_case
from ragassay.options import AuditKeywords, to_tuple
from ragassay.perturbations import ATTACKS, Attack, perturb_answers
from ragassay.records import PARTS, Paraphrase, PerturbedAnswer, Record, Severity
from ragassay.retrievers.literature import Filters, Literature
from ragassay.runs.evaluate import Job

N_ANSWERS = 20
"""Number of answers that an audit perturbs by default. If all 20 are detected, the 95 % interval of
the detection rate starts at .84."""

RUBRIC = "rubric."
FROM_FILE = "given"
N_RETRACTED = 5
RETRACTED = Filters(types=("Retracted Publication",))

PART_OF = {e.display.group: e.part for e in OURS if e.display.group} | {"findings": "citations"}
"""For each score group, the part of an evaluation that produces it."""

SEVERITIES: dict[str, Severity] = {"subtle": "subtle", "extreme": "extreme"}


@dataclass(frozen=True)
class AuditOptions:
    """Options of an audit. See `AuditKeywords`."""

    limit: int = N_ANSWERS
    seed: int = 0
    attacks: tuple[str, ...] = ()
    use_perturbed: bool = False
    paraphraser: str = ""


def build_audit_options(keywords: AuditKeywords) -> AuditOptions:
    """Create audit options from keyword arguments or from the command line."""
    known = {field.name for field in fields(AuditOptions)}
    values = {n: value for n, value in keywords.items() if n in known and value is not None}
    return replace(AuditOptions(), **values | {"attacks": to_tuple(keywords.get("attacks"))})


@dataclass(frozen=True)
class Ask:
    """An answer, and the parts of it to evaluate."""

    record: Record
    parts: tuple[str, ...]


@dataclass(frozen=True)
class AuditJob:
    """The answers of an audit, and the parts of each answer to evaluate.

    Attributes:
        perturbed: Perturbed answers with the scores that each attack targets.
        asks: Unperturbed and perturbed answers, each with the parts of it to evaluate.
        n_unchanged: For each attack, the number of answers that it left unchanged.
        paraphrases: Sentences that a model paraphrased. Empty if rules paraphrase sentences, or
            before the model is called.
    """

    job: Job
    perturbed: tuple[PerturbedAnswer, ...]
    asks: tuple[Ask, ...]
    options: AuditOptions = AuditOptions()
    n_unchanged: dict[str, int] = field(default_factory=dict)
    paraphrases: tuple[Paraphrase, ...] = ()

    @property
    def pools(self) -> str:
        """Where the perturbed answers come from: "given" for a file, "audit" for attacks."""
        return FROM_FILE if self.options.use_perturbed else "audit"

    def group_records(self) -> dict[tuple[str, ...], list[Record]]:
        """Return the answers, grouped by the parts to evaluate."""
        groups: dict[tuple[str, ...], list[Record]] = {}
        for ask in self.asks:
            groups.setdefault(ask.parts, []).append(ask.record)
        return groups


def build_audit_job(
    job: Job, run: Run, options: AuditOptions, *, is_judged: bool = False
) -> AuditJob:
    """Choose answers of a job and perturb them.

    Only the parts that the settings request are evaluated. For example, rubrics are only attacked
    if they are rated.

    Args:
        job: Job with the answers to choose from. Answers that are already perturbed are skipped.
        is_judged: Whether the unperturbed answers were already judged with the same settings.

    Raises:
        InputError: An attack is unknown, there are no unperturbed answers, no attack applies, or a
            paraphraser is combined with existing perturbations.
    """
    if options.use_perturbed and options.paraphraser:
        raise InputError(
            "the perturbed answers come from the file, so no paraphraser can be used; remove one "
            "of the two options"
        )
    if options.use_perturbed:
        records, perturbed, n_unchanged = _read_perturbed_answers(job.records, options)
    else:
        unperturbed = [record for record in job.records if is_unperturbed(record)]
        records = choose_spread_answers(unperturbed, options.limit, options.seed)
        result = perturb_answers(
            records,
            attacks=choose_attacks(options.attacks),
            seed=options.seed,
            retracted=_find_retracted(job.corpus, records),
            among=unperturbed,
        )
        perturbed, n_unchanged = result.answers, result.n_unchanged
    if not records:
        versions = " with a perturbed version" if options.use_perturbed else ""
        raise InputError(f"{job.answers.name} has no unperturbed answer{versions}")
    targeted = _choose_targets(perturbed, records, run)
    if not targeted:
        raise InputError(
            f"no attack changes any of {len(records)} answers in the requested parts; "
            "choose other attacks or more parts"
        )
    asks = [] if is_judged else _build_unperturbed_asks(records, targeted)
    asks += [Ask(answer.record, list_target_parts(answer.targets)) for answer in targeted]
    return AuditJob(
        replace(job, records=tuple(records)),
        targeted,
        _group_by_original(asks, targeted),
        options,
        n_unchanged,
    )


def choose_attacks(names: Sequence[str]) -> tuple[Attack, ...]:
    """Return the attacks with the given names or families, or all attacks if none are given.

    Raises:
        InputError: An attack is unknown.
    """
    for name in names:
        if not any(name in (a.name, a.family) for a in ATTACKS):
            known = ", ".join(
                dict.fromkeys([*(a.family for a in ATTACKS), *(a.name for a in ATTACKS)])
            )
            raise InputError(f"unknown attack {name!r}; the attacks are {known}")
    return tuple(a for a in ATTACKS if not names or a.name in names or a.family in names)


def is_unperturbed(record: Record) -> bool:
    """Return whether an answer is unperturbed."""
    return record.metadata.get("variant", "benign") == "benign"


def choose_spread_answers(records: Sequence[Record], limit: int, seed: int) -> list[Record]:
    """Choose answers that are spread evenly over the questions.

    If the limit is larger, the same answers and more are chosen. The order of the records does not
    matter.

    Args:
        records: Records with distinct ids.
        limit: Number of answers to choose. 0 for all.
        seed: Seed for the random order of the answers.
    """

    def hash_text(text: str) -> str:
        return hashlib.sha256(f"{seed}\n{text}".encode()).hexdigest()

    by_question: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda r: hash_text(r.id)):
        by_question.setdefault(record.topic or record.question, []).append(record)
    ranked = [
        (rank, hash_text(question), record)
        for question, members in by_question.items()
        for rank, record in enumerate(members)
    ]
    ranked.sort(key=lambda entry: entry[:2])
    return [record for _, _, record in ranked[: limit or None]]


def list_target_parts(targets: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of an evaluation that compute the given scores, in standard order."""
    groups = [target.partition(".")[0] for target in targets]
    wanted = {PART_OF.get(group, group) for group in groups}  # custom evaluators are parts
    return tuple(part for part in (*PARTS, *sorted(wanted.difference(PARTS))) if part in wanted)


def _read_perturbed_answers(
    records: Sequence[Record], options: AuditOptions
) -> tuple[list[Record], tuple[PerturbedAnswer, ...], dict[str, int]]:
    """Return answers, their perturbed versions, and how many versions equal the original.

    Some "perturbed" answers in YESciEval's files equal the original, for example because there was
    no connective to remove.
    """
    unperturbed = {(r.topic or r.question, r.system): r for r in records if is_unperturbed(r)}
    versions: dict[str, list[PerturbedAnswer]] = {}
    unchanged: list[str] = []
    for record in records:
        severity = SEVERITIES.get(record.metadata.get("variant", ""))
        rubric = record.metadata.get("target_rubric", "").lower()
        original = unperturbed.get((record.topic or record.question, record.system))
        if severity and rubric and original:
            if _split_words(record) == _split_words(original):
                unchanged.append(original.id)
                continue
            perturbed_answer = PerturbedAnswer(
                record=record.model_copy(update={"rubrics": (rubric,)}),
                original=original.id,
                attack=FROM_FILE,
                family="rubric",
                severity=severity,
                targets=(RUBRIC + rubric,),
            )
            versions.setdefault(original.id, []).append(perturbed_answer)
    paired = [record for record in unperturbed.values() if record.id in versions]
    chosen = choose_spread_answers(paired, options.limit, options.seed)
    perturbed = tuple(version for record in chosen for version in versions[record.id])
    chosen_ids = {record.id for record in chosen}
    return chosen, perturbed, {FROM_FILE: sum(name in chosen_ids for name in unchanged)}


def _split_words(record: Record) -> list[str]:
    if isinstance(record.answer, str):
        return record.answer.split()
    return [word for sentence in record.answer for word in sentence.text.split()]


def _find_retracted(corpus: Literature, records: Sequence[Record]) -> list[str]:
    questions = list(dict.fromkeys(record.question for record in records))[:N_RETRACTED]
    results = (corpus.search(question, 1, RETRACTED) for question in questions)
    return sorted({hit.document.id for hits in results for hit in hits})


def _choose_targets(
    perturbed: Sequence[PerturbedAnswer], records: Sequence[Record], run: Run
) -> tuple[PerturbedAnswer, ...]:
    available = {record.id: _list_available_targets(record, run) for record in records}
    result: list[PerturbedAnswer] = []
    for answer in perturbed:
        known = available[answer.original]
        candidates = (*answer.targets, *_list_custom_targets(answer, run))
        targets = tuple(t for t in candidates if t in known or t.partition(".")[0] in known)
        if targets:
            record = answer.record.model_copy(update={"rubrics": _list_rubrics(targets)})
            result.append(answer.model_copy(update={"targets": targets, "record": record}))
    return tuple(result)


def _list_available_targets(record: Record, run: Run) -> frozenset[str]:
    settings = run.settings
    names = {RUBRIC + name for name in run.rubrics if not record.rubrics or name in record.rubrics}
    groups = {group for group, part in PART_OF.items() if settings.evaluation.wants(part)} - {
        "rubric"
    }
    if groups & {"citations", "findings"}:
        case = convert_to_case(record, settings, run.retrieval.corpus)
        cites = any(sentence.citations for sentence in case.sentences)
        groups -= set() if cites else {"citations", "findings"}
    if not record.sources and not run.retrieval.has_corpus:
        groups -= {"evidence", "correctness"}
    custom = {e.name for e in run.evaluators if isinstance(e, OwnEvaluator)}
    return frozenset(names | groups | custom)


def _list_custom_targets(answer: PerturbedAnswer, run: Run) -> list[str]:
    return [
        f"{e.name}.score"
        for e in run.evaluators
        if isinstance(e, OwnEvaluator) and {answer.attack, answer.family} & set(e.attacks)
    ]


def _list_rubrics(targets: Iterable[str]) -> tuple[str, ...]:
    return tuple(t.removeprefix(RUBRIC) for t in targets if t.startswith(RUBRIC))


def _group_by_original(
    asks: Sequence[Ask], perturbed: Sequence[PerturbedAnswer]
) -> tuple[Ask, ...]:
    """Place each original before its perturbed versions, which reuse results for its sources."""
    originals = {answer.record.id: answer.original for answer in perturbed}
    positions = {name: n for n, name in enumerate(dict.fromkeys(originals.values()))}

    def find_position(ask: Ask) -> int:
        return positions[originals.get(ask.record.id, ask.record.id)]

    return tuple(sorted(asks, key=find_position))


def _build_unperturbed_asks(
    records: Sequence[Record], perturbed: Sequence[PerturbedAnswer]
) -> list[Ask]:
    targets: dict[str, dict[str, None]] = {}
    for answer in perturbed:
        targets.setdefault(answer.original, {}).update(dict.fromkeys(answer.targets))
    return [
        Ask(
            record.model_copy(update={"rubrics": tuple(sorted(_list_rubrics(targets[record.id])))}),
            list_target_parts(targets[record.id]),
        )
        for record in records
        if record.id in targets
    ]
