"""Measure the share of prompt tokens that all calls of one answer have as a common prefix.

    python benchmarks/shared_prefix.py

A scripted model records the prompts for the sample's answers. Tokens are counted with the embedded
judge's tokenizer and include the special tokens of its chat template.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "examples" / "sample"


def main() -> None:
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    from transformers import AutoTokenizer

    import ragassay
    from ragassay.formats import read_records
    from ragassay.models.local.replies import ChatEncoder, measure_common_prefix
    from ragassay.models.weights import prepare_smollm2
    from ragassay.settings import Settings, load_settings
    from ragassay.testing import ScriptedModel

    chat = ChatEncoder(
        AutoTokenizer.from_pretrained(prepare_smollm2(Settings().literature.cache_dir))
    )
    n_shared = n_all = 0
    for record in read_records(SAMPLE / "answers.jsonl").records:
        if not record.sources:
            continue
        with ScriptedModel() as model:
            settings = load_settings(model=model.model_name, api_base=model.base_url)
            ragassay.evaluate([record], settings=settings)
            prompts = [
                chat.encode(tuple((m["role"], m["content"]) for m in r.messages))
                for r in model.requests
            ]
        shared = min(measure_common_prefix(prompts[0], prompt) for prompt in prompts)
        n_shared += shared * len(prompts)
        n_all += sum(len(prompt) for prompt in prompts)
        row = {"answer": record.id, "calls": len(prompts), "shared_tokens": shared}
        print(json.dumps(row | {"share": round(shared * len(prompts) / sum(map(len, prompts)), 3)}))
    print(json.dumps({"answer": "all", "share": round(n_shared / n_all, 3)}))


if __name__ == "__main__":
    main()
