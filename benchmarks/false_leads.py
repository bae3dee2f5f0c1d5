"""What would lead the report on unperturbed answers of four models (YESciEval, train).

    python benchmarks/false_leads.py --shared ../shared

Without a judge only that leads which needs no model: an answer that is cut off, refuses or is in
another language, and a mark that points beyond the sources. Each is printed, to be read. A minute.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from ragassay.evaluators.findings import text_findings
from ragassay.records import Case, Record
from ragassay.text.segmenter import segment

sys.path.insert(0, str(Path(__file__).parents[1]))  # where training/ stands

from training.cited import whole_answers


def leads_of(record: Record) -> list[tuple[str, str]]:
    """Return the kind and the words of what leads."""
    text, sentences, sources = segment(record)
    case = Case(
        record_id=record.id,
        question=record.question,
        answer=text,
        sentences=tuple(sentences),
        sources=tuple(sources),
    )
    found = [(one.kind, one.message) for one in text_findings(case) if one.level == "head"]
    cited = [citation for one in sentences for citation in one.citations]
    beyond = [one.marker for one in cited if one.document is None and not one.is_unresolved]
    if beyond:
        found.append(("invalid_citation", f"{beyond} of {len(record.sources)} sources"))
    return found


def main() -> None:
    """Count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True, help="holds data/")
    given = parser.parse_args()
    records = whole_answers(given.shared)
    kinds, n_leading = Counter[str](), 0
    for record in records:
        found = leads_of(record)
        n_leading += bool(found)
        kinds.update(kind for kind, _ in found)
        for kind, words in found:
            print(f"{record.id}: {kind}: {words}")
    print(f"{n_leading} of {len(records)} answers: {dict(kinds)}")


if __name__ == "__main__":
    main()
