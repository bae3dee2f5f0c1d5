"""`evaluate`, `audit` and their like for a running event loop: what the command line runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.retrievers import BaseRetriever

from ragassay.errors import InputError, RagassayError, SettingsError
from ragassay.evaluators.toolbox import Toolbox
from ragassay.formats import records_from_rows
from ragassay.records import Audit, Document, Nugget, Record
from ragassay.results import Result, Results
from ragassay.retrievers.langchain import RetrieverLiterature
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.memory import Corpus
from ragassay.retrievers.opening import open_literature
from ragassay.runs.audit import run_audit
from ragassay.runs.audit_job import N_ANSWERS, AuditOptions, audit_job
from ragassay.runs.evaluate import Job, job_of, read_job, run, run_sync
from ragassay.runs.folder import RunFolder
from ragassay.settings import Settings, load_settings, seated

if TYPE_CHECKING:
    import pandas as pd

    Answers = str | Path | Iterable[Record] | Iterable[Mapping[str, object]] | pd.DataFrame

SourceLike = str | Document | Mapping[str, str]
CorpusLike = str | Path | Literature | BaseRetriever | Iterable[SourceLike]


def evaluate(
    answers: Answers | None = None,
    *,
    question: str | None = None,
    answer: str | None = None,
    sources: Iterable[SourceLike] = (),
    nuggets: Iterable[str | Nugget | Mapping[str, str]] = (),
    reference: str | None = None,
    corpus: CorpusLike | None = None,
    model: str | Sequence[str] | None = None,
    prompts: Sequence[str | Path] = (),
    escalate: str | None = None,
    when: str | None = None,
    out: str | Path | None = None,
    settings: Settings | None = None,
) -> Results:
    """Evaluate one answer or many.

    One answer: give `question` and `answer`. Many: give `answers`, a path to a file of any known
    format, records, dictionaries or a pandas frame.

    Args:
        answers: Many answers.
        question: The question of one answer.
        answer: One answer, with citation markers such as `[1]` or `[PMID 123]`.
        sources: What it was written from, in the order that `[1]`, `[2]` count.
        nuggets: Gold nuggets.
        reference: A reference answer.
        corpus: Where evidence and cited ids are looked up: documents, the path of a file or of a
            built corpus, "pubmed", a LangChain retriever, or anything that fulfils `Literature`.
        model: LiteLLM name of the judge; the embedded one if not given. Several sit as a panel:
            all rate the rubrics, the first does all else; `NAME@URL` has an endpoint of its own.
        prompts: Files that `ragassay optimize` wrote, each for its agent.
        escalate: A second judge that decides what the first is not sure of, as `model` names one.
        when: What counts as not sure: "entropy>1.0" if not given; "confidence<X", "unscored", and
            several of them joined by "and" or "or".
        out: A run folder: finished work is kept there and not done again.
        settings: All other settings.

    Returns:
        A `Result` for one answer, else `Results`.

    Raises:
        InputError: The arguments or the data are not usable.
        SettingsError: A setting is wrong.
        FatalModelError: The judge cannot be asked.
    """
    return run_sync(
        aevaluate(
            answers,
            question=question,
            answer=answer,
            sources=sources,
            nuggets=nuggets,
            reference=reference,
            corpus=corpus,
            model=model,
            prompts=prompts,
            escalate=escalate,
            when=when,
            out=out,
            settings=settings,
        )
    )


async def aevaluate(
    answers: Answers | None = None,
    *,
    question: str | None = None,
    answer: str | None = None,
    sources: Iterable[SourceLike] = (),
    nuggets: Iterable[str | Nugget | Mapping[str, str]] = (),
    reference: str | None = None,
    corpus: CorpusLike | None = None,
    model: str | Sequence[str] | None = None,
    prompts: Sequence[str | Path] = (),
    escalate: str | None = None,
    when: str | None = None,
    out: str | Path | None = None,
    settings: Settings | None = None,
) -> Results:
    """`evaluate` inside a running event loop; the same arguments, results and errors."""
    chosen = _with_prompts(_settings(settings, model, escalate, when), prompts)
    is_one = answers is None
    if is_one:
        if question is None or answer is None:
            raise InputError("give `answers`, or `question` and `answer`")
        record = Record(
            id="answer",
            question=question,
            answer=answer,
            sources=_documents(sources),
            nuggets=tuple(_nugget(n) for n in nuggets),
            reference=reference,
        )
        job = job_of([record], _corpus(corpus, chosen))
    else:
        if question is not None or answer is not None:
            raise InputError("give `answers`, or `question` and `answer`, not both")
        job = _job(answers, corpus, chosen)
    folder = RunFolder(Path(out)) if out is not None else None
    found = await run(job, Toolbox.of(chosen, job.corpus), folder)
    if is_one and found.failures:
        raise RagassayError(found.failures[0].failure.detail)
    return Result(found) if is_one else Results(found)


def audit(
    answers: Answers,
    *,
    corpus: CorpusLike | None = None,
    model: str | Sequence[str] | None = None,
    prompts: Sequence[str | Path] = (),
    limit: int = N_ANSWERS,
    seed: int = 0,
    attacks: Sequence[str] = (),
    given: bool = False,
    paraphraser: str = "",
    out: str | Path | None = None,
    settings: Settings | None = None,
) -> Audit:
    """Find out what a judge can tell: damage answers, and have whole and damaged ones judged.

    Args:
        answers: As for `evaluate`; those whose metadata name a `variant` other than "benign" are
            damaged already, and are left out.
        corpus: As for `evaluate`.
        model: As for `evaluate`.
        prompts: As for `evaluate`.
        limit: Whole answers to damage, spread over the questions; 0 for all.
        seed: Chooses the answers and draws the damage.
        attacks: Names or families ("rubric", "clinical", "injection"); empty for all.
        given: Take the damaged answers that `answers` hold beside the whole ones (YESciEval's
            variants), and damage none.
        paraphraser: A model (a LiteLLM name, or NAME@URL) that writes redundant sentences; empty
            for rules.
        out: A folder: finished work is kept there and not done again, and audit.html written.
        settings: All other settings.

    Returns:
        Figures by attack and score, mean ratings by damage, and the certificate.

    Raises:
        InputError: The data are not usable, an attack is unknown, or nothing can be damaged.
        SettingsError: A setting is wrong.
        FatalModelError: The judge cannot be asked.
    """
    return run_sync(
        aaudit(
            answers,
            corpus=corpus,
            model=model,
            prompts=prompts,
            limit=limit,
            seed=seed,
            attacks=attacks,
            given=given,
            paraphraser=paraphraser,
            out=out,
            settings=settings,
        )
    )


async def aaudit(
    answers: Answers,
    *,
    corpus: CorpusLike | None = None,
    model: str | Sequence[str] | None = None,
    prompts: Sequence[str | Path] = (),
    limit: int = N_ANSWERS,
    seed: int = 0,
    attacks: Sequence[str] = (),
    given: bool = False,
    paraphraser: str = "",
    out: str | Path | None = None,
    settings: Settings | None = None,
) -> Audit:
    """`audit` inside a running event loop; the same arguments, result and errors."""
    chosen = _with_prompts(_settings(settings, model), prompts)
    job = _job(answers, corpus, chosen)
    tools = Toolbox.of(chosen, job.corpus)
    options = AuditOptions(limit, seed, tuple(attacks), given, paraphraser)
    damaged = audit_job(job, tools, options)
    found = await run_audit(damaged, tools, RunFolder(Path(out)) if out is not None else None)
    return found.audit


def _settings(
    settings: Settings | None,
    model: str | Sequence[str] | None,
    escalate: str | None = None,
    when: str | None = None,
) -> Settings:
    """The settings, with the judges put into their seats."""
    if when and not (escalate or (settings or load_settings()).escalate):
        raise SettingsError("`when` says what goes to a second judge: name it, `escalate=`")
    if model is None and escalate is None and when is None:
        return settings or load_settings()
    given = settings.model_dump() if settings else {}
    given |= {k: v for k, v in (("escalate", escalate), ("when", when)) if v is not None}
    if model is not None:
        judges = (model,) if isinstance(model, str) else tuple(model)
        given |= seated(judges, given.get("api_base"))
    return load_settings(**given)


def _with_prompts(settings: Settings, prompts: Sequence[str | Path]) -> Settings:
    return settings.model_copy(update={"prompts": tuple(map(Path, prompts))} if prompts else {})


def _job(answers: Any, corpus: CorpusLike | None, settings: Settings) -> Job:
    if isinstance(answers, str | Path):
        job = read_job(Path(answers))
        return Job(job.records, job.rejections, job.answers, _corpus(corpus, settings))
    rows = answers.to_dict("records") if hasattr(answers, "to_dict") else list(answers)
    if rows and all(isinstance(row, Record) for row in rows):
        return job_of(rows, _corpus(corpus, settings))
    found = records_from_rows(rows)
    return job_of(found.records, _corpus(corpus, settings), found.rejections)


def _corpus(corpus: CorpusLike | None, settings: Settings) -> Literature:
    if corpus is None:
        return Corpus()
    if isinstance(corpus, Literature):
        return corpus
    if isinstance(corpus, BaseRetriever):
        return RetrieverLiterature(corpus)
    if isinstance(corpus, str | Path):
        return open_literature(corpus, settings).literature
    return Corpus(_documents(corpus))


def _documents(sources: Iterable[SourceLike]) -> tuple[Document, ...]:
    found: list[Document] = []
    for n, source in enumerate(sources, 1):
        if isinstance(source, Document):
            found.append(source)
        elif isinstance(source, str):
            found.append(Document(id=str(n), text=source))
        else:
            found.append(Document.model_validate({"id": str(n), **source}))
    _check_ids(found)
    return tuple(found)


def _check_ids(documents: Sequence[Document]) -> None:
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise InputError(f"two documents have the id {document.id!r}")
        seen.add(document.id)


def _nugget(nugget: str | Nugget | Mapping[str, str]) -> Nugget:
    if isinstance(nugget, Nugget):
        return nugget
    if isinstance(nugget, str):
        return Nugget(text=nugget)
    return Nugget.model_validate(dict(nugget))
