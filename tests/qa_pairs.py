"""A synthetic paper, question-answer pairs about it, and a judge that reads the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragassay.records import Paper, PaperSection, QAPair
from ragassay.testing import last_user_text

PAPER = Paper(
    id="p",
    title="Zinc spray",
    sections=(
        PaperSection(kind="abstract", text="A zinc spray shortened colds. We enrolled 120 adults."),
        PaperSection(
            title="Results",
            text="Colds lasted 5.2 days with the spray and 7.1 days without. Six adults had a nose "
            "bleed. Taste was not changed.",
        ),
    ),
)
PAIRS = (
    QAPair(
        id="p/1",
        paper="p",
        question="How long do colds last with a zinc spray?",
        answer="With a zinc spray colds last 5.2 days. Without it they last 7.1 days.",
    ),
    QAPair(
        id="p/2",
        paper="p",
        question="What does Figure 2 show?",
        answer="It shows that 640 adults took part.",
    ),
    QAPair(
        id="p/3",
        paper="p",
        question="Which harm can a zinc spray do?",
        answer="Some adults had a nose bleed.",
    ),
)
QUOTE = "colds lasted 5.2 days"


def judged(messages: Sequence[Any], schema: Any) -> dict[str, object]:
    """Rate 1 for Figure 2 or 640, otherwise 3. Two questions about the spray are half similar."""
    context, _, task = last_user_text(messages).rpartition("Task:")
    shown = _shown(task)
    found: dict[str, object] = {}
    for name in schema["properties"]:
        kind, _, number = name.partition("_")
        text = shown[int(number or 1) - 1]
        match kind:
            case "rating":
                found[name] = 1 if "Figure 2" in text or "640" in text else 3
            case "quotes":
                found[name] = [QUOTE, "words that no paper has"] if "Paper:" in context else []
            case "similarity":
                found[name] = 50 if "spray" in text else 0
            case _:
                found[name] = f"Reason for {text[:20]}"
    return found


def _shown(task: str) -> list[str]:
    """Return the fenced texts of a task, without the first for comparisons."""
    parts = [part.partition("\n</data")[0] for part in task.split("<data ")[1:]]
    return parts[1:] if "question: <data" in task else parts
