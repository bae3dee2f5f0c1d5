"""Prepare an audit: choose the answers, damage them, and decide which parts to evaluate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace

from ragassay.errors import InputError
from ragassay.evaluators import OURS
from ragassay.evaluators.base import Run
from ragassay.evaluators.own import OwnEvaluator
from ragassay.graphs.case import case_of
from ragassay.options import AuditKeywords, several
from ragassay.perturbations import ATTACKS, Attack, perturb_answers
from ragassay.records import PARTS, Paraphrase, PerturbedAnswer, Record, Severity
from ragassay.retrievers.literature import Filters, Literature
from ragassay.runs.evaluate import Job

N_ANSWERS = 20
"""Answers that an audit perturbs by default: detecting all of 20 means at least .84."""

RUBRIC = "rubric."
GIVEN = "given"
N_RETRACTED = 5
RETRACTED = Filters(types=("Retracted Publication",))

PART_OF = {e.display.group: e.part for e in OURS if e.display.group} | {"findings": "citations"}
"""The part of an evaluation that a score belongs to, by the word before its dot."""

SEVERITIES: dict[str, Severity] = {"subtle": "subtle", "extreme": "extreme"}


@dataclass(frozen=True)
class AuditOptions:
    """A user's options for an audit; `AuditKeywords` explains them."""

    limit: int = N_ANSWERS
    seed: int = 0
    attacks: tuple[str, ...] = ()
    is_given: bool = False
    paraphraser: str = ""


def audit_options(given: AuditKeywords) -> AuditOptions:
    """Return a user's options for an audit, from Python or the command line."""
    named = {"is_given" if name == "given" else name: value for name, value in given.items()}
    attacks = several(given.get("attacks"))
    known = {field.name for field in fields(AuditOptions)}
    told = {name: value for name, value in named.items() if name in known and value is not None}
    return replace(AuditOptions(), **told | {"attacks": attacks})


@dataclass(frozen=True)
class Ask:
    """An answer and the parts to evaluate."""

    record: Record
    parts: tuple[str, ...]


@dataclass(frozen=True)
class AuditJob:
    """The answers of an audit and their evaluation.

    Attributes:
        perturbed: Their perturbed forms, with the targets that apply.
        asks: Unperturbed and perturbed answers, each with the parts to evaluate.
        options: The user's options.
        n_unchanged: For each attack, the number of answers that it left unchanged.
        paraphrases: A model's paraphrases; empty where rules are used, or before the model is
            called.
    """

    job: Job
    perturbed: tuple[PerturbedAnswer, ...]
    asks: tuple[Ask, ...]
    options: AuditOptions = AuditOptions()
    n_unchanged: dict[str, int] = field(default_factory=dict)
    paraphrases: tuple[Paraphrase, ...] = ()

    @property
    def pools(self) -> str:
        """The sources of the damage."""
        return GIVEN if self.options.is_given else "audit"

    def groups(self) -> dict[tuple[str, ...], list[Record]]:
        """Group the answers by the parts to evaluate."""
        found: dict[tuple[str, ...], list[Record]] = {}
        for ask in self.asks:
            found.setdefault(ask.parts, []).append(ask.record)
        return found


def audit_job(job: Job, tools: Run, options: AuditOptions, *, is_judged: bool = False) -> AuditJob:
    """Choose answers and damage them.

    Only what the settings request is evaluated: without rubrics there is no attack on a rubric.

    Args:
        job: The answers; already perturbed ones are left out.
        options: The user's options.
        is_judged: Whether the unperturbed answers have been judged already, by the settings.

    Raises:
        InputError: An attack is unknown, there is no whole answer, or nothing to damage it with; or
            a model should write sentences for existing damage.
    """
    if options.is_given and options.paraphraser:
        raise InputError("a paraphraser writes for damage that is made: not with given damage")
    if options.is_given:
        records, perturbed, n_unchanged = _read_perturbed_answers(job.records, options)
    else:
        every = [record for record in job.records if is_whole(record)]
        records = spread(every, options.limit, options.seed)
        found = perturb_answers(
            records,
            attacks=chosen_attacks(options.attacks),
            seed=options.seed,
            retracted=_find_retracted(job.corpus, records),
            among=every,
        )
        perturbed, n_unchanged = found.answers, found.n_unchanged
    if not records:
        wanted = "unperturbed answer" + (" with a perturbed one" if options.is_given else "")
        raise InputError(f"{job.answers.name} has no {wanted}")
    aimed = _choose_targets(perturbed, records, tools)
    if not aimed:
        raise InputError(
            f"no attack changes any of {len(records)} answers in the requested parts: "
            "name other attacks, or more parts"
        )
    unperturbed = () if is_judged else _unperturbed_asks(records, aimed)
    asks = _together([*unperturbed, *(Ask(d.record, parts_of(d.targets)) for d in aimed)], aimed)
    return AuditJob(replace(job, records=tuple(records)), aimed, asks, options, n_unchanged)


def chosen_attacks(names: Sequence[str]) -> tuple[Attack, ...]:
    """Return attacks by name or family; all of them without a name.

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
    """Return whether an answer is as its system wrote it."""
    return record.metadata.get("variant", "benign") == "benign"


def spread(records: Sequence[Record], limit: int, seed: int) -> list[Record]:
    """Choose answers, one for each question before a second for any.

    A larger limit adds answers and takes none away, whatever the order of the file.

    Args:
        records: Ids differ.
        limit: How many to choose; 0 for all.
        seed: The seed of the order.
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


