"""Read the image's lock files and the requirements in pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)((?: --hash=sha256:[0-9a-f]{64})*)$")


@dataclass(frozen=True)
class Pin:
    """A line of a lock file."""

    name: str
    version: str
    hashes: tuple[str, ...]


def read_lock(path: Path) -> list[Pin]:
    """Return the pins of a lock file.

    Raises:
        ValueError: A line is not a pin: an option, an address or an open version.
    """
    joined = re.sub(r" *\\\n *", " ", path.read_text(encoding="utf-8"))
    pins = []
    for line in joined.splitlines():
        match = _PIN.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"{path.name}: {line!r} is no pin")
        name, version, hashes = match.groups()
        pins.append(Pin(canonicalize_name(name), version, tuple(hashes.split())))
    return pins


def direct_requirements(pyproject: Path, extras: Iterable[str]) -> list[Requirement]:
    """Return the requirements of a project and some extras, with nested extras expanded.

    Raises:
        KeyError: An extra does not exist.
    """
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    waiting = [*project["dependencies"]]
    waiting += [line for name in extras for line in project["optional-dependencies"][name]]
    found: list[Requirement] = []
    while waiting:
        one = Requirement(waiting.pop())
        one.name = canonicalize_name(one.name)
        if one.name == project["name"]:
            for extra in one.extras:
                waiting += project["optional-dependencies"][extra]
        else:
            found.append(one)
    return found
