"""Whatever asks a model stays within --max-usd, over all its models and all its starts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from answers import answer, written_run
from calls import call
from fakes import WordEmbedder
from synthesizing import write_questions, writer

from ragassay.cli.base import PARTIAL
from ragassay.models.limiter import RunLimiter
from ragassay.records import Judgment
from ragassay.testing import ScriptedModel, default_reply

pytestmark = pytest.mark.integration

PRICED, CHEAP = "openai/gpt-4.1-mini", "openai/gpt-4.1-nano"
"""Names that LiteLLM knows the prices of."""

SOURCE = "Brelozant lowered migraine days by 4.2 a month in adults. Constipation was common."


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What each call of the test has cost."""
    costs: list[float] = []
    settle = RunLimiter.settle

    async def noted(self: RunLimiter, cost_usd: float | None, n_tokens: int = 0) -> None:
        assert cost_usd is not None
        costs.append(cost_usd)
        await settle(self, cost_usd, n_tokens)

    monkeypatch.setattr(RunLimiter, "settle", noted)
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", lambda name: WordEmbedder(name))
    monkeypatch.setenv("RAGASSAY_LIMITS__CONCURRENCY", "1")
    return costs


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


FILES: dict[str, Any] = {
    "answers.jsonl": [
        {
            "id": f"a{n}",
            "topic": f"t{n}",
            "question": f"Does brelozant help, part {n}?",
            "answer": "Brelozant lowered migraine days [1]. Constipation was common [1].",
            "sources": [{"id": "1", "text": f"{SOURCE} Part {n}."}],
            "nuggets": ["Brelozant lowered migraine days.", "Constipation was common."],
        }
        for n in range(4)
    ],
    "papers.jsonl": [
        {"id": f"p{n}", "title": f"Brelozant {n}", "text": f"{SOURCE} It was part {n}."}
        for n in range(4)
    ],
    "queries.json": {f"q{n}": f"what is brelozant, part {n}?" for n in range(4)},
    "dialogues.json": [
        {
            "context": f"do you knit ? {n}",
            "fact": "wool is warm .",
            "responses": [{"response": f"i do . {n}", "model": "m", "Natural": [1, 2, 2]}],
        }
        for n in range(4)
    ],
}
APPLICATION = """
def answer(question):
    return {"answer": "It lowers migraine days [1].", "sources": ["It lowers them."]}
"""


def write_files(folder: Path) -> None:
    """Write all that the commands read."""
    folder.mkdir()
    for name, rows in FILES.items():
        texts = map(json.dumps, rows) if name.endswith(".jsonl") else [json.dumps(rows)]
        (folder / name).write_text("\n".join(texts), encoding="utf-8")
    write_questions(folder / "questions.jsonl")
    # A module that can be imported; each folder has one of its own name.
    (folder / f"rag_{folder.name}.py").write_text(APPLICATION)
    rating = Judgment(rubric="cohesion", rating=4, score=4.0)
    reasons = [{"rationale": f"Part {n} hangs well."} for n in range(4)]
    judged = [
        answer(f"a{n}", f"t{n}", "s", judgments=(rating.model_copy(update=reason),))
        for n, reason in enumerate(reasons)
    ]
    written_run(folder / "judged", judged, judge="openai/first")


RUBRICS = "--only rubrics --rubric cohesion --rubric relevancy"
COMMANDS = {
    "evaluate": "evaluate {at}/answers.jsonl --out {at}/run {rubrics}",
    "a panel": "evaluate {at}/answers.jsonl --out {at}/run {rubrics} --model {one} --model {two}",
    "audit": "audit {at}/answers.jsonl --out {at}/audit --only rubrics --rubric conciseness "
    "--attacks repeat_all --paraphraser {two}",
    "nuggets create": "nuggets create {at}/answers.jsonl --out {at}/nuggets.jsonl --accept-all",
    "nuggets assign": "nuggets assign {at}/answers.jsonl --out {at}/assigned.jsonl "
    "--metrics {at}/metrics.jsonl",
    "testbank": "testbank create {at}/queries.json --out {at}/bank.jsonl.gz",
    "qa generate": "qa generate {at}/papers.jsonl --out {at}/pairs.jsonl --evaluator {two} --n 1",
    "synthesize": "synthesize {at}/questions.jsonl --out {at}/written.jsonl",
    "matrix": "matrix --generate {at}/questions.jsonl --out {at}/matrix --rubric cohesion "
    "--generator {one} --generator {two}",
    "strategies": "strategies {at}/dialogues.json --out {at}/strategies --rubric natural",
    "grade": "grade {at}/answers.jsonl --grade thomas --out {at}/graded",
    "rationales": "rationales {at}/judged --out {at}/rationales",
    "run": "run rag_{name}:answer {at}/answers.jsonl --out {at}/run {rubrics}",
}
"""Commands on the files of a folder, with one or two judges."""


def start(
    name: str, folder: Path, model: ScriptedModel, max_usd: float | None = None
) -> tuple[int, str]:
    judges = {"one": f"{PRICED}@{model.base_url}", "two": f"{CHEAP}@{model.base_url}"}
    words = {"at": folder, "name": folder.name} | judges
    text = COMMANDS[name].replace("{rubrics}", RUBRICS)
    command = [word.format(**words) for word in text.split()]
    if not {"--generator", "--model"} & set(command):
        command += ["--model", PRICED, "--api-base", model.base_url]
    more = [] if max_usd is None else ["--max-usd", f"{max_usd:.9f}"]
    code, shown, errors = call(*command, *more, COLUMNS="300")
    return code, shown + errors


@pytest.mark.parametrize("name", COMMANDS)
def test_money_is_bounded_over_all_models_and_all_starts(name, costs, tmp_path, monkeypatch):
    free, limited = tmp_path / "free", tmp_path / "limited"
    monkeypatch.setattr(sys, "path", [str(free), str(limited), *sys.path])
    for folder in (free, limited):
        write_files(folder)
    with ScriptedModel(reply) as model:
        code, shown = start(name, free, model)
        assert code in (0, PARTIAL), shown
        whole = sum(costs)
        assert len(costs) >= 3
        bound = 0.6 * whole
        costs.clear()
        for _ in range(2):  # what was spent in one start counts in the next
            code, shown = start(name, limited, model, bound)
            assert code == 1 and "max_usd" in shown, shown
        # The last call may cost more than those before it did.
        assert 0 < sum(costs) <= bound + max(costs)
        code, shown = start(name, limited, model, 3 * whole)
        assert code in (0, PARTIAL), shown
