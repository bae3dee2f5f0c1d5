"""Results in which every text of every field is hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ragassay.metrics.stats.summary import summarize
from ragassay.records import Audit, Evaluation, Manifest, RecordFailure, Rejection
from ragassay.runs.folder import read_lines

M = TypeVar("M", bound=BaseModel)

ESCAPES = "\x1b[31m\x1b]0;owned\x07\u202e\u200f\u061c\u2028\x9b2J\x7f"
"""What would colour a terminal, name its window, turn its lines round, clear it."""

MARKUP = (
    "</script><script>owned()</script><img src=x onerror=owned()> javascript:owned() "
    '"onmouseover="owned()" {{7*7}} ]]> --> [link](javascript:owned()) <svg/onload=owned()>'
    "![](http://127.0.0.1:9/i.png) \\input{/etc/passwd} \\immediate\\write18{x} $&%#_"
)
FORMULA = "=1+1"
MARK = "HOSTILE"


def hostile(text: str, marker: str = MARK + ESCAPES + MARKUP) -> str:
    """Return a text that spreadsheets, terminals, browsers and LaTeX would take for their own."""
    return f"{FORMULA} {text} {marker}"


def poisoned(model: M) -> M:
    """Return a record with all its texts hostile that its type allows to be."""
    whole = model.model_dump(mode="json")
    hopeless: set[tuple[Any, ...]] = set()
    for _ in range(400):
        tried = _poisoned(whole, (), hopeless)
        try:
            return type(model).model_validate(tried)
        except ValidationError as error:
            before = len(hopeless)
            for problem in error.errors():
                hopeless.add(_existing(whole, problem["loc"]))
            assert len(hopeless) > before, error
    raise AssertionError("it never becomes valid")


def _poisoned(value: Any, path: tuple[Any, ...], hopeless: set[tuple[Any, ...]]) -> Any:
    if path in hopeless or path[-1:] == ("evaluator",):  # it says which record it is
        return value
    if isinstance(value, str):
        return hostile(value) if value else value
    if isinstance(value, list):
        return [_poisoned(one, (*path, i), hopeless) for i, one in enumerate(value)]
    if isinstance(value, dict):
        return {key: _poisoned(one, (*path, key), hopeless) for key, one in value.items()}
    return value


def _existing(whole: Any, path: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return as much of an error's place as is a place of the data: names of types are left out."""
    found: tuple[Any, ...] = ()
    for step in path:
        inside = isinstance(whole, dict) and step in whole
        if inside or (isinstance(whole, list) and isinstance(step, int) and step < len(whole)):
            whole = whole[step]
            found = (*found, step)
    return found


FILES: dict[str, type[BaseModel]] = {
    "run.json": Manifest,
    "audit.json": Audit,
    "evaluations.jsonl": Evaluation,
    "failures.jsonl": RecordFailure,
    "rejected.jsonl": Rejection,
}


def poison_folder(folder: Path) -> None:
    """Poison all files of a run that hold records."""
    for name, kind in FILES.items():
        path = folder / name
        if not path.exists():
            continue
        text = path.read_text(encoding="utf-8")
        whole = [text] if name.endswith(".json") else [one for one in text.split("\n") if one]
        dumped = [poisoned(kind.model_validate_json(one)).model_dump_json() for one in whole]
        path.write_text("\n".join(dumped) + "\n", encoding="utf-8")
    found = read_lines(folder / "evaluations.jsonl", Evaluation)
    summary = summarize(found, len(found) + 2, 1, 1)
    (folder / "summary.json").write_text(summary.model_dump_json(), encoding="utf-8")


def poison_answers(path: Path, out: Path, n: int) -> None:
    """Write the first answers of a file with all their texts hostile."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:n]]
    for row in rows:
        nuggets = row.pop("nuggets", [])
        row.update(_poisoned(row, (), set()))
        row["nuggets"] = [one | {"text": hostile(one["text"])} for one in nuggets]
    out.write_text("".join(json.dumps(row) + "\n" for row in rows))
