"""Compare ragassay with ragas and DeepEval: 60 answers, nine rubrics, scripted model, 1 s latency.

    python benchmarks/beside.py

The script installs ragas 0.4.3 and DeepEval 4.3.1 once, in separate environments under
`build/peers` (change with `--peers FOLDER`). `--only` selects the tools to run. Each tool runs in
its own process, one after another, and calls a scripted model in a separate process over HTTP.
ragas uses nine `RubricsScore` metrics on `ChatOpenAI`. DeepEval uses nine `GEval` metrics with
fixed evaluation steps on its own client. ragassay runs only its nine rubrics, once as a command
with a run folder (verdicts and reports on disk) and once from Python without a run folder. Each
tool first evaluates one answer untimed, which compiles its modules to byte code.

Columns, with times in seconds:

- whole: time of the whole process. run: time without imports and setup, but including modules that
  a tool imports late. times: whole divided by that of ragas.
- cpu: processor time of the run per call, in ms. whole_cpu: the same for the whole process.
- chars: mean prompt length in characters. shared: percentage of all prompt characters that a
  perfect prefix cache would cover.
- mb: peak memory of the process. load: system load averaged over one minute. On a busy machine,
  compare only processor times.

Ideal: calls * latency / concurrency.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
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
PEERS = {
    "ragas": ("ragas==0.4.3", "langchain<1", "langchain-community<0.4", "langchain-openai<1"),
    "deepeval": ("deepeval==4.3.1",),
}
COLUMNS = (
    *("calls", "whole", "times", "run", "ideal", "cpu", "whole_cpu"),
    *("chars", "shared", "mb", "load"),
)
Runner = Callable[[], int]


def main() -> None:
    """Serve the model, run one tool, or run all tools and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=60)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--only", nargs="+", choices=tuple(TOOLS), default=tuple(TOOLS))
    parser.add_argument("--peers", type=Path, default=ROOT / "build" / "peers")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--role", choices=("serve", *TOOLS), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.role == "serve":
        serve(arguments.latency, arguments.file)
    elif arguments.role:
        run_tool(arguments.role, json.loads(arguments.file.read_text(encoding="utf-8")))
    else:
        compare(arguments)


