"""A fine-tuned judge rates the rubrics; the model below it does all else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from casefiles import evaluate
from tiny_llama import tiny_adapter, tiny_model, tiny_tokenizer

from ragassay.agents.tuned_judge import AnswerReader, TunedJudge
from ragassay.errors import ModelError, SettingsError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.metrics.stats.joint_judgments import TUNED_SHARE
from ragassay.models.tuned import NOTE, read_note
from ragassay.records import VERDICT_SETS, Document, Record
from ragassay.runs.evaluate import build_job, build_manifest, plan
from ragassay.settings import load_settings

pytestmark = pytest.mark.integration

RECORD = Record(
    id="one",
    question="Does the drug help?",
    answer="The drug helps in migraine. The match was lost.",
    sources=(Document(id="1", text="The drug helped in migraine."),),
)


@pytest.fixture
def judge(tmp_path: Path) -> str:
    tokenizer, base = tiny_tokenizer(), tmp_path / "base"
    tiny_model(len(tokenizer)).save_pretrained(base)
    tokenizer.save_pretrained(base)
    tiny_adapter(tmp_path / "judge", len(tokenizer), str(base))
    return f"ragassay/{tmp_path / 'judge'}"


def rate(judge: str, *rubrics: str, **options) -> Run:
    """A run that rates by these rubrics, without signals."""
    base = {"rubrics": rubrics, "only": ("rubrics",), "signals": False, "local_dtype": "float32"}
    return build_run(load_settings(model=judge, **(base | options)))


async def test_it_rates_and_its_base_answers_what_else_is_asked(judge, tmp_path):
    run = rate(judge, "relevancy", only=("rubrics", "sentences"))
    assert run.judge.reads and run.judge.lm.model == f"ragassay/{tmp_path / 'base'}"
    found = await evaluate(run, RECORD)
    [judgment] = found.judgments
    # Two sentences are read, then the answer is rated.
    assert judgment.distribution is not None and judgment.usage.n_calls == 3
    assert found.scores["rubric.relevancy"].judge == judge
    assert all(label.label for label in found.labels)
    assert found.scores["sentences.required"].judge == run.judge.lm.model
    manifest = build_manifest(build_job([RECORD], run.retrieval.corpus), run)
    assert (manifest.judge, manifest.base) == (judge, run.judge.lm.model)
    assert len(manifest.judge_digest) == 64


async def test_one_that_was_trained_with_sources_reads_them(judge, tmp_path, monkeypatch):
    told: list[str] = []
    asked = TunedJudge.request

    def request(self, case, reading, rubric, papers=""):
        told.append(papers)
        return asked(self, case, reading, rubric, papers)

    monkeypatch.setattr(TunedJudge, "request", request)
    note = tmp_path / "judge" / NOTE
    for n_chars in (0, 200):
        note.write_text(json.dumps(json.loads(note.read_text()) | {"source_chars": n_chars}))
        read_note.cache_clear()
        found = await evaluate(rate(judge, "relevancy"), RECORD)
        assert found.judgments[0].rating is not None
    assert told[0] == "" and "The drug helped in migraine." in told[-1]


async def test_with_signals_both_rate_and_are_named(judge):
    alone = await evaluate(rate(judge, "relevancy"), RECORD)
    run = rate(judge, "relevancy", signals=True)
    both = await evaluate(run, RECORD)
    measured = run.judge.signals.judge(both.signals, "relevancy")
    mean = TUNED_SHARE * alone.judgments[0].score + (1 - TUNED_SHARE) * measured.score
    assert both.judgments[0].score == pytest.approx(mean, abs=1e-3)
    assert both.scores["rubric.relevancy"].judge == f"{judge} with ragassay/signals"


async def test_an_answer_is_read_once_for_all_rubrics(judge):
    run = rate(judge, "relevancy", "cohesion")
    found = await evaluate(run, RECORD)
    assert [judgment.usage.n_calls for judgment in found.judgments] == [3, 1]
    assert plan(build_job([RECORD], run.retrieval.corpus), run).n_calls == 4
    alone = await evaluate(rate(judge, "cohesion"), RECORD)
    assert alone.judgments[0].score == found.judgments[1].score


async def test_how_sentences_hang_together_is_rated_by_signals_alone(judge):
    run = rate(judge, "cohesion", "relevancy", signals=True)
    found = await evaluate(run, RECORD)
    cohesion, relevancy = found.judgments
    assert cohesion == run.judge.signals.judge(found.signals, "cohesion")
    # Reading counts with a rubric that was judged.
    assert (cohesion.usage.n_calls, relevancy.usage.n_calls) == (0, 3)
    assert plan(build_job([RECORD], run.retrieval.corpus), run).n_calls == 3
    alone = rate(judge, "cohesion", signals=True)
    assert not alone.readers and (await evaluate(alone, RECORD)).usage.n_calls == 0


async def test_what_could_not_be_read_is_read_again_for_each_rubric(judge, monkeypatch):
    read, failures = AnswerReader.aforward, ["once"]

    async def fails_once(self, case):
        if failures:
            raise ModelError(failures.pop())
        return await read(self, case)

    monkeypatch.setattr(AnswerReader, "aforward", fails_once)
    found = await evaluate(rate(judge, "relevancy", "cohesion"), RECORD)
    assert not failures
    assert [judgment.usage.n_calls for judgment in found.judgments] == [3, 3]


async def test_rubrics_that_it_does_not_know_are_left_to_its_base(judge):
    run = build_run(load_settings(model=judge, rubric_set="usr"))
    assert not run.judge.reads and not run.readers
    assert run.judge.name == run.judge.lm.model != judge


async def test_it_is_asked_but_not_told_what_others_say(judge):
    run = build_run(load_settings(model=judge, signals=True, only=("rubrics",)))
    assert run.judge.calls_model("relevancy") and not run.judge.can_deliberate("relevancy")
    for name in ("ragassay/smollm2-135m", "litellm_proxy/ragassay/smollm2-135m"):
        embedded = build_run(load_settings(signals=True, model=name))
        assert not embedded.judge.calls_model("relevancy")
        assert not embedded.judge.can_deliberate("relevancy")
    hosted = build_run(load_settings(signals=True, model="openai/a"))
    assert hosted.judge.calls_model("relevancy") and hosted.judge.can_deliberate("relevancy")


async def test_a_fine_tuned_verifier_compares(judge, tmp_path):
    tiny_adapter(tmp_path / "verifier", len(tiny_tokenizer()), str(tmp_path / "base"), "verifier")
    name = f"ragassay/{tmp_path / 'verifier'}"
    cited = RECORD.model_copy(update={"answer": "The drug helps in migraine [1]."})
    for n_labels, citations in ((4, "passage"), (3, "passage"), (2, "document")):
        options = {"verdict_labels": n_labels, "citation_evidence": citations}
        run = rate(judge, verifier=name, only=("citations",), **options)
        [verdict] = (await evaluate(run, cited)).citations
        assert verdict.verdict in VERDICT_SETS[n_labels] and verdict.confidence is not None
        manifest = build_manifest(build_job([cited], run.retrieval.corpus), run)
        assert manifest.verifier == name and len(manifest.verifier_digest) == 64


def test_what_was_not_tuned_to_verify_is_refused(judge):
    for name in (judge, "ragassay/smollm2-135m"):
        with pytest.raises(SettingsError, match="not fine-tuned for verification"):
            build_run(load_settings(model=judge, verifier=name))


async def test_another_adapter_in_the_same_folder_gives_other_verdicts(judge, tmp_path):
    first = build_run(load_settings(model=judge)).identity
    assert build_run(load_settings(model=judge)).identity == first
    tiny_adapter(tmp_path / "judge", len(tiny_tokenizer()) - 1, str(tmp_path / "base"))
    assert build_run(load_settings(model=judge)).identity != first
