"""How each provider of models answers, as data: one YAML file a provider, and what reads them.

Each file says where its shapes and words were taken from (`sources`, `source`).
"""

from ragassay.testing.manners.manner import (
    MANNER_NAMES,
    ErrorAnswer,
    Manner,
    Turn,
    load_manner,
)

__all__ = ["MANNER_NAMES", "ErrorAnswer", "Manner", "Turn", "load_manner"]
