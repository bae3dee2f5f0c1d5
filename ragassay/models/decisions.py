"""Query label probabilities through the decisions API of LiteLLM.

OpenAI and Azure (`/v1/decisions`), and vLLM and other servers (`/v1/systemone`), offer an API that
takes a prompt and a set of labels and returns a probability for each label, without generating
text. `litellm.adecisions` supports both endpoints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragassay.errors import TransientModelError
from ragassay.models.call_reply import identify_system
from ragassay.models.provider_errors import convert_error
from ragassay.records import Usage

if TYPE_CHECKING:
    from ragassay.models.gateway import JudgeLM

N_TRIES = 2


async def decide(
    lm: JudgeLM, prompt: str, choices: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]] | None:
    """Return the label probabilities for each field of a reply.

    Args:
        lm: Judge whose endpoint is called and whose limits apply. If the provider does not support
            the API, `lm.has_decisions` is set to False.
        prompt: Prompt that asks for a reply with these fields.
        choices: Labels of each field: from 2 to 255 labels per field.

    Returns:
        Probabilities by field and label, normalized to sum to 1 per field, or None if the response
        is invalid.

    Raises:
        FatalModelError: The cost limit of the run is reached.
    """
    for _ in range(N_TRIES):
        async with lm.admit() as paid:
            try:
                response = await _ask(lm, prompt, choices)
            except Exception as error:  # Providers raise their own types, converted here.
                typed = convert_error(error, lm.model, lm.kwargs.get("api_base") or "", None)
                if isinstance(typed, TransientModelError):
                    continue
                lm.has_decisions = False
                return None
            paid.usage = _read_usage(response, lm.model)
        found = {
            name: _extract_shares(response.answers, name, labels)
            for name, labels in choices.items()
        }
        usable = {name: shares for name, shares in found.items() if shares}
        return usable if len(usable) == len(choices) else None
    return None


async def _ask(lm: JudgeLM, prompt: str, choices: Mapping[str, Sequence[str]]) -> Any:
    import litellm

    return await litellm.adecisions(
        model=lm.model,
        input=prompt,
        questions=[_build_question(field, labels) for field, labels in choices.items()],
        api_base=lm.kwargs.get("api_base"),
        timeout=lm.kwargs.get("timeout"),
        drop_params=True,
    )


def _build_question(field: str, labels: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "choice",
        "name": field,
        "instructions": f"Which {field!r} does the right reply to this prompt have?",
        "choices": [{"value": label} for label in labels],
    }


def _extract_shares(
    answers: Sequence[Any], field: str, labels: Sequence[str]
) -> dict[str, float] | None:
    """Return the probabilities of a field, normalized over its labels, or None if invalid."""
    answer = next((item for item in answers if getattr(item, "name", None) == field), None)
    by_value = {str(item.value): item.probability for item in getattr(answer, "probabilities", ())}
    shares = {label: by_value.get(label, 0.0) for label in labels}
    total = math.fsum(shares.values())
    is_usable = all(math.isfinite(share) and share >= 0 for share in shares.values()) and total > 0
    return {label: share / total for label, share in shares.items()} if is_usable else None


def _read_usage(response: Any, model: str) -> Usage:
    usage = response.usage
    return Usage(
        n_calls=1,
        n_prompt_tokens=getattr(usage, "input_tokens", 0) or 0,
        n_completion_tokens=getattr(usage, "output_tokens", 0) or 0,
        cost_usd=response.hidden_params.get("response_cost"),
        answered_by=(identify_system(model, response),),
    )
