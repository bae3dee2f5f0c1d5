"""Run the steps of a Dockerfile in plain folders, one per stage, without Docker.

Absolute paths become paths below the stage's folder. `pip` and `uv` are stubs that check their
arguments and install only the wheel, so no network is needed. With `downloads` they are the real
programs. File permissions model the container's read-only file system.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import string
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(__file__).parent / "docker" / "programs"
UNCOMPRESSED = Path(__file__).parent / "uncompressed"
"""Folder for PYTHONPATH, in which Python builds archives without compression."""

WITHOUT_POWERS = ("setpriv", "--bounding-set=-dac_override,-fowner")
"""Command prefix that makes root obey permissions."""

RUN_TIMEOUT_S = 600

_ABSOLUTE = re.compile(r"(?<![\w.*/-])/(?=[a-z])(?!usr/sbin/nologin)")
_NO_EFFECT = frozenset({"LABEL", "EXPOSE", "HEALTHCHECK"})


class StepError(Exception):
    """Error of a Dockerfile step."""


def read_steps(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile as keyword and arguments, with joined lines."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    pairs = (line.strip().partition(" ") for line in joined.splitlines() if line.strip())
    return [(word, rest.strip()) for word, _, rest in pairs]


@dataclass
class Stage:
    """A partially built image.

    Attributes:
        folder: Root folder.
        environment: Variables set by ENV and ARG, with paths in the image.
        owned: Image paths owned by the image's user.
    """

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "root"
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()

    def here(self, text: str) -> str:
        """Replace the absolute image paths in a text with paths below this folder."""
        return _ABSOLUTE.sub(f"{self.folder}/", text)

    def path(self, inside: str) -> Path:
        """Return the local path of an image path."""
        return self.folder / (Path(self.workdir) / inside).as_posix().lstrip("/")


class ImageBuild:
    """Builder of a Dockerfile's stages in a folder.

    Args:
        folder: Empty folder that every user can enter.
        context: Build context with a .dockerignore.
        arguments: Build arguments by name.
        downloads: Use the real pip and uv, which need a package index.
        prepared: Local folders to copy into the first stage, by image path.
    """

    def __init__(
        self,
        folder: Path,
        context: Path = ROOT,
        arguments: dict[str, str] | None = None,
        *,
        downloads: bool = False,
        prepared: dict[str, Path] | None = None,
    ) -> None:
        self.folder, self.downloads, self.prepared = folder, downloads, {**(prepared or {})}
        self.context = _sent_context(context, folder / "context")
        self.arguments = {**(arguments or {})}
        self.defaults: dict[str, str] = {}
        self.stages: dict[str, Stage] = {}

    def build(self, text: str, target: str | None = None) -> Stage:
        """Run all steps up to a stage, by default the last one.

        Raises:
            StepError: A step failed or is of an unknown kind.
        """
        stage: Stage | None = None
        name, steps = "", read_steps(text)
        needed = _needed_stages(steps, target)
        for word, rest in steps:
            if word == "FROM" and rest.split()[-1] not in needed:
                name = ""
            elif word == "FROM":
                name = rest.split()[-1]
                self.stages[name] = stage = self._begin(*rest.split()[::2])
            elif stage is None:
                key, _, value = rest.partition("=")
                self.defaults[key] = self.arguments.get(key, value)
            elif name and word not in _NO_EFFECT:
                step = getattr(self, f"_do_{word.lower()}", None)
                if step is None:
                    raise StepError(f"unknown instruction {word}")
                step(stage, rest)
        assert stage
        return stage

    def _begin(self, base: str, name: str) -> Stage:
        root = self.folder / "stages" / name
        if base in self.stages:
            known = self.stages[base]
            _copy(known.folder, root, known.folder, root)
            return Stage(**{**vars(known), "folder": root, "environment": {**known.environment}})
        root.mkdir(parents=True)
        (root / "tmp").mkdir()
        if not self.stages:
            for inside, folder in self.prepared.items():
                link = root / inside.lstrip("/")
                link.parent.mkdir(parents=True)
                link.symlink_to(folder)
        if self.downloads:
            subprocess.run([sys.executable, "-m", "venv", root / "usr/local"], check=True)
        return Stage(root)

    def _do_arg(self, stage: Stage, rest: str) -> None:
        key, _, value = rest.partition("=")
        given = self.arguments.get(key, self.defaults.get(key, value))
        if given:
            stage.environment[key] = given

    def _do_env(self, stage: Stage, rest: str) -> None:
        known = {"PATH": "/usr/local/bin", **stage.environment}
        for one in shlex.split(rest):
            key, _, value = one.partition("=")
            stage.environment[key] = string.Template(value).substitute(known)

    def _do_workdir(self, stage: Stage, rest: str) -> None:
        stage.workdir = rest
        stage.path(rest).mkdir(parents=True, exist_ok=True)

    def _do_user(self, stage: Stage, rest: str) -> None:
        stage.user = rest

    def _do_entrypoint(self, stage: Stage, rest: str) -> None:
        stage.entrypoint = tuple(json.loads(rest))

    def _do_cmd(self, stage: Stage, rest: str) -> None:
        stage.command = tuple(json.loads(rest))

    def _do_volume(self, stage: Stage, rest: str) -> None:
        stage.volumes = (*stage.volumes, *json.loads(rest))

    def _do_copy(self, stage: Stage, rest: str) -> None:
        words = rest.split()
        options = dict(w[2:].split("=", 1) for w in words if w.startswith("--"))
        *sources, target = (w for w in words if not w.startswith("--"))
        if options.get("from", "") not in ("", *self.stages):
            raise StepError(f"COPY {rest}: there is no stage {options['from']}")
        origin = self.stages[options["from"]] if "from" in options else None
        for source in sources:
            start = origin.path(source) if origin else self.context / source
            if not start.exists():
                raise StepError(f"COPY {rest}: there is no {source}")
            end = stage.path(target)
            if start.is_file() and (target.endswith("/") or end.is_dir()):
                end = end / start.name
            roots = (origin.folder, stage.folder) if origin else (start, end)
            _copy(start, end, *roots)
        if "chown" in options:
            stage.owned = (*stage.owned, target)

    def _do_run(self, stage: Stage, rest: str) -> None:
        log = self.folder / "owned"
        log.unlink(missing_ok=True)
        done = subprocess.run(
            ["/bin/sh", "-euc", stage.here(rest)],
            env={**self.environment(stage), "OWNED": str(log), "PYTHONPATH": str(UNCOMPRESSED)},
            cwd=stage.path("."),
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_TIMEOUT_S,
        )
        if done.returncode:
            raise StepError(f"RUN {rest}\n{done.stdout}{done.stderr}")
        if log.exists():
            paths = log.read_text().splitlines()
            stage.owned = (*stage.owned, *(p.removeprefix(str(stage.folder)) for p in paths))

    def environment(self, stage: Stage) -> dict[str, str]:
        """Return the environment of a stage's local processes."""
        set_here = {key: stage.here(value) for key, value in stage.environment.items()}
        own = stage.folder / "usr/local/bin"
        programs = [PROGRAMS / "always", own if self.downloads else PROGRAMS / "offline"]
        path = ":".join([set_here.get("PATH", ""), *map(str, programs), "/usr/bin", "/bin"])
        kept = {key: os.environ[key] for key in ("SSL_CERT_FILE", "PIP_CERT") if key in os.environ}
        return {
            **kept,
            "HOME": str(stage.folder / "root"),
            "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1",
            "PYTHON": sys.executable,
            "IMAGE": str(stage.folder),
            **set_here,
            "PATH": path.lstrip(":"),
        }


