"""Replies and errors of each provider's API, described in one YAML file per provider.

The `sources` and `source` fields of each file cite the provider's documentation.
"""

from ragassay.testing.manners.manner import (
    MANNER_NAMES,
    ErrorAnswer,
    Manner,
    ModelTurn,
    load_manner,
)

__all__ = ["MANNER_NAMES", "ErrorAnswer", "Manner", "ModelTurn", "load_manner"]
