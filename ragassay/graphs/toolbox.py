"""The toolbox, where it used to be."""

from ragassay.evaluators.toolbox import Toolbox, hash_of, toolbox

__all__ = ["Toolbox", "hash_of", "toolbox"]
