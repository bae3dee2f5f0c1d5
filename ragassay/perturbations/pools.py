"""Texts to damage answers with: one side to fit judges on, the other to audit them.

No text is on both sides, so that a judge that has memorised texts is exposed.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import Field

from ragassay.records.base import Frozen

Side = Literal["fit", "audit"]
PoolName = Literal["off_topic", "blog", "tweet", "injection", "questions"]


class Genre(Frozen):
    """Texts of one kind.

    Attributes:
        side: The side that may use it.
        texts: At least two.
    """

    side: Side
    texts: tuple[str, ...] = Field(min_length=2)


@dataclass(frozen=True)
class Drawn:
    """A text and the genre that it comes from."""

    text: str
    genre: str


@functools.cache
def load_pool(name: PoolName) -> dict[str, Genre]:
    """Return all genres of a pool."""
    read = yaml.safe_load(data_text(f"pools/{name}.yaml"))
    return {genre: Genre.model_validate(given) for genre, given in read.items()}


def draw_text(name: PoolName, side: Side, rng: random.Random, genre: str = "") -> Drawn:
    """Draw a text of a side: first its genre, then the text.

    Args:
        name: The pool.
        side: The side.
        rng: The generator of the draws.
        genre: Only genres whose name starts with this.
    """
    pool = load_pool(name)
    genres = [g for g, given in pool.items() if given.side == side and g.startswith(genre)]
    chosen = rng.choice(genres)
    return Drawn(rng.choice(pool[chosen].texts), chosen)


def data_text(path: str) -> str:
    """Read a data file of this package."""
    return files("ragassay.perturbations").joinpath(path).read_text("utf-8")
