"""Whatever asks a model stays within --max-usd, over all its models and all its starts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from answers import answer, written_run
from fakes import WordEmbedder
from synthesizing import write_questions, writer
from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.cli.base import PARTIAL
from ragassay.models.limiter import RunLimiter
from ragassay.records import Judgment
from ragassay.testing import ScriptedModel, default_reply

pytestmark = pytest.mark.integration

PRICED, CHEAP = "openai/gpt-4.1-mini", "openai/gpt-4.1-nano"
"""Names that LiteLLM knows the prices of."""

SOURCE = "Brelozant lowered migraine days by 4.2 a month in adults. Constipation was common."


@dataclass
class Bill:
    """What all calls of the test have cost."""

    costs: list[float] = field(default_factory=list)

    @property
    def usd(self) -> float:
        return sum(self.costs)


@pytest.fixture
def bill(monkeypatch: pytest.MonkeyPatch) -> Bill:
    bill, settle = Bill(), RunLimiter.settle

    async def noted(self: RunLimiter, cost_usd: float | None, n_tokens: int = 0) -> None:
        assert cost_usd is not None
        bill.costs.append(cost_usd)
        await settle(self, cost_usd, n_tokens)

    monkeypatch.setattr(RunLimiter, "settle", noted)
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", lambda name: WordEmbedder(name))
    monkeypatch.setenv("RAGASSAY_LIMITS__CONCURRENCY", "1")
    return bill


def reply(messages: Any, schema: Any) -> Any:
    """Usable replies to whatever is asked."""
    text, names = str(messages[-1]["content"]), (schema or {}).get("properties", {})
    if "synthesis" in names:
        return writer("alpha")(messages, schema)
    if "facts" in names:
        return {"facts": ["Brelozant lowered migraine days by 4.2 a month in adults."]}
    if "questions" in names:
        return {"questions": [f"What lowers migraine days, {len(text)}?"]}
    if "pairs" in names:
        question = "By how much did brelozant lower migraine days in adults a month?"
        answer = "Brelozant lowered migraine days by 4.2 a month."
        quote = "lowered migraine days by 4.2 a month in adults"
        return {"pairs": [{"question": question, "answer": answer, "quote": quote}]}
    if "restatement" in names:
        return {"restatement": f"In other words, and at some length: {text.splitlines()[1]}"}
    return json.loads(default_reply(messages, schema))


def answers(folder: Path) -> str:
    rows = [
        {
            "id": f"a{n}",
            "topic": f"t{n}",
            "question": f"Does brelozant help, part {n}?",
            "answer": "Brelozant lowered migraine days [1]. Constipation was common [1].",
            "sources": [{"id": "1", "text": f"{SOURCE} Part {n}."}],
            "nuggets": ["Brelozant lowered migraine days.", "Constipation was common."],
        }
        for n in range(4)
    ]
    return lines(folder / "answers.jsonl", rows)


def lines(file: Path, rows: list[dict[str, Any]]) -> str:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(file)


def papers(folder: Path) -> str:
    rows = [
        {"id": f"p{n}", "title": f"Brelozant, part {n}", "text": f"{SOURCE} It was part {n}."}
        for n in range(4)
    ]
    return lines(folder / "papers.jsonl", rows)


def queries(folder: Path) -> str:
    rows = {f"q{n}": f"what is brelozant, part {n}?" for n in range(4)}
    (folder / "queries.json").write_text(json.dumps(rows), encoding="utf-8")
    return str(folder / "queries.json")


def dialogues(folder: Path) -> str:
    rows = [
        {
            "context": f"do you knit ? {n}",
            "fact": "wool is warm .",
            "responses": [{"response": f"i do . {n}", "model": "m", "Natural": [1, 2, 2]}],
        }
        for n in range(4)
    ]
    (folder / "dialogues.json").write_text(json.dumps(rows), encoding="utf-8")
    return str(folder / "dialogues.json")


def reasons(folder: Path) -> str:
    if (folder / "judged").exists():  # written for the first of several starts
        return str(folder / "judged")
    judged = [
        answer(
            f"a{n}",
            f"t{n}",
            "s",
            judgments=(
                Judgment(rubric="cohesion", rating=4, score=4.0, rationale=f"Part {n} hangs well."),
            ),
        )
        for n in range(4)
    ]
    written_run(folder / "judged", judged, judge="openai/first")
    return str(folder / "judged")


def application(folder: Path) -> str:
    """A module that can be imported; each folder has one of its own name."""
    name = f"rag_{folder.name}"
    (folder / f"{name}.py").write_text(
        "def answer(question):\n"
        "    return {'answer': 'It lowers migraine days [1].', 'sources': ['It lowers them.']}\n"
    )
    return f"{name}:answer"


Command = Callable[[Path, str, str], list[str]]
"""Makes the arguments of a command from a folder and two judges (NAME@URL)."""

RUBRICS = ("--only", "rubrics", "--rubric", "cohesion", "--rubric", "relevancy")

COMMANDS: dict[str, Command] = {
    "evaluate": lambda at, one, two: ["evaluate", answers(at), "--out", f"{at}/run", *RUBRICS],
    "a panel": lambda at, one, two: [
        *("evaluate", answers(at), "--out", f"{at}/run", *RUBRICS, "--model", one, "--model", two),
    ],
    "audit": lambda at, one, two: [
        *("audit", answers(at), "--out", f"{at}/audit", "--only", "rubrics"),
        *("--paraphraser", two, "--attacks", "repeat_all", "--rubric", "conciseness"),
    ],
    "nuggets create": lambda at, one, two: [
        *("nuggets", "create", answers(at), "--out", f"{at}/nuggets.jsonl", "--accept-all"),
    ],
    "nuggets assign": lambda at, one, two: [
        *("nuggets", "assign", answers(at), "--out", f"{at}/assigned.jsonl"),
        *("--metrics", f"{at}/metrics.jsonl"),
    ],
    "testbank": lambda at, one, two: [
        *("testbank", "create", queries(at), "--out", f"{at}/bank.jsonl.gz"),
    ],
    "qa generate": lambda at, one, two: [
        *("qa", "generate", papers(at), "--out", f"{at}/pairs.jsonl", "--evaluator", two),
        *("--n", "1"),
    ],
    "synthesize": lambda at, one, two: [
        *("synthesize", str(write_questions(at / "questions.jsonl"))),
        *("--out", f"{at}/written.jsonl"),
    ],
    "matrix": lambda at, one, two: [
        *("matrix", "--generate", str(write_questions(at / "questions.jsonl"))),
        *("--generator", one, "--generator", two, "--out", f"{at}/matrix"),
        *("--rubric", "cohesion"),
    ],
    "strategies": lambda at, one, two: [
        *("strategies", dialogues(at), "--out", f"{at}/strategies", "--rubric", "natural"),
    ],
    "grade": lambda at, one, two: [
        *("grade", answers(at), "--grade", "thomas", "--out", f"{at}/graded"),
    ],
    "rationales": lambda at, one, two: ["rationales", reasons(at), "--out", f"{at}/rationales"],
    "run": lambda at, one, two: [
        *("run", application(at), answers(at), "--out", f"{at}/run", *RUBRICS),
    ],
}


def start(command: list[str], model: ScriptedModel, max_usd: float | None) -> tuple[int, str]:
    more = [] if max_usd is None else ["--max-usd", f"{max_usd:.9f}"]
    named = (
        []
        if "--generator" in command or "--model" in command
        else ["--model", PRICED, "--api-base", model.base_url]
    )
    result = CliRunner().invoke(app, [*command, *named, *more], env={"COLUMNS": "300"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_money_is_bounded_over_all_models_and_all_starts(name, bill, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path / "free"), str(tmp_path / "bound"), *sys.path])
    with ScriptedModel(reply) as model:
        judges = [f"{judge}@{model.base_url}" for judge in (PRICED, CHEAP)]
        for folder in ("free", "bound"):
            (tmp_path / folder).mkdir()
        code, shown = start(COMMANDS[name](tmp_path / "free", *judges), model, None)
        assert code in (0, PARTIAL), shown
        whole = bill.usd
        assert len(bill.costs) >= 3
        bound = 0.6 * whole
        bill.costs.clear()
        for _ in range(2):  # what was spent in one start counts in the next
            code, shown = start(COMMANDS[name](tmp_path / "bound", *judges), model, bound)
            assert code == 1 and "max_usd" in shown, shown
        # The last call may cost more than those before it did.
        assert 0 < bill.usd <= bound + max(bill.costs)
        code, shown = start(COMMANDS[name](tmp_path / "bound", *judges), model, 3 * whole)
        assert code in (0, PARTIAL), shown
