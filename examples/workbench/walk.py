"""Run all steps of the rubric workbench on invented passages, from queries to a leaderboard.

    python examples/workbench/walk.py              with a scripted model
    python examples/workbench/walk.py --embedded   without a model; the embedded instruments grade

The scripted model is a local server that plays the replies in script.yaml. The output goes to
--out, by default runs/workbench.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import yaml

from ragassay.testing import ScriptedModel, last_user_text

HERE = Path(__file__).parent


def scripted_reply(script: Mapping[str, Any]) -> Callable[[Sequence[Any], Any], dict[str, object]]:
    """Return a function that replies to the prompts with lines of the script."""

    def reply(messages: Sequence[Any], schema: Any) -> dict[str, object]:
        text, fields = last_user_text(messages), schema["properties"]
        if "questions" in fields:
            lists = script["questions"].items()
            return {"questions": next(lines for phrase, lines in lists if phrase in text)}
        passage, _, item = text.rpartition("Task:")
        line = next(
            (g for g in script["grades"] if g["passage"] in passage and g["item"] in item),
            {"rating": 0, "answer": ""},
        )
        if "rating" in fields:
            return {"rating": line["rating"]}
        return {"answered": "yes" if line["answer"] else "no", "answer": line["answer"]}

    return reply


def main() -> None:
    """Run all steps."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--embedded", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("runs") / "workbench")
    args = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    args.out.mkdir(parents=True, exist_ok=True)
    script = yaml.safe_load((HERE / "script.yaml").read_text(encoding="utf-8"))
    with nullcontext() if args.embedded else ScriptedModel(scripted_reply(script)) as model:
        judge = ["--model", model.model_name, "--api-base", model.base_url] if model else []
        for command in steps(args.out, judge):
            print(f"\n$ ragassay {shlex.join(command)}", flush=True)
            subprocess.run([sys.executable, "-m", "ragassay", *command], check=True)


def steps(out: Path, judge: Sequence[str]) -> list[list[str]]:
    """Return the commands for test bank, grades, oversight and evaluation."""
    passages, bank = str(HERE / "passages.jsonl"), str(HERE / "bank.jsonl")
    official = str(HERE / "official.json")
    measures = ["--measure", "nDCG@3", "--measure", "alpha_nDCG@5"]
    graded = str(out / "graded.jsonl.gz")
    commands: list[list[str]] = []
    if judge:
        bank = str(out / "bank.jsonl.gz")
        create = ["testbank", "create", str(HERE / "queries.json"), "--out", bank]
        commands += [[*create, "--per-query", "5", *judge], ["testbank", "lint", bank]]
    graders = ["--grade", "rating", "--grade", "extraction"] if judge else []
    least = ["--min-rating", "4"]
    ratings = ["--prompt-class", "QuestionSelfRatedUnanswerablePromptWithChoices"]
    system = ratings if judge else [*ratings, "--tentative"]
    return [
        *commands,
        ["testbank", "show", bank],
        ["grade", passages, "--testbank", bank, *graders, *judge, "--out", str(out)],
        ["grades", "verify", graded, "--testbank", bank, "--query", "rock"],
        ["grades", "grid", graded, "--testbank", bank, "--query", "rock"],
        ["grades", "missing", graded, *ratings, *least],
        ["grades", "spurious", graded, "--testbank", bank, *ratings, *least],
        ["grades", "cover", graded, *system, *least, "--official", official],
        ["grades", "qrels", graded, "--out", str(out / "rubric.qrels"), *system],
        ["grades", "leaderboard", graded, *system, *least, *measures, "--official", official],
        ["grades", "annotators", graded, *ratings, "--min-answers", "1"],
    ]


if __name__ == "__main__":
    main()
