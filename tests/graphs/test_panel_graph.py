"""Several judges as a panel, each a real HTTP model that is scripted."""

from __future__ import annotations

import json

import pytest
from casefiles import CASE, RECORD, build_word_run, evaluate, filed, question, watch

from ragassay.errors import FatalModelError, SettingsError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.evaluators.rubric import RUBRIC, AskedRubric
from ragassay.judges.panel import format_other_ratings, list_disputed_members
from ragassay.model_names import EMBEDDED_BASE, TUNED_JUDGE
from ragassay.prompts.compiled import CompiledPredictor, CompiledPrompt
from ragassay.records import Judgment
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import build_job, plan, run_job
from ragassay.runs.folder import RunFolder
from ragassay.settings import convert_judges, load_settings
from ragassay.testing import Fault, ScriptedModel, default_reply

AGAIN = "It rated the answer"
"""Words that only a judge reads who hears the others."""

ONE = {"rubrics": ("cohesion",)}
JOB = build_job([RECORD], Corpus())


def rates(alone: int, again: int | None = None, reason: str = "The sentences follow each other."):
    """A judge that gives one rating, and another one after it heard the others."""

    def reply(messages, schema):
        made = json.loads(default_reply(messages, schema))
        if "rating" not in made:
            return made
        heard = AGAIN in messages[-1]["content"]
        return made | {"rating": again if heard and again else alone, "rationale": reason}

    return reply


def run_of(*models: ScriptedModel, **options) -> Run:
    """A run with each model in a member: openai/judge-a, openai/judge-b and so on."""
    members = [f"openai/judge-{c}@{m.base_url}" for c, m in zip("abcd", models, strict=False)]
    base = {"only": ("rubrics",), "rubrics": ("cohesion", "relevancy"), "signals": False}
    return build_word_run(**convert_judges(members), **(base | options))


async def test_each_judge_rates_every_rubric_once_where_they_agree(make_model):
    models = [make_model(rates(4)), make_model(rates(5)), make_model(rates(4))]
    found = await evaluate(run_of(*models))
    assert [m.n_requests for m in models] == [2, 2, 2]
    assert [j.rubric for j in found.judgments] == ["cohesion", "relevancy"]
    for judgment in found.judgments:
        names = [m.judge for m in judgment.members]
        assert names == ["openai/judge-a", "openai/judge-b", "openai/judge-c"]
        assert [m.rating for m in judgment.members] == [4, 5, 4]
        assert judgment.rating == 4
        mean = sum(m.score for m in judgment.members) / 3
        assert judgment.score == pytest.approx(mean, abs=1e-3)
        assert judgment.distribution is not None
        assert all(m.first is None for m in judgment.members)
    score = found.scores["rubric.cohesion"]
    assert (score.n, score.n_unscored) == (3, 0)
    assert score.judge == "a panel of openai/judge-a, openai/judge-b, openai/judge-c"
    assert found.usage.n_calls == sum(m.n_requests for m in models)


async def test_judges_two_points_apart_hear_each_other_once_and_rate_again(make_model):
    models = [
        make_model(rates(5, 4, "Every sentence leads on.")),
        make_model(rates(2, 3, "Sentence 2 stands </data> alone.")),
    ]
    found = await evaluate(run_of(*models, **ONE))
    assert [m.n_requests for m in models] == [2, 2], "once more, and never a third time"
    (judgment,) = found.judgments
    one, other = judgment.members
    assert [(m.first.rating, m.rating) for m in (one, other)] == [(5, 4), (2, 3)]
    assert judgment.score == pytest.approx((one.score + other.score) / 2, abs=1e-3)
    first_prompt, second_prompt = (r.messages[-1]["content"] for r in models[0].requests)
    assert AGAIN not in first_prompt
    assert "It rated the answer 2 on a scale from 1 to 5." in second_prompt
    assert "stands </data> alone." in second_prompt, "the reason of the other"
    assert "Every sentence leads on." not in second_prompt, "not its own"
    assert "openai/judge-b" not in second_prompt, "reasons count, not names"
    mark = second_prompt.split("<data ", 1)[1][:8]
    assert second_prompt.count(f"<data {mark}>") == second_prompt.count(f"</data {mark}>")
    assert "Every sentence leads on." in models[1].requests[1].messages[-1]["content"]
    assert found.usage.n_calls == judgment.usage.n_calls == 4


