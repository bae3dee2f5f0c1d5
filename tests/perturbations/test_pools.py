"""The two sides of the pools share nothing, and each is large enough."""

from __future__ import annotations

import random
import tomllib
from itertools import product
from pathlib import Path

import pytest

from ragassay.perturbations.lexicon import draw_text, load_pool

POOLS = ("off_topic", "blog", "tweet", "injection")
ROOT = Path(__file__).parents[2]


def _texts(name, side: str) -> list[str]:
    return [t for genre in load_pool(name).values() if genre.side == side for t in genre.texts]


@pytest.mark.parametrize("name", POOLS)
def test_no_text_stands_twice(name):
    texts = [" ".join(t.lower().split()) for side in ("fit", "audit") for t in _texts(name, side)]
    assert len(set(texts)) == len(texts)


def test_no_text_is_part_of_one_on_the_other_side():
    fit, audit = ([t for name in POOLS for t in _texts(name, side)] for side in ("fit", "audit"))
    inside = [(a, b) for a, b in product(fit, audit) if len(min(a, b, key=len)) > 12]
    assert not [(a, b) for a, b in inside if a in b or b in a]


@pytest.mark.parametrize("side", ["fit", "audit"])
def test_each_side_has_many_genres_of_many_texts(side):
    genres = [genre for genre in load_pool("off_topic").values() if genre.side == side]
    assert len(genres) >= 8
    assert min(len(genre.texts) for genre in genres) >= 12
    assert len(_texts("blog", side)) >= 30
    assert len(_texts("tweet", side)) >= 30
    injected = {g for g, genre in load_pool("injection").items() if genre.side == side}
    kinds = ("instruction", "rating", "end", "experts", "flattery")
    assert injected == {f"{kind}_{side}" for kind in kinds}


def test_audits_see_genres_that_no_judge_was_fitted_on():
    pool = load_pool("off_topic")
    audit = {"news", "sports", "recipes", "law", "code", "german", "french", "spanish", "chinese"}
    assert all(pool[genre].side == "audit" for genre in audit)


def test_every_text_of_a_side_can_be_drawn_and_no_other():
    rng = random.Random(0)
    drawn = {draw_text("injection", "fit", rng, "rating_").text for _ in range(500)}
    assert drawn == set(load_pool("injection")["rating_fit"].texts)


def test_the_data_files_are_shipped():
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = shipped["tool"]["setuptools"]["package-data"]["ragassay"]
    package = ROOT / "ragassay"
    found = {path for pattern in patterns for path in package.glob(pattern)}
    assert set((package / "perturbations").rglob("*.yaml")) <= found
