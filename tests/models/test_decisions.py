"""Probabilities of given labels, without text, where a model has LiteLLM's decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from case_tables import each_case
from loopback import serve

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.rubric_judge import build_judgment, build_rating_signature
from ragassay.models.decisions import decide
from ragassay.models.gateway import JudgeLM, takes_decisions
from ragassay.models.litellm_library import import_litellm
from ragassay.settings import load_settings

pytestmark = pytest.mark.integration

RATINGS = tuple("12345")
EVEN = dict.fromkeys(RATINGS, 0.2)
VERDICT = {"rating": 4, "rationale": "The answer names a figure and an effect."}
MESSAGES = [{"role": "system", "content": "Be fair."}, {"role": "user", "content": "Rate it."}]


MESSAGE = {"role": "assistant", "content": json.dumps(VERDICT)}
COMPLETION = {
    "id": "chatcmpl-1",
    "model": "scripted",
    "system_fingerprint": "scripted",
    "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


@dataclass
class Double:
    """Speaks chat completions, OpenAI's decisions and vLLM's System One; keeps the bodies.

    Attributes:
        answers: The next decisions: probabilities, or a status. The last one stays.
    """

    answers: list[Any] = field(default_factory=list)
    bodies: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    url: str = ""

    def paths(self) -> list[str]:
        return [path.removeprefix("/v1/") for path, _ in self.bodies]

    def reply(self, path: str, sent: bytes) -> tuple[int, bytes, dict[str, str]]:
        body = json.loads(sent)
        self.bodies.append((path, body))
        status, found = 200, COMPLETION
        if not path.endswith("/chat/completions"):
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, int):
                status, found = answer, {"error": {"message": "no"}}
            else:
                found = (_systemone if path.endswith("/systemone") else _decisions)(body, answer)
        return status, json.dumps(found).encode(), {"Content-Type": "application/json"}


def _decisions(body: dict[str, Any], shares: dict[str, float]) -> dict[str, Any]:
    rows = [{"value": label, "probability": share} for label, share in shares.items()]
    answer = {"type": "choice", "choice": max(shares, key=shares.get), "confidence": 0.5}
    answers = [{**answer, "name": one["name"], "probabilities": rows} for one in body["questions"]]
    usage = {"input_tokens": 50, "output_tokens": 0, "total_tokens": 50}
    return {"model": "gpt-6-luna-2026-09-01", "answers": answers, "usage": usage}


def _systemone(body: dict[str, Any], shares: dict[str, float]) -> dict[str, Any]:
    answer = {"type": "choice", "choice": max(shares, key=shares.get), "confidence": 0.5}
    answers = {name: {**answer, "probabilities": shares} for name in body["questions"]}
    return {"model": "qwen", "answers": answers, "usage": {"input_tokens": 50}}


@pytest.fixture
def server() -> Iterator[Double]:
    double = Double()
    with serve(double.reply) as double.url:
        yield double


def judge(server: Double, model: str = "openai/gpt-6-luna", **options: Any) -> JudgeLM:
    return JudgeLM(load_settings(model=model, api_base=f"{server.url}/v1", **options))


class Rater(Agent):
    """Rates by a prompt that is always the same."""

    name = "rubric_judge"
    adapter: Any = SimpleNamespace(
        format=lambda *_: MESSAGES, parse=lambda signature, text: json.loads(text)
    )

    def request(self) -> AgentRequest:
        return AgentRequest(
            build_rating_signature((1, 5)), {}, (), lambda found, usage: (found, usage)
        )


async def rate(lm: JudgeLM) -> tuple[dspy.Prediction, Any]:
    with dspy.context(lm=lm):
        return await Rater(build_rating_signature((1, 5))).acall()


async def test_a_rating_has_the_probabilities_of_a_second_call_without_text(server):
    server.answers = [{"1": 0.0, "2": 0.0, "3": 0.25, "4": 0.5, "5": 0.25}]
    found, usage = await rate(judge(server))
    case: Any = SimpleNamespace(sentences=())
    judgment = build_judgment(found, usage, case, "cohesion", (1, 5))
    # 3 / 4 + 4 / 2 + 5 / 4 = 4
    assert (judgment.rating, judgment.score) == (4, 4.0)
    assert judgment.distribution == (0, 0, 0.25, 0.5, 0.25)
    assert usage.confidence_from == ("decisions",)
    assert (usage.n_calls, server.paths()) == (2, ["chat/completions", "decisions"])
    asked = server.bodies[1][1]
    assert asked["input"] == "Be fair.\n\nRate it."
    assert [choice["value"] for choice in asked["questions"][0]["choices"]] == list(RATINGS)
    assert usage.answered_by == (
        "openai/gpt-6-luna: gpt-6-luna-2026-09-01",
        "openai/gpt-6-luna: scripted scripted",
    )
    assert usage.cost_usd and usage.n_prompt_tokens >= 50


async def test_a_vllm_server_is_asked_where_the_setting_says_that_it_has_the_interface(server):
    server.answers = [EVEN]
    _, usage = await rate(judge(server, "hosted_vllm/qwen", decisions="on"))
    assert usage.confidence_from == ("decisions",)
    assert server.paths()[-1] == "systemone"
    assert server.bodies[-1][1]["questions"]["rating"]["criteria"].keys() == set(RATINGS)


@pytest.mark.parametrize(
    ("answers", "n_decisions", "still"),
    [
        ([404], 1, False),
        ([400], 1, False),
        ([500, EVEN], 2, True),
        ([500], 2, True),
        ([429], 2, True),
        ([dict.fromkeys(RATINGS, 0.0)], 1, True),
        ([{"yes": 0.5, "no": 0.5}], 1, True),
    ],
)
async def test_without_a_usable_answer_the_reply_stands_alone(server, answers, n_decisions, still):
    server.answers = list(answers)
    lm = judge(server, max_attempts=1)
    found, usage = await rate(lm)
    source = "decisions" if EVEN in answers else "the written rating alone"
    assert (found.rating, usage.confidence_from) == (4, (source,))
    assert server.paths().count("decisions") == n_decisions
    assert lm.has_decisions is still and lm.fatal is None


async def test_samples_are_drawn_where_the_decisions_turn_out_to_be_missing(server):
    server.answers = [404]
    lm = judge(server, samples=3)
    for _ in range(2):
        _, usage = await rate(lm)
        assert usage.confidence_from == ("3 samples",)
    assert server.paths().count("decisions") == 1


async def test_the_labels_that_were_asked_for_share_the_probability(server):
    server.answers = [{"yes": 0.3, "no": 0.1, "perhaps": 0.6}]
    found = await decide(judge(server), "Is it?", {"label": ("yes", "no")})
    assert found == {"label": {"yes": pytest.approx(0.75), "no": pytest.approx(0.25)}}


@each_case(
    ("model", "decisions", "has_logprobs", "expected"),
    [
        ("openai/gpt-6-luna", "auto", False, True),
        ("gpt-6-luna", "auto", False, True),
        ("openai/gpt-6-luna", "auto", True, False),  # they come with the reply
        ("openai/gpt-6-luna", "on", True, True),
        ("openai/gpt-6-luna", "off", False, False),
        ("openai/gpt-4.1-mini", "auto", False, False),
        ("openai/team-judge", "auto", False, False),
        ("hosted_vllm/qwen", "auto", False, False),
        ("hosted_vllm/qwen", "on", False, True),
        ("anthropic/claude-sonnet-4-5", "auto", False, False),
    ],
)
def test_which_judges_are_asked_for_decisions(model, decisions, has_logprobs, expected):
    settings = load_settings(model=model, decisions=decisions)
    assert takes_decisions(settings, import_litellm(), has_logprobs) is expected
