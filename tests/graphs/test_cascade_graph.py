"""A cascade: each of the two judges is a real HTTP model that is scripted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from casefiles import CASE, RECORD, build_word_run, evaluate, filed, question, reply_with, watch

from ragassay.errors import FatalModelError, SettingsError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.evaluators.rubric import RUBRIC
from ragassay.graphs.case import Input
from ragassay.graphs.evaluate import build_evaluate_graph
from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.metrics.stats.uncertainty import find_entropy
from ragassay.model_names import TUNED_JUDGE
from ragassay.records import Bound, Document, Judgment, Nugget, Signals
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import build_job, count_max_escalations, plan, run_job
from ragassay.runs.folder import RunFolder
from ragassay.settings import load_settings
from ragassay.testing import Fault, ScriptedModel

SECOND = "openai/gpt-4.1-mini"
"""A name that LiteLLM knows the price of."""

ALWAYS, NEVER = "entropy>0", "entropy>5"
REFUSES = (Fault("refusal"),)
JOB = build_job([RECORD], Corpus())


def run_of(first: ScriptedModel, second: ScriptedModel, when: str = ALWAYS, **options) -> Run:
    base = {"only": ("rubrics",), "rubrics": ("cohesion", "relevancy"), "signals": False}
    endpoints = {"api_base": first.base_url, "escalate": f"{SECOND}@{second.base_url}"}
    return build_word_run(model="openai/first", when=when, **endpoints, **(base | options))


def silent(run: Run) -> Run:
    """The same, with a first judge that gives no log-probabilities: it is sure of nothing.

    The scripted model's are as good as certain of every word but a rating.
    """
    for name in ("logprobs", "top_logprobs"):
        run.judge.lm.kwargs.pop(name)
    return run


async def test_what_the_first_judge_is_not_sure_of_the_second_decides(make_model):
    first, second = make_model(reply_with(rating=2)), make_model(reply_with(rating=5))
    found = await evaluate(run_of(first, second))
    assert (first.n_requests, second.n_requests) == (2, 2)
    for judgment in found.judgments:
        assert (judgment.rating, judgment.escalated_from.rating) == (5, 2)
        assert judgment.escalation.judge == SECOND
        assert judgment.escalation.failure is None
        assert judgment.escalation.usage.n_calls == 1
        assert judgment.escalation.usage.cost_usd > 0
        assert judgment.usage.n_calls == 2
    assert found.usage.n_calls == 4
    assert found.judge == "openai/first"
    assert found.scores["rubric.cohesion"].judge == f"openai/first, where unsure {SECOND}"


async def test_what_the_first_judge_is_sure_of_stays_with_it(make_model):
    first, second = make_model(reply_with(rating=2)), make_model(reply_with(rating=5))
    found = await evaluate(run_of(first, second, NEVER))
    assert (first.n_requests, second.n_requests) == (2, 0)
    ratings = [(j.rating, j.escalation, j.escalated_from) for j in found.judgments]
    assert ratings == [(2, None, None)] * 2


async def test_the_entropy_of_each_rating_decides_on_it_alone(make_model):
    first, second = make_model(), make_model()
    alone = await evaluate(run_of(first, second, NEVER, rubrics=()))
    bits = {j.rubric: find_entropy(j) for j in alone.judgments}
    bound = sorted(bits.values())[4]
    found = await evaluate(run_of(first, second, f"entropy>{bound:.4f}", rubrics=()))
    sent = {j.rubric for j in found.judgments if j.escalation}
    assert sent == {rubric for rubric, value in bits.items() if value > round(bound, 4)}
    assert 0 < len(sent) < 9
    assert second.n_requests == len(sent)


async def test_every_kind_of_verdict_goes_on_and_a_passage_for_two_costs_one_call(make_model):
    first = make_model(reply_with(verdict="neutral", label="borderline", assignment="not_support"))
    second = make_model(reply_with(verdict="supports", label="required", assignment="support"))
    record = RECORD.model_copy(update={"nuggets": (Nugget(text="Drug A lowers pressure"),)})
    found = await evaluate(silent(run_of(first, second, only=())), record)
    assert {label.label for label in found.labels} == {"required"}
    assert {label.escalated_from.label for label in found.labels} == {"borderline"}
    assert {e.verdict for e in found.evidence} == {"supports"}
    assert {c.verdict for c in found.citations} == {"supports"}
    assert {c.escalated_from.verdict for c in found.citations} == {"neutral"}
    assert found.assignments[0].assignment == "support"
    # Two rubrics, two sentences, two passages that serve a citation each, one gold nugget.
    assert second.n_requests == 2 + 2 + 2 + 1
    assert sum(c.usage.n_calls for c in found.citations) == 0, "booked on the evidence"
    assert sum(e.escalation.usage.n_calls for e in found.evidence) == 2
    assert found.usage.n_calls == first.n_requests + second.n_requests
    judges = {key: score.judge for key, score in found.scores.items()}
    for key in ("sentences.required", "evidence.support", "citations.support"):
        assert judges[key] == f"openai/first, where unsure {SECOND}"


async def test_citations_by_nuggets_are_merged_from_what_was_decided(make_model):
    first = make_model(reply_with(verdict="neutral"))
    second = make_model(reply_with(verdict="supports"))
    options = {"only": ("citations",), "citation_evidence": "nuggets"}
    found = await evaluate(silent(run_of(first, second, **options)))
    assert [c.verdict for c in found.citations] == ["supports", "supports"]
    nuggets = [n for c in found.citations for n in c.nuggets]
    assert {(n.verdict, n.escalated_from.verdict) for n in nuggets} == {("supports", "neutral")}
    assert second.n_requests == len(nuggets)
    assert found.usage.n_calls == first.n_requests + second.n_requests


async def test_where_the_second_judge_fails_the_first_one_s_verdict_stands(make_model):
    found = await evaluate(run_of(make_model(reply_with(rating=2)), make_model(faults=REFUSES)))
    for judgment in found.judgments:
        assert (judgment.rating, judgment.failure, judgment.escalated_from) == (2, None, None)
        assert judgment.escalation.failure.reason == "refused"
    score = found.scores["rubric.cohesion"]
    assert (score.n, score.n_unscored) == (1, 0)
    (finding,) = found.findings
    assert finding.kind == "escalation_failed"
    assert finding.message == (
        f"Verdicts that {SECOND} failed to decide: 2 (refused). "
        "The first judge's verdicts are kept."
    )


async def test_what_could_not_be_had_goes_on_whatever_the_condition(make_model):
    second = make_model(reply_with(rating=4), faults=[Fault("refusal", contains="relevancy. ")])
    found = await evaluate(run_of(make_model(faults=REFUSES), second, "unscored"))
    mended, lost = found.judgments
    assert (mended.rating, mended.escalated_from.failure.reason) == (4, "refused")
    assert (lost.rating, lost.failure.reason) == (None, "refused")
    assert lost.escalation.failure.reason == "refused"
    assert {f.kind for f in found.findings} == {"unscored", "escalation_failed"}
    assert found.scores["rubric.relevancy"].n_unscored == 1


async def test_a_wrong_key_of_the_second_judge_ends_the_run_and_names_it(make_model):
    with pytest.raises(FatalModelError, match=SECOND):
        await run_job(JOB, run_of(make_model(), make_model(faults=[Fault("unauthorized")])), None)


@dataclass
class Entailment:
    """A verifier that is sure of the trial, and of nothing else."""

    bounds: tuple[Bound, ...] = ()
    name: str = "entailment"
    digest: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)

    def predict_probabilities(self, pairs):
        self.asked += pairs
        sure, unsure = [0.98, 0.01, 0.01], [0.4, 0.3, 0.3]
        return np.array([sure if "5 mmHg" in claim else unsure for claim, _ in pairs])


BOUND = Bound(label="supports", threshold=0.9, risk=0.2, delta=0.1, n=50)


async def verify(first: ScriptedModel, second: ScriptedModel, when: str, *bounds: Bound):
    """Evaluate citations by entailment, within these bounds."""
    run = run_of(first, second, when, only=("citations",))
    encoder = EncoderVerifier(Entailment(bounds), run.models.embedder)
    return await evaluate(run.with_models(encoder=encoder))


async def test_a_model_of_inference_sends_on_what_its_three_probabilities_leave_open(make_model):
    first, second = make_model(), make_model(reply_with(verdict="contradicts"))
    sure, unsure = (await verify(first, second, "entropy>1")).citations
    # .98 log2(1/.98) + 2 * .01 log2(100) = .02856 + .13288 bits
    assert (sure.verdict, sure.entropy_bits, sure.escalation) == ("supports", 0.1614, None)
    assert (unsure.verdict, unsure.escalated_from.verdict) == ("contradicts", "supports")
    # .4 log2(2.5) + 2 * .3 log2(10 / 3) = .52877 + 1.04218
    assert unsure.escalated_from.entropy_bits == 1.571
    assert (first.n_requests, second.n_requests) == (0, 1)


async def test_exactly_what_is_undecided_goes_on(make_model):
    first, second = make_model(), make_model(reply_with(verdict="contradicts"))
    found = await verify(first, second, "undecided", BOUND)
    sure, open_ = found.citations
    assert (sure.verdict, sure.escalation) == ("supports", None)
    assert (open_.verdict, open_.tentative_label, open_.failure) == ("contradicts", None, None)
    assert open_.escalated_from.is_undecided and open_.escalated_from.tentative_label == "supports"
    assert (first.n_requests, second.n_requests) == (0, 1)
    # What a judge decided leads; nobody measured how often it is right.
    (finding,) = [f for f in found.findings if f.kind == "contradicted_citation"]
    assert (finding.level, finding.precision) == ("primary", None)
    assert not found.undecided


async def test_what_the_second_judge_fails_on_stays_undecided(make_model):
    found = await verify(make_model(), make_model(faults=REFUSES), "undecided", BOUND)
    (open_,) = found.undecided
    assert open_.tentative_label == "supports" and open_.escalation.failure.reason == "refused"
    # That is a fault of the run, and trying again may help.
    assert "escalation_failed" in {f.kind for f in found.findings}


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        ({"model": "ragassay/judge"}, "undecided"),
        ({"model": "openai/a"}, "entropy>1"),
        ({"model": "ragassay/judge", "when": "entropy>2"}, "entropy>2"),
    ],
)
def test_the_condition_depends_on_the_judge_unless_it_is_named(options, condition):
    assert load_settings(escalate="openai/b", **options).judge.escalated_when == condition


async def test_a_run_counts_what_stayed_what_went_and_what_it_cost(make_model, tmp_path):
    first = make_model(reply_with(rating=2))
    second = make_model(faults=[Fault("refusal", contains="relevancy. ")])
    folder = RunFolder(tmp_path / "run")
    result = await run_job(JOB, run_of(first, second), folder)
    cascade = result.summary.cascade
    assert (cascade.judge, cascade.second, cascade.when) == ("openai/first", SECOND, "entropy>0")
    (part,) = cascade.parts
    assert (part.n, part.n_kept, part.n_escalated, part.n_failed) == (2, 0, 1, 1)
    asked = next(j for j in result.evaluations[0].judgments if j.rubric == "cohesion")
    assert part.usage == cascade.usage == asked.escalation.usage
    assert cascade.full_cost_usd == pytest.approx(2 * part.usage.cost_usd)
    assert result.manifest.second.judge == SECOND
    assert result.manifest.settings["escalated_when"] == "entropy>0"
    assert "127.0.0.1" not in folder.manifest_file.read_text()
    folder.forget_failures()
    assert not folder.read_evaluations()
    mended = make_model(reply_with(rating=5))
    again = await run_job(JOB, run_of(first, mended), folder)
    assert [j.rating for j in again.evaluations[0].judgments][1] == 5
    assert (first.n_requests, mended.n_requests) == (2, 1), "only what had failed is asked again"


async def test_a_cascade_that_was_stopped_asks_for_nothing_again(make_model, tmp_path):
    """The second judge's key fails for one of its two questions; then it is right."""
    first = make_model(reply_with(rating=2))
    broken = make_model(
        reply_with(rating=5), faults=[Fault("unauthorized", contains="relevancy. ")]
    )
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(FatalModelError):
        await run_job(JOB, run_of(first, broken), folder)
    mended = make_model(reply_with(rating=5))
    result = await run_job(JOB, run_of(first, mended), folder)
    assert first.n_requests == 2
    assert 1 <= mended.n_requests <= 2
    assert [j.rating for j in result.evaluations[0].judgments] == [5, 5]
    n_asked = mended.n_requests
    again = await run_job(JOB, run_of(first, mended), folder)
    assert (first.n_requests, mended.n_requests) == (2, n_asked)
    assert again.evaluations == result.evaluations