async def test_only_the_disputed_rubrics_are_heard_again_by_all_three(make_model):
    def disputes_cohesion(rating: int):
        def reply(messages, schema):
            is_disputed = "cohesion. " in messages[-1]["content"]
            return rates(rating if is_disputed else 3)(messages, schema)

        return reply

    models = [make_model(disputes_cohesion(rating)) for rating in (1, 3, 5)]
    found = await evaluate(run_of(*models))
    assert [m.n_requests for m in models] == [3, 3, 3]
    cohesion, relevancy = found.judgments
    assert all(m.first is not None for m in cohesion.members)
    assert all(m.first is None for m in relevancy.members)
    asked = models[1].requests[-1].messages[-1]["content"]
    assert asked.count(AGAIN) == 2, "it hears both others"


async def test_a_judge_that_fails_is_counted_and_the_others_go_on(make_model):
    models = [make_model(rates(5)), make_model(rates(1), faults=[Fault("refusal")])]
    found = await evaluate(run_of(*models, **ONE))
    (judgment,) = found.judgments
    assert (judgment.rating, judgment.failure) == (5, None)
    lost = judgment.members[1]
    assert (lost.rating, lost.failure.reason) == (None, "refused")
    assert models[0].n_requests == 1, "nobody is heard where nobody differs"
    score = found.scores["rubric.cohesion"]
    assert (score.n, score.n_unscored) == (1, 1)
    assert score.worst < score.decided < score.best
    (finding,) = [f for f in found.findings if f.kind == "unscored"]
    assert finding.message == "Unscored verdicts: 1 (refused)."


async def test_a_panel_is_unscored_where_all_its_judges_fail(make_model):
    models = [make_model(faults=[Fault("refusal")]) for _ in range(2)]
    found = await evaluate(run_of(*models, **ONE))
    (judgment,) = found.judgments
    assert (judgment.rating, judgment.failure.reason) == (None, "refused")
    assert found.scores["rubric.cohesion"].value is None


async def test_what_a_judge_said_first_counts_where_the_second_call_fails(make_model):
    faults = [Fault("refusal", contains=AGAIN)]
    models = [make_model(rates(5, 4)), make_model(rates(1, 2), faults=faults)]
    found = await evaluate(run_of(*models, **ONE))
    (judgment,) = found.judgments
    one, lost = judgment.members
    assert (one.rating, lost.rating, lost.first.rating) == (4, None, 1)
    assert lost.failure.reason == "refused"
    assert judgment.score == pytest.approx((one.score + lost.first.score) / 2, abs=1e-3)
    assert "unscored" in {f.kind for f in found.findings}


async def test_a_wrong_key_of_any_judge_ends_the_run_and_names_it(make_model):
    run = run_of(make_model(rates(4)), make_model(faults=[Fault("unauthorized")]))
    with pytest.raises(FatalModelError, match="openai/judge-b"):
        await evaluate(run)
    with pytest.raises(FatalModelError, match="openai/judge-b"):
        await run_job(JOB, run, None)


async def test_an_answer_that_names_its_rubrics_is_judged_on_these(make_model):
    models = [make_model(rates(1)), make_model(rates(5))]
    record = RECORD.model_copy(update={"rubrics": ("relevancy",)})
    found = await evaluate(run_of(*models), record)
    assert [j.rubric for j in found.judgments] == ["relevancy"]
    assert [m.n_requests for m in models] == [2, 2]


async def test_the_first_judge_alone_does_all_but_the_rubrics(make_model):
    models = [make_model(rates(4)), make_model(rates(4))]
    found = await evaluate(run_of(*models, only=()))
    assert models[1].n_requests == 2
    assert models[0].n_requests > 2
    assert found.labels and found.judge == "openai/judge-a"
    assert found.scores["sentences.required"].judge == "openai/judge-a"


@pytest.mark.parametrize("ratings", [(3, 4), (1, 5)])
async def test_progress_and_plan_know_the_calls_of_all_judges(make_model, ratings):
    models = [make_model(rates(rating)) for rating in ratings]
    run = run_of(*models)
    n_expected, n_done, usage = await watch(run)
    assert n_expected == n_done
    n_asked = sum(m.n_requests for m in models)
    assert usage.n_calls == n_asked == (8 if ratings == (1, 5) else 4)
    assert plan(JOB, run).n_calls == 8


