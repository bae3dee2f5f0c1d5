"""Read the files of texts, and fill their templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

_PASSAGE = "{passage}"
_FIELD = re.compile(r"\{(\w+)\}")


def prompt_text(name: str) -> str:
    """Return the content of a file in this folder.

    Args:
        name: e.g. "agents.yaml".
    """
    return files("ragassay.prompts").joinpath(name).read_text(encoding="utf-8")


def around_passage(template: str, **texts: str) -> tuple[str, str]:
    """Cut a template at the passage and fill each part; a text's own braces stay as they are."""
    before, _, after = template.strip().partition(_PASSAGE)
    return _filled(before, texts), _filled(after, texts)


def _filled(part: str, texts: Mapping[str, str]) -> str:
    return _FIELD.sub(lambda found: texts[found[1]], part)