def parts_of(targets: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of an evaluation that scores come from, in their usual order."""
    groups = [target.partition(".")[0] for target in targets]
    wanted = {PART_OF.get(group, group) for group in groups}  # a user's own is its own part
    return tuple(part for part in (*PARTS, *sorted(wanted.difference(PARTS))) if part in wanted)


def _read_perturbed_answers(
    records: Sequence[Record], options: AuditOptions
) -> tuple[list[Record], tuple[PerturbedAnswer, ...], dict[str, int]]:
    """Return answers, the file's perturbed versions of them, and how many of these changed nothing.

    YESciEval's files have some "perturbed" answers that equal the original ones word for word:
    there was no connective to remove, or no second sentence.
    """
    unperturbed = {(r.topic or r.question, r.system): r for r in records if is_whole(r)}
    hurt: dict[str, list[PerturbedAnswer]] = {}
    unchanged: list[str] = []
    for record in records:
        severity = SEVERITIES.get(record.metadata.get("variant", ""))
        rubric = record.metadata.get("target_rubric", "").lower()
        original = unperturbed.get((record.topic or record.question, record.system))
        if severity and rubric and original:
            perturbation = PerturbedAnswer(
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
                hurt.setdefault(original.id, []).append(perturbation)
    paired = [record for record in unperturbed.values() if record.id in hurt]
    chosen = spread(paired, options.limit, options.seed)
    perturbed = tuple(perturbation for record in chosen for perturbation in hurt[record.id])
    n_unchanged = sum(name in {record.id for record in chosen} for name in unchanged)
    return chosen, perturbed, {GIVEN: n_unchanged}


def _words(record: Record) -> list[str]:
    """Return the words of an answer, ignoring what is between them."""
    if isinstance(record.answer, str):
        return record.answer.split()
    return [word for sentence in record.answer for word in sentence.text.split()]


def _find_retracted(corpus: Literature, records: Sequence[Record]) -> list[str]:
    """Return PMIDs of retracted articles on the answers' questions, where the corpus has any."""
    questions = list(dict.fromkeys(record.question for record in records))[:N_RETRACTED]
    hits = (corpus.search(question, 1, RETRACTED) for question in questions)
    return sorted({hit.document.id for found in hits for hit in found})


def _choose_targets(
    perturbed: Sequence[PerturbedAnswer], records: Sequence[Record], tools: Run
) -> tuple[PerturbedAnswer, ...]:
    """Return perturbed answers with the targets that are requested and apply to the answer."""
    wanted = {record.id: _targets_of(record, tools) for record in records}
    found: list[PerturbedAnswer] = []
    for perturbation in perturbed:
        applies = wanted[perturbation.original]
        aims = (*perturbation.targets, *_own_targets(perturbation, tools))
        targets = tuple(t for t in aims if t in applies or t.partition(".")[0] in applies)
        if targets:
            rubrics = _rubrics_of(targets)
            record = perturbation.record.model_copy(update={"rubrics": rubrics})
            found.append(perturbation.model_copy(update={"targets": targets, "record": record}))
    return tuple(found)


def _targets_of(record: Record, tools: Run) -> frozenset[str]:
    """Return the scores that an answer can have, by name or by the word before their dot."""
    settings = tools.settings
    names = {
        RUBRIC + name for name in tools.rubrics if not record.rubrics or name in record.rubrics
    }
    groups = {group for group, part in PART_OF.items() if settings.evaluation.wants(part)} - {
        "rubric"
    }
    if groups & {"citations", "findings"}:
        case = case_of(record, settings, tools.retrieval.corpus)
        cites = any(sentence.citations for sentence in case.sentences)
        groups -= set() if cites else {"citations", "findings"}
    if not record.sources and not tools.retrieval.has_corpus:
        groups -= {"evidence", "correctness"}
    own = {one.name for one in tools.evaluators if isinstance(one, OwnEvaluator)}
    return frozenset(names | groups | own)


def _own_targets(perturbation: PerturbedAnswer, tools: Run) -> list[str]:
    """Return the scores of the user's own evaluators that declare to notice an attack."""
    own = (one for one in tools.evaluators if isinstance(one, OwnEvaluator))
    return [
        f"{e.name}.score"
        for e in own
        if {perturbation.attack, perturbation.family} & set(e.attacks)
    ]


def _rubrics_of(targets: Iterable[str]) -> tuple[str, ...]:
    return tuple(t.removeprefix(RUBRIC) for t in targets if t.startswith(RUBRIC))


def _together(asks: Sequence[Ask], perturbed: Sequence[PerturbedAnswer]) -> tuple[Ask, ...]:
    """Order each whole answer before its perturbed versions, which reuse results on its sources."""
    original = {perturbation.record.id: perturbation.original for perturbation in perturbed}
    place = {name: n for n, name in enumerate(dict.fromkeys(d.original for d in perturbed))}

    def key(ask: Ask) -> int:
        return place[original.get(ask.record.id, ask.record.id)]

    return tuple(sorted(asks, key=key))


def _unperturbed_asks(records: Sequence[Record], perturbed: Sequence[PerturbedAnswer]) -> list[Ask]:
    """Ask each whole answer for every part that its perturbed versions are asked for."""
    targets: dict[str, dict[str, None]] = {}
    for perturbation in perturbed:
        targets.setdefault(perturbation.original, {}).update(dict.fromkeys(perturbation.targets))
    return [
        Ask(
            record.model_copy(update={"rubrics": tuple(sorted(_rubrics_of(targets[record.id])))}),
            parts_of(targets[record.id]),
        )
        for record in records
        if record.id in targets
    ]
