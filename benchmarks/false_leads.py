"""List findings that would lead the report on unperturbed YESciEval train answers of four models.

    python benchmarks/false_leads.py --shared ../shared

Runs without a judge in about a minute, so it covers only findings that need no model: truncated
answers, refusals, answers in another language, and citation markers without a source.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from ragassay.evaluators.findings import find_text_problems
from ragassay.records import Case, Record
from ragassay.text.segmenter import segment

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.cited import whole_answers


def leads_of(record: Record) -> list[tuple[str, str]]:
    """Return the kind and message of each leading finding."""
    text, sentences, sources = segment(record)
    case = Case(
        record_id=record.id,
        question=record.question,
        answer=text,
        sentences=tuple(sentences),
        sources=tuple(sources),
    )
    found = [(one.kind, one.message) for one in find_text_problems(case) if one.level == "head"]
    cited = [citation for one in sentences for citation in one.citations]
    beyond = [one.marker for one in cited if one.document is None and not one.is_unresolved]
    if beyond:
        found.append(("invalid_citation", f"{beyond} of {len(record.sources)} sources"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    args = parser.parse_args()
    records = whole_answers(args.shared)
    kinds, n_leading = Counter[str](), 0
    for record in records:
        found = leads_of(record)
        n_leading += bool(found)
        kinds.update(kind for kind, _ in found)
        for kind, message in found:
            print(f"{record.id}: {kind}: {message}")
    print(f"{n_leading} of {len(records)} answers: {dict(kinds)}")


if __name__ == "__main__":
    main()
