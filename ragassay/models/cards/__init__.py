"""Cards of judges: what each is, its limits, its figures on data that it was not tuned on.

A figure comes from a command of the repository and is written here by that command's author, with
its interval and its n.
"""

from __future__ import annotations

from importlib.resources import files

import yaml

from ragassay.records import ModelCard


def load_card(model: str) -> ModelCard | None:
    """The card of a judge, by its LiteLLM name; None where nothing is known of it."""
    for file in sorted(files(__name__).iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".yaml"):
            card = ModelCard.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
            if card.model == model:
                return card
    return None
