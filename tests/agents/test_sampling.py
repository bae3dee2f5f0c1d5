"""A judge is asked once, or several times where only that gives a distribution."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import dspy
import pytest

from ragassay.agents.context import build_case
from ragassay.agents.nugget_writers import NuggetWriter
from ragassay.agents.rubric_judge import Asker, RubricJudge, build_rating_signature
from ragassay.agents.sampling import (
    Decision,
    Samples,
    build_sample_options,
    choose_typical_reply,
    list_label_choices,
    read_choice_distribution,
)
from ragassay.agents.verifiers import Verifier
from ragassay.errors import (
    BudgetError,
    FatalModelError,
    RefusedError,
    TransientModelError,
    UnparsableReplyError,
)
from ragassay.models.gateway import JudgeLM
from ragassay.prompts import load_rubrics
from ragassay.records import AnswerSentence, Document, Record
from ragassay.settings import load_settings

ANSWER = "Brelozant lowered pain."
SENTENCE = AnswerSentence(index=1, text=ANSWER, start=0, end=len(ANSWER))
CASE = build_case(
    Record(id="r", question="Does it help?", answer=ANSWER),
    ANSWER,
    [SENTENCE],
    [],
    [Document(id="d", text="Pain fell.")],
    [Document(id="d", text="Pain fell.")],
)
RATIONALE = "The answer names a figure and an effect."
BUSY = TransientModelError("busy", "rate_limit")


class SampledLM(dspy.LM):
    """A judge that gives one value after the other, or an error; it keeps the options."""

    takes_schema = False
    has_decisions = False
    is_batched = False

    def __init__(self, values: list[Any], field: str = "rating", **known: Any) -> None:
        super().__init__("openai/fake", temperature=0, seed=7)
        self.values, self.field = list(values), field
        self.n_samples: int = known.get("n_samples", 5)
        self.gives_logprobs: bool | None = known.get("gives_logprobs", False)
        self.first_reply = asyncio.Lock()
        self.sent: list[dict[str, Any]] = []
        self.logprobs: Any = None

    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> list[Any]:
        self.sent.append(kwargs)
        value = self.values.pop(0)
        if isinstance(value, Exception):
            raise value
        text = value if isinstance(value, str) and value.startswith("{") else ""
        reply = json.dumps({self.field: value, "rationale": f"{RATIONALE} {len(self.sent)}"})
        return [{"text": text or reply, "logprobs": self.logprobs}]


async def rating(lm: Any) -> Any:
    with dspy.context(lm=lm):
        return await RubricJudge().acall(case=CASE, rubric=load_rubrics()["cohesion"])


async def test_a_rating_is_the_share_of_each_value_and_the_score_their_mean():
    lm = SampledLM([3, 4, 4, 5, 4])
    found = await rating(lm)
    # (3 + 4 + 4 + 5 + 4) / 5 = 4
    assert (found.rating, found.score) == (4, 4.0)
    assert found.distribution == (0, 0, 0.2, 0.6, 0.2)
    assert found.rationale == f"{RATIONALE} 2", "of the first sample with the most frequent rating"
    assert found.usage.confidence_from == ("5 samples",)
    assert [one["temperature"] for one in lm.sent] == [1.0] * 5
    assert [one["seed"] for one in lm.sent] == [7, 8, 9, 10, 11], "else all would be one reply"
    assert all(one["logprobs"] is None for one in lm.sent)


async def test_labels_are_sampled_by_the_same_seam():
    said = ["supports", "neutral", "supports", "supports"]
    lm = SampledLM(said, "verdict", n_samples=4)
    with dspy.context(lm=lm):
        found = await Verifier().compare(CASE, "Pain fell.", "Pain fell.")
    assert (found.verdict, found.confidence) == ("supports", 0.75)
    assert found.entropy_bits == pytest.approx(0.8113, abs=1e-4)
    assert found.usage.confidence_from == ("4 samples",)
    own = SampledLM(["no", "yes", "yes"], "reply", n_samples=3)
    with dspy.context(lm=own):
        reply, usage = await Asker().acall(case=CASE, question="Is it?", values=("yes", "no"))
    assert (reply.value, reply.confidence) == ("yes", pytest.approx(0.6667))
    assert usage.confidence_from == ("3 samples",)


@pytest.mark.parametrize(
    ("values", "score", "source", "n_failed"),
    [
        ([3, UnparsableReplyError("x"), 5, 4, 4], 4.0, "4 of 5 samples", 1),
        ([RefusedError("x"), 2, 2, RefusedError("x"), 2], 2.0, "3 of 5 samples", 2),
        (["{}", 4, 4, 4, '{"rating": 9}'], 4.0, "3 of 5 samples", 2),
        ([3, BUSY, 5, 4, 4, 4], 4.0, "5 samples", 0),  # drawn once more
        ([BUSY, 4, 4, 4, 4, 4], 4.0, "5 samples", 0),
        ([4, 4, 4, BUSY, BUSY, BUSY, 4], 4.0, "4 of 5 samples", 1),
    ],
)
async def test_a_sample_that_fails_is_left_out_and_counted(values, score, source, n_failed):
    found = await rating(SampledLM(values))
    assert (found.score, found.usage.n_failed_samples) == (score, n_failed)
    assert found.usage.confidence_from == (source,)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([UnparsableReplyError("x")] * 5, UnparsableReplyError),
        ([RefusedError("x")] * 5, RefusedError),
        ([BUSY] * 10, TransientModelError),
        ([4, FatalModelError("a wrong key"), 4, 4, 4], FatalModelError),
        ([4, 4, BudgetError("spent"), 4, 4], BudgetError),
    ],
)
async def test_without_a_usable_sample_the_first_error_stands_and_a_fatal_one_at_once(values, kind):
    with pytest.raises(kind):
        await rating(SampledLM(values))


@pytest.mark.parametrize(
    ("known", "values", "n_calls", "source"),
    [
        ({"n_samples": 1}, [4], 1, "the written rating alone"),
        ({"n_samples": 1, "gives_logprobs": None}, [4], 1, "the written rating alone"),
        ({"n_samples": 3, "gives_logprobs": None}, [4, 4, 4, 4], 4, "3 samples"),
        ({"n_samples": 3, "gives_logprobs": False}, [4, 4, 4], 3, "3 samples"),
    ],
)
async def test_how_often_a_judge_is_asked(known, values, n_calls, source):
    lm = SampledLM(values, **known)
    found = await rating(lm)
    assert (len(lm.sent), found.usage.confidence_from) == (n_calls, (source,))
    assert lm.gives_logprobs is False


async def test_a_judge_with_log_probabilities_is_asked_once_and_remembered():
    lm = SampledLM([4, 4], gives_logprobs=None)
    lm.logprobs = SimpleNamespace(content=[SimpleNamespace(token="a", top_logprobs=[], logprob=0)])
    for _ in range(2):
        found = await rating(lm)
        assert found.usage.confidence_from == ("log-probabilities",)
    assert lm.gives_logprobs is True and lm.sent == [{}, {}]


async def test_questions_wait_for_the_reply_that_shows_whether_samples_are_needed():
    lm = SampledLM([4] * 7, n_samples=2, gives_logprobs=None)
    found = await asyncio.gather(*(rating(lm) for _ in range(3)))
    assert len(lm.sent) == 1 + 3 * 2
    assert all(one.usage.confidence_from == ("2 samples",) for one in found)


async def test_what_has_no_labels_is_never_sampled():
    lm = SampledLM(['{"facts": ["Brelozant lowered pain."]}'])
    with dspy.context(lm=lm):
        await NuggetWriter().acall(case=CASE, origin="answer", index=1, sentence=CASE.answer)
    assert len(lm.sent) == 1


async def test_the_first_sample_goes_alone_so_that_the_others_find_its_prompt_in_a_cache():
    in_flight, most = 0, []

    class Waiting(SampledLM):
        async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
            nonlocal in_flight
            in_flight += 1
            most.append(in_flight)
            await asyncio.sleep(0)
            in_flight -= 1
            return await super().acall(prompt, messages=messages, **kwargs)

    await rating(Waiting([4] * 5))
    assert most == [1, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "place", "expected"),
    [
        ({"temperature": 0, "seed": 1}, 0, {"temperature": 1.0, "seed": 1}),
        ({"temperature": 0, "seed": 1}, 4, {"temperature": 1.0, "seed": 5}),
        ({"temperature": None, "seed": 1}, 1, {"temperature": 1.0, "seed": 2}),  # a reasoning model
        ({}, 3, {"temperature": 1.0}),
        ({"temperature": 0, "seed": None}, 3, {"temperature": 1.0}),
    ],
)
def test_options_of_a_sample(options, place, expected):
    assert build_sample_options(options, place) == {
        "logprobs": None,
        "top_logprobs": None,
        **expected,
    }


def test_shares_are_over_the_usable_replies_and_any_label_may_have_none():
    replies = tuple(dspy.Prediction(rating=r, other="no") for r in (2, 2, 5))
    found = Samples(replies, n_failed=2)
    labels = [str(n) for n in range(1, 6)]
    third = pytest.approx([0, 2 / 3, 0, 0, 1 / 3])
    assert list(found.compute_shares("rating", labels).values()) == third
    assert read_choice_distribution(found, "rating", labels) == found.compute_shares(
        "rating", labels
    )
    assert read_choice_distribution(found, "other", ["yes", "no"]) == {"yes": 0.0, "no": 1.0}
    assert found.name == "3 of 5 samples"
    decided = Decision({"rating": {"1": 0.25, "3": 0.75}})
    assert read_choice_distribution(decided, "rating", ["1", "2", "3"]) == {
        "1": 0.25,
        "2": 0,
        "3": 0.75,
    }


def test_of_several_ratings_in_one_reply_the_most_frequent_ones_choose():
    replies = [dspy.Prediction(a=a, b=b) for a, b in ((1, 5), (1, 4), (2, 4), (1, 4))]
    assert choose_typical_reply(replies, ["a", "b"]) is replies[1]
    assert choose_typical_reply(replies[:1], ["a", "b"]) is replies[0]


def test_fields_with_labels_are_those_that_can_have_a_distribution():
    assert list_label_choices(build_rating_signature((0, 2))) == {"rating": ("0", "1", "2")}
    free: Any = NuggetWriter().predict
    assert list_label_choices(free.signature) == {}


def test_a_judge_knows_its_samples_and_sends_a_seed_where_the_provider_takes_one():
    hosted = JudgeLM(load_settings(model="openai/gpt-4.1-mini", samples=5, judge_seed=11))
    assert (hosted.n_samples, hosted.kwargs["seed"], hosted.gives_logprobs) == (5, 11, None)
    without = JudgeLM(load_settings(model="anthropic/claude-sonnet-4-5"))
    assert "seed" not in without.kwargs and without.gives_logprobs is False
    local = JudgeLM(load_settings(model="ragassay/judge", samples=5))
    assert local.gives_logprobs is True and "seed" not in local.kwargs


@pytest.mark.parametrize("gives_logprobs", [True, False])
async def test_errors_that_are_no_model_errors_pass(gives_logprobs):
    with pytest.raises(KeyError):
        await rating(SampledLM([KeyError("a bug")] * 5, gives_logprobs=gives_logprobs))
