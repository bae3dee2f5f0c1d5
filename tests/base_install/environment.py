"""An environment with the base dependencies alone, as `pip install ragassay` makes it.

Nothing is downloaded: a virtual environment links to what is installed here, and leaves out each
distribution that no base dependency needs. Child processes, entry points and `importlib.metadata`
lack it too.
"""

from __future__ import annotations

import os
import sysconfig
import tomllib
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path, PurePath

from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PYTHON = "RAGASSAY_BASE_PYTHON"
"""Names the Python of an environment that a wheel was installed in; `make base-install` sets it."""

SITE = Path(sysconfig.get_path("purelib"))


def base_requirements() -> list[str]:
    """The base dependencies of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]["dependencies"]


def base_distributions() -> dict[str, Distribution]:
    """Installed distributions that the base dependencies need, by canonical name."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(line), "") for line in base_requirements()]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for wanted in {"", *requirement.extras} - {e for n, e in seen if n == name}:
            seen.add((name, wanted))
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:  # for an interpreter or system other than this one
                continue
            waiting += [(Requirement(line), wanted) for line in found[name].requires or ()]
    return found


def make_base_environment(folder: Path) -> Path:
    """Make the environment in a new folder; returns its Python.

    `ragassay` itself is there by its metadata alone: PYTHONPATH names the sources.
    """
    venv.create(folder, symlinks=True)
    version = f"python{sysconfig.get_python_version()}"
    site = folder / "lib" / version / "site-packages"
    base = base_distributions()
    left_out = [one for one in distributions() if canonicalize_name(one.name) not in base]
    kept = [file for one in base.values() for file in _files(one)]
    _link(site, kept, {parent for one in left_out for f in _files(one) for parent in f.parents})
    own = distribution("ragassay")
    _link(site, [file for file in _files(own) if file.parts[0].endswith(".dist-info")], set())
    return folder / "bin" / "python"


def _files(one: Distribution) -> Iterator[PurePath]:
    """The files of a distribution in site-packages, from its RECORD."""
    for file in one.files or ():
        if ".." not in file.parts and not file.is_absolute():
            yield file


def _link(site: Path, files: Iterable[PurePath], shared: set[PurePath]) -> None:
    """Link to the highest folder that nobody else writes to, and to files one by one elsewhere."""
    done: set[PurePath] = set()
    for file in files:
        above = [*reversed(file.parents[:-1]), file]
        own = next(path for path in above if path not in shared)
        if own not in done and (SITE / own).exists():
            done.add(own)
            (site / own).parent.mkdir(parents=True, exist_ok=True)
            os.symlink(SITE / own, site / own)
