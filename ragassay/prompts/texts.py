"""Read the files of texts."""

from __future__ import annotations

from importlib.resources import files


def prompt_text(name: str) -> str:
    """Return the content of a file in this folder.

    Args:
        name: e.g. "agents.yaml".
    """
    return files("ragassay.prompts").joinpath(name).read_text(encoding="utf-8")
