"""Compare the planned cost of a run with the measured cost on a scripted model.

    python benchmarks/cost_model.py --answers 100 1000
    python benchmarks/cost_model.py --run RUN                # an existing run

The cost model plans nine calls per answer for the rubrics. Each call sends the answer's context
(question, sources, answer) and a task of about 175 tokens. The time is the larger of calls *
latency / width and calls * processor time. Prices come from LiteLLM's price list, without prompt
caching and with the reply lengths of the run.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from engines import evaluated_by, job_of_many
from throughput import scripted_process

JUDGES = (
    "openai/gpt-4.1-mini",
    "openai/gpt-4.1",
    "gemini/gemini-2.5-flash",
    "mistral/mistral-small-latest",
)


def planned(n: int) -> tuple[int, int]:
    from ragassay.evaluators.build_run import build_run
    from ragassay.runs.evaluate import plan
    from ragassay.settings import load_settings

    job = job_of_many(n)
    settings = load_settings(model="openai/scripted", only=("rubrics",), signals=False)
    result = plan(job, build_run(settings, job.corpus))
    return result.n_calls, result.n_prompt_tokens


def compare(n: int, run: Path, wall_s: float | None) -> None:
    from ragassay.models.litellm_library import compute_price_usd
    from ragassay.runs.folder import RunFolder

    summary = RunFolder(run).read_summary()
    assert summary is not None, "the run has not finished"
    n_calls, n_tokens = planned(n)
    usage = summary.usage
    row: dict[str, object] = {
        "answers": n,
        "calls_planned": n_calls,
        "calls": usage.n_calls,
        "prompt_tokens_planned": n_tokens,
        "prompt_tokens": usage.n_prompt_tokens,
        "reply_tokens": usage.n_completion_tokens,
    }
    if wall_s is not None:
        row["wall_s"] = round(wall_s, 1)
    for judge in JUDGES:
        usd = compute_price_usd(judge, usage.n_prompt_tokens, usage.n_completion_tokens)
        row[f"usd {judge}"] = None if usd is None else round(usd, 2)
    print(json.dumps(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--run", type=Path)
    args = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    if args.run:
        from ragassay.runs.folder import RunFolder

        compare(RunFolder(args.run).read_manifest().answers.n_items, args.run, None)
        return
    for n in args.answers:
        with scripted_process(args.latency) as url, tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            options = {"answers": [n], "url": url, "out": folder}
            evaluated_by(argparse.Namespace(**(vars(args) | options)), {})
            compare(n, Path(folder), time.perf_counter() - start)


if __name__ == "__main__":
    main()