class Container:
    """The image of a stage with a read-only file system.

    Args:
        build: Build that created the image.
        stage: Image to run.
        mounts: Image folders at which volumes are mounted.
    """

    def __init__(self, build: ImageBuild, stage: Stage, mounts: Sequence[str]) -> None:
        self.build, self.stage = build, stage
        # Docker creates missing mount points, owned by root.
        owned = [path for path in (*mounts, *stage.volumes) if path in stage.owned]
        _freeze(stage.folder, [stage.path(path) for path in (*owned, "/tmp")])

    def run(self, *words: str, entrypoint: str = "") -> subprocess.CompletedProcess[str]:
        """Run the entry point with a command, by default that of the image."""
        stage = self.stage
        start = (entrypoint,) if entrypoint else stage.entrypoint
        environment = self.build.environment(stage)
        environment |= {"HOME": str(stage.path(f"/home/{stage.user}"))}
        program = shutil.which(start[0], path=environment["PATH"])
        if program is None:
            raise StepError(f"the image has no {start[0]}")
        command = [program, *start[1:], *map(stage.here, words or stage.command)]
        return subprocess.run(
            [*(WITHOUT_POWERS if os.geteuid() == 0 else ()), *command],
            env=environment,
            cwd=stage.path("."),
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_TIMEOUT_S,
        )


def _needed_stages(steps: Sequence[tuple[str, str]], target: str | None) -> set[str]:
    """Return the names of the stages required by a target, including itself."""
    uses: dict[str, set[str]] = {}
    name = ""
    for word, rest in steps:
        if word == "FROM":
            name = rest.split()[-1]
            uses[name] = {rest.split()[0]}
        elif word == "COPY" and "--from=" in rest:
            uses[name].add(rest.partition("--from=")[2].split()[0])
    waiting, needed = [target or name], set[str]()
    if waiting[0] not in uses:
        raise StepError(f"there is no stage {target}")
    while waiting:
        one = waiting.pop()
        needed |= {one}
        waiting += uses.get(one, ())
    return needed


def _sent_context(root: Path, folder: Path) -> Path:
    """Copy the build context. Only lines with "!" in .dockerignore are included."""
    lines = (root / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines
    hidden = shutil.ignore_patterns(*(line[3:] for line in lines if line.startswith("**/")))
    for name in (line[1:] for line in lines if line.startswith("!")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name, symlinks=True, ignore=hidden)
        else:
            shutil.copy(root / name, folder / name)
    return folder


def _copy(start: Path, end: Path, old: Path, new: Path) -> None:
    """Copy a file or folder between roots, and replace the root path in scripts.

    Files are hard-linked, because no step writes to a file of an earlier stage.
    """
    end.parent.mkdir(parents=True, exist_ok=True)
    if start.is_file():
        os.link(start, end)
        return
    shutil.copytree(start, end, symlinks=True, dirs_exist_ok=True, copy_function=os.link)
    for path in (*end.glob("**/bin/*"), *end.glob("**/pyvenv.cfg")):
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 100_000:
            data, mode = path.read_bytes(), path.stat().st_mode
            if bytes(old) in data:
                path.unlink()
                path.write_bytes(data.replace(bytes(old) + b"/", bytes(new) + b"/"))
                path.chmod(mode)


def _freeze(root: Path, writable: Sequence[Path]) -> None:
    for folder, names, files in os.walk(root, topdown=False):
        here = Path(folder)
        for path in (*(here / name for name in (*names, *files)), here):
            if path.is_symlink() or any(path == one or one in path.parents for one in writable):
                continue
            path.chmod(path.stat().st_mode & ~0o222)


def thaw(root: Path) -> None:
    """Make a folder removable again."""
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o755)