async def test_progress_and_plan_know_the_calls_of_the_second_judge(make_model):
    first, second = make_model(), make_model()
    run = silent(run_of(first, second, only=("rubrics", "sentences", "citations")))
    n_expected, n_done, usage = await watch(run)
    assert n_expected == n_done
    assert usage.n_calls == first.n_requests + second.n_requests == 12
    found = plan(JOB, run)
    assert (found.n_calls, found.n_escalated) == (6, 6)
    assert found.n_escalated_tokens == found.n_prompt_tokens
    # .4 and 1.6 USD for a million tokens, at most 256 in a reply.
    most = (found.n_escalated_tokens * 0.4 + 6 * 256 * 1.6) / 1e6
    assert found.escalated_usd == pytest.approx(most)


@pytest.mark.parametrize(
    "options",
    [
        {"only": ("rubrics",)},
        {"only": ("rubrics", "sentences", "citations")},
        {"only": ("sentences", "evidence")},
        {"only": ("citations", "nuggets"), "citation_evidence": "nuggets"},
        {"only": ()},
    ],
)
async def test_verdicts_are_added_up_once_and_nothing_is_asked_twice(make_model, options):
    first, second = make_model(), make_model()
    run = silent(run_of(first, second, **options))
    visits: Counter[str] = Counter()
    graph = build_evaluate_graph()
    async for update in graph.astream(Input(record=RECORD), context=run, stream_mode="updates"):
        visits.update(update.keys())
    assert visits["aggregate"] == 1
    for model in (first, second):
        assert model.n_requests == len({request.key for request in model.requests})


