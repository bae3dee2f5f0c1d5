"""Provider-specific replies and errors as data, with one YAML file per provider.

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
