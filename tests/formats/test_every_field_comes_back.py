"""Every field of the formats that are written comes back, unknown ones at any depth included.

A null is the same as an absent field, and a text that looks like JSON may come back as that value,
in formats whose unknown fields are kept as text. What a format's reader normalises is in the
samples as it is written.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from format_samples import CASES, sample
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragassay.formats import (
    read_assignments,
    read_graded_paragraphs,
    read_nugget_banks,
    read_qrels,
    read_records,
    read_run,
    read_test_banks,
    write_answers,
    write_assignments,
    write_graded_paragraphs,
    write_nugget_banks,
    write_qrels,
    write_run,
    write_test_banks,
)

CREATED = {
    "query": "Q?",
    "qid": "1",
    "nuggets": [
        {"text": "n1", "importance": "vital"},
        {"text": "n2"},
        {"text": "n3", "importance": "failed"},
    ],
}
DOCUMENT = {"url": "u", "segment": "S", "title": "T"}
CREATE = {
    "query": {"qid": "1", "text": "Q?"},
    "candidates": [
        {"docid": "d", "score": 1.5, "judgment": 1, "doc": DOCUMENT},
        {"docid": "d", "score": 0.5, "doc": {"segment": "S2"}},
    ],
}
RUN24 = sample("biogen-2024")
ABOUT = {"team_id": "t", "run_id": "r", "topic_id": "116", "question": "Q?", "answer": "S1."}
FAILED = sample("nuggetizer-assign, with labels that failed", 1)
FIRST, NULLS = CASES["graded paragraphs"]["rows"]
Through = Callable[[Path, Path], object]


def answers(form: str) -> Through:
    def through(given: Path, again: Path) -> None:
        topics = given.with_name("topics.json")
        topics.write_text('{"116": "Q?", "117": "Q?"}')
        found = read_records(given, questions=topics if form == "biogen-2024" else None)
        assert found.rejections == ()
        write_answers(found.records, again, form)

    return through


def assignments(given: Path, again: Path) -> None:
    write_assignments(read_assignments(given)[0], again)


FORMS: dict[str, tuple[object, Through]] = {
    "create": (CREATE, answers("nuggetizer-create")),
    "created": (CREATED, lambda a, b: write_nugget_banks(read_nugget_banks(a)[0], b)),
    # A nugget without an importance is written with one that failed.
    "assigned": (FAILED | {"nuggets": FAILED["nuggets"][:4]}, assignments),
    "retrieved": (sample("nuggetizer-assign-retrieval"), assignments),
    "rag-2024": (sample("trec-rag-2024"), answers("trec-rag-2024")),
    "rag-2025": (
        sample("trec-rag-2025") | {"answer": [{"text": "S1.", "citations": [2, 0, "d9"]}]},
        answers("trec-rag-2025"),
    ),
    "biogen-2024": (RUN24 | {"results": RUN24["results"][:2]}, answers("biogen-2024")),
    "biogen-2025-a": (sample("biogen-2025-a"), answers("biogen-2025-a")),
    "biogen-2025-b": (
        {"metadata": ABOUT, "responses": [{"text": "S1.", "citations": ["1", "2"]}]},
        answers("biogen-2025-b"),
    ),
    "bank": (
        sample("rubric-test-bank"),
        lambda a, b: write_test_banks(read_test_banks(a).banks, b),
    ),
    "graded": (
        ["q", [FIRST, NULLS]],
        lambda a, b: write_graded_paragraphs(read_graded_paragraphs(a).queries, b),
    ),
}
FREE = {"info", "llm_options", "prompt_info", "paragraph"}
"""Objects of any content: what is added there is no unknown field of the format."""


def objects(value: Any, name: str = "") -> Iterator[dict[str, object]]:
    """Yield the objects of a sample, the outermost first."""
    if isinstance(value, dict):
        yield value
        for key, part in value.items():
            if key not in FREE:
                yield from objects(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from objects(part, name)


WORDS = st.text(st.characters(categories=["L"]), min_size=1, max_size=6)
NAMES = WORDS.map("x_{}".format)
PLAIN = st.one_of(WORDS.map("text {}".format), st.integers(), st.booleans(), st.floats(-9, 9))
VALUES = st.one_of(PLAIN, st.lists(PLAIN, max_size=2), st.dictionaries(WORDS, PLAIN, max_size=2))


@pytest.mark.parametrize("form", sorted(FORMS))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_field_comes_back(tmp_path: Path, form: str, data: st.DataObject):
    sample, through = FORMS[form]
    row = copy.deepcopy(sample)
    for place in objects(row):
        place.update(data.draw(st.dictionaries(NAMES, VALUES, max_size=2)))
    given_file, again = tmp_path / "given", tmp_path / "again"
    given_file.write_text(json.dumps(row))
    through(given_file, again)
    assert json.loads(again.read_text()) == row


def test_every_column_of_rankings_and_judgments_comes_back(tmp_path: Path):
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text("q Q0 d1 1 2.5 tag\nq Q0 d2 2 1.25 tag\np Q0 d1 1 0.5 tag\n")
    qrels.write_text("q 0 d1 3\nq 0 d2 0\np 0 d1 -1\n")
    write_run(read_run(run)[0], tmp_path / "run.again")
    write_qrels(read_qrels(qrels)[0], tmp_path / "qrels.again")
    assert (tmp_path / "run.again").read_text() == run.read_text()
    assert (tmp_path / "qrels.again").read_text() == qrels.read_text()
