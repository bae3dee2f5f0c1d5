"""Verdicts on disk: what a run leaves, the next start finds."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ragassay.errors import StorageError
from ragassay.graphs.persistence import _opened_first, opened_cache, serializer
from ragassay.records import EvidenceVerdict, Failure, SentenceLabel

LABEL = {"labels": [SentenceLabel(sentence=1, label="required")]}
ONE, TWO = (("label_sentence", "a"), "1"), (("judge_rubric", "a"), "1")


def test_verdicts_are_there_after_a_restart(tmp_path):
    with opened_cache(tmp_path / "v.sqlite") as cache:
        assert cache.get([ONE]) == {}
        cache.set({ONE: (LABEL, None), TWO: (None, None)})
    with opened_cache(tmp_path / "v.sqlite") as cache:
        assert cache.get([ONE, TWO, (ONE[0], "2")]) == {ONE: LABEL, TWO: None}


def test_verdicts_of_some_nodes_or_of_all_are_forgotten(tmp_path):
    with opened_cache(tmp_path / "v.sqlite") as cache:
        cache.set({ONE: (LABEL, None), TWO: (LABEL, None)})
        cache.clear([TWO[0]])
        assert cache.get([ONE, TWO]) == {ONE: LABEL}
        cache.clear()
        assert cache.get([ONE]) == {}


def test_a_file_that_langgraphs_cache_made_is_read_and_written_on(tmp_path):
    with closing(sqlite3.connect(tmp_path / "v.sqlite")) as file:
        file.execute(
            "CREATE TABLE cache (ns TEXT, key TEXT, expiry REAL, encoding TEXT NOT NULL, "
            "val BLOB NOT NULL, PRIMARY KEY (ns, key))"
        )
    with opened_cache(tmp_path / "v.sqlite") as cache:
        cache.set({ONE: (LABEL, None)})
        assert cache.get([ONE]) == {ONE: LABEL}


def test_an_undecided_verdict_is_kept_and_one_of_before_there_were_any_is_read(monkeypatch):
    kept = serializer()
    doubt = Failure(reason="undecided", detail="leans to supports at 0.51")
    given = {"sentence": 1, "confidence": 0.51, "failure": doubt}
    verdict = EvidenceVerdict(**given, leaning="supports")
    assert kept.loads_typed(kept.dumps_typed(verdict)) == verdict
    dumped = SentenceLabel.model_dump

    def older(self, **options):
        return {k: v for k, v in dumped(self, **options).items() if k != "leaning"}

    monkeypatch.setattr(SentenceLabel, "model_dump", older)
    written = kept.dumps_typed(LABEL)
    assert b"leaning" not in written[1]
    assert kept.loads_typed(written) == LABEL


@pytest.mark.parametrize(
    ("error", "is_damage"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (PermissionError(errno.EACCES, "Permission denied"), False),
        (sqlite3.OperationalError("database or disk is full"), False),
        (sqlite3.DatabaseError("file is not a database"), True),
    ],
)
def test_only_a_damaged_file_is_set_aside(tmp_path: Path, error: Exception, is_damage: bool):
    path = tmp_path / "verdicts.sqlite"
    path.write_bytes(b"paid for")
    said = "set aside" if is_damage else "goes on from there"
    with pytest.raises(StorageError, match=said), _opened_first(path):
        raise error
    assert path.exists() != is_damage
    assert path.with_name("verdicts.sqlite.damaged").exists() == is_damage
