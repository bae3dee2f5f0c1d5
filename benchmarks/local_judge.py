"""Compare batched and separate calls of the embedded judge on one answer with five abstracts.

    python benchmarks/local_judge.py

- Nine rubrics of the sample's first answer run as one batch and as nine separate calls, which share
  nothing because the key/value cache is cleared between them. The result is the ratio of the times.
- A new process evaluates the answer in full, and its time and peak memory are printed.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "examples" / "sample"

WHOLE = """
import json, resource, sys, time
start = time.perf_counter()
import ragassay
from ragassay.formats import read_records
record = read_records(__import__('pathlib').Path(sys.argv[1])).records[0]
imported = time.perf_counter()
ragassay.evaluate([record])
first = time.perf_counter()
record = record.model_copy(update={'id': 'again', 'question': 'Again: ' + record.question})
result = ragassay.evaluate([record])
again = time.perf_counter()
print(json.dumps({
    'calls': result.summary.usage.n_calls,
    'process_to_result_s': round(first - start, 2),
    'evaluation_with_loading_s': round(first - imported, 2),
    'evaluation_s': round(again - first, 2),
    'peak_gib': round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
}))
"""


def rubric_prompts() -> list[object]:
    """Return the nine rubric prompts of the sample's first answer, as rendered by the adapter."""
    from ragassay.agents.base import SharedPrefixAdapter, build_response_format
    from ragassay.agents.context import build_case
    from ragassay.agents.rubric_judge import RubricJudge
    from ragassay.formats import read_records
    from ragassay.models.local.replies import Prompt
    from ragassay.prompts import load_rubrics
    from ragassay.settings import Settings
    from ragassay.text.search import condense_documents
    from ragassay.text.segmenter import segment

    record = read_records(SAMPLE / "answers.jsonl").records[0]
    answer, sentences, sources = segment(record, lambda identifier: None)
    shown = condense_documents(sources, f"{record.question} {answer}", Settings().source_chars)
    context = build_case(record, answer, sentences, [], sources, shown).context
    signature = RubricJudge().predict.signature
    schema = json.dumps(build_response_format(signature)["json_schema"]["schema"])
    prompts = []
    for rubric in load_rubrics().values():
        inputs = {"context": context, "rubric": rubric.render()}
        messages = SharedPrefixAdapter().format(signature, [], inputs)
        prompts.append(
            Prompt(tuple((m["role"], m["content"]) for m in messages), schema, max_tokens=256)
        )
    return prompts


def compare(n_runs: int) -> dict[str, object]:
    from ragassay.model_names import SMOLLM2
    from ragassay.models.local.loading import load_engine
    from ragassay.settings import Settings

    engine = load_engine(SMOLLM2, Settings().literature.cache_dir)
    prompts = rubric_prompts()
    engine.answer(prompts[:1])
    together, separate = [], []
    for _ in range(n_runs):
        engine.forget()
        start = time.perf_counter()
        engine.answer(prompts)
        together.append(time.perf_counter() - start)
        start = time.perf_counter()
        for prompt in prompts:
            engine.forget()
            engine.answer([prompt])
        separate.append(time.perf_counter() - start)
    ratios = [s / t for s, t in zip(separate, together, strict=True)]
    return {
        "nine_together_s": round(statistics.median(together), 2),
        "nine_separate_s": round(statistics.median(separate), 2),
        "ratio_median": round(statistics.median(ratios), 2),
        "ratio_min": round(min(ratios), 2),
        "runs": n_runs,
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    command = [sys.executable, "-c", WHOLE, str(SAMPLE / "answers.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    print(done.stdout.strip().splitlines()[-1], flush=True)
    print(json.dumps(compare(args.runs)))


if __name__ == "__main__":
    main()
