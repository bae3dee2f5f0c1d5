"""The garbage collector during a run."""

from __future__ import annotations

import gc
import weakref

import pytest

from ragassay.runs.garbage import THRESHOLDS, patient_collector


def test_the_collector_is_as_before_afterwards_also_when_a_run_fails():
    before = gc.get_threshold()
    with pytest.raises(KeyError), patient_collector():
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > 0
        raise KeyError
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_what_a_run_drops_in_circles_is_still_collected():
    class Node:
        pass

    with patient_collector():
        node = Node()
        node.itself = node
        seen = weakref.ref(node)
        del node
        gc.collect()
        assert seen() is None
