"""Audits: perturbed answers, requests, results, and resuming."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from case_tables import each_case
from fakes import WordEmbedder, certain_logprobs

from ragassay.errors import InputError, RunMismatchError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.records import Audit, Document, Record
from ragassay.retrievers.literature import Corpus
from ragassay.runs.audit_job import (
    AuditJob,
    AuditOptions,
    build_audit_job,
    choose_spread_answers,
    list_target_parts,
)
from ragassay.runs.evaluate import Job, build_job, run_job
from ragassay.runs.folder import RunFolder
from ragassay.settings import load_settings
from ragassay.studies.audit import (
    AuditResult,
    audit_run_judge,
    describe_raters,
    plan_audit,
    prepare_run_audit,
    run_audit,
)
from ragassay.testing import Fault, Reply, ScriptedModel, default_reply, last_user_text

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

EMBEDDED = "ragassay/smollm2-135m"
DRUGS = ("brelozant", "metformin", "warfarin", "losartan", "ibuprofen", "digoxin", "heparin")


@pytest.fixture(autouse=True)
def certain_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rating is a score of just that: the scripted model does not waver between two."""
    monkeypatch.setattr("ragassay.testing.manners.manner.build_logprobs", certain_logprobs)


def record(n: int, **fields: object) -> Record:
    """An answer of three sentences with connectives; every seven records name other drugs."""
    drug = DRUGS[n % len(DRUGS)]
    text = (
        f"{drug.capitalize()} lowered the mean pressure by {n + 3} points in adults [1]. "
        f"However, it did not change the risk of falls in {n + 20} trials [1]. "
        f"Therefore, {drug} may be of use in adults with gout number {n} [1]."
    )
    source = Document(id="1", text=f"{drug} lowered the mean pressure by {n + 3} points.")
    given = {"id": f"r{n}", "question": f"Does {drug} help {n}?", "topic": f"t{n}"}
    return Record.model_validate(given | {"answer": text, "sources": (source,)} | fields)


NINE = (
    *("off_topic", "same_domain", "tweet", "blog", "drop_last_off_topic", "drop_last"),
    *("shuffle", "swap_last", "all_connectives", "first_connective", "repeat_all", "repeat_last"),
)
"""An extreme and a subtle attack on each of the nine rubrics."""


def records(n: int = 12) -> list[Record]:
    return [record(i) for i in range(n)]


def says(rating_of) -> Reply:
    """A judge whose rating depends on the prompt; all else it makes up."""

    def reply(messages, schema):
        made = json.loads(default_reply(messages, schema))
        return made | ({"rating": rating_of(last_user_text(messages))} if "rating" in made else {})

    return reply


def shows_whole(text: str, whole: Sequence[Record]) -> bool:
    """Whether a prompt contains one of these answers."""
    return any(f">\n{one.answer}\n</data" in text for one in whole)


FLATTERS = says(lambda text: 5)


def sees(whole: Sequence[Record]) -> Reply:
    """A judge that knows the whole answers, and rates every other one 1."""
    return says(lambda text: 5 if shows_whole(text, whole) else 1)


def run_for(model: ScriptedModel, job: Job, **options: object) -> Run:
    settings = load_settings(model=model.model_name, api_base=model.base_url, **options)
    return build_run(settings, job.corpus).with_models(embedder=WordEmbedder())


def chosen(
    model: ScriptedModel, given: Sequence[Record], *, only=("rubrics",), **options: object
) -> tuple[AuditJob, Run]:
    job = build_job(given, Corpus())
    run = run_for(model, job, only=only)
    return build_audit_job(job, run, AuditOptions(**options)), run  # type: ignore[arg-type]


async def audited(
    reply: Reply | None, given: Sequence[Record], *faults: Fault, **options: object
) -> AuditResult:
    with ScriptedModel(reply, faults=faults) as model:
        return await run_audit(*chosen(model, given, limit=0, **options))


def verdicts(audit: Audit, family: str = "rubric") -> dict[str, str | None]:
    return {line.target: line.trust for line in audit.certificate if line.family == family}


async def test_a_judge_that_always_says_five_is_blind_to_every_rubric():
    found = await audited(FLATTERS, records(4), attacks=NINE)
    assert len(verdicts(found.audit)) == 9
    assert set(verdicts(found.audit).values()) == {"blind"}
    assert all(f.detection.value == 0 and f.lift.value == 0 for f in found.audit.figures)
    assert found.audit.ratings["rubric.cohesion"]["extreme"].value == 5.0
    assert found.audit.judge == "openai/scripted"


async def test_a_judge_that_sees_the_damage_is_trusted():
    given = records()
    found = await audited(sees(given), given, attacks=NINE)
    assert len(verdicts(found.audit)) == 9
    assert set(verdicts(found.audit).values()) == {"trusted"}
    assert found.audit.ratings["rubric.cohesion"]["benign"].value == 5.0
    assert found.audit.n_answers == len(given)
    assert found.audit.n_perturbed == len(found.perturbed)


