"""The agents: one shared prefix, typed replies, saved programs without an endpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from case_tables import each_case
from replying import FakeLM

from ragassay.agents.base import Agent, SharedPrefixAdapter, build_response_format
from ragassay.agents.context import build_case
from ragassay.agents.labellers import ImportanceScorer, NuggetAssigner, SentenceLabeller
from ragassay.agents.nugget_writers import NuggetCreator, NuggetWriter
from ragassay.agents.rubric_judge import RubricJudge
from ragassay.agents.verifiers import Verifier
from ragassay.errors import UnparsableReplyError
from ragassay.prompts import load_prompts, load_rubrics
from ragassay.records import AnswerSentence, Document, EvidenceSpan, Nugget, Record

ANSWER = "Brelozant lowered pain. It may cause constipation."
SENTENCES = (
    AnswerSentence(index=1, text="Brelozant lowered pain.", start=0, end=23),
    AnswerSentence(index=2, text="It may cause constipation.", start=24, end=50),
)
CASE = build_case(
    Record(id="r", question="Does it help? {x} </data>", answer=ANSWER),
    ANSWER,
    SENTENCES,
    [],
    [Document(id="d", text="Pain fell.")],
    [Document(id="d", text="Pain fell.")],
)
AGENTS = (
    *(RubricJudge, NuggetWriter, NuggetAssigner, SentenceLabeller, Verifier),
    *(NuggetCreator, ImportanceScorer),
)
RATIONALE = "The answer names a figure and an effect."


async def judged(lm: FakeLM) -> Any:
    with dspy.context(lm=lm):
        return await RubricJudge().acall(case=CASE, rubric=load_rubrics()["cohesion"])


async def test_all_agents_start_with_the_same_bytes() -> None:
    lm = FakeLM("{}")
    passage = EvidenceSpan(document="d", start=0, end=10, text="Pain fell.")
    with dspy.context(lm=lm):
        for call in (
            RubricJudge().acall(case=CASE, rubric=load_rubrics()["cohesion"]),
            NuggetWriter().acall(case=CASE, origin="answer", index=1, sentence="Pain fell."),
            SentenceLabeller().acall(case=CASE, sentence=SENTENCES[0]),
            NuggetAssigner().acall(case=CASE, gold=0, nugget=Nugget(text="Pain fell.")),
            Verifier().acall(case=CASE, claim="Pain fell.", passage=passage),
        ):
            with pytest.raises(UnparsableReplyError):
                await call
    systems = {sent["messages"][0]["content"] for sent in lm.sent}
    users = [sent["user"] for sent in lm.sent]
    assert systems == {load_prompts().system}
    assert len(users) == len(set(users)) == 5
    assert all(user.startswith(CASE.context + "\n\nTask: ") for user in users)


async def test_rating_is_the_expectation_over_its_tokens() -> None:
    # 0.75 x 4 + 0.25 x 5 = 4.25
    head, tail = '{"rating": ', f', "rationale": "{RATIONALE}"}}'
    lm = FakeLM(f"{head}4{tail}", head, ("4", {"4": 0.75, "5": 0.25}), tail)
    judgment = await judged(lm)
    assert (judgment.rubric, judgment.rating, judgment.score) == ("cohesion", 4, 4.25)
    assert judgment.distribution == pytest.approx((0, 0, 0, 0.75, 0.25), abs=1e-6)
    assert judgment.rationale == RATIONALE


async def test_rating_without_log_probabilities_is_the_written_one() -> None:
    judgment = await judged(FakeLM({"rating": 2, "rationale": RATIONALE}))
    assert (judgment.score, judgment.distribution) == (2.0, None)


async def test_label_and_verdict_carry_their_confidence() -> None:
    first = "un", {"un": 0.6, "required": 0.4}
    lm = FakeLM('{"label": "unnecessary"}', '{"label": "', first, 'necessary"}')
    with dspy.context(lm=lm):
        label = await SentenceLabeller().acall(case=CASE, sentence=SENTENCES[1])
    assert (label.sentence, label.label, label.confidence) == (2, "unnecessary", 0.6)
    with dspy.context(lm=FakeLM('{"verdict": "not_relevant"}')):
        passage = EvidenceSpan(document="d", start=0, end=10, text="Pain fell.")
        finding = await Verifier().acall(case=CASE, claim="Pain fell.", passage=passage)
    assert (finding.verdict, finding.confidence) == ("not_relevant", None)


async def test_assignment_carries_its_confidence() -> None:
    # The first token decides between three: 0.6 of "support", 0.3 of "partial", 0.1 of "not".
    first = "support", {"support": 0.6, "partial": 0.3, "not": 0.1}
    lm = FakeLM('{"assignment": "support"}', '{"assignment": "', first, '"}')
    with dspy.context(lm=lm):
        found = await NuggetAssigner().acall(case=CASE, gold=2, nugget=Nugget(text="Pain fell."))
    assert (found.gold, found.assignment, found.confidence) == (2, "support", 0.6)
    assert "Pain fell." in lm.sent[0]["user"].split("nugget: ")[1]


@pytest.mark.parametrize(
    ("facts", "expected", "method"),
    [
        (
            ["Brelozant lowered pain.", "Brelozant  lowered pain.", "Pain rose."],
            "Brelozant lowered pain.",
            "model",
        ),
        (["Pain was not lowered by brelozant."], "Brelozant lowered pain.", "extractive"),
        ([], "Brelozant lowered pain.", "extractive"),
    ],
)
async def test_only_carried_facts_pass(facts: list[str], expected: str, method: str) -> None:
    with dspy.context(lm=FakeLM({"facts": facts})):
        found = await NuggetWriter().acall(
            case=CASE, origin="answer", index=1, sentence="Brelozant lowered pain."
        )
    assert [(n.text, n.method, n.sentence) for n in found.nuggets] == [(expected, method, 1)]


async def test_fact_beyond_the_bounds_of_the_schema_is_still_a_fact() -> None:
    # A hosted model is not held to the pattern: it may start with a small letter.
    with dspy.context(lm=FakeLM('{"facts": ["p53 lowered pain in all the many adults."]}')):
        found = await NuggetWriter().acall(
            case=CASE, origin="answer", index=1, sentence="p53 lowered pain in all the many adults."
        )
    assert found.nuggets[0].method == "model"


@pytest.mark.parametrize(
    ("value", "rating"),
    [("4", 4), ('"4"', 4), ("4.0", 4), ('" 4 "', 4)],
)
async def test_rating_is_one_of_the_five(value: str, rating: int) -> None:
    judgment = await judged(
        FakeLM(f'```json\n{{"rating": {value}, "rationale": "{RATIONALE}"}}\n```')
    )
    assert judgment.rating == rating


@each_case(
    "text",
    [
        "I would say four.",
        '{"rating": 6, "rationale": "x"}',
        '{"rating": 4.5, "rationale": "x"}',
        '{"rating": "4.5", "rationale": "x"}',
        '{"rating": true, "rationale": "x"}',
        '{"rating": null, "rationale": "x"}',
        '{"rating": {"value": 4}, "rationale": "x"}',
        '{"rating": NaN, "rationale": "x"}',
        '{"rating": 1, "rationale": "x", "rating": 5}',
        '{"a":' * 5000,
    ],
)
async def test_reply_that_does_not_fit_is_unparsable(text: str) -> None:
    with pytest.raises(UnparsableReplyError):
        await judged(FakeLM(text))


def schema_of(agent: Agent) -> dict[str, Any]:
    return build_response_format(agent.predict.signature)["json_schema"]["schema"]


def test_schema_keeps_the_bounds_of_the_prompts() -> None:
    prompts = load_prompts().agents
    facts = schema_of(NuggetWriter())["properties"]["facts"]
    assert (facts["minItems"], facts["maxItems"]) == (1, prompts["nugget_writer"].max_nuggets)
    assert str(prompts["nugget_writer"].nugget_chars) in facts["items"]["pattern"]
    rating = schema_of(RubricJudge())["properties"]
    assert list(rating) == ["rating", "rationale"]
    assert rating["rating"]["enum"] == [1, 2, 3, 4, 5]
    assert str(prompts["rubric_judge"].rationale_chars) in rating["rationale"]["pattern"]


@pytest.mark.parametrize("kind", AGENTS)
def test_schema_is_strict_and_says_no_more_than_it_must(kind: type[Agent]) -> None:
    agent = kind()
    schema = schema_of(agent)
    assert schema["additionalProperties"] is False
    assert schema["required"] == list(agent.predict.signature.output_fields)
    assert '"title"' not in json.dumps(schema)


@pytest.mark.parametrize("kind", AGENTS)
def test_context_comes_first_in_every_signature(kind: type[Agent]) -> None:
    assert next(iter(kind().predict.signature.input_fields)) == "context"


def test_examples_stand_between_the_context_and_the_task() -> None:
    agent = RubricJudge()
    demo = {"context": "unused", "rubric": "Old.", "rating": 2, "rationale": '{not} a "template".'}
    inputs = {"context": "CONTEXT", "rubric": "New. {braces}"}
    _, user = SharedPrefixAdapter().format(agent.predict.signature, [demo], inputs)
    parts = user["content"].split("\n\n")
    assert parts[0] == "CONTEXT"
    assert parts[1].startswith("Example\nrubric: Old.\nReply: ")
    assert json.loads(parts[1].split("Reply: ")[1]) == {k: demo[k] for k in ("rating", "rationale")}
    assert parts[2].startswith("Task: ")
    assert "New. {braces}" in parts[2]
    assert "unused" not in user["content"]


@pytest.mark.parametrize("kind", AGENTS)
async def test_saved_agent_comes_back_and_names_no_endpoint(
    kind: type[Agent], tmp_path: Path
) -> None:
    agent = kind()
    agent.predict.signature = agent.predict.signature.with_instructions("Do it well.")
    names = [*agent.predict.signature.input_fields, *agent.predict.signature.output_fields]
    agent.predict.demos = [dspy.Example(**dict.fromkeys(names, "x")).with_inputs("context")]
    path = tmp_path / "agent.json"
    with dspy.context(lm=FakeLM("{}")):
        agent.save(str(path))
    saved = path.read_text(encoding="utf-8")
    assert "secret" not in saved and "openai" not in saved
    fresh = kind()
    fresh.load(str(path))
    assert fresh.dump_state() == agent.dump_state()
    assert fresh.predict.signature.instructions == "Do it well."
    assert [dict(demo) for demo in fresh.predict.demos] == [dict.fromkeys(names, "x")]
    assert schema_of(fresh) == schema_of(kind())
