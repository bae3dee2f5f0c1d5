"""What vLLM's prefix cache answers of the prompts of a run, by vLLM's own counters.

    python benchmarks/vllm_hits.py --api-base http://127.0.0.1:8000/v1 --model judge

Rates the sample's answers with sources by the nine rubrics, served by a vLLM that nobody else asks,
and prints how many tokens of prompts vLLM looked up in its cache and how many it found
(`vllm:prefix_cache_queries` and `vllm:prefix_cache_hits`, whole blocks alone), beside how many
ratings its replies gave: they are bound to a JSON schema.
"""

from __future__ import annotations

import argparse
import json
import os
import urllib.request
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

import ragassay
from ragassay.formats import read_records
from ragassay.settings import load_settings

SAMPLE = Path(__file__).parent.parent / "examples" / "sample"
COUNTERS = {"looked_up": "vllm:prefix_cache_queries", "found": "vllm:prefix_cache_hits"}


def counted(api_base: str) -> dict[str, float]:
    """Return vLLM's counters of tokens, over all models that it serves."""
    url = f"{api_base.removesuffix('/').removesuffix('/v1')}/metrics"
    with urllib.request.urlopen(url) as reply:
        families = {
            family.name: sum(s.value for s in family.samples if s.name.endswith("_total"))
            for family in text_string_to_metric_families(reply.read().decode())
        }
    return {name: families[counter] for name, counter in COUNTERS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--api-base", required=True, help="where vLLM answers: http://host:port/v1")
    parser.add_argument("--model", required=True, help="the name that it serves the model by")
    parser.add_argument("--limit", type=int, help="the first so many answers alone")
    parser.add_argument("--concurrency", type=int, default=8, help="calls under way (8)")
    arguments = parser.parse_args()
    os.environ.setdefault("HOSTED_VLLM_API_KEY", "none")
    records = [r for r in read_records(SAMPLE / "answers.jsonl").records if r.sources]
    settings = load_settings(
        model=f"hosted_vllm/{arguments.model}",
        api_base=arguments.api_base,
        concurrency=arguments.concurrency,
    )
    before = counted(arguments.api_base)
    results = ragassay.evaluate(
        records[: arguments.limit], only=["rubrics"], settings=settings, progress=True
    )
    found = {name: n - before[name] for name, n in counted(arguments.api_base).items()}
    judgments = [one for evaluation in results for one in evaluation.judgments]
    row = {
        "answers": len(results),
        "calls": sum(evaluation.usage.n_calls for evaluation in results),
        "ratings": sum(one.rating is not None for one in judgments),
        "unscored": sum(one.rating is None for one in judgments),
        "prompt_tokens_looked_up": int(found["looked_up"]),
        "share_found": round(found["found"] / found["looked_up"], 3),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
