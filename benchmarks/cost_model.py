"""What a run takes by the cost model, against what runs on a scripted model took.

    python benchmarks/cost_model.py --answers 100 1000
    python benchmarks/cost_model.py --run RUN                # a run that there is already

The model: nine calls an answer for the rubrics; each sends the context of the answer (question,
sources, answer) and a task of some 175 tokens; seconds are calls * latency / width, or calls *
processor time where that is more. Dollars are by LiteLLM's price list, nothing cached, every reply
as long as those of the run.
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
    found = plan(job, build_run(settings, job.corpus))
    return found.n_calls, found.n_prompt_tokens


def compare(n: int, run: Path, wall_s: float | None) -> None:
    from ragassay.models.litellm_library import listed_price_usd
    from ragassay.runs.folder import RunFolder

    summary = RunFolder(run).summary()
    assert summary is not None, "the run has not ended"
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
        usd = listed_price_usd(judge, usage.n_prompt_tokens, usage.n_completion_tokens)
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
    given = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    if given.run:
        from ragassay.runs.folder import RunFolder

        compare(RunFolder(given.run).manifest().answers.n_items, given.run, None)
        return
    for n in given.answers:
        with scripted_process(given.latency) as url, tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            options = {"answers": [n], "url": url, "out": folder}
            evaluated_by(argparse.Namespace(**(vars(given) | options)), {})
            compare(n, Path(folder), time.perf_counter() - start)


if __name__ == "__main__":
    main()