async def test_calls_beside_a_wrong_key_are_kept(make_model, tmp_path):
    slow, refused = make_model(rates(4), latency_s=0.5), make_model(faults=[Fault("unauthorized")])
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(FatalModelError):
        await run_job(JOB, run_of(slow, refused), folder)
    n_paid, mended = slow.n_requests, make_model(rates(4))
    await run_job(JOB, run_of(slow, mended), folder)
    assert n_paid and slow.n_requests == mended.n_requests == 2


async def test_a_panel_that_was_stopped_asks_for_nothing_again(make_model, tmp_path):
    """The second judge's key fails in the middle of the hearing; then it is right."""
    first = make_model(rates(5, 4))
    broken = make_model(rates(1, 2), faults=[Fault("unauthorized", contains=AGAIN)])
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(FatalModelError):
        await run_job(JOB, run_of(first, broken), folder)
    n_before = broken.n_requests
    mended = make_model(rates(1, 2))
    result = await run_job(JOB, run_of(first, mended), folder)
    assert n_before >= 3
    assert all(AGAIN in r.messages[-1]["content"] for r in mended.requests)
    assert mended.n_requests == 2
    asked = [r.key for r in first.requests]
    assert len(asked) == 4 + sum(r.attempt > 1 for r in first.requests)
    assert [j.rating for j in result.evaluations[0].judgments] == [3, 3]
    agreement = result.summary.panel
    assert (agreement.n_disputed, agreement.n_heard_again, agreement.n_moved) == (2, 4, 4)
    n_asked = first.n_requests
    again = await run_job(JOB, run_of(first, mended), folder)
    assert (first.n_requests, mended.n_requests) == (n_asked, 2)
    assert again.evaluations == result.evaluations


async def test_a_run_folder_names_all_judges_and_no_endpoint(make_model, tmp_path):
    models = [make_model(rates(4)), make_model(rates(2))]
    folder = RunFolder(tmp_path / "run")
    result = await run_job(JOB, run_of(*models), folder)
    assert result.manifest.judge == "openai/judge-a"
    assert [member.judge for member in result.manifest.panel] == ["openai/judge-b"]
    assert "127.0.0.1" not in folder.manifest_file.read_text()


def rated(judge: str, rating: int | None) -> Judgment:
    score = None if rating is None else float(rating)
    return Judgment(rubric="cohesion", judge=judge, rating=rating, score=score)


@pytest.fixture
def run() -> Run:
    """Two judges that nobody asks."""
    return build_word_run(model="openai/a", panel=("openai/b",), signals=False)


@pytest.fixture
def alone() -> Run:
    """One judge that nobody asks."""
    return build_word_run(model="openai/a", signals=False)


def test_verdicts_are_kept_by_judge_by_what_it_heard_and_by_what_it_said(run):
    def again(own: int, other: int) -> str:
        first = [rated("openai/a", own), rated("openai/b", other)]
        return asked.build_second_round(first)["openai/a"].compute_key(one)

    asked = question(RUBRIC, "cohesion", filed(CASE), run)
    one, two = run.judge.members
    keys = [asked.compute_key(judge) for judge in (one, two, run.judge)]
    keys += [again(5, 2), again(5, 1), again(4, 1)]
    assert len(set(keys)) == len(keys)


def test_a_plan_counts_each_rating_of_a_panel_twice_at_most(run, alone):
    assert RUBRIC.count_max_calls(filed(CASE), alone) == 9
    assert RUBRIC.count_max_calls(filed(CASE), run) == 36
    assert RUBRIC.count_max_calls(filed(CASE.model_copy(update={"sentences": ()})), run) == 0


def test_a_single_judge_is_no_member(run, alone):
    assert [one.name for one in run.judge.members] == ["openai/a", "openai/b"]
    assert alone.judge.members == ()
    assert alone.judge.find_member("") is alone.judge
    assert run.judge.find_member("openai/a").lm is run.judge.lm
    assert run.judge.find_member("openai/b").lm.model == "openai/b"
    assert alone.identity != run.identity
    assert (alone.n_slots, run.n_slots) == (16, 32)


def test_others_are_told_by_rating_sentences_and_reason_on_one_line_each():
    reason = "Two\nlines {rating} {0} %s"
    ratings = [
        Judgment(rubric="r", rating=2, score=2.2, judge="x", sentences=(1, 4), rationale=reason),
        Judgment(rubric="r", scale=(0, 1), rating=1, score=1.0, judge="y"),
    ]
    assert format_other_ratings(ratings) == (
        "1. It rated the answer 2 on a scale from 1 to 5. Sentences that it points to: 1, 4. "
        "Its reason: Two lines {rating} {0} %s\n"
        "2. It rated the answer 1 on a scale from 0 to 1."
    )


