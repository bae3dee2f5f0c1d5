"""Texts that a page must escape, and a fixture with all of them."""

from __future__ import annotations

from typing import NamedTuple

import pytest

SCRIPT = "<script>alert('x')</script>"
HOSTILE = f'{SCRIPT} {{{{ 7*7 }}}} {{% raw %}} %s ]]> --> " onload="x" <img src=https://e.x/p.png>'
MARKDOWN = "a | b `code` **bold** [link](https://e.x) ![i](https://e.x/i.png)\n| c | d |\n# head"
RIGHT_TO_LEFT = "يقلل الميتفورمين من السكر \U0001f9ea\u202e"
LONG = "Metformin lowers hepatic glucose output in adults. " * 40


class Texts(NamedTuple):
    """The untrusted texts of the run."""

    hostile: str = HOSTILE
    script: str = SCRIPT
    markdown: str = MARKDOWN
    right_to_left: str = RIGHT_TO_LEFT
    long: str = LONG


@pytest.fixture(scope="session")
def texts() -> Texts:
    """The untrusted texts of the run."""
    return Texts()
