"""Stands in for `pip install` and `uv pip install` off the network.

It refuses files that are missing, options that the program lacks, extras that pyproject.toml lacks,
and requirements that no line of the lock meets. Then it lends the environment this machine's
packages. A wheel is really installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from packaging.requirements import Requirement

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from locked import direct_requirements, read_lock

WITH_VALUE = {
    "pip": {"--requirement"},
    "uv": {"--requirement", "--constraint", "--extra", "--torch-backend", "--find-links"},
}
PLAIN = {"--require-hashes", "--no-deps"}


def main(program: str, words: list[str]) -> None:
    """Install as the command line says, or end with a message."""
    del words[: words.index("install") + 1]
    given: dict[str, list[str]] = {}
    names: list[str] = []
    while words:
        word = words.pop(0)
        option, _, value = word.partition("=") if word.startswith("--") else ("", "", "")
        if option in WITH_VALUE[program]:
            given.setdefault(option, []).append(value or words.pop(0))
        elif option and word not in PLAIN:
            sys.exit(f"{program}: unknown option {word}")
        else:
            names += [] if option else [word]
    wheels = [Path(name) for name in names if name.endswith(".whl")]
    wanted = [Requirement(name) for name in names if not name.endswith(".whl")]
    locks = [Path(name) for name in given.get("--constraint", [])]
    for name in given.get("--requirement", []):
        if name.endswith(".toml"):
            wanted += direct_requirements(Path(name), given.get("--extra", []))
        else:
            locks.append(Path(name))
    _check(wanted, locks)
    _install(program, wheels)


def _check(wanted: list[Requirement], locks: list[Path]) -> None:
    pins = {pin.name: pin for lock in locks for pin in read_lock(lock)}
    for pin in pins.values():
        if not pin.hashes:
            sys.exit(f"{pin.name} has no hash")
    for one in wanted:
        pin = pins.get(one.name)
        if pin is None or not one.specifier.contains(pin.version):
            sys.exit(f"{one} is not met by {pin}")


def _install(program: str, wheels: list[Path]) -> None:
    if program == "pip":
        return
    environment = Path(os.environ["VIRTUAL_ENV"])
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for wheel in wheels:
        command = [sys.executable, "-m", "pip", "--python", environment / "bin/python"]
        command += ["install", "--no-deps", "--no-index", "--quiet", "--no-compile", wheel]
        subprocess.run(command, check=True)


main(sys.argv[1], sys.argv[2:])
