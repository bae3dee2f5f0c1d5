"""Redundant sentences of an audit by a model: where they land, what is refused, what is kept."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from case_tables import each_case
from fakes import WordEmbedder

from ragassay.errors import FatalModelError, InputError, RunMismatchError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.records import Document, Paraphrase, PerturbedAnswer, Record, Usage
from ragassay.retrievers.literature import Corpus
from ragassay.runs.audit_job import AuditJob, AuditOptions, build_audit_job
from ragassay.runs.evaluate import build_job
from ragassay.runs.folder import RunFolder, read_lines
from ragassay.settings import load_settings
from ragassay.studies.audit import (
    PARAPHRASES,
    build_paraphraser_settings,
    forget_failed_paraphrases,
    list_sentences_to_rephrase,
    plan_audit,
    run_audit,
)
from ragassay.testing import Fault, ScriptedModel, last_user_text

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

AGAIN = "What is meant by this, at some length: "
REPEATS = ("repeat_last", "repeat_inside", "repeat_all")


def record(n: int) -> Record:
    """Three sentences, each with a word of its own: first, second and third."""
    text = (
        f"Digoxin was the first drug of group {n} [1]. The second drug lowered pain [1]. "
        f"A third drug helped {n + 30} adults [1]."
    )
    source = Document(id="1", text="Digoxin lowered pain.")
    return Record(id=f"r{n}", question=f"Which {n}?", answer=text, sources=(source,), topic=f"t{n}")


def sentence_of(messages) -> str:
    """What stands between the marks."""
    return last_user_text(messages).split("\n")[1]


def says(messages, schema):
    """Says a sentence again behind a phrase that no rule has."""
    return {"restatement": AGAIN + sentence_of(messages)}


@pytest.fixture
def judge():
    with ScriptedModel() as model:
        yield model


def chosen(
    judge: ScriptedModel, writer: ScriptedModel, n: int = 2, **options: object
) -> tuple[AuditJob, Run]:
    job = build_job([record(i) for i in range(n)], Corpus())
    settings = load_settings(model=judge.model_name, api_base=judge.base_url, only=("rubrics",))
    run = build_run(settings, job.corpus).with_models(embedder=WordEmbedder())
    given = {"attacks": REPEATS, "paraphraser": f"{writer.model_name}@{writer.base_url}"}
    return build_audit_job(job, run, AuditOptions(**(given | options))), run  # type: ignore[arg-type]


def records_of(perturbed: Iterable[PerturbedAnswer]) -> dict[str, Record]:
    return {one.record.id: one.record for one in perturbed}


async def test_what_a_model_says_again_lands_in_the_damaged_answers(judge):
    events = []
    with ScriptedModel(says) as writer:
        found = await run_audit(*chosen(judge, writer), listen=events.append)
        # Three sentences of two answers; the second sentence is the same in both.
        assert writer.n_requests == 5
    texts = {name: str(one.answer) for name, one in records_of(found.perturbed).items()}
    assert set(texts) == {f"r{n}~{attack}" for n in range(2) for attack in REPEATS}
    assert [texts[f"r0~{attack}"].count(AGAIN) for attack in REPEATS] == [1, 1, 3]
    assert texts["r0~repeat_last"].endswith(f"{AGAIN}A third drug helped 30 adults [1].")
    every = next(d for d in found.perturbed if d.record.id == "r0~repeat_all")
    assert every.sentences == (2, 4, 6)
    seen = [last_user_text(r.messages) for r in judge.requests]
    assert all(any(text in prompt for prompt in seen) for text in texts.values())
    audit = found.audit
    assert audit.paraphraser == writer.model_name
    assert (audit.n_paraphrased, audit.n_by_rule) == (5, 0)
    # Their cost is part of the audit's, and progress tells of each call.
    assert audit.usage.n_calls == 5 + judge.n_requests
    verdicts = sum((e.usage for e in found.evaluations), Usage())
    assert audit.usage.n_prompt_tokens > verdicts.n_prompt_tokens
    assert events[0].n_expected == 5
    assert [event.n_calls for event in events[1:6]] == [1] * 5
    assert sum(e.n_expected for e in events) == sum(e.n_calls for e in events)


async def test_a_refused_reply_is_made_by_rule_and_counted(judge):
    def boasts(messages, schema):
        sentence = sentence_of(messages)
        boast = {"restatement": f"Here is a redundant sentence: {sentence}"}
        return boast if "third" in sentence else says(messages, schema)

    with ScriptedModel(boasts) as writer:
        job, run = chosen(judge, writer, n=1)
        found = await run_audit(job, run)
    assert (found.audit.n_paraphrased, found.audit.n_by_rule) == (2, 1)
    by_rule, made = records_of(job.perturbed), records_of(found.perturbed)
    assert made["r0~repeat_last"] == by_rule["r0~repeat_last"]
    assert not any("Here is" in str(one.answer) for one in made.values())


async def test_a_call_that_fails_leaves_the_rule_and_is_asked_again_on_demand(judge, tmp_path):
    folder = RunFolder(tmp_path / "audit")
    with ScriptedModel(says, faults=[Fault("refusal", contains="third", first=1)]) as writer:
        found = await run_audit(*chosen(judge, writer, n=1), folder)
        assert (found.audit.n_paraphrased, found.audit.n_by_rule) == (2, 1)
        kept = read_lines(folder.path / PARAPHRASES, Paraphrase)
        assert [p.failure.reason for p in kept if p.failure] == ["refused"]
        n_asked = writer.n_requests
        await run_audit(*chosen(judge, writer, n=1), folder)
        assert writer.n_requests == n_asked
        forget_failed_paraphrases(folder.path)
        found = await run_audit(*chosen(judge, writer, n=1), folder)
        assert writer.n_requests == n_asked + 1
    assert (found.audit.n_paraphrased, found.audit.n_by_rule) == (3, 0)


async def test_a_later_start_asks_for_no_sentence_twice(judge, tmp_path):
    # The first start dies of a wrong key of the judge; what the model wrote is there.
    folder = RunFolder(tmp_path / "audit")
    with ScriptedModel(says) as writer:
        with ScriptedModel(faults=[Fault("unauthorized")]) as locked:
            with pytest.raises(FatalModelError):
                await run_audit(*chosen(locked, writer), folder)
        assert writer.n_requests == 5
        first = (folder.path / PARAPHRASES).read_text()
        (folder.path / PARAPHRASES).write_text(first[: first.rindex("{") + 9], newline="\n")
        found = await run_audit(*chosen(judge, writer), folder)
        assert writer.n_requests == 6, "the line that was cut off alone"
        again = await run_audit(*chosen(judge, writer, n=2), folder)
        assert writer.n_requests == 6
    assert again.audit == found.audit
    assert found.audit.n_paraphrased == 5


def test_a_plan_counts_their_calls(judge):
    with ScriptedModel() as writer:
        job, run = chosen(judge, writer)
        plain, _ = chosen(judge, writer, paraphraser="")
        with_it, without = plan_audit(job, run), plan_audit(plain, run)
        assert writer.n_requests == 0
    assert with_it.n_calls - without.n_calls == len(list_sentences_to_rephrase(job)) == 5
    assert with_it.n_prompt_tokens > without.n_prompt_tokens
    assert with_it.n_records == without.n_records


def test_only_sentences_that_an_attack_says_again_are_asked_for(judge):
    with ScriptedModel() as writer:
        last, _ = chosen(judge, writer, attacks=("repeat_last", "shuffle"))
        none, _ = chosen(judge, writer, attacks=("shuffle",))
    assert sorted(list_sentences_to_rephrase(last)) == [
        "A third drug helped 30 adults.",
        "A third drug helped 31 adults.",
    ]
    assert list_sentences_to_rephrase(none) == ()


async def test_a_wrong_key_of_the_paraphraser_ends_the_audit(judge):
    with ScriptedModel(faults=[Fault("unauthorized")]) as writer:
        with pytest.raises(FatalModelError, match=writer.model_name):
            await run_audit(*chosen(judge, writer))
    assert judge.n_requests == 0


async def test_a_folder_by_another_paraphraser_is_refused(judge, tmp_path):
    folder = RunFolder(tmp_path / "audit")
    with ScriptedModel(says) as writer:
        await run_audit(*chosen(judge, writer, n=1), folder)
        assert folder.read_manifest().settings["audit_paraphraser"] == writer.model_name
        assert writer.base_url not in (folder.path / "run.json").read_text()
        with pytest.raises(RunMismatchError, match="audit_paraphraser"):
            await run_audit(*chosen(judge, writer, n=1, paraphraser=""), folder)


def test_given_damage_is_not_written_anew(judge):
    problem = "so no paraphraser can be used"
    with ScriptedModel() as writer, pytest.raises(InputError, match=problem):
        chosen(judge, writer, use_perturbed=True)


@each_case(
    ("paraphraser", "model", "api_base"),
    [
        ("openai/writer@http://localhost:2/v1", "openai/writer", "http://localhost:2/v1"),
        ("openai/writer", "openai/writer", "http://localhost:1/v1"),
        ("mistral/writer", "mistral/writer", None),
    ],
)
def test_the_endpoint_is_its_own_or_that_of_a_judge_of_its_provider(paraphraser, model, api_base):
    settings = load_settings(model="openai/judge", api_base="http://localhost:1/v1")
    found = build_paraphraser_settings(settings, paraphraser).judge
    assert (found.model, found.api_base, found.panel) == (model, api_base, ())
