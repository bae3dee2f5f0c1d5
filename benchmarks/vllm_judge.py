r"""Measure vLLM's prefix cache for a judge, and compare its ratings with those of the local model.

    ragassay models merge ragassay/judge --hf merged-judge
    vllm serve merged-judge --served-model-name ragassay/judge --max-model-len 8192 \
        --structured-outputs-config '{"backend": "guidance", "disable_any_whitespace": true}'
    python benchmarks/vllm_judge.py --api-base http://127.0.0.1:8000/v1

Rates the sample's answers with sources on the nine rubrics. The server must have no other clients.
Prints the number of prompt tokens that vLLM looked up in its cache and the share found, according
to its own counters, which count only full blocks. If the model is one of ragassay's, it also rates
the answers in this process, both without signals, and the script compares the ratings. `--model
NAME` selects another model.
"""

from __future__ import annotations

import argparse
import json
import os
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

import ragassay
from ragassay.formats import read_records
from ragassay.model_names import VLLM, is_ragassay_model
from ragassay.records import Judgment, Record
from ragassay.settings import load_settings

SAMPLE = Path(__file__).parent.parent / "examples" / "sample"
LOOKED_UP, FOUND = "vllm:prefix_cache_queries", "vllm:prefix_cache_hits"


def counted(api_base: str) -> dict[str, float]:
    url = f"{api_base.removesuffix('/').removesuffix('/v1')}/metrics"
    with urllib.request.urlopen(url) as reply:
        text = reply.read().decode()
    return {
        family.name: sum(s.value for s in family.samples if s.name.endswith("_total"))
        for family in text_string_to_metric_families(text)
    }


def judged(records: Sequence[Record], **settings: Any) -> list[Judgment]:
    resolved = load_settings(**settings)
    results = ragassay.evaluate(records, only=["rubrics"], settings=resolved, progress=True)
    return [one for evaluation in results for one in evaluation.judgments]


def print_likeness(remote: Sequence[Judgment], local: Sequence[Judgment]) -> None:
    pairs = [(a, b) for a, b in zip(remote, local, strict=True) if a.score and b.score]
    row = {
        "the same": sum(a.rating == b.rating for a, b in pairs),
        "same rationale": sum(a.rationale == b.rationale for a, b in pairs),
        "scores at most apart": max((abs(a.score - b.score) for a, b in pairs), default=None),
    }
    print(json.dumps(row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--api-base", required=True, help="URL of the vLLM server: http://HOST:PORT/v1"
    )
    parser.add_argument(
        "--model", default="ragassay/judge", help="model name on the server and in ragassay"
    )
    parser.add_argument("--concurrency", type=int, default=8, help="concurrent calls to the server")
    arguments = parser.parse_args()
    os.environ.setdefault("HOSTED_VLLM_API_KEY", "none")
    records = [r for r in read_records(SAMPLE / "answers.jsonl").records if r.sources]
    compared = is_ragassay_model(arguments.model)
    signals = {"signals": False} if compared else {}
    before = counted(arguments.api_base)
    remote = judged(
        records,
        model=f"{VLLM}/{arguments.model}",
        api_base=arguments.api_base,
        concurrency=arguments.concurrency,
        **signals,
    )
    after = counted(arguments.api_base)
    looked_up, found = (after[name] - before[name] for name in (LOOKED_UP, FOUND))
    row = {
        "answers": len(records),
        "prompt tokens looked up": int(looked_up),
        "share found": round(found / looked_up, 3),
        "ratings": len(remote),
        "unscored": sum(one.rating is None for one in remote),
    }
    print(json.dumps(row))
    if compared:
        print_likeness(remote, judged(records, model=arguments.model, **signals))


if __name__ == "__main__":
    main()
