"""Answers chosen by what stands beside them."""

from __future__ import annotations

import pytest

from ragassay.errors import InputError
from ragassay.records import Record
from ragassay.studies.matrix_tables import select_records


def record(identifier, system=None, **metadata):
    return Record(id=identifier, question="Q?", answer="A.", system=system, metadata=metadata)


RECORDS = (
    record("a", "x", variant="benign"),
    record("b", "y", variant="subtle"),
    record("c", variant="benign"),
    record("d", "x"),
)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ((), "abcd"),
        (["variant=benign"], "ac"),
        (["variant=benign", "system=x"], "a"),
        (["variant=benign", "variant=subtle"], "abc"),
        (["id=d"], "d"),
    ],
)
def test_values_of_a_field_are_alternatives_and_fields_must_all_fit(where, kept):
    assert [r.id for r in select_records(RECORDS, where)] == list(kept)


def test_a_value_may_hold_an_equals_sign():
    assert select_records([record("a", formula="x=1")], ["formula=x=1"])


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("variant", "FIELD=VALUE"),
        ("=benign", "FIELD=VALUE"),
        ("colour=red", "no answer has the field 'colour'; use one of id, system, variant"),
        ("variant=wild", "none of 4 answers has variant=wild"),
    ],
)
def test_what_chooses_nothing_is_refused(where, problem):
    with pytest.raises(InputError, match=problem):
        select_records(RECORDS, [where])
