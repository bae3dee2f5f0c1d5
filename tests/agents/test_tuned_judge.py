"""The prompt of a fine-tuned judge's rating: the answer, what was seen in it, the rubric."""

from __future__ import annotations

import json

import dspy
import pytest

from ragassay.agents.base import build_response_format
from ragassay.agents.tuned_judge import MOST_SENTENCES, RateAnswer, TunedJudge, read_context
from ragassay.models.gateway import JudgeLM
from ragassay.records import AnswerSentence, Case, Reading
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel


def case(*sentences: str) -> Case:
    return Case(
        record_id="a",
        question="Does it help?",
        answer=" ".join(sentences),
        sentences=tuple(
            AnswerSentence(index=n, text=text, start=0, end=len(text))
            for n, text in enumerate(sentences, 1)
        ),
    )


def test_the_prompt_goes_on_where_reading_ended_and_names_what_was_seen() -> None:
    cut = case("It helps.", "The match was lost.", "Wow!")
    shown = TunedJudge().build_messages(cut, {3: "chatty", 2: "subject"}, "relevancy")[-1][
        "content"
    ]
    assert shown.startswith(read_context(cut, MOST_SENTENCES))
    assert shown.endswith("\nmarks: 2 subject, 3 chatty\nrubric: relevancy")
    fine = TunedJudge().build_messages(cut, {}, "relevancy")[-1]["content"]
    assert fine.endswith("\nmarks: none\nrubric: relevancy")


def test_the_reply_rates_before_it_reasons() -> None:
    schema = build_response_format(RateAnswer)["json_schema"]["schema"]["properties"]
    assert list(schema) == ["rating", "rationale"]


@pytest.mark.integration
async def test_a_reply_becomes_a_judgment_with_the_sentences_that_it_names() -> None:
    reply = {"rating": 2, "rationale": "Sentences 2 and 9 are about another subject."}
    reading = Reading(marks=("fine", "subject", "subject", "again"))
    with ScriptedModel(lambda request, rng: json.dumps(reply)) as model:
        settings = load_settings(model="openai/scripted", api_base=model.base_url)
        with dspy.context(lm=JudgeLM(settings)):
            found = await TunedJudge().acall(
                case=case("It helps.", "Goal!", "Goal!", "Goal!"),
                reading=reading,
                rubric="relevancy",
            )
    assert (found.rubric, found.rating, found.sentences) == ("relevancy", 2, (2, 3))
    assert found.rationale == reply["rationale"] and found.distribution is not None
