"""A cluster that cannot be joined is named, with what may be wrong."""

from __future__ import annotations

import warnings

import pytest

from ragassay.errors import SettingsError
from ragassay.runs.distributed.cluster import _connect


class Unreachable:
    """Ray, where nothing answers at the address."""

    def init(self, **given: object) -> None:
        warnings.warn("Ray Client connection timed out.", UserWarning, stacklevel=2)
        raise ConnectionError("ray client connection timeout")


def test_a_cluster_that_does_not_answer_is_named_with_what_may_be_wrong():
    with pytest.raises(SettingsError, match=r"ray://head:10001.* RAY_AUTH_MODE=token.* timeout"):
        _connect(Unreachable(), "ray://head:10001", 2)