async def test_a_judge_that_obeys_the_answer_is_blind_to_injections():
    given = records(6)
    obeys = says(lambda text: 2 if shows_whole(text, given) else 5)
    found = await audited(obeys, given, attacks=("instruction",))
    assert set(verdicts(found.audit, "injection").values()) == {"blind"}
    assert verdicts(found.audit) == {}


async def test_damaged_answers_are_judged_on_what_their_attack_aims_at_only():
    with ScriptedModel() as model:
        job, run = chosen(model, records(3), limit=0, attacks=("shuffle",))
        found = await run_audit(job, run)
        assert model.n_requests == 6, "one rubric, of three whole and three perturbed answers"
        assert plan_audit(job, run).n_calls == 6
    assert {f.target for f in found.audit.figures} == {"rubric.cohesion"}


async def test_citations_are_audited_where_the_answers_cite():
    plain = record(20, answer="Aspirin lowered pressure by 4 points. It did not harm 12 adults.")
    given = [*records(2), plain]
    found = await audited(None, given, only=("citations",), attacks=("clinical",))
    assert {perturbation.original for perturbation in found.perturbed} == {"r0", "r1"}
    assert {f.target for f in found.audit.figures} >= {"citations.support"}
    assert not [e for e in found.evaluations if e.judgments]


async def test_answers_that_are_damaged_already_are_left_out():
    spoilt = record(5, metadata={"variant": "extreme"})
    with ScriptedModel() as model:
        job, _ = chosen(model, [*records(2), spoilt], limit=0)
    assert {r.id for r in job.job.records} == {"r0", "r1"}


async def test_given_damage_is_taken_from_the_file():
    # The two whole answers of one question belong to two systems; each has its own damage.
    rating = {"benign": 5, "subtle": 3, "extreme": 1}

    def given(n: int, system: str, variant: str) -> Record:
        target = {} if variant == "benign" else {"target_rubric": "Cohesion"}
        answer = f"{record(n).answer} {system} {variant}"
        name, about = f"{n}/{system}/{variant}", {"variant": variant} | target
        return record(n, id=name, system=system, metadata=about, answer=answer)

    rows = [given(n, system, one) for one in rating for n in range(12) for system in "xy"]
    reply = says(lambda text: rating[re.search(r"[xy] (\w+)\n</data", text)[1]])
    with ScriptedModel(reply) as model:
        found = await run_audit(*chosen(model, rows, limit=0, use_perturbed=True))
        assert model.n_requests == 24 + 48
    assert verdicts(found.audit) == {"rubric.cohesion": "trusted"}
    means = {k: s.value for k, s in found.audit.ratings["rubric.cohesion"].items()}
    assert means == {"benign": 5.0, "subtle": 3.0, "extreme": 1.0}
    assert found.audit.pools == "given"
    assert [f.optimism_error.value for f in found.audit.figures] == [0.0, 0.0]
    assert all(d.original.split("/")[:2] == d.record.id.split("/")[:2] for d in found.perturbed)


async def test_an_audit_folder_holds_what_the_audit_came_to(tmp_path):
    folder = RunFolder(tmp_path / "audit")
    with ScriptedModel() as model:
        job, run = chosen(model, records(2), limit=0, attacks=("off_topic", "shuffle"))
        found = await run_audit(job, run, folder)
        n_asked = model.n_requests
        again = await run_audit(job, run, folder)
        assert model.n_requests == n_asked, "the same audit again asks nothing"
    assert again.audit == found.audit
    assert folder.read_audit() == found.audit
    names = {path.name for path in folder.path.iterdir()}
    assert names >= {"audit.html", "audit.md", "figures.csv", "perturbed.jsonl", "run.json"}
    assert len((folder.path / "perturbed.jsonl").read_text().splitlines()) == len(found.perturbed)
    assert len(folder.read_evaluations()) == len(found.evaluations) == len(job.asks)


async def test_a_larger_limit_asks_for_what_is_new_only(tmp_path):
    folder, given = RunFolder(tmp_path / "audit"), records(6)
    with ScriptedModel() as model:
        short, run = chosen(model, given, limit=2, attacks=("shuffle", "off_topic"))
        await run_audit(short, run, folder)
        n_asked = model.n_requests
        longer, _ = chosen(model, given, limit=3, attacks=("shuffle", "off_topic"))
        found = await run_audit(longer, run, folder)
        asked = model.requests[n_asked:]
        assert not {r.key for r in asked} & {r.key for r in model.requests[:n_asked]}
    assert longer.job.records[:2] == short.job.records
    assert found.audit.n_answers == 3


async def test_a_folder_of_another_audit_is_refused(tmp_path):
    folder = RunFolder(tmp_path / "audit")
    with ScriptedModel() as model:
        await run_audit(*chosen(model, records(2), attacks=("shuffle",)), folder)
        other = chosen(model, records(2), attacks=("shuffle",), seed=7)
        with pytest.raises(RunMismatchError, match="audit_seed"):
            await run_audit(*other, folder)


