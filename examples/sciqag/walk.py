"""Generate question-answer pairs from a paper, rate them, and export a report and a test bank.

    python examples/sciqag/walk.py

The model is a local server that plays the replies in script.yaml. The output goes to --out, by
default runs/sciqag.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ragassay.prompts import load_prompts
from ragassay.testing import ScriptedModel, last_user_text

HERE = Path(__file__).parent


def scripted_reply(script: Mapping[str, Any]) -> Callable[[Sequence[Any], Any], dict[str, object]]:
    """Return a function that replies to the prompts with lines of the script."""

    def reply(messages: Sequence[Any], schema: Any) -> dict[str, object]:
        fields = schema["properties"]
        _, _, task = last_user_text(messages).rpartition("Task:")
        if "pairs" in fields:
            return {"pairs": _select_pairs(script, task)}
        texts = _data_blocks(task)
        if any(name.startswith("similarity") for name in fields):
            return {name: _get_similarity(script, name, texts) for name in fields}
        dimension = next(d for d, start in _task_starts().items() if start in task)
        return {name: _get_rating(script, name, dimension, texts) for name in fields}

    return reply


def _select_pairs(script: Mapping[str, Any], task: str) -> list[dict[str, str]]:
    """Return all pairs, or only the revised pairs in prompt order."""
    if "faulty" not in task:
        return script["pairs"]
    pairs = [line for line in script["mended"] if line["phrase"] in task]
    pairs.sort(key=lambda line: task.index(line["phrase"]))
    return [{name: line[name] for name in ("question", "answer", "quote")} for line in pairs]


def _task_starts() -> dict[str, str]:
    """Return the start of the prompt for each dimension."""
    prompts = load_prompts().agents.items()
    return {
        name.removeprefix("racar_"): prompt.task[:40]
        for name, prompt in prompts
        if name.startswith("racar_")
    }


def _data_blocks(task: str) -> list[str]:
    return [part.partition("\n</data")[0] for part in task.split("<data ")[1:]]


def _get_similarity(script: Mapping[str, Any], name: str, texts: Sequence[str]) -> object:
    kind, _, number = name.partition("_")
    if kind == "thought":
        return "One outcome of a nasal spray, and another one."
    both = texts[0] + texts[int(number or 1)]
    lines = (line for line in script["alike"] if all(one in both for one in line["phrases"]))
    return next((line["similarity"] for line in lines), 0)


def _get_rating(
    script: Mapping[str, Any], name: str, dimension: str, texts: Sequence[str]
) -> object:
    kind, _, number = name.partition("_")
    text = texts[int(number or 1) - 1]
    lines = (one for one in script["ratings"] if one["dimension"] == dimension)
    line = next((one for one in lines if one["phrase"] in text), {})
    if kind == "quotes":
        return [line["quote"]] if "quote" in line else []
    return line.get(kind, {"rating": 3, "reason": "Nothing is wrong with it."}[kind])


def main() -> None:
    """Run all steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs") / "sciqag")
    args = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    args.out.mkdir(parents=True, exist_ok=True)
    script = yaml.safe_load((HERE / "script.yaml").read_text(encoding="utf-8"))
    with ScriptedModel(scripted_reply(script)) as model:
        for command in steps(args.out, model):
            print(f"\n$ ragassay {shlex.join(command)}", flush=True)
            subprocess.run([sys.executable, "-m", "ragassay", *command], check=True)


def steps(out: Path, model: ScriptedModel) -> list[list[str]]:
    """Return the commands for reading, generating, rating, filtering and exporting."""
    papers, pairs = str(out / "papers.jsonl"), str(out / "pairs.jsonl")
    run, good = str(out / "judged"), str(out / "good.jsonl")
    read = ["qa", "read", str(HERE / "paper.xml"), "--keywords", "--out", papers]
    generate = ["qa", "generate", papers, "--n", "6", "--out", pairs]
    evaluate = ["qa", "evaluate", pairs, "--papers", papers, "--out", run]
    writer = ["--model", model.model_name, "--api-base", model.base_url]
    rater = ["--evaluator", f"openai/rater@{model.base_url}", "--min-rating", "1"]
    audit = ["qa", "audit", pairs, "--papers", papers, "--out", str(out / "audit")]
    exports = {"testbank": "bank.jsonl.gz", "ragas": "testset.jsonl", "sft": "train.jsonl"}
    return [
        read,
        [*generate, *writer, *rater],
        [*evaluate, *writer],
        [*audit, *writer],
        ["qa", "filter", run, "--min-score", "2", "--out", good],
        *(
            ["qa", "export", good, "--papers", papers, "--as", form, "--out", str(out / name)]
            for form, name in exports.items()
        ),
        ["testbank", "show", str(out / "bank.jsonl.gz")],
    ]


if __name__ == "__main__":
    main()
