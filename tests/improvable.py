"""Small tasks, one per agent, in which a better prompt makes a scripted judge right."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragassay.optimizers.compiling.tasks import TaskOptions
from ragassay.testing import default_reply

WISE = "Look at the verb"
"""Phrase of an instruction that makes the judge right. Examples have the same effect."""

FOOLISH = "Be thorough, and think of the reader."

VERDICTS = {"rises": "supports", "falls": "contradicts", "is measured": "neutral"}
RELEVANCE = {
    "must be": "required",
    "may be": "borderline",
    "was once": "unnecessary",
    "should never be": "inappropriate",
}
ASSIGNMENTS = {"wholly": "support", "partly": "partial_support", "nowhere": "not_support"}

SUBJECTS = ("zinc", "iron", "gold", "lead", "tin", "neon", "argon", "radon", "boron", "xenon")
"""Terms that occur in one article each. The word "drug" occurs in all of them."""

Rows = list[dict[str, Any]]


def _marked(told: str, name: str) -> str:
    """Return the fenced text of an input."""
    found = re.search(rf"{name}: <data [^>]*>\n(.*?)\n</data", told, re.DOTALL)
    assert found, (name, told)
    return found[1]


def _by_word(table: Mapping[str, str], text: str) -> str:
    return next(label for word, label in table.items() if word in text)


def _claim_rows(i: int) -> tuple[Rows, Rows]:
    verb, label = list(VERDICTS.items())[i % 3]
    claim = f"Marker {i} {verb} under drug {i}."
    passage = f"Marker {i} was higher with drug {i}."
    return [{"claim": claim, "evidence": passage, "label": label}], []


def _answer(i: int, text: str) -> dict[str, Any]:
    return {"id": f"q{i}", "question": f"Does drug {i} help?", "answer": text}


def _label(i: int, task: str, label: str, **place: object) -> dict[str, Any]:
    return {"task": task, "label": label, "record_id": f"q{i}", **place}


def _rating_rows(i: int) -> tuple[Rows, Rows]:
    grade = i % 5 + 1
    text = f"Drug {i} helps, by evidence of grade {grade}."
    return [_answer(i, text)], [_label(i, "rubric", str(grade), item="cohesion")]


def _sentence_rows(i: int) -> tuple[Rows, Rows]:
    verb, label = list(RELEVANCE.items())[i % 4]
    return [_answer(i, f"Drug {i} {verb} taken.")], [_label(i, "relevance", label, sentence=1)]


def _assignment_rows(i: int) -> tuple[Rows, Rows]:
    word, label = list(ASSIGNMENTS.items())[i % 3]
    nugget = f"Drug {i} is {word} safe."
    return [_answer(i, f"Drug {i} is fairly safe.")], [_label(i, "nugget", label, item=nugget)]


def _nugget_rows(i: int) -> tuple[Rows, Rows]:
    facts = [f"Drug {i} lowers fever.", f"Drug {i} costs little."]
    return [{"sentence": f"Drug {i} lowers fever; Drug {i} costs little.", "nuggets": facts}], []


def _query_rows(i: int) -> tuple[Rows, Rows]:
    subject = SUBJECTS[i % len(SUBJECTS)]
    return [{"question": f"Does the drug {subject} help {i} people?", "pmids": [subject]}], []


def _facts(told: str, is_right: bool) -> dict[str, object]:
    sentence = _marked(told, "sentence")
    facts = [f"{part.strip(' .')}." for part in sentence.split(";")]
    return {"facts": facts if is_right else facts[:1]}


def _query(told: str, is_right: bool) -> dict[str, object]:
    claim = _marked(told, "claim")
    subject = next((word for word in SUBJECTS if word in claim), "drug")
    return {"query": f"drug {subject}" if is_right else "the drug", "opposite": "the drug fails"}


def _rating(context: str, is_right: bool) -> dict[str, object]:
    grade = re.search(r"grade (\d)", context)
    rating = int(grade[1]) if grade and is_right else 3
    return {"rating": rating, "rationale": "Because the grade of the evidence says so."}


@dataclass(frozen=True)
class World:
    """An agent's data, and replies of a judge with or without knowledge of the truth.

    Attributes:
        rows: Function that returns the rows of the i-th item: answers or items, and labels.
        reply: Function of the context, the text after "Task: " and whether the truth is known.
        output: Reply field that identifies calls of the agent.
        options: Compile options of the agent.
        figure: Metric to optimize.
    """

    rows: Callable[[int], tuple[Rows, Rows]]
    reply: Callable[[str, str, bool], Mapping[str, object]]
    output: str
    figure: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def task_options(self, gold: Path | None) -> TaskOptions:
        """Return the options of the compile task."""
        return TaskOptions(gold=gold, **self.options)


WORLDS: Mapping[str, World] = {
    "verifier": World(
        _claim_rows,
        lambda context, told, sees: {
            "verdict": _by_word(VERDICTS, _marked(told, "claim")) if sees else "neutral"
        },
        "verdict",
        "macro-F1",
        {"n_labels": 3},
    ),
    "rubric_judge": World(
        _rating_rows,
        lambda context, told, sees: _rating(context, sees),
        "rating",
        "agreement with ratings",
        {"rubrics": ("cohesion",)},
    ),
    "sentence_labeller": World(
        _sentence_rows,
        lambda context, told, sees: {
            "label": _by_word(RELEVANCE, _marked(told, "sentence")) if sees else "borderline"
        },
        "label",
        "macro-F1",
    ),
    "nugget_assigner": World(
        _assignment_rows,
        lambda context, told, sees: {
            "assignment": _by_word(ASSIGNMENTS, _marked(told, "nugget")) if sees else "support"
        },
        "assignment",
        "macro-F1",
    ),
    "nugget_writer": World(
        _nugget_rows, lambda context, told, sees: _facts(told, sees), "facts", "nugget F1"
    ),
    "query_writer": World(
        _query_rows, lambda context, told, sees: _query(told, sees), "query", "recall at 10"
    ),
}


def write_corpus(path: Path) -> Path:
    """Write the articles of the query writer, each on one subject, and distractors."""
    rows = [{"id": name, "text": f"On {name} as a remedy."} for name in SUBJECTS]
    rows += [{"id": f"n{i}", "text": f"The drug {i}: the drug of the drug."} for i in range(30)]
    return write_rows(path, rows)


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_world(folder: Path, agent: str, first: int, n: int, name: str) -> Path:
    """Write the items of an agent's task, and their labels to gold.jsonl if there are any."""
    pairs = [WORLDS[agent].rows(i) for i in range(first, first + n)]
    gold = folder / "gold.jsonl"
    labels = [label for _, rows in pairs for label in rows]
    if labels:
        with gold.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(label) + "\n" for label in labels)
    return write_rows(folder / name, [row for rows, _ in pairs for row in rows])