async def test_two_marks_of_one_document_are_one_question_of_both_judges(make_model):
    sources = (
        Document(id="11", part_of="11", title="T", text="Other things happened here."),
        Document(id="11-2", part_of="11", title="T", text="Drug A lowered blood pressure."),
    )
    answer = "Drug A lowers blood pressure [2] (PMID 11)."
    record = RECORD.model_copy(update={"answer": answer, "sources": sources})
    first, second = (
        make_model(reply_with(verdict="neutral")),
        make_model(reply_with(verdict="supports")),
    )
    found = await evaluate(silent(run_of(first, second, only=("citations",))), record)
    assert [one.verdict for one in found.citations] == ["supports", "supports"]
    assert (first.n_requests, second.n_requests) == (1, 1)


@pytest.fixture
def run() -> Run:
    """Two judges that nobody asks."""
    return build_word_run(model="openai/a", escalate="openai/b", signals=False, when=ALWAYS)


def test_verdicts_of_the_second_judge_are_kept_by_it_and_by_what_was_measured(run):
    said = Judgment(rubric="cohesion", rating=3, score=3.0)
    other = said.model_copy(update={"rating": 2})
    third = build_run(run.settings.model_copy(update={"escalate": "openai/c"}))

    def first_key(run: Run) -> str:
        return question(RUBRIC, "cohesion", filed(CASE), run).compute_key(run.judge)

    def second_key(run: Run, first: Judgment, signals: Signals | None = None) -> str:
        asked = question(RUBRIC, "cohesion", filed(CASE, signals=signals), run)
        return asked.isolate_question(first).compute_key(run.second.judge)

    keys = [
        first_key(run),
        second_key(run, said),
        second_key(run, said, Signals(values={"x": 1.0})),
        second_key(third, said),
    ]
    assert len(set(keys)) == len(keys)
    assert second_key(run, other) == keys[1], "it is asked the same, whatever the first said"
    assert first_key(third) == first_key(run), "the first judge's do not depend on it"
    assert third.identity != run.identity