def test_nobody_confers_who_gave_no_rating_or_sits_alone():
    found = list_disputed_members([rated("c", 5), rated("b", None), rated("a", 1)])
    heard = [(one.judge, one.rating, [other.judge for other in others]) for one, others in found]
    assert heard == [("a", 1, ["c"]), ("c", 5, ["a"])]
    assert list_disputed_members([rated("a", 3), rated("b", 4)]) == []
    assert list_disputed_members([rated("", 1), rated("", 5)]) == []


WITH_BASE = {"model": "openai/a", "panel": (EMBEDDED_BASE,), **ONE}


def test_what_is_rated_by_signals_is_heard_and_hears_nobody():
    ratings = [rated("openai/a", 5), rated(EMBEDDED_BASE, 1)]
    subject = AskedRubric("cohesion")
    run = build_run(load_settings(**WITH_BASE, signals=True))
    assert list(RUBRIC.build_second_round(subject, ratings, run)) == ["openai/a"]
    assert RUBRIC.count_max_calls(filed(CASE), run) == 2
    unmeasured = build_run(load_settings(**WITH_BASE, signals=False))
    both = RUBRIC.build_second_round(subject, ratings, unmeasured)
    assert len(both) == 2, "without signals it is asked as any other"


def test_a_compiled_prompt_is_said_by_the_members_that_take_one(tmp_path):
    prompt = CompiledPrompt(
        agent="rubric_judge",
        predictors={"predict": CompiledPredictor(instructions="Rate.")},
        optimizer="copro",
        model="openai/a",
        **dict.fromkeys(("budget", "n_train", "n_dev"), 1),
        **dict.fromkeys(("data_sha256", "dev_sha256", "before_sha256", "after_sha256"), "d"),
        is_better=True,
        ragassay="0",
    )
    file = tmp_path / "prompt.json"
    file.write_text(prompt.model_dump_json(), encoding="utf-8")
    run = build_run(load_settings(**WITH_BASE, signals=True, prompts=(str(file),)))
    for member in run.judge.members:  # The embedded one has signals in its place, and no prompt.
        assert run.with_judge(member).judge is member


def test_an_endpoint_goes_to_the_judges_that_it_is_meant_for():
    here, there = "http://here/v1", "http://there/v1"
    panel = ("openai/b", f"openai/c@{there}", "mistral/d", TUNED_JUDGE)
    settings = load_settings(model="openai/a", panel=panel, api_base=here)
    judges = [settings.build_judge_settings(n).judge for n in range(5)]
    assert [one.api_base for one in judges] == [here, here, there, None, None]
    assert settings.judge.judges == ("openai/a", "openai/b", "openai/c", "mistral/d", TUNED_JUDGE)
    assert tuple(one.model for one in judges) == settings.judge.judges


def test_beside_an_embedded_judge_an_endpoint_is_the_hosted_one_s():
    settings = load_settings(model=TUNED_JUDGE, panel=("openai/b",), api_base="http://here/v1")
    tuned, hosted = (settings.build_judge_settings(n) for n in range(2))
    assert hosted.judge.api_base == "http://here/v1"
    assert (tuned.n_slots, hosted.n_slots) == (64, 16)
    behind = load_settings(model="openai/b", panel=(TUNED_JUDGE,))
    alone = load_settings(model=TUNED_JUDGE)
    assert behind.source_chars == settings.source_chars == alone.source_chars


@pytest.mark.parametrize(
    ("judges", "problem"),
    [
        (["openai/a", "openai/a"], "judges in a panel must be unique"),
        (["openai/a", "openai/a@http://there/v1"], "judges in a panel must be unique"),
        (["openai/a", ""], "judges in a panel must be unique"),
        (["openai/a@http://there/v1", "openai/b"], "openai/b has no endpoint, but openai/a@"),
    ],
)
def test_an_unclear_panel_is_refused(judges, problem):
    with pytest.raises(SettingsError, match=problem):
        load_settings(**convert_judges(judges))


def test_judges_as_a_user_lists_them():
    assert convert_judges([], "http://x") == {"api_base": "http://x"}
    assert convert_judges(["openai/a"]) == {"model": "openai/a", "panel": (), "api_base": None}
    assert convert_judges(["openai/a@https://x/v1", "vertex_ai/b@2025"]) == {
        "model": "openai/a",
        "panel": ("vertex_ai/b@2025",),
        "api_base": "https://x/v1",
    }