@dataclass
class ImprovableJudge:
    """A scripted judge that is right on a share of the items, or on all with a better prompt.

    Attributes:
        share: Share of the items that it judges correctly with any prompt.
        wise_every: Interval at which a generated instruction is a better one.
        n_written: Number of generated instructions.
    """

    share: float = 0.0
    wise_every: int = 1
    n_written: Counter[str] = field(default_factory=Counter[str])

    def __call__(
        self, messages: Sequence[Mapping[str, object]], schema: Mapping[str, object] | None
    ) -> str | Mapping[str, object]:
        """Reply to an agent's or an instruction writer's prompt."""
        text = str(messages[-1]["content"])
        properties = schema["properties"] if schema else {}
        assert isinstance(properties, Mapping)
        if set(properties) & {"better_instruction", "proposed_instruction"}:
            return dict.fromkeys(properties, self._instruction(text))
        world = next((w for w in WORLDS.values() if w.output in properties), None)
        if world is None:
            return default_reply(messages, schema)
        told = text.rsplit("Task: ", 1)[1]
        sees = WISE in told or "\nExample\n" in text or self._is_easy(told)
        return world.reply(text.split("\nExample\n")[0], told, sees)

    def _instruction(self, text: str) -> str:
        self.n_written["all"] += 1
        is_wise = self.n_written["all"] % self.wise_every == 0
        return f"{WISE} of the text." if is_wise else f"{FOOLISH} {self.n_written['all']}"

    def _is_easy(self, told: str) -> bool:
        item = told.split("Reply with JSON", 1)[1]
        return zlib.crc32(item.encode()) % 1000 < 1000 * self.share
