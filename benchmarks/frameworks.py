"""60 answers on nine rubrics: ragassay beside ragas and DeepEval, on one scripted model of 1 s.

    python benchmarks/frameworks.py --ragas-python R/bin/python --deepeval-python D/bin/python

R and D are virtual environments with ragas 0.4.3 and DeepEval 4.3.1; what is not given is left out
(ragas 0.4.3 wants `langchain<1 langchain-community<0.4 langchain-openai<1` beside it).
Each is a process of its own, one after the other; so is the model, which all ask over HTTP. ragas
has nine `RubricsScore` on `ChatOpenAI`, DeepEval nine `GEval` with given steps on its own client,
ragassay its nine rubrics and nothing else: as a command, with a run folder (states and verdicts
kept, reports written), and from Python without one.

Before it is measured, each tool runs once with one answer, so that all its modules are compiled.

whole_s is the process from start to end, run_s what is left of it after imports and set-up: each
tool's `evaluate` is imported before the run; what is imported late counts with the run (ragassay
imports LiteLLM then, some 5 ms a call of 540). cpu_ms is the run's processor time a call,
whole_cpu_ms that of the process, load the machine's average over a minute: on a busy one compare
processor times alone.
Ideal: calls * latency / concurrency.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MODEL = "gpt-4.1-mini"
QUIET = {
    "OPENAI_API_KEY": "sk-scripted",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "DEEPEVAL_FILE_SYSTEM": "READ_ONLY",
    "CONFIDENT_OPEN_BROWSER": "NO",
    "ERROR_REPORTING": "NO",
    "RAGAS_DO_NOT_TRACK": "true",
    "LANGSMITH_TRACING": "false",
    "HF_HUB_OFFLINE": "1",
}
COLUMNS = ("tool", "calls", "whole_s", "start_s", "run_s", "ideal_s", "cpu_ms", "whole_cpu_ms")
Runner = Callable[[], object]


def main() -> None:
    """Serve, run one tool, or run all tools and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=60)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--ragas-python")
    parser.add_argument("--deepeval-python")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--role", choices=("serve", *TOOLS), help=argparse.SUPPRESS)
    parser.add_argument("--given", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.role == "serve":
        serve(chosen.latency)
    elif chosen.role:
        run_tool(chosen.role, json.loads(Path(chosen.given).read_text(encoding="utf-8")))
    else:
        compare(chosen)


def compare(chosen: argparse.Namespace) -> None:
    """Run each tool in its own process, and print a row as it ends."""
    pythons = {
        "ragassay evaluate": sys.executable,
        "ragassay, Python": sys.executable,
        "ragas": chosen.ragas_python,
        "deepeval": chosen.deepeval_python,
    }
    with tempfile.TemporaryDirectory() as name, scripted(chosen.latency) as url:
        folder = Path(name)
        bounds = {"url": url, "concurrency": chosen.concurrency}
        given = {**bounds, **inputs(chosen.answers)}
        for tool, python in pythons.items():
            if python:
                measured(tool, python, made(folder / f"{tool} first", {**bounds, **inputs(1)}))
        print(" ".join(f"{column:>19}" for column in (*COLUMNS, "load")))
        for n in range(chosen.repeat):
            for tool, python in pythons.items():
                if python:
                    out = made(folder / f"{tool} {n}", given)
                    show(tool, measured(tool, python, out), chosen)


def made(folder: Path, given: Mapping[str, Any]) -> Path:
    """Make the folder of one process, with its input."""
    folder.mkdir()
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    return folder


def measured(tool: str, python: str, out: Path) -> dict[str, float]:
    """Run a tool's process; what it says of itself, with the time that all of it took."""
    command = [python, __file__, "--role", tool, "--given", str(out / "given.json")]
    environment = {**os.environ, **QUIET, "PYTHONPATH": str(ROOT) if "ragassay" in tool else ""}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=out, env=environment, capture_output=True, text=True)
    whole_s = time.perf_counter() - begun
    if done.returncode:
        sys.exit(f"{tool} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    found = json.loads((out / "found.json").read_text(encoding="utf-8"))
    return {**found, "whole_s": whole_s, "start_s": whole_s - found["run_s"]}


def show(tool: str, found: Mapping[str, float], chosen: argparse.Namespace) -> None:
    calls = found["calls"]
    row = {
        "tool": tool,
        "calls": int(calls),
        "ideal_s": calls * chosen.latency / chosen.concurrency,
        "cpu_ms": 1000 * found["run_cpu_s"] / calls,
        "whole_cpu_ms": 1000 * found["whole_cpu_s"] / calls,
        **{name: found[name] for name in ("whole_s", "start_s", "run_s")},
    }
    shown = [f"{v:.1f}" if isinstance(v := row[name], float) else str(v) for name in COLUMNS]
    print(" ".join(f"{text:>19}" for text in (*shown, f"{os.getloadavg()[0]:.1f}")), flush=True)


def inputs(n_answers: int) -> dict[str, Any]:
    """The sample's answers over and over, each with a question of its own, and nine rubrics."""
    from ragassay.formats import read_records
    from ragassay.prompts import load_rubrics

    sample = read_records(ROOT / "examples" / "sample" / "answers.jsonl").records
    whole = [record for record in sample if isinstance(record.answer, str) and record.sources]
    answers = [
        {
            "id": f"answer-{n}",
            "question": f"{record.question} ({n})",
            "answer": record.answer,
            "sources": [source.text for source in record.sources],
        }
        for n in range(n_answers)
        for record in [whole[n % len(whole)]]
    ]
    rubrics = {
        name: {"text": rubric.question, "scale": {str(n): t for n, t in rubric.scale.items()}}
        for name, rubric in load_rubrics("yescieval").items()
    }
    return {"answers": answers, "rubrics": rubrics}


# The model: it runs under ragassay's Python.


@contextmanager
def scripted(latency_s: float) -> Iterator[str]:
    """The model in its own process; yields its base URL."""
    command = [sys.executable, __file__, "--role", "serve", "--latency", str(latency_s)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def serve(latency_s: float) -> None:
    """Serve until killed."""
    from ragassay.testing import ScriptedModel

    with ScriptedModel(reply, latency_s=latency_s, keep_requests=False) as model:
        print(model.base_url, flush=True)
        threading.Event().wait()


def reply(messages: Sequence[Mapping[str, object]], schema: Mapping[str, object] | None) -> str:
    """What ragassay asks for by a schema; what the two others ask for in words."""
    from ragassay.testing import default_reply

    if schema is not None and schema != {"type": "object"}:
        return default_reply(messages, schema)
    text = "The answer names the trial and its doses, and says what was measured."
    return json.dumps({"score": 4, "feedback": text, "reason": text})


# The tools: each runs in a process of its own.


def run_tool(tool: str, given: dict[str, Any]) -> None:
    """Set a tool up, run it, and write down what it took."""
    run = TOOLS[tool](given)
    begun, cpu = time.perf_counter(), time.process_time()
    calls = run()
    ended, cpu_ended = time.perf_counter(), time.process_time()
    found = {
        "calls": calls,
        "run_s": ended - begun,
        "run_cpu_s": cpu_ended - cpu,
        "whole_cpu_s": cpu_ended,
    }
    Path("found.json").write_text(json.dumps(found), encoding="utf-8")


def command(given: dict[str, Any]) -> Runner:
    """Nine rubrics, as on the command line."""
    from ragassay.cli import app

    lines = [json.dumps(answer) for answer in given["answers"]]
    Path("answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    options = {"--model": f"openai/{MODEL}", "--api-base": given["url"], "--only": "rubrics"}
    options |= {"--concurrency": str(given["concurrency"]), "--out": "run"}
    flat = [word for option in options.items() for word in option]

    def run() -> int:
        app(["evaluate", "answers.jsonl", "--no-signals", *flat], standalone_mode=False)
        summary = json.loads(Path("run/summary.json").read_text(encoding="utf-8"))
        return int(summary["usage"]["n_calls"])

    return run


def ours(given: dict[str, Any]) -> Runner:
    """Nine rubrics, from Python, without a run folder."""
    from ragassay import evaluate
    from ragassay.settings import Settings

    settings = Settings(
        model=f"openai/{MODEL}",
        api_base=given["url"],
        only=("rubrics",),
        signals=False,
        concurrency=given["concurrency"],
    )

    def run() -> int:
        results = evaluate(given["answers"], settings=settings)
        assert len(results) == len(given["answers"])
        assert all(j.rating is not None for e in results for j in e.judgments)
        return results.summary.usage.n_calls

    return run


def ragas(given: dict[str, Any]) -> Runner:
    """Nine rubric metrics."""
    from langchain_openai import ChatOpenAI
    from ragas import EvaluationDataset, SingleTurnSample, evaluate
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import RubricsScore
    from ragas.run_config import RunConfig

    llm = LangchainLLMWrapper(ChatOpenAI(model=MODEL, base_url=given["url"], temperature=0))
    metrics = [
        RubricsScore(
            name=name,
            rubrics={f"score{n}_description": text for n, text in rubric["scale"].items()},
            llm=llm,
        )
        for name, rubric in given["rubrics"].items()
    ]
    samples = [
        SingleTurnSample(
            user_input=row["question"],
            response=row["answer"],
            retrieved_contexts=row["sources"],
        )
        for row in given["answers"]
    ]

    def run() -> int:
        result = evaluate(
            EvaluationDataset(samples=samples),
            metrics=metrics,
            run_config=RunConfig(max_workers=given["concurrency"]),
            raise_exceptions=True,
            show_progress=False,
        )
        assert all(score == 4 for row in result.scores for score in row.values())
        return len(samples) * len(metrics)

    return run


def deepeval(given: dict[str, Any]) -> Runner:
    """Nine GEval metrics whose steps are given, so that none is asked for."""
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import GEval
    from deepeval.models import GPTModel
    from deepeval.test_case import LLMTestCase, SingleTurnParams

    params = [
        SingleTurnParams.INPUT,
        SingleTurnParams.ACTUAL_OUTPUT,
        SingleTurnParams.RETRIEVAL_CONTEXT,
    ]
    model = GPTModel(model=MODEL, base_url=given["url"], temperature=0)
    metrics = [
        GEval(
            name=name,
            evaluation_params=params,
            evaluation_steps=[rubric["text"], *rubric["scale"].values()],
            model=model,
        )
        for name, rubric in given["rubrics"].items()
    ]
    cases = [
        LLMTestCase(
            input=row["question"], actual_output=row["answer"], retrieval_context=row["sources"]
        )
        for row in given["answers"]
    ]

    def run() -> int:
        result = evaluate(
            test_cases=cases,
            metrics=metrics,
            async_config=AsyncConfig(max_concurrent=given["concurrency"]),
            display_config=DisplayConfig(
                show_indicator=False, print_results=False, inspect_after_run=False
            ),
            cache_config=CacheConfig(write_cache=False),
        )
        data = [one for case in result.test_results for one in case.metrics_data or ()]
        assert all(one.error is None and one.score is not None for one in data)
        return len(data)

    return run


TOOLS: dict[str, Callable[[dict[str, Any]], Runner]] = {
    "ragassay evaluate": command,
    "ragassay, Python": ours,
    "ragas": ragas,
    "deepeval": deepeval,
}


if __name__ == "__main__":
    main()