def compare(arguments: argparse.Namespace) -> None:
    """Run each tool in its own process and print the rows."""
    pythons = {
        tool: install_peer(tool, arguments.peers) if tool in PEERS else sys.executable
        for tool in arguments.only
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for tool, python in pythons.items():
            run_process(tool, python, folder / f"{tool} first", 1, arguments)
        print(f"{'tool':18}" + "".join(f"{column:>10}" for column in COLUMNS))
        for n in range(arguments.repeat):
            whole: dict[str, float] = {}
            rows: dict[str, dict[str, float]] = {}
            for tool, python in pythons.items():
                out = folder / f"{tool} {n}"
                rows[tool] = run_process(tool, python, out, arguments.answers, arguments)
                whole[tool] = rows[tool]["whole"]
            for tool, row in rows.items():
                if "ragas" in whole:
                    row["times"] = whole[tool] / whole["ragas"]
                cells = (f"{row[c]:.2f}" if c in row else "-" for c in COLUMNS)
                print(f"{tool:18}" + "".join(f"{cell:>10}" for cell in cells), flush=True)


def install_peer(tool: str, folder: Path) -> str:
    """Install a peer in its own environment, once, and return the path of its Python."""
    python = folder / tool / "bin" / "python"
    done = folder / tool / "installed"
    if not done.exists():
        print(f"installing {tool} into {folder / tool}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder / tool)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS[tool]], check=True)
        done.touch()
    return str(python)


def run_process(
    tool: str, python: str, out: Path, n_answers: int, arguments: argparse.Namespace
) -> dict[str, float]:
    """Run one tool against its own model process and return its table row."""
    out.mkdir()
    log = out / "prompts.jsonl"
    environment = {**os.environ, **QUIET, "PYTHONPATH": str(ROOT) if "ragassay" in tool else ""}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with scripted(arguments.latency, log) as url:
        given = {"url": url, "concurrency": arguments.concurrency, **inputs(n_answers)}
        (out / "given.json").write_text(json.dumps(given), encoding="utf-8")
        command = [python, __file__, "--role", tool, "--file", str(out / "given.json")]
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=out, env=environment, capture_output=True, text=True)
        whole = time.perf_counter() - begun
    if done.returncode:
        sys.exit(f"{tool} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    found = json.loads((out / "found.json").read_text(encoding="utf-8"))
    calls = found["calls"]
    return {
        "calls": calls,
        "whole": whole,
        "run": found["run_s"],
        "ideal": calls * arguments.latency / arguments.concurrency,
        "cpu": 1000 * found["run_cpu_s"] / calls,
        "whole_cpu": 1000 * found["whole_cpu_s"] / calls,
        "mb": found["peak_mb"],
        "load": os.getloadavg()[0],
        **prompt_figures([json.loads(line) for line in log.read_text("utf-8").splitlines()]),
    }


def prompt_figures(prompts: Sequence[str]) -> dict[str, float]:
    """Return the mean prompt length and the percentage covered by a perfect prefix cache.

    After sorting, the longest prefix shared with any earlier prompt is the one shared with the
    previous prompt.
    """
    n_chars = sum(map(len, prompts))
    pairs = itertools.pairwise(sorted(prompts))
    n_shared = sum(len(os.path.commonprefix(pair)) for pair in pairs)  # noqa: RUF071
    return {"chars": n_chars / len(prompts), "shared": 100 * n_shared / n_chars}


def inputs(n_answers: int) -> dict[str, Any]:
    """Return the sample's answers, repeated with distinct questions, and the nine rubrics."""
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


# The scripted model, which runs in ragassay's environment.


@contextmanager
def scripted(latency_s: float, log: Path) -> Iterator[str]:
    """Start the model in its own process, log its prompts, and yield its base URL."""
    command = [sys.executable, __file__, "--role", "serve", "--file", str(log)]
    command += ["--latency", str(latency_s)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def serve(latency_s: float, log: Path) -> None:
    """Serve until killed, writing each prompt as a line of the log."""
    from ragassay.testing import ScriptedModel

    lock = threading.Lock()

    def reply(messages: Sequence[Mapping[str, object]], schema: Mapping[str, object] | None) -> str:
        prompt = "\n".join(f"{m['role']}: {m['content']}" for m in messages)
        with lock, log.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(prompt) + "\n")
        return write_reply(messages, schema)

    with ScriptedModel(reply, latency_s=latency_s, keep_requests=False) as model:
        print(model.base_url, flush=True)
        threading.Event().wait()


def write_reply(
    messages: Sequence[Mapping[str, object]], schema: Mapping[str, object] | None
) -> str:
    """Return a reply that matches ragassay's schema or the peers' JSON format."""
    from ragassay.testing import default_reply

    if schema is not None and schema != {"type": "object"}:
        return default_reply(messages, schema)
    text = "The answer names the trial and its doses, and says what was measured."
    return json.dumps({"score": 4, "feedback": text, "reason": text})


# The tools. Each runs in its own process.


def run_tool(tool: str, given: dict[str, Any]) -> None:
    """Set up and run a tool, then write its timings to disk."""
    run = TOOLS[tool](given)
    begun, cpu = time.perf_counter(), time.process_time()
    calls = run()
    ended, cpu_ended = time.perf_counter(), time.process_time()
    found = {
        "calls": calls,
        "run_s": ended - begun,
        "run_cpu_s": cpu_ended - cpu,
        "whole_cpu_s": cpu_ended,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    Path("found.json").write_text(json.dumps(found), encoding="utf-8")


def command(given: dict[str, Any]) -> Runner:
    """Evaluate nine rubrics from the command line."""
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
    """Evaluate nine rubrics from Python, without a run folder."""
    from ragassay import evaluate
    from ragassay.settings import load_settings

    settings = load_settings(
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
    """Evaluate nine `RubricsScore` metrics."""
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
    """Evaluate nine `GEval` metrics with fixed evaluation steps."""
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
