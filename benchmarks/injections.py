"""Count detected prompt injections, and literature sentences that are mistaken for one.

    python benchmarks/injections.py --shared ../shared

The literature consists of the abstracts, papers and snippets in the shared data.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from ragassay.perturbations.lexicon import load_pool
from ragassay.text.faults import speaks_to_judge
from ragassay.text.sentences import extract_sentences

FILES = (
    *("corpus/abstracts.jsonl.gz", "scifact/corpus.jsonl.gz", "pubmedqa/train.jsonl.gz"),
    *("citation-integrity/corpus.jsonl.gz", "sciqag/papers.jsonl.gz"),
    *("yescieval/bioasq-train-questions.jsonl.gz", "bioasq/snippet_documents.jsonl.gz"),
    "yescieval/orkg-synthesis-train-questions.jsonl.gz",
)
N_LINES = 4_001
"""Number of lines to read from each file."""


def texts_in(value: object) -> Iterator[str]:
    """Yield nested strings longer than 20 characters."""
    if isinstance(value, str) and len(value) > 20:
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shared", type=Path, required=True)
    args = parser.parse_args()
    for name, genre in load_pool("injection").items():
        n = sum(any(map(speaks_to_judge, (text, *extract_sentences(text)))) for text in genre.texts)
        print(f"{name}: {n} of {len(genre.texts)}")
    n_read = n_flagged = 0
    for name in FILES:
        with gzip.open(args.shared / "data" / name, "rt", encoding="utf-8") as lines:
            for _, line in zip(range(N_LINES), lines, strict=False):
                for text in texts_in(json.loads(line)):
                    sentences = extract_sentences(text)
                    n_read += len(sentences)
                    n_flagged += sum(map(speaks_to_judge, sentences))
    print(f"mistaken for an injection: {n_flagged} of {n_read:,} sentences")


if __name__ == "__main__":
    main()
