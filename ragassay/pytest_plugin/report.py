"""One run folder of all answers of a test session, from the notes of its processes."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

from ragassay.metrics.stats.summary import summarize
from ragassay.records import Evaluation, FileStamp, Manifest, RecordFailure
from ragassay.reports import headline
from ragassay.reports.text import count_text
from ragassay.runs.folder import RunFolder, read_lines, write_lines, write_whole


def write_report(notes: Path, out: Path) -> list[str]:
    """Write the folder of a session, in place of that of an earlier one.

    Args:
        notes: What the processes noted: a manifest for each judge and settings, evaluations,
            failures. An answer that was evaluated twice, as a test was repeated, counts once.
        out: The folder.

    Returns:
        Lines for the terminal: what the answers came to, and by which judge.
    """
    found: dict[str, tuple[str, Evaluation]] = {}
    for file in sorted(notes.glob("*.*.*.jsonl")):
        judge = file.name.partition(".")[0]
        found |= {e.record_id: (judge, e) for e in read_lines(file, Evaluation)}
    n_cached = sum(len(read_lines(file, Evaluation)) for file in notes.glob("*.cached.*.jsonl"))
    failed = [f for file in notes.glob("failures.*.jsonl") for f in read_lines(file, RecordFailure)]
    failures = {f.record_id: f for f in failed if f.record_id not in found}
    evaluations = [evaluation for _, (_, evaluation) in sorted(found.items())]
    judges = Counter(judge for judge, _ in found.values())
    names = [judge for judge, _ in judges.most_common()] or [
        file.stem for file in sorted(notes.glob("*.json"))
    ]
    read = (notes / f"{names[0]}.json").read_text(encoding="utf-8")
    content = "".join(evaluation.fingerprint for evaluation in evaluations)
    stamp = FileStamp(
        name="pytest",
        sha256=hashlib.sha256(content.encode()).hexdigest(),
        n_items=len(evaluations) + len(failures),
        format="pytest",
    )
    manifest = Manifest.model_validate_json(read).model_copy(update={"answers": stamp})
    folder = RunFolder(out)
    out.mkdir(parents=True, exist_ok=True)
    summary = summarize(evaluations, stamp.n_items, len(failures), 0)
    write_whole(folder.manifest_file, manifest.model_dump_json(indent=2))
    write_lines(folder.evaluations_file, evaluations)
    write_lines(folder.failures_file, [failures[name] for name in sorted(failures)])
    write_whole(folder.summary_file, summary.model_dump_json(indent=2))
    folder.write_reports(summary)
    of = count_text(stamp.n_items, "answer")
    lines = [headline(summary), f"Judge: {manifest.judge}; {n_cached} of {of} from the cache"]
    others = sum(judges.values()) - judges[names[0]]
    if others:
        lines.append(
            f"{count_text(others, 'answer')} with other settings than those that the report names"
        )
    return lines
