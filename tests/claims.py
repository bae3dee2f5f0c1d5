"""A small task in which a prompt can improve, and a model that responds to the improvement."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from ragassay.testing import default_reply

TRUTHS = {"rises": "supports", "falls": "contradicts", "is measured": "neutral"}
WISE = "Look at the verb"


def verdict_reply(
    messages: Sequence[Mapping[str, object]], schema: Mapping[str, object] | None
) -> str | Mapping[str, object]:
    """Reply neutral to everything, unless the prompt contains the good instruction or examples."""
    text = "\n".join(str(message["content"]) for message in messages)
    properties = schema["properties"] if schema else {}
    assert isinstance(properties, Mapping)
    if "verdict" in properties:
        told = text.rsplit("Task: ", 1)[1]
        truth = next(label for verb, label in TRUTHS.items() if verb in told.split("claim:")[1])
        return {"verdict": truth if WISE in told or "Example\n" in text else "neutral"}
    if set(properties) & {"better_instruction", "proposed_instruction"}:
        return dict.fromkeys(properties, f"{WISE} of the claim, and compare it with the passage.")
    return default_reply(messages, schema)


def write_claims(path: Path, first: int, n: int) -> Path:
    """Write claims about drugs with a passage, rotating through three verdicts."""
    verbs = list(TRUTHS)
    with path.open("w", encoding="utf-8") as file:
        for i in range(first, first + n):
            row = {
                "claim": f"Marker {i} {verbs[i % 3]} under drug {i}.",
                "evidence": f"Marker {i} was higher with drug {i}.",
                "label": TRUTHS[verbs[i % 3]],
            }
            file.write(json.dumps(row) + "\n")
    return path
