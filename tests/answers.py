"""Small evaluations for tests of statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragassay.records import (
    AnswerSentence,
    Citation,
    CitationVerdict,
    Evaluation,
    FileFingerprint,
    Manifest,
    Score,
    SentenceLabel,
)
from ragassay.records.evaluation import OLD_FIELDS
from ragassay.runs.folder import RunFolder, write_atomically, write_lines


def answer(
    record_id: str = "r",
    topic: str = "t",
    system: str | None = None,
    labels: Sequence[tuple[str, str | None]] = (),
    citations: Sequence[tuple[int, str, str | None]] = (),
    scores: Mapping[str, float] | None = None,
    **fields: object,
) -> Evaluation:
    """Return an evaluation.

    Args:
        labels: Text and relevance label of each sentence.
        citations: Sentence, document and verdict of each citation.
        scores: Values by key.
        fields: Other fields of the evaluation.
    """
    pointers: dict[int, list[Citation]] = {}
    for sentence, document, _ in citations:
        pointers.setdefault(sentence, []).append(Citation(marker=document, document=document))
    found = {
        "record_id": record_id,
        "question": f"Question {topic}?",
        "answer": " ".join(text for text, _ in labels),
        "system": system,
        "topic": topic,
        "judge": "judge",
        "sentences": tuple(
            AnswerSentence(index=i, text=text, start=0, end=1, citations=tuple(pointers.get(i, ())))
            for i, (text, _) in enumerate(labels, 1)
        ),
        "labels": tuple(
            SentenceLabel.model_validate({"sentence": i, "label": label, "confidence": 0.75})
            for i, (_, label) in enumerate(labels, 1)
        ),
        "citations": tuple(
            CitationVerdict.model_validate(
                {
                    "sentence": sentence,
                    "citation": Citation(marker=document, document=document),
                    "verdict": verdict,
                }
            )
            for sentence, document, verdict in citations
        ),
        "scores": {
            key: Score(value=value, n=1, judge="judge") for key, value in (scores or {}).items()
        },
    }
    return Evaluation.model_validate(found | fields)


def written_run(
    path: Path, evaluations: Sequence[Evaluation], *, is_finished: bool = True, **fields: object
) -> Path:
    from ragassay.metrics.stats.summary import summarize

    folder = RunFolder(path)
    path.mkdir(parents=True)
    fingerprint = FileFingerprint(name="answers.jsonl", sha256="0" * 64, n_items=len(evaluations))
    given = {"ragassay": "0", "judge": "judge", "answers": fingerprint}
    manifest = Manifest.model_validate(given | fields)
    write_atomically(folder.manifest_file, manifest.model_dump_json())
    write_lines(folder.evaluations_file, evaluations)
    if is_finished:
        summary = summarize(evaluations, len(evaluations), 0, 0)
        write_atomically(folder.summary_file, summary.model_dump_json())
    return path


def changed(evaluation: Evaluation, **fields: Any) -> Evaluation:
    """Return the evaluation with other fields, where lists such as `labels` replace verdicts."""
    named = {OLD_FIELDS[name]: verdicts for name, verdicts in fields.items() if name in OLD_FIELDS}
    kept = [one for one in evaluation.verdicts if one.evaluator not in named]
    new = [verdict for verdicts in named.values() for verdict in verdicts]
    others = {name: value for name, value in fields.items() if name not in OLD_FIELDS}
    return evaluation.model_copy(update=others | {"verdicts": (*kept, *new)})
