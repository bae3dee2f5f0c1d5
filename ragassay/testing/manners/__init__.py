"""Answers of each provider of models, as data: one YAML file a provider, and its reader.

Each file says where its shapes and words were taken from (`sources`, `source`).
"""

from ragassay.testing.manners.manner import (
    MANNER_NAMES,
    ErrorAnswer,
    Manner,
    ModelTurn,
    load_manner,
)

__all__ = ["MANNER_NAMES", "ErrorAnswer", "Manner", "ModelTurn", "load_manner"]