def test_without_a_second_judge_nothing_is_unsure():
    alone = build_run(load_settings(model="openai/a", signals=False))
    assert alone.judges is alone.judge
    assert count_max_escalations(filed(CASE), alone) == 0
    assert (alone.settings.judge.escalated_to, alone.settings.judge.escalated_when) == (None, None)
    with pytest.raises(SettingsError, match="set escalate"):
        alone.settings.build_second_settings()


@pytest.mark.parametrize(
    ("reason", "is_unsure"), [("no_evidence", False), ("empty_answer", False), ("timeout", True)]
)
def test_what_lies_in_the_data_is_not_sent_on(run, reason, is_unsure):
    judgment = Judgment.model_validate({"rubric": "relevancy", "failure": {"reason": reason}})
    asked = question(RUBRIC, "relevancy", filed(CASE), run)
    assert asked.is_unsure(judgment, run.judges.condition) is is_unsure


def test_an_endpoint_beside_a_local_judge_is_the_second_one_s():
    here, there = "http://here/v1", "http://there/v1"
    local = load_settings(model=TUNED_JUDGE, escalate="openai/b", api_base=here)
    second = local.build_second_settings()
    assert (second.judge.api_base, second.judge.model) == (here, "openai/b")
    assert second.chosen_verifier == "judge"
    assert local.source_chars == load_settings(model=TUNED_JUDGE).source_chars
    own = load_settings(model=TUNED_JUDGE, escalate=f"openai/b@{there}", api_base=here)
    assert own.build_second_settings().judge.api_base == there
    assert own.judge.escalated_to == "openai/b"
    other = load_settings(model="mistral/a", escalate="openai/b", api_base=here)
    assert other.build_second_settings().judge.api_base is None
    assert other.build_second_settings().judge.escalate == ""


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"panel": ("openai/b",), "escalate": "openai/c"},
            r"cannot be combined with a panel \(openai/a, open",
        ),
        ({"escalate": "openai/a"}, "must be a different model than openai/a"),
        ({"escalate": "openai/a@http://there/v1"}, "must be a different model than openai/a"),
        ({"escalate": "@http://there/v1"}, "must be a different model"),
        ({"escalate": "openai/b", "when": "doubt>1"}, "when: 'doubt>1' is not a condition"),
    ],
)
def test_an_unclear_cascade_is_refused_by_name(options, problem):
    with pytest.raises(SettingsError, match=problem):
        load_settings(model="openai/a", **options)