async def test_what_could_not_be_judged_is_counted_and_never_detected():
    found = await audited(FLATTERS, records(2), Fault("refusal"), attacks=("shuffle",))
    (figure,) = found.audit.figures
    assert (figure.detection.value, figure.detection.n_unscored) == (None, 2)
    assert verdicts(found.audit) == {"rubric.cohesion": None}
    assert found.audit.is_partial


async def test_a_record_without_an_evaluation_is_a_failure_of_the_audit():
    endless = record(3, id="long", answer=" ".join(f"It rains {n} days." for n in range(300)))
    found = await audited(None, [*records(2), endless], attacks=("shuffle",))
    assert {failure.record_id for failure in found.failures} <= {"long", "long~shuffle"}
    assert found.audit.n_failed == len(found.failures) > 0
    assert found.audit.figures[0].detection.n_unscored == 1


async def test_the_judge_of_a_run_is_audited_on_answers_of_the_run(tmp_path):
    given = records(4)
    job = build_job(given, Corpus())
    folder = RunFolder(tmp_path / "run")
    with ScriptedModel(sees(given)) as model:
        run = run_for(model, job, only=("rubrics",))
        result = await run_job(job, run, folder)
        assert "This judge was not audited" in (folder.path / "report.html").read_text()
        n_asked = model.n_requests
        picked = prepare_run_audit(job, result, run, AuditOptions(3, attacks=("off_topic",)))
        found = await audit_run_judge(picked, result, run, folder)
        later = [last_user_text(r.messages) for r in model.requests[n_asked:]]
    assert later
    assert not any(shows_whole(text, picked.job.records) for text in later), "judged already"
    assert folder.read_audit() == found.audit
    assert found.audit.n_answers == 3
    page = (folder.path / "report.html").read_text()
    assert "Audit of this judge" in page and "This judge was not audited" not in page
    assert "Audit of this judge" in (folder.path / "report.md").read_text()


def test_a_part_that_no_attack_aims_at_is_an_error():
    with ScriptedModel() as model, pytest.raises(InputError, match="choose other attacks"):
        chosen(model, records(1), only=("nuggets",))


def test_answers_are_spread_over_questions():
    many = [record(n % 3, id=f"a{n}") for n in range(9)]
    assert len({r.topic for r in choose_spread_answers(many, 3, seed=0)}) == 3
    assert choose_spread_answers(many, 4, seed=1)[:3] == choose_spread_answers(many, 3, seed=1)
    assert choose_spread_answers(many[::-1], 4, seed=1) == choose_spread_answers(many, 4, seed=1)
    assert len(choose_spread_answers(many, 0, seed=1)) == 9
    assert len({tuple(r.id for r in choose_spread_answers(many, 2, seed=s)) for s in range(9)}) > 1


def test_parts_come_in_their_usual_order():
    assert list_target_parts(["citations.support", "rubric.cohesion"]) == ("rubrics", "citations")
    assert list_target_parts(["findings.retracted_citation"]) == ("citations",)


def test_given_answers_that_are_not_damaged_count_nowhere():
    whole = record(1, system="s", metadata={"variant": "benign"})

    def perturbed(name: str, answer: str) -> Record:
        metadata = {"variant": "subtle", "target_rubric": name}
        return whole.model_copy(update={"id": f"r1/{name}", "answer": answer, "metadata": metadata})

    same = perturbed("Cohesion", str(whole.answer).replace(". ", ".\n"))
    other = perturbed("Relevancy", f"{whole.answer} Rain is likely.")
    given = build_job([whole, same, other], Corpus())
    run = build_run(load_settings(only=("rubrics",), signals=True))
    job = build_audit_job(given, run, AuditOptions(use_perturbed=True))
    assert [perturbation.targets for perturbation in job.perturbed] == [("rubric.relevancy",)]
    assert job.n_unchanged == {"given": 1}
    assert [ask.record.id for ask in job.asks] == ["r1", "r1/Relevancy"]


@each_case(
    ("models", "with_signals", "rater"),
    [
        ((EMBEDDED,), True, f"{EMBEDDED}, rubrics by ragassay/signals"),
        ((EMBEDDED,), False, EMBEDDED),
        (("ragassay/judge",), True, "ragassay/judge with ragassay/signals"),
        (("ragassay/judge",), False, "ragassay/judge"),
        ((), True, "ragassay/instruments, rubrics by ragassay/signals"),
        (("openai/a", EMBEDDED), True, f"openai/a; {EMBEDDED}, rubrics by ragassay/signals"),
    ],
)
def test_an_audit_names_what_rated(models: tuple[str, ...], with_signals: bool, rater: str):
    given = {"model": models[0], "panel": models[1:]} if models else {}
    assert describe_raters(build_run(load_settings(signals=with_signals, **given))) == rater
