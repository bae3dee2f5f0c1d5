"""Rate an answer on one rubric, with a published judge, in the form that it was trained on."""

from __future__ import annotations

import dspy

from ragassay.agents.calls import read_call
from ragassay.agents.published_prompts import render
from ragassay.agents.published_replies import rating_distribution, read_rating
from ragassay.judge_forms import SCALE, JudgeForm
from ragassay.models.gateway import metered
from ragassay.prompts import Rubric
from ragassay.records import Case, Judgment


async def rate_published(case: Case, rubric: Rubric, form: JudgeForm) -> Judgment:
    """Ask the model of DSPy's settings for a rating, and read its reply.

    Its reply is not bound to a schema: the judge has learnt one of its own. The score is the
    expectation over the rating's token where the model gives log-probabilities.

    Raises:
        ModelError: The call failed; the type says how.
        ExtraError: The words of the form are not installed.
    """
    lm = dspy.settings.lm
    most = max(form.max_reply_tokens, lm.kwargs.get("max_tokens") or 0)
    with metered() as meter:
        found, weights = await read_call(
            lm,
            render(form, case, rubric),
            {"max_tokens": most},
            lambda reply: (
                read_rating(form, reply["text"], rubric.name),
                rating_distribution(form, reply["logprobs"], rubric.name),
            ),
        )
    low, high = SCALE
    score = float(found.rating)
    if weights is not None:
        ratings = range(low, high + 1)
        score = sum(rating * weight for rating, weight in zip(ratings, weights, strict=True))
    return Judgment(
        rubric=rubric.name,
        scale=SCALE,
        rating=found.rating,
        score=round(min(float(high), max(float(low), score)), 4),
        distribution=tuple(round(weight, 6) for weight in weights) if weights else None,
        rationale=found.rationale,
        usage=meter.usage,
    )
